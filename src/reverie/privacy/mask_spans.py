"""Stretches: which parts of a text are replaced as one, given where personal values lie
in it.
"""

import re
from collections.abc import Iterable
from dataclasses import replace

from reverie import errors
from reverie.privacy import spans

_RUN = re.compile(r"[0-9A-Za-z]*")
_ENDING = re.compile(r"[A-Za-z]{0,3}\Z")


def settled(
    text: str, given: Iterable[spans.FoldedSpan | spans.Span]
) -> list[spans.FoldedSpan]:
    """Spans that do not overlap, in order, each free to be replaced by a token that can
    be told from what follows.

    A span grows over the letters and digits behind it, unless they are an ending of a
    word (`Anas Buch`), and spans that overlap or touch become one, of the kind of the
    longer: hiding too much is the cheaper mistake. White space at the edges stays
    outside. Raises Invalid for a span that is not of this text.
    """
    found: list[spans.FoldedSpan] = []
    for span in sorted(
        filter(None, (_trimmed(text, one) for one in given)),
        key=lambda one: (one.start, -one.end),
    ):
        span = replace(span, end=_grown(text, span.end))
        if found and _as_one(text, found[-1], span):
            last = found.pop()
            kind = max(
                last, span, key=lambda one: (one.end - one.start, one.score)
            ).kind
            span = spans.FoldedSpan(
                last.start, max(last.end, span.end), kind, max(last.score, span.score)
            )
        found.append(span)
    return found


def _trimmed(text: str, span: spans.FoldedSpan | spans.Span) -> spans.FoldedSpan | None:
    if not 0 <= span.start <= span.end <= len(text):
        raise errors.Invalid(
            f"A span from {span.start} to {span.end} is not of a text of {len(text)} characters."
        )
    start, end = span.start, span.end
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return spans.FoldedSpan(start, end, span.kind, span.score) if start < end else None


def _grown(text: str, end: int) -> int:
    run = _RUN.match(text, end)
    return end if run is None or _ENDING.match(run.group()) else run.end()


def _as_one(text: str, first: spans.FoldedSpan, second: spans.FoldedSpan) -> bool:
    between = text[first.end : second.start]
    return second.start < first.end or bool(_ENDING.match(between))
