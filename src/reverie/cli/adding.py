"""CLI commands that write one record: `reverie add` and `reverie edit`."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie import compact, errors
from reverie.cli import client, records, terminal

_EDITOR = "vi"
_Due = Annotated[str | None, typer.Option(help="Of a task: 2026-12-01.")]
_Place = Annotated[str | None, typer.Option(help="Of an event: where.")]
_OfContact = Annotated[
    list[str] | None, typer.Option(help="Of a contact (may be repeated).")
]


def add(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]",
            help="What to keep. Without it, from stdin, or else in $EDITOR.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="A title of its own.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="A tag (may be repeated).")
    ] = None,
    task: Annotated[bool, typer.Option("--task", help="A task.")] = False,
    due: _Due = None,
    event: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="An event: 2026-12-01, or 2026-12-01T18:30."),
    ] = None,
    place: _Place = None,
    contact: Annotated[bool, typer.Option("--contact", help="A person.")] = False,
    email: _OfContact = None,
    phone: _OfContact = None,
    bookmark: Annotated[
        str | None, typer.Option(metavar="URL", help="A page to find again.")
    ] = None,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="TEXT is an address: keep the page itself.")
    ] = False,
    as_json: records.AsJson = False,
) -> None:
    """Keep something: a note, or a task, event, contact or bookmark by its flag."""
    text = " ".join(words or ())
    chosen = [task, event is not None, contact, bookmark is not None, fetch]
    if sum(chosen) > 1:
        raise errors.Invalid(
            "This is several things at once.",
            hint="Give one of --task, --event, --contact, --bookmark, --fetch.",
        )
    if fetch:
        _fetch(text, as_json=as_json)
        return
    if not text and bookmark is None:
        text = _read()
    if task:
        domain, values = "task", {"title": text, "due": _day(due), "labels": tag}
    elif event is not None:
        domain, values = "event", _event(text, event, place)
    elif contact:
        domain = "contact"
        values = {"display_name": text, "emails": email, "phones": phone}
    elif bookmark is not None:
        domain = "bookmark"
        values = {"url": bookmark, "title": title or text or None, "tags": tag}
    else:
        domain, values = "note", {"content": text, "title": title, "tags": tag}
    kept = {name: value for name, value in values.items() if value is not None}
    with client.connected() as api:
        record = api.call("POST", f"/{records.DOMAINS[domain]}", body=kept)
    _print_kept("Kept", domain, record, as_json=as_json)


def edit(
    record_id: records.RecordId,
    values: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FIELD=VALUE]...",
            help="Fields with their new values, such as title=Boat. Without any, in $EDITOR.",
        ),
    ] = None,
    as_json: records.AsJson = False,
) -> None:
    """Change a record: some fields, or its text in your editor."""
    with client.connected() as api:
        found = api.record(record_id)
        record = found["record"]
        changed = dict(_field(text, record) for text in values or ())
        if not changed:
            changed = _edited(record)
        if changed:
            record = api.call("PATCH", found["path"], body=changed)
    done = "Changed" if changed else "Left as it was:"
    _print_kept(done, found["domain"], record, as_json=as_json)


def _event(text: str, start: str, place: str | None) -> dict[str, object]:
    try:
        datetime.fromisoformat(start)
    except ValueError:
        raise errors.Invalid(
            f"{start} is no day and no time.",
            hint="Write it as 2026-12-01 or 2026-12-01T18:30.",
        ) from None
    all_day = len(start) == len("2026-12-01")
    return {"title": text, "start": start, "all_day": all_day, "location": place}


def _day(text: str | None) -> str | None:
    try:
        return date.fromisoformat(text).isoformat() if text else None
    except ValueError:
        raise errors.Invalid(
            f"{text} is no day.", hint="Write it as 2026-12-01."
        ) from None


def _fetch(address: str, *, as_json: bool) -> None:
    with client.connected() as api:
        asked = api.call("POST", "/ingest/url", body={"url": address})
    if as_json:
        terminal.as_json(asked)
    else:
        terminal.line("Asked for; `reverie up` fetches and reads it.")


def _read() -> str:
    """What to keep, from stdin or an editor. Raises Invalid when it is nothing."""
    text = _in_editor("") if sys.stdin.isatty() else sys.stdin.read()
    if not text.strip():
        raise errors.Invalid(
            "There is nothing to keep.",
            hint='Such as: reverie add "call Ana on Monday"',
        )
    return text


def _edited(record: records.Json) -> dict[str, Any]:
    """What the owner made of a record's text in an editor."""
    body = records.body_of(record)
    if not body:
        raise errors.Invalid(
            "This record has no text to edit.", hint="Give fields: title=Boat."
        )
    before = str(record[body] or "")
    after = _in_editor(before)
    return {body: after} if after != before else {}


def _in_editor(text: str) -> str:
    """A text as it is when the editor has ended. Raises Unavailable, and then the file
    with what was written stays.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or _EDITOR
    file = Path(tempfile.mkdtemp(prefix="reverie-edit-")) / "record.md"
    file.write_bytes(text.encode())
    try:
        ended = _run_editor([*shlex.split(editor), str(file)])
        written = file.read_bytes().decode()
    except (OSError, ValueError) as refused:
        raise errors.Unavailable(
            f"{editor} could not be used: {refused}.",
            hint=f"Set EDITOR to your editor. What was written is in {file}.",
        ) from None
    if ended:
        raise errors.Unavailable(
            f"{editor} ended with {ended}; nothing was changed.",
            hint=f"What was written is in {file}.",
        )
    shutil.rmtree(file.parent, ignore_errors=True)
    return written


def _run_editor(command: list[str]) -> int:
    """How an editor ended. Ctrl-C is the editor's own: here nothing is done for it."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        return subprocess.run(command, check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)


def _field(text: str, record: records.Json) -> tuple[str, Any]:
    """A field and its value: JSON where the field is no text, `a, b` where it is a list."""
    name, equals, value = text.partition("=")
    if not equals:
        raise errors.Invalid(
            f"`{text}` is no field with a value.", hint="Write it as title=Boat."
        )
    if isinstance(record.get(name), list) and not value.startswith("["):
        return name, [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(record.get(name), str) or record.get(name) is None:
        return name, value or None
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _print_kept(done: str, domain: str, record: records.Json, *, as_json: bool) -> None:
    if as_json:
        terminal.as_json(record)
        return
    told = records.title_of(record) or domain.replace("_", " ")
    text = f"{done} {domain.replace('_', ' ')} “{compact.clip(told, 60)}”"
    terminal.line(terminal.safe(f"{text}  {compact.short_id(record['id'])}"))
