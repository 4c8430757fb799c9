"""Compound files, the container of Office before 2007 and of Outlook: storages and
streams, read under a cap.
"""

import io
from collections.abc import Sequence
from typing import Any

import olefile

from reverie import errors
from reverie.ingest.documents import spacing, units

MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LARGEST = 256 * 1024 * 1024  # bytes of one stream


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
        if (
            not self.has(*path)
            or self._file.get_type(list(path)) != olefile.STGTY_STREAM
        ):
            return b""
        if self._file.get_size(list(path)) > LARGEST:
            raise errors.Unreadable(
                f"a part of it is larger than {LARGEST // 1024 // 1024} MB"
            )
        with self._file.openstream(list(path)) as stream:
            return bytes(stream.read())

    def storages(self, at: Sequence[str], prefix: str) -> list[str]:
        """The names of the storages directly in one that begin so, sorted."""
        lower = [part.lower() for part in at]
        names = {
            path[-1]
            for path in self._paths
            if len(path) == len(lower) + 1
            and [part.lower() for part in path[:-1]] == lower
        }
        return sorted(name for name in names if name.lower().startswith(prefix.lower()))

    def about(self) -> units.About:
        """What its summary says; a summary that is broken says nothing."""
        try:
            said: Any = self._file.get_metadata()
        except Exception:  # noqa: BLE001 -- a document can do without its summary, whatever is wrong with it
            return units.About()
        page = said.codepage
        encoding = (
            f"cp{page}" if isinstance(page, int) and 0 < page < 65000 else "utf-8"
        )
        created: Any = said.create_time
        when = str(created.isoformat()) if created and created.year > 1900 else ""
        return units.About(
            _text(said.title, encoding), _text(said.author, encoding), when
        )


def _text(value: object, encoding: str) -> str:
    if isinstance(value, bytes):
        try:
            value = value.decode(encoding, "replace")
        except LookupError:
            value = value.decode("cp1252", "replace")
    return spacing.clean(value) if isinstance(value, str) else ""
