"""Quotations in a question: what stands between quotation marks of one kind. Pure."""

import re
from collections.abc import Iterator, Mapping

# Each sign that opens, and those that close it.
_CLOSING: Mapping[str, re.Pattern[str]] = {
    '"': re.compile('"'),
    "“": re.compile("”"),
    "„": re.compile("[“”]"),
    "«": re.compile("»"),
    "»": re.compile("«"),
    "‘": re.compile("’"),
}


def find(
    text: str, opening: str = "".join(_CLOSING), *, least: int = 0
) -> Iterator[tuple[int, int]]:
    """Where quotations of at least so many characters stand, their signs included.

    A sign that nothing closes is looked behind once, however often it stands there.
    """
    unclosed: set[str] = set()
    at = 0
    while at < len(text):
        sign = text[at]
        start, at = at, at + 1
        if sign not in opening or sign in unclosed:
            continue
        closing = _CLOSING[sign].search(text, at)
        if closing is None:
            unclosed.add(sign)
        elif closing.start() - at >= least:
            at = closing.end()
            yield start, at
