"""Character escapes: entities, percent, `\\u0040`, quoted-printable, tag characters."""

import html
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from reverie.privacy import anchored, mapped_text

Edit = mapped_text.Edit

_ESCAPE = re.compile(
    r"(?P<percent>(?:%[0-9A-Fa-f]{2}){1,400})"
    r"|(?P<entity>&(?:#[xX][0-9A-Fa-f]{1,6}|#[0-9]{1,7}|[A-Za-z]{2,31}[0-9]{0,2});?)"
    r"|\\(?:u\{(?P<braced>[0-9A-Fa-f]{1,6})\}|u(?P<short>[0-9A-Fa-f]{4})"
    r"|U(?P<long>[0-9A-Fa-f]{8})|x\{?(?P<byte>[0-9A-Fa-f]{2})\}?"
    r"|(?P<octal>[0-3][0-7]{2})|(?P<css>00[0-9A-Fa-f]{2,4}) ?)"
    r"|(?<![0-9A-Za-z])[Uu]\+(?P<point>[0-9A-Fa-f]{4,6})[ ,;]?"
    r"|(?P<quoted>(?:=[0-9A-F]{2}){1,400})|(?P<soft>=\n)"
    r"|(?P<line>\\[nrt](?![a-z]{2}))|(?P<sign>\\[^0-9A-Za-z\n])"
)
_SIGNS = ("%", "&", "\\", "=", "+")
_START = re.compile(r"%|&|\\|=|U(?=\+)|u(?=\+)")
_PLANES_END = 0x110000
# Characters of the block of tags stand for ASCII, variation selectors for a byte each.
_TAGS = range(0xE0020, 0xE007F)
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_SMUGGLED = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}")
_TAG_RUN = re.compile("[\U000e0020-\U000e007e]+")
# No sign of Latin-1 before ², no letter of Latin, Cyrillic, Chinese and Korean, no dash
# and no quotation mark.
_SYMBOL = re.compile(
    "[^\0-\xb1\xc0-\xd6\xd8-\xf6\xf8-\u024f\u0400-\u0481\u2010-\u2027\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7a3]"
)
_REGIONAL_A = 0x1F1E6


def find(text: str) -> Iterator[Edit]:
    """Each escape of a text, and what it says."""
    for match in _escapes(text):
        said = _decoded(match)
        if said is not None and said != match.group():
            yield mapped_text.of_match(match, said)


def runs(text: str) -> Iterator[tuple[int, int]]:
    """Where escapes stand, and words whose letters may look like others."""
    for match in _escapes(text):
        yield match.span()
    if not text.isascii() and _ALIKE_LETTER.search(text):
        for word in _MIXED_WORD.finditer(text):
            yield word.span()


def _escapes(text: str) -> Iterator[re.Match[str]]:
    if any(map(text.__contains__, _SIGNS)):
        return anchored.matches(_ESCAPE, _START, text)
    return iter(())


def _decoded(match: re.Match[str]) -> str | None:
    kind = str(match.lastgroup)
    value = match[kind]
    if kind == "entity":
        return _entity(value)
    if kind in ("percent", "quoted"):
        return _bytes(bytes.fromhex(value.replace("%", "").replace("=", "")))
    if kind == "soft":
        return ""
    if kind == "line":
        return "\n"
    if kind == "sign":
        return value[1]
    return _character(int(value, 8 if kind == "octal" else 16))


def _entity(value: str) -> str | None:
    said = html.unescape(value)
    if said == value and not value.endswith(";"):
        said = html.unescape(f"{value};")
    return None if said in (value, f"{value};") else said


def _bytes(raw: bytes) -> str | None:
    """UTF-8 or else Latin-1; None of what shows nothing."""
    try:
        said = raw.decode()
    except UnicodeDecodeError:
        said = raw.decode("latin-1")
    return said if all(_shows(char) for char in said) else None


def _character(number: int) -> str | None:
    if number >= _PLANES_END or 0xD800 <= number < 0xE000:
        return None
    char = chr(number)
    return char if _shows(char) else None


def _shows(char: str) -> bool:
    return char in "\n\r\t" or unicodedata.category(char) not in ("Cc", "Cn", "Cs")


def smuggled(text: str) -> Iterator[Edit]:
    """Runs of signs that nobody sees and a model reads: tag characters and variation
    selectors (ASCII smuggling).
    """
    if text.isascii():
        return
    runs = [*_TAG_RUN.finditer(text), *_SMUGGLED.finditer(text)]
    for match in sorted(runs, key=lambda run: run.start()):
        first = ord(match.group()[0])
        if first in _TAGS:
            said = "".join(chr(ord(char) - 0xE0000) for char in match.group())
        else:
            said = _bytes(bytes(_selector(char) for char in match.group())) or ""
        yield mapped_text.of_match(match, f" {said} ")


def _selector(char: str) -> int:
    first, second = _SELECTORS
    number = ord(char)
    return number - first[0] if number in first else number - second[0] + len(first)


def symbols(text: str) -> Iterator[Edit]:
    """Letters and digits in rings, boxes and other alphabets' clothes: `①`, `🄰`,
    `🇦`.
    """
    if text.isascii():
        return
    for match in _SYMBOL.finditer(text):
        plain = _plain_symbol(match.group())
        if plain:
            yield mapped_text.of_match(match, plain)


@lru_cache(maxsize=8192)
def _plain_symbol(char: str) -> str:
    if char.isalpha():
        return ""
    number = ord(char)
    if _REGIONAL_A <= number < _REGIONAL_A + 26:
        return chr(ord("a") + number - _REGIONAL_A)
    if unicodedata.category(char) not in ("No", "So"):
        return ""
    digit = unicodedata.digit(char, None)
    if digit is not None:
        return str(digit)
    name = unicodedata.name(char, "")
    letter = name.rpartition("LETTER ")[2]
    if len(letter) == 1 and ("CIRCLED" in name or "SQUARED" in name):
        return letter
    compatible = unicodedata.normalize("NFKC", char).strip("()., ")
    if len(compatible) <= 2 and compatible.isalnum() and compatible.isascii():
        return compatible
    return ""


# Letters of Greek and Cyrillic that look like Latin ones (Unicode's confusables).
_ALIKE = dict(
    zip(
        "АВЕКМНОРСТХУаеорсухіјѕԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαν",
        "ABEKMHOPCTXYaeopcyxijsdhqwABEZHIKMNOPTYXoav",
        strict=True,
    )
)
_ALIKE_LETTER = re.compile(f"[{''.join(_ALIKE)}]")
_MIXED_WORD = re.compile(r"[^\W_]{2,100}")


def lookalikes(text: str) -> Iterator[Edit]:
    """Letters of another script inside of words with Latin letters or digits."""
    if text.isascii() or not _ALIKE_LETTER.search(text):
        return
    for word in _MIXED_WORD.finditer(text):
        letters = word.group()
        if letters.isascii() or not any(map(str.isascii, letters)):
            continue
        for at, char in enumerate(letters, word.start()):
            if char in _ALIKE:
                yield Edit(at, at + 1, _ALIKE[char])
