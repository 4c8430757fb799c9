"""Graph retriever: records linked to the nodes that a query names (one hop)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, LiteralString
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.graph import links, nodes, visibility
from reverie.graph.extraction import known_values
from reverie.graph.resolution import keys
from reverie.privacy import lists
from reverie.search import candidates, scope, weights
from reverie.search import query as queries

_WORD = re.compile(r"[\w'’@.+-]*\w")
_LINKED: LiteralString = f"""
WITH named AS (
    SELECT id FROM node WHERE user_id = %(user)s AND key = ANY(%(keys)s) AND {nodes.LIVE}
), said AS (
    SELECT source.record_id, count(DISTINCT link.to_id) AS named, min(evidence.ordinal) AS ordinal
    FROM named
    JOIN link ON link.user_id = %(user)s AND link.to_id = named.id AND {links.LIVE}
    JOIN node AS source ON source.user_id = link.user_id AND source.id = link.from_id AND source.kind = 'source'
        AND source.deleted_at IS NULL
    LEFT JOIN evidence ON evidence.user_id = link.user_id AND evidence.link_id = link.id
        AND evidence.record_id = source.record_id
    GROUP BY source.record_id
)
SELECT said.record_id, said.named, card.at, card.domain, passage.id AS passage_id, passage.ordinal,
    (SELECT count(*) FROM named) AS wanted
FROM said JOIN card ON card.user_id = %(user)s AND card.record_id = said.record_id
JOIN passage ON passage.user_id = %(user)s AND passage.record_id = said.record_id
    AND passage.ordinal = coalesce(said.ordinal, 1)
WHERE {{scope}}
ORDER BY said.named DESC, card.at DESC NULLS LAST, said.record_id LIMIT %(most)s
"""


# Whether a name is in the graph is told to nobody who may read no record of it.
_NOTHING = "no name of the graph is in it"


@dataclass(frozen=True, slots=True)
class GraphMatches:
    """The nodes that a query names, and the records linked to them: each with the share
    of the nodes it is linked to.

    `events` are times of events of theirs within a week of now.
    """

    status: str = _NOTHING
    names: Sequence[str] = ()
    hits: Sequence[candidates.PassageHit] = ()
    shares: Mapping[UUID, float] = field(default_factory=dict[UUID, float])
    events: Sequence[datetime] = ()

    def proximity(self, record_id: UUID, at: datetime | None) -> float:
        """How close in time a linked record is to an event of theirs that is near: 1 at
        its time, 0 from a week on.
        """
        if at is None or record_id not in self.shares:
            return 0.0
        near = weights.EVENT_NEAR
        return max(
            (max(0.0, 1 - abs(at - event) / near) for event in self.events),
            default=0.0,
        )


async def retrieve(
    tx: db.Transaction, caller: callers.Caller, query: queries.Query
) -> GraphMatches:
    """What the graph knows of the names in a query, among the records that it may find."""
    names = await _names_in(tx, caller, query.text)
    if not names:
        return GraphMatches()
    parameters = scope.parameters(caller, query) | {
        "keys": list(names),
        "most": weights.LINKED_RECORDS,
    }
    statement = db.compose(_LINKED, scope=scope.condition(query))
    rows = await tx.rows(statement, parameters)
    hits = [
        candidates.PassageHit(
            row["record_id"],
            row["ordinal"],
            row["passage_id"],
            row["named"] / row["wanted"],
        )
        for row in rows
    ]
    return GraphMatches(
        status="ok" if rows else _NOTHING,
        names=tuple(names.values()),
        hits=hits,
        shares={hit.record_id: hit.score for hit in hits},
        events=_events_near(rows, datetime.now(UTC)),
    )


def _events_near(rows: Sequence[Mapping[str, Any]], now: datetime) -> list[datetime]:
    """The times of the events among some records that are near now."""
    times = [row["at"] for row in rows if row["domain"] == "event" and row["at"]]
    return [at for at in times if abs(at - now) <= weights.EVENT_NEAR]


async def _names_in(
    tx: db.Transaction, caller: callers.Caller, text: str
) -> dict[str, str]:
    """The keys of the nodes whose names stand in a text, with those names: the longest
    first, none inside another.
    """
    words = [match.group() for match in _WORD.finditer(text)]
    folded = [keys.normalised(word) for word in words]
    sizes = range(1, weights.NAME_WORDS + 1)
    spans = {
        " ".join(folded[at : at + size])
        for size in sizes
        for at in range(len(words) - size + 1)
    }
    if not spans:
        return {}
    index = await _known(tx, caller, sorted(spans))
    names: dict[str, str] = {}
    at = 0
    while index and at < len(words):
        size = _name_length(words, folded, at, index)
        if size:
            key = index[" ".join(folded[at : at + size])]
            names[key] = " ".join(words[at : at + size])
        at += max(size, 1)
    return names


async def _known(
    tx: db.Transaction, caller: callers.Caller, spans: Sequence[str]
) -> dict[str, str]:
    """The keys of the nodes that some normalised names mean, as far as the caller may
    know that they do.
    """
    index = await known_values.meant(tx, caller, spans)
    if not index or visibility.sees_all(caller):
        return index
    by_name = await visibility.spelled(tx, caller, set(index.values()))
    return {
        name: key
        for name, key in index.items()
        if any(
            alias == name or alias.startswith(f"{name} ")
            for alias in by_name.get(key, ())
        )
    }


def _name_length(
    words: Sequence[str], folded: Sequence[str], at: int, index: Mapping[str, str]
) -> int:
    """How many words the longest name has that begins at a word; 0 where none does."""
    longest = min(weights.NAME_WORDS, len(words) - at)
    for size in range(longest, 0, -1):
        name = " ".join(folded[at : at + size])
        if not index.get(name):
            continue
        # A name that is a word, too, is one only with a capital: Will, Rose.
        if size > 1 or not words[at].islower() or not lists.english(name):
            return size
    return 0
