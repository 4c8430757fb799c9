"""The protocol of the fork server: the order to read a file, and the signs between the
service, the zygote and its children.
"""

import struct
from dataclasses import dataclass, replace

from reverie.ingest.sandbox import limits

CHILD = b"\xff"  # any other byte is the number of a reader to have at hand from now on
BORN = struct.Struct("!I")
# how os.waitstatus_to_exitcode says it, and the most memory it took, in bytes
ENDED = struct.Struct("!iQ")


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked of the process. `path` is told to readers that make something of
    it; nobody opens it.
    """

    path: str
    relative: str
    vault: bool
    mtime: float
    first: int
    password: str
    page: int
    seconds: float
    memory: int
    frame: int

    def allowed(self) -> limits.SandboxLimits:
        """What the process may use."""
        return replace(
            limits.SandboxLimits(),
            seconds=self.seconds,
            memory=self.memory,
            frame=self.frame,
        )
