"""How well names are compared and merges are suggested, on labelled sets, beside plain
measures of likeness.

    python bench/names.py [--data FILE] [--febrl FOLDER] [--show N] [--json]

Two sets: pairs of names with a label (same or not), and people in two spellings with
address, birthday and number (FEBRL). Ours is counted at the one mark that the product
uses; each plain measure at the mark that suits it best.
"""

import argparse
import csv
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz
from rapidfuzz.distance import JaroWinkler
from rapidfuzz.utils import default_process

from reverie.graph.resolution import keys, matching

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
BASELINES: Mapping[str, Callable[[str, str], float]] = {
    "jaro_winkler": lambda a, b: JaroWinkler.similarity(
        a, b, processor=default_process
    ),
    "token_set_ratio": lambda a, b: (
        fuzz.token_set_ratio(a, b, processor=default_process) / 100
    ),
    "WRatio": lambda a, b: fuzz.WRatio(a, b, processor=default_process) / 100,
}
# Targets of the specification: at least.
TARGETS = {"f1": 0.88, "auc": 0.91}
FEBRL_RECALL = 0.95


@dataclass(frozen=True, slots=True)
class Case:
    """Two names of one kind, and whether they are of one."""

    group: str
    kind: str
    a: str
    b: str
    match: bool


def cases(path: Path) -> list[Case]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Case(
                row["case_group"],
                row["schema"].lower(),
                row["name1"],
                row["name2"],
                row["is_match"] == "true",
            )
            for row in csv.DictReader(file)
        ]


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """How often a pair of one scores higher than a pair of two; a draw counts half."""
    ours = [score for score, label in zip(scores, labels, strict=True) if label]
    others = [score for score, label in zip(scores, labels, strict=True) if not label]
    won = sum((x > y) + (x == y) / 2 for x in ours for y in others)
    return round(won / (len(ours) * len(others)), 4) if ours and others else 0.0


def counted(
    scores: Sequence[float], labels: Sequence[bool], mark: float
) -> dict[str, float]:
    """Precision, recall and F1 when everything from `mark` on is called the same."""
    said = [score >= mark for score in scores]
    right = sum(a and b for a, b in zip(said, labels, strict=True))
    precision, recall = right / max(1, sum(said)), right / max(1, sum(labels))
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "f1": round(f1, 4),
        "precision": round(precision, 4),
        "recall": round(recall, 4),
    }


def best(scores: Sequence[float], labels: Sequence[bool]) -> dict[str, float]:
    """F1 at the mark that suits best, and AUC."""
    f1 = max(counted(scores, labels, mark)["f1"] for mark in set(scores))
    return {"f1": f1, "auc": auc(scores, labels)}


def of_names(path: Path) -> dict[str, Any]:
    """Ours and the plain measures on the labelled pairs; by group and kind too."""
    rows = cases(path)
    labels = [row.match for row in rows]
    started = time.perf_counter()
    scores = [keys.similarity(row.a, row.b, kind=row.kind) for row in rows]
    seconds = time.perf_counter() - started
    wrong = sorted(
        zip(scores, rows, strict=True), key=lambda one: -abs(one[0] - one[1].match)
    )
    parts: dict[str, dict[str, float]] = {}
    for part in sorted({row.group for row in rows} | {"person", "other"}):
        inside = [
            at
            for at, row in enumerate(rows)
            if part in (row.group, "person" if row.kind == "person" else "other")
        ]
        if inside:
            some, said = [scores[at] for at in inside], [labels[at] for at in inside]
            parts[part] = {
                "pairs": len(inside),
                **counted(some, said, keys.SAME),
                "auc": auc(some, said),
            }
    return {
        "pairs": len(rows),
        **counted(scores, labels, keys.SAME),
        "auc": auc(scores, labels),
        "always_same_f1": counted([1.0] * len(rows), labels, keys.SAME)["f1"],
        "microseconds_a_pair": round(seconds / len(rows) * 1e6),
        "parts": parts,
        "baselines": {
            name: best([measure(row.a, row.b) for row in rows], labels)
            for name, measure in BASELINES.items()
        },
        "wrong": [
            f"{score:.2f} {'same' if row.match else 'two '} {row.kind}: {row.a} | {row.b}"
            for score, row in wrong
            if (score >= keys.SAME) != row.match
        ],
    }


def people(path: Path) -> tuple[list[str], list[matching.Profile]]:
    """Who each record of a FEBRL set is of, and its profile."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            {key.strip(): value.strip() for key, value in row.items()}
            for row in csv.DictReader(file)
        ]
    place = ("street_number", "address_1", "address_2", "suburb", "postcode", "state")
    made = [
        matching.Profile(
            "person",
            tuple(
                name
                for name in (f"{row['given_name']} {row['surname']}".strip(),)
                if name
            ),
            birthday=row["date_of_birth"],
            address=" ".join(row[key] for key in place if row[key]),
            identifiers=tuple(number for number in (row["soc_sec_id"],) if number),
        )
        for row in rows
    ]
    return [row["rec_id"].split("-")[1] for row in rows], made


def of_people(path: Path) -> dict[str, Any]:
    """Merges made and suggested on one FEBRL set."""
    who, made = people(path)
    together: dict[str, list[int]] = defaultdict(list)
    for at, person in enumerate(who):
        together[person].append(at)
    truth = {pair for members in together.values() for pair in combinations(members, 2)}
    started = time.perf_counter()
    found = matching.candidates(made)
    seconds = time.perf_counter() - started
    every = {(i, j) for i, j, _ in found}
    automatic = {(i, j) for i, j, verdict in found if verdict.certain}
    return {
        "records": len(made),
        "true_pairs": len(truth),
        "automatic": len(automatic),
        "wrong_automatic": len(automatic - truth),
        "automatic_recall": round(len(automatic & truth) / len(truth), 4),
        "suggested": len(every - automatic),
        "suggested_recall": round(len(every & truth) / len(truth), 4),
        "suggested_precision": round(len(every & truth) / max(1, len(every)), 4),
        "seconds": round(seconds, 2),
    }


def run(data: Path, febrl: Path) -> dict[str, Any]:
    """Both sets; what is not there is named."""
    report: dict[str, Any] = {"same": keys.SAME, "febrl": {}, "not_measured": []}
    if data.exists():
        report |= of_names(data)
    else:
        report["not_measured"].append(str(data))
    for path in sorted(febrl.glob("*.csv")):
        report["febrl"][path.stem] = of_people(path)
    if not report["febrl"]:
        report["not_measured"].append(str(febrl))
    return report


def show(report: Mapping[str, Any], most: int) -> None:
    if "f1" in report:
        keys = (
            "pairs",
            "f1",
            "auc",
            "precision",
            "recall",
            "always_same_f1",
            "microseconds_a_pair",
        )
        print("names  " + "  ".join(f"{key} {report[key]}" for key in keys))
        for title in ("parts", "baselines"):
            for name, row in report[title].items():
                print(
                    f"  {name:18}"
                    + "  ".join(f"{key} {value}" for key, value in row.items())
                )
        for line in report["wrong"][:most]:
            print(f"    {line}")
        for key, least in TARGETS.items():
            print(
                f"  {'ok   ' if report[key] >= least else 'SHORT'} {key} {report[key]} (at least {least})"
            )
    for name, row in report["febrl"].items():
        print(f"{name}  " + "  ".join(f"{key} {value}" for key, value in row.items()))
        print(
            f"  {'ok   ' if row['wrong_automatic'] == 0 else 'SHORT'} wrong automatic merges (none)"
        )
        print(
            f"  {'ok   ' if row['suggested_recall'] >= FEBRL_RECALL else 'SHORT'} recall (at least {FEBRL_RECALL})"
        )
    for line in report["not_measured"]:
        print(f"not measured (no data): {line}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=DATA / "er-nomenklatura" / "cases_dev.csv"
    )
    parser.add_argument("--febrl", type=Path, default=DATA / "er-febrl")
    parser.add_argument(
        "--show", type=int, default=20, help="pairs that were judged wrongly"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = run(options.data, options.febrl)
    if options.json:
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        show(report, options.show)


if __name__ == "__main__":
    main()
