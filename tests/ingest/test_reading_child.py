"""The worker pool: whatever a reader does, its file ends with a reason, and the next
file is read.
"""

import asyncio
import datetime as dt
import gc
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path, PurePosixPath

import psutil
import pytest
import pytest_asyncio

from reverie import errors
from reverie.ingest import detect, drafts, prepare, scan
from reverie.ingest.documents import kinds, units
from reverie.ingest.sandbox import limits, pool, wire
from tests.conftest import DATA

MB = 1024 * 1024
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
SHORT = limits.SandboxLimits(seconds=1, memory=160 * MB, frame=2 * MB, output=20 * MB)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def odd() -> AsyncIterator[pool.WorkerPool]:
    """A worker pool whose readers do what no reader may."""
    async with pool.WorkerPool(readers="tests.ingest.odd_readers") as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def real() -> AsyncIterator[pool.WorkerPool]:
    """A worker pool as the product has it."""
    async with pool.WorkerPool() as opened:
        yield opened


async def read(
    opened: pool.WorkerPool,
    name: str,
    data: bytes | Path = b"x",
    *,
    allowed: limits.SandboxLimits = SHORT,
    first: int = 1,
    password: str = "",
) -> list[wire.Message]:
    job = pool.ReadJob(
        data, PurePosixPath(name), allowed=allowed, first=first, password=password
    )
    return [message async for message in opened.read(job)]


def said(messages: list[wire.Message]) -> dict[str, str]:
    """What a unit says line by line, as `name=value`."""
    (unit,) = (message for message in messages if isinstance(message, units.Unit))
    return dict(block.text.split("=", 1) for block in unit.blocks)


@pytest.mark.parametrize(
    ("name", "reason", "cause", "found"),
    [
        ("endless", "it takes more than 1 s to read", "time", 1),
        ("asleep", "it takes more than 1 s to read", "time", 0),
        ("deaf", "it takes more than 1 s to read", "time", 0),
        ("hungry", "it takes more than 160 MB to read", "memory", 1),
        pytest.param(
            "greedy", "it takes more than 160 MB to read", "memory", 0, marks=LINUX
        ),
        ("segfault", "its reader broke off (signal 11)", "crash", 1),
        ("exits", "its reader broke off (SystemExit)", "crash", 1),
        ("leaves", "its reader broke off (exit 3)", "crash", 1),
        ("raises", "its reader broke off (ZeroDivisionError)", "crash", 1),
        ("refuses", "the file is cut short", "file", 1),
        ("infinite", "more than 20 MB come out of it", "output", 19),
        ("mute", "its reader broke off", "crash", 1),
    ],
)
async def test_a_reader_that_breaks_leaves_a_reason(
    odd: pool.WorkerPool, name: str, reason: str, cause: str, found: int
) -> None:
    started = time.monotonic()
    # On a busy machine a second is over before much memory is taken.
    allowed = SHORT if cause == "time" else replace(SHORT, seconds=20)
    began, *messages, last = await read(odd, name, allowed=allowed)
    assert began == wire.Began(name)
    assert isinstance(last, wire.Broken)
    assert (last.reason, last.cause, last.locked) == (reason, cause, False)
    assert len(messages) == found
    assert last.peak < SHORT.memory * 1.1
    assert time.monotonic() - started < allowed.seconds + 30
    assert isinstance((await read(odd, "plain"))[-1], wire.Done)


async def test_a_file_that_wants_a_password_is_locked_until_it_is_given(
    odd: pool.WorkerPool,
) -> None:
    broken = (await read(odd, "locked"))[-1]
    assert isinstance(broken, wire.Broken)
    assert broken.locked
    assert isinstance(broken.error(), errors.Locked)
    _, unit, _ = await read(odd, "locked", password="open sesame", first=4)
    assert isinstance(unit, units.Unit)
    assert unit.number == 4


async def test_empty_messages_without_end_come_to_an_end(odd: pool.WorkerPool) -> None:
    broken = (await read(odd, "trickle", allowed=limits.SandboxLimits(output=200_000)))[
        -1
    ]
    assert isinstance(broken, wire.Broken)
    assert broken.cause == "output"


async def test_the_clock_counts_for_each_unit_and_not_while_the_caller_is_busy(
    odd: pool.WorkerPool,
) -> None:
    job = pool.ReadJob(
        b"x", PurePosixPath("slow"), allowed=limits.SandboxLimits(seconds=0.8)
    )
    numbers: list[int] = []
    last: wire.Message | None = None
    async for message in odd.read(job):
        if isinstance(message, units.Unit):
            numbers.append(message.number)
            if message.number == 1:
                await asyncio.sleep(1.5)
        last = message
    assert numbers == [1, 2, 3, 4, 5]
    assert isinstance(last, wire.Done)


async def test_documents_come_through_as_they_are_and_clean(
    odd: pool.WorkerPool,
) -> None:
    _, about, unit, attachment, done = await read(odd, "plain")
    assert about == units.About("Title", "Ann", "2024-01-02", "utf-8")
    assert unit == units.Unit(
        7,
        9,
        (
            units.Block("Head", "heading", 2),
            units.Block(
                "ab � ñ", "row", 0, {"page": 7, "rows": [1, 2], "section": "One"}
            ),
        ),
        {"page": 7},
        "by OCR",
    )
    assert attachment == units.EmbeddedFile("ü.bin", "image/png", bytes(range(256)))
    assert isinstance(done, wire.Done)
    assert done.peak > MB


async def test_what_is_too_large_for_a_frame(odd: pool.WorkerPool) -> None:
    allowed = limits.SandboxLimits(frame=2 * MB)
    _, skip, broken = await read(odd, "large", allowed=allowed)
    assert skip == drafts.Skip("a.bin", "an attachment larger than 2 MB")
    assert isinstance(broken, wire.Broken)
    assert broken.reason == "one part of it is larger than 2 MB"
    wide = (await read(odd, "wide", allowed=limits.SandboxLimits()))[-1]
    assert isinstance(wide, wire.Broken)
    assert wide.reason == "one part of it is larger than 16 MB"


async def test_a_long_unit_comes_whole_and_holds_nobody_up(
    odd: pool.WorkerPool,
) -> None:
    pauses: list[float] = []

    async def beats() -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            pauses.append(now - last)
            last = now

    beating = asyncio.create_task(beats())
    gc.disable()  # what a collection takes depends on all the tests before this one
    try:
        _, _, unit, done = await read(odd, "long", allowed=limits.SandboxLimits())
    finally:
        gc.enable()
        beating.cancel()
    assert isinstance(unit, units.Unit)
    assert (unit.number, unit.total, unit.place, unit.remark) == (
        2,
        2,
        {"sheet": "One"},
        "long",
    )
    assert [block.text for block in unit.blocks] == [
        f"ü{number}" for number in range(50_000)
    ]
    assert unit.blocks[49_999].place == {"rows": [49_999, 49_999]}
    assert isinstance(done, wire.Done)
    assert max(pauses) < 0.15  # all of it in one go takes four times that


async def test_a_file_nobody_reads(odd: pool.WorkerPool) -> None:
    assert await read(odd, "nothing") == [wire.Unread("nobody reads this")]
    assert await read(odd, "no_such_reader") == [
        wire.Unread("odd files are not read yet")
    ]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n\r\n" * 10,
        b"\xff" * 16,
        b"\x00\x00\x00\x02\x00\x00\x00\x00{}",
        wire.frame(["unit", 1, 1, {}, "", [[5, "text", 0]]], [b"abc"]),
        wire.frame(["unit", 1, 1, {}, "", [[3, "shout", 0]]], [b"abc"]),
        wire.frame(["unit", 1, 1, {}, "", [[-3, "text", 0]]], [b"abc"]),
        wire.frame(["unit", True, 1, {}, "", []]),
        wire.frame(["unit", 1, 1, {"page": {"a": 1}}, "", []]),
        wire.frame(["unit", 1, 1, {}, "", [[2, "text", 0]]], [b"\xff\xff"]),
        wire.frame(["part", []]) + wire.frame(["done"]),
        wire.frame(["unit", 1, 1, {"no name": 1}, "", []]),
        wire.frame(["draft", "note", "", {"start": ["datetime", "yesterday"]}, {}]),
        wire.frame(["draft", "note", "", {"price": ["decimal", "much"]}, {}]),
        wire.frame(["draft", "note", "", {"x": ["pickle", "cos\nsystem"]}, {}]),
        wire.frame(["broken", "a", "yes", "file"]),
        wire.frame(["spell", "a"]),
        b"\x00\x00\xff\xff\x00\x00\x00\x00" + b"[" * 0xFFFF,
        b'\x00\x00\x00\x0c\x00\x00\x00\x00["done",NaN]',
    ],
)
async def test_an_answer_that_is_no_message_is_not_believed(
    odd: pool.WorkerPool, answer: bytes
) -> None:
    last = (await read(odd, "lying", answer))[-1]
    assert isinstance(last, wire.Broken)
    assert (last.reason, last.cause) == ("its reader broke off", "crash")


@LINUX
async def test_a_child_sees_its_file_and_nothing_else(odd: pool.WorkerPool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1]).encode()
        os.environ["REVERIE_SECRET_FOR_TEST"] = "x"
        try:
            first = said(await read(odd, "around", port))
            second = said(await read(odd, "around", port))
        finally:
            del os.environ["REVERIE_SECRET_FOR_TEST"]
    opened = [
        name
        for name in first["files"].split(",")
        if name != "/dev/null" and not name.startswith("/proc/")
    ]
    assert len(opened) == 1
    assert opened[0].startswith("socket:")
    assert first["environment"] == ""
    assert first["group"] == "True"
    assert first["core"] == "(0, 0)"
    assert int(first["nice"]) >= 5
    assert first["write"] == "OSError"
    assert first["heavy"] == ""
    assert first["parent"] == second["parent"]
    assert first["number"] != second["number"]
    assert second["kept"] == ""  # what one file left behind, the next one does not see
    if first["network"] == "done":
        pytest.skip("this system lets no one leave its network")


async def test_noise_goes_nowhere(
    odd: pool.WorkerPool, capfd: pytest.CaptureFixture[str]
) -> None:
    assert isinstance((await read(odd, "noisy"))[-1], wire.Done)
    assert capfd.readouterr() == ("", "")


async def _gone(number: int) -> None:
    for _ in range(100):
        if (
            not psutil.pid_exists(number)
            or psutil.Process(number).status() == psutil.STATUS_ZOMBIE
        ):
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it lives")


@LINUX
async def test_who_a_child_started_ends_with_it(odd: pool.WorkerPool) -> None:
    _, unit, broken = await read(odd, "descends")
    assert isinstance(unit, units.Unit)
    assert isinstance(broken, wire.Broken)
    assert broken.cause == "time"
    await _gone(unit.number)


async def test_leaving_early_ends_the_child(odd: pool.WorkerPool) -> None:
    number = 0
    async with aclosing(
        odd.read(pool.ReadJob(b"x", PurePosixPath("waits")))
    ) as messages:
        async for message in messages:
            if isinstance(message, units.Unit):
                number = message.number
                break
    assert number
    assert not psutil.pid_exists(number)


async def test_a_cancelled_reading_ends_the_child(odd: pool.WorkerPool) -> None:
    numbers: asyncio.Queue[int] = asyncio.Queue()

    async def reading() -> None:
        async for message in odd.read(pool.ReadJob(b"x", PurePosixPath("waits"))):
            if isinstance(message, units.Unit):
                numbers.put_nowait(message.number)

    task = asyncio.create_task(reading())
    number = await numbers.get()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _gone(number)


async def test_a_zygote_that_is_killed_is_started_again(odd: pool.WorkerPool) -> None:
    _, unit, last = await read(odd, "parent")  # the reader kills it
    assert isinstance(unit, units.Unit)
    assert last == wire.Broken("its reader was stopped from outside", cause="stopped")
    await _gone(unit.number)
    assert isinstance((await read(odd, "plain"))[-1], wire.Done)


async def test_a_zygote_killed_between_two_files_is_not_noticed(
    odd: pool.WorkerPool,
) -> None:
    if sys.platform != "linux":
        pytest.skip("looks into /proc")
    zygote = int(said(await read(odd, "around", b"1"))["parent"])
    os.kill(zygote, signal.SIGKILL)
    assert isinstance((await read(odd, "plain"))[-1], wire.Done)


async def test_files_are_read_side_by_side_and_one_that_breaks_stops_no_other(
    odd: pool.WorkerPool,
) -> None:
    names = ["segfault", "plain", "leaves", "plain", "exits", "plain"]
    ends = await asyncio.gather(*(read(odd, name) for name in names))
    assert [type(end[-1]) for end in ends] == [wire.Broken, wire.Done] * 3


async def test_closing_ends_every_process() -> None:
    opened = pool.WorkerPool(readers="tests.ingest.odd_readers")
    before = set(psutil.Process().children(recursive=True))
    messages = opened.read(pool.ReadJob(b"x", PurePosixPath("waits")))
    async for message in messages:
        if isinstance(message, units.Unit):
            break
    started = set(psutil.Process().children(recursive=True)) - before
    assert len(started) == 2
    await opened.close()
    for process in started:
        await _gone(process.pid)
    rest = [message async for message in messages]
    assert rest == [wire.Broken("its reader was stopped from outside", cause="stopped")]
    with pytest.raises(errors.Unavailable):
        await read(opened, "plain")


async def test_nothing_is_started_before_a_file_is_read() -> None:
    before = psutil.Process().children(recursive=True)
    async with pool.WorkerPool():
        assert psutil.Process().children(recursive=True) == before


@LINUX
async def test_the_children_of_a_service_that_is_killed_end(tmp_path: Path) -> None:
    program = tmp_path / "service.py"
    program.write_text(
        "import asyncio, pathlib\n"
        "from reverie.ingest.sandbox import pool\n"
        "async def main():\n"
        "    opened = pool.WorkerPool(readers='tests.ingest.odd_readers')\n"
        "    async for one in opened.read(pool.ReadJob(b'x', pathlib.PurePosixPath('waits'))):\n"
        "        print(getattr(one, 'number', ''), flush=True)\n"
        "asyncio.run(main())\n"
    )
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    service = await asyncio.create_subprocess_exec(
        sys.executable, str(program), stdout=asyncio.subprocess.PIPE, env=surroundings
    )
    assert service.stdout is not None
    await service.stdout.readline()
    number = int(await service.stdout.readline())
    zygote = psutil.Process(number).ppid()
    service.kill()
    await service.wait()
    await _gone(number)
    await _gone(zygote)


async def test_files_that_cannot_be_opened(
    odd: pool.WorkerPool, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        ("pipe", "a pipe"),
        ("missing", "No such file"),
        (".", "folder"),
    ):
        with pytest.raises(errors.Unreadable, match=words):
            await read(odd, "plain", tmp_path / name)


def test_every_kind_of_value_survives_the_wire() -> None:
    zone = dt.timezone(dt.timedelta(hours=5, minutes=45))
    draft = drafts.Draft(
        "event",
        "uid:1",
        {
            "title": "ü 漢 \U0001f600",
            "start": dt.datetime(2024, 3, 31, 2, 30, 15, 7, tzinfo=zone),
            "naive": dt.datetime(2024, 3, 31, 2, 30, fold=1),  # noqa: DTZ001
            "day": dt.date(2024, 2, 29),
            "clock": dt.time(8, 5, tzinfo=dt.UTC),
            "length": dt.timedelta(days=-1, seconds=3, microseconds=4),
            "price": Decimal("10.50"),
            "whole": 2**70,
            "part": 0.1,
            "no_number": float("inf"),
            "yes": True,
            "tags": ["a", ("b", 1)],
            "custom": {"$datetime": "x", "deep": {"a": [1, None, 2.5]}},
        },
        {"feed_id": "url:x"},
    )
    again = _again(draft)
    assert again == draft
    assert prepare.digest_of(again) == prepare.digest_of(draft)
    assert [type(value) for value in again.fields.values()] == [
        type(value) for value in draft.fields.values()
    ]


def _again(draft: drafts.Draft) -> drafts.Draft:
    data = wire.encode(draft)
    header, payload = wire.LENGTHS.unpack(data[:8])
    assert len(data) == 8 + header + payload
    decoded = wire.decode(data[8 : 8 + header], data[8 + header :])
    assert isinstance(decoded, drafts.Draft)
    return decoded


async def test_the_test_data_is_read_as_in_this_process(real: pool.WorkerPool) -> None:
    folders = [
        DATA / name
        for name in ("mail", "ics", "vcf", "bookmarks", "feeds", "vault-obsidian")
    ]
    if not folders[0].is_dir():
        pytest.skip(f"the test data is not at {DATA}")
    read_here = 0
    for number, found in enumerate(scan.find(folders)):
        if number % 3 or found.problem or found.file.stat().st_size > 100_000:
            continue
        mtime = dt.datetime.fromtimestamp(found.file.stat().st_mtime, dt.UTC)
        here = _in_process(found, mtime)
        job = pool.ReadJob(found.file, found.relative, vault=found.vault, mtime=mtime)
        there = [
            message
            async for message in real.read(job)
            if not isinstance(message, wire.Began)
        ]
        *items, last = there
        if isinstance(here, str):
            assert isinstance(last, wire.Unread | wire.Done), found.relative
            continue
        read_here += 1
        assert items == here[0], found.relative
        assert [
            prepare.digest_of(item) for item in items if isinstance(item, drafts.Draft)
        ] == here[2]
        assert isinstance(last, wire.Broken) if here[1] else isinstance(last, wire.Done)
    assert read_here > 50


def _in_process(
    found: scan.ScannedFile, mtime: dt.datetime
) -> str | tuple[list[object], str, list[bytes]]:
    data = found.file.read_bytes()
    reader = detect.look(data[: detect.HEAD], found.relative)
    if isinstance(reader, str | kinds.DocumentFormat):
        return "another reader"
    items: list[object] = []
    problem = ""
    try:
        items += reader(
            drafts.SourceFile(found.file, found.relative, data, found.vault, mtime)
        )
    except errors.Unreadable as broken:
        problem = broken.message
    return (
        items,
        problem,
        [prepare.digest_of(item) for item in items if isinstance(item, drafts.Draft)],
    )


async def test_a_real_text_through_the_product(
    real: pool.WorkerPool, tmp_path: Path
) -> None:
    path = tmp_path / "blob"
    path.write_bytes("Grüße aus Málaga".encode("latin-1"))
    job = pool.ReadJob(
        path, PurePosixPath("trip/notes.txt"), path=Path("/somewhere/trip/notes.txt")
    )
    began, draft, done = [message async for message in real.read(job)]
    assert began == wire.Began("plain")
    assert isinstance(draft, drafts.Draft)
    assert (draft.fields["title"], draft.fields["content"]) == (
        "notes",
        "Grüße aus Málaga",
    )
    assert isinstance(done, wire.Done)


async def test_a_folder_of_hostile_modules_is_not_imported_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit")
    shutil.copy(tmp_path / "json.py", tmp_path / "selectors.py")
    monkeypatch.chdir(tmp_path)
    async with pool.WorkerPool() as opened:
        assert isinstance((await read(opened, "a.txt"))[-1], wire.Done)


async def _steps_of(reading: asyncio.Task[list[wire.Message]], count: int) -> None:
    """Let a task go so many turns of the loop, or to its end."""
    for _ in range(count):
        if reading.done():
            return
        await asyncio.sleep(0.0005)


async def test_who_is_stopped_twice_leaves_nothing_open() -> None:
    """The second time while the child is being ended."""
    async with pool.WorkerPool(readers="tests.ingest.odd_readers") as opened:
        await read(opened, "plain")
        gc.collect()
        before = psutil.Process().num_fds()
        for turns in range(60):
            reading = asyncio.create_task(read(opened, "plain"))
            await _steps_of(reading, 3 + turns // 6)
            reading.cancel()
            for _ in range(turns % 6):
                await asyncio.sleep(0)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        await asyncio.sleep(0)
        assert psutil.Process().num_fds() <= before
        gc.collect()


async def test_who_stops_waiting_at_any_moment_leaves_nothing_open() -> None:
    """Before a zygote is there, while a child is born, and while it reads."""
    async with pool.WorkerPool(readers="tests.ingest.odd_readers") as opened:
        await read(opened, "plain")
        gc.collect()
        before = psutil.Process().num_fds()
        for turns in range(40):
            reading = asyncio.create_task(read(opened, "plain"))
            await _steps_of(reading, turns)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        assert psutil.Process().num_fds() <= before
    for turns in range(20):
        async with pool.WorkerPool(readers="tests.ingest.odd_readers") as opened:
            reading = asyncio.create_task(read(opened, "plain"))
            await _steps_of(reading, turns)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    assert psutil.Process().num_fds() <= before
    gc.collect()
