"""Provenance of imported items: what makes two mentions of one key the same thing, and
which of two versions is plainly the newer one.

A key (a Message-ID, a UID) is only what a file says of itself, and anybody can write
it. What comes from elsewhere under a known key is the same thing if it says the same.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from reverie.ingest import drafts

# What of a letter its sender wrote. Its folder, its labels and whether it was read are
# those of the place where it lay.
_LETTER = ("subject", "from_", "to", "cc", "date", "body_text", "body_html")
_LETTER_CUSTOM = ("reply_to", "sender", "broken_date")
# What tells of a copy, and not of the thing.
_OF_A_COPY = frozenset({"calendar", "board", "source"})
_CUSTOM_OF_A_COPY = frozenset(
    {"created", "modified", "sequence", "imported_from", "merged_from"}
)


@dataclass(frozen=True, slots=True)
class Edition:
    """How new a version says it is: SEQUENCE, and LAST-MODIFIED or REV."""

    sequence: int | None
    modified: datetime | None

    def is_after(self, other: "Edition") -> bool:
        """Whether it is plainly newer: later in one of them, earlier in none."""
        pairs: list[tuple[float, float]] = []
        if self.sequence is not None or other.sequence is not None:
            pairs.append((self.sequence or 0, other.sequence or 0))
        if self.modified and other.modified:
            pairs.append((self.modified.timestamp(), other.modified.timestamp()))
        return any(new > old for new, old in pairs) and not any(
            new < old for new, old in pairs
        )


def content_of(key: str, fields: Mapping[str, object]) -> bytes:
    """A hash of what makes a thing this one and no other; b"" where its key says it all,
    as an address does.
    """
    prefix = key.partition(":")[0]
    if prefix == "mid":
        return _hash(_letter(fields))
    if prefix in ("uid", "name"):
        return _hash(_entry(fields))
    return b""


def _letter(fields: Mapping[str, object]) -> list[object]:
    """Who wrote what to whom, and when; white space differs between mailboxes."""
    custom = _custom(fields)
    written = [fields.get(name) for name in _LETTER]
    written += [custom.get(name) for name in _LETTER_CUSTOM]
    files = [
        str(attachment.get("sha256") or attachment.get("name") or "")
        for attachment in _entries(fields, "attachments")
    ]
    return [*map(_plain, written), sorted(files)]


def _entries(fields: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    entries = fields.get(name)
    return cast("list[Mapping[str, object]]", entries) if entries else []


def _plain(value: object) -> object:
    """A value as it is compared; what is empty and what is not there are the same."""
    if not value:
        return ""
    if isinstance(value, str):
        return "".join(value.split())
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return drafts.jsonable(value)


def _entry(fields: Mapping[str, object]) -> object:
    """All that an event, a task or a contact says, but for what is of its copy."""
    said = {name: value for name, value in fields.items() if name not in _OF_A_COPY}
    said["custom"] = {
        name: value
        for name, value in _custom(fields).items()
        if name not in _CUSTOM_OF_A_COPY
    }
    return drafts.jsonable(said)


def _custom(fields: Mapping[str, object]) -> Mapping[str, object]:
    custom = fields.get("custom")
    return cast("Mapping[str, object]", custom) if isinstance(custom, Mapping) else {}


def _hash(content: object) -> bytes:
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).digest()


def edition_of(fields: Mapping[str, object]) -> Edition:
    """How new a draft or a record says it is."""
    custom = _custom(fields)
    sequence = str(custom.get("sequence") or "")
    is_number = sequence.isascii() and sequence.isdecimal() and len(sequence) < 10
    return Edition(
        int(sequence) if is_number else None, _moment(str(custom.get("modified") or ""))
    )


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def origin_of(path: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    """Where a thing comes from: the folder of its file, and its calendar and organizer.
    All of them must be the same for one version to go before another: an organizer
    alone is only what a file says.
    """
    folder = path.rpartition("/")[0] or path
    calendar = fields.get("calendar") or fields.get("board") or ""
    organizers = [
        str(person.get("email") or "").lower()
        for person in _entries(fields, "attendees")
        if person.get("role") == "organizer"
    ]
    organizers.append(str(_custom(fields).get("organizer") or "").lower())
    return (folder, str(calendar), *sorted(organizers))
