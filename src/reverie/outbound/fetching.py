"""HTTP fetching of one page behind the SSRF guard: resolved once, addresses checked.

No more is read than the limits allow. The request is a GET with "Reverie" as its only
name: no cookies, no proxies or passwords of the environment.
"""

import asyncio
import contextlib
import email.message
import functools
import ipaddress
import socket
import ssl
import zlib
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Generator,
    Iterator,
    Sequence,
)
from dataclasses import dataclass

import httpx

from reverie import errors
from reverie.outbound import addresses, urls

# From a host's name and a port to its addresses, the best first. Raises OSError if
# there are none.
Resolver = Callable[[str, int], Awaitable[Sequence[addresses.Address]]]


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """`size` in bytes holds for the body as it is sent and again unpacked; `seconds`
    for everything together.

    `silence` in seconds holds for a connection, and for each wait for more; past its
    first megabyte a body may be `ratio` times as large as what was sent. The headers
    may have 100 KiB (httpcore's own limit).
    """

    size: int = 20_000_000
    seconds: float = 20.0
    silence: float = 10.0
    redirects: int = 5
    ratio: int = 200


LIMITS = FetchLimits()


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page. `media_type` and `charset` are what the server says, "" if nothing;
    `redirects` the addresses passed.
    """

    url: str
    final_url: str
    status: int
    media_type: str
    charset: str
    data: bytes
    redirects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    content_type: str
    location: str
    data: bytes


_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRIED = 4  # addresses of one host, one after the other
_PIECE = 65536
# wbits of zlib: 32 KiB windows with gzip's header, with zlib's, and with none.
_GZIP_WINDOW, _ZLIB_WINDOW, _RAW_WINDOW = 31, 15, -15
_FREE_OF_RATIO = 1_000_000
_HEADERS = {
    "User-Agent": "Reverie",
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}


async def fetch(
    url: str,
    *,
    limits: FetchLimits = LIMITS,
    resolver: Resolver | None = None,
    allow_ports: Collection[int] = urls.PORTS,
    allowed: Collection[addresses.Network] = (),
    tls: ssl.SSLContext | None = None,
) -> Fetched:
    """The page at `url`, after up to `limits.redirects` redirects, each checked like
    the first address.

    `allowed` are networks of the owner's that may be asked although they are not
    public; once a public address has answered, a redirect cannot lead into them any
    more. A redirect from https to http is refused: who asks for a certified answer must
    not get another. `tls` replaces the usual certificates.

    Raises Invalid for what may not be fetched, Unreadable for an answer that is none,
    too large or too slow (`details` has the `status` if it is not 2xx), and Unavailable
    when the network or the host is not there.
    """
    try:
        async with asyncio.timeout(limits.seconds):
            return await _follow_redirects(
                url,
                limits,
                resolver or _resolve,
                allow_ports,
                allowed,
                tls or _certificates(),
            )
    except TimeoutError:
        raise errors.Unreadable(
            f"The page took longer than {limits.seconds:g} seconds."
        ) from None


async def _follow_redirects(
    url: str,
    limits: FetchLimits,
    resolver: Resolver,
    ports: Collection[int],
    allowed: Collection[addresses.Network],
    tls: ssl.SSLContext,
) -> Fetched:
    target = urls.parsed(url, ports)
    passed: list[str] = []
    while True:
        checked = await _resolved(target, resolver, allowed)
        answer = await _request_first(target, checked, limits, tls)
        if not answer.location:
            media_type, charset = _media_type_and_charset(answer.content_type)
            return Fetched(
                url,
                target.url,
                answer.status,
                media_type,
                charset,
                answer.data,
                tuple(passed),
            )
        if len(passed) >= limits.redirects:
            raise errors.Unreadable(
                f"The page redirects more than {limits.redirects} times."
            )
        passed.append(target.url)
        if not all(_within(address, allowed) for address in checked):
            allowed = ()
        target = urls.redirected(target, answer.location, ports)


async def _resolved(
    target: urls.ParsedUrl, resolver: Resolver, allowed: Collection[addresses.Network]
) -> tuple[addresses.Address, ...]:
    """The addresses of the host. If one of them is refused all are: who mixes them has
    a reason that is not ours.
    """
    candidates: Sequence[addresses.Address] = (
        (target.address,) if target.address else ()
    )
    if not candidates:
        with contextlib.suppress(OSError, UnicodeError):
            candidates = await resolver(target.host, target.port)
    if not candidates:
        raise errors.Unavailable(f"The host {target.host} cannot be found.")
    for address in candidates:
        reason = "" if _within(address, allowed) else addresses.blocked(address)
        if reason:
            raise errors.Invalid(
                f"The host {target.host} is not a public one ({reason}), so it is not asked."
            )
    return tuple(dict.fromkeys(candidates))


def _within(address: addresses.Address, allowed: Collection[addresses.Network]) -> bool:
    return any(address in net for net in allowed)


async def _resolve(host: str, port: int) -> Sequence[addresses.Address]:
    rows = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    )
    return [ipaddress.ip_address(row[4][0]) for row in rows]


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)


async def _request_first(
    target: urls.ParsedUrl,
    candidates: Sequence[addresses.Address],
    limits: FetchLimits,
    tls: ssl.SSLContext,
) -> _Answer:
    """What the host answers at the first of its addresses that takes a connection."""
    # A transport without its client: it follows nothing, keeps nothing and asks the
    # environment nothing.
    async with httpx.AsyncHTTPTransport(verify=tls, trust_env=False) as transport:
        for address in candidates[:_TRIED]:
            try:
                response = await transport.handle_async_request(
                    _request(target, address, limits)
                )
                try:
                    return await _read(response, limits)
                finally:
                    await response.aclose()
            except (httpx.ConnectError, httpx.ConnectTimeout) as gone:
                if _certificate_refused(gone):
                    raise errors.Unreadable(
                        f"The certificate of {target.host} is not valid for it."
                    ) from None
            except httpx.ProtocolError:
                raise errors.Unreadable(
                    f"What {target.host} answers is not HTTP, or breaks off."
                ) from None
            except httpx.TransportError:
                raise errors.Unavailable(
                    f"The host {target.host} stopped answering."
                ) from None
    raise errors.Unavailable(f"The host {target.host} takes no connection.")


def _request(
    target: urls.ParsedUrl, address: addresses.Address, limits: FetchLimits
) -> httpx.Request:
    """The request, addressed by number; name and certificate stay those of the host."""
    number = f"[{address}]" if address.version == 6 else str(address)
    extensions: dict[str, object] = {
        "timeout": dict.fromkeys(("connect", "read", "write", "pool"), limits.silence),
    }
    if target.address is None:
        extensions["sni_hostname"] = target.host
    return httpx.Request(
        "GET",
        f"{target.scheme}://{number}:{target.port}{target.path}",
        headers={"Host": target.authority, **_HEADERS},
        extensions=extensions,
    )


def _certificate_refused(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


async def _read(response: httpx.Response, limits: FetchLimits) -> _Answer:
    status, headers = response.status_code, response.headers
    kind, location = (
        headers.get("content-type", ""),
        headers.get("location", "").strip(),
    )
    if status in _REDIRECTS and location:
        return _Answer(status, kind, location, b"")
    if not 200 <= status < 300:
        raise errors.Unreadable(
            f"The page is not there: the host answered {status}.",
            details={"status": status},
        )
    return _Answer(status, kind, "", await _body(response, limits))


async def _body(response: httpx.Response, limits: FetchLimits) -> bytes:
    declared = response.headers.get("content-length", "0")
    if len(declared) > 15 or int(declared) > limits.size:
        raise _too_large(limits)
    unpacking = _Decompressor(response.headers.get("content-encoding", ""))
    received, data = 0, bytearray()
    async for chunk in response.aiter_raw():
        received += len(chunk)
        for piece in unpacking.pieces(chunk):
            data += piece
            if len(data) > limits.size:
                raise _too_large(limits)
            if len(data) > max(_FREE_OF_RATIO, limits.ratio * received):
                raise errors.Unreadable(
                    "The page is packed so tightly that it could be a trap."
                )
        if received > limits.size:
            raise _too_large(limits)
    unpacking.end()
    return bytes(data)


def _too_large(limits: FetchLimits) -> errors.Unreadable:
    return errors.Unreadable(f"The page is larger than {limits.size} bytes.")


class _Decompressor:
    """A packed body, unpacked piece by piece; each piece is small, so that limits are
    seen before memory is taken.
    """

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding.strip().lower().removeprefix("x-")
        if self._encoding not in ("", "identity", "gzip", "deflate"):
            raise errors.Unreadable(
                "The page is packed in a way that was not asked for."
            )
        self._stream = self._begun = self._done = False
        self._pending = b""
        self._zlib = zlib.decompressobj()

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What a chunk holds, in pieces of 64 KiB at most."""
        if self._encoding in ("", "identity"):
            yield chunk
            return
        chunk, self._pending = self._pending + chunk, b""
        while chunk and not self._done:
            if not self._stream and len(chunk) < 2:
                self._pending = chunk
                return
            if not self._stream and not self._begin(chunk):
                return
            try:
                chunk = yield from self._inflated(chunk)
            except zlib.error:
                raise errors.Unreadable(
                    "The page is packed in a way that cannot be unpacked."
                ) from None

    def _begin(self, chunk: bytes) -> bool:
        """Whether a stream begins here. What follows a finished one and is none is
        padding.
        """
        if self._begun and (
            self._encoding == "deflate" or not chunk.startswith(b"\x1f\x8b")
        ):
            self._done = True
            return False
        window = _GZIP_WINDOW
        if self._encoding == "deflate":
            # Servers send it both with zlib's header, as they should, and without.
            has_header = chunk[0] & 15 == 8 and int.from_bytes(chunk[:2]) % 31 == 0
            window = _ZLIB_WINDOW if has_header else _RAW_WINDOW
        self._zlib = zlib.decompressobj(window)
        self._stream = self._begun = True
        return True

    def _inflated(self, chunk: bytes) -> Generator[bytes, None, bytes]:
        """The pieces of one stream; its value is what is left behind its end."""
        while True:
            piece = self._zlib.decompress(chunk, _PIECE)
            yield piece
            if self._zlib.eof:
                self._stream = False
                return self._zlib.unused_data
            chunk = self._zlib.unconsumed_tail
            if not chunk and len(piece) < _PIECE:
                return b""

    def end(self) -> None:
        """Raises Unreadable if the body stopped in the middle."""
        if self._stream or (self._pending and not self._begun):
            raise errors.Unreadable("The page breaks off.")


def _media_type_and_charset(content_type: str) -> tuple[str, str]:
    """Media type and charset of a Content-Type, in lower case."""
    if not content_type:
        return "", ""
    message = email.message.Message()
    message["content-type"] = content_type
    return message.get_content_type(), message.get_content_charset("")
