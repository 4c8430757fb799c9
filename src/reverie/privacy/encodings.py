"""Encoded runs in a text: base64, base32, base85, hex, binary and codes of characters."""

import base64
import binascii
import re
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

from reverie.privacy import mapped_text

Edit = mapped_text.Edit

# A run's bytes are text from so many characters on. A national id has nine.
_FEWEST = 6
_MOST = 1_000_000
_WORD = 40  # characters; set by hand
_UNPACKED = 200_000
_BASE64 = re.compile(
    r"(?<![0-9A-Za-z+/])[0-9A-Za-z+/_-]{10,}(?:\s{1,4}[0-9A-Za-z+/_-]{4,})*={0,2}"
)
# What is encoded has capitals or digits within.
_PROSE = re.compile(r"[A-Z]?[a-z]+(?:[\s-]{1,4}[A-Z]?[a-z]+)*")
_HEX = re.compile(
    r"(?<![0-9A-Za-z])(?:0x|\\x)?[0-9A-Fa-f]{2}"
    r"(?:[ :,;\n-]{0,2}(?:0x|\\x)?[0-9A-Fa-f]{2}){5,}(?![0-9A-Za-z])"
)
_GROUP_END = re.compile(r"[ :,;\n-]{1,2}")
# A number before a run may look like its beginning.
_LEADING = 12
_HEX_SIGNS = re.compile(r"0x|\\x|[^0-9A-Fa-f]")
_BASE32 = re.compile(r"(?<![0-9A-Za-z])(?:[A-Z2-7]{12,}|[a-z2-7]{12,})={0,6}")
_ASCII85 = re.compile(r"<~([!-uz\s]{8,20000})~>")
_BINARY = re.compile(r"(?<![0-9])[01]{8}(?:[ ,\n]{0,2}[01]{8}){5,}(?![0-9])")
_CODES = re.compile(
    r"(?<![0-9])(?:&?#)?[0-9]{2,3}(?:[ ,;\n]{1,3}(?:&?#)?[0-9]{2,3}){5,}(?![0-9])"
)
_CODE = re.compile(r"[0-9]{2,3}")
_PACKED = (b"\x1f\x8b", b"x\x9c", b"x\x01", b"x\xda")
_ANY = re.compile(r"[0-9A-Za-z+/_]{10}|[0-9A-Fa-f]{2}[ :,;\n-]|[0-9]{2},|<~")
# Of what is text, so many characters are letters, digits or spaces.
_READABLE = 0.7


def find(text: str, *, digits: bool = True) -> list[Edit]:
    """The runs of a text that say something when decoded, none overlapping; without
    `digits`, runs of digits alone are left.
    """
    if not _ANY.search(text):
        return []
    edits: list[Edit] = []
    for pattern, decode in _DECODERS:
        for match in pattern.finditer(text):
            if match.end() - match.start() > _MOST:
                continue
            if digits or any(char.isalpha() for char in match.group()):
                edits += decode(match)
    return _apart(edits)


def runs(text: str) -> Iterator[tuple[int, int]]:
    """Where runs stand that have the form of an encoding; quicker than decoding."""
    if not _ANY.search(text):
        return
    for pattern, _ in _DECODERS:
        for run in pattern.finditer(text):
            if not _PROSE.fullmatch(run.group()):
                yield run.span()


def find_lettered(text: str) -> list[Edit]:
    """Runs that hold a letter: in what was decoded already, digits are digits."""
    return find(text, digits=False)


def _apart(edits: list[Edit]) -> list[Edit]:
    """Edits in order; of some that overlap one that says what each of them says."""
    kept: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, -edit.end)):
        if kept and edit.start < kept[-1].end:
            last = kept[-1]
            said = f"{last.replacement}\n{edit.replacement}"
            kept[-1] = Edit(last.start, max(last.end, edit.end), said)
        else:
            kept.append(edit)
    return kept


def _whole(match: re.Match[str], said: str) -> list[Edit]:
    """The edit of a whole run; one without letters may as well be a plain number."""
    if not said:
        return []
    if not any(char.isalpha() for char in match.group()):
        said = f"{said}\n{match.group()}"
    return [mapped_text.of_match(match, f" {said} ")]


def _base64(match: re.Match[str]) -> list[Edit]:
    """The whole run, or else its lines, each for itself."""
    if _PROSE.fullmatch(match.group()):
        return []
    said = _base64_text(match.group())
    if said:
        return _whole(match, said)
    edits: list[Edit] = []
    for part in re.finditer(r"\S+", match.group()):
        said = _base64_text(part.group())
        if said:
            start = match.start() + part.start()
            edits.append(Edit(start, start + len(part.group()), f" {said} "))
    return edits


def _base64_text(run: str) -> str:
    if _PROSE.fullmatch(run):
        return ""
    if len(run) <= _WORD:
        return _base64_word(run)
    return _base64_decoded(run)


@lru_cache(maxsize=8192)
def _base64_word(run: str) -> str:
    """The same for what may be a word of any language: words come again and again."""
    return _base64_decoded(run)


def _base64_decoded(run: str) -> str:
    """What a run says from one of its first four letters on, or ""."""
    joined = "".join(run.split()).rstrip("=")
    standard = joined.replace("-", "+").replace("_", "/")
    for shift in range(4):
        piece = standard[shift:]
        piece = piece[: len(piece) - (len(piece) % 4 == 1)]
        try:
            raw = base64.b64decode(piece + "=" * (-len(piece) % 4))
        except (binascii.Error, ValueError):
            continue
        said = readable(raw)
        if said:
            return said
    return ""


def _hex(match: re.Match[str]) -> list[Edit]:
    """The whole run, or what is left without its first groups, or its longest words."""
    said = _hex_text(match.group())
    if said:
        return _whole(match, said)
    for cut in _GROUP_END.finditer(match.group()):
        if cut.end() > _LEADING:
            break
        said = _hex_text(match.group()[cut.end() :])
        if said:
            return [Edit(match.start() + cut.end(), match.end(), f" {said} ")]
    return []


def _hex_text(run: str) -> str:
    digits = _HEX_SIGNS.sub("", run)
    return "" if len(digits) % 2 else readable(bytes.fromhex(digits))


def _base32(match: re.Match[str]) -> list[Edit]:
    letters = match.group().rstrip("=").upper()
    try:
        raw = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except (binascii.Error, ValueError):
        return []
    return _whole(match, readable(raw))


def _ascii85(match: re.Match[str]) -> list[Edit]:
    try:
        raw = base64.a85decode(match[1])
    except ValueError:
        return []
    return _whole(match, readable(raw))


def _binary(match: re.Match[str]) -> list[Edit]:
    bits = re.sub(r"[^01]", "", match.group())
    raw = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) - 7, 8))
    return _whole(match, readable(raw))


def _codes(match: re.Match[str]) -> list[Edit]:
    numbers = _CODE.findall(match.group())
    for radix in (10, 8):
        try:
            raw = bytes(int(number, radix) for number in numbers)
        except ValueError:
            continue
        said = readable(raw)
        if said:
            return _whole(match, said)
    return []


_DECODERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], list[Edit]]], ...] = (
    (_CODES, _codes),
    (_BASE64, _base64),
    (_HEX, _hex),
    (_BASE32, _base32),
    (_ASCII85, _ascii85),
    (_BINARY, _binary),
)


def readable(raw: bytes) -> str:
    """Bytes as the text that they are, unpacked if they are packed; "" if they are
    none.
    """
    if raw.startswith(_PACKED):
        raw = _unpacked(raw) or raw
    if len(raw) >= 2 * _FEWEST and raw[1::2].count(0) * 10 >= len(raw) // 2 * 9:
        raw = raw.decode("utf-16-le", "replace").encode()
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return ""
    if len(text) < _FEWEST or not _is_text(text):
        return ""
    return text


def _unpacked(raw: bytes) -> bytes:
    try:
        return zlib.decompressobj(47).decompress(raw, _UNPACKED)
    except zlib.error:
        return b""


def _is_text(text: str) -> bool:
    for char in text:
        if (
            unicodedata.category(char) in ("Cc", "Cn", "Cs", "Co")
            and char not in "\n\r\t"
        ):
            return False
    plain = sum(char.isalnum() or char in " \n" for char in text)
    if plain < _READABLE * len(text):
        return False
    return text.isascii() or _keeps_its_script(text)


def _keeps_its_script(text: str) -> bool:
    """Random bytes that happen to be UTF-8 jump between scripts with every letter."""
    scripts = [ord(char) >> 8 for char in text if char.isalpha()]
    jumps = sum(first != second for first, second in pairwise(scripts))
    return jumps * 2 <= len(scripts)
