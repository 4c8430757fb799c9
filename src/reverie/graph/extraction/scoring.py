"""Named entity typing: scores of a candidate as person, place, organisation, project.

Each feature that holds adds its weight to the points of a type. All weights and limits
were set by hand against bench/extraction_entities.py.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reverie.graph.extraction import analysis, candidates
from reverie.privacy import folding, lists, tokenizer

ORGANISATIONS = frozenset({"company", "institution", "group"})
ENOUGH = 1.5
"""Below so many points a candidate is no mention."""

Points = defaultdict[str, float]


@dataclass(frozen=True, slots=True)
class _Weights:
    """Points by feature; what they are for stands at the feature."""

    # The words beside a candidate, whatever its length.
    noun_before: float = 2
    compound_end: float = 2
    noun_after: float = 2
    noun_later: float = 1.5
    in_place: float = 2.0
    in_place_modifier: float = 1.0
    to_place: float = 0.8

    # Several words.
    listed_town: float = 3
    place_beginning: float = 2
    spanish_noun: float = 3
    head: float = 3
    head_or_surname: float = 2
    company_beginning: float = 2.5

    # How several words look together.
    listed_name: float = 2.5
    half_listed_name: float = 2
    unlisted_name: float = 1.7
    long_name: float = 0
    title: float = 1.7
    title_with_head: float = 0.5
    long_title: float = -1
    german_title: float = -1
    name_and_words: float = 1.6

    # One word.
    acronym: float = 0.5
    technology: float = 2
    technology_is_person: float = -2
    company: float = 2.5
    country: float = 3.5
    town: float = 2
    ordinary_town_of_motion: float = 3
    plural: float = 1.6
    plural_modifier: float = 0.6
    ordinary_word: float = -1.5

    # A person.
    role: float = 2
    preposition: float = 0.9
    preposition_of_several: float = 0.5
    article: float = -2
    article_of_several: float = -0.6
    deed_of_several: float = 0.7
    german_word: float = -3
    no_word: float = 0.6
    usual_name: float = 2
    rare_name: float = 1.5
    usual_name_and_word: float = 1
    common_name_and_word: float = 1.6
    greeting: float = 2
    also_small: float = -3

    # One word that acts.
    owning: float = 1.2
    owning_first: float = 2
    deed: float = 2.0
    weak_deed: float = 1.2
    weak_deed_of_word: float = 0.7
    addressed: float = 1.7
    addressed_word: float = 1.0


_WEIGHTS = _Weights()

# A title, a person's name: at most so many words.
_TITLE_WORDS, _NAME_WORDS = 4, 3
# A given name of so many countries is usual; of so many, nobody takes it for a word.
_USUAL, _COMMON = 3, 10
# An ending of a German compound must be longer than this to tell its type.
_SHORT_CUE = 3
_MOST_NOUNS = 3
# So many tokens after a candidate are looked at.
_FOLLOWING = 6
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
# German articles that are prepositions as well.
_CONTRACTED = ("im", "vom", "beim", "zum")
_APPOSITION_SIGNS = (",", "-", "(", ":")
_APPOSITION_ENDS = ".;:)"
_APPOSITION_WORDS = 4
_VERB_ENDINGS = ("ed", "ing", "ly")


@dataclass(frozen=True, slots=True)
class _Context:
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


def points(initial: Mapping[str, float] | None = None) -> Points:
    """No points, or some to begin with."""
    return defaultdict(float, initial or {})


def score(text: analysis.AnalysedText, candidate: candidates.Candidate) -> Points:
    """Points by type. Under `ENOUGH` a candidate is no mention."""
    totals = points()
    context = _context(text, candidate)
    for type_, weight in _features(text, candidate, context):
        totals[type_] += weight
    return totals


def _features(
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
) -> Iterator[tuple[str, float]]:
    """(type, weight) of each feature that holds."""
    yield from _cue_features(text, candidate, context)
    if len(candidate.words) > 1 or _hyphenated_title(text, candidate):
        yield from _phrase_features(text, candidate, context)
    else:
        yield from _word_features(text, candidate, context)
    for weight in _person_features(text, candidate, context):
        yield "person", weight


def _context(text: analysis.AnalysedText, candidate: candidates.Candidate) -> _Context:
    tokens, lexicon = text.tokenized.tokens, text.lexicon
    at = candidate.at - 1
    if candidate.title:
        at = _title_at(text, candidate) - 1
    article = at >= 0 and lexicon.has("determiners", tokens[at].plain)
    # `im`, `vom`: an article that is a preposition as well.
    preposition = article and (
        lexicon.has("in_place", tokens[at].plain) or tokens[at].plain in _CONTRACTED
    )
    before = at - 1 if article and not preposition else at
    word = ""
    if before >= 0 and not tokens[at + 1].first:
        word = tokens[before].plain
    if candidate.title and not _title_is_cue(text, candidate):
        word, article = candidate.title, False
    line_ends = text.tokenized.text[candidate.stop : candidate.stop + 1] == "\n"
    following = tokens[candidate.end : candidate.end + _FOLLOWING]
    return _Context(
        before=word,
        introduced=tokens[candidate.at - 2].plain if candidate.at > 1 else "",
        determined=article,
        first=tokens[candidate.at].first,
        sign=tokens[candidate.at - 1].text if candidate.at else "",
        following=() if line_ends else following,
    )


def _title_at(text: analysis.AnalysedText, candidate: candidates.Candidate) -> int:
    """The number of the token that is the candidate's title; 0 if there is none."""
    tokens = text.tokenized.tokens
    for number in range(candidate.at - 1, -1, -1):
        if tokens[number].plain == candidate.title:
            return number
    return 0


def _title_is_cue(text: analysis.AnalysedText, candidate: candidates.Candidate) -> bool:
    return text.is_role(candidate.title) or candidate.title in text.lexicon.before


def _cue_features(
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
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
        modifier = text.language == "en" and bool(_nouns(text, context.following))
        if modifier or len(candidate.words) > 1:
            yield "place", _WEIGHTS.in_place_modifier
        else:
            yield "place", _WEIGHTS.in_place
    elif lexicon.has("to_place", context.before):
        yield "place", _WEIGHTS.to_place


def _noun_after(
    text: analysis.AnalysedText, context: _Context
) -> Iterator[tuple[str, float]]:
    """The first of the nouns after a candidate that tells its type."""
    types = text.lexicon.after
    for distance, cue in enumerate(_nouns(text, context.following)):
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


def _nouns(
    text: analysis.AnalysedText, following: Iterable[tokenizer.Token]
) -> list[str]:
    """Up to three small words that follow at once, as in `X compute cluster`."""
    nouns: list[str] = []
    for token in following:
        if not token.text[0].islower() or len(nouns) == _MOST_NOUNS:
            break
        if text.is_function_word(token.plain):
            break
        nouns.append(token.plain.removesuffix("'s"))
    return nouns


def _phrase_features(
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
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
    context: _Context,
) -> tuple[str, float]:
    """What words look like together: a listed name, a title of ordinary words, a name
    before ordinary words.
    """
    given, family = lists.given(plain[0]), lists.family(plain[-1])
    listed = given >= _USUAL or (given and family)
    if listed and len(plain) <= _TITLE_WORDS:
        return "person", _WEIGHTS.listed_name
    ordinary = [text.is_ordinary(word) for word in words]
    if all(ordinary):
        return "project", _title_weight(text, plain, head)
    pair = len(plain) == 2 and not head and not ordinary[0]
    if pair and (given or (family and ordinary[1])):
        return "person", _WEIGHTS.half_listed_name
    if not ordinary[0] and all(ordinary[1:]):
        return _name_and_words_type(plain, head, context), _WEIGHTS.name_and_words
    if len(plain) <= _NAME_WORDS:
        return "person", _WEIGHTS.unlisted_name
    return "person", _WEIGHTS.long_name


def _title_weight(
    text: analysis.AnalysedText, plain: Sequence[str], head: str
) -> float:
    """Ordinary words with capitals: in German every noun has one."""
    if text.language == "de" and not lists.english(plain[-1].split("-")[-1]):
        return _WEIGHTS.german_title
    weight = _WEIGHTS.title_with_head if head else _WEIGHTS.title
    return weight + _WEIGHTS.long_title if len(plain) > _TITLE_WORDS else weight


def _name_and_words_type(plain: Sequence[str], head: str, context: _Context) -> str:
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
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
) -> Iterator[tuple[str, float]]:
    """One word: its capitals, and the lists that it is in."""
    word, plain = candidate.words[0], folding.plain(candidate.words[0])
    ordinary = text.is_ordinary(word) or (context.first and text.is_common(word))
    yield from _technology_features(text, word, plain)
    if text.lexicon.has("companies", plain):
        yield "company", _WEIGHTS.company
    yield from _place_features(text, plain, context, ordinary=ordinary)
    if context.determined and word.endswith("s") and not ordinary:
        # `the Azores`; `the Azores office`.
        modifier = bool(_nouns(text, context.following))
        yield "place", _WEIGHTS.plural_modifier if modifier else _WEIGHTS.plural
    if ordinary:
        # An ordinary word with a capital: only what stands beside it can make it a
        # name.
        named = _types_by_name(text, plain, context)
        for type_ in _NAMED_TYPES:
            yield type_, 0 if type_ in named else _WEIGHTS.ordinary_word


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
    text: analysis.AnalysedText, plain: str, context: _Context, *, ordinary: bool
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
    if context.first or text.language == "de":
        return
    motion = lexicon.has("in_place", context.before) or lexicon.has(
        "to_place", context.before
    )
    yield "place", _WEIGHTS.ordinary_town_of_motion if motion else _WEIGHTS.town


def _types_by_name(
    text: analysis.AnalysedText, plain: str, context: _Context
) -> set[str]:
    """The types for which an ordinary word is listed, if its capital is its own."""
    if context.first:
        return set()
    return {type_ for group, type_ in _TYPES_BY_NAME if text.lexicon.has(group, plain)}


def _person_features(
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
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
    elif not candidate.owning and _deed_follows(text, context):
        yield _WEIGHTS.deed_of_several


def _deed_follows(text: analysis.AnalysedText, context: _Context) -> bool:
    """Whether a word that people do stands after a candidate: `said`."""
    if not context.following:
        return False
    return text.lexicon.has("person_after", context.following[0].plain)


def _has_role(
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
) -> bool:
    return (
        text.is_role(candidate.title)
        or text.is_role(context.before)
        or _apposition(text, context)
    )


def _after_preposition(
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
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
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
) -> Iterator[float]:
    """A single word: how usual it is as a name and as a word, and what it does."""
    word, plain = candidate.words[0], folding.plain(candidate.words[0])
    given = lists.given(plain)
    ordinary = text.is_ordinary(word)
    if text.language == "de":
        german = lists.german(word)
        usual = given >= _USUAL and len(plain) > _USUAL
        if german and not usual and not text.is_role(candidate.title):
            yield _WEIGHTS.german_word
        ordinary = ordinary and german
    elif context.first and given < _COMMON and text.is_common(word):
        ordinary = True
    yield from _listed_name_features(given, context, ordinary=ordinary)
    if context.before and text.lexicon.has("greetings", context.before):
        yield _WEIGHTS.greeting
    if not candidate.tail:
        yield _deed_weight(text, candidate, context, ordinary=ordinary)
    if ordinary and context.first and _also_small(text, candidate):
        yield _WEIGHTS.also_small


def _listed_name_features(
    given: int, context: _Context, *, ordinary: bool
) -> Iterator[float]:
    """`given`: in how many countries the word is a given name."""
    if ordinary:
        if given >= _COMMON and not context.first:
            yield _WEIGHTS.common_name_and_word
        elif given >= _USUAL:
            yield _WEIGHTS.usual_name_and_word
        return
    if not context.determined:
        yield _WEIGHTS.no_word
    if given >= _USUAL:
        yield _WEIGHTS.usual_name
    elif given:
        yield _WEIGHTS.rare_name


def _deed_weight(
    text: analysis.AnalysedText,
    candidate: candidates.Candidate,
    context: _Context,
    *,
    ordinary: bool,
) -> float:
    """A single word that does what people do, owns something, or is spoken to."""
    if candidate.owning:
        return _owner_weight(text, candidate, context)
    if not context.following:
        return 0
    # What follows a verb or an adverb is no deed of it.
    if ordinary and candidate.words[0].endswith(_VERB_ENDINGS):
        return 0
    following = context.following[0]
    gap = text.tokenized.text[candidate.stop : following.start]
    if gap == " " and text.lexicon.has("person_after", following.plain):
        weak = text.is_function_word(following.plain)
        joined = following.plain in ("and", "und") and candidate.at == 0
        if ordinary and weak and not joined:
            return _WEIGHTS.weak_deed_of_word
        return _WEIGHTS.deed if context.first or not weak else _WEIGHTS.weak_deed
    addressed = following.text == "," and candidate.at == 0
    if addressed and not candidate.words[0].endswith("ly"):
        return _WEIGHTS.addressed_word if ordinary else _WEIGHTS.addressed
    return 0


def _owner_weight(
    text: analysis.AnalysedText, candidate: candidates.Candidate, context: _Context
) -> float:
    """`Quenby's shed`."""
    if context.determined:
        return 0
    if context.first and not text.is_function_word(folding.plain(candidate.words[0])):
        return _WEIGHTS.owning_first
    return _WEIGHTS.owning


def _apposition(text: analysis.AnalysedText, context: _Context) -> bool:
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
    small = candidate.words[0].lower()
    return any(token.text == small for token in text.tokenized.tokens)
