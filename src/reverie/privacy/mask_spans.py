"""Masked spans: which spans of a text get one pseudonym."""

import re
from collections.abc import Iterable
from dataclasses import replace

from reverie import errors
from reverie.privacy import spans

_LETTERS_AND_DIGITS = re.compile(r"[0-9A-Za-z]*")
# Up to three letters behind a name are its ending: `Anas`, `Petrovnas`.
_WORD_ENDING = re.compile(r"[A-Za-z]{0,3}\Z")


def merge(
    text: str, detected: Iterable[spans.FoldedSpan | spans.Span]
) -> list[spans.FoldedSpan]:
    """Spans that do not overlap, in order, each free to be replaced by a token that can
    be told from what follows.

    A span grows over the letters and digits behind it, unless they are an ending of a
    word (`Anas Buch`), and spans that overlap or touch become one, of the kind of the
    longer: hiding too much is the cheaper mistake. White space at the edges stays
    outside. Raises Invalid for a span that is not of this text.
    """
    trimmed = [_without_white_space(text, span) for span in detected]
    ordered = sorted(
        (span for span in trimmed if span.start < span.end),
        key=lambda span: (span.start, -span.end),
    )
    merged: list[spans.FoldedSpan] = []
    for span in ordered:
        grown = replace(span, end=_end_of_word(text, span.end))
        if merged and _is_one(text, merged[-1], grown):
            merged[-1] = _union(merged[-1], grown)
        else:
            merged.append(grown)
    return merged


def _without_white_space(
    text: str, span: spans.FoldedSpan | spans.Span
) -> spans.FoldedSpan:
    """The span without white space at its edges; empty if there is nothing else."""
    if not 0 <= span.start <= span.end <= len(text):
        raise errors.Invalid(
            f"A span from {span.start} to {span.end} is not of a text of {len(text)} characters."
        )
    start, end = span.start, span.end
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return spans.FoldedSpan(start, end, span.kind, span.score)


def _end_of_word(text: str, end: int) -> int:
    behind = _LETTERS_AND_DIGITS.match(text, end)
    if behind is None or _WORD_ENDING.match(behind.group()):
        return end
    return behind.end()


def _is_one(text: str, first: spans.FoldedSpan, second: spans.FoldedSpan) -> bool:
    """Whether spans overlap, touch, or have only a word's ending between them."""
    if second.start < first.end:
        return True
    return _WORD_ENDING.match(text[first.end : second.start]) is not None


def _union(first: spans.FoldedSpan, second: spans.FoldedSpan) -> spans.FoldedSpan:
    longer = max(first, second, key=lambda span: (span.end - span.start, span.score))
    return spans.FoldedSpan(
        first.start,
        max(first.end, second.end),
        longer.kind,
        max(first.score, second.score),
    )
