"""Named entity recognition without a model: people, places, organisations, projects.

Known nodes and what the owner marked come first, then what the points of scoring.py
make of a text's candidates. And which of the mentions matter.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reverie.graph.extraction import (
    analysis,
    candidates,
    gazetteer,
    lexicon,
    scoring,
)
from reverie.privacy import folding, names, rules, tokenizer

Kind = gazetteer.Kind
KnownNode = gazetteer.KnownNode
_TAG_OR_LINK = re.compile(
    r"(?<![\w&/#])#(?P<name>[^\W\d_][\w/-]{1,60})|\[\[(?P<link>[^\[\]|#\n]{1,80})"
)
# Quotation marks are all one sign in a folded text.
_QUOTED = re.compile(r'(?<!\w)"(?P<title>[^\W\d_a-z][^"\n]{2,80})"(?!\w)')
_CONJUNCTIONS = ("and", "or", "und", "oder", "y", "e")
_ARTICLES = ("the", "die", "den")
_MARKED = ("tag", "link")

# Confidences and points below were set by hand against bench/extraction_entities.py.
_KNOWN, _TAGGED, _QUOTED_TITLE = 1.0, 0.7, 0.6
# The least and the most confidence of a guess; so many points are worth half of 1.
_LEAST, _MOST = 0.4, 0.95
_POINTS_OF_HALF = 6.0
# Points for standing in a list with something of a type, if it has fewer of its own.
_IN_LIST, _STRONG = 1.6, 2
# Points for being the short form of a name.
_SHORT_FORM = 2.5
# In a text without capitals: from which score of privacy.names, and what it is worth.
_UNCAPITALISED_FROM, _UNCAPITALISED_SHARE = 0.6, 0.8
# From this confidence on a person with a full name deserves a node.
_FULL_NAME_FROM = 0.5
# A list names things of so many words at most.
_LIST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text that names something. `name` is its fullest name in the text,
    `key` that of a known node; `score` is a confidence from 0 to 1.

    `text` is what stands there: `Ada`, where `name` is `Ada Lovelace` if the text says
    so elsewhere.
    """

    start: int
    end: int
    text: str
    kind: Kind
    type: str
    score: float
    name: str
    key: str = ""


@dataclass(slots=True)
class _ScoredCandidate:
    """A candidate with its points, which change while the text is read.

    `longer` is the full name of which its own is the short form.
    """

    candidate: candidates.Candidate
    points: scoring.Points
    name: str
    longer: str = ""

    @property
    def folded_name(self) -> str:
        return folding.plain(self.name)


def find(
    text: str,
    *,
    known: Sequence[KnownNode] | gazetteer.Gazetteer = (),
    language: str | None = None,
) -> list[Mention]:
    """Every mention, none overlapping, by place. `language` is en, es, de or None: then
    the text tells.

    Who looks through many texts makes the known nodes a gazetteer.of(…) once.
    """
    nodes = known if isinstance(known, gazetteer.Gazetteer) else gazetteer.of(known)
    folded = folding.fold(text)
    mentions = _found_in_folded(folded.text, nodes, language)
    return [
        replace(mention, start=start, end=end, text=text[start:end])
        for mention in sorted(mentions, key=lambda mention: mention.start)
        for start, end in [folded.back(mention.start, mention.end)]
    ]


def _found_in_folded(
    text: str, nodes: gazetteer.Gazetteer, language: str | None
) -> list[Mention]:
    """The surest first: what overlaps it is left out."""
    if language not in lexicon.LANGUAGES:
        language = lexicon.tell_language(text)
    tokenized = tokenizer.tokenize(text, rules.load().words, language)
    analysed = analysis.of(tokenized, lexicon.load(language), language or "en")
    mentions = list(_known_mentions(text, nodes))
    covered = _CoveredCharacters(mentions)
    others = (*_tagged(text), *_quoted(text), *_recognised(analysed, mentions))
    for mention in others:
        if covered.free(mention):
            covered.add(mention)
            mentions.append(mention)
    return mentions


class _CoveredCharacters:
    """The characters that mentions cover."""

    def __init__(self, mentions: Iterable[Mention]) -> None:
        self._offsets: set[int] = set()
        for mention in mentions:
            self.add(mention)

    def add(self, mention: Mention) -> None:
        self._offsets.update(range(mention.start, mention.end))

    def free(self, mention: Mention | candidates.Candidate) -> bool:
        end = mention.end if isinstance(mention, Mention) else mention.stop
        return self._offsets.isdisjoint(range(mention.start, end))


def _known_mentions(text: str, nodes: gazetteer.Gazetteer) -> Iterator[Mention]:
    for start, end, node in gazetteer.find(text, nodes):
        yield Mention(
            start,
            end,
            text[start:end],
            node.kind,
            node.type or node.kind,
            _KNOWN,
            node.name,
            node.key,
        )


def _tagged(text: str) -> Iterator[Mention]:
    """What the owner marked: `#beekeeping`, `[[The shed]]`."""
    for match in _TAG_OR_LINK.finditer(text):
        group, type_ = ("name", "tag") if match["name"] else ("link", "link")
        start, end = match.span(group)
        name = match[group]
        yield Mention(start, end, name, "concept", type_, _TAGGED, name)


def _quoted(text: str) -> Iterator[Mention]:
    """A title in quotation marks: two words with capitals at least, and no sentence."""
    for match in _QUOTED.finditer(text):
        title = match["title"]
        words = title.split()
        capitals = sum(word[0].isupper() for word in words)
        if capitals < 2 or capitals * 2 < len(words) or title[-1] in ".,!?;:":
            continue
        start, end = match.span("title")
        yield Mention(start, end, title, "entity", "work", _QUOTED_TITLE, title)


def _recognised(
    text: analysis.AnalysedText, known_mentions: Sequence[Mention]
) -> Iterator[Mention]:
    """Candidates that the text makes a person, a place, an organisation, a project."""
    if text.tokenized.lower:
        yield from _uncapitalised(text.tokenized)
        return
    scored = _scored(text, known_mentions)
    _raise_lists(text, scored)
    _share_points(scored)
    _link_short_forms(scored)
    for candidate in scored:
        type_, points = _best(candidate.points)
        if points >= scoring.ENOUGH:
            yield _mention(candidate, type_, points)


def _scored(
    text: analysis.AnalysedText, known_mentions: Sequence[Mention]
) -> list[_ScoredCandidate]:
    """The candidates outside of what is known, with their points."""
    covered = _CoveredCharacters(known_mentions)
    scored: list[_ScoredCandidate] = []
    for candidate in candidates.find(text):
        if covered.free(candidate):
            written = text.tokenized.text[candidate.start : candidate.stop]
            name = " ".join(written.split())
            points = scoring.score(text, candidate)
            scored.append(_ScoredCandidate(candidate, points, name))
    return scored


def _mention(scored: _ScoredCandidate, type_: str, points: float) -> Mention:
    confidence = min(_MOST, _LEAST + points / (2 * _POINTS_OF_HALF))
    return Mention(
        scored.candidate.start,
        scored.candidate.stop,
        scored.name,
        _kind(type_),
        type_,
        round(confidence, 2),
        scored.longer or scored.name,
    )


def _kind(type_: str) -> Kind:
    """The kind of node of what is of a type."""
    if type_ == "person":
        return "person"
    return "concept" if type_ in ("species", "document") else "entity"


def _best(points: scoring.Points) -> tuple[str, float]:
    """The type with most points, and how many; the later in the alphabet of two."""
    types = [type_ for type_ in points if type_]
    if not types:
        return "", 0
    best = max(types, key=lambda type_: (points[type_], type_))
    return best, points[best]


def _raise_lists(
    text: analysis.AnalysedText, scored: Sequence[_ScoredCandidate]
) -> None:
    """`in Porto and Braga`: what stands in one list is of one type, as far as it has
    none of its own. From left to right, and back.
    """
    pairs = list(pairwise(scored))
    for first, second in pairs:
        _raise_neighbour(text, first, second, target=second)
    for first, second in reversed(pairs):
        _raise_neighbour(text, first, second, target=first)


def _raise_neighbour(
    text: analysis.AnalysedText,
    first: _ScoredCandidate,
    second: _ScoredCandidate,
    *,
    target: _ScoredCandidate,
) -> None:
    """Give one of two neighbours points for the type of the other."""
    if len(second.candidate.words) > _LIST_WORDS or not _listed(text, first, second):
        return
    source = second if target is first else first
    type_, points = _best(source.points)
    if points < scoring.ENOUGH or type_ not in ("person", "place"):
        return
    own, strength = _best(target.points)
    if own == type_ or strength < _STRONG:
        target.points[type_] += _IN_LIST


def _listed(
    text: analysis.AnalysedText, first: _ScoredCandidate, second: _ScoredCandidate
) -> bool:
    """Whether only a comma, a conjunction and an article stand between two."""
    between = text.tokenized.text[first.candidate.stop : second.candidate.start]
    between = between.strip()
    words = between.replace(",", " ").split()
    if not between.startswith(",") and not (words and words[0] in _CONJUNCTIONS):
        return False
    return all(word in _CONJUNCTIONS or word in _ARTICLES for word in words)


def _share_points(scored: Sequence[_ScoredCandidate]) -> None:
    """The same name is the same thing throughout a text: each mention gets the best
    points of all.
    """
    by_name: dict[str, list[_ScoredCandidate]] = defaultdict(list)
    for candidate in scored:
        by_name[candidate.folded_name].append(candidate)
    for name, namesakes in by_name.items():
        plural = by_name.get(name + "s", [])
        if plural and _best(namesakes[0].points)[1] >= scoring.ENOUGH:
            # A genitive without its apostrophe.
            for candidate in plural:
                candidate.points = namesakes[0].points.copy()
                candidate.name = namesakes[0].name
        best = _best_of_each_type(namesakes)
        for candidate in namesakes:
            candidate.points = best.copy()


def _best_of_each_type(scored: Sequence[_ScoredCandidate]) -> scoring.Points:
    best = scoring.points()
    for candidate in scored:
        for type_, points in candidate.points.items():
            best[type_] = max(best[type_], points) if type_ in best else points
    return best


def _link_short_forms(scored: Sequence[_ScoredCandidate]) -> None:
    """`Ada` is Ada Lovelace if the text has her; `Vela` is Vela Foods, unless it is the
    place that gave the name.
    """
    full_names = _full_names(scored)
    for candidate in scored:
        full = full_names.get(candidate.folded_name)
        if full is None or len(candidate.candidate.words) > 1:
            continue
        type_, _ = _best(full.points)
        if _is_short_form(candidate, type_):
            candidate.points = scoring.points({type_: _SHORT_FORM})
            candidate.longer = full.name


def _full_names(
    scored: Sequence[_ScoredCandidate],
) -> dict[str, _ScoredCandidate]:
    """The first person, by each word of the name, or organisation, by the first word."""
    full_names: dict[str, _ScoredCandidate] = {}
    for candidate in scored:
        words = candidate.candidate.words
        type_, points = _best(candidate.points)
        if len(words) < 2 or points < scoring.ENOUGH:
            continue
        if type_ == "person":
            short_forms = words
        elif type_ in scoring.ORGANISATIONS:
            short_forms = words[:1]
        else:
            continue
        for word in short_forms:
            full_names.setdefault(folding.plain(word), candidate)
    return full_names


def _is_short_form(candidate: _ScoredCandidate, full_type: str) -> bool:
    """Whether a word means the bearer of a full name, and nothing that it is itself."""
    if full_type == "person":
        return True
    own, points = _best(candidate.points)
    if points >= scoring.ENOUGH and own != "person":
        return False
    return own not in ("person", "place") or candidate.points["place"] <= 0


def _uncapitalised(tokenized: tokenizer.TokenizedText) -> Iterator[Mention]:
    """A text without capitals: what the personal values are found by."""
    for span in names.find(tokenized):
        if span.score < _UNCAPITALISED_FROM:
            continue
        name = tokenized.text[span.start : span.end]
        confidence = round(span.score * _UNCAPITALISED_SHARE, 2)
        if span.kind == "person":
            yield Mention(
                span.start, span.end, name, "person", "person", confidence, name
            )
        elif span.kind == "location":
            yield Mention(
                span.start, span.end, name, "entity", "place", confidence, name
            )


def salient(
    mentions: Sequence[Mention],
    *,
    related: Iterable[str] = (),
    seen: Mapping[str, int] | None = None,
) -> list[Mention]:
    """The mentions that deserve a node, one a name, the first of each; a city in
    passing does not.

    `related` are the names that a relation of the text links to the owner; `seen` tells
    in how many other records a name (by `plain_name`) was mentioned. A known node
    matters, and so does what the owner marked, what is linked to the owner, what is
    mentioned again here or elsewhere, and a person with a full name.
    """
    related_names = {plain_name(name) for name in related}
    times = Counter(plain_name(mention.name) for mention in mentions)
    elsewhere = seen or {}
    kept: dict[tuple[str, str], Mention] = {}
    for mention in mentions:
        name = plain_name(mention.name)
        repeated = times[name] + elsewhere.get(name, 0) > 1
        if repeated or name in related_names or _salient_by_itself(mention):
            kept.setdefault((name, mention.kind), mention)
    return list(kept.values())


def _salient_by_itself(mention: Mention) -> bool:
    if mention.key or mention.type in _MARKED:
        return True
    full_name = mention.kind == "person" and " " in mention.name
    return full_name and mention.score >= _FULL_NAME_FROM


def plain_name(name: str) -> str:
    """A name as keys are made of it: lower case, no accents, one space."""
    return " ".join(folding.plain(folding.fold(name).text).split())
