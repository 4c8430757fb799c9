"""Growth of processor time with the size of an input: doubled, it may take 2.6 times as
long, which n log n does and a square does not.
"""

import gc
import re
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType

import pytest

MOST = 2.6
MOST_BEYOND_CACHES = 3.2  # megabytes; a square is 4
LEAST_S = 0.04  # shorter times are noise
LONGEST_S = 20.0  # what takes longer grows without end
TRIES = 12


def seconds(work: Callable[[int], object], size: int) -> float:
    """The processor's time, without that of collecting garbage."""
    before = signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
    gc.disable()
    try:
        started = time.process_time()
        work(size)
        return time.process_time() - started
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _too_long(signal_: int, frame: FrameType | None) -> None:
    del signal_, frame
    pytest.fail(f"it takes more than {LONGEST_S:.0f} seconds")


def assert_grows_evenly(
    work: Callable[[int], object], size: int, *, largest: int = 1_000_000
) -> None:
    """Doubled, until it takes long enough to be measured; noise may cost some tries.
    What takes next to nothing of a megabyte is no square.
    """
    short = seconds(work, size)
    while short < LEAST_S and size < largest:
        size *= 2
        short = seconds(work, size)
    if short < LEAST_S:  # so much in no time: what grows is noise
        assert seconds(work, 2 * size) < 4 * LEAST_S
        return
    most = MOST if size < 1_000_000 else MOST_BEYOND_CACHES
    long = seconds(work, 2 * size)
    for _ in range(TRIES):
        if long <= most * max(short, LEAST_S / 2):
            return
        short = min(short, seconds(work, size))
        long = min(long, seconds(work, 2 * size))
    pytest.fail(f"twice as long takes {long / short:.1f} times as long ({size})")


def repeated(piece: str) -> Callable[[int], str]:
    """Texts of a piece again and again."""
    return lambda size: piece * (size // len(piece) + 1)


def patterns_of(module: ModuleType) -> Iterator[re.Pattern[str]]:
    """The regular expressions for texts that a module has compiled."""
    for value in vars(module).values():
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            yield value
