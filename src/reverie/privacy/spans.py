"""Spans of PII detection: what a finding is, and which of two that overlap stays."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A personal value: characters `start` to `end` of the text, its kind, and how sure
    we are (0..1).
    """

    start: int
    end: int
    kind: str
    score: float
    value: str


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value that is known to be personal (a contact's name, a phone) and its kind."""

    value: str
    kind: str


@dataclass(frozen=True, slots=True)
class FoldedSpan:
    """Where a value of a kind lies, in a text that is at hand: the folded one while
    findings are settled.
    """

    start: int
    end: int
    kind: str
    score: float = 1.0


def settle(candidates: Iterable[FoldedSpan]) -> list[FoldedSpan]:
    """No two overlap, and no character that one of them covered is left bare.

    The stronger keeps its extent and label; what of a weaker one sticks out stays as a
    finding of its own.
    """
    ranked = sorted(candidates, key=_rank)
    taken: dict[int, FoldedSpan] = {}
    kept: list[FoldedSpan] = []
    for span in ranked:
        start = span.start
        while start < span.end:
            if start in taken:
                start = max(taken[start].end, start + 1)
                continue
            end = start
            while end < span.end and end not in taken:
                end += 1
            part = FoldedSpan(start, end, span.kind, span.score)
            taken.update(dict.fromkeys(range(start, end), part))
            kept.append(part)
            start = end
    return sorted(kept, key=lambda span: span.start)


def _rank(span: FoldedSpan) -> tuple[float, int, int, str]:
    """The surest first, of those the longest, then the one that begins first."""
    return (-span.score, span.start - span.end, span.start, span.kind)
