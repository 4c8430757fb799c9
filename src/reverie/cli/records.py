"""CLI commands of single records: `reverie show`, `list`, `delete`, `restore`, `trash`, `history`, `open`."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Annotated, Any, cast

import rich.text
import typer

from reverie import compact, errors
from reverie.cli import client, terminal

RecordId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="An id, or four or more of its first or last digits."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Json = Mapping[str, Any]

DOMAINS: Mapping[str, str] = {
    "note": "notes",
    "event": "events",
    "contact": "contacts",
    "email": "emails",
    "file": "files",
    "diary": "diary",
    "bookmark": "bookmarks",
    "task": "tasks",
    "feed": "feeds",
    "feed_item": "feed-items",
    "health": "health-entries",
    "transaction": "transactions",
    "run": "runs",
    "chat": "chats",
}
"""The kinds of records with their places in the API; a test compares the catalogue."""
# What a record shows as text and not as a field, by the first that it has.
_BODIES = ("content", "body_text", "description", "excerpt", "notes", "text")
_NOTHING: tuple[object, ...] = (None, False, "", [], {})
_KEPT_BY_US = ("id", "source", "created_at", "updated_at", "deleted_at", "sensitivity")


def show(record_id: RecordId, as_json: AsJson = False) -> None:
    """Show one record whole: its fields, its text, where it comes from."""
    with client.connected() as api:
        found = api.record(record_id)
    if as_json:
        terminal.as_json(found)
    else:
        print_record(found)


def list_records(
    domain: Annotated[
        str, typer.Argument(metavar="DOMAIN", help=f"One of {', '.join(DOMAINS)}.")
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            help="A filter of this kind, such as tag=travel or board=Home (may be repeated)."
        ),
    ] = None,
    tier: Annotated[
        str | None, typer.Option(help="Only as warm as this: hot, warm or cold.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    offset: Annotated[int, typer.Option(min=0, help="After so many.")] = 0,
    as_json: AsJson = False,
) -> None:
    """List the records of one kind, the last changed first, a line each with its id."""
    query: dict[str, object] = {"tier": tier, "limit": limit, "offset": offset}
    query |= _filters(where or [])
    _print_list(plural(domain), query, as_json=as_json)


def trash(
    domain: Annotated[
        str, typer.Argument(metavar="DOMAIN", help=f"One of {', '.join(DOMAINS)}.")
    ] = "note",
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the deleted records of one kind; `reverie restore` brings one back."""
    query: dict[str, object] = {"deleted": True, "limit": limit}
    _print_list(plural(domain), query, as_json=as_json)


def delete(record_ids: list[str], as_json: AsJson = False) -> None:
    """Move records to the trash; `reverie restore` brings them back."""
    _each(record_ids, "DELETE", "", "Deleted", as_json=as_json)


def restore(record_ids: list[str], as_json: AsJson = False) -> None:
    """Bring deleted records back."""
    _each(record_ids, "POST", "/restore", "Restored", as_json=as_json)


def history(record_id: RecordId, as_json: AsJson = False) -> None:
    """Show how a record changed, the last change first."""
    with client.connected() as api:
        path = api.record(record_id)["path"]
        page = api.get(f"{path}/history", {"limit": 200})
    if as_json:
        terminal.as_json(page)
        return
    for version in page["items"]:
        what = ", ".join(version["columns"]) or version["summary"]
        at = version["at"][:16].replace("T", " ")
        text = f"{at}  {version['action']:<8}  {version['by']}  {what}"
        terminal.line(terminal.safe(text))


def open_original(
    record_id: RecordId,
    to: Annotated[
        Path | None, typer.Option(help="Save the original there, and open nothing.")
    ] = None,
) -> None:
    """Open the file that a record was imported from, in the system's program for it."""
    with client.connected() as api:
        found = api.record(record_id)
        data = api.fetch("GET", f"{found['path']}/original")
    name = Path(_origin(found["record"])).name
    if to is None:
        folder = Path(tempfile.mkdtemp(prefix="reverie-open-"))
        _start(_written(folder / (name or "original"), data))
    else:
        target = to / (name or "original") if to.is_dir() else to
        terminal.line(terminal.safe(f"Saved {_written(target, data)}."))


def plural(domain: str) -> str:
    """Where a kind of records is in the API, by its name or its plural. Raises Invalid."""
    if domain in DOMAINS.values():
        return domain
    known = DOMAINS.get(domain.replace("-", "_"))
    if known is None:
        raise errors.Invalid(
            f"There is no domain `{domain}`.", hint=f"There are {', '.join(DOMAINS)}."
        )
    return known


def print_record(found: Json) -> None:
    """A record for people: what it is, its fields, its text, and at the end its id."""
    record = found["record"]
    domain = found["domain"].replace("_", " ")
    title = compact.clip(title_of(record) or domain, 80)
    head = rich.text.Text(f"{domain}  ", style="cyan")
    head.append(terminal.safe(title), style="bold")
    terminal.out.print(head)
    body = body_of(record)
    _print_fields(record, {body, "custom", *_KEPT_BY_US}, title)
    if body:
        text = str(record[body])
        terminal.line()
        terminal.line(terminal.safe(text))
        terminal.line()
    _print_foot(record)


def _print_fields(record: Json, hidden: Set[str], title: str) -> None:
    """The fields that say something, but for the title, which stands above."""
    for name, value in record.items():
        if name in hidden or value in _NOTHING or value == title:
            continue
        label = name.rstrip("_")
        told = _told(value)
        terminal.line(terminal.safe(f"  {label}: {told}"))


def _print_foot(record: Json) -> None:
    foot = [f"id {record['id']}"]
    changed = record["updated_at"][:16]
    foot.append(f"changed {changed}")
    origin = _origin(record)
    if origin:
        foot.append(f"from {origin}")
    if record.get("deleted_at"):
        foot.append("in the trash")
    line = " · ".join(foot)
    terminal.line(terminal.safe(f"  {line}"), style="dim")


def _origin(record: Json) -> str:
    """The file that a record was imported from, or ""."""
    custom = record.get("custom", {})
    return str(custom.get("imported_from", ""))


def body_of(record: Json) -> str:
    """The name of the field that holds the text of a record, or ""."""
    return next((name for name in _BODIES if record.get(name)), "")


def title_of(record: Json) -> str:
    """What a record is called, or ""."""
    names = ("title", "display_name", "subject", "name", "metric", "counterparty")
    for name in (*names, body_of(record)):
        if record.get(name):
            return str(record[name]).strip().partition("\n")[0]
    return ""


def _told(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_told, cast("list[object]", value)))
    if isinstance(value, dict):
        items = cast("Json", value).values()
        return " ".join(str(item) for item in items if item not in (None, ""))
    return str(value)


def _filters(where: list[str]) -> dict[str, object]:
    filters: dict[str, object] = {}
    for text in where:
        name, equals, value = text.partition("=")
        if not equals:
            raise errors.Invalid(
                f"`{text}` is no filter.", hint="Write it as tag=travel."
            )
        filters[name] = value
    return filters


def _print_list(domain: str, query: Mapping[str, object], *, as_json: bool) -> None:
    with client.connected() as api:
        shown = {} if as_json else {"format": "compact"}
        page = api.get(f"/{domain}", {**query, **shown})
    if as_json:
        terminal.as_json(page)
        return
    for line, record_id in zip(page["lines"], page["ids"], strict=True):
        text = rich.text.Text(f"{compact.short_id(record_id)}  ", style="dim")
        text.append(terminal.safe(line.rpartition(" id:")[0]), style="default")
        terminal.out.print(text)
    terminal.note(page["summary"] + ".")


def _each(
    record_ids: list[str], method: str, ending: str, done: str, *, as_json: bool
) -> None:
    """The same change for some records; all are found before the first is changed."""
    changed: list[Any] = []
    with client.connected() as api:
        found = [api.record(record_id) for record_id in record_ids]
        for each in found:
            changed.append(api.call(method, f"{each['path']}{ending}"))
            if not as_json:
                told = title_of(each["record"]) or each["domain"]
                terminal.line(terminal.safe(f"{done} {each['domain']} “{told}”."))
    if as_json:
        terminal.as_json(changed)


def _written(target: Path, data: bytes) -> Path:
    """Write a file that only its owner reads; nothing is overwritten. Raises Conflict."""
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise errors.Conflict(
            f"{target} exists already.", hint="Give another name with --to."
        ) from None
    except OSError as refused:
        raise errors.Misconfigured(
            f"{target} cannot be written: {refused.strerror}."
        ) from None
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return target


def _start(file: Path) -> None:
    """Hand a file to the system's program for it, or tell where it is."""
    program = "open" if sys.platform == "darwin" else "xdg-open"
    has_display = sys.platform == "darwin" or os.environ.get("DISPLAY")
    found = shutil.which(program) or ""
    if not found or not (has_display or os.environ.get("WAYLAND_DISPLAY")):
        terminal.line(terminal.safe(str(file)))
        terminal.note("No program could be started here; this is a copy of it.")
        return
    subprocess.Popen([found, str(file)], start_new_session=True)
    terminal.line(terminal.safe(f"Opened {file}."))
