"""Runs: captured invocations of agents.

The archive of their transcripts follows; this is the record.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import pydantic

from reverie import compact
from reverie.records import passages, record_types


@dataclass(frozen=True, slots=True, kw_only=True)
class Run(record_types.Record):
    title: str
    agent: str
    machine: str | None = None
    status: Literal["running", "done", "failed"] = "done"
    started: pydantic.AwareDatetime | None = None
    ended: pydantic.AwareDatetime | None = None
    text: str = ""


def _text(run: Run) -> passages.Text:
    sections = [passages.Section(run.text)] if run.text.strip() else []
    return passages.Text(
        run.title, sections, keywords=f"{run.agent} {run.machine or ''}", at=run.started
    )


def _line(run: Run, now: datetime) -> str:
    when = f" [{compact.ago(run.started, now)}]" if run.started else ""
    machine = f"@{run.machine}" if run.machine else ""
    return f'{run.agent}{machine}: "{compact.clip(run.title, 48)}" {run.status}{when}'


RUNS = record_types.Domain(
    name="run",
    plural="runs",
    record=Run,
    text=_text,
    summary=lambda run: run.title,
    line=_line,
    order="t.started DESC NULLS LAST, t.id",
    filters={
        "agent": record_types.Filter(str, "t.agent = %(agent)s"),
        "status": record_types.Filter(str, "t.status = %(status)s"),
    },
)
