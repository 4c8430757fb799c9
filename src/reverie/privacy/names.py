"""Named entity recognition (NER) by rules: name lists, capitals, ordinary words.

People, organisations and places without a model. The weights and scores of this module
were set by hand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reverie.privacy import folding, lists, name_evidence, spans, terms, tokenizer

LONGEST = 8
"""The most tokens of a name."""

# A given name of so many countries is usual.
_USUAL = 3
_ENOUGH = 1
# A run with a small first letter needs more in a text that has capitals.
_ENOUGH_WITHOUT_CAPITAL = 4
_MOST_PARTICLES = 2
# `T4l`, `CD45RO`: a longer word with digits may be a password, and is kept from leaving.
_LONGEST_CODE = 6


@dataclass(frozen=True, slots=True)
class _Scores:
    """How sure a finding is, from 0 to 1."""

    country_or_long_place: float = 0.64
    town: float = 0.58
    place_as_name: float = 0.62
    title: float = 0.5
    listed_name_of_several_words: float = 0.7
    listed_name: float = 0.6
    unlisted_name: float = 0.52


_SCORES = _Scores()


def find(tokenized: tokenizer.TokenizedText) -> Iterator[spans.FoldedSpan]:
    """Runs of capitalised words that are names, and in texts without capitals runs of
    words that are no words.
    """
    yield from _places(tokenized)
    at = 0
    while at < len(tokenized.tokens):
        end = run_end(tokenized, at)
        if end == at:
            at += 1
            continue
        name = _name_in_run(tokenized, at, end)
        if name is not None:
            yield name
        at = end


def _places(tokenized: tokenizer.TokenizedText) -> Iterator[spans.FoldedSpan]:
    """Countries, and towns of several words or of one that is no ordinary word, with
    their capitals.
    """
    for at, token in enumerate(tokenized.tokens):
        if not token.text[0].isalpha() or not (token.capital or tokenized.lower):
            continue
        place = _longest_place(tokenized, at)
        if place is not None:
            yield place


def _longest_place(
    tokenized: tokenizer.TokenizedText, at: int
) -> spans.FoldedSpan | None:
    """The longest place of at most four words that begins at a token."""
    tokens = tokenized.tokens
    first = tokens[at]
    for size in (4, 3, 2, 1) if lists.begins_place(first.plain) else (1,):
        if at + size > len(tokens):
            continue
        last = tokens[at + size - 1]
        if not last.text[0].isalpha():
            continue
        words = folding.plain(tokenized.text[first.start : last.end])
        if not lists.place(words) or not _place_allowed(tokenized, first, last, words):
            continue
        if not lists.country(words) and terms.is_eponym(tokenized, at, at + size):
            continue
        town = size == 1 and not lists.country(words)
        score = _SCORES.town if town else _SCORES.country_or_long_place
        return spans.FoldedSpan(first.start, last.end, "location", score)
    return None


def _place_allowed(
    tokenized: tokenizer.TokenizedText,
    first: tokenizer.Token,
    last: tokenizer.Token,
    words: str,
) -> bool:
    """Whether listed words mean the place where they stand."""
    if not last.capital and not tokenized.lower:
        return False
    if name_evidence.abbreviation(first.text, words):
        return False
    if first is not last:
        return True
    if first.plain in tokenized.words["function"]:
        return False
    return lists.country(words) or _town_allowed(tokenized, first)


def _town_allowed(tokenized: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    if tokenized.lower or tokenized.language == "de":
        # Every German noun has its capital: `Essen` is a meal more often than a town.
        return False
    return (
        not name_evidence.ordinary(tokenized, token)
        and token.plain not in tokenized.words["not_names"]
    )


def _title_case(tokenized: tokenizer.TokenizedText, at: int, end: int) -> bool:
    """Two to five capitalised words of English that are all ordinary: `Credit Karma`,
    `Civil Rights Act`, and no headline (`Supposed To Hate`) or title in quotation marks.
    """
    tokens = tokenized.tokens[at:end]
    if tokenized.language not in ("", "en") or not 2 <= len(tokens) <= 5:
        return False
    if all(token.text.isupper() for token in tokens):
        return False
    not_names = tokenized.words["not_names"]
    for token in tokens:
        if not token.capital or len(token.text) < 2 or token.plain in not_names:
            return False
    if any(function_word(tokenized, token) for token in tokens):
        return False
    if _is_quoted(tokenized, at, end):
        return False
    return len(tokens) <= 3 or not _heading(tokenized, at, end)


def _is_quoted(tokenized: tokenizer.TokenizedText, at: int, end: int) -> bool:
    tokens = tokenized.tokens
    if at == 0 or end == len(tokens):
        return False
    return tokens[at - 1].text == '"' == tokens[end].text


def _heading(tokenized: tokenizer.TokenizedText, at: int, end: int) -> bool:
    """Whether a run is a line by itself."""
    tokens = tokenized.tokens
    begins_line = at == 0 or tokens[at - 1].text in "\n#"
    ends_line = end == len(tokens) or tokens[end].text == "\n"
    return begins_line and ends_line


def _may_be_name(tokenized: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """Whether a token may be a word of a name: it has a capital, or is listed, or, in a
    text without capitals, is no word.
    """
    if not token.text[0].isalpha() or token.text[-1].isdigit():
        return False
    if len(token.text) <= _LONGEST_CODE and any(map(str.isdigit, token.text)):
        return False
    if token.text == "I" and tokenized.text[token.end : token.end + 1] != ".":
        return False
    return token.capital or _small_may_be_name(tokenized, token)


def _small_may_be_name(
    tokenized: tokenizer.TokenizedText, token: tokenizer.Token
) -> bool:
    plain = token.plain
    if tokenized.language == "de" or len(plain) < tokenizer.LOWERCASE_FROM:
        return False
    if plain in tokenized.words["function"]:
        return False
    if tokenized.lower:
        not_names = tokenized.words["not_names"]
        return plain not in not_names and not name_evidence.ordinary(tokenized, token)
    if tokenized.language != "en":
        return False
    listed = lists.given(plain) or lists.family(plain)
    return bool(listed) and not name_evidence.ordinary(tokenized, token)


def run_end(tokenized: tokenizer.TokenizedText, at: int) -> int:
    """Where the run of name-like words from a token on ends; initials and particles
    between them belong to it. The token itself if it begins none.
    """
    tokens = tokenized.tokens
    if not _may_be_name(tokenized, tokens[at]) and not _opens(tokenized, at):
        return at
    end = at + 1
    while end < len(tokens) and end - at < LONGEST:
        longer = _extended(tokenized, end)
        if longer == end:
            break
        end = longer
    return _without_full_stops(tokenized, at, end)


def _extended(tokenized: tokenizer.TokenizedText, end: int) -> int:
    """Past what follows a run and belongs to it; `end` if that is nothing."""
    last, token = tokenized.tokens[end - 1], tokenized.tokens[end]
    if token.plain in tokenized.words["institution"]:
        return end
    if token.text == "." and len(last.text) == 1 and last.text.isalpha():
        return end + 1
    gap = tokenized.gap_before(end)
    after_initial = gap == "" and last.text == "."
    if gap not in (" ", "  ") and not after_initial:
        return end
    if _may_be_name(tokenized, token) or initial(tokenized, end):
        return end + 1
    return _past_particles(tokenized, end)


def _past_particles(tokenized: tokenizer.TokenizedText, end: int) -> int:
    """Past `von der` or `de` and the name that follows; `end` if none does."""
    tokens = tokenized.tokens
    stop = min(end + _MOST_PARTICLES + 1, len(tokens))
    following = end
    while following < stop and _particle(tokenized, following):
        following += 1
    if following in (end, stop) or not _may_be_name(tokenized, tokens[following]):
        return end
    return following + 1


def _without_full_stops(tokenized: tokenizer.TokenizedText, at: int, end: int) -> int:
    """The end of a run without a full stop that is not an initial's."""
    tokens = tokenized.tokens
    while end > at + 1 and tokens[end - 1].text == ".":
        if len(tokens[end - 2].text) == 1:
            break
        end -= 1
    return end


def _opens(tokenized: tokenizer.TokenizedText, at: int) -> bool:
    """In a text without capitals: a usual given name that is a word as well, before a
    name that is none.
    """
    if not tokenized.lower:
        return False
    token, following = tokenized.tokens[at], tokenized.token_after(at)
    if following is None or token.plain in tokenized.words["function"]:
        return False
    return (
        tokenized.text[token.end : following.start] == " "
        and lists.given(token.plain) >= _USUAL
        and _may_be_name(tokenized, following)
    )


def _particle(tokenized: tokenizer.TokenizedText, at: int) -> bool:
    plain = tokenized.tokens[at].plain
    return plain in tokenized.words["particles"] and plain != "and"


def initial(tokenized: tokenizer.TokenizedText, at: int) -> bool:
    """A letter by itself inside a name: `Stephan M Urner`, in small letters only where
    the text has no others.
    """
    token = tokenized.tokens[at]
    if len(token.text) != 1 or not token.text.isalpha():
        return False
    return (token.capital or tokenized.lower) and token.plain != "i"


def _name_in_run(
    tokenized: tokenizer.TokenizedText, at: int, end: int
) -> spans.FoldedSpan | None:
    """The name that is left of a run without the words that belong to none."""
    tokens = tokenized.tokens
    while at < end and function_word(tokenized, tokens[at]):
        at += 1
    weights = [_weight(tokenized, number) for number in range(at, end)]
    total = sum(weights)
    if total < _ENOUGH and _title_case(tokenized, at, end):
        return spans.FoldedSpan(
            tokens[at].start, tokens[end - 1].end, "organisation", _SCORES.title
        )
    first, last = _without_weightless_ends(tokenized, at, weights, total)
    if first == last or total < _needed(tokenized, tokens[first]):
        return None
    if terms.is_term(tokenized, first, last):
        return None
    return _classified(tokenized, first, last, total)


def _needed(tokenized: tokenizer.TokenizedText, first: tokenizer.Token) -> float:
    """The weight that a name needs by its first token."""
    if first.capital or tokenized.lower:
        return _ENOUGH
    return _ENOUGH_WITHOUT_CAPITAL


def _without_weightless_ends(
    tokenized: tokenizer.TokenizedText, at: int, weights: Sequence[float], total: float
) -> tuple[int, int]:
    """Where the name of a run that begins at a token begins and ends."""
    first, last = 0, len(weights)
    while first < last and weights[first] == 0:
        if not _left_out(tokenized, at + first, total):
            break
        first += 1
    while first < last and weights[last - 1] == 0:
        if tokenized.tokens[at + last - 1].plain not in tokenized.words["not_names"]:
            break
        last -= 1
    return at + first, at + last


def _left_out(tokenized: tokenizer.TokenizedText, at: int, total: float) -> bool:
    """Whether a first word that says nothing is left out of a run: `Contact Maria`, not
    `Ken Fukuda`.
    """
    token = tokenized.tokens[at]
    if initial(tokenized, at) and token.plain not in "ai":
        return False
    if token.plain in tokenized.words["not_names"]:
        return True
    return token.first and not (lists.given(token.plain) and total >= _ENOUGH)


def _weight(tokenized: tokenizer.TokenizedText, at: int) -> float:
    """Evidence of a token in its place: an ordinary word with the capital of its
    sentence says nothing.
    """
    token = tokenized.tokens[at]
    weight = name_evidence.evidence(tokenized, token)
    if weight == 0:
        return _month_weight(tokenized, at)
    if token.first:
        return _weight_at_beginning(tokenized, at, weight)
    # Inside a sentence a capital is no accident.
    deliberate = token.capital and tokenized.language != "de"
    if (
        deliberate
        and weight == name_evidence.EVIDENCE.rare
        and lists.given(token.plain)
    ):
        return name_evidence.EVIDENCE.ambiguous
    return weight


def _month_weight(tokenized: tokenizer.TokenizedText, at: int) -> float:
    """`Jan Jílek`, `May Parker`: months and the like are given names before a family
    name.
    """
    token = tokenized.tokens[at]
    if not token.capital or token.plain not in tokenized.words["not_names"]:
        return name_evidence.EVIDENCE.none
    if lists.given(token.plain) and _name_follows(tokenized, at):
        return name_evidence.EVIDENCE.ambiguous
    return name_evidence.EVIDENCE.none


def _weight_at_beginning(
    tokenized: tokenizer.TokenizedText, at: int, weight: float
) -> float:
    """The weight of a sentence's first word: an ordinary one must be a given name that
    a family name follows, or a usual one that acts.
    """
    token = tokenized.tokens[at]
    if weight == name_evidence.EVIDENCE.listed or not name_evidence.ordinary(
        tokenized, token
    ):
        return weight
    countries = lists.given(token.plain)
    if countries and _name_follows(tokenized, at):
        return weight
    if countries >= _USUAL and _acts(tokenized, at):
        return weight
    return name_evidence.EVIDENCE.none


def _name_follows(tokenized: tokenizer.TokenizedText, at: int) -> bool:
    following = tokenized.token_after(at)
    if following is None or not following.capital:
        return False
    return (
        name_evidence.evidence(tokenized, following) >= name_evidence.EVIDENCE.unknown
    )


def _acts(tokenized: tokenizer.TokenizedText, at: int) -> bool:
    """Whether a first word is spoken to or does what people do: `Mark, …`, `Mark said`."""
    following = tokenized.token_after(at)
    return (
        following is None
        or following.text in (",", "\n", ":", "'")
        or following.plain in tokenized.words["acts"]
    )


def _classified(
    tokenized: tokenizer.TokenizedText, at: int, end: int, total: float
) -> spans.FoldedSpan:
    """A name as that of a place or of a person, with its score."""
    tokens = tokenized.tokens[at:end]
    tokens = without_possessed(tokens)
    start, stop = tokens[0].start, tokens[-1].end
    if tokenized.text[start:stop].endswith("'s"):
        stop -= 2
    words = folding.plain(tokenized.text[start:stop])
    has_given_name = any(lists.given(token.plain) for token in tokens)
    if lists.country(words) or (lists.place(words) and not has_given_name):
        return spans.FoldedSpan(start, stop, "location", _SCORES.place_as_name)
    score = _person_score(tokens, total, has_given_name=has_given_name)
    return spans.FoldedSpan(start, stop, "person", score)


def without_possessed(
    tokens: Sequence[tokenizer.Token],
) -> Sequence[tokenizer.Token]:
    """A full name without what belongs to it: `Ana Ruiz's Cautionary Tales`. A shop has
    one name before the s of its genitive: `Wendy's Kitchen`.
    """
    for number, token in enumerate(tokens[:-1]):
        is_genitive = token.plain.endswith("'s")
        if is_genitive and number > 0 and lists.given(tokens[0].plain):
            return tokens[: number + 1]
    return tokens


def _person_score(
    tokens: Sequence[tokenizer.Token], total: float, *, has_given_name: bool
) -> float:
    if not has_given_name and not any(lists.family(token.plain) for token in tokens):
        return _SCORES.unlisted_name
    if len(tokens) > 1 and total >= name_evidence.EVIDENCE.listed:
        return _SCORES.listed_name_of_several_words
    return _SCORES.listed_name


def function_word(tokenized: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """Whether a token is a function word of more than a letter."""
    return token.plain in tokenized.words["function"] and len(token.plain) > 1
