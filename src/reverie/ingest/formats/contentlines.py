"""Content lines, the syntax of iCalendar (RFC 5545) and vCard (RFC 6350): folds,
parameters, quoted-printable, escapes, nesting.
"""

import base64
import binascii
import quopri
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Self

from reverie import errors
from reverie.ingest import charsets

# A photo inside a card can be megabytes; a longer line is an attack.
LONGEST = 32 * 1024 * 1024
DEEPEST = 50  # blocks inside blocks; the standards know of three
NAME = re.compile(r"^(?:([A-Za-z0-9_-]+)\.)?([A-Za-z0-9_-]+)[ \t]*(?=[;:])")
PARAM = re.compile(
    r';\s*([^=;:"]*)(?:=((?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*))?'
)
PARAM_VALUE = re.compile(r'"[^"]*"|[^,]+')
TIMES = frozenset(
    {
        "DTSTART",
        "DTEND",
        "DUE",
        "RECURRENCE-ID",
        "EXDATE",
        "RDATE",
        "COMPLETED",
        "CREATED",
    }
)
STAMP = re.compile(r"\d{4}-?\d{2}-?\d{2}(?!\d)")
LOOSE_TIME = re.compile(r":(?=[ \t]*\d{4}-?\d{2}-?\d{2}(?!\d))")
# As far as the name of a zone may reach, in characters.
LOOSE = 400
ADDRESSES = frozenset({"ATTENDEE", "ORGANIZER"})
MAILTO = re.compile(r":?mailto:", re.IGNORECASE)
CARET = re.compile(r"\^([n'^])")  # RFC 6868
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_CARET_MEANS = {"n": "\n", "'": '"', "^": "^"}
_ENCODINGS = frozenset({"QUOTED-PRINTABLE", "BASE64", "8BIT", "7BIT"})


@dataclass(frozen=True, slots=True)
class ContentLine:
    """One property: its name in capitals, its parameters in capitals, its value not yet
    unescaped.
    """

    name: str
    value: str
    params: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    group: str = ""

    def param(self, name: str) -> str:
        """The first value of a parameter, or ""."""
        values = self.params.get(name)
        return values[0] if values else ""

    @property
    def text(self) -> str:
        """The value unescaped."""
        return unescape(self.value)


@dataclass(slots=True)
class Component:
    """A BEGIN … END block."""

    name: str
    lines: list[ContentLine] = field(default_factory=list[ContentLine])
    children: list["Component"] = field(default_factory=list["Component"])
    broken: list[str] = field(default_factory=list[str])

    def first(self, name: str) -> ContentLine | None:
        """The first line of that name, in capitals."""
        return next((line for line in self.lines if line.name == name), None)

    def every(self, name: str) -> list[ContentLine]:
        """All lines of that name, in capitals."""
        return [line for line in self.lines if line.name == name]

    def text(self, name: str) -> str | None:
        """The unescaped value of the first line of that name; None for white space."""
        line = self.first(name)
        if line is None:
            return None
        return line.text.strip() or None

    def walk(self) -> Iterator["Component"]:
        """This block and all inside it, in their order."""
        yield self
        for child in self.children:
            yield from child.walk()


def components(data: bytes) -> Iterator[Component]:
    """The outermost blocks of the file, each as soon as it ends, also one that the file
    cuts off. Raises Unreadable for blocks nested too deep and lines too long.
    """
    stack: list[Component] = []
    for raw in unfold(data):
        line = parse(raw)
        if line is None:
            _note_broken(stack, raw)
        elif line.name == "BEGIN":
            _open(stack, _block_name(line))
        elif line.name == "END":
            done = _close(stack, _block_name(line))
            if done is not None:
                yield done
        elif stack:
            stack[-1].lines.append(line)
    if stack:
        _fold_into_root(stack)
        stack[0].broken.append("the file ends before its END line")
        yield stack[0]


def _block_name(line: ContentLine) -> str:
    """The name behind BEGIN or END."""
    return line.value.strip().upper()


def _note_broken(stack: list[Component], raw: str) -> None:
    """Keep the beginning of a line that is no property."""
    if stack and raw.strip():
        stack[-1].broken.append(raw[:80].strip())


def _open(stack: list[Component], name: str) -> None:
    """Begin a block. Raises Unreadable for too many inside one another."""
    if len(stack) >= DEEPEST:
        raise errors.Unreadable(f"components are nested more than {DEEPEST} deep")
    stack.append(Component(name))


def _close(stack: list[Component], name: str) -> Component | None:
    """End the innermost block of that name; the outermost one is returned."""
    if name not in {component.name for component in stack}:
        return None  # an END without its BEGIN closes nothing
    while stack:
        done = stack.pop()
        if not stack:
            return done
        stack[-1].children.append(done)
        if done.name == name:
            return None
        done.broken.append(f"no END:{done.name}")
    return None


def _fold_into_root(stack: list[Component]) -> None:
    """End all blocks that the end of the file left open."""
    while len(stack) > 1:
        done = stack.pop()
        done.broken.append(f"no END:{done.name}")
        stack[-1].children.append(done)


@dataclass(slots=True)
class _LogicalLine:
    """A line while its folds are still coming."""

    parts: list[bytes]
    size: int
    quoted_printable: bool
    base64: bool

    @classmethod
    def begin(cls, raw: bytes) -> Self:
        """The line that begins with these bytes."""
        before_value, _, _ = raw.partition(b":")
        head = before_value.upper()
        return cls(
            parts=[raw],
            size=len(raw),
            quoted_printable=b"QUOTED-PRINTABLE" in head,
            base64=b"BASE64" in head or b"ENCODING=B" in head,
        )

    def take(self, raw: bytes) -> bool:
        """Add a physical line; False when it is the beginning of the next one."""
        folded = raw.startswith((b" ", b"\t"))
        # A soft line break of quoted-printable (vCard 2.1), with or without a fold.
        last = self.parts[-1]
        if self.quoted_printable and last.endswith(b"="):
            self.parts[-1] = last[:-1]
        # Behind base64, vCard 2.1 has an empty line, of which some writers make a fold.
        elif not folded or (self.base64 and not raw.strip()):
            return False
        self.parts.append(raw[1:] if folded else raw)
        self.size += len(self.parts[-1])
        return True

    def text(self) -> str:
        """The whole of it, one character a byte."""
        return b"".join(self.parts).decode("latin-1")


def unfold(data: bytes) -> Iterator[str]:
    """Logical lines as Latin-1 text, one character a byte.

    Folds may cut a UTF-8 sequence, and each line may have a charset of its own. Raises
    Unreadable for a line longer than LONGEST.
    """
    line: _LogicalLine | None = None
    for raw in _physical(charsets.as_utf8(data)):
        if line is None:
            line = _LogicalLine.begin(raw)
        elif not line.take(raw):
            yield line.text()
            line = _LogicalLine.begin(raw)
        if line.size > LONGEST:
            megabytes = LONGEST // 1024 // 1024
            raise errors.Unreadable(f"a line is longer than {megabytes} MB")
    if line is not None:
        yield line.text()


def _physical(data: bytes) -> Iterator[bytes]:
    """The lines as the file has them, whatever ends them."""
    start = 0
    for match in re.finditer(rb"\r\n|\n|\r", data):
        yield data[start : match.start()]
        start = match.end()
    if start < len(data):
        yield data[start:]


def parse(raw: str) -> ContentLine | None:
    """One logical line taken apart, or None when it is no property."""
    head = NAME.match(raw.lstrip())
    if head is None:
        return None
    raw = raw.lstrip()
    group, name = head.groups("")
    params: dict[str, list[str]] = {}
    at = _after_params(raw, head.end(), params)
    if at is None or _is_cut_short(name.upper(), raw, at):
        params = {}
        at = _after_loose_params(name.upper(), raw, head.end(), params)
    if at is None:
        return None
    value = _decode_value(raw[at + 1 :], params)
    return ContentLine(name.upper(), value, params, group.upper())


def _after_params(raw: str, at: int, params: dict[str, list[str]]) -> int | None:
    """Take the parameters as the standards write them; where the colon behind them is,
    None when they are written otherwise.
    """
    while at < len(raw) and raw[at] == ";":
        param = PARAM.match(raw, at)
        if param is None:
            return None
        name, param_value = param.groups()
        _add_param(params, name.strip().upper(), param_value)
        at = param.end()
    return at if at < len(raw) and raw[at] == ":" else None


def _is_cut_short(name: str, raw: str, at: int) -> bool:
    """Whether the colon belongs to a parameter that should have been in quotes: behind
    it is no time or address.
    """
    if raw[at - 1] == '"' or ";" not in raw[:at]:
        return False
    start = raw[at + 1 : at + 40].lstrip()
    if name in TIMES:
        return (
            not STAMP.match(start)
            and LOOSE_TIME.search(raw, at, at + LOOSE) is not None
        )
    if name in ADDRESSES:
        return not MAILTO.match(start) and MAILTO.search(raw, at) is not None
    return False


def _after_loose_params(
    name: str, raw: str, at: int, params: dict[str, list[str]]
) -> int | None:
    """Take parameters that lack their quotes, as some writers leave them; where the
    colon behind them is.
    """
    end = _value_colon(name, raw, at)
    if end is None:
        return None
    for part in raw[at + 1 : end].split(";"):
        key, separator, text = part.partition("=")
        if separator and key.strip():
            text = _decode_text(text.strip().strip('"'), None)
            params.setdefault(key.strip().upper(), []).append(text)
    return end


def _value_colon(name: str, raw: str, at: int) -> int | None:
    """The colon before the value: the last one before a time or an address, else the
    first.
    """
    if name in TIMES:
        time = LOOSE_TIME.search(raw, at, at + LOOSE)
        if time is not None:
            return time.start()
    if name in ADDRESSES:
        at = max(at, raw.lower().rfind(":mailto:"))
    end = raw.find(":", at)
    return end if end >= 0 else None


def _add_param(params: dict[str, list[str]], name: str, raw: str | None) -> None:
    """Add the values of a parameter, decoded."""
    # vCard 2.1 writes TEL;HOME;QUOTED-PRINTABLE: with the names left out
    if raw is None:
        left_out = "ENCODING" if name in _ENCODINGS else "TYPE"
        params.setdefault(left_out, []).append(name)
        return
    values = params.setdefault(name, [])
    for value in PARAM_VALUE.findall(raw):
        text = _decode_text(value.strip('"'), None)
        values.append(CARET.sub(_caret, text))


def _caret(match: re.Match[str]) -> str:
    """A caret sequence as what it stands for."""
    return _CARET_MEANS[match.group(1)]


def _decode_value(raw: str, params: dict[str, list[str]]) -> str:
    """The value in Unicode; quoted-printable is decoded."""
    charset = params.get("CHARSET", [""])[0] or None
    if params.get("ENCODING", [""])[0].upper() in {"QUOTED-PRINTABLE", "Q"}:
        # Backslashes are literal in 2.1, but its writers escape ; and , all the same,
        # so they stay.
        data = quopri.decodestring(raw.encode("latin-1"))
        text, _ = charsets.decode(data, charset)
        return text.replace("\r\n", "\n")
    return _decode_text(raw, charset)


def _decode_text(raw: str, charset: str | None) -> str:
    """Text of a charset that is declared, or else detected."""
    if raw.isascii() and not charset:
        return raw
    return charsets.decode(raw.encode("latin-1"), charset)[0]


def unescape(value: str) -> str:
    """Text with \\n, \\, \\; \\, turned into what they stand for."""
    if "\\" not in value:
        return value
    return ESCAPE.sub(_unescaped, value)


def _unescaped(match: re.Match[str]) -> str:
    """An escaped character as what it stands for."""
    letter = match.group(1)
    return "\n" if letter in "nN" else letter


def split(value: str, separator: str) -> list[str]:
    """Structured values cut at separators that are not escaped, each part unescaped."""
    parts: list[str] = []
    start = at = 0
    while at < len(value):
        if value[at] == "\\":
            at += 2
            continue
        if value[at] == separator:
            parts.append(value[start:at])
            start = at + 1
        at += 1
    parts.append(value[start:])
    return [unescape(part).strip() for part in parts]


def binary(line: ContentLine) -> bytes | None:
    """The bytes of an inline value, or None when it is a link or broken."""
    encoding = line.param("ENCODING").upper()
    raw = line.value
    if raw.startswith("data:") and ";base64," in raw[:200]:
        raw = raw.split(";base64,", 1)[1]
    elif encoding not in {"B", "BASE64"}:
        return None
    try:
        return base64.b64decode(re.sub(r"\s", "", raw), validate=False)
    except (binascii.Error, ValueError):
        return None


def unique(values: Iterable[str]) -> list[str]:
    """The non-empty values once each, in order."""
    stripped = map(str.strip, values)
    return list(dict.fromkeys(filter(None, stripped)))
