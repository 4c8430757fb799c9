"""What a search answers: records with their passages, marks and provenance, for people and as JSON."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.records import base, catalogue, terms
from reverie.search import fusion
from reverie.search import query as queries

_PASSAGES = "SELECT id, record_id, place, text FROM passage WHERE user_id = %s AND id = ANY(%s)"
_CARDS = "SELECT record_id, domain, title, at, tags FROM card WHERE user_id = %s AND record_id = ANY(%s)"
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a record's text, its place in it, its score, and the words to mark: (start, end) in characters."""

    id: int
    text: str
    place: Mapping[str, Any]
    score: float
    highlights: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Hit:
    """One record found, its best passages, and why it is here. `origin` is the file it was imported from, or ""."""

    record_id: UUID
    domain: str
    title: str
    line: str
    origin: str
    at: datetime | None
    tags: list[str]
    passages: list[Passage]
    fused: fusion.Fused

    @property
    def source(self) -> str:
        """Where it comes from, for people: `note "Domingo de playa", 2026-08-16`."""
        when = f", {self.at.date()}" if self.at else ""
        return f'{self.domain.replace("_", " ")} "{self.title}"{when}'


@dataclass(frozen=True, slots=True)
class Results:
    """The hits, what each signal did, and the reason when there are none. `understood` is what the query said."""

    query: queries.Query
    hits: list[Hit]
    signals: Mapping[str, str]
    reason: str
    hidden_cold: int
    understood: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Card:
    record_id: UUID
    domain: str
    title: str
    at: datetime | None
    tags: list[str]


async def hits(
    tx: db.Transaction, caller: callers.Caller, query: queries.Query, found: Sequence[Sequence[fusion.Fused]]
) -> list[Hit]:
    """The records of fused passages, in their order, with all that is shown of them."""
    ids = [passages[0].record_id for passages in found]
    wanted = [one.passage_id for passages in found for one in passages]
    cards_rows, text_rows = await tx.together((_CARDS, (caller.user_id, ids)), (_PASSAGES, (caller.user_id, wanted)))
    cards = {card.record_id: card for card in (_Card(**row) for row in cards_rows)}
    texts = {row["id"]: row for row in text_rows}
    lines = await _lines(tx, caller, list(cards.values()))
    asked = {one.term for one in terms.of_query(query.text)}
    made: list[Hit] = []
    for fused in found:
        card = cards.get(fused[0].record_id)
        if card is None or card.record_id not in lines:
            continue  # deleted since the signals looked
        passages = [
            Passage(one.passage_id, row["text"], row["place"], one.score, highlights(row["text"], asked))
            for one in fused
            if (row := texts.get(one.passage_id)) is not None
        ]
        line, origin = lines[card.record_id]
        made.append(Hit(card.record_id, card.domain, card.title, line, origin, card.at, card.tags, passages, fused[0]))
    return made


async def _lines(tx: db.Transaction, caller: callers.Caller, cards: Sequence[_Card]) -> dict[UUID, tuple[str, str]]:
    """The one-line form of each record and the file it came from."""
    now = datetime.now(UTC)
    lines: dict[UUID, tuple[str, str]] = {}
    for name in {card.domain for card in cards}:
        domain = catalogue.domain(name)
        records: dict[UUID, base.Record] = await base.fetch(
            tx, caller, domain, [card.record_id for card in cards if card.domain == name]
        )
        lines |= {i: (domain.line(one, now), str(one.custom.get("imported_from", ""))) for i, one in records.items()}
    return lines


def highlights(text: str, asked: set[str], *, most: int = 20) -> list[tuple[int, int]]:
    """Where the query's words stand in a text, in any form of theirs."""
    marks: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        if not asked.isdisjoint(terms.forms(match.group())):
            marks.append(match.span())
            if len(marks) == most:
                break
    return marks


def nothing(query: queries.Query, told: Mapping[str, str]) -> str:
    """Why there is no result."""
    scope = " in this scope" if query.narrowed else ""
    missing = told["semantic"].removeprefix("left out: ") if told["semantic"].startswith("left out") else ""
    because = f" Meaning was not searched: {missing}" if missing else ""
    return f"Nothing{scope} holds these words or means something close to them.{because}"


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
            "signals": {name: _evidence(one) for name, one in hit.fused.evidence.items()},
            "bonuses": {name: round(one, 6) for name, one in hit.fused.bonuses.items()},
            "boosts": {name: round(one, 6) for name, one in hit.fused.boosts.items()},
            "heat": round(hit.fused.heat, 6),
        },
    }


def _evidence(one: fusion.Evidence) -> dict[str, Any]:
    return {"raw": round(one.raw, 6), "score": round(one.score, 6), "rank": one.rank, "weight": round(one.weight, 6)}
