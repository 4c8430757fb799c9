"""`reverie import` and `reverie rebuild`."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import rich.progress
import typer

from reverie import app
from reverie.cli import show
from reverie.ingest import importer, report
from reverie.pipeline import progress as following
from reverie.pipeline import rebuild as rebuilding


def import_files(
    paths: Annotated[list[Path], typer.Argument(help="Files and folders: notes, calendars, contacts, mail, …")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole report as JSON.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name every file.")] = False,
) -> None:
    """Bring files in. What is there already is left alone; a bad file never stops the rest."""
    asyncio.run(_import(paths, as_json=as_json, verbose=verbose))


def rebuild(
    words_only: Annotated[bool, typer.Option(help="Keep the vectors; make only passages and terms again.")] = False,
) -> None:
    """Make everything derived again from the records: passages, terms, vectors."""
    asyncio.run(_rebuild(vectors=not words_only))


async def _import(paths: Sequence[Path], *, as_json: bool, verbose: bool) -> None:
    files = list(importer.find(paths))
    async with app.opened(app.read_settings()) as reverie:
        done = await import_into(reverie, files)
        if as_json:
            show.as_json(done.as_json())
        else:
            print_report(done, verbose=verbose)
        await catch_up(reverie)


async def import_into(reverie: app.App, files: Sequence[importer.Found]) -> report.Report:
    """Import with a progress bar."""
    with show.progress() as bar:
        task = bar.add_task("importing", total=len(files))
        return await importer.run(
            reverie.database,
            reverie.owner,
            blob_root=reverie.blobs,
            files=files,
            progress=lambda number, one: bar.update(task, completed=number),
        )


async def catch_up(reverie: app.App) -> None:
    """Let the slots follow, with a progress bar; Ctrl-C leaves the rest for the next time."""
    with show.progress() as bar:
        task: rich.progress.TaskID | None = None
        told = ""
        async for state in following.follow(reverie.database, reverie.embeddings, reverie.owner):
            if state.texts == state.vectors:
                continue
            if task is None:
                task = bar.add_task("learning what it means (Ctrl-C: later)", total=state.texts)
            bar.update(task, completed=state.vectors, total=state.texts)
            if state.trouble and state.trouble != told:
                told = state.trouble
                show.note(f"Search goes by words for now: {state.trouble}")


def print_report(done: report.Report, *, verbose: bool) -> None:
    """The report for people: what failed and was skipped by reason, then the counts."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for file in done.files:
        if file.status in ("failed", "skipped"):
            reasons.setdefault((file.status, file.reason), []).append(file.path)
        for item in file.skipped:
            reasons.setdefault(("left out", item["reason"]), []).append(f"{file.path}: {item['item']}")
        if verbose:
            show.line(show.safe(f"{file.status:>9}  {file.path}  {file.reason}".rstrip()))
    for (status, reason), paths in sorted(reasons.items()):
        style = "red" if status == "failed" else "dim"
        more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
        show.line(show.safe(f"{status:>9}  {reason}: {', '.join(paths[:2])}{more}"), style=style)
    show.line(
        f"{done.imported} imported, {done.updated} updated, {done.unchanged} unchanged,"
        f" {done.skipped} skipped, {done.failed} failed.",
        style="bold",
    )


async def _rebuild(*, vectors: bool) -> None:
    async with app.opened(app.read_settings()) as reverie:
        with show.progress() as bar:
            task = bar.add_task("reading records", total=None)
            count = await rebuilding.rebuild(
                reverie.database,
                reverie.owner,
                vectors=vectors,
                progress=lambda done: bar.update(task, completed=done),
            )
        await catch_up(reverie)
        show.line(f"Rebuilt from {count} records.")
