"""Sets where the unit is a document: XQuAD across languages, SciFact, RepLiQA, an
Obsidian vault.
"""

import ast
import csv
import io
import re
import zipfile
from collections.abc import Collection
from pathlib import Path

from sets.shapes import Corpus, Note, Question, Task, loaded

_LITERAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_LINK = re.compile(r"\[\[([^\]|#]+)(?:#[^\]|]*)?(?:\|([^\]]+))?\]\]")


def xquad(file: Path, *, languages: Collection[str] = ("en", "de")) -> list[Task]:
    """Every direction with English at one end or both ends the same, and all languages
    in one corpus.

    `file` is the one of any language; the others lie beside it.
    """
    named = re.fullmatch(r"(.+\.)([a-z]{2})(\.json.*)", file.name)
    if named is None:
        raise SystemExit(
            f"{file}: the name must end with a language, such as xquad.en.json."
        )
    stem, here, ending = named.groups()
    found = {one: file.with_name(f"{stem}{one}{ending}") for one in languages}
    found = {one: path for one, path in found.items() if path.exists()} or {here: file}
    notes: dict[str, list[Note]] = {}
    asked: dict[str, list[tuple[str, str]]] = {}
    for language, path in found.items():
        paragraphs = [
            one for article in loaded(path)["data"] for one in article["paragraphs"]
        ]
        notes[language] = [
            Note(f"{language}/{at}", one["context"], None, language)
            for at, one in enumerate(paragraphs)
        ]
        asked[language] = [
            (qa["question"], str(at))
            for at, one in enumerate(paragraphs)
            for qa in one["qas"]
        ]
    corpora = {
        one: Corpus(f"xquad {one}", notes=tuple(kept)) for one, kept in notes.items()
    }
    tasks: list[Task] = []
    for source in found:
        for target in found:
            if source == target or "en" in (source, target):
                questions = tuple(
                    Question(text, frozenset({f"{target}/{at}"}), language=source)
                    for text, at in asked[source]
                )
                tasks.append(
                    Task(f"xquad {source}->{target}", corpora[target], questions)
                )
    if len(found) > 1:
        mixed = Corpus(
            "xquad mixed", notes=tuple(note for kept in notes.values() for note in kept)
        )
        questions = tuple(
            Question(
                text,
                frozenset(f"{one}/{at}" for one in found),
                category=language,
                language=language,
            )
            for language, pairs in asked.items()
            for text, at in pairs
        )
        tasks.append(Task("xquad mixed", mixed, questions))
    return tasks


def scifact(file: Path, *, documents: int = 0, limit: int = 0) -> list[Task]:
    """Claims to abstracts. With `documents`, the corpus holds no more than the answers
    of the first questions and the first abstracts beside them: easier than the whole.
    """
    csv.field_size_limit(1 << 30)
    rows: dict[str, list[dict[str, str]]] = {}
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            if name.endswith(".csv"):
                rows[Path(name).stem] = list(
                    csv.DictReader(io.StringIO(archive.read(name).decode("utf-8")))
                )
    notes: dict[str, Note] = {}
    for name, found in rows.items():
        if name.startswith("corpus"):
            for row in found:
                notes[row["doc_id"]] = Note(
                    row["doc_id"], _abstract(row["abstract"]), row["title"]
                )
    questions: dict[str, Question] = {}
    for name, found in rows.items():
        for row in found if name.startswith("claims") else ():
            gold = (
                frozenset(re.findall(r"\d+", row.get("cited_doc_ids") or ""))
                & notes.keys()
            )
            if gold:
                split = name.removeprefix("claims_")
                questions.setdefault(
                    f"{split} {row['id']}", Question(row["claim"], gold, category=split)
                )
    asked = list(questions.values())
    if documents:
        asked = asked[: limit or len(asked)]
        wanted = dict.fromkeys(
            [one for question in asked for one in sorted(question.gold)]
        )
        notes = {
            one: notes[one]
            for one in list(wanted | dict.fromkeys(notes))[
                : max(documents, len(wanted))
            ]
        }
    corpus = Corpus(f"scifact {len(notes)}", notes=tuple(notes.values()))
    return [Task(f"scifact ({len(notes)} abstracts)", corpus, tuple(asked))]


def _abstract(printed: str) -> str:
    """The sentences of a printed NumPy array of strings."""
    return (
        " ".join(
            str(ast.literal_eval(one)).strip() for one in _LITERAL.findall(printed)
        )
        or printed
    )


def repliqa(file: Path) -> list[Task]:
    """Questions to the invented news each was made from."""
    rows = loaded(file)
    texts = {row["document_id"]: row["document_extracted"] for row in rows}
    corpus = Corpus(
        "repliqa", notes=tuple(Note(unit, text) for unit, text in texts.items())
    )
    questions = tuple(
        Question(row["question"], frozenset({row["document_id"]})) for row in rows
    )
    return [Task("repliqa", corpus, questions)]


def vault(folder: Path) -> list[Task]:
    """Known items: each note by its title, and by the words of the links that lead to
    it. The units are the files.
    """
    files = {
        file.relative_to(folder).as_posix(): file
        for file in sorted(folder.rglob("*.md"))
    }
    by_name: dict[str, set[str]] = {}
    for unit in files:
        by_name.setdefault(Path(unit).stem.casefold(), set()).add(unit)
    asked: dict[str, Question] = {}
    for unit, file in files.items():
        name = file.stem
        if file.stat().st_size and unit in by_name[name.casefold()]:
            asked.setdefault(
                name.casefold(),
                Question(name, frozenset(by_name[name.casefold()]), category="title"),
            )
    for file in files.values():
        for target, alias in _LINK.findall(file.read_text(encoding="utf-8")):
            gold = by_name.get(target.strip().rpartition("/")[2].casefold())
            words = (alias or target).strip()
            if gold:
                asked.setdefault(
                    words.casefold(), Question(words, frozenset(gold), category="link")
                )
    return [Task("vault", Corpus("vault", folder=folder), tuple(asked.values()))]
