"""A newcomer's test: a standard term of the field leads to the file in ten seconds.

Each question has the term that somebody who knows the field, and not this code, would
search for, and the one file that answers it. The search is `grep -ri` over the paths
and the first sentences of all modules; files are ranked by how many of the term's words
they have, those that have them in their path first. The right file has to be among the
first three.
"""

import argparse
import ast
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FIRST = 3
"""So many files somebody looks into."""
LEAST = 19
"""So many of the 20 questions have to lead there."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a newcomer asks, the term that they search for, and the file that answers."""

    asks: str
    term: str
    file: str


QUESTIONS = (
    Question("Where is BM25 scored?", "bm25", "search/lexical.py"),
    Question("Which index finds near vectors?", "hnsw", "search/vector.py"),
    Question("Where are the signals' ranks fused?", "fusion", "search/fusion.py"),
    Question("Where do ranking constants live?", "weights", "search/weights.py"),
    Question("Where is a recurrence spread out?", "recurrence", "records/events.py"),
    Question("Where are two people merged?", "merging", "graph/merging.py"),
    Question("Where are duplicates suggested?", "duplicates", "graph/duplicates.py"),
    Question(
        "Where is named entity recognition by rules?",
        "named entity recognition",
        "graph/extraction/mentions.py",
    ),
    Question("Where is Cypher parsed?", "cypher parser", "graph/cypher/parser.py"),
    Question("Where is a document chunked?", "chunking", "ingest/documents/cutting.py"),
    Question("Where is OCR?", "ocr", "ingest/documents/ocr.py"),
    Question("Where are files read apart?", "worker pool", "ingest/sandbox/pool.py"),
    Question("Where is mail parsed?", "mbox", "ingest/formats/mail.py"),
    Question(
        "Where is a durable workflow declared?", "durable workflow", "ingest/durable.py"
    ),
    Question("Where do failed changes go?", "dead letters", "pipeline/dead_letters.py"),
    Question("Where is the change log?", "change log", "records/changes.py"),
    Question("Which way leads to a model?", "gateway", "llm/gateway.py"),
    Question("Where are pseudonyms?", "pseudonyms", "privacy/pseudonyms.py"),
    Question("Where is Luhn's check digit?", "luhn", "privacy/check_digits.py"),
    Question("Where is row-level security?", "row-level security", "db.py"),
)


def first_sentence(path: Path) -> str:
    """The docstring of a module up to its first full stop."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    flat = " ".join(docstring.split())
    return re.split(r"\.(?:\s|$)", flat, maxsplit=1)[0]


def search(term: str, sentences: dict[str, str]) -> Sequence[str]:
    """Files that have every word of the term, those with most of them in the path
    first, shorter paths before longer ones.
    """
    words = term.lower().split()
    hits: list[tuple[int, int, str]] = []
    for file, sentence in sentences.items():
        in_path = sum(word in file.lower() for word in words)
        if all(word in f"{file} {sentence}".lower() for word in words):
            hits.append((-in_path, len(file), file))
    return [file for _, _, file in sorted(hits)]


def main() -> int:
    """Print the questions that lead astray; return 1 if too many do."""
    options = argparse.ArgumentParser(description=__doc__)
    source = Path(__file__).resolve().parent.parent / "src" / "reverie"
    options.add_argument("root", nargs="?", type=Path, default=source)
    root = options.parse_args().root.resolve()
    modules = [
        path for path in sorted(root.rglob("*.py")) if "sample" not in path.parts
    ]
    sentences = {
        path.relative_to(root).as_posix(): first_sentence(path) for path in modules
    }
    right = 0
    for question in QUESTIONS:
        files = search(question.term, sentences)
        if question.file in files[:FIRST]:
            right += 1
            continue
        shown = ", ".join(files[:FIRST]) or "nothing"
        print(
            f"newcomer: {question.asks} `{question.term}` leads to {shown}, and not to "
            f"{question.file}; its name or first sentence should say the word."
        )
    print(f"newcomer: {right} of {len(QUESTIONS)} questions lead to the right file")
    return 0 if right >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
