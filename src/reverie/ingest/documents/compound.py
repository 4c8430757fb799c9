"""Compound files (OLE2/CFB, [MS-CFB]) of older Office and Outlook: streams under a cap."""

import io
from collections.abc import Sequence
from typing import Any

import olefile

from reverie import errors
from reverie.ingest.documents import spacing, units

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# Bytes of one stream; set by hand.
LARGEST = 256 * 1024 * 1024


class Compound:
    """A compound file. A path is the names from the outermost storage on; upper and
    lower case are the same.
    """

    def __init__(self, data: bytes, kind: str) -> None:
        """Unreadable when `data` is none or is broken. `kind` is "an Outlook message"
        and the like.
        """
        if not data.startswith(MAGIC):
            raise errors.Unreadable("the file is empty" if not data else f"not {kind}")
        try:
            self._file: Any = olefile.OleFileIO(io.BytesIO(data))
        except Exception as error:
            raise errors.Unreadable("the file is damaged or cut short") from error
        self._paths: list[list[str]] = self._file.listdir(streams=False, storages=True)

    def has(self, *path: str) -> bool:
        """Whether a storage or stream is there."""
        return bool(self._file.exists(list(path)))

    def read(self, *path: str) -> bytes:
        """A stream's bytes, b"" when there is none. Unreadable when it is too large."""
        at = list(path)
        if not self.has(*path) or self._file.get_type(at) != olefile.STGTY_STREAM:
            return b""
        if self._file.get_size(at) > LARGEST:
            raise errors.Unreadable(
                f"a part of it is larger than {LARGEST // 1024 // 1024} MB"
            )
        with self._file.openstream(at) as stream:
            return bytes(stream.read())

    def storages(self, at: Sequence[str], prefix: str) -> list[str]:
        """The names of the storages directly in one that begin so, sorted."""
        inside = _folded(at)
        names = {path[-1] for path in self._paths if _folded(path[:-1]) == inside}
        return sorted(name for name in names if name.lower().startswith(prefix.lower()))

    def about(self) -> units.About:
        """What its summary says; a summary that is broken says nothing."""
        try:
            summary: Any = self._file.get_metadata()
        except Exception:  # noqa: BLE001 -- a document can do without its summary, whatever is wrong with it
            return units.About()
        encoding = _encoding(summary.codepage)
        created: Any = summary.create_time
        # A document without a time says the first day of 1601.
        dated = created and created.year > 1900
        return units.About(
            _text(summary.title, encoding),
            _text(summary.author, encoding),
            str(created.isoformat()) if dated else "",
        )


def _folded(path: Sequence[str]) -> list[str]:
    """The names of a path as they are compared: without case."""
    return [name.lower() for name in path]


def _encoding(codepage: object) -> str:
    """The name of the encoding of a summary; 65001 and what is none are UTF-8."""
    if isinstance(codepage, int) and 0 < codepage < 65000:
        return f"cp{codepage}"
    return "utf-8"


def _text(value: object, encoding: str) -> str:
    """A property of the summary as text, "" if it is none."""
    if isinstance(value, bytes):
        try:
            value = value.decode(encoding, "replace")
        except LookupError:
            value = value.decode("cp1252", "replace")
    return spacing.clean(value) if isinstance(value, str) else ""
