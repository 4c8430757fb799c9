"""The database itself is killed, starved or held by several processes: it comes back,
and nobody's word is broken.
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from uuid import UUID

import psutil
import pytest

from reverie import db, embedded, errors
from reverie.access import callers, tokens, users
from reverie.llm import embedding
from reverie.migrations import runner
from reverie.pipeline import worker
from reverie.records import base, notes
from tests.durability.conftest import environment
from tests.pipeline import embedder
from tests.pipeline.conftest import accesses, caught_up, vectors


@contextmanager
def home() -> Iterator[Path]:
    """A home of the test's own, with whatever runs in it stopped at the end."""
    folder = Path(tempfile.mkdtemp(prefix="rev-", dir="/tmp"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        for process in psutil.process_iter():
            try:
                if process.name() == "postgres" and Path(process.cwd()).is_relative_to(
                    folder
                ):
                    process.kill()
            except psutil.Error:
                continue
        shutil.rmtree(folder, ignore_errors=True)


def postmaster(server: embedded.EmbeddedServer) -> int:
    return int((server.place.data / "postmaster.pid").read_text().split("\n", 1)[0])


def alive(pid: int) -> bool:
    return (
        psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    )


def until(condition: Callable[[], bool], what: str, seconds: float = 45) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@asynccontextmanager
async def opened(
    server: embedded.EmbeddedServer,
) -> AsyncIterator[tuple[db.Database, callers.Caller]]:
    """A migrated database on a server, with its owner."""
    await runner.ensure_database(
        server.place.url(embedded.OWNER_ROLE, database="postgres"), embedded.DATABASE
    )
    await runner.migrate(server.owner_url)
    database = db.Database(server.app_url)
    await database.open()
    try:
        user = await users.create(database, name="owner")
        yield (
            database,
            await tokens.caller(
                database, await tokens.mint(database, user.user_id, name="owner")
            ),
        )
    finally:
        await database.close()


async def note(database: db.Database, caller: callers.Caller, text: str) -> UUID:
    async with database.transaction(caller) as tx:
        return (await base.create(tx, caller, notes.NOTES, {"content": text})).id


@pytest.mark.parametrize("rounds", [2, pytest.param(8, marks=pytest.mark.soak)])
async def test_postmaster_killed_under_four_writers(rounds: int) -> None:
    with home() as folder, embedder.serving() as model:
        server = await asyncio.to_thread(embedded.acquire, folder)
        embeddings = embedding.Embeddings(model.settings)
        async with (
            opened(server) as (database, owner),
            worker.Worker(database, embeddings).running(),
        ):
            acknowledged: list[UUID] = []
            refused = 0
            stop = asyncio.Event()

            async def write(number: int) -> None:
                nonlocal refused
                while not stop.is_set():
                    try:
                        acknowledged.append(
                            await note(database, owner, f"{number} {len(acknowledged)}")
                        )
                    except errors.DatabaseUnavailable:
                        refused += 1
                        await asyncio.sleep(0.05)

            writers = [asyncio.create_task(write(number)) for number in range(4)]

            async def go_on() -> None:
                """Forty more writes, within the 30 seconds that a pool may take to
                recover.
                """
                goal, deadline = len(acknowledged) + 40, time.monotonic() + 30
                while True:
                    await asyncio.sleep(0.02)
                    if len(acknowledged) >= goal:
                        return
                    assert time.monotonic() < deadline, "the pool has not recovered"

            for _ in range(rounds):
                await go_on()
                os.kill(postmaster(server), signal.SIGKILL)
                assert await asyncio.to_thread(server.revive)
                assert not await asyncio.to_thread(server.revive)
            await go_on()
            stop.set()
            await asyncio.gather(*writers)
            assert refused > 0
            async with database.transaction(owner) as tx:
                kept = {row["id"] for row in await tx.rows("SELECT id FROM note")}
                logged = [
                    row["record_id"]
                    for row in await tx.rows("SELECT record_id FROM change")
                ]
            assert set(acknowledged) <= kept
            assert sorted(logged) == sorted(kept)
            # The followers have survived it too, and are still woken rather than
            # polling.
            await caught_up(database, owner)
            assert await accesses(database, owner) == dict.fromkeys(kept, 1.0)
            assert (await vectors(database, owner))[1] == 0
        embeddings.close()
        await asyncio.to_thread(server.release)
        assert not (server.place.data / "postmaster.pid").exists()


async def test_listening_survives_a_restart() -> None:
    with home() as folder, embedder.serving() as model:
        server = await asyncio.to_thread(embedded.acquire, folder)
        embeddings = embedding.Embeddings(model.settings)
        async with opened(server) as (database, owner):
            one = worker.Worker(database, embeddings)
            async with one.running():
                await note(database, owner, "before")
                await caught_up(database, owner)
                os.kill(postmaster(server), signal.SIGKILL)
                await asyncio.to_thread(server.revive)
                deadline = time.monotonic() + 30
                while not any(
                    task.get_name() == "listen" and not task.done()
                    for task in asyncio.all_tasks()
                ) or not (await _listening(database, owner)):
                    assert time.monotonic() < deadline, "nobody listens any more"
                    await asyncio.sleep(0.05)
        embeddings.close()
        await asyncio.to_thread(server.release)


async def _listening(database: db.Database, owner: callers.Caller) -> bool:
    try:
        async with database.transaction(owner) as tx:
            return bool(
                await tx.value(
                    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%%'"
                )
            )
    except errors.DatabaseUnavailable:
        return False


def test_a_foreign_process_has_the_number_of_the_dead_server() -> None:
    with home() as folder:
        server = embedded.acquire(folder)
        dead = postmaster(server)
        os.kill(dead, signal.SIGKILL)
        until(lambda: not alive(dead), "it is dead")
        foreign = subprocess.Popen(["sleep", "600"])
        try:
            file = server.place.data / "postmaster.pid"
            file.write_text(file.read_text().replace(str(dead), str(foreign.pid), 1))
            assert server.revive()
            assert postmaster(server) != foreign.pid
            assert foreign.poll() is None
        finally:
            foreign.kill()
            foreign.wait()
        server.release()
        assert not (server.place.data / "postmaster.pid").exists()


def test_a_server_that_is_slow_to_answer_is_waited_for() -> None:
    """One that another process has started and that still recovers must not be taken
    for one that cannot start.
    """
    with home() as folder:
        server = embedded.acquire(folder)
        pid = postmaster(server)
        os.kill(pid, signal.SIGSTOP)
        later = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"import os, signal, time; time.sleep(7); os.kill({pid}, signal.SIGCONT)",
            ]
        )
        try:
            second = embedded.acquire(folder)
            assert postmaster(second) == pid
            second.release()
        finally:
            os.kill(pid, signal.SIGCONT)
            later.wait()
        assert alive(pid)
        server.release()
        until(lambda: not alive(pid), "the last one out stops it")


HOLDER = """
import sys, pathlib, psycopg
from reverie import embedded
server = embedded.acquire(pathlib.Path(sys.argv[1]))
with psycopg.connect(server.place.url(embedded.OWNER_ROLE, database="postgres")) as connection:
    assert connection.execute("SELECT 1").fetchone() == (1,)
print((server.place.data / "postmaster.pid").read_text().split()[0], flush=True)
sys.stdin.readline()
server.release()
print("released", flush=True)
"""


def holder(folder: Path) -> "subprocess.Popen[str]":
    """A process that acquires a home, says the server's number, and lets go when told."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def said(process: "subprocess.Popen[str]") -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def let_go(process: "subprocess.Popen[str]") -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()
    assert said(process) == "released"
    process.communicate(timeout=30)
    assert process.returncode == 0


def test_four_processes_share_one_new_home() -> None:
    with home() as folder:
        processes = [holder(folder / "new") for _ in range(4)]
        numbers = {said(process) for process in processes}
        assert len(numbers) == 1
        pid = int(numbers.pop())
        for process in processes[:3]:
            let_go(process)
            assert alive(pid)
        let_go(processes[3])
        until(lambda: not alive(pid), "the last one out stops it")


def test_a_killed_holder_leaves_a_server_for_the_next() -> None:
    with home() as folder:
        first = holder(folder)
        pid = int(said(first))
        first.kill()
        first.communicate()
        assert alive(pid)
        second = holder(folder)
        assert int(said(second)) == pid
        let_go(second)
        until(lambda: not alive(pid), "the next one stops it")


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A folder with little room."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    with home() as folder:
        mounted = subprocess.run(
            [
                "mount",
                "-t",
                "tmpfs",
                "-o",
                f"size={megabytes}m,mode=0711",
                "tmpfs",
                str(folder),
            ],
            check=False,
        )
        if mounted.returncode != 0:
            pytest.skip("this machine does not let us mount a small disk")
        try:
            yield folder
        finally:
            for process in psutil.process_iter():
                try:
                    if process.name() == "postgres" and Path(
                        process.cwd()
                    ).is_relative_to(folder):
                        process.kill()
                        process.wait(10)
                except psutil.Error:
                    continue
            subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Take all the room there is."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            pass
    return filler


async def test_a_full_disk_is_named_and_survived() -> None:
    with small_disk(180) as folder:
        server = await asyncio.to_thread(embedded.acquire, folder)
        async with opened(server) as (database, owner):
            kept = [await note(database, owner, f"early {i}") for i in range(20)]
            filler = fill(folder)
            refusals: list[errors.ReverieError] = []
            for i in range(3000):
                try:
                    kept.append(await note(database, owner, f"late {i} " * 200))
                except (errors.DiskFull, errors.Unavailable) as full:
                    refusals.append(full)
                    if isinstance(full, errors.DiskFull) or len(refusals) > 20:
                        break
            assert refusals
            assert any(isinstance(one, errors.DiskFull) for one in refusals), refusals
            assert (
                "full"
                in next(
                    one for one in refusals if isinstance(one, errors.DiskFull)
                ).message
            )
            filler.unlink()
            deadline = time.monotonic() + 60
            while True:
                try:
                    await asyncio.to_thread(server.revive)
                    kept.append(await note(database, owner, "after"))
                    break
                except (errors.DiskFull, errors.Unavailable):
                    if time.monotonic() > deadline:
                        raise
                    await asyncio.sleep(0.2)
            async with database.transaction(owner) as tx:
                there = {row["id"] for row in await tx.rows("SELECT id FROM note")}
            assert set(kept) <= there
        await asyncio.to_thread(server.release)


def test_no_room_for_a_database_is_named() -> None:
    with (
        small_disk(24) as folder,
        pytest.raises(errors.DiskFull, match="full") as refused,
    ):
        embedded.acquire(folder)
    assert refused.value.hint


def test_no_room_to_start_is_named() -> None:
    with small_disk(120) as folder:
        server = embedded.acquire(folder)
        server.release()
        filler = fill(folder)
        started = time.monotonic()
        with pytest.raises(errors.DiskFull, match="full"):
            embedded.acquire(folder)
        assert time.monotonic() - started < 20
        filler.unlink()
        embedded.acquire(folder).release()
