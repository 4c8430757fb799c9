"""How fast vectors are kept that a model gives at once, and their graph is built: the
embedding slot alone, by the product's own worker, over texts that are there already.

    .venv/bin/python bench/given_vectors.py [--passages 20000 100000] [--rounds 3] [--keep HOME] [--json]

`kept`, `graph` and `all` are vectors a second of the clock; `..._cpu` are processor
seconds of this process and of PostgreSQL, which count on a busy machine. `recall` is
the share of the exact 50 nearest in the first 50 of search's vector signal.
"""

import argparse
import asyncio
import dataclasses
import hashlib
import itertools
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
from speed import corpus, home, measure

from reverie import app, config, embedded
from reverie.llm import embedding
from reverie.pipeline import embed, worker
from reverie.records import passages

_QUESTIONS = 100
_RECALL = 50
_BATCH = 50
_FORGET = (
    "TRUNCATE embedding, unembedded, stale",
    "DELETE FROM model",
    "CHECKPOINT",
)
_THERE = "SELECT count(*) FROM passage"
_WAITING = "SELECT count(*) FROM unembedded"
_KEPT = "SELECT coalesce(sum(vectors), 0) FROM model"


class Known(corpus.Given):
    """A model that knows the vector of each text of the corpus beforehand."""

    def __init__(self, known: corpus.Known) -> None:
        super().__init__()
        self._known = known

    async def passages(
        self,
        texts: Sequence[str],
        model: str | None = None,
        *,
        origin: embedding.Origin | None = None,
    ) -> embedding.Vectors:
        keys = [hashlib.sha256(text.encode()).digest() for text in texts]
        rows = self._known.rows(corpus.short(keys))
        return self._known.vectors[rows].astype("float32")


async def written(life: app.App, plan: corpus.Corpus) -> None:
    """The corpus as search keeps it, without its records."""
    records = plan.all()
    while batch := list(itertools.islice(records, _BATCH)):
        known = [
            passages.KnownText(
                "note", record.id, "normal", passages.indexed(_text(record))
            )
            for record in batch
        ]
        async with life.database.transaction(life.owner) as tx:
            await passages.add(tx, life.owner, known)


def _text(record: corpus.Record) -> passages.Text:
    sections = [passages.Section(piece, whole=True) for piece in record.pieces]
    return passages.Text(record.title, sections)


def processor_seconds(life: home.Home) -> tuple[float, float]:
    """Of this process, and of PostgreSQL with all its children."""
    file = life.folder / "life" / "postgres" / "postmaster.pid"
    server = psutil.Process(int(file.read_text().splitlines()[0]))
    times = server.cpu_times()
    spent = times.user + times.system + times.children_user + times.children_system
    return time.process_time(), spent + sum(_seconds(server.children(recursive=True)))


def _seconds(children: Sequence[psutil.Process]) -> Iterator[float]:
    for child in children:
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        yield times.user + times.system


async def round_of(life: home.Home) -> dict[str, float]:
    """Everything forgotten and made once more."""
    await asyncio.to_thread(home.statements, life.life, *_FORGET)
    size = life.owner.plan.size
    following = worker.Worker(
        life.life.database,
        life.given,
        owner_url=life.life.owner_url,
        followers=(embed.EMBEDDING,),
    )
    moments = [(time.perf_counter(), *processor_seconds(life))]
    async with following.running():
        while await _number(life, _KEPT) < size or await _number(life, _WAITING):  # noqa: ASYNC110 - the queue has no event
            await asyncio.sleep(0.2)
        moments.append((time.perf_counter(), *processor_seconds(life)))
        # The worker looks at its graphs once a second.
        await asyncio.sleep(1)
        while following.graphs.pending:  # noqa: ASYNC110 - it has no event either
            await asyncio.sleep(0.2)
        moments.append((time.perf_counter(), *processor_seconds(life)))
    start, kept, built = moments
    return {
        "kept": size / (kept[0] - start[0]),
        "graph": size / (built[0] - kept[0]),
        "all": size / (built[0] - start[0]),
        "kept_python_cpu": kept[1] - start[1],
        "kept_postgres_cpu": kept[2] - start[2],
        "graph_postgres_cpu": built[2] - kept[2],
    }


async def _number(life: home.Home, statement: str) -> int:
    async with life.life.database.transaction(life.owner.caller) as tx:
        return int(await tx.value(statement))


async def measured(folder: Path, size: int, rounds: int) -> dict[str, Any]:
    """The medians of some rounds, and the recall after the last."""
    place = folder / "life"
    embedded.make_home(folder)
    embedded.make_home(place)
    plan = corpus.Corpus(size)
    known = corpus.known(plan, folder)
    given = Known(known)
    async with app.opened(config.load({"REVERIE_HOME": str(place)})) as opened:
        opened.embeddings.close()
        running = dataclasses.replace(opened, embeddings=given)
        kept = home.Kept(running.owner, plan, known)
        life = home.Home(running, given, folder, kept, None, {})
        if not await _number(life, _THERE):
            await written(running, plan)
            await asyncio.to_thread(home.statements, running, "VACUUM ANALYZE")
        rows: list[dict[str, float]] = []
        for _ in range(rounds):
            rows.append(await round_of(life))
            home.tell(f"{size:,}: {_rounded(rows[-1])}")
        await asyncio.to_thread(home.statements, running, "VACUUM ANALYZE embedding")
        questions = plan.questions(_QUESTIONS, known)
        given.prepare(questions)
        found = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
        recall = await measure.recall(life, kept, questions, _RECALL)
        given.close()
    load = round(os.getloadavg()[0], 1)
    return {"passages": size, **_rounded(found), "recall": recall, "load": load}


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 1) for name, value in figures.items()}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--passages", type=int, nargs="+", default=[20_000])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--keep", type=Path, metavar="HOME")
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    root = given.keep or Path(tempfile.mkdtemp(prefix="rev-given-", dir="/tmp"))
    root = root.absolute()
    try:
        root.mkdir(exist_ok=True)
        root.chmod(0o711)
        for size in given.passages:
            found = asyncio.run(measured(root / str(size), size, given.rounds))
            print(json.dumps(found) if given.json else found, flush=True)
    finally:
        if not given.keep:
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
