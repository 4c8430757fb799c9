"""multilingual-e5-small with two lanes: questions in the caller's thread, passages in
threads of lower priority, one for each processor.
"""

import os
import sys
import threading
from collections.abc import Sequence
from concurrent import futures

from reverie.providers import base
from reverie.providers.e5 import engine

_QUERY, _PASSAGE = "query: ", "passage: "
# As `nice` counts: beside a process of the usual priority on every processor they get a
# quarter of the time. At 19 it would be a sixtieth, and no vector would ever be ready.
_STEPS_BACK = 5
_LOWEST = 19


class E5Model:
    """Raises OSError, ValueError, RuntimeError where the engine does not run."""

    def __init__(self) -> None:
        self._engine = engine.Engine()
        self._background = futures.ThreadPoolExecutor(
            _processors(), thread_name_prefix="passages", initializer=_step_back
        )

    def queries(self, texts: Sequence[str]) -> base.Vectors:
        """Shape (len(texts), width), unit length."""
        marked = [_QUERY + text for text in texts]
        return self._engine.vectors(marked)

    def passages(self, texts: Sequence[str]) -> base.Vectors:
        """The same; most of what else runs on the machine goes first."""
        marked = [_PASSAGE + text for text in texts]
        in_background = self._background.map
        return self._engine.vectors(marked, in_background)


def _processors() -> int:
    """How many this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _step_back() -> None:
    """Give this thread a lower priority: only Linux has one for a thread."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        usual = os.getpriority(os.PRIO_PROCESS, thread)
        niceness = min(usual + _STEPS_BACK, _LOWEST)
        os.setpriority(os.PRIO_PROCESS, thread, niceness)
