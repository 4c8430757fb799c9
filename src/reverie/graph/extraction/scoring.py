"""Named entity typing: scores of a candidate as person, place, organisation, project.

Each feature that holds adds its weight (feature_weights.py) to the points of a type.
All limits were set by hand against bench/extraction_entities.py.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from reverie.graph.extraction import (
    analysis,
    candidates,
    context_window,
    feature_weights,
    person_features,
)
from reverie.privacy import folding, lists

ORGANISATIONS = frozenset({"company", "institution", "group"})
ENOUGH = 1.5
"""Below so many points a candidate is no mention."""

Points = defaultdict[str, float]
_WEIGHTS = feature_weights.WEIGHTS

# A given name of so many countries is usual.
_USUAL = 3
# A title, a person's name: at most so many words.
_TITLE_WORDS, _NAME_WORDS = 4, 3
# An ending of a German compound must be longer than this to tell its type.
_SHORT_CUE = 3
_TYPES_BY_NAME = (("technology", "technology"), ("companies", "company"))
# Types that an ordinary word is not without a cue.
_NAMED_TYPES = (
    "place",
    "work",
    "people",
    "species",
    "technology",
    "institution",
    "company",
    "group",
)
# Prepositions after which an odd name is that of a company.
_BEFORE_COMPANY = (
    "at",
    "from",
    "for",
    "with",
    "by",
    "bei",
    "von",
    "fur",
    "mit",
    "en",
    "para",
    "con",
)


def points(initial: Mapping[str, float] | None = None) -> Points:
    """No points, or some to begin with."""
    return defaultdict(float, initial or {})


def score(text: analysis.AnalysedText, candidate: candidates.Candidate) -> Points:
    """Points by type. Under `ENOUGH` a candidate is no mention."""
    totals = points()
    context = context_window.of(text, candidate)
    for type_, weight in _features(text, candidate, context):
        totals[type_] += weight
    return totals


def _features(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> Iterator[tuple[str, float]]:
    """(type, weight) of each feature that holds."""
    yield from _cue_features(text, candidate, context)
    if len(candidate.words) > 1 or _hyphenated_title(text, candidate):
        yield from _phrase_features(text, candidate, context)
    else:
        yield from _word_features(text, candidate, context)
    for weight in person_features.features(text, candidate, context):
        yield "person", weight


def _cue_features(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> Iterator[tuple[str, float]]:
    """The noun before (`project X`) and after (`X district`), and the preposition."""
    lexicon = text.lexicon
    for cue in dict.fromkeys((candidate.title, context.before)):
        if cue in lexicon.before:
            yield lexicon.before[cue], _WEIGHTS.noun_before
    if candidate.tail:
        yield _compound_type(text, candidate.tail), _WEIGHTS.compound_end
    elif not candidate.owning:
        yield from _noun_after(text, context)
    if lexicon.has("in_place", context.before) and not candidate.tail:
        yield "place", _in_place_weight(text, candidate, context)
    elif lexicon.has("to_place", context.before):
        yield "place", _WEIGHTS.to_place


def _in_place_weight(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> float:
    """`in X` is a place more surely than `in X Park` and `in X cluster`."""
    modifier = text.language == "en" and bool(
        context_window.nouns(text, context.following)
    )
    if modifier or len(candidate.words) > 1:
        return _WEIGHTS.in_place_modifier
    return _WEIGHTS.in_place


def _noun_after(
    text: analysis.AnalysedText, context: context_window.ContextWindow
) -> Iterator[tuple[str, float]]:
    """The first of the nouns after a candidate that tells its type."""
    types = text.lexicon.after
    for distance, cue in enumerate(context_window.nouns(text, context.following)):
        if cue in types:
            weight = _WEIGHTS.noun_after if distance == 0 else _WEIGHTS.noun_later
            yield types[cue], weight
            return


def _compound_type(text: analysis.AnalysedText, tail: str) -> str:
    """What the rest of a German compound tells: `-Zyklus`, `-Client-Bibliothek`; "" if
    nothing.
    """
    types = text.lexicon.after
    parts = [folding.plain(part) for part in tail.split("-")]
    for part in parts:
        if part in types:
            return types[part]
    for cue, type_ in types.items():
        if len(cue) > _SHORT_CUE and parts[-1].endswith(cue):
            return type_
    return ""


def _phrase_features(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> Iterator[tuple[str, float]]:
    """Several words: what the last one says, towns of several words, and how they look
    together.
    """
    plain = [folding.plain(word) for word in candidate.words]
    lexicon = text.lexicon
    head = _head_type(text, plain)
    if lists.place(" ".join(plain)):
        yield "place", _WEIGHTS.listed_town
    if lexicon.has("starts_place", plain[0]):
        yield "place", _WEIGHTS.place_beginning
    if text.language == "es" and plain[0] in lexicon.before:
        yield lexicon.before[plain[0]], _WEIGHTS.spanish_noun
    if head:
        yield head, _head_weight(plain)
    if lexicon.has("starts_company", plain[0]) or "&" in candidate.words:
        yield "company", _WEIGHTS.company_beginning
    yield _look(text, candidate.words, plain, head, context)


def _head_type(text: analysis.AnalysedText, plain: Sequence[str]) -> str:
    """The type that the last word tells (`… Ltd`), or the first before `of`."""
    types = text.lexicon.heads
    last = types.get(plain[-1])
    if last:
        return last
    return types.get(plain[0], "") if text.lexicon.has("joins", plain[0]) else ""


def _head_weight(plain: Sequence[str]) -> float:
    """`Anna Bach` may be no brook: a head that is a family name after a given name."""
    if len(plain) != 2 or not lists.given(plain[0]) or not lists.family(plain[1]):
        return _WEIGHTS.head
    return _WEIGHTS.head_or_surname


def _look(
    text: analysis.AnalysedText,
    words: Sequence[str],
    plain: Sequence[str],
    head: str,
    context: context_window.ContextWindow,
) -> tuple[str, float]:
    """What words look like together: a listed name, a title of ordinary words, a name
    before ordinary words.
    """
    if len(plain) <= _TITLE_WORDS and _listed_name(plain):
        return "person", _WEIGHTS.listed_name
    first_ordinary, *others = [text.is_ordinary(word) for word in words]
    others_ordinary = all(others)
    if first_ordinary:
        if others_ordinary:
            return "project", _title_weight(text, plain, head)
        return "person", _unlisted_weight(plain)
    pair = len(plain) == 2 and not head
    if pair and _half_listed_name(plain, last_ordinary=others_ordinary):
        return "person", _WEIGHTS.half_listed_name
    if others_ordinary:
        return _name_and_words_type(plain, head, context), _WEIGHTS.name_and_words
    return "person", _unlisted_weight(plain)


def _unlisted_weight(plain: Sequence[str]) -> float:
    if len(plain) <= _NAME_WORDS:
        return _WEIGHTS.unlisted_name
    return _WEIGHTS.long_name


def _listed_name(plain: Sequence[str]) -> bool:
    """A usual given name, or any before a family name."""
    countries = lists.given(plain[0])
    return countries >= _USUAL or (countries > 0 and lists.family(plain[-1]) > 0)


def _half_listed_name(plain: Sequence[str], *, last_ordinary: bool) -> bool:
    """A given name, or a family name that is an ordinary word, beside an unknown one."""
    if lists.given(plain[0]):
        return True
    return last_ordinary and lists.family(plain[-1]) > 0


def _title_weight(
    text: analysis.AnalysedText, plain: Sequence[str], head: str
) -> float:
    """Ordinary words with capitals: in German every noun has one."""
    if text.language == "de" and not lists.english(plain[-1].split("-")[-1]):
        return _WEIGHTS.german_title
    weight = _WEIGHTS.title_with_head if head else _WEIGHTS.title
    return weight + _WEIGHTS.long_title if len(plain) > _TITLE_WORDS else weight


def _name_and_words_type(
    plain: Sequence[str], head: str, context: context_window.ContextWindow
) -> str:
    """`Zorplex Widgets` is a project, unless somebody is there: `at Zorplex Widgets`."""
    if not plain[-1].endswith("s") or head:
        return "company"
    if context.before in _BEFORE_COMPANY and not context.determined:
        return "company"
    return "project"


def _hyphenated_title(
    text: analysis.AnalysedText, candidate: candidates.Candidate
) -> bool:
    """`Slow-Cooking` inside a sentence: a title of two words."""
    parts = candidate.words[0].split("-")
    if len(parts) < 2 or text.tokenized.tokens[candidate.at].first:
        return False
    capitals = all(part[:1].isupper() and len(part) > 1 for part in parts)
    return capitals and text.is_ordinary(candidate.words[0])


def _word_features(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: context_window.ContextWindow,
) -> Iterator[tuple[str, float]]:
    """One word: its capitals, and the lists that it is in."""
    word, plain = candidate.words[0], folding.plain(candidate.words[0])
    ordinary = text.is_ordinary(word) or (context.first and text.is_common(word))
    yield from _technology_features(text, word, plain)
    if text.lexicon.has("companies", plain):
        yield "company", _WEIGHTS.company
    yield from _place_features(text, plain, context, ordinary=ordinary)
    if context.determined and word.endswith("s") and not ordinary:
        yield "place", _plural_weight(text, context)
    if ordinary:
        # An ordinary word with a capital: only what stands beside it can make it a
        # name.
        named = _types_by_name(text, plain, context)
        for type_ in _NAMED_TYPES:
            yield type_, 0 if type_ in named else _WEIGHTS.ordinary_word


def _plural_weight(
    text: analysis.AnalysedText, context: context_window.ContextWindow
) -> float:
    """`the Azores`; `the Azores office`."""
    if context_window.nouns(text, context.following):
        return _WEIGHTS.plural_modifier
    return _WEIGHTS.plural


def _technology_features(
    text: analysis.AnalysedText, word: str, plain: str
) -> Iterator[tuple[str, float]]:
    """`HTTP`, `PostgreSQL` and listed products are nobody."""
    if word.isupper():
        yield "technology", _WEIGHTS.acronym
        yield "person", _WEIGHTS.technology_is_person
        return
    camel_case = word[1:] != word[1:].lower() and "-" not in word
    if (
        camel_case
        or text.lexicon.has("technology", plain)
        or plain in text.tokenized.words["allowed"]
    ):
        yield "technology", _WEIGHTS.technology
        yield "person", _WEIGHTS.technology_is_person


def _place_features(
    text: analysis.AnalysedText,
    plain: str,
    context: context_window.ContextWindow,
    *,
    ordinary: bool,
) -> Iterator[tuple[str, float]]:
    """Countries, and towns that are no ordinary words, or are where one is or goes."""
    lexicon = text.lexicon
    country = lists.country(plain) or lexicon.has("places", plain)
    if country and not (ordinary and context.first):
        yield "place", _WEIGHTS.country
        return
    if not lists.place(plain):
        return
    if not ordinary:
        yield "place", _WEIGHTS.town
        return
    if not context.first and text.language != "de":
        yield "place", _ordinary_town_weight(text, context)


def _ordinary_town_weight(
    text: analysis.AnalysedText, context: context_window.ContextWindow
) -> float:
    """`to Reading`, and `a Reading`."""
    for group in ("in_place", "to_place"):
        if text.lexicon.has(group, context.before):
            return _WEIGHTS.ordinary_town_of_motion
    return _WEIGHTS.town


def _types_by_name(
    text: analysis.AnalysedText, plain: str, context: context_window.ContextWindow
) -> set[str]:
    """The types for which an ordinary word is listed, if its capital is its own."""
    if context.first:
        return set()
    return {type_ for group, type_ in _TYPES_BY_NAME if text.lexicon.has(group, plain)}
