"""Durable ingestion: each request is a workflow (DBOS) that goes on after a crash, a
lost database or an upgrade.

The only module that knows DBOS, which runs workflows in threads of its own; the steps
run in our loop. A workflow gets ids and nothing else. What a step has done is in our
own tables, so that repeating it changes nothing.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import dbos
from dbos import DBOS

from reverie import blobs, db, errors
from reverie.access import users
from reverie.ingest import ingest_file, ingestions, requesters, retrying, steps

log = logging.getLogger(__name__)

T = TypeVar("T")

VERSION = "1"
"""Of the workflow below, not of Reverie: it changes when the order or the meaning of
its steps does.
"""
_NAME = "ingest.document"
_OPEN = ["PENDING", "ENQUEUED"]
_ENDED = ["SUCCESS", "ERROR", "CANCELLED"]
_POLL_S = 2.0
_TIDY = 4.0
# Each under way is a thread of DBOS; the rest waits, for other processes too.
_MOST = 24
_KEPT = timedelta(days=7)


class _Stopping(BaseException):
    """The process ends: the workflow stays as it is, for the next process. No
    Exception, which DBOS would record.
    """


@dataclass(slots=True)
class _Process:
    """What workflows of this process work with. There is one, as there is one DBOS."""

    loop: asyncio.AbstractEventLoop
    context: ingest_file.Context
    worker: str
    # One long import at a time, and beside it one upload or page at a time: whoever
    # sent one waits for it.
    imports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    jobs: set[concurrent.futures.Future[Any]] = field(
        default_factory=set[concurrent.futures.Future[Any]]
    )
    under_way: set[str] = field(default_factory=set[str])
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: bool = False


_process: _Process | None = None


@DBOS.workflow(name=_NAME, max_recovery_attempts=None)
def _ingest(user: str, ingestion: str) -> None:
    try:
        _scan(user, ingestion)
        while _take(user, ingestion):
            pass
        _finish(user, ingestion)
    # however it left: whoever finds the ingestion open knows that nobody works on it
    finally:
        if _process is not None:
            _process.under_way.discard(ingestion)
            _process.loop.call_soon_threadsafe(_process.wake.set)


@DBOS.step(name="ingest.scan")
def _scan(user: str, ingestion: str) -> int:
    return _run(user, ingestion, steps.scan)


@DBOS.step(name="ingest.take")
def _take(user: str, ingestion: str) -> int:
    return _run(user, ingestion, steps.take)


@DBOS.step(name="ingest.finish")
def _finish(user: str, ingestion: str) -> None:
    _run(user, ingestion, steps.finish)


def _run(
    user: str, ingestion: str, step: Callable[[ingest_file.Context, UUID], Awaitable[T]]
) -> T:
    """A step, from a thread of DBOS, in our loop."""
    process = _process
    if process is None or process.stopping:
        raise _Stopping
    # The books are kept by us; what is read runs as whoever asked (`steps`).
    keeper = requesters.system(UUID(user))
    context, ingestion_id = replace(process.context, caller=keeper), UUID(ingestion)

    async def placed() -> T:
        kind = await retrying.patiently(
            context, ingestion_id, lambda: _kind(context, ingestion_id)
        )
        async with process.imports if kind == "paths" else process.uploads:
            return await _claimed(process, context, ingestion_id, step)

    job = asyncio.run_coroutine_threadsafe(placed(), process.loop)
    process.jobs.add(job)
    try:
        return job.result()
    except concurrent.futures.CancelledError:
        raise _Stopping from None
    finally:
        process.jobs.discard(job)


async def _kind(context: ingest_file.Context, ingestion_id: UUID) -> ingestions.Kind:
    async with context.database.transaction(context.caller) as tx:
        return (await ingestions.get(tx, context.caller, ingestion_id)).kind


async def _claimed(
    process: _Process,
    context: ingest_file.Context,
    ingestion_id: UUID,
    step: Callable[[ingest_file.Context, UUID], Awaitable[T]],
) -> T:
    async def claim() -> None:
        async with context.database.transaction(context.caller) as tx:
            await ingestions.claim(tx, context.caller, ingestion_id, process.worker)

    await retrying.patiently(context, ingestion_id, claim)
    return await step(context, ingestion_id)


@contextlib.asynccontextmanager
async def launched(
    context: ingest_file.Context,
    *,
    owner_url: str,
    patience_s: float = 5.0,
    version: str = VERSION,
) -> AsyncGenerator["Ingesting"]:
    """Take in what is asked for by anybody, and what was left undone, for as long as
    the block lasts.

    A process that died is known by its lock: `patience_s` after it was missed first,
    its work is taken over.
    """
    global _process  # noqa: PLW0603 - DBOS is one a process, and so is what its workflows work with
    if _process is not None:
        raise errors.AlreadyRunning("This process takes in files already.")
    worker = f"ingest:{uuid4()}"
    _process = process = _Process(asyncio.get_running_loop(), context, worker)
    try:
        await asyncio.to_thread(blobs.sweep, context.blobs)
        await asyncio.to_thread(
            _launch, owner_url, context.database.url, worker, version
        )
        ingesting = Ingesting(
            context.database, process, patience_s=patience_s, version=version
        )
        tasks = [
            asyncio.create_task(ingesting.live()),
            asyncio.create_task(ingesting.work()),
        ]
        tasks.append(asyncio.create_task(ingesting.listen()))
        try:
            yield ingesting
        finally:
            process.stopping = True
            await _end(tasks, process)
            await ingesting.let_go()
    finally:
        await asyncio.to_thread(DBOS.destroy)
        _process = None


async def _end(tasks: list[asyncio.Task[None]], process: _Process) -> None:
    for task in tasks:
        task.cancel()
    for job in list(process.jobs):
        job.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def prepare(owner_url: str) -> None:
    """Make the tables in which DBOS keeps its workflows, unless they are there. Blocks."""
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
    DBOS.migrate(db.as_uri(owner_url), application_role=db.APP_ROLE)


def _launch(owner_url: str, app_url: str, worker: str, version: str) -> None:
    prepare(owner_url)
    DBOS(
        config={
            "name": "reverie",
            "system_database_url": db.as_uri(app_url),
            "sys_db_pool_size": 5,
            "application_version": version,
            "executor_id": worker,
            # its own is pickle, which is code
            "serializer": dbos.DBOSPortableJSONSerializer(),
            "run_migrations": False,
            "log_level": "CRITICAL",
        }
    )
    DBOS.launch()


class Ingesting:
    """The part of this process that takes files in: starts what is asked for, and takes
    over what others left.
    """

    def __init__(
        self,
        database: db.Database,
        process: _Process,
        *,
        patience_s: float,
        version: str,
    ) -> None:
        self._database = database
        self._under_way = process.under_way
        self._patience_s = patience_s
        self._version = version
        self._wake = process.wake
        self._missed: dict[str, float] = {}
        self._tidied = -math.inf
        self._left: set[str] = set()
        self.worker = process.worker

    async def live(self) -> None:
        """Hold the lock that says that this process lives."""
        await self._always(lambda: self._database.hold(self.worker))

    async def listen(self) -> None:
        """Hear at once of what is asked for."""

        async def heard() -> None:
            async for _ in self._database.listen("reverie_ingestion"):
                self._wake.set()

        await self._always(heard)

    async def work(self) -> None:
        """Start what waits; take over what a dead process left."""

        async def look() -> None:
            while True:
                self._wake.clear()
                for user in await users.all_users(self._database):
                    await self._start_waiting(users.Reference(user.user_id))
                    await self._take_over(users.Reference(user.user_id))
                await self._tidy()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(_POLL_S, self._patience_s)):
                        await self._wake.wait()

        await self._always(look)

    async def let_go(self) -> None:
        """The process ends as it should: the files that it was at have not failed by
        that.
        """
        with contextlib.suppress(errors.ReverieError):
            for user in await users.all_users(self._database):
                reference = users.Reference(user.user_id)
                async with self._database.transaction(reference) as tx:
                    await ingestions.let_go(tx, reference, self.worker)

    async def _start_waiting(self, user: users.Reference) -> None:
        while len(self._under_way) < _MOST:
            async with self._database.transaction(user) as tx:
                ingestion_id = await ingestions.take_next(tx, user, self.worker)
            if ingestion_id is None:
                return
            await self._start(user, ingestion_id)

    async def _start(self, user: users.Reference, ingestion_id: UUID) -> None:
        name = f"{ingestion_id}:{uuid4().hex[:8]}"
        with self._begun(ingestion_id):
            await asyncio.to_thread(
                _started, name, str(user.user_id), str(ingestion_id)
            )

    @contextlib.contextmanager
    def _begun(self, ingestion_id: UUID) -> Generator[None]:
        """Its workflow is about to be under way, unless it cannot be begun."""
        self._under_way.add(str(ingestion_id))
        try:
            yield
        except BaseException:
            self._under_way.discard(str(ingestion_id))
            raise

    async def _goes_on(self, ingestion: ingestions.Ingestion) -> bool:
        """Whether somebody works on it: a workflow of ours, or a process whose lock is
        held.
        """
        if ingestion.worker == self.worker:
            return str(ingestion.id) in self._under_way
        return await self._database.is_locked(ingestion.worker)

    async def _take_over(self, user: users.Reference) -> None:
        """What nobody works on, and did not a moment ago: the process is no more, or
        its workflow broke off.
        """
        now = asyncio.get_running_loop().time()
        async with self._database.transaction(user) as tx:
            running = [
                ingestion
                for ingestion in await ingestions.unfinished(tx, user)
                if ingestion.state == "running"
            ]
        for ingestion in running:
            missed = f"{ingestion.worker} {ingestion.id}"
            if await self._goes_on(ingestion):
                self._missed.pop(missed, None)
                continue
            if now - self._missed.setdefault(missed, now) < self._patience_s:
                continue
            self._missed.pop(missed)
            async with self._database.alone(f"take over {ingestion.id}") as mine:
                if mine:
                    await self._resume(user, ingestion)

    async def _resume(
        self, user: users.Reference, ingestion: ingestions.Ingestion
    ) -> None:
        """Go on with a workflow that was left; one of another version, or none, is
        begun anew.
        """
        async with self._database.transaction(user) as tx:
            if not await ingestions.claim(tx, user, ingestion.id, self.worker):
                return
        resumed = False
        for workflow in await self._workflows(f"{ingestion.id}:"):
            if workflow.app_version == self._version and not resumed:
                with self._begun(ingestion.id):
                    await asyncio.to_thread(DBOS.resume_workflow, workflow.workflow_id)
                resumed = True
            else:
                await asyncio.to_thread(DBOS.cancel_workflow, workflow.workflow_id)
        if not resumed:
            await self._start(user, ingestion.id)

    async def _tidy(self) -> None:
        """End workflows that were left when all was done but to say so, by a dead
        process or for want of a database.

        And forget those that ended long ago.
        """
        now = asyncio.get_running_loop().time()
        if now - self._tidied < _TIDY * self._patience_s:
            return
        self._tidied = now
        await asyncio.to_thread(_prune)
        left = {
            workflow.workflow_id
            for workflow in await self._workflows()
            if not await self._executed(workflow)
        }
        for user in await users.all_users(self._database) if left else ():
            reference = users.Reference(user.user_id)
            async with self._database.transaction(reference) as tx:
                running = {
                    str(ingestion.id)
                    for ingestion in await ingestions.unfinished(tx, reference)
                }
            left = {name for name in left if _ingestion_of(name) not in running}
        for name in left & self._left:  # not those that are just about to say so
            await asyncio.to_thread(DBOS.cancel_workflow, name)
        self._left = left

    async def _executed(self, workflow: dbos.WorkflowStatus) -> bool:
        if workflow.executor_id in (None, self.worker):
            return _ingestion_of(workflow.workflow_id) in self._under_way
        return await self._database.is_locked(str(workflow.executor_id))

    async def _workflows(self, prefix: str | None = None) -> list[dbos.WorkflowStatus]:
        def listed() -> list[dbos.WorkflowStatus]:
            return DBOS.list_workflows(
                status=_OPEN,
                workflow_id_prefix=prefix,
                load_input=False,
                load_output=False,
            )

        return await asyncio.to_thread(listed)

    async def _always(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                await work()
            except errors.ReverieError as away:
                log.info("ingestion: %s", away.message)
            # Whoever works in the background and ends is noticed by nobody.
            except Exception:
                log.exception("ingestion stumbled")
            await asyncio.sleep(0.5)


def _ingestion_of(workflow: str) -> str:
    return workflow.partition(":")[0]


def _prune() -> None:
    """Forget workflows that ended long ago; what became of their files is in our own
    tables.
    """
    before = (datetime.now(UTC) - _KEPT).isoformat()
    old = DBOS.list_workflows(
        status=_ENDED,
        name=_NAME,
        end_time=before,
        limit=1000,
        load_input=False,
        load_output=False,
    )
    if old:
        DBOS.delete_workflows([workflow.workflow_id for workflow in old])


def _started(workflow: str, user: str, ingestion: str) -> None:
    with dbos.SetWorkflowID(workflow):
        DBOS.start_workflow(_ingest, user, ingestion)
