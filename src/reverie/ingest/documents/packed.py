"""Zip bomb guard: parts of a zip-based document are read under caps, failures get names."""

import functools
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from reverie import errors
from reverie.ingest.documents import compound, trees, units

# Limits of one document, set by hand (docs/decisions/0020): its parts, the bytes read
# of all together, the bytes of one that is held as a tree, which takes several times as
# much.
MEMBERS = 20_000
LARGEST = 1024 * 1024 * 1024
PART = 64 * 1024 * 1024
# From so many bytes on, so many times its packed size is no document.
RATIO = 300
FROM = 8 * 1024 * 1024
# Bytes read at a time.
CHUNK = 256 * 1024


class Capped:
    """A member of a zip, read while its real size is counted; the directory's own
    figures are not believed.
    """

    def __init__(self, file: IO[bytes], package: "Package", packed: int) -> None:
        self._file = file
        self._package = package
        self._packed = packed
        self._read = 0

    def read(self, size: int = CHUNK) -> bytes:
        """The next bytes. Unreadable once the member or the document unpacks to more
        than it may.
        """
        data = self._file.read(CHUNK if size < 0 else min(size, CHUNK))
        self._read += len(data)
        self._package.count(len(data))
        if self._read > FROM and self._read > RATIO * max(1, self._packed):
            raise errors.Unreadable(
                f"a part of it unpacks to more than {RATIO} times its size"
            )
        return data


class Package:
    """A zip-based document whose members are read one by one."""

    def __init__(self, data: bytes, kind: str) -> None:
        """Locked when it is encrypted, Unreadable when `data` is no zip. `kind` is "a
        Word document" and the like.
        """
        self.kind = kind
        self._unpacked = 0
        if data.startswith(compound.MAGIC):
            _refuse_compound(data, kind)
        if not data.startswith(b"PK"):
            raise errors.Unreadable("the file is empty" if not data else f"not {kind}")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except zipfile.BadZipFile as error:
            raise errors.Unreadable("the file is cut short") from error
        members = self._zip.infolist()
        if len(members) > MEMBERS:
            raise errors.Unreadable(f"it has more than {MEMBERS} parts")
        # Bit 0 of the general purpose flag (APPNOTE 4.4.4).
        if any(member.flag_bits & 1 for member in members):
            raise errors.Locked("it is encrypted")
        self._infos = {_key(member.filename): member for member in members}

    def __contains__(self, name: str) -> bool:
        return _key(name) in self._infos

    def names(self) -> list[str]:
        """The members as they are called inside, without a slash at the start."""
        return [
            info.filename.replace("\\", "/").lstrip("/")
            for info in self._infos.values()
        ]

    def size(self, name: str) -> int:
        """How large the directory says a member is: a hint, never a limit."""
        info = self._infos.get(_key(name))
        return info.file_size if info else 0

    def count(self, size: int) -> None:
        """Add bytes that were unpacked; Unreadable beyond the limit."""
        self._unpacked += size
        if self._unpacked > LARGEST:
            raise errors.Unreadable(
                f"it unpacks to more than {LARGEST // 1024 // 1024} MB"
            )

    def stream(self, name: str) -> Capped:
        """A member to read piece by piece. Unreadable when it is not there."""
        info = self._infos.get(_key(name))
        if info is None:
            raise errors.Unreadable(f"not {self.kind}: {name} is missing")
        return Capped(self._zip.open(info), self, info.compress_size)

    def read(self, name: str, limit: int = PART) -> bytes:
        """A whole member of at most `limit` bytes."""
        stream = self.stream(name)
        pieces: list[bytes] = []
        size = 0
        while piece := stream.read():
            size += len(piece)
            if size > limit:
                raise errors.Unreadable(
                    f"{name} unpacks to more than {limit // 1024 // 1024} MB"
                )
            pieces.append(piece)
        return b"".join(pieces)

    def tree(self, name: str) -> trees.Element:
        """A member as XML."""
        return trees.parsed(self.read(name))

    def maybe(self, name: str) -> trees.Element | None:
        """A member as XML, or None when it is not there or is broken: for parts a
        document can do without.
        """
        if name not in self:
            return None
        try:
            return self.tree(name)
        except (trees.SyntaxFault, zipfile.BadZipFile, zlib.error, EOFError):
            return None

    def elements(self, name: str, *tags: str) -> Iterator[trees.Element]:
        """The elements called `tags` (local names) of a large member, one after the
        other, each freed after its turn.

        Only its own inside is whole: what stood before it is gone.
        """
        yield from trees.elements(self.stream(name), tags)


def guarded(kind: str) -> Callable[[units.Reader], units.Reader]:
    """A reader whose every failure is Unreadable: the edge where what libraries raise
    on foreign bytes gets a name.
    """

    def wrap(read: units.Reader) -> units.Reader:
        """The reader with the guard around it."""

        @functools.wraps(read)
        def reader(source: units.DocumentSource) -> Iterator[units.Read]:
            try:
                yield from read(source)
            except errors.ReverieError:
                raise
            except RecursionError as error:
                raise errors.Unreadable("its parts are nested too deeply") from error
            except MemoryError as error:
                raise errors.Unreadable("it takes more memory than there is") from error
            except (EOFError, zlib.error, zipfile.BadZipFile) as error:
                raise errors.Unreadable("the file is damaged or cut short") from error
            except trees.SyntaxFault as error:
                raise errors.Unreadable(_syntax(error)) from error
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"[:120]
                raise errors.Unreadable(
                    f"the file is damaged, or not {kind} ({reason})"
                ) from error

        return reader

    return wrap


def _refuse_compound(data: bytes, kind: str) -> None:
    """Raise Locked for an encrypted package, Unreadable for an older format."""
    if compound.Compound(data, kind).has("EncryptedPackage"):
        raise errors.Locked("it is encrypted")
    raise errors.Unreadable(f"not {kind} but of an older Office format")


def _key(name: str) -> str:
    """A name as it is compared: with slashes, without case."""
    return name.replace("\\", "/").lstrip("/").lower()


def _syntax(error: Exception) -> str:
    """Why XML could not be read, for people."""
    text = str(error)
    if "depth" in text.lower():
        return "its parts are nested too deeply"
    if "entity" in text.lower():
        return "it declares entities of its own, as only an attack does"
    if text.startswith("unknown error"):  # so the library says that it got no memory
        return "it takes more memory than there is"
    return f"its XML is broken ({text[:100]})"
