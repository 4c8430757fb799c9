"""Durable ingestion's figures: a second run over an unchanged folder, one changed file,
a long PDF and its resuming.

    python bench/documents.py [--files 1000] [--pages 1000] [--json]

Everything lies in a temporary home that is removed at the end. The long PDF is read in
a process that is stopped in the middle and started again; no page may be read twice.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reverie import app, config
from reverie.ingest import durable, ingest_file, ingestions, status
from tests.ingest import pdfs

WORDS = "river harbour lamp winter ledger orchard copper violin meadow compass anchor lantern gravel thistle".split()  # noqa: SIM905
_HASHES = "SELECT record_id, array_agg(hash ORDER BY ordinal) AS hashes FROM passage WHERE user_id = %s GROUP BY 1"
_UNITS = "SELECT number, at FROM unit WHERE user_id = %s AND number > 0"


def page(number: int) -> str:
    """Forty lines of text that name their page."""
    lines = [
        f"Page {number}, line {line}: the "
        + " ".join(WORDS[(number * 7 + line * 3 + k) % len(WORDS)] for k in range(9))
        for line in range(40)
    ]
    return pdfs.drawn(lines)


@asynccontextmanager
async def working(life: app.App) -> AsyncIterator[None]:
    desk = ingest_file.Context(life.database, life.owner, life.blobs, life.worker_pool)
    async with durable.launched(desk, owner_url=life.owner_url, patience_s=0.2):
        yield


async def asked(life: app.App, path: Path) -> UUID:
    async with life.database.transaction(life.owner) as tx:
        return await ingestions.ask(tx, life.owner, "paths", {"paths": [str(path)]})


async def far(life: app.App, ingestion_id: UUID) -> status.Status:
    async with life.database.transaction(life.owner) as tx:
        return await status.status(tx, life.owner, ingestion_id, model="")


async def looks(life: app.App, ingestion_id: UUID) -> AsyncIterator[status.Status]:
    """How far it is, many times a second, until it has ended."""
    while True:
        found = await far(life, ingestion_id)
        yield found
        if found.ended:
            return
        await asyncio.sleep(0.02)


async def done(life: app.App, ingestion_id: UUID) -> status.Status:
    found = [one async for one in looks(life, ingestion_id)][-1]
    assert found.ingestion.state == "done", found.ingestion.reason
    return found


async def folder(life: app.App, files: int, home: Path) -> dict[str, Any]:
    """A folder three times: new, unchanged, with one changed file."""
    given = home / "given"
    given.mkdir()
    for number in range(files):
        text = "\n\n".join(
            f"Paragraph {n} of note {number}: {' '.join(WORDS[n % 7 :])}."
            for n in range(6)
        )
        (given / f"note{number:04}.md").write_text(
            f"# Note {number}\n\n{text}\n", encoding="utf-8"
        )
    figures: dict[str, Any] = {"files": files}
    async with working(life):
        began = time.perf_counter()
        first = await done(life, await asked(life, given))
        figures["first_s"] = round(time.perf_counter() - began, 1)
        assert first.files == {"imported": files}
        before = await hashes(life)
        began = time.perf_counter()
        second = await done(life, await asked(life, given))
        figures["unchanged_s"] = round(time.perf_counter() - began, 2)
        assert second.files == {"unchanged": files}, second.files
        assert await hashes(life) == before
        changed = given / "note0001.md"
        changed.write_text(
            changed.read_text(encoding="utf-8").replace("Paragraph 3", "Chapter 3"),
            encoding="utf-8",
        )
        third = await done(life, await asked(life, given))
        assert third.files == {"imported": 1, "unchanged": files - 1}, third.files
        after = await hashes(life)
        different = [record for record, own in after.items() if before[record] != own]
        assert len(different) == 1
        figures["changed_passages"] = len(
            set(after[different[0]]) - set(before[different[0]])
        )
        figures["passages_of_it"] = len(after[different[0]])
    return figures


async def hashes(life: app.App) -> dict[UUID, list[bytes]]:
    """The texts of each record's passages, by their keys."""
    async with life.database.transaction(life.owner) as tx:
        return {
            row["record_id"]: row["hashes"]
            for row in await tx.rows(_HASHES, (life.owner.user_id,))
        }


async def long_pdf(life: app.App, pages: int, home: Path) -> dict[str, Any]:
    """A long PDF: until the first page shows, all of it, the memory, and pages that
    were read twice.
    """
    pdf = home / "long.pdf"
    pdf.write_bytes(pdfs.built([page(number) for number in range(1, pages + 1)]))
    figures: dict[str, Any] = {
        "pages": pages,
        "pdf_mb": round(pdf.stat().st_size / 1e6, 1),
    }
    peak = Peak()
    watching = asyncio.create_task(peak.watch())
    async with working(life):
        began = time.perf_counter()
        ingestion = await asked(life, pdf)
        async for found in looks(life, ingestion):
            if found.units:
                figures.setdefault(
                    "first_progress_s", round(time.perf_counter() - began, 2)
                )
                figures["stopped_at_page"] = found.units
            if found.units >= pages // 2:
                break
    async with life.database.transaction(life.owner) as tx:
        kept = {
            row["number"]: row["at"]
            for row in await tx.rows(_UNITS, (life.owner.user_id,))
        }
    resumed = time.perf_counter()
    twice = 0
    async with working(life):
        async for _ in looks(life, ingestion):
            async with life.database.transaction(life.owner) as tx:
                now = {
                    row["number"]: row["at"]
                    for row in await tx.rows(_UNITS, (life.owner.user_id,))
                }
            twice = max(
                twice,
                sum(kept[number] != now[number] for number in kept if number in now),
            )
        last = await done(life, ingestion)
    assert last.files == {"imported": 1}, last.files
    figures |= {
        "kept_pages": len(kept),
        "pages_read_twice": twice,
        "rest_s": round(time.perf_counter() - resumed, 1),
        "passages": last.passages,
    }
    watching.cancel()
    return figures | {"peak_mb": round(peak.bytes / 1e6)}


class Peak:
    """The most memory that this process and its children (without PostgreSQL) held at
    once.
    """

    def __init__(self) -> None:
        self.bytes = 0

    async def watch(self) -> None:
        """Look ten times a second."""
        while True:
            await asyncio.sleep(0.1)
            self.bytes = max(self.bytes, await asyncio.to_thread(_held))


def _held() -> int:
    me = psutil.Process()
    total = 0
    for one in [me, *me.children(recursive=True)]:
        try:
            total += 0 if "postgres" in one.name() else one.memory_info().rss
        except psutil.Error:
            continue
    return total


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--files", type=int, default=1000)
    options.add_argument("--pages", type=int, default=1000)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    home = Path(tempfile.mkdtemp(prefix="reverie-bench-", dir="/tmp"))
    home.chmod(0o711)
    try:
        figures = asyncio.run(measured(home, given.files, given.pages))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:>18}  {value}")


async def measured(home: Path, files: int, pages: int) -> dict[str, Any]:
    own = home / "home"  # the files lie beside it: nothing in a home is ever read
    settings = config.Config(home=own, embedding=config.Embedding(provider="none"))
    async with app.opened(settings) as life:
        return await folder(life, files, home) | await long_pdf(life, pages, home)


if __name__ == "__main__":
    main()
