"""Ingestion while the database is killed or a disk is full: it waits, says so, and goes
on by itself.
"""

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from reverie import blobs, embedded, errors
from tests.durability import ingesting, lives
from tests.durability.test_postmaster import fill, home, opened, postmaster, small_disk
from tests.ingest.test_durable import until


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(
    cluster: embedded.EmbeddedServer,
    template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[lives.Scene]:
    async with lives.scene(cluster, template, tmp_path_factory.mktemp("scene")) as one:
        yield one


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.soak)])
async def test_postgres_is_killed_while_eight_ask(
    scene: lives.Scene, rounds: int, tmp_path: Path
) -> None:
    """Every upload that was acknowledged is there once, a minute after the last kill at
    the latest.
    """
    dice = random.Random(lives.SEED)
    with home() as folder:
        server = await asyncio.to_thread(embedded.acquire, folder)
        async with opened(server) as (database, owner):
            one = lives.Life(database, server.owner_url, owner, tmp_path / "blobs")
            acknowledged: list[str] = []
            refused = 0
            stop = asyncio.Event()

            async def write(number: int) -> None:
                nonlocal refused
                while not stop.is_set():
                    name = f"{number}-{len(acknowledged)}.md"
                    text = (
                        f"# Upload {name}\n\nby writer {number}, on petunias\n".encode()
                    )
                    address = await asyncio.to_thread(
                        blobs.put, one.blobs, owner.user_id, text
                    )
                    try:
                        request: dict[str, object] = {
                            "blob": address,
                            "name": name,
                            "path": f"upload/{name}",
                        }
                        await ingesting.ask(database, owner, "upload", request)
                        acknowledged.append(f"upload/{name}")
                    except errors.DatabaseUnavailable:
                        refused += 1
                    await asyncio.sleep(0.3 + dice.random() / 5)

            async with one.working(scene.reading):
                writers = [asyncio.create_task(write(number)) for number in range(8)]
                for _ in range(rounds):
                    goal = len(acknowledged) + 8
                    await until(
                        lambda goal=goal: _at_least(acknowledged, goal), within_s=30
                    )
                    await asyncio.sleep(dice.random())
                    os.kill(postmaster(server), signal.SIGKILL)
                    assert await asyncio.to_thread(server.revive)
                started = time.monotonic()
                stop.set()
                await asyncio.gather(*writers)
                await one.quiet(within_s=60)
                took = time.monotonic() - started
                told = f"{rounds} kills, {len(acknowledged)} acknowledged, {refused} refused"
                sys.stdout.write(f"{told}: all done {took:.1f} s after the last kill\n")
            assert refused > 0
            there = Counter(
                row["path"] for row in await one.rows("SELECT path FROM imported")
            )
            assert set(acknowledged) <= set(there)
            made = await one.rows(
                "SELECT count(*) AS notes, count(DISTINCT title) AS titles FROM note"
            )
            assert made == [{"notes": len(there), "titles": len(there)}]
            await lives.settled(one)
        await asyncio.to_thread(server.release)


async def _at_least(acknowledged: list[str], goal: int) -> bool:
    return len(acknowledged) >= goal


def some_texts(folder: Path, count: int, size: int) -> None:
    """Texts that take room, in words as texts have them."""
    dice = random.Random(lives.SEED)
    words = [
        f"{dice.choice('bdgklmnprst')}{dice.choice('aeiou')}{number}"
        for number in range(2000)
    ]
    folder.mkdir()
    for number in range(count):
        text, length = [f"Text {number}."], 0
        while length < size:
            line = " ".join(dice.choices(words, k=14)) + "."
            text.append(line)
            length += len(line)
        (folder / f"text{number}.txt").write_text("\n\n".join(text))


async def test_the_disk_of_the_originals_is_full(
    scene: lives.Scene, tmp_path: Path
) -> None:
    some_texts(tmp_path / "given", 6, 200_000)
    with small_disk(4) as disk:
        filler = fill(disk)
        async with scene.life() as one:
            one.blobs = disk / "blobs"
            async with one.working(scene.reading):
                await ingesting.ask(
                    one.database,
                    one.caller,
                    "paths",
                    {"paths": [str(tmp_path / "given")]},
                )
                await until(lambda: _waits(one, "No space left"))
                with filler.open("rb+") as file:
                    file.truncate(file.seek(0, 2) - 500_000)  # room for two
                await until(lambda: _files(one, 2))
                await until(lambda: _waits(one, "No space left"))
                filler.unlink()
                await one.quiet()
            await lives.settled(one)
            assert await _files(one, 6)
            assert not list(one.blobs.rglob(".half-*"))


async def _waits(one: lives.Life, why: str) -> bool:
    """Whether an ingestion says so; reading what is there works meanwhile."""
    await lives.notes_of(one)
    rows = await one.rows("SELECT reason FROM ingestion WHERE state = 'running'")
    return any(
        row["reason"].startswith("waits: ") and why in row["reason"] for row in rows
    )


async def _files(one: lives.Life, count: int) -> bool:
    return await lives.notes_of(one) >= count


async def test_the_disk_of_the_database_is_full(
    scene: lives.Scene, tmp_path: Path
) -> None:
    some_texts(tmp_path / "given", 24, 70_000)  # each too large to go with others
    with small_disk(200) as disk:
        server = await asyncio.to_thread(embedded.acquire, disk)
        async with opened(server) as (database, owner):
            one = lives.Life(database, server.owner_url, owner, tmp_path / "blobs")
            seen: set[str] = set()

            async def stuck() -> bool:
                """Whether it says that it waits, or cannot even say so."""
                try:
                    for row in await one.rows(
                        "SELECT reason FROM ingestion WHERE reason <> ''"
                    ):
                        seen.add(row["reason"])
                except (errors.Unavailable, errors.DiskFull) as away:
                    seen.add(type(away).__name__)
                return bool(seen)

            async with one.working(scene.reading):
                await ingesting.ask(
                    database, owner, "paths", {"paths": [str(tmp_path / "given")]}
                )
                await until(lambda: _files(one, 5))
                filler = fill(disk)
                await until(stuck)
                await asyncio.sleep(2)
                filler.unlink()
                for _ in range(50):
                    with contextlib.suppress(errors.DiskFull, errors.Unavailable):
                        await asyncio.to_thread(server.revive)
                        break
                    await asyncio.sleep(0.1)
                await one.quiet()
                sys.stdout.write(f"told of the full disk: {sorted(seen)}\n")
            await lives.settled(one)
            assert await lives.notes_of(one) == 24
        await asyncio.to_thread(server.release)
