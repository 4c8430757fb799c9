"""Exploring: the ego network of a topic: nodes by meaning and name, links, records."""

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
from reverie.graph import links, lookups, node_data, nodes, redaction, visibility
from reverie.graph.resolution import keys
from reverie.llm import embedding
from reverie.records import catalogue
from reverie.search import query as queries
from reverie.search import query_model, results, search, weights

_NEAREST_NODES = f"""
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
    threshold: float = weights.EXPLORE_THRESHOLD


@dataclass(frozen=True, slots=True)
class NodeHit:
    """A node, how near it is to what was asked (0..1), and why it is here."""

    node: nodes.Node
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Explored:
    """The hits by kind, the records among them as search found them, their links, and
    who is beside them; `signals` is what became of each signal.
    """

    hits: Sequence[NodeHit]
    records: Mapping[UUID, results.Hit]
    links: Sequence[links.Link]
    neighbours: Sequence[nodes.Node]
    signals: Mapping[str, str]
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

    Raises Invalid. What cannot run is left out and named in `signals`.
    """
    if not asks and not text_matches:
        raise errors.Invalid("Exploring wants a query or a name.")
    names = [*text_matches, *(ask.query for ask in asks)]
    searches, (nearest, missing), (named, owner) = await asyncio.gather(
        _searches(
            database, caller, embeddings, asks, settings or config.SearchTuning()
        ),
        _nearest_nodes(database, caller, embeddings, asks),
        _named_nodes(database, caller, names),
    )
    signals = dict(chain.from_iterable(each.signals.items() for each in searches))
    records = {hit.record_id: hit for each in searches for hit in each.hits}
    readable = frozenset(catalogue.readable(caller))
    async with database.snapshot(caller) as tx:
        sources = await _source_nodes(tx, caller, records)
        hits = _best_of_each_kind([*named, *nearest, *sources], readable=readable)
        ids = [hit.node.id for hit in hits]
        linked = await lookups.links_of(
            tx,
            caller,
            ids,
            confidence=lookups.CONFIDENT,
            limit=weights.EXPLORE_LINKS,
        )
        around = await visibility.permitted_links(tx, caller, linked)
        kept, beside = _ego_network(hits, around, owner)
        nodes_beside = await visibility.several(tx, caller, beside)
    neighbours = list(nodes_beside.values())
    shown = {node.id for node in neighbours} | _ids(hits, owner)
    kept = [link for link in kept if {link.from_id, link.to_id} <= shown]
    return Explored(hits, records, kept, neighbours, signals | missing, owner)


def _ids(hits: Iterable[NodeHit], owner: UUID | None) -> set[UUID]:
    """The nodes that were hit, and the owner's own."""
    ids = {hit.node.id for hit in hits}
    if owner is not None:
        ids.add(owner)
    return ids


async def _searches(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    asks: Sequence[SemanticQuery],
    settings: config.SearchTuning,
) -> list[results.Results]:
    most = weights.EXPLORE_HITS["source"]
    search_queries = [
        queries.Query(text=ask.query, limit=most, include_cold=True) for ask in asks
    ]
    return await asyncio.gather(
        *(
            search.search(database, caller, embeddings, query, settings=settings)
            for query in search_queries
        )
    )


async def _source_nodes(
    tx: db.Transaction, caller: callers.Caller, records: Mapping[UUID, results.Hit]
) -> list[NodeHit]:
    """The nodes of the records that search found, by their share of the best score."""
    every = await tx.all(nodes.Node, _OF_RECORDS, (caller.user_id, list(records)))
    rows = (await visibility.permitted(tx, caller, every)).values()
    best = max((hit.fused.score for hit in records.values()), default=1.0) or 1.0
    return [
        NodeHit(
            node, _unit(records[node.record_id].fused.score / best), "found by search"
        )
        for node in rows
        if node.record_id is not None
    ]


def _unit(score: float) -> float:
    return max(0.0, min(1.0, score))


async def _nearest_nodes(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    asks: Sequence[SemanticQuery],
) -> tuple[list[NodeHit], dict[str, str]]:
    """Concepts, entities and artifacts whose description is near; none without an
    embedder, and that is told.
    """
    hits: list[NodeHit] = []
    for ask in asks:
        try:
            model_query = await query_model.embed(
                database, caller, embeddings, ask.query
            )
        except errors.EmbedderUnavailable as failure:
            return hits, {"nodes by meaning": f"left out: {failure.message}"}
        parameters = {
            "user": caller.user_id,
            "model": model_query.vector.model,
            "vector": model_query.literal,
        }
        async with database.snapshot(caller) as tx:
            rows = await tx.rows(_NEAREST_NODES, parameters)
            cosines = [row.pop("cosine") for row in rows]
            near = await _with_the_same_text(tx, caller, rows)
        for node, cosine in zip(near, cosines, strict=True):
            score = (
                model_query.vector.offset
                + model_query.vector.calibration.scale * cosine
            )
            if node is not None and score >= ask.threshold:
                hits.append(NodeHit(node, _unit(score), f"near “{ask.query}”"))
    return hits, {}


async def _with_the_same_text(
    tx: db.Transaction, caller: callers.Caller, rows: Sequence[dict[str, Any]]
) -> list[nodes.Node | None]:
    """The nodes of some rows as they show; None for those whose vectors are made of
    more than the caller may know.
    """
    every = [nodes.Node(**row) for row in rows]
    shown = await visibility.permitted(tx, caller, every)
    near = [(node, shown.get(node.id)) for node in every]
    return [
        told if told is not None and _text(told) == _text(node) else None
        for node, told in near
    ]


def _text(node: nodes.Node) -> str:
    """What a node's vector is made of."""
    return node_data.text_of(node.kind, node.name, node.description, node.properties)


async def _spelled(
    tx: db.Transaction, caller: callers.Caller
) -> list[tuple[str, UUID]]:
    """All names of nodes that the caller may know, each with its node."""
    if visibility.sees_all(caller):
        rows = await tx.rows(_NAMES, (caller.user_id,))
        return [(row["alias"], row["node_id"]) for row in rows]
    domains = visibility.open_to(caller)
    shown, _ = await redaction.listed(tx, caller, domains, kind=None)
    return [
        (alias, node.id)
        for node, told in shown
        for alias, kind in told.spelled
        if kind == "name" and node.kind != "artifact"
    ]


async def _named_nodes(
    database: db.Database, caller: callers.Caller, texts: Sequence[str]
) -> tuple[list[NodeHit], UUID | None]:
    """Nodes by name, and the owner's: the very name is 1, a similar one less. A
    question is looked through for whole names.
    """
    async with database.snapshot(caller) as tx:
        owner = await nodes.owner(tx, caller)
        scores = _name_scores(texts, await _spelled(tx, caller))
        named = await visibility.several(tx, caller, list(scores))
    hits = [NodeHit(node, *scores[node_id]) for node_id, node in named.items()]
    return hits, owner.id if owner else None


def _name_scores(
    texts: Sequence[str], aliases: Sequence[tuple[str, UUID]]
) -> dict[UUID, tuple[float, str]]:
    """How well each node is named in some texts (0..1), and why it is here."""
    spelled = [alias for alias, _ in aliases]
    scores: dict[UUID, tuple[float, str]] = {}
    for text in texts:
        folded = keys.normalised(text)
        padded = f" {folded} "
        for alias, node_id in aliases:
            if f" {alias} " in padded:
                scores[node_id] = (1.0, f"named in “{text}”")
        if len(folded.split()) > weights.NAME_QUERY_WORDS:
            continue
        near = process.extract(
            folded,
            spelled,
            scorer=JaroWinkler.similarity,
            score_cutoff=weights.ALIKE_NAMES,
            limit=10,
        )
        for _, score, index in near:
            node_id = aliases[index][1]
            if score > scores.get(node_id, (0.0, ""))[0]:
                scores[node_id] = (score, f"a name like “{text}”")
    return scores


def _best_of_each_kind(
    hits: Iterable[NodeHit], *, readable: frozenset[str]
) -> list[NodeHit]:
    """The best of each kind: near to what was asked first, and of equals what matters
    more.
    """
    best: dict[UUID, NodeHit] = {}
    for hit in hits:
        if hit.node.domain is not None and hit.node.domain not in readable:
            continue
        if hit.node.id not in best or best[hit.node.id].score < hit.score:
            best[hit.node.id] = hit
    counts = dict.fromkeys(weights.EXPLORE_HITS, 0)
    chosen: list[NodeHit] = []
    for hit in sorted(best.values(), key=_by_relevance):
        kind = "concept" if hit.node.kind == "artifact" else hit.node.kind
        if counts[kind] < weights.EXPLORE_HITS[kind]:
            counts[kind] += 1
            chosen.append(hit)
    return chosen


def _by_relevance(hit: NodeHit) -> tuple[float, str]:
    relevance = hit.score + weights.SALIENCE * hit.node.salience
    return -relevance, str(hit.node.id)


def _ego_network(
    hits: Sequence[NodeHit], around: Sequence[links.Link], owner: UUID | None
) -> tuple[list[links.Link], list[UUID]]:
    """The links that are shown, and who is beside the hits: of each hit the ten that
    matter most, else the latest.
    """
    inside = _ids(hits, owner)
    kept = [link for link in around if {link.from_id, link.to_id} <= inside]
    beside: list[UUID] = []
    for hit in hits:
        node_id = hit.node.id
        own = [link for link in around if node_id in (link.from_id, link.to_id)]
        own.sort(key=_by_importance)
        outward = [link for link in own if not {link.from_id, link.to_id} <= inside]
        for link in outward[: weights.NEIGHBOURS]:
            kept.append(link)
            beside.append(link.to_id if link.from_id == node_id else link.from_id)
    unique = {link.id: link for link in kept}
    outside = [node_id for node_id in dict.fromkeys(beside) if node_id not in inside]
    return list(unique.values()), outside


def _by_importance(link: links.Link) -> tuple[float, float]:
    relevance = link.properties.get("relevance", 0)
    if not isinstance(relevance, int):
        relevance = 0
    return -float(relevance), -link.updated_at.timestamp()


_PLURAL = {
    "person": "persons",
    "concept": "concepts",
    "artifact": "concepts",
    "entity": "entities",
}


def as_json(explored: Explored, *, explanations: bool = False) -> dict[str, Any]:
    """The form that models and scripts get: hits whole, neighbours by name, links with
    properties among hits only.
    """
    inside = _ids(explored.hits, explored.owner)
    by_kind: dict[str, list[dict[str, Any]]] = {
        "persons": [],
        "concepts": [],
        "entities": [],
        "sources": [],
    }
    for hit in explored.hits:
        shown = _hit_as_json(hit, explored.records)
        if explanations:
            shown["why"] = hit.why
        by_kind[_PLURAL.get(hit.node.kind, "sources")].append(shown)
    return {
        **by_kind,
        "links": [
            _link_as_json(link, whole={link.from_id, link.to_id} <= inside)
            for link in explored.links
        ],
        "neighbours": [_node_as_json(node) for node in explored.neighbours],
        "signals": dict(explored.signals),
    }


def _node_as_json(node: nodes.Node) -> dict[str, Any]:
    shown = {
        "id": str(node.id),
        "key": node.key,
        "name": node.name,
        "type": node.type or node.kind,
    }
    if node.description:
        shown["description"] = node.description
    return shown


def _hit_as_json(hit: NodeHit, records: Mapping[UUID, results.Hit]) -> dict[str, Any]:
    node = hit.node
    shown: dict[str, Any] = _node_as_json(node) | {
        "score": round(hit.score, 3),
        "salience": round(node.salience, 3),
    }
    if node.is_owner:
        shown["is_owner"] = True
    if node.properties:
        shown["properties"] = node.properties
    if node.record_id is not None:
        shown |= {"record": str(node.record_id), "domain": node.domain}
        record = records.get(node.record_id)
        if record and record.passages:
            shown["passage"] = record.passages[0].text[:600]
    return shown


def _link_as_json(link: links.Link, *, whole: bool) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "from": str(link.from_id),
        "relation": link.relation,
        "to": str(link.to_id),
    }
    for name in ("valid_from", "valid_to"):
        moment = getattr(link, name)
        if moment is not None:
            shown[name] = moment.isoformat().replace("+00:00", "Z")
    if whole and link.properties:
        shown["properties"] = link.properties
    return shown
