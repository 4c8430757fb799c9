"""Plain text files: a note each, whatever their encoding."""

from collections.abc import Iterator

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import sourcetext

LARGEST = 32 * 1024 * 1024


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """The file as one note, titled by its name."""
    if len(source.data) > LARGEST:
        raise errors.Unreadable(f"a text larger than {LARGEST // 1024 // 1024} MB")
    text, encoding = charsets.decode(source.data)
    if sourcetext.is_binary(text):
        raise errors.Unreadable("not text: the file holds control characters")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        yield drafts.Skip("", "the file holds only white space")
        return
    custom = {"encoding": encoding, "modified": source.mtime}
    yield drafts.Draft(
        "note",
        "",
        {
            "title": source.relative.stem,
            "content": text,
            "format": "text",
            "custom": custom,
        },
    )
