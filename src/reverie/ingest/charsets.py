"""Character set detection: bytes of unknown or wrongly declared encoding into text."""

import codecs
import re
import unicodedata

import charset_normalizer

SAMPLE = 64 * 1024
BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
CANDIDATES = [
    "cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256",
    "shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "cp437", "mac_roman",
]  # fmt: skip
# Names found in the wild that Python does not know.
ALIASES = {
    "x-unknown": "", "unknown": "", "unknown-8bit": "", "default": "", "x-user-defined": "", "ansi": "cp1252",
    "ansi-x3.4-1968": "ascii", "x-sjis": "shift_jis", "iso-8859-8-i": "iso8859_8", "x-gbk": "gbk",
    "macintosh": "mac_roman",
    "x-mac-roman": "mac_roman", "windows-874": "cp874", "utf8mb4": "utf-8", "unicode-1-1-utf-7": "utf-7",
}  # fmt: skip
WESTERN = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜßàáâãäåæçèéêëìíîïñòóôõöøùúûüÿŒœ€’‘“”„–—…«»°§£©®²³½·¿¡ª\u00a0"
)
UTF16 = ("utf-16-le", "utf-16-be")
UNICODE = frozenset(
    {
        "utf-8",
        "utf-8-sig",
        "utf-7",
        "utf-16",
        *UTF16,
        "utf-32",
        "utf-32-le",
        "utf-32-be",
    }
)
# In these the two bytes of a UTF-8 letter are a capital with a tilde or a circumflex
# and a sign, which stand side by side in no word.
LATIN = frozenset({"iso8859-1", "cp1252", "iso8859-15", "ascii", "mac-roman"})
MULTIBYTE = frozenset(
    {"gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp950", "shift_jis", "cp932",
     "euc_jp", "euc_kr", "cp949", "johab", "iso2022_jp", "iso2022_kr", "cp874", "tis-620",
     "iso8859-11"}
)  # fmt: skip
ENOUGH = 8  # letters; in Chinese (GB 2312) one in seven would happen to be UTF-8
# Bytes that are rare in text, and in UTF-16 are every second one.
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a]")
PRINTABLE = bytes([9, 10, 13, *range(32, 127)])
# Of the characters of a UTF-16 text; set by hand.
PLAUSIBLE = 0.97
SPACED = re.compile("[ \t\n\u3000-\u3002\uff0c-\uff0e]")
# Codecs that are no text encodings, or run a decoder not meant for foreign input.
FORBIDDEN = re.compile(
    r"(?i)^(idna|punycode|undefined|unicode.escape|raw.unicode.escape|mbcs|oem)"
)


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """The text and the name of the encoding it was read with; never fails."""
    for mark, name in BOMS:
        if data.startswith(mark):
            return data.decode(name, "replace"), name
    codec = lookup(declared) if declared else None
    codec = codec or unmarked_utf16(data[:SAMPLE])
    if codec and is_utf8_against(data, codec):
        return data.decode("utf-8"), "utf-8"
    if codec:
        try:
            return data.decode(codec), codec
        except UnicodeError:
            pass  # the declaration is wrong: fall through to looking at the bytes
        if codec in UTF16:
            return data.decode(codec, "replace"), codec
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        # even, or UTF-16 would be read shifted by a byte
        start = max(0, error.start - SAMPLE // 2) & ~1
        patched = data.decode("utf-8", "replace")
        if patched.count("\ufffd") * 10 < sum(letter > "\x7f" for letter in patched):
            return patched, "utf-8"  # a few broken bytes in what is plainly UTF-8
    guessed = guess(data[start : start + SAMPLE])
    return data.decode(guessed, "replace"), guessed


def as_utf8(data: bytes) -> bytes:
    """Bytes in UTF-16, with a mark or without, in UTF-8; all others as they are, but
    for a mark.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace").encode("utf-8", "replace")
    codec = unmarked_utf16(data[:SAMPLE])
    if codec:
        return data.decode(codec, "replace").encode("utf-8", "replace")
    return data.removeprefix(codecs.BOM_UTF8)


def is_utf8_against(data: bytes, codec: str) -> bool:
    """Whether bytes labelled with an older encoding are UTF-8 all the same: no text of
    that encoding has so many letters that happen to be UTF-8, and nothing else.
    """
    if codec in UNICODE or data.isascii():
        return False
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    letters = sum(letter > "\x7f" for letter in text[:SAMPLE])
    if letters >= ENOUGH:
        return True
    if codec in MULTIBYTE:
        return False
    return letters > 1 or codec in LATIN


def unmarked_utf16(sample: bytes) -> str | None:
    """The byte order of UTF-16 without a mark; None when the bytes are no UTF-16.

    An alphabet has nearly the same high byte in every character, NUL in Latin text;
    Chinese and Japanese are told by their spaces, line ends and full stops, whose
    bytes no older encoding has.
    """
    sample = sample[: len(sample) & ~1]
    readable = len(sample) - len(sample.translate(None, PRINTABLE))
    if not CONTROLS.search(sample) or readable > 0.8 * len(sample):
        return None
    likeliest = max(UTF16, key=lambda codec: _plausibility(sample, codec))
    return likeliest if _plausibility(sample, likeliest) > PLAUSIBLE else None


def _plausibility(sample: bytes, codec: str) -> float:
    """The share of characters that a text in UTF-16 may hold; with a head start for
    those of alphabets, which stand in few blocks.
    """
    text = sample.decode(codec, "replace")[:4000]
    if not SPACED.search(text):
        return 0.0
    sound = sum(map(_is_textual, text)) / len(text)
    blocks = len({ord(letter) >> 8 for letter in text})
    return sound + (0.01 if blocks * 4 < len(text) else 0)


def _is_textual(letter: str) -> bool:
    """Whether a character is part of texts: a letter, a mark, a number, a space."""
    if letter in "\t\n\r\f":
        return True
    return letter != "\ufffd" and unicodedata.category(letter)[0] != "C"


def lookup(name: str) -> str | None:
    """Python's name for a declared text encoding, or None."""
    label = name.strip().strip("\"'").lower()
    label = ALIASES.get(label, label)
    if not label or FORBIDDEN.match(label):
        return None
    try:
        info = codecs.lookup(label)
        # raises LookupError for codecs from bytes to bytes, such as zlib
        b"a".decode(info.name)
    except (LookupError, UnicodeError, ValueError):
        return None
    return info.name


def guess(sample: bytes) -> str:
    """The likeliest encoding of bytes that are not UTF-8."""
    high = bytes(byte for byte in sample if byte >= 0x80)
    western = high.decode("cp1252", "replace")
    usual = sum(letter in WESTERN for letter in western)
    if western and usual >= 0.9 * len(western) and len(high) * 4 < len(sample):
        # Detectors take a few accents for any of a dozen alphabets; in Latin text it is
        # nearly always this.
        return "cp1252"
    best = charset_normalizer.from_bytes(sample, cp_isolation=CANDIDATES).best()
    return best.encoding if best else "cp1252"
