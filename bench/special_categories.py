"""How well the special categories of personal data are told, and at what cost.

    python bench/special_categories.py [--stranger] [--half tune|held] [--show] [--json]

Recall: the share of sentences that state one and are critical. Precision: the share of
critical ones among all that are critical. `languages` says how many of the ordinary
sentences would be held back as of an unknown language. `cost` is CPU in microseconds
for 1,000 characters of the set, and seconds for texts of 250 kB, 500 kB and 1 MB.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sets import special_categories

from reverie.privacy import languages, sensitivity

SIZES = (250_000, 500_000, 1_000_000)


def figures(sentences: Iterable[special_categories.Labelled]) -> dict[str, Any]:
    """Recall and precision over some sentences."""
    stated = hit = false = 0
    for sentence in sentences:
        is_critical = sensitivity.of_text(sentence.text) is sensitivity.Level.CRITICAL
        if sentence.category == "none":
            false += is_critical
        else:
            stated += 1
            hit += is_critical
    return {
        "sentences": stated,
        "recall": round(hit / stated, 4) if stated else None,
        "precision": round(hit / (hit + false), 4) if hit + false else None,
        "false": false,
    }


def grouped(
    sentences: Iterable[special_categories.Labelled], by: str
) -> dict[str, dict[str, Any]]:
    """The same by language or by category."""
    groups: defaultdict[str, list[special_categories.Labelled]] = defaultdict(list)
    for sentence in sentences:
        groups[getattr(sentence, by)].append(sentence)
    return {name: figures(group) for name, group in groups.items()}


def cost(texts: list[str]) -> dict[str, Any]:
    """CPU time of judging: of the sentences, and of long texts of ordinary ones."""
    for text in texts:
        sensitivity.of_text(text)
    started = time.process_time()
    for text in texts:
        sensitivity.of_text(text)
    spent = time.process_time() - started
    seconds: dict[str, float] = {}
    for size in SIZES:
        long = (" ".join(texts) * (size // sum(map(len, texts)) + 1))[:size]
        started = time.process_time()
        sensitivity.of_text(long)
        seconds[str(size)] = round(time.process_time() - started, 3)
    each = spent / sum(map(len, texts)) * 1e9
    return {"us_per_1000_characters": round(each), "seconds": seconds}


def run(path: Path, half: str) -> dict[str, Any]:
    chosen = [s for s in special_categories.sentences(path) if half in ("", s.half)]
    ordinary = [s.text for s in chosen if s.category == "none"]
    wrong = [
        f"{s.language} {s.half} {s.category}: {s.text}"
        for s in chosen
        if (sensitivity.of_text(s.text) is sensitivity.Level.CRITICAL)
        == (s.category == "none")
    ]
    report: dict[str, Any] = {"overall": figures(chosen)}
    for name in ("tune", "held"):
        report[name] = figures(s for s in chosen if s.half == name)
    report["by_language"] = grouped(chosen, "language")
    report["by_category"] = grouped(chosen, "category")
    report["unknown_language"] = [s.text for s in chosen if languages.unknown(s.text)]
    report["cost"] = cost(ordinary)
    report["wrong"] = wrong
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--stranger",
        action="store_true",
        help="the set of somebody who had not seen the lists",
    )
    parser.add_argument("--half", default="", choices=("", "tune", "held"))
    parser.add_argument("--show", action="store_true", help="what is wrong")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    path = special_categories.OWN
    if options.stranger:
        path = special_categories.STRANGER
    report = run(path, options.half)
    if not options.show:
        report["wrong"] = len(report["wrong"])
    print(json.dumps(report, indent=None if options.json else 1, ensure_ascii=False))


if __name__ == "__main__":
    main()
