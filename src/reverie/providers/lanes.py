"""Lanes: a priority queue of calls to a provider, with a limit of calls at a time.

Questions go before what is just happening, and that before background work.
"""

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent import futures
from contextlib import asynccontextmanager
from typing import Literal, TypeVar

from reverie import errors

T = TypeVar("T")
Lane = Literal["query", "realtime", "bulk"]
Turn = asyncio.Future[None]
_ORDER: dict[Lane, int] = {"query": 0, "realtime": 1, "bulk": 2}


class Lanes:
    """So many calls at a time, the most urgent first.

    Where there is more than one place, the lanes from `modest` on leave one free.
    """

    def __init__(self, places: int, *, modest: Lane = "bulk") -> None:
        self._free = max(1, places)
        self._modest = _ORDER[modest] if places > 1 else len(_ORDER)
        self._numbers = itertools.count()
        self._waiting: list[tuple[int, int, Turn]] = []

    @property
    def waiting(self) -> int:
        """How many calls wait for a place."""
        return sum(not turn.done() for _, _, turn in self._waiting)

    def number(self) -> int:
        """The next number: of a lane, the lower one goes first."""
        return next(self._numbers)

    @asynccontextmanager
    async def place(self, lane: Lane) -> AsyncGenerator[None]:
        """A place at the provider for as long as the block lasts."""
        turn = self.ask(lane, self.number())
        try:
            await turn
            yield
        finally:
            self.leave(turn)

    def ask(self, lane: Lane, number: int) -> Turn:
        """A turn, done when there is a place for it. Whatever comes of it, it must
        `leave`.
        """
        turn: Turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (_ORDER[lane], number, turn))
        self._call_next()
        return turn

    def leave(self, turn: Turn) -> None:
        """Give a turn's place back, or stop waiting for one: the next one goes."""
        if turn.done() and not turn.cancelled():
            self._free += 1
        turn.cancel()
        self._call_next()

    def _call_next(self) -> None:
        while self._waiting:
            order, _, turn = self._waiting[0]
            if turn.done():
                heapq.heappop(self._waiting)
                continue
            if self._free <= (1 if order >= self._modest else 0):
                return
            heapq.heappop(self._waiting)
            self._free -= 1
            turn.set_result(None)


class Threads:
    """Calls that block, each in a thread: as many at a time as there are places, in the
    order of their lanes.

    A call cannot be stopped: when nobody waits for it any more, its place is still
    taken until its thread is done.
    """

    def __init__(self, places: int, name: str, away: type[errors.Unavailable]) -> None:
        self._away = away
        self.turns = Lanes(places, modest="realtime")
        self._pool = futures.ThreadPoolExecutor(max(1, places), thread_name_prefix=name)

    async def run(self, lane: Lane, call: Callable[[], T]) -> T:
        """What the call returns. Raises what it raises, and `away` once these threads
        are closed.
        """
        return (await self.each(lane, [call]))[0]

    async def each(self, lane: Lane, calls: Sequence[Callable[[], T]]) -> list[T]:
        """What calls return that belong together, one after another: only the more
        urgent come in between.
        """
        series = _Series(self.turns, lane)
        loop = asyncio.get_running_loop()
        results: list[T] = []
        try:
            for number, call in enumerate(calls, start=1):
                await series.turn
                running = self._begun(call)
                series.begin(last=number == len(calls))
                running.add_done_callback(lambda _: _tell(loop, series.over))
                results.append(await asyncio.wrap_future(running))
        finally:
            series.stop()
        return results

    def _begun(self, call: Callable[[], T]) -> futures.Future[T]:
        try:
            return self._pool.submit(call)
        except RuntimeError:  # closed: each who waits is told, one after another
            raise self._away("Reverie is ending, and asks no model any more.") from None

    def close(self) -> None:
        """Begin no more calls; one in flight goes on."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class _Series:
    """The turns of calls that belong together: before one is left the next is asked
    for, at the same number.
    """

    def __init__(self, turns: Lanes, lane: Lane) -> None:
        self._turns = turns
        self._lane: Lane = lane
        self._number = turns.number()
        self._goes_on = True
        self._in_flight = False
        self._left = False
        self.turn = turns.ask(lane, self._number)

    def begin(self, *, last: bool) -> None:
        """A thread has begun: the place is taken until it is `over`, whoever waits for
        it.
        """
        self._in_flight = True
        self._goes_on = not last

    def over(self) -> None:
        """The thread is done."""
        self._in_flight = False
        before = self.turn
        if self._goes_on:
            self.turn = self._turns.ask(self._lane, self._number)
        else:
            self._left = True
        self._turns.leave(before)

    def stop(self) -> None:
        """No more calls."""
        self._goes_on = False
        if not self._in_flight and not self._left:
            self._left = True
            self._turns.leave(self.turn)


def _tell(loop: asyncio.AbstractEventLoop, over: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
        loop.call_soon_threadsafe(over)


@asynccontextmanager
async def time_limit(name: str, seconds: float) -> AsyncGenerator[None]:
    """Raise ModelUnavailable, naming the model, when the block takes longer."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise errors.ModelUnavailable(
            f"{name} takes longer than {seconds:g} s."
        ) from None
