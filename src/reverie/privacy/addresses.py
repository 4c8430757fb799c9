"""Street addresses in any country's order: runs of numbers, names and address words,
over commas and line ends.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from reverie.privacy import folding, lists, name_evidence, spans, tokenizer

_MOST = 48
_GLUE = frozenset(",.#ºª°/-'’")
_STREET_ENDS = (
    "strasse",
    "gasse",
    "weg",
    "platz",
    "gatan",
    "gata",
    "gade",
    "gaten",
    "vej",
    "vegen",
    "veien",
    "vagen",
    "laan",
    "straat",
)
_STREET_ENDS_MORE = (
    "tie",
    "katu",
    "utca",
    "stien",
    "plein",
    "gracht",
    "singel",
    "stigen",
    "braut",
    "strati",
    "allee",
    "stien",
    "ska",
)


@dataclass(slots=True)
class _Line:
    """What one line of a run holds."""

    start: int
    end: int
    numbers: int = 0
    long: int = 0
    units: int = 0
    streets: int = 0
    rare: int = 0
    capitals: int = 0
    dull: int = 0
    places: int = 0
    words: int = 0
    number_first: bool = False


def find(reading: tokenizer.TokenizedText) -> Iterator[spans.FoldedSpan]:
    """Runs that hold a number beside a street's word, a flat's or a name that is no
    ordinary word.
    """
    tokens = reading.tokens
    at = 0
    while at < len(tokens):
        if not _starts(reading, at):
            at += 1
            continue
        end = _end(reading, at)
        yield from _judge(reading, at, end)
        at = max(end, at + 1)


def take(reading: tokenizer.TokenizedText, position: int) -> tuple[int, int] | None:
    """The address that follows a cue: here a name with a number is enough, or a
    street's word with a name.
    """
    at = reading.token_at(position)
    if (
        at >= len(reading.tokens)
        or reading.tokens[at].start - position > 3
        or not _starts(reading, at)
    ):
        return None
    end = _end(reading, at)
    whole = _measure(reading, at, end)
    sure = whole.numbers and (whole.capitals or whole.rare or whole.streets)
    if not sure and not (whole.streets and whole.capitals > whole.streets):
        return None
    return _trim(reading, at, end)


def _starts(reading: tokenizer.TokenizedText, at: int) -> bool:
    token = reading.tokens[at]
    if token.text[0].isdigit():
        return len(token.text) < 8
    return token.text[0].isalpha() and _wordlike(reading, token)


def _wordlike(reading: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """A capitalised word, an address word, or in texts without capitals a word that is
    none.
    """
    if token.capital and token.plain not in ("i", "i'm", "i'll", "i'd", "i've"):
        return True
    if (
        token.plain in reading.words["unit"]
        or token.plain in reading.words["street_before"]
    ):
        return token.plain not in reading.words["function"]
    if _street(reading, token):
        return True
    unknown = len(token.text) > 2 and not name_evidence.ordinary(reading, token)
    return (reading.lower or reading.language == "en") and unknown


def _street(reading: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    plain = token.plain
    if plain in reading.words["street_after"]:
        return token.capital or plain in (
            "street",
            "road",
            "avenue",
            "st",
            "ave",
            "rd",
            "drive",
            "lane",
            "boulevard",
        )
    return (
        len(plain) > 6
        and plain.endswith(_STREET_ENDS + _STREET_ENDS_MORE)
        and not lists.english(plain)
    )


def _end(reading: tokenizer.TokenizedText, at: int) -> int:
    """Where the run of address-like tokens ends. An empty line, a sentence's end or
    another sign ends it.
    """
    tokens = reading.tokens
    end = at + 1
    while end < len(tokens) and end - at < _MOST:
        token = tokens[end]
        if token.text == "\n":
            if _next_text(reading, end) is None:
                break
        elif token.text == ".":
            if not _abbreviates(reading, end):
                break
        elif token.text in _GLUE or _bracket(reading, end):
            pass
        elif token.text[0].isdigit():
            if len(token.text) > 7:
                break
        elif not token.text[0].isalpha() or not _goes_on(reading, end):
            break
        end += 1
    return end


def _bracket(reading: tokenizer.TokenizedText, at: int) -> bool:
    """`Cyprus (Greek) 72423`: a word or two in brackets inside an address."""
    token = reading.tokens[at]
    if token.text == "(":
        inside = reading.tokens[at + 1 : at + 5]
        closes = any(other.text == ")" for other in inside)
        return closes and bool(inside) and inside[0].capital
    return token.text == ")" and any(
        other.text == "(" for other in reading.tokens[max(0, at - 4) : at]
    )


def _next_text(reading: tokenizer.TokenizedText, newline: int) -> int | None:
    """The first token of the next line if it can belong to the address."""
    at = newline + 1
    while at < len(reading.tokens) and reading.tokens[at].text in (",", " "):
        at += 1
    if at >= len(reading.tokens) or reading.tokens[at].text == "\n":
        return None
    after = reading.tokens[at + 1] if at + 1 < len(reading.tokens) else None
    if after is not None and after.text == ":":
        return None
    return at if _starts(reading, at) else None


def _abbreviates(reading: tokenizer.TokenizedText, dot: int) -> bool:
    """`Apt. 3`, `u. 15`, `ul. Miła`, `P.O. Box`: what is before is short or an address
    word, what follows goes on.
    """
    before = reading.tokens[dot - 1]
    after = reading.tokens[dot + 1] if dot + 1 < len(reading.tokens) else None
    if after is not None and after.text == "\n":
        following = reading.tokens[dot + 2] if dot + 2 < len(reading.tokens) else None
        return (
            before.text[0].isdigit()
            and following is not None
            and following.plain in reading.words["unit"]
        )
    if after is None:
        return False
    short = before.text[0].isalpha() and len(before.text) <= 5
    known = (
        before.plain in reading.words["unit"]
        or before.plain in reading.words["street_before"]
        or short
    )
    number = (
        before.text[0].isdigit()
        and len(before.text) < 6
        and after.text[0].islower()
        and len(after.text) < 9
    )
    return (known and (after.text[0].isdigit() or _wordlike(reading, after))) or number


def _goes_on(reading: tokenizer.TokenizedText, at: int) -> bool:
    token = reading.tokens[at]
    if _wordlike(reading, token):
        return token.plain not in (
            "i",
            "please",
            "we",
            "it",
            "the",
            "my",
            "he",
            "she",
            "they",
        )
    following = reading.tokens[at + 1] if at + 1 < len(reading.tokens) else None
    if following is None:
        return False
    if token.plain in reading.words["particles"]:
        return _wordlike(reading, following)
    if (
        following.text[0].isdigit()
        and len(following.text) >= 4
        and len(token.text) <= 3
    ):
        return token.plain not in reading.words["function"]
    single = len(token.text) == 1 and following.text == "."
    letter = single or (
        len(token.text) <= 2 and token.plain not in reading.words["function"]
    )
    return letter and (following.text[0].isdigit() or following.text in (",", "."))


def _measure(reading: tokenizer.TokenizedText, at: int, end: int) -> _Line:
    """Counts of what a stretch holds."""
    line = _Line(at, end, number_first=reading.tokens[at].text[0].isdigit())
    for number in range(at, end):
        token = reading.tokens[number]
        if token.text[0].isdigit():
            year = len(token.text) == 4 and token.text[:2] in ("19", "20")
            line.numbers += not year
            line.long += (
                token.text.isdigit() and len(token.text) in (4, 5, 6) and not year
            )
        elif not token.text[0].isalpha():
            continue
        elif token.plain in reading.words["unit"]:
            line.units += 1
        elif _street(reading, token) or token.plain in reading.words["street_before"]:
            line.streets += 1
            line.capitals += token.capital
        else:
            weight = name_evidence.evidence(reading, token)
            named = token.capital and lists.place(token.plain)
            line.words += 1
            line.places += named
            line.rare += (
                weight >= 1
                or named
                or (token.text.isupper() and len(token.text) > 3 and weight > 0)
            )
            line.capitals += token.capital
            line.dull += weight == 0 and name_evidence.ordinary(reading, token)
    return line


def _judge(
    reading: tokenizer.TokenizedText, at: int, end: int
) -> Iterator[spans.FoldedSpan]:
    """The run from its first line with a number on; the lines after belong to it while
    they are short.
    """
    lines = _lines(reading, at, end)
    first = next(
        (
            n
            for n, line in enumerate(lines)
            if line.numbers and _speaks(line, reading.language)
        ),
        None,
    )
    if first is None:
        return
    last = first
    for number in range(first + 1, len(lines)):
        line = lines[number]
        if line.end - line.start > 10 or (not line.numbers and line.dull > 2):
            break
        last = number
    start, stop = lines[first].start, lines[last].end
    extent = _trim(reading, start, stop)
    if extent is None:
        return
    whole = _measure(reading, start, stop)
    sure = (whole.units > 0) + (whole.streets > 0) + (whole.long > 0) + (whole.rare > 0)
    yield spans.FoldedSpan(
        *extent, "address", 0.86 if sure >= 3 else 0.72 if sure == 2 else 0.55
    )


def _speaks(line: _Line, language: str) -> bool:
    """Whether a line with a number is an address and not `Windows 10` or `Article 50`.

    In Spanish a word that is in no dictionary is more often a term than a street, and
    streets say what they are.
    """
    if language == "es" and not line.places:
        return (line.streets > 0 or line.units > 1) and line.capitals > 0
    if line.units and (line.numbers >= 1):
        return line.units + line.streets + line.rare > 1 or line.numbers > 0
    if line.streets or line.numbers > 1 or line.long or line.places:
        return line.streets > 0 or line.rare > 0
    return line.rare > 0 and not (line.number_first and line.words == 1)


def _lines(reading: tokenizer.TokenizedText, at: int, end: int) -> list[_Line]:
    made: list[_Line] = []
    start = at
    for number in range(at, end + 1):
        if number == end or reading.tokens[number].text == "\n":
            if number > start:
                made.append(_measure(reading, start, number))
            start = number + 1
    return made


def _trim(
    reading: tokenizer.TokenizedText, at: int, end: int
) -> tuple[int, int] | None:
    """Without signs at the ends, and without the ordinary words before the first
    number, street or name.
    """
    tokens = reading.tokens
    while at < end and not tokens[at].text[0].isalnum():
        at += 1
    while (
        end > at
        and not tokens[end - 1].text[0].isalnum()
        and tokens[end - 1].text not in "ºª"
    ):
        end -= 1
    while (
        at < end
        and tokens[at].first
        and tokens[at].text[0].isalpha()
        and _dull(reading, tokens[at])
    ):
        at += 1
    return (tokens[at].start, tokens[end - 1].end) if end > at else None


def _dull(reading: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    known = (
        token.plain in reading.words["unit"]
        or token.plain in reading.words["street_before"]
    )
    return (
        not known
        and name_evidence.evidence(reading, token) == 0
        and not lists.place(folding.plain(token.text))
    )
