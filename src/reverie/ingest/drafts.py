"""Drafts of records, which readers make of a file, and skipped items; all strings are
cleaned here.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from pathlib import Path, PurePosixPath
from typing import cast

from reverie.ingest.documents import units


@dataclass(frozen=True, slots=True)
class Draft:
    """One record as found in a file, before it is saved."""

    domain: str
    # identity in the outside world: "uid:…", "mid:…", "url:…"; "" when the file is the
    # identity
    key: str
    fields: Mapping[str, object]
    # field -> key of a draft yielded earlier
    refs: Mapping[str, str] = field(default_factory=dict[str, str])
    # one of many in a file that grows, as a mailbox does: another one may have its key
    collected: bool = False

    def __post_init__(self) -> None:
        # Here and nowhere else: whatever a reader lets through, no draft can hold text
        # the database refuses.
        object.__setattr__(self, "key", clean(self.key))
        object.__setattr__(self, "fields", _clean_fields(self.fields))
        object.__setattr__(
            self, "refs", {name: clean(key) for name, key in self.refs.items()}
        )


@dataclass(frozen=True, slots=True)
class Skip:
    """One item that makes no record, with the reason the report shows."""

    key: str
    reason: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", clean(self.key))
        object.__setattr__(self, "reason", clean(self.reason))


@dataclass(frozen=True, slots=True)
class Remark:
    """What the report says beside an item that was kept: a part of it that was set
    aside, or what had to be guessed.
    """

    key: str
    text: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", clean(self.key))
        object.__setattr__(self, "text", clean(self.text))


DraftOrSkip = Draft | Skip | Remark
Fields = dict[str, object]
"""The fields of a record, or what it keeps under `custom`."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file to read: where it lies, its path relative to the import root, its bytes."""

    path: Path
    relative: PurePosixPath
    data: bytes
    vault: bool  # under a folder that holds .obsidian
    mtime: datetime  # aware


DEEPEST = 20  # lists and mappings inside one another; set by hand
Reader = Callable[[SourceFile], Iterator[DraftOrSkip | units.Read]]
"""An attachment follows the draft of what it came with; units make a document of the
file.
"""


def clean(text: str) -> str:
    """Drop NULs, which PostgreSQL text cannot hold, and mend surrogates, which UTF-8
    cannot encode.
    """
    if "\x00" in text:
        text = text.replace("\x00", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        # A pair of surrogates (broken JSON escapes) is one real character; only a lone
        # one is lost.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def jsonable(value: object) -> object:
    """The value as JSON can hold it, cleaned: keys become strings, times ISO text, the
    unknown its text.
    """
    return _jsonable(value, 0)


def _jsonable(value: object, depth: int) -> object:
    # In the order of how often they come: a table may have a million.
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        # JSON has no NaN and no infinity.
        return value if math.isfinite(value) else str(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if depth > DEEPEST:
        return clean(repr(type(value)))
    return _jsonable_collection(value, depth)


def _jsonable_collection(value: object, depth: int) -> object:
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {clean(str(name)): _jsonable(item, depth + 1) for name, item in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [_jsonable(item, depth + 1) for item in cast("Sequence[object]", value)]
    return clean(_text_of(value))


def _text_of(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def _clean_fields(fields: Mapping[str, object]) -> dict[str, object]:
    cleaned: dict[str, object] = {}
    for name, value in fields.items():
        if value is None:
            continue
        if name == "custom":
            custom = _without_empty(cast("dict[str, object]", jsonable(value)))
            if custom:
                cleaned[name] = custom
        elif isinstance(value, str | Mapping | list | tuple):
            cleaned[name] = jsonable(cast("object", value))
        else:
            cleaned[name] = value
    return cleaned


def _without_empty(custom: Mapping[str, object]) -> dict[str, object]:
    return {
        name: item for name, item in custom.items() if item not in (None, "", [], {})
    }
