"""Open network connections of this process tree, as the system counts them."""

import collections
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

# One connection as the system names it: kind of socket, this end, the other end.
_Ends = tuple[int, tuple[str, int], tuple[str, int]]


@dataclass(frozen=True, slots=True)
class Connection:
    """`count` connections to one address and port outside of this machine."""

    destination: str
    port: int
    count: int


@dataclass(frozen=True, slots=True)
class OpenConnections:
    """What was seen. `processes` were looked at; of `refused` more the system would not
    tell.
    """

    connections: tuple[Connection, ...]
    processes: int
    refused: int

    @property
    def complete(self) -> bool:
        """Whether nothing was kept from us: only then does an empty list mean that
        there are no connections.
        """
        return self.refused == 0


def open_connections() -> OpenConnections:
    """The connections that this process and its children hold outwards, by destination,
    most first.

    Left out are the machine itself, Unix sockets, listening sockets and what came in
    through them. A UDP socket counts once it is bound to a destination. Takes some
    milliseconds a process and blocks.
    """
    seen: set[_Ends] = set()
    listening: set[int] = set()
    looked = refused = 0
    me = psutil.Process()
    for process in _process_tree(me):
        try:
            sockets = process.net_connections(kind="inet")
        except psutil.NoSuchProcess:
            continue
        except (psutil.Error, OSError):
            refused += 1
            continue
        looked += 1
        listening.update(
            each.laddr.port
            for each in sockets
            if each.status == psutil.CONN_LISTEN and each.laddr
        )
        # A socket that a child inherited shows up twice and is one connection.
        seen.update(
            (
                int(each.type),
                (each.laddr.ip, each.laddr.port),
                (each.raddr.ip, each.raddr.port),
            )
            for each in sockets
            if each.laddr and each.raddr
        )
    return OpenConnections(_outgoing(seen, listening), looked, refused)


def _process_tree(me: psutil.Process) -> list[psutil.Process]:
    try:
        return [me, *me.children(recursive=True)]
    except (psutil.Error, OSError):
        return [me]


def _outgoing(seen: Iterable[_Ends], listening: set[int]) -> tuple[Connection, ...]:
    counts: collections.Counter[tuple[str, int]] = collections.Counter()
    for _, (ours, port), (theirs, to) in seen:
        address = ipaddress.ip_address(theirs)
        mapped = (
            address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        )
        if (
            not (mapped or address).is_loopback
            and ours != theirs
            and port not in listening
        ):
            counts[str(mapped or address), to] += 1
    return tuple(
        Connection(address, port, count)
        for (address, port), count in counts.most_common()
    )
