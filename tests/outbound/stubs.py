"""A server on this machine that does what a test says, and counts who came."""

import asyncio
import contextlib
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from reverie.outbound import addresses

Answer = Callable[[str, asyncio.StreamWriter], Awaitable[None]]

HERE = (ipaddress.ip_network("127.0.0.1/32"),)


@dataclass
class Stub:
    """`connections` counts what was accepted; `requests` are the heads that came, as
    text.
    """

    port: int = 0
    connections: int = 0
    requests: list[str] = field(default_factory=list)


@contextlib.asynccontextmanager
async def serving(
    answer: Answer,
    *,
    hosts: Sequence[str] = ("127.0.0.1",),
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Stub]:
    """Serves on one free port at all `hosts`; `answer` gets the path that is asked for
    and writes what it likes.
    """
    stub = Stub()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stub.connections += 1
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            stub.requests.append(head)
            await answer(head.split(" ")[1], writer)
            await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    servers: list[asyncio.Server] = []
    try:
        for host in hosts:
            servers.append(await asyncio.start_server(serve, host, stub.port, ssl=tls))
            stub.port = servers[-1].sockets[0].getsockname()[1]
        yield stub
    finally:
        for server in servers:
            server.close()


def page(
    body: bytes = b"hello",
    *,
    status: str = "200 OK",
    headers: str = "",
    length: int | None = None,
) -> bytes:
    """A whole answer. `headers` are lines that each end in CR LF; `length` is a
    Content-Length that may be wrong.
    """
    size = len(body) if length is None else length
    return (
        f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n{headers}\r\n".encode() + body
    )


def always(answer: bytes) -> Answer:
    async def send(_path: str, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)

    return send


@dataclass
class Names:
    """A resolver that answers what it is told, the last answer again and again, and
    counts how often it was asked.
    """

    answers: Sequence[Sequence[str]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, _port: int) -> list[addresses.Address]:
        self.asked.append(host)
        return [
            ipaddress.ip_address(text)
            for text in self.answers[min(len(self.asked), len(self.answers)) - 1]
        ]
