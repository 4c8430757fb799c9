"""multilingual-e5-small with two lanes: questions in the caller's thread, passages in
threads of low priority, one for each processor.
"""

import os
import sys
import threading
from collections.abc import Sequence
from concurrent import futures

from reverie.providers import base
from reverie.providers.e5 import engine

_QUERY, _PASSAGE = "query: ", "passage: "
_LOWEST = 19  # as `nice` has it


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
        """The same; whatever else runs on the machine goes first."""
        marked = [_PASSAGE + text for text in texts]
        return self._engine.vectors(marked, self._background.map)


def _processors() -> int:
    """How many this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _step_back() -> None:
    """Give this thread the lowest priority: only Linux has one for a thread."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)
