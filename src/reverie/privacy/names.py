"""People, organisations and places without a model: lists of names, capitals that are
no ordinary words, and cues.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from reverie.privacy import folding, lists, spans

_TOKEN = re.compile(r"[^\W\d_]++(?:['-][^\W\d_]++)*+(?![\d_])|\w+|[^\w\s]|\n")
_ENDS = frozenset('.!?:;\n"()[]{}*#>|•…')
_LONGEST = 8
LOWER_FROM = 3
_USUAL = 3


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number, a sign or the end of a line."""

    start: int
    end: int
    text: str
    plain: str
    capital: bool
    first: bool


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text cut into tokens, with what is known of its language and its capitals."""

    text: str
    tokens: Sequence[Token]
    language: str
    lower: bool
    words: Mapping[str, Set[str]]

    def token_at(self, position: int) -> int:
        """The number of the first token that starts there or later."""
        low, high = 0, len(self.tokens)
        while low < high:
            middle = (low + high) // 2
            if self.tokens[middle].start < position:
                low = middle + 1
            else:
                high = middle
        return low


def read(text: str, words: Mapping[str, Set[str]], language: str) -> TokenizedText:
    """Tokens, and whether the text does without capitals."""
    own = words.get(f"function {language}")
    if own is not None:
        words = {**words, "function": own}
    tokens: list[Token] = []
    first = True
    for match in _TOKEN.finditer(text):
        word = match.group()
        letters = word[0].isalpha()
        tokens.append(
            Token(
                match.start(),
                match.end(),
                word,
                folding.plain(word),
                word[0].isupper(),
                letters and first,
            )
        )
        first = word in _ENDS or (first and not word[0].isalnum() and word != ",")
    capitals = sum(token.capital for token in tokens)
    small = sum(token.text[0].islower() for token in tokens)
    return TokenizedText(
        text, tokens, language, capitals == 0 and small >= LOWER_FROM, words
    )


def ordinary(reading: TokenizedText, token: Token) -> bool:
    """Whether a token is a word of the dictionary and so, by itself, nobody's name."""
    plain = token.plain
    if len(plain) < 2 or plain in reading.words["function"]:
        return True
    if reading.language != "es" and lists.english(plain) and not _only_a_name(plain):
        return True
    spanish = reading.language == "es" or (
        reading.language == "" and (reading.lower or token.first)
    )
    if spanish and not lists.given(plain) and lists.spanish(token.text.lower()):
        return True
    if "-" in plain or "'" in plain:
        parts = [part for part in re.split(r"[-']", plain) if len(part) > 1]
        return bool(parts) and all(
            lists.english(part) or part in reading.words["function"] for part in parts
        )
    return False


def _only_a_name(plain: str) -> bool:
    """A given name that dictionaries list as a word although it has no forms: `dexter`,
    and not `mark`.
    """
    return lists.given(plain) > 0 and not any(
        lists.english(plain + ending) for ending in ("s", "es", "ed", "ing", "ly")
    )


def evidence(reading: TokenizedText, token: Token) -> float:
    """How much a token by itself speaks for a name: 2 listed, 1 unknown or listed and
    ordinary, 0 an ordinary word.
    """
    plain = token.plain.removesuffix("'s")
    if (
        not plain[:1].isalpha()
        or plain in reading.words["not_names"]
        or plain in reading.words["function"]
    ):
        return 0
    acronym = token.text.isupper() and len(plain) < 6
    camel = not token.text.isupper() and token.text[1:] != token.text[1:].lower()
    if len(plain) < 4 and (acronym or camel):
        return 0
    common = ordinary(reading, token)
    listed = lists.given(plain) + lists.family(plain)
    if not listed and "-" in plain:
        listed = min(
            lists.given(part) + lists.family(part) for part in plain.split("-")
        )
    if plain in reading.words["allowed"]:
        return 0
    if reading.language == "de" and not lists.given(plain) and token.capital:
        return 0.5 if listed else 0
    if listed:
        if not common:
            return 2
        return (
            1
            if lists.given(plain) >= 3 or lists.given(plain) + lists.family(plain) >= 5
            else 0.5
        )
    if common or len(plain) < 3 or reading.language == "de":
        return 0
    return 0 if acronym or (camel and "-" not in plain) else 1


def find(reading: TokenizedText) -> Iterator[spans.FoldedSpan]:
    """Runs of capitalised words that are names, and in texts without capitals runs of
    words that are no words.
    """
    yield from _places(reading)
    at = 0
    while at < len(reading.tokens):
        end = _run(reading, at)
        if end == at:
            at += 1
            continue
        yield from _judge(reading, at, end)
        at = end


def _places(reading: TokenizedText) -> Iterator[spans.FoldedSpan]:
    """Countries, and towns of several words or of one that is no ordinary word, with
    their capitals.
    """
    tokens = reading.tokens
    for at, token in enumerate(tokens):
        if not token.text[0].isalpha() or not (token.capital or reading.lower):
            continue
        for size in (4, 3, 2, 1) if lists.begins_place(token.plain) else (1,):
            if at + size > len(tokens) or not tokens[at + size - 1].text[0].isalpha():
                continue
            words = folding.plain(reading.text[token.start : tokens[at + size - 1].end])
            if not lists.place(words) or (
                reading.lower and size == 1 and not lists.country(words)
            ):
                continue
            single = size == 1 and not lists.country(words)
            if single and reading.language == "de":
                # Every noun has its capital there: `Essen` is a meal more often than a
                # town.
                continue
            if size == 1 and token.plain in reading.words["function"]:
                continue
            last = tokens[at + size - 1]
            if (not last.capital and not reading.lower) or (
                len(words) < 4 and token.text.isupper()
            ):
                continue
            if single and (
                ordinary(reading, token) or token.plain in reading.words["not_names"]
            ):
                continue
            yield spans.FoldedSpan(
                token.start,
                tokens[at + size - 1].end,
                "location",
                0.58 if single else 0.64,
            )
            break


def _titled(reading: TokenizedText, at: int, end: int) -> bool:
    """Two to five capitalised words of English that are all ordinary: `Credit Karma`,
    `Civil Rights Act`.
    """
    tokens = reading.tokens[at:end]
    if (
        reading.language not in ("", "en")
        or not 2 <= len(tokens) <= 5
        or not all(t.capital and len(t.text) > 1 for t in tokens)
    ):
        return False
    if any(token.plain in reading.words["not_names"] for token in tokens) or all(
        t.text.isupper() for t in tokens
    ):
        return False
    before = reading.tokens[at - 1] if at else None
    after = reading.tokens[end] if end < len(reading.tokens) else None
    heading = (before is None or before.text in "\n#") and (
        after is None or after.text == "\n"
    )
    return not heading or len(tokens) <= 3


def _candidate(reading: TokenizedText, token: Token) -> bool:
    if not token.text[0].isalpha() or token.text[-1].isdigit():
        return False
    if token.capital:
        return True
    if (
        token.plain in reading.words["function"]
        or len(token.plain) < LOWER_FROM
        or reading.language == "de"
    ):
        return False
    if reading.lower:
        return (
            not ordinary(reading, token)
            and token.plain not in reading.words["not_names"]
        )
    listed = lists.given(token.plain) or lists.family(token.plain)
    return bool(listed) and not ordinary(reading, token) and reading.language == "en"


def _run(reading: TokenizedText, at: int) -> int:
    """Where the run of name-like words from a token on ends; initials and particles
    between them belong to it.
    """
    tokens = reading.tokens
    if not _candidate(reading, tokens[at]) and not _opens(reading, at):
        return at
    end = at + 1
    while end < len(tokens) and end - at < _LONGEST:
        token = tokens[end]
        gap = reading.text[tokens[end - 1].end : token.start]
        if (
            token.text == "."
            and len(tokens[end - 1].text) == 1
            and tokens[end - 1].text.isalpha()
        ):
            end += 1
            continue
        if gap not in ("", " ", "  ") or (gap == "" and tokens[end - 1].text != "."):
            break
        if _candidate(reading, token) or _initial(reading, end):
            end += 1
            continue
        following = next(
            (
                n
                for n in range(end, min(end + 3, len(tokens)))
                if not _particle(reading, n)
            ),
            None,
        )
        if (
            following is None
            or following == end
            or not _candidate(reading, tokens[following])
        ):
            break
        end = following + 1
    while (
        end > at + 1 and tokens[end - 1].text == "." and len(tokens[end - 2].text) != 1
    ):
        end -= 1
    return end


def _opens(reading: TokenizedText, at: int) -> bool:
    """In a text without capitals: a usual given name that is a word as well, before a
    name that is none.
    """
    token, following = reading.tokens[at], _following(reading, at)
    if (
        not reading.lower
        or following is None
        or token.plain in reading.words["function"]
    ):
        return False
    gap = reading.text[token.end : following.start]
    return (
        gap == " "
        and lists.given(token.plain) >= _USUAL
        and _candidate(reading, following)
    )


def _particle(reading: TokenizedText, at: int) -> bool:
    return (
        reading.tokens[at].plain in reading.words["particles"]
        and reading.tokens[at].plain != "and"
    )


def _initial(reading: TokenizedText, at: int) -> bool:
    """A letter by itself inside a name: `Stephan M Urner`, in small letters only where
    the text has no others.
    """
    token = reading.tokens[at]
    return (
        len(token.text) == 1
        and token.text.isalpha()
        and (token.capital or reading.lower)
        and token.plain != "i"
    )


def _judge(reading: TokenizedText, at: int, end: int) -> Iterator[spans.FoldedSpan]:
    tokens = reading.tokens
    weights = [_weight(reading, number) for number in range(at, end)]
    while at < end and _function(reading, tokens[at]):
        at, weights = at + 1, weights[1:]
    if sum(weights) < 1 and _titled(reading, at, end):
        yield spans.FoldedSpan(
            tokens[at].start, tokens[end - 1].end, "organisation", 0.5
        )
        return
    while at < end and weights[0] == 0 and _sheds(reading, at, sum(weights)):
        at, weights = at + 1, weights[1:]
    if at >= end:
        return
    while (
        weights
        and weights[-1] == 0
        and tokens[end - 1].plain in reading.words["not_names"]
    ):
        end, weights = end - 1, weights[:-1]
    total = sum(weights)
    if (
        not weights
        or total < 1
        or (not tokens[at].capital and not reading.lower and total < 4)
    ):
        return
    yield _found(reading, at, end, total)


def _sheds(reading: TokenizedText, at: int, total: float) -> bool:
    """Whether a first word that says nothing is left out of a run: `Contact Maria`, not
    `Ken Fukuda`.
    """
    token = reading.tokens[at]
    if _initial(reading, at) and token.plain not in "ai":
        return False
    if token.plain in reading.words["not_names"]:
        return True
    return token.first and not (lists.given(token.plain) and total >= 1)


def _weight(reading: TokenizedText, at: int) -> float:
    """Evidence of a token in its place: an ordinary word with the capital of its
    sentence says nothing.
    """
    token = reading.tokens[at]
    weight = evidence(reading, token)
    if (
        weight == 0
        and token.plain in reading.words["not_names"]
        and lists.given(token.plain)
        and token.capital
    ):
        # `Jan Jílek`, `May Parker`: months and the like are given names before a family
        # name.
        following = _following(reading, at)
        return (
            1
            if following and following.capital and evidence(reading, following) >= 1
            else 0
        )
    if (
        not token.first
        and token.capital
        and weight == 0.5
        and reading.language != "de"
        and lists.given(token.plain)
    ):
        # Inside a sentence a capital is no accident.
        return 1
    if not token.first or weight >= 1.5 or weight == 0:
        return weight
    if not ordinary(reading, token):
        return weight
    following = _following(reading, at)
    if (
        following
        and following.capital
        and evidence(reading, following) >= 1
        and lists.given(token.plain)
    ):
        return weight
    acts = (
        following is None
        or following.text in (",", "\n", ":", "'")
        or following.plain in reading.words["acts"]
    )
    return weight if acts and lists.given(token.plain) >= 3 else 0


def _following(reading: TokenizedText, at: int) -> Token | None:
    return reading.tokens[at + 1] if at + 1 < len(reading.tokens) else None


def _found(reading: TokenizedText, at: int, end: int, total: float) -> spans.FoldedSpan:
    tokens = reading.tokens
    start, stop = tokens[at].start, tokens[end - 1].end
    if reading.text[start:stop].endswith("'s"):
        stop -= 2
    words = folding.plain(reading.text[start:stop])
    given = any(lists.given(token.plain) for token in tokens[at:end])
    if lists.country(words) or (lists.place(words) and not given):
        return spans.FoldedSpan(start, stop, "location", 0.62)
    listed = any(lists.given(t.plain) or lists.family(t.plain) for t in tokens[at:end])
    score = 0.7 if total >= 2 and listed and end - at > 1 else 0.6 if listed else 0.52
    return spans.FoldedSpan(start, stop, "person", score)


def take(reading: TokenizedText, position: int, manner: str) -> tuple[int, int] | None:
    """The name that follows a cue: `name` in any case, `capital` with a capital,
    `listed` if it looks like a name.
    """
    at = reading.token_at(position)
    tokens = reading.tokens
    if at >= len(tokens) or tokens[at].start - position > 4:
        return None
    while (
        at < len(tokens)
        and tokens[at].text in (",", ":", '"')
        and tokens[at].start - position <= 4
    ):
        at += 1
    if at >= len(tokens):
        return None
    if manner == "organisation":
        end = _organisation(reading, at)
    else:
        end = _run(reading, at)
        if end == at and manner == "name" and tokens[at].text.isalpha():
            end = _small(reading, at)
    while (
        end > at and _function(reading, tokens[end - 1]) and not tokens[end - 1].capital
    ):
        end -= 1
    if (
        end == at
        or (_function(reading, tokens[at]) and end - at < 2)
        or not _allowed(reading, at, end, manner)
    ):
        return None
    stop = tokens[end - 1].end
    return tokens[at].start, stop - 2 if reading.text[:stop].endswith("'s") else stop


def _function(reading: TokenizedText, token: Token) -> bool:
    return token.plain in reading.words["function"] and len(token.plain) > 1


def _allowed(reading: TokenizedText, at: int, end: int, manner: str) -> bool:
    tokens = reading.tokens[at:end]
    if all(token.plain in reading.words["not_names"] for token in tokens):
        return manner == "name" and any(lists.given(token.plain) for token in tokens)
    if manner == "listed":
        return sum(evidence(reading, token) for token in tokens) >= 0.5
    if manner == "capital":
        return tokens[0].capital
    if manner == "place":
        words = folding.plain(reading.text[tokens[0].start : tokens[-1].end])
        return lists.place(words) or (
            tokens[0].capital and sum(evidence(reading, t) for t in tokens) >= 0.5
        )
    if manner == "organisation":
        return tokens[0].capital or any(
            evidence(reading, token) >= 1 for token in tokens
        )
    return True


def _small(reading: TokenizedText, at: int) -> int:
    """A name in small letters after a strong cue: up to three words that are no
    function words.
    """
    end = at
    while end < len(reading.tokens) and end - at < 4:
        token = reading.tokens[end]
        gap = (
            reading.text[reading.tokens[end - 1].end : token.start] if end > at else ""
        )
        known = evidence(reading, token) >= 0.5 or _initial(reading, end)
        if not token.text[0].isalpha() or gap not in ("", " ") or not known:
            break
        end += 1
    return end


def _organisation(reading: TokenizedText, at: int) -> int:
    """Capitalised words joined by spaces, commas, `and` and `&`; in texts without
    capitals, words up to a sign.
    """
    tokens = reading.tokens
    end = at
    while end < len(tokens) and end - at < _LONGEST:
        token = tokens[end]
        if token.text in (",", "&", "-", ".") or token.plain in (
            "and",
            "of",
            "y",
            "und",
            "de",
        ):
            following = tokens[end + 1] if end + 1 < len(tokens) else None
            joined = (
                following is not None
                and "\n" not in reading.text[token.start : following.start]
            )
            if (
                end == at
                or following is None
                or not joined
                or not _fits(reading, following)
            ):
                break
            if token.text == "." and len(tokens[end - 1].text) > 2:
                break
        elif not _fits(reading, token) or (
            end > at
            and reading.text[tokens[end - 1].end : token.start] not in ("", " ")
        ):
            break
        end += 1
    return end


def _fits(reading: TokenizedText, token: Token) -> bool:
    if reading.lower:
        return token.text.isalpha() and token.plain not in reading.words["function"]
    return token.capital or (
        token.text.isalnum() and token.text[0].isdigit() and len(token.text) < 4
    )
