"""Encoded runs in a text: base64, base32, base85, hex, binary and codes of characters."""

import base64
import binascii
import itertools
import re
import string
import unicodedata
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from reverie.privacy import character_classes, digit_runs, mapped_text

Edit = mapped_text.Edit
_Decoder = Callable[[re.Match[str]], list[Edit]]
_Extent = character_classes.Extent

# A run's bytes are text from so many characters on. A national id has nine.
_FEWEST = 6
_MOST = 1_000_000
_WORD = 40  # characters; set by hand
_UNPACKED = 200_000
# What base64 and base32 begin with.
_LETTERS = character_classes.of(f"{string.ascii_letters}{string.digits}+/_-")
_FEWEST_LETTERS = 10
_BASE64 = re.compile(r"[0-9A-Za-z+/_-]{10,}(?:\s{1,4}[0-9A-Za-z+/_-]{4,})*={0,2}")
# What is encoded has capitals or digits within.
_PROSE = re.compile(r"[A-Z]?[a-z]+(?:[\s-]{1,4}[A-Z]?[a-z]+)*")
_HEX = re.compile(
    r"(?<![0-9A-Za-z])(?:0x|\\x)?[0-9A-Fa-f]{2}"
    r"(?:[ :,;\n-]{0,2}(?:0x|\\x)?[0-9A-Fa-f]{2}){5,}(?![0-9A-Za-z])"
)
_HEX_CHARACTERS = character_classes.of(f"{string.hexdigits} :,;\n-x\\")
_FEWEST_HEX = 12
_GROUP_END = re.compile(r"[ :,;\n-]{1,2}")
# A number before a run may look like its beginning.
_LEADING = 12
_HEX_SIGNS = re.compile(r"0x|\\x|[^0-9A-Fa-f]")
_BASE32 = re.compile(r"(?<![0-9A-Za-z])(?:[A-Z2-7]{12,}|[a-z2-7]{12,})={0,6}")
_FEWEST_BASE32, _MOST_PADDING = 12, 6
_ASCII85 = re.compile(r"<~([!-uz\s]{8,20000})~>")
_FEWEST_BITS = 48
_BINARY = re.compile(r"(?<![0-9])[01]{8}(?:[ ,\n]{0,2}[01]{8}){5,}(?![0-9])")
_CODES = re.compile(
    r"(?<![0-9])(?:&?#)?[0-9]{2,3}(?:[ ,;\n]{1,3}(?:&?#)?[0-9]{2,3}){5,}(?![0-9])"
)
_CODE = re.compile(r"[0-9]{2,3}")
# Between two of so many codes.
_FEWEST_CODES, _CODE_GAP = 6, 5
_PACKED = (b"\x1f\x8b", b"x\x9c", b"x\x01", b"x\xda")
_ANY = re.compile(r"[0-9A-Za-z+/_]{10}|[0-9A-Fa-f]{2}[ :,;\n-]|[0-9]{2},|<~")
# Of what is text, so many characters are letters, digits or spaces.
_READABLE = 0.7


def find(text: str, *, digits: bool = True) -> list[Edit]:
    """The runs of a text that say something when decoded, none overlapping; without
    `digits`, runs of digits alone are left.
    """
    edits: list[Edit] = []
    for decode, match in _encoded(text):
        if match.end() - match.start() > _MOST:
            continue
        if digits or any(map(str.isalpha, match.group())):
            edits += decode(match)
    return _apart(edits)


def runs(text: str) -> Iterator[tuple[int, int]]:
    """Where runs stand that have the form of an encoding; quicker than decoding."""
    for _, run in _encoded(text):
        if not _PROSE.fullmatch(run.group()):
            yield run.span()


def _encoded(text: str) -> Iterator[tuple[_Decoder, re.Match[str]]]:
    """Each run that has the form of an encoding, and what decodes it."""
    members = character_classes.marked(text, _LETTERS)
    long_runs = list(character_classes.runs(members, _FEWEST_LETTERS))
    if not _ANY.search(text):
        return
    found = (
        (_codes, _codes_in(text)),
        (_base64, _base64_in(text, long_runs)),
        (_hex, _hex_in(text)),
        (_base32, _base32_in(text, long_runs)),
        (_ascii85, _ASCII85.finditer(text)),
        (_binary, _binary_in(text)),
    )
    for decode, matches in found:
        for match in matches:
            yield decode, match


def _codes_in(text: str) -> Iterable[re.Match[str]]:
    """Only where numbers enough stand close to each other."""
    numbers = digit_runs.of(text)
    if len(numbers) < _FEWEST_CODES:
        return ()
    close = 1
    for (_, end), (start, _) in itertools.pairwise(numbers):
        close = close + 1 if start - end <= _CODE_GAP else 1
        if close == _FEWEST_CODES:
            return _CODES.finditer(text)
    return ()


def _base64_in(text: str, long_runs: Sequence[_Extent]) -> Iterator[re.Match[str]]:
    end = 0
    for start, _ in long_runs:
        match = _BASE64.match(text, start) if start >= end else None
        if match:
            yield match
            end = match.end()


def _hex_in(text: str) -> Iterator[re.Match[str]]:
    members = character_classes.marked(text, _HEX_CHARACTERS)
    for start, end in character_classes.runs(members, _FEWEST_HEX):
        yield from _HEX.finditer(text, start, end + 1)


def _base32_in(text: str, long_runs: Sequence[_Extent]) -> Iterator[re.Match[str]]:
    for start, end in long_runs:
        if end - start >= _FEWEST_BASE32:
            yield from _BASE32.finditer(text, start, end + _MOST_PADDING)


def _binary_in(text: str) -> Iterable[re.Match[str]]:
    digits = sum(end - start for start, end in digit_runs.of(text))
    return _BINARY.finditer(text) if digits >= _FEWEST_BITS else ()


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
    if not any(map(str.isalpha, match.group())):
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
    if len(letters) <= _WORD:
        return _whole(match, _base32_word(letters))
    return _whole(match, _base32_decoded(letters))


@lru_cache(maxsize=8192)
def _base32_word(letters: str) -> str:
    """The same for what may be a long word of any language."""
    return _base32_decoded(letters)


def _base32_decoded(letters: str) -> str:
    try:
        raw = base64.b32decode(letters + "=" * (-len(letters) % 8))
    except (binascii.Error, ValueError):
        return ""
    return readable(raw)


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
    jumps = sum(first != second for first, second in itertools.pairwise(scripts))
    return jumps * 2 <= len(scripts)
