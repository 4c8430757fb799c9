"""The block list beside the IANA registries, on a million addresses: no more passes
than they say, and no less.
"""

import ipaddress

import numpy as np
import numpy.typing as npt

from reverie.outbound import addresses
from tests.outbound import registries

Halves = tuple[
    npt.NDArray[np.uint64], npt.NDArray[np.uint64]
]  # upper and lower 64 bits; an IPv4 address is all lower
_LOW = (1 << 64) - 1


def _rows(
    table: str, version: int
) -> list[tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, bool]]:
    """The networks of a table with their column, the widest first, so that the last one
    that fits is the closest.
    """
    rows = [line.split() for line in table.strip().splitlines()]
    nets = [(ipaddress.ip_network(row[0]), row[1:2] == ["yes"]) for row in rows]
    return sorted(
        (net for net in nets if net[0].version == version),
        key=lambda net: net[0].prefixlen,
    )


def _inside(
    net: ipaddress.IPv4Network | ipaddress.IPv6Network, of: Halves
) -> npt.NDArray[np.bool_]:
    mask, start = int(net.netmask), int(net.network_address)
    upper = (of[0] & np.uint64(mask >> 64)) == np.uint64(start >> 64)
    return upper & ((of[1] & np.uint64(mask & _LOW)) == np.uint64(start & _LOW))


def _reachable4(of: Halves) -> npt.NDArray[np.bool_]:
    answer = np.ones(len(of[0]), bool)
    for net, yes in _rows(registries.IPV4, 4):
        answer[_inside(net, of)] = yes
    for net, _ in _rows(registries.BEYOND, 4):
        answer[_inside(net, of)] = False
    return answer


def _reachable6(of: Halves) -> npt.NDArray[np.bool_]:
    answer = np.zeros(len(of[0]), bool)
    for net, yes in _rows(registries.IPV6, 6):
        answer[_inside(net, of)] = yes
    for net, _ in _rows(registries.BEYOND, 6):
        answer[_inside(net, of)] = False
    answer &= (of[1] >> np.uint64(32) & np.uint64(0xFDFFFFFF)) != np.uint64(0x5EFE)
    translated = _inside(ipaddress.ip_network("64:ff9b::/96"), of)
    inner = of[1] & np.uint64(0xFFFFFFFF)
    return np.where(translated, _reachable4((np.zeros_like(inner), inner)), answer)


def _sample(random: np.random.Generator, size: int, version: int) -> Halves:
    """Half anywhere, half in and around the blocks of the registry; both edges of each
    block and their neighbours.
    """
    top = np.iinfo(np.uint64).max
    shape = [random.integers(0, top, size, np.uint64, endpoint=True) for _ in range(2)]
    if version == 4:
        shape = [np.zeros(size, np.uint64), shape[1] >> np.uint64(32)]
    table = registries.IPV4 if version == 4 else registries.IPV6
    nets = [
        net for net, _ in (*_rows(table, version), *_rows(registries.BEYOND, version))
    ]
    for at, part in enumerate(np.array_split(np.arange(size // 2), len(nets))):
        mask, start = int(nets[at].netmask), int(nets[at].network_address)
        for half, shift in ((0, 64), (1, 0)):
            keep = np.uint64(mask >> shift & _LOW)
            shape[half][part] = shape[half][part] & ~keep | np.uint64(
                start >> shift & _LOW
            )
    if version == 6:
        tunnels = slice(size // 2, size // 2 + size // 50)
        shape[1][tunnels] = shape[1][tunnels] & np.uint64(
            0x02000000FFFFFFFF
        ) | np.uint64(0x5EFE << 32)
        shape[0][tunnels] = shape[0][tunnels] >> np.uint64(3) | np.uint64(1 << 61)
        unicast = slice(size // 2 + size // 50, size - size // 10)
        shape[0][unicast] = shape[0][unicast] >> np.uint64(3) | np.uint64(1 << 61)
    last = (1 << (32 if version == 4 else 128)) - 1
    edges = {
        int(edge) + by
        for net in nets
        for edge in (net[0], net[-1])
        for by in (-1, 0, 1)
    }
    exact = sorted(edge for edge in edges if 0 <= edge <= last)
    if version == 4:
        exact.extend(prefix << 16 | low for prefix in range(1 << 16) for low in (0, 1))
    else:
        exact.extend(prefix << 112 | 1 for prefix in range(1 << 16))
    for half, shift in ((0, 64), (1, 0)):
        shape[half][-len(exact) :] = np.array(
            [one >> shift & _LOW for one in exact], np.uint64
        )
    return shape[0], shape[1]


def _passes(of: Halves, version: int) -> npt.NDArray[np.bool_]:
    blocked = addresses.blocked
    if version == 4:
        return np.array(
            [not blocked(ipaddress.IPv4Address(low)) for low in of[1].tolist()]
        )
    pairs = zip(of[0].tolist(), of[1].tolist(), strict=True)
    return np.array(
        [not blocked(ipaddress.IPv6Address(high << 64 | low)) for high, low in pairs]
    )


def _differences(of: Halves, version: int) -> list[str]:
    expected = (_reachable4 if version == 4 else _reachable6)(of)
    passes = _passes(of, version)
    kind = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
    share = expected.mean()
    assert 0.05 < share < 0.95, "a sample of one kind alone proves nothing"
    return [
        str(kind(int(of[0][at]) << 64 | int(of[1][at])))
        for at in np.flatnonzero(passes != expected)[:20]
    ]


def test_every_address_of_400000_of_ipv4_is_judged_as_the_registry_has_it():
    assert _differences(_sample(np.random.default_rng(4), 400_000, 4), 4) == []


def test_every_address_of_600000_of_ipv6_is_judged_as_the_registry_has_it():
    assert _differences(_sample(np.random.default_rng(6), 600_000, 6), 6) == []
