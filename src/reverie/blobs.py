"""Original bytes on disk, addressed by their SHA-256, one folder per user."""

import errno
import hashlib
import os
import tempfile
from pathlib import Path
from uuid import UUID

from reverie import errors


def digest(data: bytes) -> str:
    """The address of some bytes: SHA-256, hex."""
    return hashlib.sha256(data).hexdigest()


def put(root: Path, user_id: UUID, data: bytes) -> str:
    """Keep bytes durably and return their address. Keeping the same bytes again is free.

    Raises DiskFull.
    """
    address = digest(data)
    path = _path(root, user_id, address)
    if path.exists() and path.stat().st_size == len(data):
        return address
    try:
        for folder in (root, path.parent.parent, path.parent):
            folder.mkdir(mode=0o700, exist_ok=True)
        descriptor, half = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(half).rename(path)
        except OSError:
            Path(half).unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as refused:
        told = f"The original could not be kept under {root}: {refused.strerror}."
        if refused.errno in (errno.ENOSPC, errno.EDQUOT):
            raise errors.DiskFull(told, hint="Free some space and try again.") from None
        raise errors.Misconfigured(told, hint="Reverie's home must be yours to write.") from None
    return address


def get(root: Path, user_id: UUID, address: str) -> bytes:
    """The bytes at an address of this user. Raises NotFound."""
    try:
        return _path(root, user_id, address).read_bytes()
    except FileNotFoundError:
        raise errors.NotFound("There is no such original.") from None


def _path(root: Path, user_id: UUID, address: str) -> Path:
    return root / str(user_id) / address[:2] / address


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
