"""Resource limits (rlimit, prctl) and the network namespace of a sandboxed process."""

import ctypes
import faulthandler
import math
import os
import resource
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MB = 1024 * 1024
SECONDS = 30.0
MEMORY = 512 * MB
FRAME = 64 * MB
OUTPUT = 256 * MB
_BESIDE = 384 * MB
_TIMES = 8
_DIE_WITH_PARENT = 1  # prctl: PR_SET_PDEATHSIG
_NO_NEW_PRIVILEGES = 38  # prctl: PR_SET_NO_NEW_PRIVS
_FILES = 64
_NICE = 5


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """`seconds` may pass without a unit; `memory`, `frame` (one unit) and `output` (all
    units) are bytes.
    """

    seconds: float = SECONDS
    memory: int = MEMORY
    frame: int = FRAME
    output: int = OUTPUT


def fitting(size: int) -> SandboxLimits:
    """The limits for a file of so many bytes: 512 MB up to 128 MB, and what a larger
    one takes itself on top.
    """
    return SandboxLimits(
        memory=max(MEMORY, size + _BESIDE), output=OUTPUT + _TIMES * size
    )


def confine(allowed: SandboxLimits, parent: int) -> None:
    """Hold this process to its limits, for good. It ends when its parent (a process id)
    does.

    RLIMIT_NPROC is not set: it counts every process of the user, and those of the OCR
    are threads.
    """
    os.setsid()
    faulthandler.disable()
    os.environ.clear()
    # a library that writes a file is told that it cannot
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        # where the machine runs out of memory, it is to take this process and no other
        with suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
    if os.getppid() != parent:
        os._exit(1)
    with suppress(OSError):
        os.nice(_NICE)
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _FILES),
        (resource.RLIMIT_DATA, allowed.memory),
    ):
        _at_most(kind, most)
    more_time(allowed)


def _at_most(kind: int, most: int) -> None:
    hard = resource.getrlimit(kind)[1]
    limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
    # macOS refuses some; whoever started this process watches it as well
    with suppress(OSError, ValueError):
        resource.setrlimit(kind, (limit, limit))


def more_time(allowed: SandboxLimits) -> None:
    """Another unit's worth of processor time, on as many processors as there are.

    The clock is with whoever started this process; this ends one that nobody watches
    any more.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu = used.ru_utime + used.ru_stime + allowed.seconds * (os.cpu_count() or 1)
    with suppress(OSError, ValueError):
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(cpu) + 1, hard))


def unshare_network() -> None:
    """Cut this process and its children off from the network, where the system lets
    anybody do so.
    """
    if sys.platform != "linux":
        return
    unshare: Any = getattr(ctypes.CDLL(None, use_errno=True), "unshare", None)
    user, network = 0x10000000, 0x40000000  # CLONE_NEWUSER, CLONE_NEWNET
    if unshare is not None and unshare(network) != 0:
        unshare(user | network)
