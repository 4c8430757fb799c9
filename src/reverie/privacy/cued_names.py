"""Named entities right after a cue such as `my name is`, `works for` or `lives in`.

What a pattern of rules.py asks for by its `take` is a key of CUTTERS.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from reverie.privacy import folding, lists, name_evidence, names, terms, tokenizer

Extent = tuple[int, int]
Cutter = Callable[[tokenizer.TokenizedText, int], Extent | None]

# So many characters may stand between a cue and the name.
_REACH = 4
_SIGNS = (",", ":", '"')
# A name in small letters after a cue has at most so many words.
_LONGEST_SMALL = 4
# A token that is a rare name by itself; one that may be a name.
_RARE, _LIKELY = 0.5, 1
_JOINING_SIGNS = (",", "&", "-", ".")
_JOINING_WORDS = ("and", "of", "y", "und", "de")


def any_name(tokenized: tokenizer.TokenizedText, position: int) -> Extent | None:
    """The name after a cue that is sure of it, in any case: `my name is ana`."""
    at = _first_token(tokenized, position)
    if at is None:
        return None
    end = names.run_end(tokenized, at)
    if end == at and tokenized.tokens[at].text.isalpha():
        end = _small_end(tokenized, at)
    run = _trimmed(tokenized, at, end)
    if not run:
        return None
    if _not_names(tokenized, run) and not any(lists.given(t.plain) for t in run):
        return None
    return _person_extent(tokenized, run)


def capitalised_name(
    tokenized: tokenizer.TokenizedText, position: int
) -> Extent | None:
    """The name after a cue that holds for much else: with its capital."""
    run = _run_after(tokenized, position)
    if not run or not run[0].capital:
        return None
    return _person_extent(tokenized, run)


def likely_name(tokenized: tokenizer.TokenizedText, position: int) -> Extent | None:
    """The name after a cue, if it looks like one by itself."""
    run = _run_after(tokenized, position)
    if not run or _evidence(tokenized, run) < _RARE:
        return None
    if _is_term(tokenized, run):
        return None
    return _person_extent(tokenized, run)


def place(tokenized: tokenizer.TokenizedText, position: int) -> Extent | None:
    """The place after a cue: a listed one, or one with a capital that looks like a
    name.
    """
    run = _run_after(tokenized, position)
    if not run:
        return None
    if _is_term(tokenized, run):
        return None
    words = folding.plain(tokenized.text[run[0].start : run[-1].end])
    short = name_evidence.abbreviation(run[0].text, words)
    if lists.place(words) and not short:
        return _extent(tokenized, run)
    if not run[0].capital or _evidence(tokenized, run) < _RARE:
        return None
    return _extent(tokenized, run)


def organisation(tokenized: tokenizer.TokenizedText, position: int) -> Extent | None:
    """The organisation after a cue: with a capital, or with a word that may be a name."""
    at = _first_token(tokenized, position)
    if at is None:
        return None
    run = _trimmed(tokenized, at, _organisation_end(tokenized, at))
    if not run or _not_names(tokenized, run):
        return None
    if not run[0].capital and not any(
        name_evidence.evidence(tokenized, token) >= _LIKELY for token in run
    ):
        return None
    return _extent(tokenized, run)


CUTTERS: Mapping[str, Cutter] = MappingProxyType(
    {
        "name": any_name,
        "capital": capitalised_name,
        "listed": likely_name,
        "place": place,
        "organisation": organisation,
    }
)
"""What cuts out a name, by the `take` of a pattern."""


def _run_after(
    tokenized: tokenizer.TokenizedText, position: int
) -> Sequence[tokenizer.Token]:
    """The run of name-like words after a cue; nothing if none of them is a name's."""
    at = _first_token(tokenized, position)
    if at is None:
        return ()
    run = _trimmed(tokenized, at, names.run_end(tokenized, at))
    return () if _not_names(tokenized, run) else run


def _first_token(tokenized: tokenizer.TokenizedText, position: int) -> int | None:
    """The first token after a cue and the signs that follow it, if it is near."""
    tokens = tokenized.tokens
    at = tokenized.token_at(position)
    if at >= len(tokens) or tokens[at].start - position > _REACH:
        return None
    while (
        at < len(tokens)
        and tokens[at].text in _SIGNS
        and tokens[at].start - position <= _REACH
    ):
        at += 1
    return at if at < len(tokens) else None


def _trimmed(
    tokenized: tokenizer.TokenizedText, at: int, end: int
) -> Sequence[tokenizer.Token]:
    """A run without the function words at its end; nothing if it is one itself."""
    tokens = tokenized.tokens
    while end > at and not tokens[end - 1].capital:
        if not names.function_word(tokenized, tokens[end - 1]):
            break
        end -= 1
    if end - at < 2 and names.function_word(tokenized, tokens[at]):
        return ()
    return tokens[at:end]


def _person_extent(
    tokenized: tokenizer.TokenizedText, run: Sequence[tokenizer.Token]
) -> Extent:
    return _extent(tokenized, names.without_possessed(run))


def _extent(
    tokenized: tokenizer.TokenizedText, run: Sequence[tokenizer.Token]
) -> Extent:
    """From the first to the last character, without the s of a genitive."""
    stop = run[-1].end
    return run[0].start, stop - 2 if tokenized.text.endswith("'s", 0, stop) else stop


def _not_names(
    tokenized: tokenizer.TokenizedText, run: Sequence[tokenizer.Token]
) -> bool:
    return all(token.plain in tokenized.words["not_names"] for token in run)


def _is_term(
    tokenized: tokenizer.TokenizedText, run: Sequence[tokenizer.Token]
) -> bool:
    at = tokenized.token_at(run[0].start)
    return terms.is_term(tokenized, at, at + len(run))


def _evidence(
    tokenized: tokenizer.TokenizedText, run: Sequence[tokenizer.Token]
) -> float:
    return sum(name_evidence.evidence(tokenized, token) for token in run)


def _small_end(tokenized: tokenizer.TokenizedText, at: int) -> int:
    """A name in small letters after a strong cue: up to four words that may be names."""
    end = at
    while end < len(tokenized.tokens) and end - at < _LONGEST_SMALL:
        if not tokenized.tokens[end].text[0].isalpha():
            break
        if end > at and tokenized.gap_before(end) not in ("", " "):
            break
        likely = name_evidence.evidence(tokenized, tokenized.tokens[end]) >= _RARE
        if not likely and not names.initial(tokenized, end):
            break
        end += 1
    return end


def _organisation_end(tokenized: tokenizer.TokenizedText, at: int) -> int:
    """Capitalised words joined by spaces, commas, `and` and `&`; in texts without
    capitals, words up to a sign.
    """
    tokens = tokenized.tokens
    end = at
    while end < len(tokens) and end - at < names.LONGEST:
        token = tokens[end]
        if token.text in _JOINING_SIGNS or token.plain in _JOINING_WORDS:
            if end == at or not _joins(tokenized, end):
                break
        elif not _fits(tokenized, token) or (
            end > at and tokenized.gap_before(end) not in ("", " ")
        ):
            break
        end += 1
    return end


def _joins(tokenized: tokenizer.TokenizedText, at: int) -> bool:
    """Whether a sign or a small word stands between two words of one organisation."""
    token, following = tokenized.tokens[at], tokenized.token_after(at)
    if following is None or not _fits(tokenized, following):
        return False
    if "\n" in tokenized.text[token.start : following.start]:
        return False
    # A full stop joins after an abbreviation only.
    return token.text != "." or len(tokenized.tokens[at - 1].text) <= 2


def _fits(tokenized: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """Whether a token may be a word of an organisation's name."""
    if tokenized.lower:
        function_words = tokenized.words["function"]
        return token.text.isalpha() and token.plain not in function_words
    number = token.text.isalnum() and token.text[0].isdigit()
    return token.capital or (number and len(token.text) < 4)
