"""Candidates for ranking: a passage as a retriever finds it, with its raw score."""

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PassageHit:
    """One passage that a retriever found, its place in its record, and the raw score.

    The score is the retriever's own: a sum of BM25, a calibrated cosine, a share of the
    nodes that a query names, or a rank by time.
    """

    record_id: UUID
    ordinal: int
    passage_id: int
    score: float
