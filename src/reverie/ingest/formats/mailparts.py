"""MIME parts of deeply nested messages (RFC 2046), told apart in one pass.

The parser of the standard library looks at every boundary for every line, and calls
itself for every part inside another: in a message nested hundreds deep it breaks off.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

CONTAINER = re.compile(
    rb"^content-type:\s*(?:multipart|message)/", re.IGNORECASE | re.MULTILINE
)
BOUNDARY = re.compile(
    rb"boundary\s*=\s*(?:\"([^\"\r\n]{1,200})\"|([^\s;\"]{1,200}))", re.IGNORECASE
)
INNER = re.compile(rb"^content-type:\s*message/", re.IGNORECASE | re.MULTILINE)


def containers(raw: bytes) -> int:
    """How many parts say that they hold others."""
    return sum(1 for _ in CONTAINER.finditer(raw))


@dataclass(slots=True)
class _Part:
    """A part while its lines come; `silent` where no text of it is read, such as
    between the headers and the first part inside.
    """

    head: list[bytes] = field(default_factory=list[bytes])
    body: list[bytes] = field(default_factory=list[bytes])
    in_head: bool = True
    silent: bool = False

    def whole(self) -> bytes | None:
        """Its headers and its content; None without any."""
        if self.silent or not any(line.strip() for line in self.body):
            return None
        return b"".join((*self.head, b"\n", *self.body))


def leaves(raw: bytes) -> Iterator[bytes]:
    """The headers of the message, then the parts that hold no others, each with its
    headers, in their order. Of a message inside, the headers are a part.
    """
    boundaries: set[bytes] = set()
    part = _Part()
    is_first = True
    for line in raw.splitlines(keepends=True):
        mark = b"" if part.in_head else _mark(line, boundaries)
        if mark:
            if (whole := part.whole()) is not None:
                yield whole
            is_end = mark not in boundaries
            part = _Part(in_head=not is_end, silent=is_end)
        elif not part.in_head:
            part.body.append(line)
        elif line.strip():
            part.head.append(line)
        else:
            headers = b"".join(part.head)
            is_message = INNER.search(headers) is not None
            if is_first or is_message:
                yield headers + b"\n"
            is_first = False
            boundary = _boundary(headers)
            boundaries.add(boundary)
            part.in_head = is_message
            part.silent = bool(boundary)
            part.head = [] if is_message else part.head
    if (whole := part.whole()) is not None:
        yield whole


def _mark(line: bytes, boundaries: set[bytes]) -> bytes:
    """What a line that is a boundary says; b"" for any other."""
    if not line.startswith(b"--"):
        return b""
    name = line[2:].rstrip()
    return name if {name, name.removesuffix(b"--")} & boundaries else b""


def _boundary(headers: bytes) -> bytes:
    """The boundary that headers declare; b"" for none."""
    stated = BOUNDARY.search(headers)
    if stated is None or not CONTAINER.search(headers):
        return b""
    return (stated[1] or stated[2]).rstrip()
