"""Unicode folding of letters that do not decompose: Ł, Ø, Đ, ı, Æ, Œ, Þ, ß as plain ones.

Normalisation (NFKD) takes an accent off its letter, but a stroke, a hook or a ligature
is a part of the letter: whoever folds text for matching folds these, too.
"""

import re
import unicodedata

# What Unicode calls a plain letter with something through or on it that is no accent of
# its own: `LATIN SMALL LETTER L WITH STROKE`.
_MODIFIED = re.compile(
    r"LATIN (SMALL|CAPITAL) LETTER ([A-Z]) WITH "
    r"(?:DIAGONAL STROKE|STROKE|HOOK|TOPBAR|MIDDLE TILDE|PALATAL HOOK|RETROFLEX HOOK)"
)
_OTHERS = {
    "ı": "i",
    "ȷ": "j",
    "æ": "ae",
    "œ": "oe",
    "þ": "th",
    "ð": "d",
    "ß": "ss",
    "ŋ": "n",
    "ĸ": "k",
    "ə": "e",
    "ǝ": "e",
    "ɛ": "e",
    "ɔ": "o",
}
# The blocks that hold them: Latin-1 to IPA extensions, and the additions.
_BLOCKS = (range(0xC0, 0x2B0), range(0x1D00, 0x1F00), range(0x2C60, 0x2C80))


def _table() -> dict[str, str]:
    """Every such letter, small and capital, with what it is compared as."""
    table = {**_OTHERS, "ẞ": "SS"}
    for letter, replacement in _OTHERS.items():
        capital = letter.upper()
        # Of ı and ß the capital is plain already, and ĸ has none.
        if capital != letter and len(capital) == 1 and not capital.isascii():
            table[capital] = replacement.capitalize()
    for code in (code for block in _BLOCKS for code in block):
        match = _MODIFIED.fullmatch(unicodedata.name(chr(code), ""))
        if match is None:
            continue
        is_small = match[1] == "SMALL"
        table[chr(code)] = match[2].lower() if is_small else match[2]
    return table


_PLAIN = str.maketrans(_table())


def plain(text: str) -> str:
    """The text with plain letters for those that do not decompose, in the same case:
    Łódź -> Lódź, œuvre -> oeuvre, Yılmaz -> Yilmaz.
    """
    if text.isascii():
        return text
    return text.translate(_PLAIN)
