"""What a search answers: records with their passages, marks and provenance, for people
and as JSON.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.records import base, catalogue, places, terms
from reverie.search import context, fusion, lexical
from reverie.search import query as queries

_PASSAGES = (
    "SELECT id, record_id, place, text FROM passage WHERE user_id = %s AND id = ANY(%s)"
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A piece of a record's text, its place in it, its score, and the words to mark:
    (start, end) in characters.
    """

    id: int
    text: str
    place: Mapping[str, Any]
    score: float
    highlights: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Hit:
    """One record found, its best passages, and why it is here. `origin` is the file it
    was imported from, or "".

    `sensitivity` is the word of the record's level.
    """

    record_id: UUID
    domain: str
    title: str
    line: str
    origin: str
    at: datetime | None
    tags: list[str]
    passages: list[FoundPassage]
    fused: fusion.Fused
    sensitivity: str = "normal"

    @property
    def source(self) -> str:
        """Where it comes from, for people: `note "Domingo de playa", 2026-08-16`."""
        when = f", {self.at.date()}" if self.at else ""
        return f'{self.domain.replace("_", " ")} "{self.title}"{when}'

    def where(self, passage: FoundPassage) -> str:
        """Where in it a passage stands, for people ("page 3"), unless the title says so
        already.
        """
        told = places.told(passage.place)
        return "" if told == self.title else told


@dataclass(frozen=True, slots=True)
class Results:
    """The hits, what each signal did, and the reason when there are none. `understood`
    is what the query said.
    """

    query: queries.Query
    hits: list[Hit]
    signals: Mapping[str, str]
    reason: str
    hidden_cold: int
    understood: Mapping[str, Any]


async def hits(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    found: Sequence[Sequence[fusion.Fused]],
    cards: Mapping[UUID, context.Card],
) -> list[Hit]:
    """The records of fused passages, in their order, with all that is shown of them."""
    wanted = [one.passage_id for passages in found for one in passages]
    ids: dict[str, list[UUID]] = {}
    for passages in found:
        card = cards.get(passages[0].record_id)
        if card and card.domain:
            ids.setdefault(card.domain, []).append(card.record_id)
    domains = [catalogue.domain(name) for name in ids]
    statements = [base.fetching(caller, domain, ids[domain.name]) for domain in domains]
    text_rows, *record_rows = await tx.together(
        (_PASSAGES, (caller.user_id, wanted)), *statements
    )
    texts = {row["id"]: row for row in text_rows}
    records: dict[UUID, base.Record] = {}
    for domain, rows in zip(domains, record_rows, strict=True):
        records |= base.fetched(domain, rows)
    asked = {one.term for one in lexical.asked_terms(query.text)}
    now = datetime.now(UTC)
    made: list[Hit] = []
    for fused in found:
        card, record = cards.get(fused[0].record_id), records.get(fused[0].record_id)
        if card is None or record is None:
            continue  # deleted since the signals looked
        passages = [
            FoundPassage(
                one.passage_id,
                row["text"],
                row["place"],
                one.score,
                highlights(row["text"], asked),
            )
            for one in fused
            if (row := texts.get(one.passage_id)) is not None
        ]
        line = catalogue.domain(card.domain).line(record, now)
        origin = str(record.custom.get("imported_from", ""))
        made.append(
            Hit(
                card.record_id,
                card.domain,
                card.title,
                line,
                origin,
                card.at,
                card.tags,
                passages,
                fused[0],
                card.sensitivity,
            )
        )
    return made


def highlights(text: str, asked: set[str], *, most: int = 20) -> list[tuple[int, int]]:
    """Where the query's words stand in a text, in any form of theirs."""
    held = {
        word
        for word in set(_WORD.findall(text))
        if not asked.isdisjoint(terms.forms(word))
    }
    if not held:
        return []
    marks = (match.span() for match in _WORD.finditer(text) if match.group() in held)
    return list(itertools.islice(marks, most))


def nothing(query: queries.Query, told: Mapping[str, str]) -> str:
    """Why there is no result."""
    scope = " in this scope" if query.narrowed else ""
    missing = (
        told["semantic"].removeprefix("left out: ")
        if told["semantic"].startswith("left out")
        else ""
    )
    because = f" Meaning was not searched: {missing}" if missing else ""
    return (
        f"Nothing{scope} holds these words or means something close to them.{because}"
    )


def as_json(results: Results) -> dict[str, Any]:
    """The JSON form, with the provenance of every score."""
    return {
        "query": results.query.text,
        "understood": dict(results.understood),
        "results": [_hit(hit) for hit in results.hits],
        "signals": results.signals,
        "formula": "score = (sum of weight * score over signals + sum of bonuses) * product of boosts",
        "hidden_cold": results.hidden_cold,
        "reason": results.reason,
    }


def _hit(hit: Hit) -> dict[str, Any]:
    return {
        "id": str(hit.record_id),
        "domain": hit.domain,
        "title": hit.title,
        "line": hit.line,
        "source": hit.source,
        "origin": hit.origin,
        "at": hit.at.isoformat() if hit.at else None,
        "tags": hit.tags,
        "score": round(hit.fused.score, 6),
        "passages": [
            {
                "text": p.text,
                "place": p.place,
                "score": round(p.score, 6),
                "highlights": [list(mark) for mark in p.highlights],
            }
            for p in hit.passages
        ],
        "provenance": {
            "signals": {
                name: _evidence(one) for name, one in hit.fused.evidence.items()
            },
            "bonuses": {name: round(one, 6) for name, one in hit.fused.bonuses.items()},
            "boosts": {name: round(one, 6) for name, one in hit.fused.boosts.items()},
            "heat": round(hit.fused.heat, 6),
        },
    }


def _evidence(one: fusion.SignalScore) -> dict[str, Any]:
    return {
        "raw": round(one.raw, 6),
        "score": round(one.score, 6),
        "rank": one.rank,
        "weight": round(one.weight, 6),
    }
