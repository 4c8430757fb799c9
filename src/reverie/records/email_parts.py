"""Email reply parsing: what the sender of a mail wrote, what it quotes of another, and
the signature.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

_MARK = ">"
# RFC 3676, 4.3. Many programs strip the space; a rule between paragraphs looks the same.
_RULE, _STRIPPED_RULE = "-- ", "--"
_SHORT_LINE = 60
# More lines are text below a rule.
_LONGEST_SIGNATURE = 12
_FORWARDED = re.compile(r"\s*(?:fwd?|wg|rv|tr|i)\s*:", re.IGNORECASE)

_Part = Literal["own", "quoted", "signature"]


@dataclass(frozen=True, slots=True)
class EmailParts:
    """A body taken apart; each part has its lines in order."""

    own: str
    quoted: str = ""
    signature: str = ""


def parsed(body: str, *, subject: str, is_answer: bool) -> EmailParts:
    """Take a body apart. What is quoted is the sender's own text in a mail that answers
    no other, that forwards one, or that says nothing else.
    """
    lines = body.splitlines()
    quotes = is_answer and not _FORWARDED.match(subject)
    parts: dict[_Part, list[str]] = {"own": [], "quoted": [], "signature": []}
    for part, line in zip(_parts_of(lines, quotes=quotes), lines, strict=True):
        parts[part].append(line)
    texts = {part: "\n".join(some).strip("\n") for part, some in parts.items()}
    if not texts["own"].strip():
        return EmailParts(body)
    return EmailParts(texts["own"], texts["quoted"], texts["signature"])


def _parts_of(lines: Sequence[str], *, quotes: bool) -> Iterator[_Part]:
    """The part that each line belongs to."""
    signature_ends = 0
    for number, line in enumerate(lines):
        if line in (_RULE, _STRIPPED_RULE):
            signature_ends = _signature_end(lines, number)
        if line.startswith(_MARK) or _introduces_quote(lines, number):
            yield "quoted" if quotes else "own"
        else:
            yield "signature" if number < signature_ends else "own"


def _signature_end(lines: Sequence[str], start: int) -> int:
    """Where a signature that begins at a line ends: before a quote, or with the text;
    0 if it is none.
    """
    end = start + 1
    while end < len(lines) and not lines[end].startswith(_MARK):
        end += 1
    written = [line for line in lines[start:end] if line.strip()]
    is_short = all(len(line) <= _SHORT_LINE for line in written)
    if len(written) > _LONGEST_SIGNATURE:
        return 0
    return end if lines[start] == _RULE or is_short else 0


def _introduces_quote(lines: Sequence[str], number: int) -> bool:
    """Whether a line says who wrote what is quoted below it."""
    if not lines[number].rstrip().endswith(":"):
        return False
    below = (line for line in lines[number + 1 : number + 3] if line.strip())
    return next(below, "").startswith(_MARK)
