"""Tasks: cards on kanban boards, with labels, a checklist and what they wait for."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID

import pydantic
from typing_extensions import TypedDict

from reverie import compact
from reverie.records import passages, record_types


class Check(TypedDict):
    text: str
    done: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(record_types.Record):
    """`position` orders the tasks of a column; `depends_on` are ids of tasks to be done
    before.
    """

    title: str
    description: str | None = None
    board: str = "Tasks"
    column: str = "To do"
    position: float = 0.0
    due: dt.date | None = None
    priority: Literal["low", "normal", "high"] | None = None
    labels: list[str] = field(default_factory=list[str])
    checklist: list[Check] = field(default_factory=list[Check])
    depends_on: list[UUID] = field(default_factory=list[UUID])
    completed_at: pydantic.AwareDatetime | None = None


def _text(task: Task) -> passages.Text:
    steps = "\n".join(item["text"] for item in task.checklist)
    body = "\n".join(part for part in (task.description, steps) if part)
    due = (
        dt.datetime.combine(task.due, dt.time(12), tzinfo=dt.UTC) if task.due else None
    )
    sections = [passages.Section(body)] if body else []
    keywords = f"{task.board} {task.column}"
    return passages.Text(
        task.title,
        sections,
        keywords=keywords,
        at=due,
        tags=task.labels,
        category=task.board,
    )


def _line(task: Task, now: dt.datetime) -> str:
    done = sum(item["done"] for item in task.checklist)
    parts = [
        "☑" if task.completed_at else "☐",
        compact.clip(task.title, 48),
        f"[{task.board}/{task.column}]",
        f"{done}/{len(task.checklist)}" if task.checklist else "",
        f"due {task.due}" if task.due else "",
    ]
    return " ".join(part for part in parts if part)


TASKS = record_types.Domain(
    name="task",
    plural="tasks",
    record=Task,
    text=_text,
    summary=lambda task: task.title,
    line=_line,
    order='t.board, t."column", t.position, t.created_at, t.id',
    json=frozenset({"checklist"}),
    filters={
        "board": record_types.Filter(str, "t.board = %(board)s"),
        "column": record_types.Filter(str, 't."column" = %(column)s'),
        "label": record_types.Filter(str, "t.labels @> ARRAY[%(label)s]"),
        "open": record_types.Filter(bool, "(t.completed_at IS NULL) = %(open)s"),
        "due_before": record_types.Filter(dt.date, "t.due < %(due_before)s"),
    },
)
