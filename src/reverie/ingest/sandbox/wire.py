"""The wire format between the sandbox and the worker pool: messages as frames, of which
nothing is believed.

A frame is two lengths (big-endian, 4 bytes each), a header in JSON, and a payload:
texts and files, which the header names by their lengths. So a header stays small, and a
small header cannot become a large object.
"""

import json
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Literal, NoReturn, cast, get_args

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.documents import units

LENGTHS = struct.Struct("!II")
HEADER = 16 * 1024 * 1024
PART = 2_000
Cause = Literal["file", "time", "memory", "output", "crash", "stopped"]
_CAUSES: frozenset[str] = frozenset(get_args(Cause))
_KINDS: frozenset[str] = frozenset(get_args(units.Kind))
_LONGEST_REASON = 2_000
_LARGEST_NUMBER = 2**53


@dataclass(frozen=True, slots=True)
class Began:
    """The first message, if there is a reader for the file: its name, such as
    "markdown" or "pdf".
    """

    reader: str


@dataclass(frozen=True, slots=True)
class Unread:
    """The only message, if there is no reader for the file: why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Broken:
    """The last message, if the rest could not be read: why, and whether a password
    would help.

    `cause` is "file" if the reader said so and would say so again; "stopped" if the
    file is not to blame. `peak` is the memory that reading took, in bytes.
    """

    reason: str
    locked: bool = False
    cause: Cause = "file"
    peak: int = 0

    def error(self) -> errors.Unreadable:
        """The same as an exception: Locked or Unreadable."""
        return (
            errors.Locked(self.reason)
            if self.locked
            else errors.Unreadable(self.reason)
        )


@dataclass(frozen=True, slots=True)
class Done:
    """The last message, if all was read. `peak` is the memory that it took, in bytes."""

    peak: int = 0


Item = units.About | units.Unit | units.EmbeddedFile | drafts.DraftOrSkip
Message = Began | Item | Unread | Broken | Done


@dataclass(frozen=True, slots=True)
class UnitPart:
    """Blocks of the unit that comes next: a long one is told in parts, so that nobody
    waits long for one of them.
    """

    blocks: tuple[units.Block, ...]


class Wrong(Exception):
    """What came is no message."""


@dataclass(slots=True)
class _Packed:
    """Texts on their way out, one after the other; each is named by how many characters
    it has.
    """

    texts: list[str]

    def put(self, text: str) -> int:
        clean = drafts.clean(text)
        self.texts.append(clean)
        return len(clean)

    def data(self) -> list[bytes]:
        return ["".join(self.texts).encode()]


class _Texts:
    """Texts that came, to be taken one after the other. They are looked at as one,
    since there may be a million.
    """

    def __init__(self, payload: bytes) -> None:
        self._whole = payload.decode()
        self._at = 0
        if "\x00" in self._whole:
            raise Wrong("a text with a NUL")

    def take(self, length: object) -> str:
        start, self._at = self._at, self._at + _number(length)
        if self._at > len(self._whole):
            raise Wrong("a text goes past the end")
        return self._whole[start : self._at]


def frame(header: object, payload: Sequence[bytes] = ()) -> bytes:
    """A frame of a header and what goes with it."""
    data = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )
    return b"".join((LENGTHS.pack(len(data), sum(map(len, payload))), data, *payload))


def frames(message: Message) -> Iterator[bytes]:
    """A message as frames: a long unit as parts and the rest of it."""
    if isinstance(message, units.Unit) and len(message.blocks) > PART:
        last = (len(message.blocks) - 1) // PART * PART
        for start in range(0, last, PART):
            packed = _Packed([])
            blocks = [
                _block(block, packed) for block in message.blocks[start : start + PART]
            ]
            yield frame(["part", blocks], packed.data())
        message = replace(message, blocks=message.blocks[last:])
    yield encode(message)


def encode(message: Message) -> bytes:
    """A message as one frame."""
    match message:
        case units.Unit():
            return _unit_frame(message)
        case units.EmbeddedFile():
            return frame(["attachment", message.name, message.mime], [message.data])
        case units.About():
            return _about_frame(message)
        case drafts.Draft():
            return _draft_frame(message)
        case drafts.Skip() | drafts.Remark():
            return _sentence_frame(message)
        case Began():
            return frame(["began", message.reader])
        case Unread():
            return frame(["unread", message.reason])
        case Broken():
            return frame(["broken", message.reason, message.locked, message.cause])
        case Done():
            return frame(["done"])


def _sentence_frame(message: drafts.Skip | drafts.Remark) -> bytes:
    if isinstance(message, drafts.Skip):
        return frame(["skip", message.key, message.reason])
    return frame(["remark", message.key, message.text])


def _unit_frame(unit: units.Unit) -> bytes:
    packed = _Packed([])
    blocks = [_block(block, packed) for block in unit.blocks]
    header = ["unit", unit.number, unit.total, unit.place, unit.remark, blocks]
    return frame(header, packed.data())


def _about_frame(about: units.About) -> bytes:
    return frame(["about", about.title, about.author, about.created, about.encoding])


def _draft_frame(draft: drafts.Draft) -> bytes:
    packed = _Packed([])
    fields = {name: _value(value, packed) for name, value in draft.fields.items()}
    refs = dict(draft.refs)
    header = ["draft", draft.domain, draft.key, fields, refs, draft.collected]
    return frame(header, packed.data())


def _block(block: units.Block, packed: _Packed) -> list[object]:
    kept: list[object] = [packed.put(block.text), block.kind, block.level]
    return [*kept, block.place] if block.place else kept


def _value(value: object, packed: _Packed) -> list[object]:
    if isinstance(value, str):
        return ["text", packed.put(value)]
    if isinstance(value, datetime):
        return ["datetime", value.isoformat()]
    if isinstance(value, date):
        return ["date", value.isoformat()]
    if isinstance(value, time):
        return ["time", value.isoformat()]
    if isinstance(value, timedelta):
        return ["timedelta", [value.days, value.seconds, value.microseconds]]
    if isinstance(value, Decimal):
        return ["decimal", str(value)]
    if isinstance(value, float) and not math.isfinite(value):
        return ["float", repr(value)]
    return ["json", drafts.jsonable(value)]


def decode(header: bytes, payload: bytes) -> Message | UnitPart:
    """The message of a frame. Raises Wrong unless every part of it is what it should
    be.
    """
    try:
        loaded = json.loads(header, parse_constant=_no_constant)
        kind, *rest = _list(loaded)
        return _DECODERS[_text(kind)](rest, payload)
    except Wrong:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        RecursionError,
        OverflowError,
        InvalidOperation,
    ) as wrong:
        raise Wrong(type(wrong).__name__) from None


def _unit(rest: list[object], payload: bytes) -> units.Unit:
    number, total, place, remark, blocks = rest
    return units.Unit(
        _number(number),
        _number(total),
        _blocks(blocks, payload),
        _place(place),
        _text(remark),
    )


def _part(rest: list[object], payload: bytes) -> UnitPart:
    (blocks,) = rest
    return UnitPart(_blocks(blocks, payload))


def _blocks(blocks: object, payload: bytes) -> tuple[units.Block, ...]:
    texts = _Texts(payload)
    return tuple(_made_block(_list(block), texts) for block in _list(blocks))


def _made_block(parts: list[object], texts: _Texts) -> units.Block:
    length, kind, level, *more = parts
    if kind not in _KINDS or len(more) > 1 or _number(level) > 6:
        raise Wrong("no block")
    place = _place(more[0] if more else {})
    return units.Block(
        texts.take(length), cast("units.Kind", kind), cast("int", level), place
    )


def _attachment(rest: list[object], payload: bytes) -> units.EmbeddedFile:
    name, mime = rest
    return units.EmbeddedFile(_text(name), _text(mime), payload)


def _about(rest: list[object], payload: bytes) -> units.About:
    title, author, created, encoding = rest
    return units.About(_text(title), _text(author), _text(created), _text(encoding))


def _draft(rest: list[object], payload: bytes) -> drafts.Draft:
    domain, key, fields, refs, collected = rest
    texts = _Texts(payload)
    values = {
        _text(name): _made_value(_list(value), texts)
        for name, value in _object(fields).items()
    }
    named = {_text(name): _text(ref) for name, ref in _object(refs).items()}
    return drafts.Draft(
        _text(domain), _text(key), values, named, collected=bool(collected)
    )


def _made_value(parts: list[object], texts: _Texts) -> object:
    tag, value = parts
    if tag == "text":
        return texts.take(value)
    if tag == "json":
        return value
    if tag == "timedelta":
        return timedelta(*(_whole(part) for part in _list(value)))
    return _FROM_TEXT[_text(tag)](_text(value))


_FROM_TEXT: Mapping[str, Callable[[str], object]] = {
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "decimal": Decimal,
    "float": float,
}


def _skip(rest: list[object], payload: bytes) -> drafts.Skip:
    key, reason = rest
    return drafts.Skip(_text(key), _text(reason))


def _remark(rest: list[object], payload: bytes) -> drafts.Remark:
    key, text = rest
    return drafts.Remark(_text(key), _text(text)[:_LONGEST_REASON])


def _broken(rest: list[object], payload: bytes) -> Broken:
    reason, locked, cause = rest
    if not isinstance(locked, bool) or cause not in _CAUSES:
        raise Wrong("no reason")
    return Broken(_text(reason)[:_LONGEST_REASON], locked, cast("Cause", cause))


def _done(rest: list[object], payload: bytes) -> Done:
    if rest:
        raise Wrong("no end")
    return Done()


_DECODERS: Mapping[str, Callable[[list[object], bytes], Message | UnitPart]] = {
    "unit": _unit,
    "part": _part,
    "attachment": _attachment,
    "about": _about,
    "draft": _draft,
    "skip": _skip,
    "remark": _remark,
    "broken": _broken,
    "done": _done,
    "began": lambda rest, payload: Began(_only(rest)),
    "unread": lambda rest, payload: Unread(_only(rest)[:_LONGEST_REASON]),
}


def _only(rest: list[object]) -> str:
    (text,) = rest
    return _text(text)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Wrong("no text")
    return drafts.clean(value)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Wrong("no number")
    return value


def _number(value: object) -> int:
    """A count or a length."""
    if not 0 <= _whole(value) <= _LARGEST_NUMBER:
        raise Wrong("no number")
    return cast("int", value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise Wrong("no list")
    return cast("list[object]", value)


def _object(value: object) -> dict[object, object]:
    if not isinstance(value, dict):
        raise Wrong("no object")
    return cast("dict[object, object]", value)


def _place(value: object) -> units.Place:
    place = _object(value)
    for name, part in place.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise Wrong("no name of a place")
        if not isinstance(part, int) or isinstance(part, bool):
            place[name] = _where(part)
    return cast("units.Place", place)


def _where(part: object) -> str | list[int]:
    if isinstance(part, list):
        for number in cast("list[object]", part):
            _whole(number)
        return cast("list[int]", part)
    return _text(part)


def _no_constant(name: str) -> NoReturn:
    raise Wrong(f"{name} is no number")
