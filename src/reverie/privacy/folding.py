"""The text as patterns see it, and the way back: full width, odd spaces and dashes,
zero-width and combining signs.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

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
# Letters that have no decomposition but are compared as their plain relatives.
_PLAIN = str.maketrans(
    {
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "æ": "ae",
        "œ": "oe",
        "ß": "ss",
        "þ": "th",
        "ı": "i",
    }
)


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text; character i came from `starts[i]` to `ends[i]` of the original.
    None: they are the same.
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
    if (
        text.isascii()
        and "\t" not in text
        and "\r" not in text
        and "`" not in text
        and "\x7f" not in text
    ):
        return Folded(text, None, None)
    out: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for at, char in enumerate(text):
        category = unicodedata.category(char) if ord(char) > 127 else ""
        if (
            category == "Cf"
            or char in "\u034f\u115f\u1160\u17b4\u17b5\u3164\ufe0f\ufe0e"
        ):
            continue
        if category in ("Mn", "Me") and out:
            _combine(out, ends, char, at)
            continue
        for piece in _piece(char, category):
            out.append(piece)
            starts.append(at)
            ends.append(at + 1)
    return Folded("".join(out), starts, ends)


def _combine(out: list[str], ends: list[int], mark: str, at: int) -> None:
    """An accent joins the letter before it; one that makes no letter is left out."""
    joined = unicodedata.normalize("NFC", out[-1] + mark)
    if len(joined) == 1:
        out[-1] = joined
    ends[-1] = at + 1


def _piece(char: str, category: str) -> str:
    if char in _SAME:
        return _SAME[char]
    if not category:
        return char
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.digit(char))
    # Superscripts and º are kept: `5º` is a floor, not fifty.
    if (category in ("No", "Lo", "Lm") and char.isalpha() is False) or char in "ºª":
        return char
    made = unicodedata.normalize("NFKC", char)
    return "".join(_SAME.get(c, c) for c in made) if len(made) <= 4 else char


def lower(text: str) -> str:
    """Lower case, letter by letter, so that places stay the same."""
    made = text.lower()
    return (
        made
        if len(made) == len(text)
        else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    )


def plain(word: str) -> str:
    """Lower case without accents: how names and words are compared."""
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.lower())
    return "".join(c for c in decomposed if not unicodedata.combining(c)).translate(
        _PLAIN
    )
