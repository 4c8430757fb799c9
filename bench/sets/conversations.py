"""LoCoMo (find the turn that holds the evidence) and its time questions (find the turns
of that time).
"""

import re
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sets.shapes import Chat, Corpus, Question, Task, Turn, loaded

_TURN = re.compile(r"D\d+:\d+")


def locomo(
    file: Path, *, only: Collection[str] = (), pooled: bool = False
) -> list[Task]:
    """A task for each conversation; `pooled`: the same questions to one user who keeps
    all of them.

    Wrong labels are corrected by the `audit_errors*.json` beside the file; a question
    without evidence is left out.
    """
    audited = [
        one
        for found in sorted(file.parent.glob("audit_errors*.json"))
        for one in loaded(found)
    ]
    tasks: list[Task] = []
    for number, sample in enumerate(loaded(file)):
        name = str(sample.get("sample_id") or f"conv-{number}")
        if only and name not in only:
            continue
        chats = tuple(_sessions(name, sample["conversation"]))
        corrected = {
            one["question"]: one["correct_evidence"]
            for one in audited
            if one.get("sample_id", name) == name
        }
        there = {turn.id for chat in chats for turn in chat.turns}
        questions = tuple(_questions(name, sample["qa"], corrected, there))
        tasks.append(Task("locomo", Corpus(f"locomo {name}", chats=chats), questions))
    if not pooled:
        return tasks
    everything = Corpus(
        "locomo pooled",
        chats=tuple(chat for task in tasks for chat in task.corpus.chats),
    )
    return [
        Task(
            "locomo pooled",
            everything,
            tuple(one for task in tasks for one in task.questions),
        )
    ]


def temporal(folder: Path) -> list[Task]:
    """A task for each conversation under ConversationData, with every phrasing of the
    questions under time_qs.

    The questions are asked at the start of the last session: `167 days ago` counts from
    there.
    """
    asked = {
        file.stem.removeprefix("test_"): loaded(file)
        for file in sorted((folder / "time_qs").glob("*.json*"))
    }
    tasks: list[Task] = []
    for file in sorted((folder / "ConversationData").iterdir()):
        name = file.name.partition(".")[0]
        chats = tuple(_sessions(name, loaded(file)))
        units = [f"{name}/{turn.id}" for chat in chats for turn in chat.turns]
        now = max(chat.started for chat in chats)
        questions = tuple(
            Question(
                text,
                frozenset(units[at] for at in group["relevant_docs"]),
                category=kind,
                now=now,
            )
            for kind, files in asked.items()
            for group in files.get(f"file_{name}", ())
            for text in group["questions"]
        )
        tasks.append(
            Task(
                "locomo-temporal",
                Corpus(f"locomo-temporal {name}", chats=chats),
                questions,
            )
        )
    return tasks


def _sessions(name: str, conversation: dict[str, Any]) -> Iterator[Chat]:
    """The sessions in order, titled by who speaks and the day, as the importer titles a
    dialogue history.
    """
    between = f"{conversation['speaker_a']} and {conversation['speaker_b']}"
    numbers = sorted(
        int(key.split("_")[1])
        for key in conversation
        if re.fullmatch(r"session_\d+", key)
    )
    for number in numbers:
        said = conversation[f"session_{number}_date_time"]
        started = datetime.strptime(said, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        turns = tuple(
            Turn(turn["dia_id"], turn["speaker"], _text(turn), _at(turn))
            for turn in conversation[f"session_{number}"]
        )
        if turns:
            yield Chat(name, f"{between}, {started.date()}", started, turns)


def _text(turn: dict[str, Any]) -> str:
    caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"{turn['text'].strip()}{caption}".strip()


def _at(turn: dict[str, Any]) -> str | None:
    if not turn.get("date_time"):
        return None
    return (
        datetime.strptime(turn["date_time"], "%I:%M:%S %p on %A %d %B, %Y")
        .replace(tzinfo=UTC)
        .isoformat()
    )


def _questions(
    name: str,
    given: list[dict[str, Any]],
    corrected: dict[str, list[str]],
    there: set[str],
) -> Iterator[Question]:
    for one in given:
        evidence: list[str] = one.get("evidence") or []
        published = _units(name, evidence, there)
        gold = _units(name, corrected.get(one["question"], evidence), there)
        if gold:
            yield Question(
                one["question"],
                gold,
                category=str(one["category"]),
                published=published,
            )


def _units(name: str, evidence: Collection[str], there: set[str]) -> frozenset[str]:
    return frozenset(
        f"{name}/{turn}" for turn in _TURN.findall(" ".join(evidence)) if turn in there
    )
