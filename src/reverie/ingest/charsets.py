"""Character set detection: bytes of unknown or wrongly declared encoding into text."""

import codecs
import re

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
    if codec:
        try:
            return data.decode(codec), codec
        except UnicodeError:
            pass  # the declaration is wrong: fall through to looking at the bytes
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
    # mostly Latin text in UTF-16 without a mark
    if sample.count(0) * 4 > len(sample):
        little_endian = sample[1::2].count(0) >= sample[::2].count(0)
        return "utf-16-le" if little_endian else "utf-16-be"
    high = bytes(byte for byte in sample if byte >= 0x80)
    western = high.decode("cp1252", "replace")
    usual = sum(letter in WESTERN for letter in western)
    if western and usual >= 0.9 * len(western) and len(high) * 4 < len(sample):
        # Detectors take a few accents for any of a dozen alphabets; in Latin text it is
        # nearly always this.
        return "cp1252"
    best = charset_normalizer.from_bytes(sample, cp_isolation=CANDIDATES).best()
    return best.encoding if best else "cp1252"
