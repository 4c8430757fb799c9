"""Unicode folding (NFKC and more) of a text for matching, with offsets back to it.

Full width letters, odd spaces and dashes, signs without width and combining accents
become the usual characters.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from reverie.vocabulary import letters

_SAME = {
    **dict.fromkeys("‐‑‒–—―−﹣－⁃", "-"),
    **dict.fromkeys("‘’‛′＇ʼ`´", "'"),
    **dict.fromkeys("“”„‟″＂«»", '"'),
    **dict.fromkeys("․。．｡", "."),
    "⁄": "/",
    "∆": "Δ",
    "\t": " ",
    "\r": "\n",
    "\u2028": "\n",
    "\u2029": "\n",
}
_SIGN_FOR_SIGN = str.maketrans(
    {**_SAME, **dict.fromkeys("\xa0\u2002\u2003\u2009\u202f\u3000", " ")}
)
# ASCII, and signs and letters of Latin, Greek, Cyrillic, Chinese and Korean that are
# their own compatible forms; what has others is folded sign by sign.
_USUAL_SIGNS = (
    r"\0-\x7f\xa1-\xa7\xa9\xaa\xac\xae\xb0-\xb3\xb6\xb7\xb9\xba\xbc-\u0131"
    r"\u0134-\u013e\u0141-\u0148\u014a-\u017e\u0388-\u03cf\u0400-\u0482\u048a-\u052f"
    r"\u2020-\u2023\u20ac\u4e00-\u9fff\uac00-\ud7a3"
)
_USUAL = re.compile(f"[{_USUAL_SIGNS}]*")
# All that is not folded sign for sign.
_UNUSUAL = re.compile(f"[^{_USUAL_SIGNS}{''.join(map(chr, _SIGN_FOR_SIGN))}]")
# Those of them that are folded nevertheless.
_USUAL_FOLDED = ("\t", "\r", "`")
# Invisible signs that Unicode does not class as format characters (Cf): joiners and
# fillers of Hangul and Khmer, and variation selectors.
_WITHOUT_WIDTH = "\u034f\u115f\u1160\u17b4\u17b5\u3164\ufe0f\ufe0e"
# A compatible form of more characters is kept as one sign: `﷽`.
_LONGEST_FORM = 4


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; character i came from `starts[i]` to `ends[i]` of the original.
    None: at its own place.
    """

    text: str
    starts: Sequence[int] | None
    ends: Sequence[int] | None

    def back(self, start: int, end: int) -> tuple[int, int]:
        """The extent in the original text."""
        if self.starts is None or self.ends is None:
            return start, end
        return self.starts[start], self.ends[end - 1]


def fold(text: str) -> Folded:
    """Letters stay letters of their case; signs without width vanish, compatible forms
    become the usual ones.
    """
    if _USUAL.fullmatch(text) and not any(map(text.__contains__, _USUAL_FOLDED)):
        return Folded(text, None, None)
    folded = text.translate(_SIGN_FOR_SIGN)
    if _USUAL.fullmatch(folded):
        return Folded(folded, None, None)
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []

    def keep(letters: str, start: int, end: int) -> None:
        """Letters that stand for as many."""
        out.extend(letters)
        starts.extend(range(start, end))
        ends.extend(range(start + 1, end + 1))

    done = 0
    for match in _UNUSUAL.finditer(text):
        at = match.start()
        keep(folded[done:at], done, at)
        done = at + 1
        char = match.group()
        category = unicodedata.category(char)
        if category == "Cf" or char in _WITHOUT_WIDTH:
            continue
        if category in ("Mn", "Me") and out:
            _combine(out, ends, char, at)
            continue
        for piece in _piece(char, category):
            keep(piece, at, done)
    keep(folded[done:], done, len(text))
    return Folded("".join(out), starts, ends)


def _combine(out: list[str], ends: list[int], mark: str, at: int) -> None:
    """An accent joins the letter before it; one that makes no letter is left out."""
    joined = unicodedata.normalize("NFC", out[-1] + mark)
    if len(joined) == 1:
        out[-1] = joined
    ends[-1] = at + 1


def _piece(char: str, category: str) -> str:
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.digit(char))
    # Superscripts and º are kept: `5º` is a floor, not fifty.
    if char in "ºª" or (category in ("No", "Lo", "Lm") and not char.isalpha()):
        return char
    compatible = unicodedata.normalize("NFKC", char)
    if len(compatible) > _LONGEST_FORM:
        return char
    return "".join(_SAME.get(letter, letter) for letter in compatible)


def lower(text: str) -> str:
    """Lower case, letter by letter, so that places stay the same."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(
        letter.lower() if len(letter.lower()) == 1 else letter for letter in text
    )


def plain(word: str) -> str:
    """Lower case without accents: how names and words are compared."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.lower())
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return letters.plain(bare)
