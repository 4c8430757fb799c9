"""How fast files come in, beside `notmuch new` and beside copying and syncing their bytes.

    python bench/ingest_speed.py [--mbox FILE] [--notes DIR] [--unchanged 10000] [--json]

Words are searchable and originals kept and synced when a figure ends; no vectors are
made. Without an mbox, 5,000 letters of some 4.7 KB are made (bench/letters.py), and
2,000 notes without a folder.
notmuch (of Debian) gets the same letters, one file each, in the same run. Everything
lies in a temporary home that is removed at the end.
"""

import argparse
import asyncio
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import letters, spine
from reverie import app, config
from reverie.ingest import durable, ingest_file, ingestions, status
from reverie.ingest.formats import mail

_MB = 1_000_000


class Consumption:
    """The most memory of this process and its readers, and the processor time of all,
    PostgreSQL among them.
    """

    def __init__(self) -> None:
        self.peak = 0

    async def watch(self) -> None:
        """Look ten times a second."""
        while True:
            await asyncio.sleep(0.1)
            self.peak = max(self.peak, await asyncio.to_thread(_held))


def _held() -> int:
    """Bytes that belong to one process alone, of this one and its readers together."""
    me = psutil.Process()
    total = 0
    for process in [me, *me.children(recursive=True)]:
        try:
            if "postgres" not in process.name():
                total += process.memory_full_info().uss
        except psutil.Error:
            continue
    return total


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@asynccontextmanager
async def working(life: app.App) -> AsyncGenerator[None]:
    """Durable ingestion as `reverie up` has it, and nothing else."""
    context = ingest_file.Context(
        life.database, life.owner, life.blobs, life.worker_pool
    )
    async with durable.launched(context, owner_url=life.owner_url):
        yield


async def ingested(life: app.App, path: Path) -> tuple[float, status.Status]:
    """The seconds until all of a path is taken in, and what became of it."""
    began = time.perf_counter()
    async with life.database.transaction(life.owner) as tx:
        asked = await ingestions.ask(tx, life.owner, "paths", {"paths": [str(path)]})
    while True:
        async with life.database.transaction(life.owner) as tx:
            found = await status.status(tx, life.owner, asked, model="")
        if found.ended:
            assert found.ingestion.state == "done", found.ingestion.reason
            return time.perf_counter() - began, found
        await asyncio.sleep(0.05)


async def figures_of(life: app.App, path: Path, name: str) -> dict[str, float]:
    """Seconds, records a second, own processor seconds and memory for one path."""
    consumption = Consumption()
    watching = asyncio.create_task(consumption.watch())
    before = _processor_seconds()
    seconds, found = await ingested(life, path)
    watching.cancel()
    records = sum(found.records.values())
    return {
        f"{name}_records": records,
        f"{name}_s": round(seconds, 2),
        f"{name}_records_s": round(records / seconds, 1),
        f"{name}_ms_each": round(1000 * seconds / max(1, records), 2),
        f"{name}_own_cpu_s": round(_processor_seconds() - before, 2),
        f"{name}_importer_mb": round(consumption.peak / _MB),
    }


def copied(files: list[Path], into: Path) -> float:
    """The seconds to copy files and sync them, all of them at the end."""
    into.mkdir()
    began = time.perf_counter()
    for number, file in enumerate(files):
        shutil.copyfile(file, into / f"{number}")
    os.sync()
    return time.perf_counter() - began


def indexed_by_notmuch(mbox: Path, home: Path) -> float | None:
    """The seconds of `notmuch new` over the letters, one file each; None without it."""
    if shutil.which("notmuch") is None:
        return None
    folder = home / "maildir" / "cur"
    folder.mkdir(parents=True)
    for number, letter in enumerate(mail.messages(mbox.read_bytes())):
        (folder / f"{number:06}.host:2,S").write_bytes(letter)
    (home / "maildir" / "new").mkdir()
    (home / "maildir" / "tmp").mkdir()
    settings = home / "notmuch-config"
    settings.write_text(f"[database]\npath={home / 'maildir'}\n[new]\ntags=\n")
    began = time.perf_counter()
    subprocess.run(
        ["notmuch", f"--config={settings}", "new", "--quiet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


async def measured(options: argparse.Namespace, home: Path) -> dict[str, Any]:
    """All figures, one after another."""
    made = home / "made"
    spine.write_files(made, 5000)
    mbox = options.mbox or made / "letters.mbox"
    if not options.mbox:
        letters.write_mbox(mbox, options.letters)
    notes = options.notes or _some(made / "notes", options.notes_made, home / "notes")
    figures: dict[str, Any] = {
        "copy_mbox_s": round(copied([mbox], home / "copy1"), 3),
        "copy_notes_s": round(copied(_files(notes), home / "copy2"), 3),
    }
    # the files lie beside the home: nothing in a home is ever read
    settings = config.Config(
        home=home / "home", embedding=config.Embedding(provider="none")
    )
    async with app.opened(settings) as life, working(life):
        figures |= await figures_of(life, mbox, "mail")
        figures |= await figures_of(life, notes, "note")
        if options.unchanged:
            tree = home / "tree"
            _some(made / "notes", options.unchanged, tree)
            await ingested(life, tree)
            seconds, found = await ingested(life, tree)
            figures["unchanged_files"] = found.files.get("unchanged", 0)
            figures["unchanged_s"] = round(seconds, 2)
    other = indexed_by_notmuch(mbox, home)
    if other is not None:
        figures["notmuch_s"] = round(other, 2)
        figures["mail_to_notmuch"] = round(figures["mail_s"] / other, 2)
    figures["note_to_mail"] = round(
        figures["note_ms_each"] / figures["mail_ms_each"], 2
    )
    figures["mail_to_copy"] = round(figures["mail_s"] / figures["copy_mbox_s"], 1)
    figures["note_to_copy"] = round(figures["note_s"] / figures["copy_notes_s"], 1)
    return figures


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _some(folder: Path, most: int, into: Path) -> Path:
    """A folder with so many of the files of another, whose words they repeat."""
    into.mkdir()
    texts = [path.read_text(encoding="utf-8") for path in _files(folder)]
    for number in range(most):
        text = texts[number % len(texts)]
        if number >= len(texts):
            text += f"\nAnother one, number {number}.\n"
        (into / f"{number:06}.md").write_text(text, encoding="utf-8")
    return into


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mbox", type=Path)
    parser.add_argument("--notes", type=Path)
    parser.add_argument("--letters", type=int, default=5000, help="to be generated")
    parser.add_argument("--notes-made", type=int, default=2000)
    parser.add_argument(
        "--unchanged", type=int, default=0, help="files, looked at twice"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="ris", dir="/tmp"))
    home.chmod(0o711)  # PostgreSQL runs as another user when we are root
    try:
        figures = asyncio.run(measured(options, home))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    figures |= {"python": platform.python_version(), "cores": os.cpu_count()}
    if options.json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:24} {value}")


if __name__ == "__main__":
    main()
