"""Reverie homes and database clusters, which are never a source: how a folder is told
to be one.
"""

import functools
import os
from collections.abc import Callable
from pathlib import Path

from reverie.access import tokens

REASON = "it lies in a Reverie home, which is never a source"
CLUSTER_REASON = "it lies in a PostgreSQL cluster, which is never a source"
_LABEL = b"reverie-pseudonyms-"
# Beside the token and the key, which may be gone.
_LOCKS = ("start.lock", "server.lock", "up.lock")
_PARTS = ("blobs", "postgres", "cluster", "cache")
_LONGEST_HEAD = 200


def refusal(path: Path) -> str:
    """Why a file or folder is not read: it is, or lies in, a home or a cluster, by
    whatever links it is reached; "" when it is none.
    """
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        real = path.absolute()
    for folder in (real, *real.parents):
        reason = of_folder(folder)
        if reason:
            return reason
    return ""


def refusals() -> Callable[[Path], str]:
    """The same for many paths of one moment: each folder is looked at once."""
    of_parent = functools.cache(refusal)

    def refused(path: Path) -> str:
        if path.is_symlink() or path.is_dir():
            return refusal(path)
        return of_parent(path.parent)

    return refused


def of_folder(folder: Path) -> str:
    """Why a folder itself is not entered; "" when it may be."""
    if _is_home(folder):
        return REASON
    return CLUSTER_REASON if _is_cluster(folder) else ""


def _is_home(folder: Path) -> bool:
    """By the owner's token, the key of the pseudonyms, or a lock beside what it keeps."""
    token = _head(folder / "token").decode("latin-1").strip()
    if token and tokens.SHAPE.fullmatch(token):
        return True
    if _head(folder / "pseudonym.key").startswith(_LABEL):
        return True
    if not any((folder / lock).exists() for lock in _LOCKS):
        return False
    return any((folder / part).exists() for part in _PARTS)


def _is_cluster(folder: Path) -> bool:
    return (folder / "PG_VERSION").is_file() and (folder / "global").is_dir()


def _head(file: Path) -> bytes:
    """The beginning of a small file; nothing of what is no plain file, or cannot be
    read.
    """
    try:
        if not file.is_file():
            return b""
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(descriptor, _LONGEST_HEAD)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
