"""One sandboxed child under supervision, from birth to its end: given its order, heard,
watched by clock and scale, killed when it must be.
"""

import asyncio
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from typing import Self

import psutil

from reverie.ingest.documents import units
from reverie.ingest.sandbox import launch, limits, protocol, wire

# Seconds, set by hand: between two looks at a child; for a zygote to fork one; for a
# child to be gone after it was killed; for one to end by itself.
_EVERY = 0.05
_STARTING = 30.0
_ENDING = 5.0
_PATIENCE = 1.0
# bytes that each message counts for, or a reader could send empty ones for ever
_LEAST = 100
_LAST = wire.Unread | wire.Broken | wire.Done
# How libraries in C end when there is no memory left.
_OUT_OF_MEMORY = {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGTRAP, -signal.SIGILL}
# The share of its memory at which such an end is put down to it; set by hand.
_NEARLY = 0.85


@dataclass(frozen=True, slots=True)
class _Ends:
    """Our ends of a child's channel and cord."""

    answers: asyncio.StreamReader
    orders: asyncio.StreamWriter
    life: asyncio.StreamReader
    cord: asyncio.StreamWriter

    @classmethod
    async def sent(cls, started: launch.ZygoteProcess, file: int) -> Self:
        """The ends, once the zygote has the others. Raises OSError."""
        channel, its_channel = socket.socketpair()
        cord, its_cord = socket.socketpair()
        with ExitStack() as undone:
            undone.callback(channel.close)
            undone.callback(cord.close)
            with its_channel, its_cord:
                passed = [its_channel.fileno(), file, its_cord.fileno()]
                socket.send_fds(started.control, [protocol.CHILD], passed)
            answers, orders = await asyncio.open_unix_connection(sock=channel)
            undone.callback(orders.close)
            life, cord_end = await asyncio.open_unix_connection(sock=cord)
            undone.pop_all()
        return cls(answers, orders, life, cord_end)

    async def close(self) -> None:
        """Both are closed at once: who waits here may be stopped."""
        self.orders.close()
        self.cord.close()
        for writer in (self.orders, self.cord):
            with suppress(OSError):
                await writer.wait_closed()


class SupervisedChild:
    """One child, from birth to its end."""

    def __init__(self, number: int, allowed: limits.SandboxLimits, ends: _Ends) -> None:
        self._allowed = allowed
        self._ends = ends
        self._waiting = False
        self._received = 0
        self._killed = False
        self._verdict: wire.Cause | None = None
        self._ended: tuple[int | None, int] | None = None
        self._process: psutil.Process | None = None
        with suppress(psutil.Error):
            self._process = psutil.Process(number)
        self._watching = asyncio.create_task(self._watch())

    @classmethod
    async def born(
        cls,
        started: launch.ZygoteProcess,
        order: protocol.Order,
        file: int,
        allowed: limits.SandboxLimits,
    ) -> Self:
        """A child that was given its order. Raises OSError, IncompleteReadError or
        TimeoutError if there is none.
        """
        ends = await _Ends.sent(started, file)
        try:
            async with asyncio.timeout(_STARTING):
                (number,) = protocol.BORN.unpack(
                    await ends.life.readexactly(protocol.BORN.size)
                )
        except BaseException:
            await ends.close()
            raise
        ends.orders.write(wire.frame(asdict(order)))
        return cls(number, allowed, ends)

    async def messages(
        self, files: int
    ) -> AsyncGenerator[tuple[int, wire.Message], None]:
        """What the child tells of so many files, checked, with the number of the file;
        the last one is ours if it does not come to its end.
        """
        left = self._allowed.output
        number = 0
        while True:
            self._waiting = True
            try:
                message, size = await self._next()
            except (OSError, asyncio.IncompleteReadError, wire.Wrong) as fault:
                yield number, await self._broken(fault)
                return
            self._waiting = False
            self._received += 1
            left -= size + _LEAST
            if left < 0:
                self._verdict = self._verdict or "output"
                yield number, await self._broken(None)
                return
            if not isinstance(message, _LAST):
                yield number, message
                continue
            if number == files - 1:
                yield number, await self._last(message)
                return
            yield number, message
            number += 1

    async def _next(self) -> tuple[wire.Message, int]:
        """A message and its size; a unit in parts is put together."""
        parts: list[wire.UnitPart] = []
        size = 0
        while True:
            header, payload = wire.LENGTHS.unpack(
                await self._ends.answers.readexactly(wire.LENGTHS.size)
            )
            size += wire.LENGTHS.size + header + payload
            if header > wire.HEADER or size > self._allowed.frame:
                raise wire.Wrong("too long")
            data = await self._ends.answers.readexactly(header + payload)
            message = wire.decode(data[:header], data[header:])
            if isinstance(message, wire.UnitPart):
                parts.append(message)
                await asyncio.sleep(0)  # so that nobody else waits for the whole of it
            elif isinstance(message, units.Unit) and parts:
                blocks = tuple(
                    block for part in (*parts, message) for block in part.blocks
                )
                return replace(message, blocks=blocks), size
            elif parts:
                raise wire.Wrong("parts of nothing")
            else:
                return message, size

    async def _last(self, message: _LAST) -> wire.Message:
        if isinstance(message, wire.Unread):
            return message
        if isinstance(message, wire.Broken) and message.cause in {"memory", "time"}:
            message = replace(message, reason=self._reason(message.cause))
        _, peak = await self._end(patience=_PATIENCE)
        return replace(message, peak=peak)

    async def _broken(self, fault: Exception | None) -> wire.Broken:
        """Why a child came to no end of its own."""
        if isinstance(fault, wire.Wrong):
            self._verdict = self._verdict or "crash"
        code, peak = await self._end(patience=0 if self._verdict else _PATIENCE)
        cause = self._verdict or self._limit_hit(code, peak)
        if cause is not None:
            return wire.Broken(self._reason(cause), cause=cause, peak=peak)
        if code is None:
            return wire.Broken("its reader was stopped from outside", cause="stopped")
        reason = self._reason("crash") + self._exit(code)
        return wire.Broken(reason, cause="crash", peak=peak)

    def _limit_hit(self, code: int | None, peak: int) -> wire.Cause | None:
        """The resource limit (rlimit) that ended a child, if one did."""
        if code == -signal.SIGXCPU:
            return "time"
        if code in _OUT_OF_MEMORY and peak > self._allowed.memory * _NEARLY:
            return "memory"
        return None

    def _exit(self, code: int) -> str:
        """How a child ended that we did not kill, for the report."""
        if code > 0:
            return f" (exit {code})"
        return f" (signal {-code})" if code < 0 and not self._killed else ""

    def _reason(self, cause: wire.Cause) -> str:
        match cause:
            case "time":
                return f"it takes more than {self._allowed.seconds:g} s to read"
            case "memory":
                return (
                    f"it takes more than {self._allowed.memory // limits.MB} MB to read"
                )
            case "output":
                return (
                    f"more than {self._allowed.output // limits.MB} MB come out of it"
                )
            case _:
                return "its reader broke off"

    async def _watch(self) -> None:
        """Put an end to a child that takes too long or too much. Time counts while we
        wait, and while we can look.
        """
        loop = asyncio.get_running_loop()
        waited, received, last = 0.0, 0, loop.time()
        while self._verdict is None:
            await asyncio.sleep(_EVERY)
            now = loop.time()
            going_on = self._waiting and received == self._received
            waited = waited + min(now - last, _EVERY * 4) if going_on else 0.0
            received, last = self._received, now
            if waited > self._allowed.seconds:
                self._verdict = "time"
            elif self._memory() > self._allowed.memory:
                self._verdict = "memory"
        self._kill()

    def _memory(self) -> int:
        with suppress(psutil.Error):
            if self._process is not None:
                return self._process.memory_info().rss
        return 0

    def _kill(self) -> None:
        self._killed = True
        self._ends.cord.write(b"k")

    async def _end(self, *, patience: float) -> tuple[int | None, int]:
        """How the child ended (None if nobody knows) and the most memory it took. One
        that goes on is killed.
        """
        self._watching.cancel()
        for seconds in (patience, _ENDING) if self._ended is None else ():
            try:
                async with asyncio.timeout(seconds):
                    self._ended = protocol.ENDED.unpack(
                        await self._ends.life.readexactly(protocol.ENDED.size)
                    )
                break
            except TimeoutError:
                self._kill()
            except (OSError, asyncio.IncompleteReadError):
                break
        if self._ended is None:
            self._ended = (None, 0)
            with suppress(psutil.Error):
                if self._process is not None:
                    # knows when the process began, so it never takes another of the
                    # same number
                    self._process.kill()
        return self._ended

    async def end(self) -> None:
        """See to it that the child is gone."""
        try:
            await self._end(patience=0)
        finally:
            await self._ends.close()
