"""Offloading of work on texts from the event loop to threads, long texts one at a time.

However many long texts come at once, whoever asks meanwhile shares the interpreter with
one thread and not with all of them.
"""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

LONG = 20_000
"""Characters from which on a text is long; set by hand."""

_long_texts = ThreadPoolExecutor(1, thread_name_prefix="long-texts")


async def to_thread(
    size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """What a function of texts of `size` characters returns, computed in a thread."""
    if size <= LONG:
        return await asyncio.to_thread(function, *args, **kwargs)
    context = contextvars.copy_context()
    return await asyncio.get_running_loop().run_in_executor(
        _long_texts, lambda: context.run(function, *args, **kwargs)
    )
