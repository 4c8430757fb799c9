"""Relation extraction by patterns: who lives where, works for whom, since when.

Relations that a text states plainly between its mentions, and the day from which they
hold if it stands there.
"""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from reverie.graph.extraction import lexicon, mentions, scoring
from reverie.privacy import folding
from reverie.vocabulary import calendar_words

OWNER = "owner"
# Roles that begin on a day; nobody is a sister from a day on.
_BEGINNING = (
    "married_to",
    "boss_of",
    "colleague_of",
    "neighbour_of",
    "partner_of",
    "landlord_of",
)
_SENTENCE = re.compile(r"[^.!?\n]*(?:\.(?=\d)[^.!?\n]*)*[.!?\n]?")
_MARK = re.compile(r"<(\d+)\w>")
_ANY = r"<\d+[ploxc]>"
# `Ann works at <1o> and lives in <2l>`: the subject of the first clause is that of the
# second.
_FIRST = r"(?: [^<>.;]{1,40}<\d+[lox]>[^<>.;,]{0,25},? (?:and|und|y))?"
_OWNERS = {"en": "I|we", "de": "ich|wir", "es": "yo"}
# What makes a sentence no plain statement.
_DOUBT = re.compile(
    r"\b(?:not|never|no longer|n't|if|would|could|might|maybe|perhaps|used to|former|ex|"
    r"nicht|nie|nicht mehr|wenn|falls|würde|könnte|vielleicht|früher|ehemalig\w*|"
    r"no|nunca|ya no|si|quizás?|tal vez|antes|antigu[oa])\b|n['’]t\b",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"\b(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])(?:-(?P<d>0[1-9]|[12]\d|3[01]))?\b"
)


@dataclass(frozen=True, slots=True)
class StatedRelation:
    """What relates two names; OWNER is the owner. `valid_from` is a day, a month
    or a year: `2026-05`, or "".

    `moved_to` says that `lives_in` holds from then on, and that another one ended.
    """

    subject: str
    relation: str
    object: str
    start: int
    end: int
    valid_from: str = ""
    confidence: float = 0.8


@dataclass(frozen=True, slots=True)
class _Pattern:
    match: re.Pattern[str]
    relation: str
    confidence: float
    turned: bool
    needs: re.Pattern[str] | None


@dataclass(frozen=True, slots=True)
class _Match:
    key: tuple[str, str, str]
    confidence: float
    place: int
    lasting: bool
    since: str = ""


def find(
    text: str, mentions: Sequence[mentions.Mention], *, language: str | None = None
) -> list[StatedRelation]:
    """What the text says plainly, each relation once; questions, denials and conditions
    say nothing.
    """
    language = language or lexicon.tell_language(folding.fold(text).text) or "en"
    if language not in _OWNERS:
        return []
    relations: dict[tuple[str, str, str], StatedRelation] = {}
    by_place = sorted(mentions, key=lambda mention: mention.start)
    starts = [mention.start for mention in by_place]
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        near = by_place[bisect_left(starts, start) : bisect_left(starts, end)]
        inside = [mention for mention in near if mention.end <= end]
        sentence = _Sentence(match.group(), start, inside)
        if not sentence.states():
            continue
        for relation in _matches(sentence, language):
            likeliest = relations.get(relation.key)
            if likeliest is not None and likeliest.confidence >= relation.confidence:
                continue
            relations[relation.key] = StatedRelation(
                *relation.key, *match.span(), relation.since, relation.confidence
            )
    return list(relations.values())


def related_names(
    relations: Iterable[StatedRelation], *, to: Iterable[str] = ()
) -> frozenset[str]:
    """The names that relations link to the owner, or to names that matter already: for
    `mentions.salient`.
    """
    anchors = {OWNER, *to}
    names: set[str] = set()
    for relation in relations:
        ends = {relation.subject, relation.object}
        if anchors & ends:
            names |= ends
    return frozenset(names - {OWNER})


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence with its offset in the text and its mentions, by place."""

    text: str
    start: int
    mentions: Sequence[mentions.Mention]

    def states(self) -> bool:
        """Whether it may be a plain statement: no question and without a doubt."""
        if not self.text.strip() or self.text.rstrip().endswith("?"):
            return False
        return not _DOUBT.search(self._without_mentions())

    def _without_mentions(self) -> str:
        """A name holds no doubt."""
        return self._with(self.text, "…" * len(self.mentions))

    def masked(self) -> str:
        """The sentence with a mark for each mention: its number and what it is."""
        text = self.text.replace("<", " ").replace(">", " ")
        marks = [
            f"<{number}{_letter(mention)}>"
            for number, mention in enumerate(self.mentions)
        ]
        return self._with(text, marks).replace("’", "'")

    def _with(self, text: str, marks: Sequence[str]) -> str:
        """The text of the sentence with a mark in place of each mention."""
        pieces: list[str] = []
        at = 0
        for mention, mark in zip(self.mentions, marks, strict=True):
            pieces += (text[at : mention.start - self.start], mark)
            at = mention.end - self.start
        return "".join([*pieces, text[at:]])

    def name(self, mark: str | None) -> str:
        """The name of a mention by its mark; the owner's for a pronoun."""
        match = _MARK.fullmatch(mark or "")
        return self.mentions[int(match[1])].name if match else OWNER


def _matches(sentence: _Sentence, language: str) -> Sequence[_Match]:
    """The relations of a sentence. Its date belongs to what stands right before it, or
    else to what comes first.
    """
    masked = sentence.masked()
    matches = [*_undated(sentence, masked, language)]
    if not matches:
        return matches
    at, since = _since(masked, language)
    places = [match.place for match in matches if not match.lasting]
    first = min(places, default=0)
    dated = max((place for place in places if place <= at), default=first)
    return [
        replace(match, since=since)
        if match.place == dated and not match.lasting
        else match
        for match in matches
    ]


def _undated(sentence: _Sentence, masked: str, language: str) -> Iterator[_Match]:
    """What the patterns match, in their order."""
    patterns, roles = _patterns(language)
    for pattern in patterns:
        if pattern.needs and not pattern.needs.search(masked):
            continue
        for match in pattern.match.finditer(masked):
            subject, object_ = sentence.name(match["s"]), sentence.name(match["o"])
            if subject == object_:
                continue
            if pattern.turned:
                subject, object_ = object_, subject
            relation = pattern.relation
            if relation == "role":
                relation = roles[match["role"].lower()]
            lasting = pattern.relation == "role" and relation not in _BEGINNING
            key = (subject, relation, object_)
            yield _Match(key, pattern.confidence, match.start("o"), lasting)


def _letter(mention: mentions.Mention) -> str:
    """What a mention is to the patterns: person, concept, place, organisation, other."""
    if mention.kind != "entity":
        return "p" if mention.kind == "person" else "c"
    if mention.type == "place":
        return "l"
    return "o" if mention.type in scoring.ORGANISATIONS else "x"


@cache
def _content() -> Mapping[str, Any]:
    """The patterns, roles and adverbs of all languages."""
    data = resources.files("reverie.graph.extraction").joinpath("data", "stated.toml")
    return tomllib.loads(data.read_text("utf-8"))


@cache
def _patterns(language: str) -> tuple[tuple[_Pattern, ...], Mapping[str, str]]:
    """The patterns of a language, and the relation of each word for a role."""
    content = _content()
    roles = {
        word: relation
        for relation, words in content["roles"][language].items()
        for word in str(words).split()
    }
    macros = _macros(language, str(content["adverbs"][language]).split(), roles)
    patterns = [
        _pattern(entry, macros)
        for entry in content["pattern"]
        if entry["language"] == language
    ]
    return tuple(patterns), roles


def _macros(
    language: str, adverbs: Sequence[str], roles: Iterable[str]
) -> dict[str, str]:
    """What stands for {S}, {P} and the others in a pattern."""
    return {
        "{S}": rf"(?P<s><\d+p>|\b(?:{_OWNERS[language]})\b){_FIRST}",
        "{P}": r"(?P<{}><\d+p>)",
        "{L}": r"(?P<o><\d+l>)",
        "{O}": r"(?P<o><\d+o>)",
        "{E}": r"(?P<o><\d+[ox]>)",
        "{A2}": rf"(?P<o>{_ANY})",
        "{A}": rf"(?P<s>{_ANY})",
        "{a}": f"(?:(?:{'|'.join(adverbs)}) )?",
        "{role}": "(?:" + "|".join(sorted(roles, key=len, reverse=True)) + ")",
    }


def _pattern(entry: Mapping[str, Any], macros: Mapping[str, str]) -> _Pattern:
    source = str(entry["match"])
    # {P} is the object where there is a subject before.
    person = "o" if "{S}" in source or "(?P<s>" in source else "s"
    for macro, meaning in macros.items():
        if macro == "{P}":
            meaning = meaning.replace("{}", person)
        source = source.replace(macro, meaning)
    needs = re.compile(entry["needs"], re.IGNORECASE) if "needs" in entry else None
    return _Pattern(
        re.compile(source, re.IGNORECASE),
        str(entry["relation"]),
        float(entry.get("confidence", 0.8)),
        bool(entry.get("turned", False)),
        needs,
    )


@cache
def _dates(language: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """The dates of a language with a preposition, and its months; in German a year may
    stand without one.
    """
    months = calendar_words.MONTHS[language]
    preposition = (
        r"(?:(?:since|from|in|on|as of|seit|ab|im|am|desde|en|el)\s+(?:the\s+)?)"
    )
    optional = "?" if language == "de" else ""
    day = r"(?:(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?)?"
    month = (
        rf"(?:(?P<m>{'|'.join(months)})\s*"
        r"(?:(?P<d2>\d{1,2})(?:st|nd|rd|th)?)?,?\s+(?:de\s+|del\s+)?)?"
    )
    date = rf"\b{preposition}{optional}{day}{month}(?P<y>(?:19|20)\d\d)\b"
    return re.compile(date, re.IGNORECASE), months


def _since(sentence: str, language: str) -> tuple[int, str]:
    """Where the date of a sentence stands, and the date as a day, a month or a year; 0
    and "" if it has none or several.
    """
    exact = list(_DAY.finditer(sentence))
    pattern, months = _dates(language)
    dates = exact or list(pattern.finditer(sentence))
    if len(dates) != 1:
        return 0, ""
    (date,) = dates
    if exact:
        return date.start(), date.group()
    year = date["y"]
    if not date["m"]:
        return date.start(), year
    month = months.index(date["m"].lower()) + 1
    day = date["d"] or date["d2"]
    if not day or not 1 <= int(day) <= 31:
        return date.start(), f"{year}-{month:02}"
    return date.start(), f"{year}-{month:02}-{int(day):02}"
