"""Files: documents with their text; the original bytes lie on disk, by hash."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict

from reverie import compact
from reverie.access import callers
from reverie.records import passages, record_types


class FilePart(TypedDict):
    """One passage of a document: `text[start:end]`, where it stands, and what is read
    before it, such as a header.
    """

    start: int
    end: int
    place: dict[str, Any]
    head: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class File(record_types.Record):
    """`size` is in bytes; `sha256` is the hex address of the original, when it is kept.

    `parts` are the passages of a document as it was cut; without them the text is cut
    by its length.
    """

    name: str
    mime: str = "application/octet-stream"
    size: int = 0
    sha256: str | None = None
    path: str | None = None
    text: str = ""
    category: str | None = None
    parts: list[FilePart] = field(default_factory=list[FilePart])


def _text(file: File) -> passages.Text:
    keywords = f"{file.path or ''} {file.category or ''}"
    return passages.Text(
        _title(file),
        _sections(file),
        keywords=keywords,
        at=record_types.created_at(file),
        category=file.category,
    )


def _title(file: File) -> str:
    """The title that the document has of its own, with the name of the file, or the
    name alone.
    """
    own = str(file.custom.get("title") or "").strip()
    return (
        f"{compact.clip(own, 120)} ({file.name})"
        if own and own not in file.name
        else file.name
    )


def _sections(file: File) -> list[passages.Section]:
    if not file.text.strip():
        return []
    if not file.parts:
        return [passages.Section(file.text)]
    return [
        passages.Section(
            file.text[part["start"] : part["end"]],
            {**part["place"], "start": part["start"], "end": part["end"]},
            head=part.get("head", ""),
            whole=True,
        )
        for part in file.parts
    ]


def _prepare(values: dict[str, Any], _caller: callers.Caller) -> dict[str, Any]:
    """Parts are of the very text that they were cut from: with another one they go."""
    parts = cast("list[FilePart]", values.get("parts") or [])
    fits = bool(parts) and max(part["end"] for part in parts) == len(values["text"])
    return values | {"parts": parts if fits else []}


def _line(file: File, now: datetime) -> str:
    kind = file.name.rpartition(".")[2].lower() if "." in file.name else file.mime
    return f"{compact.clip(file.name, 60)} ({compact.size(file.size)}) [{kind}]"


FILES = record_types.Domain(
    name="file",
    plural="files",
    record=File,
    text=_text,
    summary=lambda file: file.name,
    line=_line,
    json=frozenset({"parts"}),
    prepare=_prepare,
    hidden=frozenset({"parts"}),  # /documents/{id}/passages shows them
    filters={
        "category": record_types.Filter(str, "t.category = %(category)s"),
        "mime": record_types.Filter(str, "t.mime = %(mime)s"),
    },
)
