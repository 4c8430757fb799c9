"""Content type detection and SHA-256 of a file to import, once for each state of it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from reverie import blobs, errors
from reverie.ingest import detect, homes, scan

LARGEST = 2 * 1024**3
"""Bytes; what is larger is not taken in."""


def inspect(
    file: scan.ScannedFile, refusal: Callable[[Path], str] = homes.refusal
) -> scan.ScannedFile:
    """The file with its `state`, or with the `problem` for which it is not read. Blocks.
    `refusal` is for many files of one moment (`homes.refusals`).

    Nothing is read again of a file that is as it was: by its size and its time of
    modification, as rsync and make tell it. Raises Unreadable.
    """
    if file.problem:
        return file
    # A blob lies in the home because it was kept there, and nobody chooses its path.
    reason = "" if file.blob else refusal(file.file)
    if reason:
        return replace(file, problem=reason, state=None)
    try:
        status = file.file.stat()
        if status.st_size > LARGEST:
            raise errors.Unreadable("the file is larger than 2 GB: split it")
        if file.state and file.state.is_of(status):
            return file
        with file.file.open("rb") as opened:
            head = opened.read(detect.HEAD)
        problem = _refusal(head, file)
        if problem:
            return replace(file, problem=problem, state=None)
        digest = file.blob or blobs.digest_of(file.file)
    except OSError as refused:
        raise errors.Unreadable(f"cannot be read: {refused.strerror}") from None
    state = scan.FileState(status.st_size, status.st_mtime, digest)
    return replace(file, state=state)


def _refusal(head: bytes, file: scan.ScannedFile) -> str:
    """Why a file is not read, by its beginning and its name; "" when it may be."""
    kind = detect.look(head, file.relative)
    return kind if isinstance(kind, str) else ""
