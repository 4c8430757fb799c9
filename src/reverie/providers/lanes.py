"""Who goes first to a provider: questions before what is just happening, and that before background work."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Literal

Lane = Literal["query", "realtime", "bulk"]
_ORDER: dict[Lane, int] = {"query": 0, "realtime": 1, "bulk": 2}


class Lanes:
    """So many calls at a time, the most urgent first. Where there is more than one place, bulk leaves one free."""

    def __init__(self, places: int) -> None:
        self._free = max(1, places)
        self._spare = 1 if places > 1 else 0
        self._numbers = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @property
    def waiting(self) -> int:
        """How many calls wait for a place."""
        return sum(not one.done() for _, _, one in self._waiting)

    @asynccontextmanager
    async def place(self, lane: Lane) -> AsyncGenerator[None]:
        """A place at the provider for as long as the block lasts."""
        await self._enter(_ORDER[lane])
        try:
            yield
        finally:
            self._free += 1
            self._call_next()

    async def _enter(self, order: int) -> None:
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (order, next(self._numbers), turn))
        self._call_next()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # called, and gone in the same moment
                self._free += 1
            else:
                turn.cancel()
            self._call_next()
            raise

    def _call_next(self) -> None:
        while self._waiting:
            order, _, turn = self._waiting[0]
            if turn.done():
                heapq.heappop(self._waiting)
                continue
            if self._free <= (self._spare if order == _ORDER["bulk"] else 0):
                return
            heapq.heappop(self._waiting)
            self._free -= 1
            turn.set_result(None)
