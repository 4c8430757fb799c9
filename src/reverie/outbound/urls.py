"""URL parsing of outbound requests: http or https, host, allowed port, redirects."""

import re
import urllib.parse
from collections.abc import Collection
from dataclasses import dataclass

from reverie import errors
from reverie.outbound import addresses

PORTS = frozenset({80, 443})
_DEFAULT_PORT = {"http": 80, "https": 443}
_LONGEST_URL = 8192
# What one reader of URLs drops and another takes for the end of the host.
_ODD = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")
_HOST_PORT = re.compile(r"(\[[^\[\]]*\]|[^\[\]:]*)(?::([0-9]{0,5}))?")


@dataclass(frozen=True, slots=True)
class ParsedUrl:
    """A URL taken apart, once: what is checked and what is asked are the same parts."""

    scheme: str
    host: str
    port: int
    path: str
    address: addresses.Address | None

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (
            host if self.port == _DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"
        )

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"


def parsed(url: str, ports: Collection[int]) -> ParsedUrl:
    """Takes a URL apart. Raises Invalid for all that is not plainly http or https, a
    host and a port that may be.
    """
    parts = _split(url)
    match = _HOST_PORT.fullmatch(parts.netloc)
    if not match or not match[1]:
        raise errors.Invalid("The address has no host, or no proper port.")
    port = int(match[2] or _DEFAULT_PORT[parts.scheme])
    if port not in ports:
        raise errors.Invalid(f"Port {port} is not one of those that may be asked.")
    host = addresses.plain(match[1])
    address = addresses.literal(host)
    if address is not None:
        host = str(address)
    path = parts.path or "/"
    if parts.query:
        path += f"?{parts.query}"
    return ParsedUrl(parts.scheme, host, port, path, address)


def _split(url: str) -> urllib.parse.SplitResult:
    """The parts of a URL that is plainly one of the web's. Raises Invalid."""
    url = url.strip()
    if len(url) > _LONGEST_URL:
        raise errors.Invalid(f"The address is longer than {_LONGEST_URL} characters.")
    if _ODD.search(url):
        raise errors.Invalid(
            "The address has a space, a backslash or a control character in it."
        )
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        raise errors.Invalid("This is no web address.") from None
    if parts.scheme not in _DEFAULT_PORT:
        raise errors.Invalid(
            "Only addresses that begin with http:// or https:// are fetched."
        )
    if "@" in parts.netloc:
        raise errors.Invalid(
            "An address with a user's name or password in it is not fetched."
        )
    return parts


def redirected(target: ParsedUrl, location: str, ports: Collection[int]) -> ParsedUrl:
    """Where a redirect leads. A space in it, which servers do send, is what browsers
    make of it.
    """
    try:
        joined = urllib.parse.urljoin(target.url, location.strip().replace(" ", "%20"))
    except ValueError:
        raise errors.Invalid("The page redirects to what is no web address.") from None
    following = parsed(joined, ports)
    if target.scheme == "https" and following.scheme == "http":
        raise errors.Invalid(
            "The page redirects from https to http, which is not followed."
        )
    return following
