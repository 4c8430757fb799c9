"""Posting lists (inverted index) for BM25, packed from the passages themselves.

A list is a few numpy arrays, so a million passages take some hundred megabytes and are
read in milliseconds (docs/decisions/0002). Lists are made a segment of passages at a
time; a segment never changes. As segments grow many they are packed together, which
also rids them of passages that are gone.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from reverie import db
from reverie.records import language

K1, B = 1.2, 0.75

# Segments grow by this factor from the smallest; no larger one than the largest is made
# by packing several.
SMALLEST, FACTOR, LARGEST = 512, 8, 262_144
# The entries of a list that are always read: those that gain most. The rest is read of
# terms that are not too common.
BEST, ALL = 4096, 65_536
_ONE_STATEMENT = 500_000

PACKED_TERM = np.dtype([("term", "<i8"), ("tf", "<f2")])
ENTRY = np.dtype([("at", "<u4"), ("gain", "<f2")])
IDS = np.dtype(">i8")
Floats = NDArray[np.float32]

_SEGMENT = "INSERT INTO segment (user_id, size, words, passages) VALUES (%s, %s, %s, %s) RETURNING id"
_POSTINGS = """
INSERT INTO posting (user_id, term, segment, part, n, entries)
SELECT %(user)s, term, %(segment)s, part, n, substr(%(entries)s::bytea, start * 6 + 1, n * 6)
FROM unnest(%(terms)s::bigint[], %(parts)s::smallint[], %(starts)s::int[], %(ns)s::int[]) AS new (term, part, start, n)
"""
_SEGMENTS = (
    "SELECT id, size, words FROM segment WHERE user_id = %s ORDER BY size DESC, id"
)
_MEMBERS = "SELECT id, passages FROM segment WHERE user_id = %s AND id = ANY(%s)"
_DROP_POSTINGS = "DELETE FROM posting WHERE user_id = %s AND segment = ANY(%s)"
_DROP_SEGMENTS = "DELETE FROM segment WHERE user_id = %s AND id = ANY(%s)"
_LISTS = """
SELECT term, segment, n, CASE WHEN part = 0 OR sum(n) OVER (PARTITION BY term) <= %(all)s THEN entries END AS entries
FROM segment JOIN posting ON posting.user_id = segment.user_id AND posting.segment = segment.id
WHERE segment.user_id = %(user)s AND posting.term = ANY(%(terms)s)
"""
_FRESH = """
SELECT passage.id, passage.terms, passage.length
FROM fresh JOIN passage ON passage.user_id = fresh.user_id AND passage.id = fresh.passage_id WHERE fresh.user_id = %s
"""


# Segments of some users: at most some hundred megabytes.
_SEEN = 128
_seen: dict[tuple[UUID, int], NDArray[np.int64]] = {}


@lru_cache(maxsize=language.WORDS_KEPT)
def key(term: str) -> int:
    """The 64-bit key of a term: BLAKE2b, signed."""
    return int.from_bytes(
        hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest(),
        "little",
        signed=True,
    )


def packed(weights: Mapping[str, float]) -> bytes:
    """The terms of one passage as its row keeps them: shape (terms,) of PACKED_TERM."""
    rows = np.empty(len(weights), PACKED_TERM)
    rows["term"] = [key(term) for term in weights]
    rows["tf"] = list(weights.values())
    return rows.tobytes()


def frequencies(
    packed_terms: bytes, sizes: NDArray[Any], keys: Sequence[int]
) -> Floats:
    """How much each passage holds of each term: shape (passages, terms).

    `packed_terms` are those of all passages one after another, `sizes` the bytes of
    each.
    """
    table = np.zeros((len(sizes), len(keys)), np.float32)
    if not packed_terms or not keys:
        return table
    rows = np.frombuffer(packed_terms, PACKED_TERM)
    order = np.argsort(np.asarray(keys, np.int64))
    sorted_keys = np.asarray(keys, np.int64)[order]
    term = np.ascontiguousarray(rows["term"])
    place = np.minimum(np.searchsorted(sorted_keys, term), len(sorted_keys) - 1)
    hit = np.flatnonzero(sorted_keys[place] == term)
    owner = np.repeat(np.arange(len(sizes)), sizes // PACKED_TERM.itemsize)
    table[owner[hit], order[place[hit]]] = rows["tf"][hit]
    return table


def of_rows(rows: Sequence[Mapping[str, Any]], keys: Sequence[int]) -> Floats:
    """The same of rows with `terms`."""
    packed_terms = [row["terms"] or b"" for row in rows]
    return frequencies(
        b"".join(packed_terms),
        np.array([len(terms) for terms in packed_terms], np.int64),
        keys,
    )


def gain(tf: Floats, length: Floats, average: float) -> Floats:
    """What BM25 gives for a term, before its idf.

    tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / average))
    """
    return (tf * (K1 + 1) / (tf + K1 * (1 - B + B * length / average))).astype(
        np.float32
    )


@dataclass(frozen=True, slots=True)
class Segment:
    """Some packed passages: how many, and how many words they hold."""

    id: int
    size: int
    words: int


@dataclass(frozen=True, slots=True)
class Listed:
    """What the lists tell of some terms: their entries by segment and key, and how many
    packed passages hold each.

    `members` are the passages of each segment by their place in it; `fresh` are those
    (id, terms, length) that no list holds yet.
    """

    segments: Sequence[Segment]
    entries: Mapping[tuple[int, int], Sequence[NDArray[Any]]]
    document_frequencies: Mapping[int, int]
    members: Mapping[int, NDArray[np.int64]]
    fresh: Sequence[Mapping[str, Any]]


async def segments(tx: db.Transaction, user: db.HasUser) -> list[Segment]:
    """Every segment of a user, largest first."""
    return await tx.all(Segment, _SEGMENTS, (user.user_id,))


async def lists(tx: db.Transaction, user: db.HasUser, keys: Sequence[int]) -> Listed:
    """The lists of some terms; of a term in more than 65,536 passages, the best entries
    of each segment.
    """
    return await listed(tx, user, await tx.together(*statements(user, keys)))


def statements(user: db.HasUser, keys: Sequence[int]) -> list[db.Statement]:
    """What the lists of some terms are read with, for whoever reads more with it."""
    parameters = {"user": user.user_id, "terms": list(keys), "all": ALL}
    mine = (user.user_id,)
    return [(_LISTS, parameters), (_SEGMENTS, mine), (_FRESH, mine)]


async def listed(
    tx: db.Transaction, user: db.HasUser, found: Sequence[db.Rows]
) -> Listed:
    """The lists of the rows that `statements` gave."""
    rows, segment_rows, fresh = found
    entries: dict[tuple[int, int], list[NDArray[Any]]] = {}
    document_frequencies: dict[int, int] = {}
    for row in rows:
        document_frequencies[row["term"]] = (
            document_frequencies.get(row["term"], 0) + row["n"]
        )
        if row["entries"] is not None:
            entries.setdefault((row["segment"], row["term"]), []).append(
                np.frombuffer(row["entries"], ENTRY)
            )
    segments = [Segment(**row) for row in segment_rows]
    return Listed(
        segments,
        entries,
        document_frequencies,
        await _members(tx, user, [segment.id for segment in segments]),
        fresh,
    )


async def _members(
    tx: db.Transaction, user: db.HasUser, ids: Sequence[int]
) -> dict[int, NDArray[np.int64]]:
    """The passages of segments, by place. They never change, so this process keeps
    those it has seen lately.
    """
    new = [segment_id for segment_id in ids if (user.user_id, segment_id) not in _seen]
    for row in await tx.rows(_MEMBERS, (user.user_id, new), binary=True) if new else ():
        _seen[user.user_id, row["id"]] = np.frombuffer(row["passages"], IDS).astype(
            np.int64
        )
    members = {segment_id: _seen[user.user_id, segment_id] for segment_id in ids}
    while len(_seen) > _SEEN:
        _seen.pop(next(iter(_seen)))
    return members


async def pack(
    tx: db.Transaction, user: db.HasUser, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Make a segment of some passages (id, terms, length)."""
    if not rows:
        return
    segments_now = await segments(tx, user)
    lengths = np.array([row["length"] for row in rows], np.float32)
    words = int(lengths.sum())
    average = (sum(segment.words for segment in segments_now) + words) / (
        sum(segment.size for segment in segments_now) + len(rows)
    )
    ids = np.array([row["id"] for row in rows], IDS).tobytes()
    segment = await tx.value(_SEGMENT, (user.user_id, len(rows), words, ids))
    # A pile of passages takes a while, in which others want to be answered.
    entries, terms, starts = await asyncio.to_thread(_inverted, rows, lengths, average)
    await _insert(tx, user, segment, entries, terms[starts], _parts(entries, starts))


def _inverted(
    rows: Sequence[Mapping[str, Any]], lengths: NDArray[np.float32], average: float
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """The entries of all passages in the order of their terms, with the term of each,
    and where each term's list begins.
    """
    packed_terms = [row["terms"] or b"" for row in rows]
    at = np.repeat(
        np.arange(len(rows), dtype=np.uint32),
        [len(terms) // PACKED_TERM.itemsize for terms in packed_terms],
    )
    every = np.frombuffer(b"".join(packed_terms), PACKED_TERM)
    order = np.argsort(every["term"], kind="stable")
    entries = np.empty(len(every), ENTRY)
    entries["at"] = at[order]
    entries["gain"] = gain(
        every["tf"][order].astype(np.float32), lengths[entries["at"]], average
    )
    terms = every["term"][order]
    starts = np.empty(0, np.int64)
    if len(terms):
        starts = np.flatnonzero(np.diff(terms, prepend=terms[:1] - 1))
    return entries, terms, starts


def _parts(entries: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """(list, part, start, n) of every part; long lists are brought in the order of
    their gain.
    """
    ends = np.append(starts[1:], len(entries))
    parts = np.stack(
        [
            np.arange(len(starts)),
            np.zeros(len(starts), np.int64),
            starts,
            ends - starts,
        ],
        axis=1,
    )
    long = np.flatnonzero(ends - starts > BEST)
    rest = parts[long].copy()
    for number in long:
        mine = entries[starts[number] : ends[number]]
        entries[starts[number] : ends[number]] = mine[
            np.argsort(-mine["gain"], kind="stable")
        ]
    parts[long, 3] = BEST
    rest[:, 1] = 1
    rest[:, 2] += BEST
    rest[:, 3] -= BEST
    both = np.concatenate([parts, rest])
    return both[np.argsort(both[:, 2], kind="stable")]


async def _insert(
    tx: db.Transaction,
    user: db.HasUser,
    segment: int,
    entries: NDArray[Any],
    terms: NDArray[np.int64],
    parts: NDArray[np.int64],
) -> None:
    """Some hundred thousand entries a statement."""
    while len(parts):
        first = int(parts[0, 2])
        batch_size = max(
            1,
            int(
                np.searchsorted(
                    parts[:, 2] + parts[:, 3], first + _ONE_STATEMENT, side="right"
                )
            ),
        )
        batch, parts = parts[:batch_size], parts[batch_size:]
        end = int(batch[-1, 2] + batch[-1, 3])
        parameters = {
            "user": user.user_id,
            "segment": segment,
            "entries": entries[first:end].tobytes(),
            "terms": terms[batch[:, 0]].tolist(),
            "parts": batch[:, 1].tolist(),
            "starts": (batch[:, 2] - first).tolist(),
            "ns": batch[:, 3].tolist(),
        }
        await tx.run(_POSTINGS, parameters)


def crowded(segments: Sequence[Segment]) -> list[int]:
    """Segments of about one size that are too many: to be packed together."""
    tiers: dict[int, list[Segment]] = {}
    for segment in segments:
        tier = int(np.log(max(segment.size, SMALLEST) / SMALLEST) / np.log(FACTOR))
        tiers.setdefault(tier, []).append(segment)
    for tier in sorted(tiers):
        mine = tiers[tier]
        if (
            len(mine) >= FACTOR
            and sum(segment.size for segment in mine[-FACTOR:]) <= LARGEST
        ):
            return [segment.id for segment in mine[-FACTOR:]]
    return []


async def members(
    tx: db.Transaction, user: db.HasUser, ids: Sequence[int]
) -> list[int]:
    """The passages of some segments, those that are gone included."""
    rows = await tx.rows(_MEMBERS, (user.user_id, list(ids)), binary=True)
    return [
        int(passage) for row in rows for passage in np.frombuffer(row["passages"], IDS)
    ]


async def drop(tx: db.Transaction, user: db.HasUser, ids: Sequence[int]) -> None:
    """Drop some segments and their lists."""
    await tx.run(_DROP_POSTINGS, (user.user_id, list(ids)))
    await tx.run(_DROP_SEGMENTS, (user.user_id, list(ids)))
