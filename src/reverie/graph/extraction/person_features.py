"""Features of a person's name: roles, greetings, deeds, and lists of given names."""

from collections.abc import Iterator

from reverie.graph.extraction import (
    analysis,
    candidates,
    context_window,
    feature_weights,
)
from reverie.privacy import folding, lists

# A given name of so many countries is usual; of so many, nobody takes it for a word.
_USUAL, _COMMON = 3, 10
# A German word of no more letters is a name by chance.
_USUAL_FROM_LETTERS = 3
_APPOSITION_SIGNS = (",", "-", "(", ":")
_APPOSITION_ENDS = ".;:)"
_APPOSITION_WORDS = 4
_VERB_ENDINGS = ("ed", "ing", "ly")

_WEIGHTS = feature_weights.WEIGHTS


def features(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> Iterator[float]:
    """What makes somebody of a candidate: a role, a greeting, a deed, and the lists of
    names.
    """
    alone = len(candidate.words) == 1
    if _has_role(text, candidate, context):
        yield _WEIGHTS.role
    if not context.determined and _after_preposition(text, candidate, context):
        yield _WEIGHTS.preposition if alone else _WEIGHTS.preposition_of_several
    if context.determined and not candidate.title:
        yield _WEIGHTS.article if alone else _WEIGHTS.article_of_several
    if alone:
        yield from _first_name_features(text, candidate, context)
    else:
        yield from _full_name_features(text, candidate, context)


def _full_name_features(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> Iterator[float]:
    """What people do stands after several words: `said`."""
    if candidate.owning or not context.following:
        return
    if text.lexicon.has("person_after", context.following[0].plain):
        yield _WEIGHTS.deed_of_several


def _has_role(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> bool:
    return (
        text.is_role(candidate.title)
        or text.is_role(context.before)
        or _apposition(text, context)
    )


def _after_preposition(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> bool:
    """`with X`, or the verb before a name at the beginning: `Asked X`."""
    if text.lexicon.has("to_person", context.before):
        return True
    return (
        text.language == "en"
        and candidate.title == context.before
        and context.before.endswith("ed")
    )


def _first_name_features(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> Iterator[float]:
    """A single word: how usual it is as a name and as a word, and what it does."""
    countries = lists.given(folding.plain(candidate.words[0]))
    if text.language == "de" and _german_word(text, candidate, countries):
        yield _WEIGHTS.german_word
    ordinary = _is_ordinary(text, candidate, context, countries)
    yield from _listed_name_features(countries, context, ordinary=ordinary)
    if context.before and text.lexicon.has("greetings", context.before):
        yield _WEIGHTS.greeting
    if not candidate.tail:
        yield _deed_weight(text, candidate, context, ordinary=ordinary)
    if ordinary and context.first and _also_small(text, candidate):
        yield _WEIGHTS.also_small


def _german_word(
    text: analysis.AnalysedText, candidate: candidates.Candidate, countries: int
) -> bool:
    """Whether a word is one of German, and neither a usual given name nor titled."""
    word = candidate.words[0]
    if not lists.german(word) or text.is_role(candidate.title):
        return False
    return countries < _USUAL or len(folding.plain(word)) <= _USUAL_FROM_LETTERS


def _is_ordinary(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
    countries: int,
) -> bool:
    """Whether a word is an ordinary one where it stands."""
    word = candidate.words[0]
    if text.language == "de":
        return text.is_ordinary(word) and lists.german(word)
    if context.first and countries < _COMMON and text.is_common(word):
        return True
    return text.is_ordinary(word)


def _listed_name_features(
    countries: int, context: context_window.ContextWindow, *, ordinary: bool
) -> Iterator[float]:
    """`countries`: in how many countries the word is a given name."""
    if ordinary:
        if countries >= _COMMON and not context.first:
            yield _WEIGHTS.common_name_and_word
        elif countries >= _USUAL:
            yield _WEIGHTS.usual_name_and_word
        return
    if not context.determined:
        yield _WEIGHTS.no_word
    if countries >= _USUAL:
        yield _WEIGHTS.usual_name
    elif countries:
        yield _WEIGHTS.rare_name


def _deed_weight(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
    *,
    ordinary: bool,
) -> float:
    """A single word that does what people do, owns something, or is spoken to."""
    word = candidate.words[0]
    if candidate.owning:
        return _owner_weight(text, candidate, context)
    # What follows a verb or an adverb is no deed of it.
    if not context.following or (ordinary and word.endswith(_VERB_ENDINGS)):
        return 0
    following = context.following[0]
    gap = text.tokenized.text[candidate.stop : following.start]
    if gap == " " and text.lexicon.has("person_after", following.plain):
        return _verb_weight(text, candidate, context, ordinary=ordinary)
    if following.text == "," and _may_be_addressed(candidate):
        return _WEIGHTS.addressed_word if ordinary else _WEIGHTS.addressed
    return 0


def _may_be_addressed(candidate: candidates.Candidate) -> bool:
    """Whether a word begins the text and is no adverb: `Quenby, come`."""
    return candidate.at == 0 and not candidate.words[0].endswith("ly")


def _verb_weight(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
    *,
    ordinary: bool,
) -> float:
    """`Quenby said`; `is` and `and` are weak, as they follow all things."""
    verb = context.following[0].plain
    weak = text.is_function_word(verb)
    joined = verb in ("and", "und") and candidate.at == 0
    if ordinary and weak and not joined:
        return _WEIGHTS.weak_deed_of_word
    return _WEIGHTS.deed if context.first or not weak else _WEIGHTS.weak_deed


def _owner_weight(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> float:
    """`Quenby's shed`."""
    if context.determined:
        return 0
    if context.first and not text.is_function_word(folding.plain(candidate.words[0])):
        return _WEIGHTS.owning_first
    return _WEIGHTS.owning


def _apposition(
    text: analysis.AnalysedText, context: context_window.ContextWindow
) -> bool:
    """`, the maintainer`, `(no relation)`, `the user, X,`: who it is stands beside the
    name.
    """
    if context.sign == "," and text.is_role(context.introduced):
        return True
    after = context.following
    if not after or after[0].text not in _APPOSITION_SIGNS:
        return False
    for token in after[1 : 1 + _APPOSITION_WORDS]:
        if token.text in _APPOSITION_ENDS or token.plain == "and":
            return False
        if text.is_role(token.plain):
            return True
    return False


def _also_small(text: analysis.AnalysedText, candidate: candidates.Candidate) -> bool:
    """Whether the text has the same word in small letters: then it is a word there."""
    return candidate.words[0].lower() in text.times
