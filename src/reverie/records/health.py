"""Health: measures and remarks about the owner's body.

They are critical: they never leave this machine.
"""

from dataclasses import dataclass
from datetime import datetime

import pydantic

from reverie import compact
from reverie.records import passages, record_types


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthEntry(record_types.Record):
    """One measure: `value` in `unit`, taken at `at`."""

    kind: str
    at: pydantic.AwareDatetime
    value: float | None = None
    unit: str | None = None
    text: str | None = None


def _measure(entry: HealthEntry) -> str:
    value = "" if entry.value is None else f"{entry.value:g}"
    return " ".join(part for part in (entry.kind, value, entry.unit) if part)


def _text(entry: HealthEntry) -> passages.Text:
    sections = [passages.Section(entry.text)] if entry.text else []
    return passages.Text(_measure(entry), sections, at=entry.at)


def _line(entry: HealthEntry, now: datetime) -> str:
    # The remark only where there is no measure: it is the longer part, and the measure
    # says what is needed.
    remark = (
        f" {compact.clip(entry.text, 32)}" if entry.text and entry.value is None else ""
    )
    return f"{entry.at:%Y-%m-%d} {compact.clip(_measure(entry), 40)}{remark}"


HEALTH = record_types.Domain(
    name="health",
    plural="health-entries",
    record=HealthEntry,
    text=_text,
    summary=lambda entry: f"{_measure(entry)} {entry.at:%Y-%m-%d}",
    line=_line,
    order="t.at DESC, t.id",
    filters={"kind": record_types.Filter(str, "t.kind = %(kind)s")},
)
