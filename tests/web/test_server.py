"""The server on a real port."""

import asyncio
import gc
import logging
import signal
import socket

import httpx
import pytest

from reverie import app, errors
from reverie.access import callers, tokens
from reverie.web import server


async def running(reverie: app.App) -> tuple[asyncio.Task[None], int, asyncio.Event]:
    """A server on a free port."""
    stop = asyncio.Event()
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        server.serve(reverie, port=0, ready=port.set_result, stop=stop)
    )
    return task, await asyncio.wait_for(port, 10), stop


async def test_it_serves_until_told_to_stop(
    reverie: app.App, owner: callers.Caller, caplog: pytest.LogCaptureFixture
) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    token = await tokens.mint(reverie.database, owner.user_id, name="test")
    with caplog.at_level(logging.INFO):
        task, port, stop = await running(reverie)
        assert (
            signal.getsignal(signal.SIGINT),
            signal.getsignal(signal.SIGTERM),
        ) == before
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}/api/v1"
        ) as client:
            assert (await client.get("/health")).json()["status"] == "ok"
            assert (await client.get("/notes")).status_code == 401
            made = await client.post(
                "/notes",
                json={"content": "hola"},
                headers={"Authorization": f"Bearer {token}"},
            )
            assert made.status_code == 201
            assert "server" not in made.headers
        stop.set()
        await asyncio.wait_for(task, 10)
    assert not [
        one
        for one in caplog.records
        if one.name.startswith("uvicorn") and "/notes" in one.getMessage()
    ]
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=1)


async def test_a_taken_port_is_said_in_a_sentence(reverie: app.App) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        told: list[int] = []
        with pytest.raises(errors.AlreadyRunning) as refused:
            await server.serve(
                reverie, port=port, ready=told.append, stop=asyncio.Event()
            )
    assert refused.value.message == f"Port {port} is in use by another program."
    assert "REVERIE_PORT" in refused.value.hint
    assert told == []


async def test_half_a_request_and_a_lost_client_do_no_harm(
    reverie: app.App, owner: callers.Caller
) -> None:
    token = await tokens.mint(reverie.database, owner.user_id, name="test")
    task, port, stop = await running(reverie)
    for sent in (
        b"GET / HTTP/1.1\r\n",
        b"\x16\x03\x01",
        b"POST /api/v1/notes HTTP/1.1\r\nHost: localhost\r\n"
        b"Authorization: Bearer "
        + token.encode()
        + b'\r\nContent-Length: 100\r\n\r\n{"content":',
    ):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(sent)
        await writer.drain()
        writer.close()
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}/api/v1") as client:
        found = await client.get("/notes", headers={"Authorization": f"Bearer {token}"})
        assert found.json()["meta"]["total"] == 0
    stop.set()
    await asyncio.wait_for(task, 10)


async def test_answers_are_sent_at_once(reverie: app.App) -> None:
    """The system must not keep an answer back until the one before was acknowledged:
    40 ms on a connection that is used again.
    """
    listening: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    running = asyncio.create_task(
        server.serve(reverie, port=0, ready=listening.set_result, stop=stop)
    )
    port = await listening
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://127.0.0.1:{port}/api/v1/health")
        assert answer.status_code == 200
        transports = [
            one for one in gc.get_objects() if isinstance(one, asyncio.Transport)
        ]
        sockets = [one.get_extra_info("socket") for one in transports]
        accepted = [
            one for one in sockets if one is not None and _is_of_port(one, port)
        ]
        assert accepted
        for one in accepted:
            assert one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    stop.set()
    await running


def _is_of_port(one: socket.socket, port: int) -> bool:
    is_open = one.fileno() >= 0 and one.family == socket.AF_INET
    return is_open and one.getsockname()[1] == port
