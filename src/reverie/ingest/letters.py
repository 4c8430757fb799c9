"""Mail messages inside other files as documents of the domain `file`."""

from collections.abc import Mapping
from typing import cast

from reverie.ingest import drafts, scan
from reverie.ingest.documents import cutting, units


def as_document(
    letter: drafts.Draft, file: scan.ScannedFile, digest: str, size: int
) -> drafts.Draft:
    """The draft of a mail as that of a file: its headers and its text."""
    fields = letter.fields
    subject = str(fields.get("subject") or "")
    blocks = [units.heading(subject, 1)] if subject else []
    for name, field in (
        ("From", "from_"),
        ("To", "to"),
        ("Cc", "cc"),
        ("Date", "date"),
    ):
        if value := _words(fields.get(field)):
            blocks.append(units.Block(f"{name}: {value}"))
    paragraphs = map(str.strip, str(fields.get("body_text") or "").split("\n\n"))
    blocks += map(units.Block, filter(None, paragraphs))
    cut = cutting.cut([units.whole(blocks)])
    custom = fields.get("custom")
    kept = cast("drafts.Fields", custom if isinstance(custom, Mapping) else {})
    document: drafts.Fields = {
        "name": file.relative.name,
        "mime": "message/rfc822",
        "size": size,
        "sha256": digest,
        "path": file.path,
        "text": cut.text,
        "parts": cut.as_json(),
        "custom": {**kept, "title": subject},
    }
    return drafts.Draft("file", f"{letter.key}@{digest}", document)


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value)))
    return str(value) if value else ""
