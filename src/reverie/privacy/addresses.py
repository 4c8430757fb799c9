"""PII detection of street addresses: runs of numbers, names and address words.

Any country's order, over commas and line ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reverie.privacy import folding, lists, name_evidence, spans, tokenizer

# Limits in tokens or characters, set by hand on the sets of bench/privacy.py
# (docs/decisions/0013).
_MOST_TOKENS = 48
_MOST_TOKENS_OF_NEXT_LINE = 10
_MOST_ORDINARY_OF_NEXT_LINE = 2
_MOST_DIGITS = 7
_MOST_DIGITS_BEFORE_DOT = 5
_MOST_LETTERS_ABBREVIATED = 5
_CUE_GAP = 3
_FEWEST_DIGITS_OF_POSTCODE = 4

# The score by how many of four signs a run has: a flat, a street, a postcode, a name.
# Set by hand on the sets of bench/privacy.py (docs/decisions/0013).
_SCORES = {0: 0.55, 1: 0.55, 2: 0.72, 3: 0.86, 4: 0.86}

_JOINERS = frozenset(",.#ºª°/-'’")
_FIRST_PERSON = frozenset({"i", "i'm", "i'll", "i'd", "i've"})
_SENTENCE_WORDS = frozenset(
    {"i", "please", "we", "it", "the", "my", "he", "she", "they"}
)
# English words of streets that are read in small letters too.
_ANY_CASE_STREETS = frozenset(
    {"street", "road", "avenue", "st", "ave", "rd", "drive", "lane", "boulevard"}
)
# Ends of compound street names: German, Swedish, Danish, Norwegian, Dutch, Finnish,
# Hungarian, Icelandic, Polish.
_STREET_ENDINGS = (
    "strasse",
    "gasse",
    "weg",
    "platz",
    "allee",
    "gatan",
    "gata",
    "gade",
    "gaten",
    "vej",
    "vegen",
    "veien",
    "vagen",
    "stien",
    "stigen",
    "laan",
    "straat",
    "plein",
    "gracht",
    "singel",
    "tie",
    "katu",
    "utca",
    "braut",
    "strati",
    "ska",
)


@dataclass(slots=True)
class _LineFeatures:
    """How many tokens of each sort lie between tokens `start` and `end`."""

    start: int
    end: int
    numbers: int = 0
    postcodes: int = 0
    units: int = 0
    streets: int = 0
    name_like: int = 0
    capitals: int = 0
    ordinary: int = 0
    places: int = 0
    words: int = 0
    number_first: bool = False


def find(reading: tokenizer.TokenizedText) -> Iterator[spans.FoldedSpan]:
    """Runs that hold a number beside a street's word, a flat's or a name that is no
    ordinary word.
    """
    count = len(reading.tokens)
    at = 0
    while at < count:
        if not _starts(reading, at):
            at += 1
            continue
        end = _run_end(reading, at)
        address = _address_in(reading, at, end)
        if address is not None:
            yield address
        at = max(end, at + 1)


def take(reading: tokenizer.TokenizedText, position: int) -> tuple[int, int] | None:
    """The address that follows a cue: here a name with a number is enough, or a
    street's word with a name.
    """
    at = reading.token_at(position)
    if at >= len(reading.tokens):
        return None
    if reading.tokens[at].start - position > _CUE_GAP or not _starts(reading, at):
        return None
    end = _run_end(reading, at)
    if not _is_address_after_cue(_features(reading, at, end)):
        return None
    return _trim(reading, at, end)


def _is_address_after_cue(run: _LineFeatures) -> bool:
    if run.numbers and (run.capitals or run.name_like or run.streets):
        return True
    return run.streets > 0 and run.capitals > run.streets


def _token(reading: tokenizer.TokenizedText, at: int) -> tokenizer.Token | None:
    return reading.tokens[at] if at < len(reading.tokens) else None


def _is_number(token: tokenizer.Token) -> bool:
    return token.text[0].isdigit()


def _is_word(token: tokenizer.Token) -> bool:
    return token.text[0].isalpha()


def _starts(reading: tokenizer.TokenizedText, at: int) -> bool:
    token = reading.tokens[at]
    if _is_number(token):
        return len(token.text) <= _MOST_DIGITS
    return _is_word(token) and _is_wordlike(reading, token)


def _is_wordlike(reading: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """A capitalised word, an address word, or in texts without capitals a word that is
    none.
    """
    if token.capital and token.plain not in _FIRST_PERSON:
        return True
    if _is_address_word(reading, token):
        return token.plain not in reading.words["function"]
    if _is_street(reading, token):
        return True
    if not reading.lower and reading.language != "en":
        return False
    return len(token.text) > 2 and not name_evidence.ordinary(reading, token)


def _is_address_word(reading: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """A word for a flat or floor, or one that stands before a street's name."""
    words = reading.words
    return token.plain in words["unit"] or token.plain in words["street_before"]


def _is_street(reading: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    plain = token.plain
    if plain in reading.words["street_after"]:
        return token.capital or plain in _ANY_CASE_STREETS
    return (
        len(plain) > 6 and plain.endswith(_STREET_ENDINGS) and not lists.english(plain)
    )


def _run_end(reading: tokenizer.TokenizedText, at: int) -> int:
    """Where the run of address-like tokens ends. An empty line, a sentence's end or
    another sign ends it.
    """
    last = min(len(reading.tokens), at + _MOST_TOKENS)
    end = at + 1
    while end < last and _continues(reading, end):
        end += 1
    return end


def _continues(reading: tokenizer.TokenizedText, at: int) -> bool:
    """Whether a run goes on with this token."""
    text = reading.tokens[at].text
    if text == "\n":
        return _next_line_continues(reading, at)
    if text == ".":
        return _is_abbreviation_dot(reading, at)
    if text in _JOINERS or _is_bracket(reading, at):
        return True
    if text[0].isdigit():
        return len(text) <= _MOST_DIGITS
    return text[0].isalpha() and _word_continues(reading, at)


def _is_bracket(reading: tokenizer.TokenizedText, at: int) -> bool:
    """`Cyprus (Greek) 72423`: a word or two in brackets inside an address."""
    text = reading.tokens[at].text
    if text == "(":
        inside = reading.tokens[at + 1 : at + 5]
        closes = any(token.text == ")" for token in inside)
        return closes and inside[0].capital
    if text == ")":
        return any(t.text == "(" for t in reading.tokens[max(0, at - 4) : at])
    return False


def _next_line_continues(reading: tokenizer.TokenizedText, newline: int) -> bool:
    """Whether the next line can belong to the address; a label (`Phone:`) cannot."""
    tokens = reading.tokens
    at = newline + 1
    while at < len(tokens) and tokens[at].text in (",", " "):
        at += 1
    if at >= len(tokens) or tokens[at].text == "\n":
        return False
    after = _token(reading, at + 1)
    if after is not None and after.text == ":":
        return False
    return _starts(reading, at)


def _is_abbreviation_dot(reading: tokenizer.TokenizedText, dot: int) -> bool:
    """`Apt. 3`, `u. 15`, `ul. Miła`, `P.O. Box`: what is before is short or an address
    word, what follows goes on.
    """
    before = reading.tokens[dot - 1]
    after = _token(reading, dot + 1)
    if after is None:
        return False
    if after.text == "\n":
        return _unit_on_next_line(reading, dot)
    if _is_ordinal(before, after):
        return True
    if not _is_short(before) and not _is_address_word(reading, before):
        return False
    return _is_number(after) or _is_wordlike(reading, after)


def _unit_on_next_line(reading: tokenizer.TokenizedText, dot: int) -> bool:
    following = _token(reading, dot + 2)
    if following is None or not _is_number(reading.tokens[dot - 1]):
        return False
    return following.plain in reading.words["unit"]


def _is_short(token: tokenizer.Token) -> bool:
    return _is_word(token) and len(token.text) <= _MOST_LETTERS_ABBREVIATED


def _is_ordinal(number: tokenizer.Token, after: tokenizer.Token) -> bool:
    """`3. emelet`: a number with a dot before a short word in small letters."""
    if not _is_number(number) or len(number.text) > _MOST_DIGITS_BEFORE_DOT:
        return False
    return after.text[0].islower() and len(after.text) < 9


def _word_continues(reading: tokenizer.TokenizedText, at: int) -> bool:
    token = reading.tokens[at]
    if _is_wordlike(reading, token):
        return token.plain not in _SENTENCE_WORDS
    following = _token(reading, at + 1)
    if following is None:
        return False
    if token.plain in reading.words["particles"]:
        return _is_wordlike(reading, following)
    return _is_letter_mark(reading, token, following)


def _is_letter_mark(
    reading: tokenizer.TokenizedText, token: tokenizer.Token, following: tokenizer.Token
) -> bool:
    """`5 b, 28013` or `nr 1010`: a letter or two before a number or a sign."""
    length = len(token.text)
    number_follows = _is_number(following)
    if length == 1 and following.text == ".":
        return True
    if token.plain in reading.words["function"]:
        return False
    if number_follows and len(following.text) >= _FEWEST_DIGITS_OF_POSTCODE:
        return length <= 3
    return length <= 2 and (number_follows or following.text in (",", "."))


def _features(reading: tokenizer.TokenizedText, at: int, end: int) -> _LineFeatures:
    """What lies between two tokens, counted."""
    line = _LineFeatures(at, end, number_first=_is_number(reading.tokens[at]))
    for token in reading.tokens[at:end]:
        if _is_number(token):
            _count_number(line, token.text)
        elif _is_word(token):
            _count_word(line, reading, token)
    return line


def _count_number(line: _LineFeatures, text: str) -> None:
    """A year counts for nothing; four to six digits may be a postcode."""
    if len(text) == 4 and text[:2] in ("19", "20"):
        return
    line.numbers += 1
    line.postcodes += text.isdigit() and len(text) in (4, 5, 6)


def _count_word(
    line: _LineFeatures, reading: tokenizer.TokenizedText, token: tokenizer.Token
) -> None:
    if token.plain in reading.words["unit"]:
        line.units += 1
        return
    line.capitals += token.capital
    if _is_street(reading, token) or token.plain in reading.words["street_before"]:
        line.streets += 1
        return
    weight = name_evidence.evidence(reading, token)
    is_place = token.capital and lists.place(token.plain)
    shouted = token.text.isupper() and len(token.text) > 3 and weight > 0
    line.words += 1
    line.places += is_place
    line.name_like += weight >= 1 or is_place or shouted
    line.ordinary += weight == 0 and name_evidence.ordinary(reading, token)


def _address_in(
    reading: tokenizer.TokenizedText, at: int, end: int
) -> spans.FoldedSpan | None:
    """The run from its first line with a number on; the lines after belong to it while
    they are short.
    """
    lines = _lines(reading, at, end)
    first = _first_address_line(lines, reading.language)
    if first is None:
        return None
    start = lines[first].start
    stop = lines[first].end
    for line in lines[first + 1 :]:
        if not _belongs_to_address(line):
            break
        stop = line.end
    extent = _trim(reading, start, stop)
    if extent is None:
        return None
    return spans.FoldedSpan(*extent, "address", _score(_features(reading, start, stop)))


def _first_address_line(lines: list[_LineFeatures], language: str) -> int | None:
    for position, line in enumerate(lines):
        if line.numbers and _is_address_line(line, language):
            return position
    return None


def _belongs_to_address(line: _LineFeatures) -> bool:
    if line.end - line.start > _MOST_TOKENS_OF_NEXT_LINE:
        return False
    return line.numbers > 0 or line.ordinary <= _MOST_ORDINARY_OF_NEXT_LINE


def _score(run: _LineFeatures) -> float:
    counts = (run.units, run.streets, run.postcodes, run.name_like)
    return _SCORES[sum(count > 0 for count in counts)]


def _is_address_line(line: _LineFeatures, language: str) -> bool:
    """Whether a line with a number is an address and not `Windows 10` or `Article 50`.

    In Spanish a word that is in no dictionary is more often a term than a street, and
    streets say what they are.
    """
    if language == "es" and not line.places:
        says_street = line.streets > 0 or line.units > 1
        return says_street and line.capitals > 0
    return _has_address_signs(line)


def _has_address_signs(line: _LineFeatures) -> bool:
    if line.units or line.streets:
        return True
    if not line.name_like:
        return False
    several_signs = line.numbers > 1 or line.postcodes > 0 or line.places > 0
    number_and_noun = line.number_first and line.words == 1
    return several_signs or not number_and_noun


def _lines(reading: tokenizer.TokenizedText, at: int, end: int) -> list[_LineFeatures]:
    lines: list[_LineFeatures] = []
    start = at
    for position in range(at, end + 1):
        if position < end and reading.tokens[position].text != "\n":
            continue
        if position > start:
            lines.append(_features(reading, start, position))
        start = position + 1
    return lines


def _trim(
    reading: tokenizer.TokenizedText, at: int, end: int
) -> tuple[int, int] | None:
    """Without signs at the ends, and without the ordinary words before the first
    number, street or name.
    """
    tokens = reading.tokens
    while at < end and not tokens[at].text[0].isalnum():
        at += 1
    while end > at and not _may_end(tokens[end - 1].text):
        end -= 1
    while at < end and _is_opening_word(reading, tokens[at]):
        at += 1
    return (tokens[at].start, tokens[end - 1].end) if end > at else None


def _may_end(text: str) -> bool:
    return text[0].isalnum() or text in "ºª"


def _is_opening_word(reading: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """A sentence's first word that is neither an address word nor a name."""
    if not token.first or not _is_word(token):
        return False
    if _is_address_word(reading, token) or name_evidence.evidence(reading, token) != 0:
        return False
    return not lists.place(folding.plain(token.text))
