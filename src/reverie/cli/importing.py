"""CLI commands `reverie import`, `reverie watch` and `reverie rebuild`: ingestion."""

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
from reverie.ingest import (
    durable,
    importer,
    ingest_file,
    ingestions,
    report,
    scan,
    status,
)
from reverie.ingest import watch as folder_watch
from reverie.pipeline import progress, worker
from reverie.pipeline import rebuild as derived_data

_POLL_SECONDS = 0.2  # between two looks at an ingestion; set by hand
_LONGEST_NAME = 30  # characters of a file's name in the progress bar; set by hand


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
    places = [path.expanduser().absolute() for path in paths]
    for path, place in zip(paths, places, strict=True):
        if not place.exists():
            raise errors.NotFound(
                f"There is nothing at {path}.",
                hint="Give files or folders that exist.",
            )
    options: dict[str, object] = {"again": again}
    if password:
        options["password"] = password
    asyncio.run(_import(places, as_json=as_json, verbose=verbose, options=options))


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
    paths: Sequence[Path],
    *,
    as_json: bool,
    verbose: bool,
    options: Mapping[str, object],
) -> None:
    places = [scan.stored(path) for path in paths]
    async with app.opened(app.read_settings()) as reverie:
        async with ingesting(reverie):
            done = await ingest(reverie, {"paths": places, **options})
        if as_json:
            terminal.as_json(done.as_json())
        else:
            print_report(done, verbose=verbose)
        await catch_up(reverie)


async def _watch(folders: Sequence[Path]) -> None:
    places = [folder.expanduser().absolute() for folder in folders]
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    names = [scan.readable(str(folder)) for folder in places]
    stored = [scan.stored(folder) for folder in places]
    request: dict[str, object] = {"paths": stored, "watch": True}
    async with (
        app.opened(app.read_settings()) as reverie,
        ingesting(reverie),
        _running_worker(reverie),
    ):
        terminal.note(f"Watching {', '.join(names)}. Ctrl-C ends it.")
        async for _ in folder_watch.changes(places, stop=stop):
            print_report(await ingest(reverie, request), brief=True)
    terminal.note("Stopped. Everything is kept.")


def _running_worker(reverie: app.App) -> contextlib.AbstractAsyncContextManager[None]:
    following = worker.Worker(
        reverie.database,
        reverie.embeddings,
        reverie.models,
        history_days=reverie.settings.history.days,
        owner_url=reverie.owner_url,
    )
    return following.running()


def ingest_context(reverie: app.App) -> ingest_file.Context:
    """What taking in files needs."""
    return ingest_file.Context(
        reverie.database, reverie.owner, reverie.blobs, reverie.worker_pool
    )


@contextlib.asynccontextmanager
async def ingesting(reverie: app.App) -> AsyncGenerator[None]:
    """Ingestions are worked on for as long as the block lasts, and the database is kept
    alive.
    """
    heartbeat = asyncio.create_task(app.keep_alive(reverie, notify=terminal.note))
    try:
        async with durable.launched(
            ingest_context(reverie), owner_url=reverie.owner_url
        ):
            yield
    finally:
        heartbeat.cancel()


async def ingest(reverie: app.App, request: Mapping[str, object]) -> report.Report:
    """Ask for paths to be taken in, show how far it is, and report. Ctrl-C stops it;
    the same request goes on.
    """
    caller = reverie.owner
    async with reverie.database.transaction(caller) as tx:
        ingestion_id = await ingestions.ask(tx, caller, "paths", request)
    try:
        with terminal.progress() as bar:
            task = bar.add_task("looking", total=None)
            state = await _status(reverie, ingestion_id)
            while not state.ended:
                bar.update(task, **_progress_fields(state))
                await asyncio.sleep(_POLL_SECONDS)
                state = await _status(reverie, ingestion_id)
    except BaseException:
        async with reverie.database.transaction(caller) as tx:
            await ingestions.end(tx, caller, ingestion_id, "stopped")
        raise
    if state.ingestion.state == "failed":
        raise errors.Unreadable(state.ingestion.reason)
    return await _report_of(reverie, ingestion_id)


async def _status(reverie: app.App, ingestion_id: UUID) -> status.Status:
    while True:
        try:
            async with reverie.database.transaction(reverie.owner) as tx:
                return await status.status(tx, reverie.owner, ingestion_id, model="")
        except errors.Unavailable as away:
            terminal.note(f"Waiting: {away.message}")
        await asyncio.sleep(1)


def _progress_fields(state: status.Status) -> dict[str, Any]:
    """How far it is, for the progress bar: files, what is read just now, pages and
    passages so far, time left.
    """
    extract = next(step for step in state.steps if step.name == "extract")
    return {
        "description": state.ingestion.reason or _description(state),
        "completed": extract.done,
        "total": extract.total or None,
    }


def _description(state: status.Status) -> str:
    """What is done just now, how much there is so far, and how long it will take."""
    parts = [_activity(state)]
    if state.units:
        parts.append(f"{state.units} pages")
        parts.append(f"{state.passages} passages")
    if state.seconds_left:
        parts.append(f"{compact.duration(state.seconds_left)} left")
    return " · ".join(parts)


def _activity(state: status.Status) -> str:
    """`looking`, or `importing report.pdf 3/12`."""
    if not state.now:
        return "importing" if state.ingestion.scanned_at else "looking"
    reading = state.now[0]
    name = compact.clip(PurePosixPath(reading.relative).name, _LONGEST_NAME)
    pages = f" {reading.units}/{reading.total}" if reading.total > 1 else ""
    return f"importing {terminal.safe(name)}{pages}"


async def _report_of(reverie: app.App, ingestion_id: UUID) -> report.Report:
    """The report of an ingestion, from what is kept of its files."""
    complete = report.Report()
    after = 0
    while True:
        async with reverie.database.transaction(reverie.owner) as tx:
            files = await ingestions.files(tx, reverie.owner, ingestion_id, after=after)
        for file in files:
            complete.files.append(
                report.FileReport(
                    file.relative,
                    cast(report.Status, file.state),
                    file.reason,
                    **file.counts,
                )
            )
        if not files:
            return complete
        after = files[-1].number


async def import_into(
    reverie: app.App, files: Sequence[scan.ScannedFile]
) -> report.Report:
    """Import a few files at once, with a progress bar."""
    with terminal.progress() as bar:
        task = bar.add_task("importing", total=len(files))
        return await importer.run(
            ingest_context(reverie),
            files,
            progress=lambda number, _: bar.update(task, completed=number),
        )


async def catch_up(reverie: app.App) -> None:
    """Let the slots follow, with a progress bar; Ctrl-C leaves the rest for the next
    time.
    """
    with terminal.progress(remaining=False) as bar:
        task: rich.progress.TaskID | None = None
        last_trouble = ""
        async for state in progress.follow(
            reverie.database,
            reverie.embeddings,
            reverie.owner,
            owner_url=reverie.owner_url,
        ):
            if state.texts == state.vectors:
                continue
            if task is None:
                task = bar.add_task("", total=state.texts)
            bar.update(
                task,
                description=_learning(state),
                completed=state.vectors,
                total=state.texts,
            )
            if state.trouble and state.trouble != last_trouble:
                last_trouble = state.trouble
                terminal.note(f"Search goes by words for now: {state.trouble}")


def _learning(state: progress.Progress) -> str:
    """`learning what it means · 3 min left (Ctrl-C: later)`."""
    left = ""
    if state.seconds_left is not None:
        left = f" · {compact.duration(state.seconds_left)} left"
    return f"learning what it means{left} (Ctrl-C: later)"


def print_report(
    done: report.Report, *, verbose: bool = False, brief: bool = False
) -> None:
    """The report for people: what failed and was skipped by reason, then the counts;
    `brief` leaves skipped out.
    """
    if verbose:
        for file in done.files:
            text = f"{file.status:>9}  {file.path}  {file.reason}".rstrip()
            terminal.line(terminal.safe(text))
    for (state, reason), paths in sorted(_by_reason(done, brief=brief).items()):
        style = "red" if state in _FAILURES else "dim"
        more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
        text = f"{state:>9}  {reason}: {', '.join(paths[:2])}{more}"
        terminal.line(terminal.safe(text), style=style)
    terminal.line(
        f"{done.imported} imported, {done.updated} updated, {done.unchanged} unchanged,"
        f" {done.skipped} skipped, {done.failed} failed.",
        style="bold",
    )


_FAILURES = ("failed", "parked")


def _by_reason(done: report.Report, *, brief: bool) -> dict[tuple[str, str], list[str]]:
    """The paths of what did not come in or not whole, by state and reason."""
    shown = _FAILURES if brief else (*_FAILURES, "skipped")
    reasons: dict[tuple[str, str], list[str]] = {}
    for file in done.files:
        if file.status in shown:
            reasons.setdefault((file.status, file.reason), []).append(file.path)
        for item in file.skipped:
            paths = reasons.setdefault(("left out", item["reason"]), [])
            paths.append(f"{file.path}: {item['item']}")
        for item in file.remarks if not brief else ():
            paths = reasons.setdefault(("remark", item["remark"]), [])
            paths.append(f"{file.path} {item['item']}".rstrip())
    return reasons


async def _rebuild(*, vectors: bool) -> None:
    async with app.opened(app.read_settings()) as reverie:
        with terminal.progress() as bar:
            task = bar.add_task("reading records", total=None)
            count = await derived_data.rebuild(
                reverie.database,
                reverie.owner,
                vectors=vectors,
                progress=lambda done: bar.update(task, completed=done),
            )
        await catch_up(reverie)
        terminal.line(f"Rebuilt from {count} records.")
