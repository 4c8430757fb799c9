"""Relations that a text states plainly between its mentions, and the day from which
they hold if it stands there.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from reverie.graph.extraction import lexicon, mentions, scoring
from reverie.privacy import folding

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
_TOKEN = re.compile(r"<(\d+)\w>")
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
    """Who is tied to what, as names; OWNER is the owner. `valid_from` is a day, a month
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


def relations(
    text: str, mentions: Sequence[mentions.Mention], *, language: str | None = None
) -> list[StatedRelation]:
    """What the text says plainly; questions, denials and conditions say nothing."""
    spoken = language or lexicon.tell_language(folding.fold(text).text) or "en"
    if spoken not in _OWNERS:
        return []
    patterns, roles = _patterns(spoken)
    found: dict[tuple[str, str, str], StatedRelation] = {}
    for sentence in _SENTENCE.finditer(text):
        inside = [
            one
            for one in mentions
            if sentence.start() <= one.start and one.end <= sentence.end()
        ]
        said = sentence.group()
        if (
            not said.strip()
            or said.rstrip().endswith("?")
            or _DOUBT.search(_without(said, sentence.start(), inside))
        ):
            continue
        masked = _masked(said, sentence.start(), inside)
        for one in _dated(masked, [*_matches(masked, inside, patterns, roles)], spoken):
            known = found.get(one.key)
            if known is None or one.confidence > known.confidence:
                since = one.since
                found[one.key] = StatedRelation(
                    *one.key, sentence.start(), sentence.end(), since, one.confidence
                )
    return list(found.values())


def tied(found: Iterable[StatedRelation], *, to: Iterable[str] = ()) -> frozenset[str]:
    """The names that relations tie to the owner, or to names that matter already: for
    `spotting.matters`.
    """
    anchors = {OWNER, *to}
    ends = ((one.subject, one.object) for one in found)
    return frozenset(
        name for pair in ends if anchors & set(pair) for name in pair if name != OWNER
    )


def _matches(
    masked: str,
    inside: Sequence[mentions.Mention],
    patterns: Sequence[_Pattern],
    roles: Mapping[str, str],
) -> Iterator[_Match]:
    for pattern in patterns:
        if pattern.needs and not pattern.needs.search(masked):
            continue
        for match in pattern.match.finditer(masked):
            subject, target = _named(match["s"], inside), _named(match["o"], inside)
            relation = pattern.relation
            if relation == "role":
                relation = roles[match["role"].lower()]
            if subject == target:
                continue
            if pattern.turned:
                subject, target = target, subject
            lasting = pattern.relation == "role" and relation not in _BEGINNING
            yield _Match(
                (subject, relation, target),
                pattern.confidence,
                match.start("o"),
                lasting,
            )


def _dated(masked: str, found: Sequence[_Match], language: str) -> Iterator[_Match]:
    """The date of a sentence belongs to what stands right before it, or else to what
    comes first.
    """
    at, since = _since(masked, language)
    open_ = [one for one in found if not one.lasting]
    first = min((one.place for one in open_), default=0)
    before = max((one.place for one in open_ if one.place <= at), default=first)
    for one in found:
        yield (
            replace(one, since=since)
            if not one.lasting and one.place == before
            else one
        )


def _named(part: str | None, inside: Sequence[mentions.Mention]) -> str:
    token = _TOKEN.fullmatch(part or "")
    return inside[int(token[1])].name if token else OWNER


def _without(said: str, offset: int, inside: Sequence[mentions.Mention]) -> str:
    """The sentence without its mentions: a name holds no doubt."""
    for one in reversed(inside):
        said = said[: one.start - offset] + "…" + said[one.end - offset :]
    return said


def _masked(said: str, offset: int, inside: Sequence[mentions.Mention]) -> str:
    """The sentence with a mark for each mention: its number and what it is."""
    said = said.replace("<", " ").replace(">", " ")
    for number, one in reversed([*enumerate(inside)]):
        said = f"{said[: one.start - offset]}<{number}{_letter(one)}>{said[one.end - offset :]}"
    return said.replace("’", "'")


def _letter(one: mentions.Mention) -> str:
    if one.kind != "entity":
        return "p" if one.kind == "person" else "c"
    return (
        "l"
        if one.type == "place"
        else "o"
        if one.type in scoring.ORGANISATIONS
        else "x"
    )


@cache
def _patterns(language: str) -> tuple[tuple[_Pattern, ...], Mapping[str, str]]:
    text = (
        resources.files("reverie.graph.extraction")
        .joinpath("data", "stated.toml")
        .read_text("utf-8")
    )
    content: Mapping[str, Any] = tomllib.loads(text)
    roles = {
        word: relation
        for relation, words in content["roles"][language].items()
        for word in str(words).split()
    }
    adverbs = "|".join(str(content["adverbs"][language]).split())
    meant = {
        "{S}": rf"(?P<s><\d+p>|\b(?:{_OWNERS[language]})\b){_FIRST}",
        "{P}": r"(?P<{}><\d+p>)",
        "{L}": r"(?P<o><\d+l>)",
        "{O}": r"(?P<o><\d+o>)",
        "{E}": r"(?P<o><\d+[ox]>)",
        "{A2}": rf"(?P<o>{_ANY})",
        "{A}": rf"(?P<s>{_ANY})",
        "{a}": f"(?:(?:{adverbs}) )?",
        "{role}": "(?:" + "|".join(sorted(roles, key=len, reverse=True)) + ")",
    }
    made = [
        _pattern(one, meant)
        for one in content["pattern"]
        if one["language"] == language
    ]
    return tuple(made), roles


def _pattern(one: Mapping[str, Any], meant: Mapping[str, str]) -> _Pattern:
    source = str(one["match"])
    person = "o" if "{S}" in source or "(?P<s>" in source else "s"
    for name, piece in meant.items():
        source = source.replace(
            name, piece.replace("{}", person) if name == "{P}" else piece
        )
    needs = re.compile(one["needs"], re.IGNORECASE) if "needs" in one else None
    return _Pattern(
        re.compile(source, re.IGNORECASE),
        str(one["relation"]),
        float(one.get("confidence", 0.8)),
        bool(one.get("turned", False)),
        needs,
    )


@cache
def _dates(language: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """The dates of a language with a preposition; in German a year may stand without
    one.
    """
    text = (
        resources.files("reverie.graph.extraction")
        .joinpath("data", "stated.toml")
        .read_text("utf-8")
    )
    months = tuple(str(tomllib.loads(text)["months"][language]).split())
    before = (
        r"(?:(?:since|from|in|on|as of|seit|ab|im|am|desde|en|el)\s+(?:the\s+)?)"
        + ("?" if language == "de" else "")
    )
    day = r"(?:(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?\s+(?:of\s+|de\s+)?)?"
    month = rf"(?:(?P<m>{'|'.join(months)})\s*(?:(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?)?,?\s+(?:de\s+|del\s+)?)?"
    return re.compile(
        rf"\b{before}{day}{month}(?P<y>(?:19|20)\d\d)\b", re.IGNORECASE
    ), months


def _since(sentence: str, language: str) -> tuple[int, str]:
    """The date of a sentence as a day, a month or a year; nothing if it has none or
    several.
    """
    exact = list(_DAY.finditer(sentence))
    pattern, months = _dates(language)
    found = exact or list(pattern.finditer(sentence))
    if len(found) != 1:
        return 0, ""
    one = found[0]
    year = one["y"]
    if exact:
        return one.start(), one.group()
    if not one["m"]:
        return one.start(), year
    month = months.index(one["m"].lower()) + 1
    day = one["d"] or one["d2"]
    whole = (
        f"{year}-{month:02}-{int(day):02}"
        if day and 1 <= int(day) <= 31
        else f"{year}-{month:02}"
    )
    return one.start(), whole
