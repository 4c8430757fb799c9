"""The public search: asks every signal, fuses what they say, and tells why each result is there."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from reverie import db, errors, llm
from reverie.access import callers
from reverie.records import base, catalogue, terms
from reverie.search import context, fusion, signals
from reverie.search import query as queries

_PASSAGES = "SELECT id, record_id, place, text FROM passage WHERE user_id = %s AND id = ANY(%s)"
_CARDS = "SELECT record_id, domain, title, at, tags FROM card WHERE user_id = %s AND record_id = ANY(%s)"
_COLD_AFTER = timedelta(days=7)
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
    """The hits, what each signal did, and the reason when there are none."""

    query: queries.Query
    hits: list[Hit]
    signals: Mapping[str, str]
    reason: str
    hidden_cold: int


@dataclass(frozen=True, slots=True)
class _Card:
    record_id: UUID
    domain: str
    title: str
    at: datetime | None
    tags: list[str]


async def search(
    database: db.Database, caller: callers.Caller, embeddings: llm.Embeddings, query: queries.Query
) -> Results:
    """Search everything the caller keeps. Raises Invalid; a signal that cannot run is left out and named."""
    query = queries.checked(query)
    words, meaning, told = await _ask(database, caller, embeddings, query)
    near = _believable(meaning) if meaning else []
    if near and not words.found and not await embeddings.makes_sense(query.text):
        near, told["semantic"] = [], "left out: none of these words is known in any language"
    found = [*words.found, *near]
    async with database.snapshot(caller) as tx:
        records = {one.record_id for one in found}
        warmth = await signals.warmth(tx, caller, list(records))
        scored = await context.score(tx, caller, query, words, meaning.vector if meaning else None, found)
        fused = fusion.fuse(scored, meaning=meaning is not None, warmth=warmth)
        by_record = _by_record(fused, most=max(20, 2 * query.limit))
        shown, hidden = _without_cold(by_record, warmth, query)
        hits = await _hits(tx, caller, query, shown[: query.limit])
    reason = "" if hits else _nothing(query, told)
    return Results(query, hits, told, reason, hidden)


def _believable(meaning: "_Meaning") -> list[signals.Found]:
    """The passages whose similarity means something for this model."""
    return [one for one in meaning.found if one.score >= meaning.vector.calibration.floor]


def _by_record(fused: Sequence[fusion.Fused], *, most: int) -> list[list[fusion.Fused]]:
    """The passages of each record, best record first: its best passage, and what else is among the best `most`."""
    grouped: dict[UUID, list[fusion.Fused]] = {}
    for number, one in enumerate(fused):
        if number < most or one.record_id not in grouped:
            grouped.setdefault(one.record_id, []).append(one)
    return list(grouped.values())


@dataclass(frozen=True, slots=True)
class _Meaning:
    vector: llm.QueryVector
    found: list[signals.Found]


async def _ask(
    database: db.Database, caller: callers.Caller, embeddings: llm.Embeddings, query: queries.Query
) -> tuple[signals.Words, _Meaning | None, dict[str, str]]:
    """Both signals at once, each in a transaction of its own; with what became of each."""

    async def by_words() -> signals.Words:
        async with database.snapshot(caller) as tx:
            return await signals.lexical(tx, caller, query)

    told = {"lexical": "ok", "semantic": "ok", "graph": "not there yet", "heat": "ok"}
    words = asyncio.create_task(by_words())
    meaning: _Meaning | None = None
    try:
        vector = await embeddings.query(query.text)
        async with database.snapshot(caller, settings=signals.GRAPH_SETTINGS) as tx:
            meaning = _Meaning(vector, await signals.semantic(tx, caller, query, vector))
    except errors.EmbedderUnavailable as away:
        told["semantic"] = f"left out: {away.message}"
    return await words, meaning, told


def _without_cold(
    found: Sequence[list[fusion.Fused]], warmth: Mapping[UUID, signals.Warmth], query: queries.Query
) -> tuple[list[list[fusion.Fused]], int]:
    """Leave out what was touched once and went cold, unless it is asked for or nothing else matches."""
    if query.include_cold or query.tier is not None:
        return list(found), 0
    now = datetime.now(UTC)

    def cold(record_id: UUID) -> bool:
        touched = warmth.get(record_id)
        return (
            touched is not None
            and 0 < touched.heat < 0.2
            and 1 <= touched.accesses < 2
            and now - touched.accessed_at > _COLD_AFTER
        )

    kept = [passages for passages in found if not cold(passages[0].record_id)]
    return (kept, len(found) - len(kept)) if kept else (list(found), 0)


async def _hits(
    tx: db.Transaction, caller: callers.Caller, query: queries.Query, found: Sequence[list[fusion.Fused]]
) -> list[Hit]:
    ids = [passages[0].record_id for passages in found]
    cards = {card.record_id: card for card in await tx.all(_Card, _CARDS, (caller.user_id, ids))}
    wanted = [one.passage_id for passages in found for one in passages]
    texts = {row["id"]: row for row in await tx.rows(_PASSAGES, (caller.user_id, wanted))}
    lines = await _lines(tx, caller, list(cards.values()))
    asked = {one.term for one in terms.of_query(query.text)}
    hits: list[Hit] = []
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
        hits.append(Hit(card.record_id, card.domain, card.title, line, origin, card.at, card.tags, passages, fused[0]))
    return hits


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


def _nothing(query: queries.Query, told: Mapping[str, str]) -> str:
    scope = " in this scope" if any((query.domains, query.tag, query.first, query.last, query.tier)) else ""
    missing = told["semantic"].removeprefix("left out: ") if told["semantic"].startswith("left out") else ""
    because = f" Meaning was not searched: {missing}" if missing else ""
    return f"Nothing{scope} holds these words or means something close to them.{because}"


def as_json(results: Results) -> dict[str, Any]:
    """The JSON form, with the provenance of every score."""
    return {
        "query": results.query.text,
        "results": [
            {
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
                        name: {"score": round(one.score, 6), "rank": one.rank, "weight": round(one.weight, 6)}
                        for name, one in hit.fused.evidence.items()
                    },
                    "exact": round(hit.fused.exact, 6),
                    "manner": round(hit.fused.manner, 6),
                    "heat": round(hit.fused.heat, 6),
                },
            }
            for hit in results.hits
        ],
        "signals": results.signals,
        "fusion": {"heat_boost": fusion.HEAT_BOOST},
        "hidden_cold": results.hidden_cold,
        "reason": results.reason,
    }
