"""What a page may be: its size, its time, how it is packed, what it says of itself; and
whose certificate it shows.
"""

import asyncio
import datetime as dt
import gzip
import ipaddress
import ssl
import time
import zlib
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from reverie import errors
from reverie.outbound import fetching
from tests.outbound.stubs import HERE, Answer, Names, Stub, always, page, serving

SMALL = fetching.FetchLimits(size=200_000, seconds=2, silence=0.5)


async def _fetch(
    stub: Stub, path: str = "/", limits: fetching.FetchLimits = SMALL
) -> fetching.Fetched:
    url = f"http://127.0.0.1:{stub.port}{path}"
    return await fetching.fetch(
        url, limits=limits, allow_ports={stub.port}, allowed=HERE
    )


async def _answered(
    answer: Answer | bytes, limits: fetching.FetchLimits = SMALL
) -> fetching.Fetched:
    async with serving(always(answer) if isinstance(answer, bytes) else answer) as stub:
        return await _fetch(stub, limits=limits)


async def test_a_page_is_its_bytes_and_what_the_server_says_of_them():
    body = "Grüße".encode("latin-1")
    fetched = await _answered(
        page(body, headers="Content-Type: Text/HTML; Charset=ISO-8859-1\r\n")
    )
    assert (fetched.status, fetched.media_type, fetched.charset) == (
        200,
        "text/html",
        "iso-8859-1",
    )
    assert (fetched.data, fetched.redirects) == (body, ())
    assert fetched.url == fetched.final_url


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("", ("", "")),
        ("Content-Type: application/rss+xml\r\n", ("application/rss+xml", "")),
        ('Content-Type: text/html; charset="UTF-8"\r\n', ("text/html", "utf-8")),
        ("Content-Type: text/html; charset=\r\n", ("text/html", "")),
        ("Content-Type: text/html; charset*=x'y'%ff\r\n", ("text/html", "")),
    ],
)
async def test_kinds(header: str, kind: tuple[str, str]):
    fetched = await _answered(page(headers=header))
    assert (fetched.media_type, fetched.charset) == kind


async def test_path_and_query_arrive_as_they_were_and_the_fragment_does_not():
    async with serving(always(page())) as stub:
        await _fetch(stub, "/a%20b/ü;c?q=%26&e=é&u=http://127.0.0.1/#part")
        await _fetch(stub, "?q")
        await _fetch(stub, "//double//slash")
    lines = [head.split("\r\n")[0] for head in stub.requests]
    assert lines == [
        "GET /a%20b/%C3%BC;c?q=%26&e=%C3%A9&u=http://127.0.0.1/ HTTP/1.1",
        "GET /?q HTTP/1.1",
        "GET //double//slash HTTP/1.1",
    ]


@pytest.mark.parametrize(
    "status",
    [
        "300 Choices",
        "304 Not Modified",
        "302 Found",
        "404 Not Found",
        "410 Gone",
        "500 No",
    ],
)
async def test_what_is_no_page_is_told_with_its_status(status: str):
    with pytest.raises(errors.Unreadable, match=status[:3]) as refused:
        await _answered(page(status=status))
    assert refused.value.details == {"status": int(status[:3])}


@pytest.mark.parametrize(
    "encoding",
    ["gzip", "x-gzip", "GZIP", "deflate", "deflate without header", "identity"],
)
async def test_packed_pages_are_unpacked(encoding: str):
    body = b"".join(b"%d bottles. " % count for count in range(5000))
    bare = zlib.compressobj(wbits=-15)
    packed = {
        "deflate": zlib.compress(body),
        "deflate without header": bare.compress(body) + bare.flush(),
        "identity": body,
    }.get(encoding, gzip.compress(body))
    fetched = await _answered(
        page(packed, headers=f"Content-Encoding: {encoding.split()[0]}\r\n")
    )
    assert fetched.data == body


async def test_a_packed_page_in_many_members_and_in_single_bytes():
    body = (
        gzip.compress(b"one, ")
        + gzip.compress(b"two, ")
        + gzip.compress(b"three")
        + b"\0" * 9
    )

    async def drip(_path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(page(b"", length=len(body), headers="Content-Encoding: gzip\r\n"))
        for at in range(len(body)):
            writer.write(body[at : at + 1])
            await writer.drain()
            await asyncio.sleep(0.001)

    assert (await _answered(drip)).data == b"one, two, three"


@pytest.mark.parametrize(
    ("packed", "encoding"),
    [
        (b"\x1f\x8b but no", "gzip"),
        (b"plain", "gzip"),
        (b"x", "gzip"),
        (gzip.compress(b"a" * 1000, mtime=0)[:-4], "gzip"),
        (gzip.compress(b"a" * 1000, mtime=0)[:-12] + b"\0" * 12, "gzip"),
        (zlib.compress(b"a" * 1000)[:-2], "deflate"),
        (b"\xff\xff\xff\xff", "deflate"),
        (gzip.compress(gzip.compress(b"a", mtime=0), mtime=0), "gzip, gzip"),
        (b"a", "br"),
        (b"a", "zstd"),
        (b"a", "compress"),
        (b"a", "x" * 999),
    ],
)
async def test_what_is_not_packed_as_it_says_is_refused(packed: bytes, encoding: str):
    with pytest.raises(errors.Unreadable):
        await _answered(page(packed, headers=f"Content-Encoding: {encoding}\r\n"))


def _zeros(size: int, wbits: int) -> bytes:
    packing = zlib.compressobj(9, wbits=wbits)
    return (
        b"".join(packing.compress(bytes(1_000_000)) for _ in range(size // 1_000_000))
        + packing.flush()
    )


@pytest.mark.parametrize(
    ("wbits", "encoding"), [(31, "gzip"), (15, "deflate"), (-15, "deflate")]
)
async def test_a_bomb_is_left_alone(wbits: int, encoding: str):
    bomb = page(_zeros(150_000_000, wbits), headers=f"Content-Encoding: {encoding}\r\n")
    with pytest.raises(errors.Unreadable, match="larger"):
        await _answered(bomb)
    with pytest.raises(errors.Unreadable, match="trap"):
        await _answered(bomb, fetching.FetchLimits(size=1 << 40))


async def test_a_bomb_of_many_small_members_is_left_alone():
    members = gzip.compress(bytes(9000)) * 3000
    with pytest.raises(errors.Unreadable, match="trap"):
        await _answered(
            page(members, headers="Content-Encoding: gzip\r\n"), fetching.FetchLimits()
        )


async def test_what_is_sent_counts_even_if_it_unpacks_to_nothing():
    members = gzip.compress(b"") * 11_000
    without_length = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + members
    with pytest.raises(errors.Unreadable, match="larger than 200000 bytes"):
        await _answered(without_length)


async def test_a_page_of_exactly_the_size_is_read_and_one_more_byte_is_not():
    limits = fetching.FetchLimits(size=1000)
    assert len((await _answered(page(b"a" * 1000), limits)).data) == 1000
    for answer in (
        page(b"a" * 1001),
        b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 1001,
        page(b"a", length=10**15),
    ):
        with pytest.raises(errors.Unreadable, match="larger than 1000 bytes"):
            await _answered(answer, limits)


async def test_a_body_without_end_is_cut_at_the_limit():
    sent = 0

    async def endless(_path: str, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"2710\r\n" + b"a" * 10_000 + b"\r\n")
            sent += 10_000
            await writer.drain()

    with pytest.raises(errors.Unreadable, match="larger"):
        await _answered(endless)
    assert sent < 20_000_000, "what the kernel's buffers hold comes on top, and no more"


async def _drip(start: bytes, piece: bytes) -> float:
    async def drip(_path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.02)

    begun = time.monotonic()
    with pytest.raises(errors.Unreadable, match=r"longer than 0\.5 seconds"):
        await _answered(drip, fetching.FetchLimits(seconds=0.5, silence=0.3))
    return time.monotonic() - begun


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (page(b"", length=100_000), b"a"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X: y\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ", b"y"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (
            page(b"", length=100_000, headers="Content-Encoding: gzip\r\n")
            + gzip.compress(b"a", mtime=0),
            b"\0",
        ),
        (
            page(b"", length=100_000, headers="Content-Encoding: gzip\r\n"),
            gzip.compress(b"", mtime=0),
        ),
    ],
)
async def test_a_slow_drip_ends_in_time(start: bytes, piece: bytes):
    assert await _drip(start, piece) < 2


async def test_silence_is_not_waited_for():
    async def silent(_path: str, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2)

    begun = time.monotonic()
    with pytest.raises(errors.Unavailable, match="stopped answering"):
        await _answered(silent, fetching.FetchLimits(seconds=10, silence=0.3))
    assert time.monotonic() - begun < 1.5


async def test_a_slow_resolver_is_not_waited_for():
    async def slow(_host: str, _port: int) -> list[ipaddress.IPv4Address]:
        await asyncio.sleep(5)
        return []

    with pytest.raises(errors.Unreadable, match="longer"):
        await fetching.fetch(
            "http://slow.example/",
            limits=fetching.FetchLimits(seconds=0.2),
            resolver=slow,
        )


@pytest.mark.parametrize(
    "answer",
    [
        page(b"short", length=500),
        page(b"short", headers="Content-Length: 7\r\n"),
        page(b"a", headers="Content-Length: -1\r\n"),
        b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\na",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 300_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 60_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 300_000,
        b"HTTP/1.1 200 OK\r\nX\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\x00: y\r\n\r\n",
        b"220 mail.example ESMTP\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"-ERR unknown command\r\n",
        b"\x00" * 100,
        b"",
    ],
    ids=range(18),
)
async def test_what_is_not_http_or_breaks_off_is_refused_and_not_told(answer: bytes):
    with pytest.raises(errors.Unreadable, match="not HTTP, or breaks off") as refused:
        await _answered(answer)
    assert "OpenSSH" not in str(refused.value)


async def test_what_comes_after_the_declared_length_is_not_read():
    assert (await _answered(page(b"hello, and more", length=5))).data == b"hello"


async def test_the_next_address_is_tried_when_the_first_takes_no_connection():
    async with serving(always(page())) as stub:
        # Nobody listens at this port of the second address.
        names = Names([["127.0.0.9", "127.0.0.1"]])
        allowed = (ipaddress.ip_network("127.0.0.0/8"),)
        url = f"http://two.example:{stub.port}/"
        fetched = await fetching.fetch(
            url, limits=SMALL, allow_ports={stub.port}, allowed=allowed, resolver=names
        )
        assert fetched.data == b"hello"
        assert f"Host: two.example:{stub.port}" in stub.requests[0]
    with pytest.raises(errors.Unavailable, match="takes no connection"):
        await fetching.fetch(
            url, limits=SMALL, allow_ports={stub.port}, allowed=allowed, resolver=names
        )


async def test_an_unknown_host_is_not_there():
    async def unknown(_host: str, _port: int) -> list[ipaddress.IPv4Address]:
        raise OSError

    with pytest.raises(errors.Unavailable, match=r"unknown\.example cannot be found"):
        await fetching.fetch("http://Unknown.example/", resolver=unknown)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of pages.example and 127.0.0.1 with its key, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "pages.example")])
    names: list[x509.GeneralName] = [
        x509.DNSName("pages.example"),
        x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    ]
    now = dt.datetime.now(dt.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    place = tmp_path_factory.mktemp("tls") / "pages.pem"
    kept = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    place.write_bytes(kept + built.public_bytes(serialization.Encoding.PEM))
    return place


def _server(certificate: Path, names: list[str | None]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    return context


async def test_the_certificate_is_the_hosts_though_the_address_is_asked(
    certificate: Path,
):
    asked: list[str | None] = []
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with serving(always(page()), tls=_server(certificate, asked)) as stub:

        async def get(host: str, tls: ssl.SSLContext | None) -> fetching.Fetched:
            return await fetching.fetch(
                f"https://{host}:{stub.port}/",
                limits=SMALL,
                allow_ports={stub.port},
                allowed=HERE,
                resolver=Names([["127.0.0.1"]]),
                tls=tls,
            )

        assert (await get("pages.example", trusting)).data == b"hello"
        assert (await get("127.0.0.1", trusting)).data == b"hello"
        assert asked == ["pages.example", None]
        assert f"Host: pages.example:{stub.port}" in stub.requests[0]
        with pytest.raises(errors.Unreadable, match=r"certificate of other\.example"):
            await get("other.example", trusting)
        with pytest.raises(errors.Unreadable, match=r"certificate of pages\.example"):
            await get("pages.example", None)
        assert len(stub.requests) == 2


async def test_https_does_not_lead_to_http(certificate: Path):
    trusting = ssl.create_default_context(cafile=str(certificate))
    async with serving(always(page())) as plain:
        there = page(
            status="302 Found", headers=f"Location: http://127.0.0.1:{plain.port}/\r\n"
        )
        async with serving(always(there), tls=_server(certificate, [])) as stub:
            url = f"https://127.0.0.1:{stub.port}/"
            ports = {stub.port, plain.port}
            with pytest.raises(errors.Invalid, match="https to http"):
                await fetching.fetch(
                    url, limits=SMALL, allow_ports=ports, allowed=HERE, tls=trusting
                )
    assert plain.connections == 0
