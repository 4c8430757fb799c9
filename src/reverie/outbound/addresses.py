"""SSRF guard: which IP addresses may be connected to, and every spelling of a host.

Python's `ipaddress.is_global` is no such list: it passes multicast, site-local and most
forms that wrap IPv4 addresses.
"""

import ipaddress
import re

import idna

from reverie import errors

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# Every block of the IANA special-purpose registries is here, also those called globally
# reachable: they are services of the network itself (anycast relays, AS112), never a
# site. The first row that holds an address gives the reason.
_BLOCKED_NETWORKS: tuple[tuple[str, str, str], ...] = (
    # network, reason, source
    ("0.0.0.0/8", "this machine", "RFC 791, RFC 1122"),
    ("10.0.0.0/8", "a private network", "RFC 1918"),
    ("100.64.0.0/10", "a provider's inner network", "RFC 6598"),
    ("127.0.0.0/8", "this machine", "RFC 1122"),
    (
        "168.63.129.16/32",
        "a cloud's inner service",
        "Azure: a public number, answered by the machine's own host",
    ),
    ("169.254.0.0/16", "the local link", "RFC 3927"),
    ("172.16.0.0/12", "a private network", "RFC 1918"),
    (
        "192.0.0.0/24",
        "set aside for protocols",
        "RFC 6890; PCP and TURN anycast end at the nearest router",
    ),
    ("192.0.2.0/24", "for documentation", "RFC 5737"),
    ("192.31.196.0/24", "a service of the network", "RFC 7535, AS112"),
    ("192.52.193.0/24", "a service of the network", "RFC 7450, AMT"),
    ("192.88.99.0/24", "a tunnel", "RFC 7526, 6to4 relays; RFC 6751"),
    ("192.168.0.0/16", "a private network", "RFC 1918"),
    ("192.175.48.0/24", "a service of the network", "RFC 7534, AS112"),
    ("198.18.0.0/15", "for measurements", "RFC 2544"),
    ("198.51.100.0/24", "for documentation", "RFC 5737"),
    ("203.0.113.0/24", "for documentation", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "RFC 5771"),
    ("240.0.0.0/4", "reserved", "RFC 1112, RFC 8190"),
    ("::/127", "this machine", "RFC 4291"),
    ("::/96", "a wrapped IPv4 address", "RFC 4291, IPv4-compatible"),
    ("::ffff:0:0/96", "a wrapped IPv4 address", "RFC 4291, IPv4-mapped"),
    ("::ffff:0:0:0/96", "a wrapped IPv4 address", "RFC 2765, IPv4-translated"),
    ("64:ff9b:1::/48", "a wrapped IPv4 address", "RFC 8215, NAT64 of a network's own"),
    ("100::/64", "discarded", "RFC 6666"),
    ("100:0:0:1::/64", "a dummy", "RFC 9780"),
    ("2001::/32", "a tunnel", "RFC 4380, Teredo"),
    ("2001:10::/28", "no place", "RFC 4843, ORCHID"),
    ("2001:20::/28", "no place", "RFC 7343, ORCHIDv2"),
    (
        "2001::/23",
        "set aside for protocols",
        "RFC 2928, with benchmarks, AMT, AS112 and anycast inside",
    ),
    ("2001:db8::/32", "for documentation", "RFC 3849"),
    ("2002::/16", "a tunnel", "RFC 3056, 6to4"),
    ("2620:4f:8000::/48", "a service of the network", "RFC 7534, AS112"),
    ("3fff::/20", "for documentation", "RFC 9637"),
    ("5f00::/16", "a provider's inner network", "RFC 9602, SRv6"),
    ("fc00::/7", "a private network", "RFC 4193"),
    ("fe80::/10", "the local link", "RFC 4291"),
    ("fec0::/10", "a private network", "RFC 3879, site-local"),
    ("ff00::/8", "multicast", "RFC 4291"),
)


def _ranges(version: int) -> tuple[tuple[int, int, str], ...]:
    nets = [(ipaddress.ip_network(net), reason) for net, reason, _ in _BLOCKED_NETWORKS]
    return tuple(
        (int(net[0]), int(net[-1]), reason)
        for net, reason in nets
        if net.version == version
    )


_V4, _V6 = _ranges(4), _ranges(6)
_GLOBAL_UNICAST = 0b001  # 2000::/3, all that IANA hands out (RFC 4291)
_NAT64 = int(ipaddress.IPv6Address("64:ff9b::")) >> 32  # RFC 6052
# ISATAP's interface part (RFC 5214) goes with any prefix; one bit of it may be set or
# not.
_ISATAP, _ISATAP_BITS = 0x00005EFE, 0xFDFFFFFF

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


def blocked(address: Address) -> str:
    """Why nothing may connect there, in a few words; "" if it is a public address.

    Of the forms that wrap an IPv4 address only NAT64's well-known prefix is unwrapped
    and judged by what is inside: in a network without IPv4 every older site is reached
    by it. The others are refused whole.
    """
    if isinstance(address, ipaddress.IPv4Address):
        return _blocked4(int(address))
    number = int(address)
    if address.scope_id:
        return "the local link"
    if number >> 32 == _NAT64:
        return _blocked4(number & 0xFFFFFFFF)
    for first, last, reason in _V6:
        if first <= number <= last:
            return reason
    if number >> 125 != _GLOBAL_UNICAST:
        return "reserved"
    if number >> 32 & _ISATAP_BITS == _ISATAP:
        return "a tunnel"
    return ""


def _blocked4(number: int) -> str:
    for first, last, reason in _V4:
        if first <= number <= last:
            return reason
    return ""


def plain(host: str) -> str:
    """A host as it goes on the wire: ASCII, lower case, without brackets and the root's
    dot.

    Full-width and circled digits, other dots and invisible characters become what a
    resolver would make of them. Raises Invalid for what can be neither a name nor an
    address.
    """
    if ":" in host or host.startswith("["):
        return str(
            _ipv6(host[1:-1] if host.startswith("[") and host.endswith("]") else host)
        )
    name = host
    if not name.isascii():
        try:
            name = idna.encode(host, uts46=True).decode()
        except (idna.IDNAError, UnicodeError):
            raise errors.Invalid("The host's name cannot be a name.") from None
    name = name.lower().removesuffix(".")
    if not _NAME.fullmatch(name):
        raise errors.Invalid("The host's name cannot be a name.")
    return name


def literal(host: str) -> Address | None:
    """The address that a host is by itself, or None for a name that must be looked up.

    Reads numbers as the C library does: decimal, 0x hexadecimal, 0 octal, in one to
    four parts. Raises Invalid for what ends like a number and is none (no name of the
    world ends in one), and for IPv6 with a zone.
    """
    name = plain(host)
    if ":" in name:
        return ipaddress.IPv6Address(name)
    parts = name.split(".")
    if not _NUMBER.fullmatch(parts[-1]):
        return None
    values = [_ipv4_part(part) for part in parts]
    size = 256 ** (5 - len(values)) if len(values) <= 4 else 0
    if any(value > 255 for value in values[:-1]) or values[-1] >= size:
        raise errors.Invalid("The host's address is none.")
    return ipaddress.IPv4Address(
        sum(value << (24 - 8 * position) for position, value in enumerate(values[:-1]))
        + values[-1]
    )


def _ipv4_part(part: str) -> int:
    """One part of an IPv4 address in C's notation. 0x alone is 0, as browsers have it."""
    if not _NUMBER.fullmatch(part):
        raise errors.Invalid("The host's address is none.")
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    try:
        return int(part, 8 if part.startswith("0") else 10)
    except ValueError:
        raise errors.Invalid("The host's address is none.") from None


def _ipv6(text: str) -> ipaddress.IPv6Address:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError:
        raise errors.Invalid("The host's address is none.") from None
    if address.scope_id is not None:
        raise errors.Invalid(
            "An address with a zone belongs to one network card and may not be fetched."
        )
    return address
