"""The progress of an ingestion: its steps, its files, what is being read just now, and
how long it may take.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.ingest import ingestions

StepState = Literal["waiting", "running", "done", "failed", "stopped"]

# The texts of what this ingestion made, and how many of them have a vector.
_EMBEDDED = """
SELECT count(DISTINCT passage.hash) AS texts, count(DISTINCT embedding.hash) AS vectors
FROM ingestion_file AS file
JOIN imported ON imported.user_id = file.user_id AND imported.path = file.path
JOIN passage ON passage.user_id = imported.user_id AND passage.record_id = imported.record_id
LEFT JOIN embedding ON embedding.user_id = passage.user_id AND embedding.model = %(model)s
    AND embedding.hash = passage.hash
WHERE file.user_id = %(user)s AND file.ingestion_id = %(id)s AND file.state = 'imported'
"""
_SETTLED = frozenset({"imported", "unchanged", "skipped", "failed", "parked"})
_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Step:
    """One step: so much is done of so much (files, texts)."""

    name: Literal["scan", "extract", "save", "embed"]
    state: StepState
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Status:
    """A whole ingestion. `files` counts by state; `units` are pages, slides and sheets;
    `seconds_left` is a guess.
    """

    ingestion: ingestions.Ingestion
    steps: tuple[Step, ...]
    files: dict[str, int]
    units: int
    passages: int
    records: dict[str, int]
    now: tuple[ingestions.IngestionFile, ...]
    problems: tuple[ingestions.IngestionFile, ...]
    seconds_left: int | None

    @property
    def ended(self) -> bool:
        """Whether all files have been looked at; vectors may still be missing."""
        return self.ingestion.state in ("done", "failed", "stopped")

    def as_json(self) -> dict[str, Any]:
        """The form that the API shows."""
        ingestion = self.ingestion
        finished_at = ingestion.finished_at
        return {
            "id": str(ingestion.id),
            "kind": ingestion.kind,
            "state": ingestion.state,
            "reason": ingestion.reason,
            "steps": [asdict(step) for step in self.steps],
            "files": self.files,
            "units": self.units,
            "passages": self.passages,
            "records": self.records,
            "now": [_shown(file) for file in self.now],
            "problems": [_shown(file) for file in self.problems],
            "seconds_left": self.seconds_left,
            "created_at": ingestion.created_at.isoformat(),
            "finished_at": finished_at.isoformat() if finished_at else None,
        }


def _shown(file: ingestions.IngestionFile) -> dict[str, Any]:
    shown = {"path": file.relative, "state": file.state, "reason": file.reason}
    if file.state != "running":
        return shown
    return shown | {"units": file.units, "total": file.total}


async def status(
    tx: db.Transaction, caller: callers.Caller, ingestion_id: UUID, *, model: str
) -> Status:
    """How far an ingestion is; `model` is whose vectors count ("" without one). Raises
    NotFound.
    """
    ingestion = await ingestions.get(tx, caller, ingestion_id)
    tallies: dict[str, ingestions.Tally] = {
        tally.state: tally
        for tally in await ingestions.tallies(tx, caller, ingestion_id)
    }
    files = {str(state): tally.files for state, tally in tallies.items()}
    total = sum(files.values())
    settled = sum(count for state, count in files.items() if state in _SETTLED)
    texts = vectors = 0
    if model and files.get("imported"):
        values = {"user": caller.user_id, "id": ingestion_id, "model": model}
        row = (await tx.rows(_EMBEDDED, values))[0]
        texts, vectors = row["texts"], row["vectors"]
    return Status(
        ingestion,
        _steps(ingestion, total, settled, files.get("imported", 0), (vectors, texts)),
        files,
        sum(tally.units for tally in tallies.values()),
        sum(tally.passages for tally in tallies.values()),
        await ingestions.records(tx, caller, ingestion_id),
        tuple(
            await ingestions.files(
                tx, caller, ingestion_id, states=["running"], limit=_SHOWN
            )
        ),
        tuple(
            await ingestions.files(
                tx, caller, ingestion_id, states=["failed", "parked"], limit=_SHOWN
            )
        ),
        _left(ingestion, tallies),
    )


def _steps(
    ingestion: ingestions.Ingestion,
    total: int,
    settled: int,
    imported: int,
    embedded: tuple[int, int],
) -> tuple[Step, ...]:
    state: StepState = ingestion.state
    scanned = ingestion.scanned_at is not None
    reading: StepState = state if scanned or state == "done" else "waiting"
    saving: StepState = reading if imported or reading == "done" else "waiting"
    vectors, texts = embedded
    return (
        Step("scan", "done" if scanned else state, total, total),
        Step("extract", reading, settled, total),
        Step("save", saving, imported, imported),
        Step("embed", _embedding(reading, vectors, texts), vectors, texts),
    )


def _embedding(reading: StepState, vectors: int, texts: int) -> StepState:
    if texts:
        return "done" if vectors == texts else "running"
    return "done" if reading == "done" else "waiting"


def _left(
    ingestion: ingestions.Ingestion, tallies: Mapping[str, ingestions.Tally]
) -> int | None:
    """By the bytes: those that are read took so long. A file that is half read counts
    half.
    """
    if ingestion.state != "running" or ingestion.scanned_at is None:
        return None
    running = tallies.get("running")
    half = 0.0
    if running and running.total:
        half = running.bytes * (running.units / running.total)
    left = _bytes(tallies, ("waiting", "running")) - half
    read = half + _bytes(tallies, ("imported", "failed", "parked"))
    took = (datetime.now(UTC) - ingestion.scanned_at).total_seconds()
    return round(took * left / read) if read and took > 1 else None


def _bytes(tallies: Mapping[str, ingestions.Tally], states: Sequence[str]) -> int:
    return sum(tallies[state].bytes for state in states if state in tallies)
