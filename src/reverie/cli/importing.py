"""`reverie import`, `reverie watch` and `reverie rebuild`."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, cast
from uuid import UUID

import rich.progress
import typer

from reverie import app, compact, errors
from reverie.cli import terminal
from reverie.ingest import durable, importer, ingest_file, ingestions, report, scan
from reverie.ingest import status as standing
from reverie.ingest import watch as watching
from reverie.pipeline import progress as following
from reverie.pipeline import rebuild as rebuilding
from reverie.pipeline import worker

_EVERY_S = 0.2


def import_files(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Files and folders: notes, calendars, contacts, mail, …"),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the whole report as JSON.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name every file.")
    ] = False,
    password: Annotated[
        str, typer.Option(help="Of encrypted documents; asked for when it is -.")
    ] = "",
    again: Annotated[
        bool, typer.Option(help="Read once more what could not be read before.")
    ] = False,
) -> None:
    """Bring files in. What is there already is left alone; a bad file never stops the
    rest.
    """
    if password == "-":  # noqa: S105 - no password but a wish to be asked for one
        password = typer.prompt("Password", hide_input=True)
    places = [one.expanduser().absolute() for one in paths]
    for given, place in zip(paths, places, strict=True):
        if not place.exists():
            raise errors.NotFound(
                f"There is nothing at {given}.",
                hint="Give files or folders that exist.",
            )
    wishes = {"again": again} | ({"password": password} if password else {})
    asyncio.run(_import(places, as_json=as_json, verbose=verbose, wishes=wishes))


def watch(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders to keep in step, until Ctrl-C.")
    ],
) -> None:
    """Keep folders in step: new and changed files come in, moved ones keep their
    record, removed ones are deleted.
    """
    asyncio.run(_watch(folders))


def rebuild(
    words_only: Annotated[
        bool, typer.Option(help="Keep the vectors; make only passages and terms again.")
    ] = False,
) -> None:
    """Make everything derived again from the records: passages, terms, vectors."""
    asyncio.run(_rebuild(vectors=not words_only))


async def _import(
    paths: Sequence[Path], *, as_json: bool, verbose: bool, wishes: Mapping[str, object]
) -> None:
    places = [str(one) for one in paths]
    async with app.opened(app.read_settings()) as reverie:
        async with taking_in(reverie):
            done = await take_in(reverie, {"paths": places, **wishes})
        if as_json:
            terminal.as_json(done.as_json())
        else:
            print_report(done, verbose=verbose)
        await catch_up(reverie)


async def _watch(folders: Sequence[Path]) -> None:
    places = [one.expanduser().absolute() for one in folders]
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    names = [str(one) for one in places]
    request: dict[str, object] = {"paths": names, "watch": True}
    async with (
        app.opened(app.read_settings()) as reverie,
        taking_in(reverie),
        _following(reverie),
    ):
        terminal.note(f"Watching {', '.join(names)}. Ctrl-C ends it.")
        async for _ in watching.changes(places, stop=stop):
            print_report(await take_in(reverie, request), brief=True)
    terminal.note("Stopped. Everything is kept.")


def _following(reverie: app.App) -> contextlib.AbstractAsyncContextManager[None]:
    return worker.Worker(reverie.database, reverie.embeddings, reverie.models).running()


def desk(reverie: app.App) -> ingest_file.Context:
    """What taking in files needs."""
    return ingest_file.Context(
        reverie.database, reverie.owner, reverie.blobs, reverie.worker_pool
    )


@contextlib.asynccontextmanager
async def taking_in(reverie: app.App) -> AsyncGenerator[None]:
    """Ingestions are worked on for as long as the block lasts, and the database is kept
    alive.
    """
    heartbeat = asyncio.create_task(app.keep_alive(reverie, told=terminal.note))
    try:
        async with durable.launched(desk(reverie), owner_url=reverie.owner_url):
            yield
    finally:
        heartbeat.cancel()


async def take_in(reverie: app.App, request: Mapping[str, object]) -> report.Report:
    """Ask for paths to be taken in, show how far it is, and report. Ctrl-C stops it;
    the same request goes on.
    """
    caller = reverie.owner
    async with reverie.database.transaction(caller) as tx:
        ingestion_id = await ingestions.ask(tx, caller, "paths", request)
    try:
        with terminal.progress() as bar:
            task = bar.add_task("looking", total=None)
            while not (now := await _far(reverie, ingestion_id)).ended:
                bar.update(task, **_shown(now))
                await asyncio.sleep(_EVERY_S)
    except BaseException:
        async with reverie.database.transaction(caller) as tx:
            await ingestions.end(tx, caller, ingestion_id, "stopped")
        raise
    if now.ingestion.state == "failed":
        raise errors.Unreadable(now.ingestion.reason)
    return await _reported(reverie, ingestion_id)


async def _far(reverie: app.App, ingestion_id: UUID) -> standing.Status:
    while True:
        try:
            async with reverie.database.transaction(reverie.owner) as tx:
                return await standing.status(tx, reverie.owner, ingestion_id, model="")
        except errors.Unavailable as away:
            terminal.note(f"Waiting: {away.message}")
        await asyncio.sleep(1)


def _shown(now: standing.Status) -> dict[str, Any]:
    """How far it is, for the progress bar: files, what is read just now, pages and
    passages so far, time left.
    """
    extract = next(one for one in now.steps if one.name == "extract")
    reading = next(iter(now.now), None)
    told = "importing" if now.ingestion.scanned_at else "looking"
    if reading is not None:
        pages = f" {reading.units}/{reading.total}" if reading.total > 1 else ""
        told = f"importing {terminal.safe(compact.clip(PurePosixPath(reading.relative).name, 30))}{pages}"
    told += f" · {now.units} pages · {now.passages} passages" if now.units else ""
    told += f" · {compact.duration(now.seconds_left)} left" if now.seconds_left else ""
    told = now.ingestion.reason or told
    return {
        "description": told,
        "completed": extract.done,
        "total": extract.total or None,
    }


async def _reported(reverie: app.App, ingestion_id: UUID) -> report.Report:
    """The report of an ingestion, from what is kept of its files."""
    whole = report.Report()
    after = 0
    while True:
        async with reverie.database.transaction(reverie.owner) as tx:
            files = await ingestions.files(tx, reverie.owner, ingestion_id, after=after)
        for file in files:
            whole.files.append(
                report.FileReport(
                    file.relative,
                    cast(report.Status, file.state),
                    file.reason,
                    **file.counts,
                )
            )
        if not files:
            return whole
        after = files[-1].number


async def import_into(
    reverie: app.App, files: Sequence[scan.ScannedFile]
) -> report.Report:
    """Import a few files at once, with a progress bar."""
    with terminal.progress() as bar:
        task = bar.add_task("importing", total=len(files))
        return await importer.run(
            desk(reverie),
            files,
            progress=lambda number, _: bar.update(task, completed=number),
        )


async def catch_up(reverie: app.App) -> None:
    """Let the slots follow, with a progress bar; Ctrl-C leaves the rest for the next
    time.
    """
    with terminal.progress() as bar:
        task: rich.progress.TaskID | None = None
        told = ""
        async for state in following.follow(
            reverie.database, reverie.embeddings, reverie.owner
        ):
            if state.texts == state.vectors:
                continue
            if task is None:
                task = bar.add_task(
                    "learning what it means (Ctrl-C: later)", total=state.texts
                )
            bar.update(task, completed=state.vectors, total=state.texts)
            if state.trouble and state.trouble != told:
                told = state.trouble
                terminal.note(f"Search goes by words for now: {state.trouble}")


def print_report(
    done: report.Report, *, verbose: bool = False, brief: bool = False
) -> None:
    """The report for people: what failed and was skipped by reason, then the counts;
    `brief` leaves skipped out.
    """
    reasons: dict[tuple[str, str], list[str]] = {}
    for file in done.files:
        if file.status in ("failed", "parked") or (
            file.status == "skipped" and not brief
        ):
            reasons.setdefault((file.status, file.reason), []).append(file.path)
        for item in file.skipped:
            reasons.setdefault(("left out", item["reason"]), []).append(
                f"{file.path}: {item['item']}"
            )
        if verbose:
            terminal.line(
                terminal.safe(f"{file.status:>9}  {file.path}  {file.reason}".rstrip())
            )
    for (state, reason), paths in sorted(reasons.items()):
        style = "red" if state in ("failed", "parked") else "dim"
        more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
        terminal.line(
            terminal.safe(f"{state:>9}  {reason}: {', '.join(paths[:2])}{more}"),
            style=style,
        )
    terminal.line(
        f"{done.imported} imported, {done.updated} updated, {done.unchanged} unchanged,"
        f" {done.skipped} skipped, {done.failed} failed.",
        style="bold",
    )


async def _rebuild(*, vectors: bool) -> None:
    async with app.opened(app.read_settings()) as reverie:
        with terminal.progress() as bar:
            task = bar.add_task("reading records", total=None)
            count = await rebuilding.rebuild(
                reverie.database,
                reverie.owner,
                vectors=vectors,
                progress=lambda done: bar.update(task, completed=done),
            )
        await catch_up(reverie)
        terminal.line(f"Rebuilt from {count} records.")
