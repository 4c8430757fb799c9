"""Files: documents with their text; the original bytes lie beside the database, by hash."""

from dataclasses import dataclass
from datetime import datetime

from reverie import compact
from reverie.records import base, passages


@dataclass(frozen=True, slots=True, kw_only=True)
class File(base.Record):
    """`size` is in bytes; `sha256` is the hex address of the original, when it is kept."""

    name: str
    mime: str = "application/octet-stream"
    size: int = 0
    sha256: str | None = None
    path: str | None = None
    text: str = ""
    category: str | None = None


def _text(file: File) -> passages.Text:
    sections = [passages.Section(file.text)] if file.text.strip() else []
    keywords = f"{file.path or ''} {file.category or ''}"
    return passages.Text(file.name, sections, keywords=keywords, at=base.told(file), category=file.category)


def _line(file: File, now: datetime) -> str:
    kind = file.name.rpartition(".")[2].lower() if "." in file.name else file.mime
    return f"{compact.clip(file.name, 60)} ({compact.size(file.size)}) [{kind}]"


FILES = base.Domain(
    name="file",
    plural="files",
    record=File,
    text=_text,
    summary=lambda file: file.name,
    line=_line,
    filters={
        "category": base.Filter(str, "t.category = %(category)s"),
        "mime": base.Filter(str, "t.mime = %(mime)s"),
    },
)
