"""Exploring: what is known about something, what it hangs together with, and the
records that say so.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from uuid import UUID

from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from reverie import config, db, errors
from reverie.access import callers
from reverie.graph import links, lookups, nodes
from reverie.graph.resolution import keys
from reverie.llm import embedding
from reverie.records import catalogue
from reverie.search import query as queries
from reverie.search import query_model, results, search

THRESHOLD = 0.3
_MOST: Mapping[str, int] = {"concept": 5, "entity": 3, "person": 3, "source": 5}
_NEIGHBOURS = 10
_ALIKE = 0.86
# How much a node's salience counts beside how near it is to what was asked.
_SALIENT = 0.2
_NEAR = f"""
SELECT {nodes.COLUMNS}, 1 - (embedding.vector <=> %(vector)s::halfvec) AS cosine
FROM node JOIN embedding ON embedding.user_id = node.user_id AND embedding.hash = node.hash
    AND embedding.model = %(model)s
WHERE node.user_id = %(user)s AND {nodes.LIVE} AND node.hash IS NOT NULL
ORDER BY cosine DESC LIMIT 20
"""
_NAMES = f"""
SELECT alias.alias, alias.node_id FROM alias
JOIN node ON node.user_id = alias.user_id AND node.id = alias.node_id
WHERE alias.user_id = %s AND alias.kind = 'name' AND {nodes.LIVE} AND node.kind IN ('person', 'entity', 'concept')
"""
_OF_RECORDS = f"""
SELECT {nodes.COLUMNS} FROM node WHERE user_id = %s AND record_id = ANY(%s) AND kind = 'source' AND {nodes.LIVE}
"""


@dataclass(frozen=True, slots=True)
class SemanticQuery:
    """What to look for by meaning, from a similarity on (0..1)."""

    query: str
    threshold: float = THRESHOLD


@dataclass(frozen=True, slots=True)
class NodeHit:
    """A node, how near it is to what was asked (0..1), and why it is here."""

    node: nodes.Node
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Explored:
    """The hits by kind, the records among them as search found them, their links, and
    who is beside them.
    """

    hits: Sequence[NodeHit]
    records: Mapping[UUID, results.Hit]
    links: Sequence[links.Link]
    neighbours: Sequence[nodes.Node]
    told: Mapping[str, str]
    owner: UUID | None = None


async def explore(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    asks: Sequence[SemanticQuery],
    text_matches: Sequence[str] = (),
    *,
    settings: config.SearchTuning | None = None,
) -> Explored:
    """Records, concepts and entities by meaning, people and entities by name; their
    links and neighbours.

    Raises Invalid. What cannot run is left out and named in `told`.
    """
    if not asks and not text_matches:
        raise errors.Invalid("Exploring wants a query or a name.")
    matched = [*text_matches, *(one.query for one in asks)]
    found, nearest, (named, owner) = await asyncio.gather(
        _records(database, caller, embeddings, asks, settings or config.SearchTuning()),
        _nearest(database, caller, embeddings, asks),
        _named(database, caller, matched),
    )
    told = dict(chain.from_iterable(one.signals.items() for one in found)) | nearest[1]
    records = {hit.record_id: hit for one in found for hit in one.hits}
    async with database.snapshot(caller) as tx:
        rows = await tx.all(nodes.Node, _OF_RECORDS, (caller.user_id, list(records)))
        best = max((hit.fused.score for hit in records.values()), default=1.0) or 1.0
        sources = [
            NodeHit(
                node,
                max(0.0, min(1.0, records[node.record_id].fused.score / best)),
                "found by search",
            )
            for node in rows
            if node.record_id is not None
        ]
        hits = _chosen(
            [*named, *nearest[0], *sources],
            readable=frozenset(catalogue.readable(caller)),
        )
        ids = [one.node.id for one in hits]
        around = await lookups.links_of(
            tx, caller, ids, confidence=lookups.CONFIDENT, limit=400
        )
        kept, beside = _expanded(hits, around, owner)
        neighbours = list((await nodes.several(tx, caller, beside)).values())
    readable = frozenset(catalogue.readable(caller))
    neighbours = [
        one for one in neighbours if one.domain is None or one.domain in readable
    ]
    shown = {one.id for one in neighbours} | set(ids) | set(filter(None, [owner]))
    kept = [one for one in kept if {one.from_id, one.to_id} <= shown]
    return Explored(hits, records, kept, neighbours, told, owner)


async def _records(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    asks: Sequence[SemanticQuery],
    settings: config.SearchTuning,
) -> list[results.Results]:
    wanted = [
        queries.Query(text=one.query, limit=_MOST["source"], include_cold=True)
        for one in asks
    ]
    return await asyncio.gather(
        *(
            search.search(database, caller, embeddings, query, settings=settings)
            for query in wanted
        )
    )


async def _nearest(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    asks: Sequence[SemanticQuery],
) -> tuple[list[NodeHit], dict[str, str]]:
    """Concepts, entities and artifacts whose description is near; none without an
    embedder, and that is told.
    """
    made: list[NodeHit] = []
    for one in asks:
        try:
            asked = await query_model.ask(database, caller, embeddings, one.query)
        except errors.EmbedderUnavailable as away:
            return made, {"nodes by meaning": f"left out: {away.message}"}
        values = {
            "user": caller.user_id,
            "model": asked.vector.model,
            "vector": asked.literal,
        }
        async with database.snapshot(caller) as tx:
            rows = await tx.rows(_NEAR, values)
        for row in rows:
            cosine = row.pop("cosine")
            score = asked.vector.offset + asked.vector.calibration.scale * cosine
            if score >= one.threshold:
                made.append(
                    NodeHit(
                        nodes.Node(**row),
                        max(0.0, min(1.0, score)),
                        f"near “{one.query}”",
                    )
                )
    return made, {}


async def _named(
    database: db.Database, caller: callers.Caller, wanted: Sequence[str]
) -> tuple[list[NodeHit], UUID | None]:
    """Nodes by name: the very name is 1, a similar one less. A question is looked
    through for whole names.
    """
    async with database.snapshot(caller) as tx:
        rows = await tx.rows(_NAMES, (caller.user_id,))
        owner = await nodes.owner(tx, caller)
        spelled = [row["alias"] for row in rows]
        scores: dict[UUID, tuple[float, str]] = {}
        for text in wanted:
            folded = keys.normalised(text)
            padded = f" {folded} "
            for row in rows:
                if f" {row['alias']} " in padded:
                    scores[row["node_id"]] = (1.0, f"named in “{text}”")
            if len(folded.split()) <= 4:
                near = process.extract(
                    folded,
                    spelled,
                    scorer=JaroWinkler.similarity,
                    score_cutoff=_ALIKE,
                    limit=10,
                )
                for _, score, index in near:
                    if score > scores.get(rows[index]["node_id"], (0.0, ""))[0]:
                        scores[rows[index]["node_id"]] = (
                            score,
                            f"a name like “{text}”",
                        )
        there = await nodes.several(tx, caller, list(scores))
    return [
        NodeHit(node, *scores[node_id]) for node_id, node in there.items()
    ], owner.id if owner else None


def _chosen(found: Iterable[NodeHit], *, readable: frozenset[str]) -> list[NodeHit]:
    """The best of each kind: near to what was asked first, and of equals what matters
    more.
    """
    best: dict[UUID, NodeHit] = {}
    for hit in found:
        if hit.node.domain is not None and hit.node.domain not in readable:
            continue
        if hit.node.id not in best or best[hit.node.id].score < hit.score:
            best[hit.node.id] = hit
    ranked = sorted(
        best.values(),
        key=lambda one: (-(one.score + _SALIENT * one.node.salience), str(one.node.id)),
    )
    counts = dict.fromkeys(_MOST, 0)
    chosen: list[NodeHit] = []
    for hit in ranked:
        kind = "concept" if hit.node.kind == "artifact" else hit.node.kind
        if counts[kind] < _MOST[kind]:
            counts[kind] += 1
            chosen.append(hit)
    return chosen


def _expanded(
    hits: Sequence[NodeHit], around: Sequence[links.Link], owner: UUID | None
) -> tuple[list[links.Link], list[UUID]]:
    """The links that are shown, and who is beside the hits: of each hit the ten that
    matter most, else the latest.
    """
    inside = {one.node.id for one in hits} | set(filter(None, [owner]))
    kept = [one for one in around if {one.from_id, one.to_id} <= inside]
    beside: list[UUID] = []

    def order(one: links.Link) -> tuple[float, float]:
        relevance = one.properties.get("relevance", 0)
        return (
            -float(relevance if isinstance(relevance, int) else 0),
            -one.updated_at.timestamp(),
        )

    for hit in hits:
        own = sorted(
            (one for one in around if hit.node.id in (one.from_id, one.to_id)),
            key=order,
        )
        outside = [one for one in own if not {one.from_id, one.to_id} <= inside][
            :_NEIGHBOURS
        ]
        kept += outside
        beside += [
            one.to_id if one.from_id == hit.node.id else one.from_id for one in outside
        ]
    unique = {one.id: one for one in kept}
    return list(unique.values()), [
        one for one in dict.fromkeys(beside) if one not in inside
    ]


def as_json(found: Explored, *, explanations: bool = False) -> dict[str, Any]:
    """The form that models and scripts get: hits whole, neighbours by name, links with
    properties among hits only.
    """
    inside = {one.node.id for one in found.hits} | set(filter(None, [found.owner]))
    shown: dict[str, list[dict[str, Any]]] = {
        "persons": [],
        "concepts": [],
        "entities": [],
        "sources": [],
    }
    plural = {
        "person": "persons",
        "concept": "concepts",
        "artifact": "concepts",
        "entity": "entities",
    }
    for one in found.hits:
        told = _whole(one, found.records)
        if explanations:
            told["why"] = one.why
        shown[plural.get(one.node.kind, "sources")].append(told)
    return {
        **shown,
        "links": [
            _link(one, whole={one.from_id, one.to_id} <= inside) for one in found.links
        ],
        "neighbours": [_brief(one) for one in found.neighbours],
        "signals": dict(found.told),
    }


def _brief(node: nodes.Node) -> dict[str, Any]:
    told = {
        "id": str(node.id),
        "key": node.key,
        "name": node.name,
        "type": node.type or node.kind,
    }
    return told | ({"description": node.description} if node.description else {})


def _whole(hit: NodeHit, records: Mapping[UUID, results.Hit]) -> dict[str, Any]:
    node = hit.node
    told: dict[str, Any] = _brief(node) | {
        "score": round(hit.score, 3),
        "salience": round(node.salience, 3),
    }
    if node.is_owner:
        told["is_owner"] = True
    if node.properties:
        told["properties"] = node.properties
    if node.record_id is not None:
        told |= {"record": str(node.record_id), "domain": node.domain}
        found = records.get(node.record_id)
        if found and found.passages:
            told["passage"] = found.passages[0].text[:600]
    return told


def _link(one: links.Link, *, whole: bool) -> dict[str, Any]:
    told: dict[str, Any] = {
        "from": str(one.from_id),
        "relation": one.relation,
        "to": str(one.to_id),
    }
    for name in ("valid_from", "valid_to"):
        if (value := getattr(one, name)) is not None:
            told[name] = value.isoformat().replace("+00:00", "Z")
    return told | ({"properties": one.properties} if whole and one.properties else {})
