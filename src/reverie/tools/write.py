"""MCP tools that write: save_note."""

from typing import Annotated, Any

import pydantic

from reverie import compact
from reverie.access import callers, operations
from reverie.records import base as records
from reverie.records import notes
from reverie.tools import base


class SaveNote(base.Arguments):
    content: Annotated[
        str, pydantic.Field(min_length=1, max_length=200_000, description="Markdown")
    ]
    title: Annotated[str | None, pydantic.Field(max_length=300)] = None
    tags: Annotated[list[str], pydantic.Field(max_length=30, default_factory=list[str])]


async def save_note(
    toolbox: base.Toolbox, caller: callers.Caller, arguments: SaveNote
) -> dict[str, Any]:
    """Keep a new note. The change log names the caller."""
    values = {
        "title": arguments.title,
        "content": arguments.content,
        "tags": arguments.tags,
    }
    async with toolbox.database.transaction(caller) as tx:
        note = await records.create(tx, caller, notes.NOTES, values)
    title = note.title or compact.clip(note.content, 60)
    return {"saved": "note", "id": str(note.id), "title": title, "tags": note.tags}


SAVE_NOTE = base.Tool(
    name="save_note",
    title="Save a note",
    description="Keep a new note for the owner; search finds it at once, the change log names you.",
    arguments=SaveNote,
    operation=operations.named("notes.create"),
    destructive=False,
    run=save_note,
)
