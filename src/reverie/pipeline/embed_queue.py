"""The queue of texts without a vector: what was just written, what else is new, then the rest."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum

from reverie import db
from reverie.records import changes

# A record of at most so many new texts is small: about a batch of the model's.
SMALL = 16
_YOUNG = timedelta(hours=1)
_RECORDS = 16  # a statement; one can have 20,000 texts
_CHUNK = 20_000
# So many texts next in order are looked at to find some of like length.
_WINDOW = 256


class Urgency(IntEnum):
    """How soon a text gets its vector."""

    WRITTEN = 0
    FRESH = 1
    BACKLOG = 2


@dataclass(frozen=True, slots=True)
class Waiting:
    """A text in the queue; `seq` is the change that brought it, if one did."""

    hash: bytes
    seq: int | None
    level: int
    length: int


# What the texts of changed records lack. In the backlog the hottest come first, else
# the newest.
_ADD = """
WITH changed AS (
    SELECT record_id, seq, at, machine
    FROM unnest(%(records)s::uuid[], %(seqs)s::bigint[], %(ats)s::timestamptz[], %(machines)s::bool[])
        AS new (record_id, seq, at, machine)
), missing AS (
    SELECT passage.hash, passage.record_id, changed.seq, changed.at, card.at AS said,
        coalesce(length(nullif(card.title, passage.text)), 0) + length(passage.head) + length(passage.text) AS length,
        CASE WHEN changed.at < now() - %(young)s::interval THEN 2
             WHEN changed.machine OR count(*) OVER (PARTITION BY passage.record_id) > %(small)s THEN 1
             ELSE 0 END AS level
    FROM changed
    JOIN passage ON passage.user_id = %(user)s AND passage.record_id = changed.record_id
    JOIN card ON card.user_id = %(user)s AND card.record_id = changed.record_id
    WHERE passage.hash IS NOT NULL AND NOT EXISTS (
        SELECT FROM embedding
        WHERE embedding.user_id = %(user)s AND embedding.model = %(model)s AND embedding.hash = passage.hash
    )
)
INSERT INTO unembedded AS old (user_id, hash, seq, level, heat, at, length)
SELECT DISTINCT ON (missing.hash) %(user)s::uuid, missing.hash, missing.seq, missing.level,
    CASE WHEN missing.level = 2 THEN coalesce(heat.heat, 0) ELSE 0 END,
    CASE WHEN missing.level = 2 THEN coalesce(missing.said, missing.at) ELSE missing.at END, missing.length
FROM missing LEFT JOIN heat ON heat.user_id = %(user)s AND heat.record_id = missing.record_id
ORDER BY missing.hash, missing.level, missing.seq DESC
ON CONFLICT (user_id, hash) DO UPDATE SET
    seq = greatest(old.seq, excluded.seq),
    level = least(old.level, excluded.level),
    heat = CASE WHEN least(old.level, excluded.level) = 2 THEN greatest(old.heat, excluded.heat) ELSE 0 END,
    at = greatest(old.at, excluded.at)
"""
# What no change tells of, by key: says how far it came.
_FILL = """
WITH missing AS MATERIALIZED (
    SELECT DISTINCT ON (passage.hash) passage.hash, passage.record_id, card.at,
        coalesce(length(nullif(card.title, passage.text)), 0) + length(passage.head) + length(passage.text) AS length
    FROM passage JOIN card USING (user_id, record_id)
    WHERE passage.user_id = %(user)s AND passage.hash > %(after)s AND NOT EXISTS (
        SELECT FROM embedding
        WHERE embedding.user_id = passage.user_id AND embedding.model = %(model)s AND embedding.hash = passage.hash
    )
    ORDER BY passage.hash LIMIT %(most)s
), added AS (
    INSERT INTO unembedded (user_id, hash, seq, level, heat, at, length)
    SELECT %(user)s::uuid, missing.hash, NULL, 2, coalesce(heat.heat, 0), coalesce(missing.at, 'epoch'), missing.length
    FROM missing LEFT JOIN heat ON heat.user_id = %(user)s AND heat.record_id = missing.record_id
    ON CONFLICT DO NOTHING
)
SELECT hash FROM missing ORDER BY hash DESC LIMIT 1
"""
_NEXT = """
SELECT hash, seq, level, length FROM unembedded WHERE user_id = %s
ORDER BY level, heat DESC, at DESC, hash LIMIT %s
"""
_REMOVE = "DELETE FROM unembedded WHERE user_id = %s AND hash = ANY(%s)"
_COUNT = "SELECT count(*) FROM unembedded WHERE user_id = %s"
_LETTERS = "SELECT coalesce(sum(length), 0) FROM unembedded WHERE user_id = %s"
# Those that lie behind the cursor still are counted there.
_CHANGES = """
SELECT count(*) FROM change WHERE user_id = %(user)s AND (xid, seq) <= (%(xid)s, %(after)s)
  AND seq IN (SELECT seq FROM unembedded WHERE user_id = %(user)s)
"""


async def add(
    tx: db.Transaction,
    user: db.HasUser,
    model: str,
    brought: Sequence[changes.Change],
) -> None:
    """Queue the texts of changed records that have no vector of the model."""
    values = {
        "user": user.user_id,
        "model": model,
        "records": [change.record_id for change in brought],
        "seqs": [change.seq for change in brought],
        "ats": [change.at for change in brought],
        "machines": [_by_machine(change) for change in brought],
        "young": _YOUNG,
        "small": SMALL,
    }
    await tx.run(_ADD, values)


def latest(batch: Sequence[changes.Change]) -> list[list[changes.Change]]:
    """The last change of each record that is still there, some at a time."""
    last = {change.record_id: change for change in batch}
    alive = [change for change in last.values() if change.action != "delete"]
    return [alive[start : start + _RECORDS] for start in range(0, len(alive), _RECORDS)]


async def fill(
    tx: db.Transaction, user: db.HasUser, model: str, after: bytes
) -> bytes | None:
    """Queue some of the texts that have no vector of the model, behind a key; returns
    the key that was reached, None at the end.
    """
    values = {"user": user.user_id, "model": model, "after": after, "most": _CHUNK}
    reached = await tx.value(_FILL, values)
    return None if reached is None else bytes(reached)


async def following(
    tx: db.Transaction, user: db.HasUser, *, most: Callable[[int], int]
) -> list[Waiting]:
    """The text whose turn it is, and of those that come next some of like length, as
    many as `most` says for that length: a model takes as long for a batch as its
    longest text makes it.
    """
    rows = await tx.all(Waiting, _NEXT, (user.user_id, _WINDOW))
    if not rows:
        return []
    alike = [row for row in rows if row.level == rows[0].level]
    alike.sort(key=lambda row: row.length)
    place = alike.index(rows[0])
    count = most(rows[0].length)
    batch = _narrowest(alike, place, count)
    # Among longer ones, a short text travels with fewer.
    while (fewer := most(batch[-1].length)) < count:
        count = fewer
        batch = _narrowest(alike, place, count)
    return batch


def _narrowest(rows: Sequence[Waiting], place: int, most: int) -> list[Waiting]:
    """So many of the rows, sorted by length, that differ least, the one at `place`
    among them.
    """
    most = min(most, len(rows))
    starts = range(max(place - most + 1, 0), min(place, len(rows) - most) + 1)
    start = min(
        starts, key=lambda start: rows[start + most - 1].length - rows[start].length
    )
    return list(rows[start : start + most])


async def remove(tx: db.Transaction, user: db.HasUser, hashes: Sequence[bytes]) -> None:
    """These wait no longer: in the transaction that keeps their vectors."""
    await tx.run(_REMOVE, (user.user_id, sorted(hashes)))


async def count(tx: db.Transaction, user: db.HasUser) -> int:
    """How many texts wait."""
    return int(await tx.value(_COUNT, (user.user_id,)))


async def letters(tx: db.Transaction, user: db.HasUser) -> int:
    """How many characters wait."""
    return int(await tx.value(_LETTERS, (user.user_id,)))


async def changes_waiting(
    tx: db.Transaction, user: db.HasUser, *, xid: int, seq: int
) -> int:
    """How many changes up to a cursor have texts that wait."""
    values = {"user": user.user_id, "xid": xid, "after": seq}
    return int(await tx.value(_CHANGES, values))


def _by_machine(change: changes.Change) -> bool:
    """Whether it was brought in, by the thousand perhaps, and not written."""
    return change.source.startswith(("import", "sync"))
