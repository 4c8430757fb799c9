"""What becomes of hostile files: every variant of tests/ingest/broken.py, and every
file of the test data.

    TEST_DATA=… .venv/bin/python bench/hostile_files.py [--seed 7] [--only broken|data] [--named WORD] [--all]

Each is read by the product's own worker pool. Printed: how many, how they ended and
why, the slowest, the most memory, and how often a process that is not the file's own
had to be started again. The exit is 1 if one of them ended without a reason, took more
than 35 seconds, or more than 512 MB.
"""

import argparse
import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.documents import units
from reverie.ingest.sandbox import pool, wire
from tests.ingest import broken

MB = 1024 * 1024
# 30 without a unit, and what is between two looks at the clock of a busy machine
SECONDS = 35.0
MEMORY = 512 * MB


@dataclass(frozen=True, slots=True)
class Ended:
    """How one file ended; `wait` is the longest time between two messages, in seconds."""

    name: str
    state: str
    reason: str
    items: int
    seconds: float
    wait: float
    peak: int


def sources(options: argparse.Namespace) -> Iterator[tuple[str, bytes | Path]]:
    if options.only != "data":
        for variant in broken.variants(options.seed):
            if options.named in variant.name:
                yield variant.name, variant.make()
    folder = Path(os.environ.get("TEST_DATA", ""))
    if options.only != "broken" and folder.is_dir():
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not path.is_symlink() and options.named in name:
                yield name, path


async def read(opened: pool.WorkerPool, name: str, source: bytes | Path) -> Ended:
    """One file to its end."""
    items, wait, peak = 0, 0.0, 0
    started = last = time.perf_counter()
    state, reason = "nothing", ""
    try:
        async for message in opened.read(pool.ReadJob(source, PurePosixPath(name))):
            now = time.perf_counter()
            wait, last = max(wait, now - last), now
            match message:
                case wire.Done():
                    state, reason, peak = (
                        "read",
                        "" if items else "nothing in it",
                        message.peak,
                    )
                case wire.Broken():
                    state, reason, peak = (
                        "locked" if message.locked else "broken",
                        message.reason,
                        message.peak,
                    )
                case wire.Unread():
                    state, reason = "skipped", message.reason
                case (
                    units.Unit() | drafts.Draft() | drafts.Skip() | units.EmbeddedFile()
                ):
                    items += 1
                case _:
                    pass
    except errors.ReverieError as refused:
        state, reason = "refused", refused.message
    return Ended(name, state, reason, items, time.perf_counter() - started, wait, peak)


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=broken.SEED)
    parser.add_argument("--only", choices=["broken", "data"])
    parser.add_argument("--named", default="")
    parser.add_argument("--all", action="store_true", help="print every file")
    options = parser.parse_args()
    before = psutil.Process().memory_info().rss
    ends: list[Ended] = []
    async with pool.WorkerPool() as opened:
        for name, source in sources(options):
            ends.append(await read(opened, name, source))
            if options.all:
                print(show(ends[-1]), flush=True)
        starts = opened.starts
    return report(ends, starts, before)


def show(one: Ended) -> str:
    return f"{one.seconds:6.2f} s {one.peak // MB:4d} MB {one.items:6d}  {one.state:8} {one.name}  {one.reason}"


def report(ends: list[Ended], starts: int, before: int) -> int:
    print(f"{len(ends)} files, {sum(one.seconds for one in ends):.0f} s")
    states = Counter((one.state, one.reason) for one in ends)
    for (state, reason), count in sorted(
        states.items(), key=lambda pair: (pair[0][0], -pair[1])
    ):
        print(f"{count:5d}  {state:8} {reason}")
    by_time = sorted(ends, key=lambda one: one.seconds, reverse=True)
    by_memory = sorted(ends, key=lambda one: one.peak, reverse=True)
    for title, worst in (("slowest", by_time), ("largest", by_memory)):
        print(title, *(show(one) for one in worst[:8]), sep="\n  ")
    faults = [
        one
        for one in ends
        if one.state == "nothing"
        or (one.state != "read" and not one.reason)
        or one.wait > SECONDS
        or one.peak > MEMORY
    ]
    grown = (psutil.Process().memory_info().rss - before) // MB
    print(
        f"without a reason, too slow or too large: {len(faults)}; of the service 0 restarts, {grown} MB grown"
    )
    print(f"zygotes started: {starts}")
    for one in faults:
        print("  " + show(one))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
