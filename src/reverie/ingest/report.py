"""The report of an import: counts, and each file with its reasons."""

from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["imported", "unchanged", "skipped", "failed", "parked"]


@dataclass(slots=True)
class FileReport:
    """One file: what became of it and of the items in it.

    `remarks` tell of items that were kept: what of them was set aside or guessed.
    """

    path: str
    status: Status = "unchanged"
    reason: str = ""
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    remarks: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


@dataclass(slots=True)
class Report:
    """The whole import. Records are counted as imported, updated and unchanged; files
    and items as skipped, failed.
    """

    files: list[FileReport] = field(default_factory=list[FileReport])

    @property
    def imported(self) -> int:
        return sum(file.imported for file in self.files)

    @property
    def updated(self) -> int:
        return sum(file.updated for file in self.files)

    @property
    def unchanged(self) -> int:
        return sum(file.unchanged for file in self.files)

    @property
    def skipped(self) -> int:
        return sum(
            (file.status == "skipped") + len(file.skipped) for file in self.files
        )

    @property
    def failed(self) -> int:
        return sum(file.status in ("failed", "parked") for file in self.files)

    def as_json(self) -> dict[str, Any]:
        """The form that `--json` prints."""
        return {
            "imported": self.imported,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "skipped": self.skipped,
            "failed": self.failed,
            "files": [
                {
                    "path": file.path,
                    "status": file.status,
                    "reason": file.reason,
                    "imported": file.imported,
                    "updated": file.updated,
                    "unchanged": file.unchanged,
                    "skipped": file.skipped,
                    "remarks": file.remarks,
                }
                for file in self.files
            ],
        }
