"""Readers that do what no reader may, in a catalogue that finds them by file name."""

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path, PurePath

from reverie import errors
from reverie.ingest.documents import kinds, units

MB = 1024 * 1024
_PLACE = tempfile.gettempdir()
_kept: list[str] = []


def page(number: int, text: str = "text") -> units.Unit:
    return units.Unit(
        number, 0, (units.Block(text, place={"page": number}),), {"page": number}
    )


def endless(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    while True:
        pass


def asleep(given: units.DocumentSource) -> Iterator[units.Read]:
    time.sleep(600)
    yield page(1)


def slow(given: units.DocumentSource) -> Iterator[units.Read]:
    for number in range(1, 6):
        time.sleep(0.3)
        yield page(number)


def deaf(given: units.DocumentSource) -> Iterator[units.Read]:
    for number in (signal.SIGTERM, signal.SIGXCPU, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        try:
            time.sleep(600)
        except BaseException:  # noqa: BLE001
            continue
    yield page(1)


def hungry(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    held: list[bytearray] = []
    while True:
        held.append(bytearray(os.urandom(1024) * 1024))


def greedy(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(len(bytearray(20_000 * MB)))


def segfault(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    ctypes.string_at(1)


def exits(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    sys.exit(3)


def leaves(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    os._exit(3)


def raises(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    raise ZeroDivisionError("secret words")


def refuses(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    raise errors.Unreadable("the file is cut short")


def locked(given: units.DocumentSource) -> Iterator[units.Read]:
    if given.password != "open sesame":
        raise errors.Locked("it wants a password")
    yield page(given.first)


def infinite(given: units.DocumentSource) -> Iterator[units.Read]:
    number = 0
    while True:
        yield page(number := number + 1, "x" * MB)


def trickle(given: units.DocumentSource) -> Iterator[units.Read]:
    while True:
        yield page(1, "")


def large(given: units.DocumentSource) -> Iterator[units.Read]:
    yield units.EmbeddedFile("a.bin", "", bytes(3 * MB))
    yield page(1, "x" * 3 * MB)


def wide(given: units.DocumentSource) -> Iterator[units.Read]:
    yield units.Unit(1, 1, (), {"section": "x" * 17 * MB})


def long(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    blocks = (
        units.Block(f"ü{number}", "row", 0, {"rows": [number, number]})
        for number in range(50_000)
    )
    yield units.Unit(2, 2, tuple(blocks), {"sheet": "One"}, "long")


def mute(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(1)
    os.closerange(3, 256)
    time.sleep(600)


def noisy(given: units.DocumentSource) -> Iterator[units.Read]:
    for _ in range(1000):
        sys.stdout.write("noise" * 1000)
        sys.stderr.write("noise" * 1000)
    yield page(1)


def _raw(data: bytes) -> None:
    for number in range(3, 256):
        try:
            socket.socket(fileno=os.dup(number)).sendall(data)
        except OSError:
            continue


def lying(given: units.DocumentSource) -> Iterator[units.Read]:
    """What the file says is sent as it is."""
    _raw(given.data)
    yield page(1)


def around(given: units.DocumentSource) -> Iterator[units.Read]:
    """What can be seen from inside."""
    said = {
        "files": ",".join(
            sorted(
                str(one.readlink())
                for one in Path("/proc/self/fd").iterdir()
                if one.is_symlink()
            )
        ),
        "environment": ",".join(os.environ),
        "group": str(os.getpgrp() == os.getpid()),
        "core": str(resource.getrlimit(resource.RLIMIT_CORE)),
        "nice": str(os.nice(0)),
        "parent": str(os.getppid()),
        "number": str(os.getpid()),
        "kept": ",".join(_kept),
        "write": _try(lambda: Path(_PLACE, "reverie-child-wrote").write_text("x")),
        "network": _try(
            lambda: socket.create_connection(("127.0.0.1", int(given.data)), timeout=2)
        ),
        "heavy": ",".join(
            name
            for name in ("numpy", "onnxruntime", "rapidocr", "pypdfium2")
            if name in sys.modules
        ),
    }
    _kept.append(given.name)
    yield units.Unit(
        1, 1, tuple(units.Block(f"{name}={value}") for name, value in said.items())
    )


def _try(what: object) -> str:
    try:
        what()  # pyright: ignore[reportCallIssue]
    except OSError as refused:
        return type(refused).__name__
    return "done"


def descends(given: units.DocumentSource) -> Iterator[units.Read]:
    child = subprocess.Popen(["/bin/sleep", "600"])
    yield page(child.pid)
    while True:
        pass


def waits(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(os.getpid())
    time.sleep(600)


def parent(given: units.DocumentSource) -> Iterator[units.Read]:
    yield page(os.getppid())
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(600)


def plain(given: units.DocumentSource) -> Iterator[units.Read]:
    yield units.About("Title", "Ann", "2024-01-02", "utf-8")
    place = {"page": 7, "rows": [1, 2], "section": "One"}
    blocks = (
        units.Block("Head", "heading", 2),
        units.Block("a\x00b \ud800 ñ", "row", 0, place),
    )
    yield units.Unit(7, 9, blocks, {"page": 7}, "by OCR")
    yield units.EmbeddedFile("ü.bin", "image/png", bytes(range(256)))


def opened(data: bytes, password: str) -> bytes:
    return data


def find(data: bytes, relative: PurePath) -> kinds.DocumentFormat | str:
    if relative.stem == "nothing":
        return "nobody reads this"
    return kinds.DocumentFormat(relative.stem, "odd files")


def reader(found: kinds.DocumentFormat) -> units.Reader | None:
    return globals().get(found.reader)


def warm(number: int) -> None:
    raise AssertionError(number)
