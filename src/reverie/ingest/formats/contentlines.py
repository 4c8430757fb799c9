"""The line syntax that iCalendar and vCard share: folds, parameters, quoted-printable,
escapes, nesting.
"""

import base64
import binascii
import quopri
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from reverie import errors
from reverie.ingest import charsets

LONGEST = (
    32 * 1024 * 1024
)  # a photo inside a card can be megabytes; a longer line is an attack
DEEPEST = 50
NAME = re.compile(r"^(?:([A-Za-z0-9_-]+)\.)?([A-Za-z0-9_-]+)(?=[;:])")
PARAM = re.compile(
    r';\s*([^=;:"]*)(?:=((?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*))?'
)
PARAM_VALUE = re.compile(r'"[^"]*"|[^,]+')
CARET = re.compile(r"\^([n'^])")


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
        values = self.params.get(name)
        return values[0] if values else ""

    @property
    def text(self) -> str:
        return unescape(self.value)


@dataclass(slots=True)
class Component:
    """A BEGIN … END block."""

    name: str
    lines: list[ContentLine] = field(default_factory=list[ContentLine])
    children: list["Component"] = field(default_factory=list["Component"])
    broken: list[str] = field(default_factory=list[str])

    def first(self, name: str) -> ContentLine | None:
        return next((line for line in self.lines if line.name == name), None)

    def every(self, name: str) -> list[ContentLine]:
        return [line for line in self.lines if line.name == name]

    def text(self, name: str) -> str | None:
        line = self.first(name)
        return line.text.strip() or None if line else None

    def walk(self) -> Iterator["Component"]:
        yield self
        for child in self.children:
            yield from child.walk()


def components(data: bytes) -> Iterator[Component]:
    """The outermost blocks of the file, each as soon as it ends, also one that the file
    cuts off.
    """
    stack: list[Component] = []
    for raw in unfold(data):
        line = parse(raw)
        if line is None:
            if stack and raw.strip():
                stack[-1].broken.append(raw[:80].strip())
            continue
        if line.name == "BEGIN":
            if len(stack) >= DEEPEST:
                raise errors.Unreadable(
                    f"components are nested more than {DEEPEST} deep"
                )
            stack.append(Component(line.value.strip().upper()))
        elif line.name == "END":
            done = _close(stack, line.value.strip().upper())
            if done is not None:
                yield done
        elif stack:
            stack[-1].lines.append(line)
    if stack:
        _fold_into_root(stack)
        stack[0].broken.append("the file ends before its END line")
        yield stack[0]


def _close(stack: list[Component], name: str) -> Component | None:
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
    while len(stack) > 1:
        done = stack.pop()
        done.broken.append(f"no END:{done.name}")
        stack[-1].children.append(done)


def unfold(data: bytes) -> Iterator[str]:
    """Logical lines as Latin-1 text, one character a byte.

    Folds may cut a UTF-8 sequence, and each line may have a charset of its own.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = charsets.decode(data)[0].encode("utf-8", "replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    held: list[bytes] = []
    size = 0
    quoted = binary = False
    for raw in _physical(data):
        folded = raw[:1] in (b" ", b"\t")
        if held and (
            (quoted and held[-1].endswith(b"="))
            or (folded and raw.strip())
            or (folded and not binary)
        ):
            if quoted and held[-1].endswith(b"="):
                held[-1] = held[-1][:-1]
                raw = raw[1:] if folded else raw
            elif folded:
                raw = raw[1:]
            held.append(raw)
        else:
            if held:
                yield b"".join(held).decode("latin-1")
            held, size = [raw], 0
            head = raw.split(b":", 1)[0].upper()
            quoted = b"QUOTED-PRINTABLE" in head
            binary = b"BASE64" in head or b"ENCODING=B" in head
        size += len(raw)
        if size > LONGEST:
            raise errors.Unreadable(
                f"a line is longer than {LONGEST // 1024 // 1024} MB"
            )
    if held:
        yield b"".join(held).decode("latin-1")


def _physical(data: bytes) -> Iterator[bytes]:
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
    params: dict[str, list[str]] = {}
    at = head.end()
    while at < len(raw) and raw[at] == ";":
        found = PARAM.match(raw, at)
        if found is None:
            return None
        _add_param(params, found.group(1).strip().upper(), found.group(2))
        at = found.end()
    if at >= len(raw) or raw[at] != ":":
        return None
    value = _decode_value(raw[at + 1 :], params)
    group = head.group(1) or ""
    return ContentLine(head.group(2).upper(), value, params, group.upper())


def _add_param(params: dict[str, list[str]], name: str, raw: str | None) -> None:
    if (
        raw is None
    ):  # vCard 2.1 writes TEL;HOME;QUOTED-PRINTABLE: with the names left out
        bare = name.upper()
        name = (
            "ENCODING"
            if bare in {"QUOTED-PRINTABLE", "BASE64", "8BIT", "7BIT"}
            else "TYPE"
        )
        params.setdefault(name, []).append(bare)
        return
    values = [
        _decode_text(value.strip('"'), None) for value in PARAM_VALUE.findall(raw)
    ]
    params.setdefault(name, []).extend(CARET.sub(_caret, value) for value in values)


def _caret(match: re.Match[str]) -> str:
    return {"n": "\n", "'": '"', "^": "^"}[match.group(1)]


def _decode_value(raw: str, params: dict[str, list[str]]) -> str:
    charset = params.get("CHARSET", [""])[0] or None
    if params.get("ENCODING", [""])[0].upper() in {"QUOTED-PRINTABLE", "Q"}:
        # Backslashes are literal in 2.1, but its writers escape ; and , all the same,
        # so they stay.
        return charsets.decode(quopri.decodestring(raw.encode("latin-1")), charset)[
            0
        ].replace("\r\n", "\n")
    return _decode_text(raw, charset)


def _decode_text(raw: str, charset: str | None) -> str:
    return (
        raw
        if raw.isascii() and not charset
        else charsets.decode(raw.encode("latin-1"), charset)[0]
    )


def unescape(value: str) -> str:
    """Text with \\n, \\, \\; \\, turned into what they stand for."""
    if "\\" not in value:
        return value
    return re.sub(
        r"\\(.)",
        lambda match: "\n" if match.group(1) in "nN" else match.group(1),
        value,
        flags=re.DOTALL,
    )


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
    return list(
        dict.fromkeys(value for value in (value.strip() for value in values) if value)
    )
