"""The scan of an import: every file under some paths, and why one is not opened."""

import base64
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from reverie import errors
from reverie.ingest import charsets, homes

_BYTES = "bytes:"  # no path begins so: they are absolute


@dataclass(frozen=True, slots=True)
class FileState:
    """What a file was when it was inspected: `size` in bytes, `mtime` in seconds since
    1970, `digest` the SHA-256 of its bytes (hex).
    """

    size: int
    mtime: float
    digest: str

    def is_of(self, status: os.stat_result) -> bool:
        """Whether a file of that status is still the same, as far as that can tell."""
        return (status.st_size, status.st_mtime) == (self.size, self.mtime)

    @property
    def modified(self) -> datetime:
        return datetime.fromtimestamp(self.mtime, UTC)


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """One file to import, from the scan to the ledger. `path` is its identity there,
    `relative` its name in the report.

    With a `blob` its bytes are kept already, at `file`, under that address. `custom`
    goes into every record made of it. What lay `inside` another file may only become a
    document: nobody puts an event into a calendar by a letter. `state` is there once it
    was inspected; with a `problem` it is not read.
    """

    file: Path
    path: str
    relative: PurePosixPath
    vault: bool = False
    problem: str = ""
    blob: str = ""
    modified: datetime | None = None
    custom: Mapping[str, object] = field(default_factory=dict[str, object])
    inside: bool = False
    state: FileState | None = None

    def location(self) -> dict[str, object]:
        """Where its bytes are and what it was, as an ingestion keeps it: JSON."""
        location: dict[str, object] = {"file": stored(self.file), "vault": self.vault}
        if self.blob:
            location = {
                "blob": self.blob,
                "custom": dict(self.custom),
                "inside": self.inside,
            }
        if self.state:
            location["mtime"] = self.state.mtime
        return location


def inside(path: str, digest: str, name: str) -> str:
    """The identity of a file that lies inside the file of that path."""
    return f"{path}!{digest[:16]}/{name}"


def outer(path: str, files: Container[str]) -> str:
    """The outermost of some files that a path is, or lies inside of; "" when it is none
    of theirs.
    """
    ends = [at for at, letter in enumerate(path) if letter == "!"]
    for end in (*ends, len(path)):
        if path[:end] in files:
            return path[:end]
    return ""


def find(paths: Iterable[Path], *, name: str = "") -> Iterator[ScannedFile]:
    """Every file under some paths, in order. With a `name`, files are known by it and
    their place under the path.

    Raises NotFound for a path that is not there.
    """
    refusal = homes.refusals()
    for start in paths:
        root = start.expanduser().absolute()
        if not root.exists():
            raise errors.NotFound(
                f"There is nothing at {start}.",
                hint="Give files or folders that exist.",
            )
        files = [root] if _is_leaf(root) else sorted(_walk(root))
        top = root.parent if _is_leaf(root) else root
        vaults = _vaults(top)
        for file in files:
            relative = PurePosixPath(file.relative_to(top).as_posix())
            path = f"{name}:{relative}" if name else str(file)
            yield ScannedFile(
                file,
                identity(path),
                PurePosixPath(readable(str(relative))),
                vault=not vaults.isdisjoint(file.parents),
                problem=_problem(file, refusal),
            )


def _is_leaf(root: Path) -> bool:
    """Whether it is a file, or a folder that is not entered."""
    return root.is_file() or bool(homes.refusal(root))


def _walk(root: Path) -> Iterator[Path]:
    """Every file, and each folder that is not entered: one that is a link, one that
    cannot be read, a Reverie home.
    """
    unreadable: list[Path] = []

    def note_unreadable(refused: OSError) -> None:
        unreadable.append(Path(str(refused.filename)))

    for name, folders, files in os.walk(root, onerror=note_unreadable):
        folder = Path(name)
        for file in files:
            yield folder / file
        for inner in tuple(folders):
            if (folder / inner).is_symlink():
                yield folder / inner
            elif homes.of_folder(folder / inner):
                folders.remove(inner)
                yield folder / inner
    yield from unreadable


def _problem(file: Path, refusal: Callable[[Path], str]) -> str:
    """Why something is not even opened: reading a pipe would wait for ever."""
    if file.is_symlink():
        return "a symbolic link is not followed"
    reason = refusal(file)
    if reason:
        return reason
    if file.is_dir():
        return "a folder that cannot be read"
    return "" if file.is_file() else "not a file but a pipe, a socket or a device"


def _vaults(top: Path) -> set[Path]:
    """The Obsidian vaults at, above or below a folder."""
    above = {
        folder for folder in (top, *top.parents) if (folder / ".obsidian").is_dir()
    }
    vaults = set(above)
    for folder, names, _ in os.walk(top):
        names[:] = [name for name in names if not homes.of_folder(Path(folder, name))]
        if ".obsidian" in names:
            vaults.add(Path(folder))
    return vaults


def identity(path: str) -> str:
    """A path as text that the database can keep, another for each: bytes that are no
    UTF-8 are written out.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def readable(path: str) -> str:
    """A path as people read it: a name that is no UTF-8 in its likeliest encoding."""
    return "/".join(
        charsets.decode(os.fsencode(part))[0].replace("\0", "")
        for part in path.split("/")
    )


def stored(path: Path) -> str:
    """A path as JSON can keep it, whatever bytes the file system allows."""
    text = str(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return _BYTES + base64.b64encode(os.fsencode(text)).decode()
    return text


def restored(text: str) -> Path:
    """The path that was stored."""
    if text.startswith(_BYTES):
        return Path(os.fsdecode(base64.b64decode(text.removeprefix(_BYTES))))
    return Path(text)
