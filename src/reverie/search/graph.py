"""The graph signal: what a query names, the records that are linked to it, and what is
about to happen with it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import LiteralString
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.graph import links, nodes
from reverie.graph.extraction import known_values
from reverie.graph.resolution import keys
from reverie.privacy import lists
from reverie.search import lexical
from reverie.search import query as queries

# Records of a named node count for so many; what is linked to hundreds says little of
# any.
MOST = 300
SOON = timedelta(days=7)
PROXIMITY = 0.15
_LONGEST_NAME = 5
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
class Related:
    """The nodes that a query names, and the records linked to them: each with the share
    of the nodes it is linked to.

    `near` are times of events of theirs within a week of now.
    """

    told: str = _NOTHING
    names: Sequence[str] = ()
    found: Sequence[lexical.PassageHit] = ()
    shares: Mapping[UUID, float] = field(default_factory=dict[UUID, float])
    near: Sequence[datetime] = ()

    def proximity(self, record_id: UUID, at: datetime | None) -> float:
        """How close in time a linked record is to an event of theirs that is near: 1 at
        its time, 0 from a week on.
        """
        if at is None or record_id not in self.shares:
            return 0.0
        return max(
            (max(0.0, 1 - abs(at - one) / SOON) for one in self.near), default=0.0
        )


async def ask(
    tx: db.Transaction, caller: callers.Caller, query: queries.Query
) -> Related:
    """What the graph knows of the names in a query, among the records that it may find."""
    called = await _named(tx, caller, query.text)
    if not called:
        return Related()
    given = lexical.parameters(caller, query) | {"keys": list(called), "most": MOST}
    rows = await tx.rows(db.compose(_LINKED, scope=lexical.scope(query)), given)
    now = datetime.now(UTC)
    return Related(
        "ok" if rows else _NOTHING,
        tuple(called.values()),
        [
            lexical.PassageHit(
                row["record_id"],
                row["ordinal"],
                row["passage_id"],
                row["named"] / row["wanted"],
            )
            for row in rows
        ],
        {row["record_id"]: row["named"] / row["wanted"] for row in rows},
        [
            row["at"]
            for row in rows
            if row["domain"] == "event" and row["at"] and abs(row["at"] - now) <= SOON
        ],
    )


async def _named(
    tx: db.Transaction, caller: callers.Caller, text: str
) -> dict[str, str]:
    """The keys of the nodes whose names stand in a text, with those names: the longest
    first, none inside another.
    """
    words = [match.group() for match in _WORD.finditer(text)]
    folded = [keys.normalised(word) for word in words]
    sizes = range(1, _LONGEST_NAME + 1)
    spans = {
        " ".join(folded[at : at + size])
        for size in sizes
        for at in range(len(words) - size + 1)
    }
    index = await known_values.meant(tx, caller, sorted(spans)) if spans else {}
    if not index:
        return {}
    found: dict[str, str] = {}
    at = 0
    while at < len(words):
        step = 1
        for size in range(min(_LONGEST_NAME, len(words) - at), 0, -1):
            name = " ".join(folded[at : at + size])
            key = index.get(name)
            # A name that is a word, too, is one only with a capital: Will, Rose.
            if key and (size > 1 or not words[at].islower() or not lists.english(name)):
                found[key] = " ".join(words[at : at + size])
                step = size
                break
        at += step
    return found
