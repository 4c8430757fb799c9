"""Taking times and recall: every system is asked each question in turn, so that noise
is shared.
"""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from reverie.access import callers
from reverie.search import lexical as lexical_search
from reverie.search import query as queries
from reverie.search import query_model, search, vector
from speed import corpus, home

Ask = Callable[[corpus.Question], Awaitable[object]]
LIMIT = 10
_HASHES = "SELECT id, hash FROM passage WHERE user_id = %s AND id = ANY(%s)"


def product(life: home.Home) -> dict[str, Ask]:
    """The product's search and its signals, each as its callers call it. What changes
    with them, changes here.
    """
    database, caller = life.life.database, life.owner.caller

    async def whole(question: corpus.Question) -> object:
        return await search.search(
            database, caller, life.given, queries.Query(text=question.text, limit=LIMIT)
        )

    async def typing(question: corpus.Question) -> object:
        query = queries.Query(text=question.text, limit=LIMIT, words_only=True)
        return await search.search(database, caller, life.given, query)

    async def lexical(question: corpus.Question) -> object:
        async with database.snapshot(caller) as tx:
            return await lexical_search.retrieve(
                tx, caller, queries.Query(text=question.text)
            )

    async def semantic(question: corpus.Question) -> object:
        return await _meant(life, caller, question)

    return {
        "search": whole,
        "as you type": typing,
        "lexical": lexical,
        "semantic": semantic,
    }


async def _meant(
    life: home.Home, caller: callers.Caller, question: corpus.Question
) -> list[int]:
    """The passages that the vector signal finds, nearest first."""
    asked = await query_model.embed(
        life.life.database, caller, life.given, question.text
    )
    async with life.life.database.snapshot(
        caller, settings=vector.hnsw_settings(asked.own)
    ) as tx:
        found = await vector.retrieve(
            tx, caller, queries.Query(text=question.text), asked
        )
    return [one.passage_id for one in found]


async def timed(
    systems: Mapping[str, Ask],
    questions: Sequence[corpus.Question],
    *,
    warm: bool = True,
) -> dict[str, list[float]]:
    """Milliseconds of each question by system, asked one at a time, the systems in turn
    and each first as often.

    All is asked once before, unless it is warm.
    """
    if warm:
        for question in questions:
            for ask in systems.values():
                await ask(question)
    gc.collect()
    gc.freeze()  # the bench's own texts are none of the product's garbage
    taken: dict[str, list[float]] = {name: [] for name in systems}
    names = list(systems)
    for number, question in enumerate(questions):
        for step in range(len(names)):
            name = names[(number + step) % len(names)]
            began = time.perf_counter()
            await systems[name](question)
            taken[name].append((time.perf_counter() - began) * 1000)
    gc.unfreeze()
    return taken


async def outside(ask: Ask, questions: Sequence[corpus.Question]) -> dict[str, float]:
    """What part of the product's time passes while no statement of it is with the
    database.
    """
    busy: list[float] = []
    whole: list[float] = []
    for question in questions:
        with _in_flight() as spans:
            began = time.perf_counter()
            await ask(question)
            whole.append(time.perf_counter() - began)
        busy.append(_covered(spans))
    return {
        "database_p50_ms": round(1000 * statistics.median(busy), 2),
        "outside_p50_ms": round(
            1000 * statistics.median(a - b for a, b in zip(whole, busy, strict=True)), 2
        ),
        "outside_share": round(1 - sum(busy) / sum(whole), 3),
    }


@contextmanager
def _in_flight() -> Generator[list[tuple[float, float]]]:
    """The spans in which psycopg waits for the server: every statement, BEGIN and
    COMMIT passes through `wait`.
    """
    spans: list[tuple[float, float]] = []
    plain = psycopg.AsyncConnection.wait

    async def wait(self: Any, *arguments: Any, **more: Any) -> Any:
        began = time.perf_counter()
        try:
            return await plain(self, *arguments, **more)
        finally:
            spans.append((began, time.perf_counter()))

    setattr(psycopg.AsyncConnection, "wait", wait)  # noqa: B010 - replaced for one question
    try:
        yield spans
    finally:
        setattr(psycopg.AsyncConnection, "wait", plain)  # noqa: B010


def _covered(spans: Sequence[tuple[float, float]]) -> float:
    """The seconds that at least one span covers: signals ask at once."""
    total, reached = 0.0, 0.0
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


async def recall(
    life: home.Home, kept: home.Kept, questions: Sequence[corpus.Question], depth: int
) -> float:
    """The share of the exact nearest that the vector signal has among its first
    `depth`.
    """
    found = [(await _meant(life, kept.caller, one))[:depth] for one in questions]
    ids = sorted({one for some in found for one in some})
    async with life.life.database.transaction(kept.caller) as tx:
        rows = await tx.rows(_HASHES, (kept.caller.user_id, ids))
    places: list[int] = kept.known.rows(
        corpus.short([row["hash"] for row in rows])
    ).tolist()
    row_of = {int(row["id"]): place for row, place in zip(rows, places, strict=True)}
    return share(
        exact(kept, questions, depth), [[row_of[one] for one in some] for some in found]
    )


def exact(
    kept: home.Kept, questions: Sequence[corpus.Question], depth: int
) -> NDArray[np.int64]:
    """The rows of the nearest passages of each question."""
    return kept.known.nearest(np.stack([one.vector for one in questions]), depth)


def share(wanted: NDArray[np.int64], found: Sequence[Sequence[int]]) -> float:
    """How many of the wanted rows were found."""
    hits = sum(
        len(set(a) & set(b)) for a, b in zip(wanted.tolist(), found, strict=True)
    )
    return round(hits / wanted.size, 4)


def percentiles(taken: Sequence[float]) -> tuple[float, float]:
    """p50 and p95."""
    cuts = statistics.quantiles(taken, n=20, method="inclusive")
    return round(statistics.median(taken), 2), round(cuts[-1], 2)
