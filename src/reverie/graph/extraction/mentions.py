"""Finds people, places, organisations, projects and known nodes in a text without a
model; which of them matter.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from reverie.graph.extraction import candidates, gazetteer, lexicon, scoring
from reverie.privacy import folding, names, rules

Kind = gazetteer.Kind
KnownNode = gazetteer.KnownNode
LANGUAGES = ("en", "de", "es")
_TAG = re.compile(
    r"(?<![\w&/#])#(?P<name>[^\W\d_][\w/-]{1,60})|\[\[(?P<link>[^\[\]|#\n]{1,80})"
)
# Quotation marks are all one sign in a folded text.
_QUOTED = re.compile(r'(?<!\w)"(?P<title>[^\W\d_a-z][^"\n]{2,80})"(?!\w)')
_SURE = 6.0
_JOINED = 1.6
_ALIAS = 2.5
_LISTED = 0.6
_SURELY = 0.5
_AND = ("and", "or", "und", "oder", "y", "e")
_MARKED = ("tag", "link")


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text that names something. `name` is its fullest name in the text,
    `key` that of a known node.

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
class _Guess:
    """A run with its points, while the text is read."""

    run: candidates.Candidate
    points: scoring.Points
    name: str
    longer: str = ""


def find(
    text: str,
    *,
    known: Sequence[KnownNode] | gazetteer.Gazetteer = (),
    language: str | None = None,
) -> list[Mention]:
    """Every mention, none overlapping, by place. `language` is en, de, es or None: then
    the text tells.

    Who looks through many texts makes the known nodes a gazetteer.of(…) once.
    """
    nodes = known if isinstance(known, gazetteer.Gazetteer) else gazetteer.of(known)
    folded = folding.fold(text)
    spoken = language if language in LANGUAGES else lexicon.tell(folded.text)
    reading = names.read(folded.text, rules.load().words, spoken)
    page = candidates.AnalysedText(reading, lexicon.load(spoken), spoken or "en")
    found = list(_known(folded.text, nodes))
    taken = _Taken(found)
    for one in (*_tagged(folded.text), *_quoted(folded.text), *_guessed(page, found)):
        if taken.free(one):
            taken.add(one)
            found.append(one)
    placed = sorted(found, key=lambda one: one.start)
    return [
        replace(one, start=start, end=end, text=text[start:end])
        for one in placed
        for start, end in [folded.back(one.start, one.end)]
    ]


class _Taken:
    """The characters that mentions cover."""

    def __init__(self, mentions: Iterable[Mention]) -> None:
        self._places: set[int] = set()
        for one in mentions:
            self.add(one)

    def add(self, one: Mention) -> None:
        self._places.update(range(one.start, one.end))

    def free(self, one: Mention) -> bool:
        return self._places.isdisjoint(range(one.start, one.end))


def _known(text: str, nodes: gazetteer.Gazetteer) -> Iterator[Mention]:
    for start, end, node in gazetteer.find(text, nodes):
        yield Mention(
            start,
            end,
            text[start:end],
            node.kind,
            node.type or node.kind,
            1.0,
            node.name,
            node.key,
        )


def _tagged(text: str) -> Iterator[Mention]:
    """What the owner marked: `#beekeeping`, `[[The shed]]`."""
    for match in _TAG.finditer(text):
        group = "name" if match["name"] else "link"
        start, end = match.span(group)
        yield Mention(
            start,
            end,
            match[group],
            "concept",
            "tag" if group == "name" else "link",
            0.7,
            match[group],
        )


def _quoted(text: str) -> Iterator[Mention]:
    """A title in quotation marks: two words with capitals at least, and no sentence."""
    for match in _QUOTED.finditer(text):
        title = match["title"]
        capitals = sum(word[0].isupper() for word in title.split())
        if (
            capitals > 1
            and capitals * 2 >= len(title.split())
            and title[-1] not in ".,!?;:"
        ):
            yield Mention(
                match.start("title"),
                match.end("title"),
                title,
                "entity",
                "work",
                0.6,
                title,
            )


def _guessed(
    page: candidates.AnalysedText, known: Sequence[Mention]
) -> Iterator[Mention]:
    """Runs of capitals that the text makes a person, a place, an organisation, a
    project.
    """
    if page.reading.lower:
        yield from _uncapitalised(page.reading)
        return
    taken = _Taken(known)
    guesses: list[_Guess] = []
    for run in candidates.cut(page):
        name = " ".join(page.reading.text[run.start : run.stop].split())
        one = _Guess(run, scoring.weigh(page, run), name)
        if taken.free(_mention(one, "person", 0)):
            guesses.append(one)
    _side_by_side(page, guesses)
    _together(guesses)
    _aliases(guesses)
    for one in guesses:
        kind, score = _best(one.points)
        if score >= scoring.ENOUGH:
            yield _mention(one, kind, score)


def _mention(one: _Guess, type_: str, score: float) -> Mention:
    kind: Kind = (
        "person"
        if type_ == "person"
        else "concept"
        if type_ in ("species", "document")
        else "entity"
    )
    sure = round(min(0.95, 0.4 + score / (2 * _SURE)), 2)
    return Mention(
        one.run.start, one.run.stop, one.name, kind, type_, sure, one.longer or one.name
    )


def _best(points: scoring.Points) -> tuple[str, float]:
    kinds = {kind: score for kind, score in points.items() if kind}
    if not kinds:
        return "", 0
    kind = max(kinds, key=lambda one: (kinds[one], one))
    return kind, kinds[kind]


def _side_by_side(page: candidates.AnalysedText, guesses: Sequence[_Guess]) -> None:
    """`in Porto and Braga`: what stands in one list is of one type, as far as it has
    none of its own.
    """
    pairs = list(pairwise(guesses))
    for left, right in (*pairs, *((right, left) for left, right in reversed(pairs))):
        first, second = (
            (left, right) if left.run.start < right.run.start else (right, left)
        )
        between = page.reading.text[first.run.stop : second.run.start].strip()
        words = between.replace(",", " ").split()
        listed = between.startswith(",") or (words and words[0] in _AND)
        fitting = all(word in _AND or word in ("the", "die", "den") for word in words)
        if not listed or not fitting or len(second.run.words) > 3:
            continue
        kind, score = _best(left.points)
        own, strength = _best(right.points)
        if (
            score >= scoring.ENOUGH
            and kind in ("person", "place")
            and (own == kind or strength < 2)
        ):
            right.points[kind] += _JOINED


def _together(guesses: Sequence[_Guess]) -> None:
    """The same name is the same thing throughout a text: each mention gets the best
    points of all.
    """
    groups: dict[str, list[_Guess]] = defaultdict(list)
    for one in guesses:
        groups[folding.plain(one.name)].append(one)
    for key, group in groups.items():
        plural = groups.get(key + "s", [])
        if plural and _best(group[0].points)[1] >= scoring.ENOUGH:
            for one in plural:
                one.points, one.name = group[0].points.copy(), group[0].name
        joined = scoring.points()
        for one in group:
            for kind, score in one.points.items():
                joined[kind] = max(joined[kind], score) if kind in joined else score
        for one in group:
            one.points = joined.copy()


def _aliases(guesses: Sequence[_Guess]) -> None:
    """`Ada` is Ada Lovelace if the text has her; `Vela` is Vela Foods, unless it is the
    place that gave the name.
    """
    longer: dict[str, _Guess] = {}
    for one in guesses:
        kind, score = _best(one.points)
        if len(one.run.words) > 1 and score >= scoring.ENOUGH:
            for number, word in enumerate(one.run.words):
                if kind == "person" or (number == 0 and kind in scoring.ORGANISATIONS):
                    longer.setdefault(folding.plain(word), one)
    for one in guesses:
        full = longer.get(folding.plain(one.name))
        if full is None or len(one.run.words) > 1:
            continue
        kind = _best(full.points)[0]
        own, score = _best(one.points)
        if kind == "person" or score < scoring.ENOUGH or own == "person":
            if (
                kind != "person"
                and own in ("person", "place")
                and one.points["place"] > 0
            ):
                continue
            one.points, one.longer = scoring.points({kind: _ALIAS}), full.name


def _uncapitalised(reading: names.TokenizedText) -> Iterator[Mention]:
    """A text without capitals: what the reader of names makes of it."""
    for one in names.find(reading):
        if one.kind in ("person", "location") and one.score >= _LISTED:
            text = reading.text[one.start : one.end]
            person = one.kind == "person"
            yield Mention(
                one.start,
                one.end,
                text,
                "person" if person else "entity",
                "person" if person else "place",
                round(one.score * 0.8, 2),
                text,
            )


def matters(
    mentions: Sequence[Mention],
    *,
    tied: Iterable[str] = (),
    seen: Mapping[str, int] | None = None,
) -> list[Mention]:
    """The mentions that deserve a node, one a name, the first of each; a city in
    passing does not.

    `tied` are the names that a relation of the text ties to the owner; `seen` tells in
    how many other records a name (by `plain_name`) was mentioned. A known node matters,
    and so does what the owner marked, what is tied to the owner, what is mentioned
    again here or elsewhere, and a person with a full name.
    """
    bound = {plain_name(name) for name in tied}
    times = Counter(plain_name(one.name) for one in mentions)
    before = seen or {}
    kept: dict[tuple[str, str], Mention] = {}
    for one in mentions:
        name = plain_name(one.name)
        again = times[name] + before.get(name, 0) > 1
        named = one.kind == "person" and " " in one.name and one.score >= _SURELY
        if one.key or one.type in _MARKED or name in bound or again or named:
            kept.setdefault((name, one.kind), one)
    return list(kept.values())


def plain_name(name: str) -> str:
    """A name as keys are made of it: lower case, no accents, one space."""
    return " ".join(folding.plain(folding.fold(name).text).split())
