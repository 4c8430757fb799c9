"""The worker pool: each file is read in a sandboxed child process of its own, and small
ones of safe formats many a child, under a clock and a scale.
"""

import asyncio
import os
import signal
import socket
import stat
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, aclosing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self, TypeVar

import psutil

from reverie import errors
from reverie.ingest.documents import kinds, units
from reverie.ingest.sandbox import launch, limits, protocol, wire

T = TypeVar("T")
AT_ONCE = 3  # set by hand: two of an import, and one for whoever waits
READERS = "reverie.ingest.sandbox.readers"
# Seconds, set by hand: between two looks at a child; for a zygote to fork one; for a
# child to be gone after it was killed; for one to end by itself.
_EVERY = 0.05
_STARTING = 30.0
_ENDING = 5.0
_PATIENCE = 1.0
# bytes that each message counts for, or a reader could send empty ones for ever
_LEAST = 100
_ALL = -1  # bytes of a file: as many as there are
_LAST = wire.Unread | wire.Broken | wire.Done
# How libraries in C end when there is no memory left.
_OUT_OF_MEMORY = {-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGTRAP, -signal.SIGILL}
# The share of its memory at which such an end is put down to it; set by hand.
_NEARLY = 0.85
_NUMBERS = {kind.reader: number for number, kind in enumerate(kinds.DOCUMENTS)}


@dataclass(frozen=True, slots=True)
class ReadJob:
    """A file to read: its bytes, or where they lie, which may be under another name
    than its own.

    `relative` is its path from the import root, `path` the whole of it. Units of a
    document before `first` are not read; with a `page`, its picture is all that is
    wanted. Without `mtime` (aware), it is the one of what is read; without `allowed`,
    the limits fit its size.
    """

    source: Path | bytes
    relative: PurePosixPath
    path: Path | None = None
    vault: bool = False
    mtime: datetime | None = None
    first: int = 1
    password: str = ""
    allowed: limits.SandboxLimits | None = None
    page: int = 0


class WorkerPool:
    """The zygote, and the children that read. Nothing is started before the first file
    is read.

    `readers` names the module that knows the readers; only tests have one of their
    own.
    """

    def __init__(self, *, at_once: int = AT_ONCE, readers: str = READERS) -> None:
        self._catalogue = readers
        self._slots = asyncio.Semaphore(at_once)
        self._starting = asyncio.Lock()
        self._zygote: launch.ZygoteProcess | None = None
        self._closed = False
        # how many zygotes were started; more than one says that one was killed
        self.starts = 0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End every child and the zygote. What is being read ends as stopped."""
        self._closed = True
        async with self._starting:
            started, self._zygote = self._zygote, None
        if started is not None:
            await asyncio.to_thread(started.end)

    async def read(self, job: ReadJob) -> AsyncGenerator[wire.Message, None]:
        """What is in a file, as it is found. Leaving early ends the child
        (`contextlib.aclosing`).

        The last message is Done, Broken or Unread; a file's fault is never raised.
        Raises Unreadable if the file cannot be opened, Unavailable if no process can be
        started.
        """
        async with aclosing(self.read_all([job])) as messages:
            async for _, message in messages:
                yield message

    async def read_all(
        self, jobs: Sequence[ReadJob]
    ) -> AsyncGenerator[tuple[int, wire.Message], None]:
        """The same for some files that one child reads, one after another: each message
        with the number of its job.

        Of several jobs the source is bytes. A child that breaks off says so for the
        file that it was at, and the files behind it were not read.
        """
        async with self._slots:
            child = await self._begin(jobs)
            try:
                async with aclosing(child.messages(len(jobs))) as messages:
                    async for number, message in messages:
                        if isinstance(message, wire.Began):
                            await self._warm(message.reader)
                        yield number, message
            finally:
                await child.end()

    async def picture(self, source: Path, name: str, page: int) -> bytes:
        """A page of a PDF or an image as PNG. Raises NotFound when there is no picture
        of it.
        """
        async with aclosing(
            self.read(ReadJob(source, PurePosixPath(name), page=page))
        ) as messages:
            async for message in messages:
                if isinstance(message, units.EmbeddedFile):
                    return message.data
                if isinstance(message, wire.Broken):
                    raise errors.NotFound(
                        f"There is no picture of this page: {message.reason}."
                    )
        raise errors.NotFound("There is no picture of this page.")

    async def _begin(self, jobs: Sequence[ReadJob]) -> "_Child":
        file = await _in_thread(lambda: _opened(jobs), undo=os.close)
        try:
            order, allowed = _order(jobs, os.fstat(file))
            # A zygote that was killed, or went to sleep, is found out by asking it.
            for _ in range(2):
                started = await self._started()
                with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                    return await _Child.born(started, order, file, allowed)
                await self._lost(started)
        finally:
            os.close(file)
        raise errors.Unavailable(
            "No process can be started to read files.", hint="Is there memory left?"
        )

    async def _started(self) -> launch.ZygoteProcess:
        async with self._starting:
            if self._closed:
                raise errors.Unavailable("Reading files has ended.")
            if self._zygote is None:
                self._zygote = await _in_thread(
                    lambda: launch.start(self._catalogue),
                    undo=launch.ZygoteProcess.end,
                )
                self.starts += 1
            return self._zygote

    async def _lost(self, started: launch.ZygoteProcess) -> None:
        async with self._starting:
            if self._zygote is started:
                self._zygote = None
        await asyncio.to_thread(started.end)

    async def _warm(self, reader: str) -> None:
        started = self._zygote
        if started is not None and reader in _NUMBERS and reader not in started.warmed:
            started.warmed.add(reader)
            with suppress(OSError):
                started.control.send(bytes([_NUMBERS[reader]]))


async def _in_thread(call: Callable[[], T], *, undo: Callable[[T], None]) -> T:
    """What a call in a thread returns. A thread cannot be stopped: when nobody waits for
    it any more, what it made is undone.
    """
    running = asyncio.create_task(asyncio.to_thread(call))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        with suppress(errors.ReverieError, OSError):
            await asyncio.to_thread(undo, await running)
        raise


def _opened(jobs: Sequence[ReadJob]) -> int:
    """The file, to be read from its start; bytes lie one behind another. Raises
    Unreadable.
    """
    source = jobs[0].source
    if isinstance(source, Path):
        return _opened_file(source)
    with tempfile.TemporaryFile() as file:
        file.writelines(job.source for job in jobs if isinstance(job.source, bytes))
        file.seek(0)
        return os.dup(file.fileno())


def _opened_file(source: Path) -> int:
    try:
        opened = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as refused:
        raise errors.Unreadable(f"cannot be read: {refused.strerror}") from None
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise errors.Unreadable("not a file but a folder, a pipe, a socket or a device")
    return opened


def _order(
    jobs: Sequence[ReadJob], status: os.stat_result
) -> tuple[protocol.Order, limits.SandboxLimits]:
    job = jobs[0]
    allowed = job.allowed or limits.fitting(status.st_size)
    order = protocol.Order(
        parts=[_part(job, status) for job in jobs],
        first=job.first,
        password=job.password,
        page=job.page,
        seconds=allowed.seconds,
        memory=allowed.memory,
        frame=allowed.frame,
    )
    return order, allowed


def _part(job: ReadJob, status: os.stat_result) -> protocol.Part:
    if isinstance(job.source, Path):
        source, size = job.source, _ALL
    else:
        source, size = Path(job.relative), len(job.source)
    return protocol.Part(
        path=str(job.path or source),
        relative=str(job.relative),
        vault=job.vault,
        mtime=job.mtime.timestamp() if job.mtime else status.st_mtime,
        size=size,
    )


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
        for writer in (self.orders, self.cord):
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


class _Child:
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
        await self._end(patience=0)
        await self._ends.close()
