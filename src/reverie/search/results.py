"""Search results: hits with snippets, highlights and provenance, as text and JSON."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.records import bulk, catalogue, places, record_types, terms
from reverie.search import context, fusion, lexical
from reverie.search import query as queries

_PASSAGES = """
SELECT id, record_id, place, text FROM passage WHERE user_id = %s AND id = ANY(%s::bigint[])
"""
ONLY_TIME = "left out: only a time is asked for"
"""What is said of words and meaning where a time is all that is asked for."""


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
        place = places.label(passage.place)
        return "" if place == self.title else place


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
    ranking: Sequence[Sequence[fusion.Fused]],
    cards: Mapping[UUID, context.Card],
) -> list[Hit]:
    """The records of fused passages, in their order, with all that is shown of them."""
    ids = [passage.passage_id for passages in ranking for passage in passages]
    by_domain = _by_domain(ranking, cards)
    statements = [
        bulk.fetching(caller, domain, record_ids) for domain, record_ids in by_domain
    ]
    text_rows, *record_rows = await tx.together(
        (_PASSAGES, (caller.user_id, db.array(ids))), *statements
    )
    texts = {row["id"]: row for row in text_rows}
    records: dict[UUID, record_types.Record] = {}
    for (domain, _), rows in zip(by_domain, record_rows, strict=True):
        records |= bulk.fetched(domain, rows)
    query_terms = {term.term for term in lexical.query_terms(query.text)}
    now = datetime.now(UTC)
    shown: list[Hit] = []
    for fused in ranking:
        card = cards.get(fused[0].record_id)
        record = records.get(fused[0].record_id)
        if card is None or record is None:
            continue  # deleted since the signals looked
        passages = _passages(fused, texts, query_terms)
        shown.append(_hit(card, record, fused[0], passages, now))
    return shown


def _by_domain(
    ranking: Sequence[Sequence[fusion.Fused]], cards: Mapping[UUID, context.Card]
) -> list[tuple[record_types.Domain[Any], list[UUID]]]:
    """The records of each domain, to be fetched with one statement each."""
    ids: dict[str, list[UUID]] = {}
    for passages in ranking:
        card = cards.get(passages[0].record_id)
        if card and card.domain:
            ids.setdefault(card.domain, []).append(card.record_id)
    return [(catalogue.domain(name), records) for name, records in ids.items()]


def _passages(
    fused: Sequence[fusion.Fused],
    texts: Mapping[int, Mapping[str, Any]],
    query_terms: set[str],
) -> list[FoundPassage]:
    """The passages of a record that are still there, with their highlights."""
    passages: list[FoundPassage] = []
    for passage in fused:
        row = texts.get(passage.passage_id)
        if row is None:
            continue
        marks = highlights(row["text"], query_terms)
        passages.append(
            FoundPassage(
                passage.passage_id, row["text"], row["place"], passage.score, marks
            )
        )
    return passages


def _hit(
    card: context.Card,
    record: record_types.Record,
    best: fusion.Fused,
    passages: list[FoundPassage],
    now: datetime,
) -> Hit:
    return Hit(
        record_id=card.record_id,
        domain=card.domain,
        title=card.title,
        line=catalogue.domain(card.domain).line(record, now),
        origin=str(record.custom.get("imported_from", "")),
        at=card.at,
        tags=card.tags,
        passages=passages,
        fused=best,
        sensitivity=card.sensitivity,
    )


def highlights(
    text: str, query_terms: set[str], *, most: int = 20
) -> list[tuple[int, int]]:
    """Where the query's words stand in a text, in any form of theirs."""
    initials = {term.lstrip("~")[:1] for term in query_terms}
    may_match = _worth_stemming("".join(sorted(initials)))
    marks = (
        match.span()
        for match in may_match.finditer(text)
        if not query_terms.isdisjoint(terms.forms(match.group()))
    )
    return list(itertools.islice(marks, most))


@lru_cache(maxsize=256)
def _worth_stemming(initials: str) -> re.Pattern[str]:
    """Words that are worth their stems, which took half the time of a search for texts
    not seen before: every form of a plain word has its first letter.
    """
    first = re.escape(initials + initials.upper())
    plain = rf"[{first}]\w*|" if first else ""
    return re.compile(rf"\b(?:{plain}\w*[^\Wa-zA-Z]\w*)")


def nothing(query: queries.Query, statuses: Mapping[str, str]) -> str:
    """Why there is no result."""
    scope = " in this scope" if query.narrowed else ""
    semantic = statuses["semantic"]
    missing = ""
    if semantic.startswith("left out"):
        missing = semantic.removeprefix("left out: ")
    because = f" Meaning was not searched: {missing}" if missing else ""
    return (
        f"Nothing{scope} holds these words or means something close to them.{because}"
    )


def remarks(results: Results) -> list[str]:
    """What an answer should be read with: the time it was narrowed to, the order it is
    in, and phrases that nothing holds.
    """
    told: list[str] = []
    time = results.signals.get("time", "")
    if time.startswith("only "):
        told.append(f"{time[:1].upper()}{time[1:]} was searched.")
    elif time and not time.startswith("more of "):
        told.append(f"Time: {time}.")
    if phrases := results.signals.get("phrases"):
        told.append(f"{phrases[:1].upper()}{phrases[1:]}: what follows is near it.")
    return told


def _without_meaning(results: Results) -> list[str]:
    """Why meaning was not searched, unless the reason for no hits says so."""
    semantic = results.signals["semantic"]
    left_out = semantic.startswith("left out: ") and semantic != ONLY_TIME
    if not left_out or results.reason:
        return []
    return [f"Meaning was not searched: {semantic.removeprefix('left out: ')}"]


def as_json(results: Results) -> dict[str, Any]:
    """The JSON form, with the provenance of every score."""
    return {
        "query": results.query.text,
        "understood": dict(results.understood),
        "results": [_hit_as_json(hit) for hit in results.hits],
        "signals": results.signals,
        "formula": "score = (sum of weight * score over signals + sum of bonuses) * product of boosts",
        "remarks": [*_without_meaning(results), *remarks(results)],
        "hidden_cold": results.hidden_cold,
        "reason": results.reason,
    }


def _hit_as_json(hit: Hit) -> dict[str, Any]:
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
        "passages": [passage_as_json(hit, passage) for passage in hit.passages],
        "provenance": _provenance(hit.fused),
    }


def passage_as_json(hit: Hit, passage: FoundPassage) -> dict[str, Any]:
    """One passage of a hit: `highlights` are its marked stretches, [start, end]."""
    return {
        "text": passage.text,
        "place": passage.place,
        "where": hit.where(passage),
        "score": round(passage.score, 6),
        "highlights": [list(mark) for mark in passage.highlights],
    }


def _provenance(fused: fusion.Fused) -> dict[str, Any]:
    """Every number that a score is made of."""
    return {
        "signals": {
            name: _signal_as_json(signal) for name, signal in fused.evidence.items()
        },
        "bonuses": {name: round(bonus, 6) for name, bonus in fused.bonuses.items()},
        "boosts": {name: round(boost, 6) for name, boost in fused.boosts.items()},
        "heat": round(fused.heat, 6),
    }


def _signal_as_json(signal: fusion.SignalScore) -> dict[str, Any]:
    return {
        "raw": round(signal.raw, 6),
        "score": round(signal.score, 6),
        "rank": signal.rank,
        "weight": round(signal.weight, 6),
    }
