"""Context window of a candidate: the words before and after, as features see them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reverie.graph.extraction import analysis, candidates
from reverie.privacy import tokenizer

_MOST_NOUNS = 3
# So many tokens after a candidate are looked at.
_FOLLOWING = 6
# German articles that are prepositions as well.
_CONTRACTED = ("im", "vom", "beim", "zum")


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """What stands beside a candidate, folded.

    `before` is the word before it and its article, `determined` whether there is one,
    `introduced` the word before the sign before it, `following` what comes after it.
    """

    before: str
    introduced: str
    determined: bool
    first: bool
    sign: str
    following: Sequence[tokenizer.Token]


def of(text: analysis.AnalysedText, candidate: candidates.Candidate) -> ContextWindow:
    """What stands beside a candidate and its title."""
    tokens = text.tokenized.tokens
    at = candidate.at - 1
    if candidate.title:
        at = _title_at(text, candidate) - 1
    article = at >= 0 and text.lexicon.has("determiners", tokens[at].plain)
    before = _word_before(text, at, article=article)
    if candidate.title and not _title_is_cue(text, candidate):
        before, article = candidate.title, False
    line_ends = text.tokenized.text[candidate.stop : candidate.stop + 1] == "\n"
    following = tokens[candidate.end : candidate.end + _FOLLOWING]
    return ContextWindow(
        before=before,
        introduced=tokens[candidate.at - 2].plain if candidate.at > 1 else "",
        determined=article,
        first=tokens[candidate.at].first,
        sign=tokens[candidate.at - 1].text if candidate.at else "",
        following=() if line_ends else following,
    )


def _word_before(text: analysis.AnalysedText, at: int, *, article: bool) -> str:
    """The word at a place or, if that is an article, before it; "" at the beginning of
    a sentence.
    """
    tokens = text.tokenized.tokens
    before = at
    if article and not _is_preposition(text, tokens[at].plain):
        before = at - 1
    if before < 0 or tokens[at + 1].first:
        return ""
    return tokens[before].plain


def _is_preposition(text: analysis.AnalysedText, article: str) -> bool:
    """`im`, `vom`: an article that is a preposition as well."""
    return text.lexicon.has("in_place", article) or article in _CONTRACTED


def _title_at(text: analysis.AnalysedText, candidate: candidates.Candidate) -> int:
    """The number of the token that is the candidate's title; 0 if there is none."""
    tokens = text.tokenized.tokens
    for number in range(candidate.at - 1, -1, -1):
        if tokens[number].plain == candidate.title:
            return number
    return 0


def _title_is_cue(text: analysis.AnalysedText, candidate: candidates.Candidate) -> bool:
    return text.is_role(candidate.title) or candidate.title in text.lexicon.before


def nouns(
    text: analysis.AnalysedText, following: Iterable[tokenizer.Token]
) -> list[str]:
    """Up to three small words that follow at once, as in `X compute cluster`."""
    words: list[str] = []
    for token in following:
        if not token.text[0].islower() or len(words) == _MOST_NOUNS:
            break
        if text.is_function_word(token.plain):
            break
        words.append(token.plain.removesuffix("'s"))
    return words
