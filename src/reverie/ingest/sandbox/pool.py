"""The worker pool: each file is read in a sandboxed child process of its own, and small
ones of safe formats many a child, under a clock and a scale.
"""

import asyncio
import os
import stat
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Self, TypeVar

from reverie import errors
from reverie.ingest.documents import kinds, units
from reverie.ingest.sandbox import launch, limits, protocol, supervised, wire

T = TypeVar("T")
AT_ONCE = 3  # set by hand: two of an import, and one for whoever waits
READERS = "reverie.ingest.sandbox.readers"
_ALL = -1  # bytes of a file: as many as there are
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

    async def _begin(self, jobs: Sequence[ReadJob]) -> supervised.SupervisedChild:
        file = await _in_thread(lambda: _opened(jobs), undo=os.close)
        try:
            order, allowed = _order(jobs, os.fstat(file))
            # A zygote that was killed, or went to sleep, is found out by asking it.
            for _ in range(2):
                started = await self._started()
                with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                    return await supervised.SupervisedChild.born(
                        started, order, file, allowed
                    )
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
