"""Which files an import takes: every file under some paths, and why something is not
even opened.
"""

import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath

from reverie import errors


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """One file to import. `path` is its identity in the ledger, `relative` its name in
    the report.

    With a `blob` its bytes are kept already, at `file`, under that address. `custom`
    goes into every record made of it. What lay `inside` another file may only become a
    document: nobody puts an event into a calendar by a letter.
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


def inside(path: str, digest: str, name: str) -> str:
    """The identity of a file that lies inside the file of that path."""
    return f"{path}!{digest[:16]}/{name}"


def outer(path: str, known: Container[str]) -> str:
    """The outermost of some known files that a path is, or lies inside of; "" when it
    is none of theirs.
    """
    ends = [at for at, letter in enumerate(path) if letter == "!"]
    return next((path[:end] for end in (*ends, len(path)) if path[:end] in known), "")


def find(paths: Iterable[Path], *, name: str = "") -> Iterator[ScannedFile]:
    """Every file under some paths, in order. With a `name`, files are known by it and
    their place under the path.

    Raises NotFound for a path that is not there.
    """
    for given in paths:
        root = given.expanduser().absolute()
        if not root.exists():
            raise errors.NotFound(
                f"There is nothing at {given}.",
                hint="Give files or folders that exist.",
            )
        files = [root] if root.is_file() else sorted(_walk(root))
        top = root.parent if root.is_file() else root
        vaults = _vaults(top)
        for file in files:
            relative = PurePosixPath(file.relative_to(top).as_posix())
            path = f"{name}:{relative}" if name else str(file)
            vault = any(folder in vaults for folder in file.parents)
            yield ScannedFile(
                file,
                _text(path),
                PurePosixPath(_text(str(relative))),
                vault,
                _problem(file),
            )


def _walk(root: Path) -> Iterator[Path]:
    """Every file, and each folder that is not entered: one that is a link, one that
    cannot be read.
    """
    closed: list[Path] = []
    for folder, folders, names in os.walk(
        root, onerror=lambda refused: closed.append(Path(str(refused.filename)))
    ):
        for name in [
            *names,
            *(one for one in folders if (Path(folder) / one).is_symlink()),
        ]:
            yield Path(folder) / name
    yield from closed


def _problem(file: Path) -> str:
    """Why something is not even opened: reading a pipe would wait for ever."""
    if file.is_symlink():
        return "a symbolic link is not followed"
    if file.is_dir():
        return "a folder that cannot be read"
    return "" if file.is_file() else "not a file but a pipe, a socket or a device"


def _vaults(top: Path) -> set[Path]:
    """The Obsidian vaults at, above or below a folder."""
    above = {
        folder for folder in (top, *top.parents) if (folder / ".obsidian").is_dir()
    }
    return above | {
        Path(folder) for folder, names, _ in os.walk(top) if ".obsidian" in names
    }


def _text(path: str) -> str:
    """A path as text that the database can keep, whatever bytes the file system allows."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
