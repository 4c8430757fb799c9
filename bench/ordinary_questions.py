"""Ordinary questions over the sample life: how often the first three hold the answer.

    python bench/ordinary_questions.py [--data FILE.json] [--keep HOME] [--json]

`sets/ordinary_questions.json` is the half that search was tuned on;
`sets/ordinary_questions_kept_aside.json` and `_stranger.json` were written by others and are only
scored. A question: {query, language, kind, expect: [titles], domain?: its only right
domain, now?: ISO}, asked on `NOW` unless it says when; or {query, titles} under
`questions`, with one `now` for all.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sets import kept, shapes

import reverie.sample
from reverie.records import terms
from reverie.search import query as queries
from reverie.search import results as searched
from reverie.search import search as searching

GIVEN = Path(__file__).parent / "sets" / "ordinary_questions.json"
SAMPLE = Path(reverie.sample.__file__).parent
NOW = datetime.fromisoformat("2026-11-16T12:00:00+01:00")
FIRST = 3
WANTED = 85.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, where its answer came out (0: not among the first ten), and what came
    before it.
    """

    question: dict[str, Any]
    rank: int
    found: Sequence[str]


def read(file: Path) -> list[dict[str, Any]]:
    """The questions of a file: a list, or what stands under `questions` with the `now`
    of all beside it.
    """
    loaded: Any = json.loads(file.read_text("utf-8"))
    if "questions" not in loaded:
        return list(loaded)
    shared = {"kind": "kept aside", "now": loaded["now"]}
    return [
        {**shared, **question, "expect": question["titles"]}
        for question in loaded["questions"]
    ]


def _is_answer(hit: searched.Hit, question: dict[str, Any]) -> bool:
    wanted = {terms.fold(title) for title in question["expect"]}
    is_domain = hit.domain == question.get("domain", hit.domain)
    return is_domain and terms.fold(hit.title) in wanted


async def asked(home: kept.Home, held: kept.Held, question: dict[str, Any]) -> Answer:
    """One question to the product's search."""
    now = datetime.fromisoformat(question["now"]) if "now" in question else NOW
    if now.tzinfo is None:
        now = now.replace(tzinfo=NOW.tzinfo)
    query = queries.Query(text=question["query"], now=now)
    found = await searching.search(
        home.life.database, held.caller, home.embeddings, query
    )
    places = [
        place
        for place, hit in enumerate(found.hits, start=1)
        if _is_answer(hit, question)
    ]
    titles = [f"{hit.domain}: {hit.title}" for hit in found.hits]
    return Answer(question, min(places, default=0), titles)


async def run(folder: Path, questions: Sequence[dict[str, Any]]) -> list[Answer]:
    """All questions, to the sample life of a home."""
    sample = folder / "sample"
    if not sample.exists():
        ignored = shutil.ignore_patterns("*.py", "__pycache__")
        shutil.copytree(SAMPLE, sample, ignore=ignored)
    async with kept.opened(folder) as home:
        held = await home.hold(shapes.Corpus("sample life", folder=sample))
        return [await asked(home, held, question) for question in questions]


def shown(answers: Sequence[Answer]) -> dict[str, Any]:
    """The figures: of all, and of each kind of question; and what was missed."""
    kinds = dict.fromkeys(str(answer.question["kind"]) for answer in answers)
    return {
        "overall": _figures(answers),
        "kinds": {
            kind: _figures([a for a in answers if a.question["kind"] == kind])
            for kind in kinds
        },
        "missed": [
            {
                "query": answer.question["query"],
                "rank": answer.rank,
                "found": list(answer.found[:FIRST]),
            }
            for answer in answers
            if not 1 <= answer.rank <= FIRST
        ],
    }


def _figures(answers: Sequence[Answer]) -> dict[str, float]:
    first = sum(answer.rank == 1 for answer in answers)
    among = sum(1 <= answer.rank <= FIRST for answer in answers)
    return {
        "questions": len(answers),
        "any@1": round(100 * first / len(answers), 1),
        "any@3": round(100 * among / len(answers), 1),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=GIVEN)
    parser.add_argument("--keep", type=Path, metavar="HOME")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    questions = read(given.data)
    folder = given.keep or Path(tempfile.mkdtemp(prefix="rev-ordinary-", dir="/tmp"))
    folder = folder.absolute()
    folder.mkdir(exist_ok=True)
    folder.chmod(0o711)
    try:
        answers = asyncio.run(run(folder, questions))
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)
    figures = shown(answers)
    if given.json:
        print(json.dumps(figures, indent=2, ensure_ascii=False))
        return 0
    for name, of_kind in [("all", figures["overall"]), *figures["kinds"].items()]:
        print(f"{name:<12}" + "".join(f"{k} {v:<8}" for k, v in of_kind.items()))
    print(f"wanted: any@3 {WANTED}")
    for missed in figures["missed"]:
        print(f"missed: {missed['query']} (rank {missed['rank']}): {missed['found']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
