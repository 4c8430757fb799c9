"""The protocol of the fork server: the order to read files, and the signs between the
service, the zygote and its children.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from reverie.ingest.sandbox import limits

CHILD = b"\xff"  # any other byte is the number of a reader to have at hand from now on
BORN = struct.Struct("!I")
# how os.waitstatus_to_exitcode says it, and the most memory it took, in bytes
ENDED = struct.Struct("!iQ")


@dataclass(frozen=True, slots=True)
class Part:
    """One file of an order. `path` is told to readers that make something of it; nobody
    opens it. `size` is how many bytes of what was passed are its own.
    """

    path: str
    relative: str
    vault: bool
    mtime: float
    size: int


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked of the process: one file, or small ones that were passed one behind
    another.
    """

    parts: Sequence[Part]
    first: int
    password: str
    page: int
    seconds: float
    memory: int
    frame: int

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> "Order":
        """An order as it travelled."""
        parts = [Part(**part) for part in given.pop("parts")]
        return cls(parts=parts, **given)

    def allowed(self) -> limits.SandboxLimits:
        """What the process may use."""
        return replace(
            limits.SandboxLimits(),
            seconds=self.seconds,
            memory=self.memory,
            frame=self.frame,
        )
