"""Number format codes of spreadsheets (ECMA-376, 18.8.31): a number as the sheet shows
it. Dates are none of its business.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from reverie.ingest.documents import officeparts

# A longer code is no format that a program writes.
_LONGEST = 300
# More digits than a number of a sheet has.
_MOST_DIGITS = 30
# From here on a sheet has no digits to show.
_LARGEST = 1e15
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>General)|(?P<power>[eE][+-])|(?P<other>.)",
    re.DOTALL | re.IGNORECASE,
)
_CURRENCY = re.compile(r"\$([^-]*)(?:-[0-9A-Fa-f]+)?")
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_Kind = Literal[
    "digit", "point", "comma", "percent", "slash", "power", "text", "general"
]


@dataclass(frozen=True, slots=True)
class FormatToken:
    """A part of a format: a place for a digit (0, # or ?), or what is written as it is."""

    kind: _Kind
    text: str


@dataclass(frozen=True, slots=True)
class FormatSection:
    """One of the formats that a code parts by semicolons, and when it counts."""

    tokens: Sequence[FormatToken]
    condition: tuple[str, Decimal] | None

    def has(self, kind: _Kind) -> bool:
        """Whether it has a part of a kind."""
        return any(token.kind == kind for token in self.tokens)


def shown(figure: float, code: str) -> str:
    """A number as a format shows it; as people write it where the format says nothing."""
    plain = officeparts.decimal(figure)
    if not code or len(code) > _LONGEST or not plain or abs(figure) >= _LARGEST:
        return plain
    try:
        value = Decimal(repr(figure))
        section, value = _chosen(_sections(code), value)
        if not section.has("digit") and not section.has("general"):
            # A format of words alone would hide the number.
            return plain
        with localcontext(prec=100):
            return _written(section, value, plain).strip() or plain
    except (InvalidOperation, ValueError, OverflowError, ZeroDivisionError):
        return plain


@lru_cache(maxsize=1000)
def _sections(code: str) -> Sequence[FormatSection]:
    """The sections of a code."""
    sections: list[FormatSection] = []
    tokens: list[FormatToken] = []
    condition: tuple[str, Decimal] | None = None
    for match in _TOKEN.finditer(code):
        if match["other"] == ";":
            sections.append(FormatSection(tuple(tokens), condition))
            tokens = []
            condition = None
        elif match["bracket"] is not None:
            if limit := _CONDITION.fullmatch(match["bracket"]):
                condition = limit[1], Decimal(limit[2])
            elif sign := _CURRENCY.fullmatch(match["bracket"]):
                tokens.append(FormatToken("text", sign[1]))
        else:
            tokens.append(_token(match))
    return (*sections, FormatSection(tuple(tokens), condition))


_KINDS: dict[str, _Kind] = {
    "0": "digit",
    "#": "digit",
    "?": "digit",
    ".": "point",
    ",": "comma",
    "%": "percent",
    "/": "slash",
}


def _token(match: re.Match[str]) -> FormatToken:
    """What a part of a code stands for; `_x` and `*x` are white space."""
    for name in ("quoted", "escaped"):
        if match[name] is not None:
            return FormatToken("text", match[name])
    if match["general"]:
        return FormatToken("general", "")
    if match["power"]:
        return FormatToken("power", match["power"])
    other = match["other"]
    if other is None:
        return FormatToken("text", " " if match.group().startswith("_") else "")
    return FormatToken(_KINDS.get(other, "text"), other)


_HOLDS = {
    "<": Decimal.__lt__,
    "<=": Decimal.__le__,
    ">": Decimal.__gt__,
    ">=": Decimal.__ge__,
    "=": Decimal.__eq__,
    "<>": Decimal.__ne__,
}


def _chosen(
    sections: Sequence[FormatSection], value: Decimal
) -> tuple[FormatSection, Decimal]:
    """The section that counts for a number, and what of it that section shows: the
    second shows a negative one without its sign.
    """
    for section in sections:
        if section.condition is not None:
            operator, limit = section.condition
            if _HOLDS[operator](value, limit):
                return section, value
    free = [section for section in sections if section.condition is None]
    if len(free) < len(sections):
        return (free or sections)[0], value
    if value < 0 and len(free) > 1:
        return free[1], abs(value)
    if value == 0 and len(free) > 2:
        return free[2], value
    return free[0], value


def _written(section: FormatSection, value: Decimal, plain: str) -> str:
    """A number by one section."""
    if section.has("general") and not section.has("digit"):
        number = plain.removeprefix("-") if value >= 0 else plain
        return _around(section, number)
    if section.has("slash"):
        return _fraction(section, value)
    if section.has("power"):
        return _scientific(section, value)
    scaled = value * 100 ** sum(token.kind == "percent" for token in section.tokens)
    return _fixed(section, scaled)


def _around(section: FormatSection, number: str) -> str:
    """A number between the words of a section."""
    return "".join(
        number if token.kind == "general" else token.text for token in section.tokens
    )


def _fixed(section: FormatSection, value: Decimal) -> str:
    """Digits at their places, thousands parted by commas if the section has one."""
    whole, fraction, grouped, thousands = _places(section)
    value = value / Decimal(1000) ** thousands
    rounded = abs(value).quantize(Decimal(1).scaleb(-len(fraction)), ROUND_HALF_UP)
    digits, _, decimals = f"{rounded:f}".partition(".")
    digits = digits.lstrip("0").rjust(whole.count("0"), "0")
    decimals = _without_unneeded(decimals, fraction)
    sign = "-" if value < 0 and rounded else ""
    return sign + _filled(section, _parted(digits, whole, grouped=grouped), decimals)


def _places(section: FormatSection) -> tuple[str, str, bool, int]:
    """The places before and behind the point, whether thousands are parted, and by how
    many thousands the number is divided.
    """
    whole = fraction = ""
    grouped = False
    commas = 0
    behind = False
    for token in section.tokens:
        if token.kind == "point":
            behind = True
        elif token.kind == "digit":
            grouped = grouped or (commas > 0 and not behind)
            commas = 0
            if behind:
                fraction += token.text
            else:
                whole += token.text
        elif token.kind == "comma" and whole + fraction:
            commas += 1
    return whole[:_MOST_DIGITS], fraction[:_MOST_DIGITS], grouped, min(commas, 4)


def _without_unneeded(decimals: str, places: str) -> str:
    """Decimals without the zeros that # leaves out."""
    while decimals and decimals[-1] == "0" and places[len(decimals) - 1] != "0":
        decimals = decimals[:-1]
    return decimals


def _parted(digits: str, places: str, *, grouped: bool) -> list[str]:
    """Digits for each place from the left; the first takes all that are too many."""
    if grouped:
        digits = f"{int(digits):,}" if digits else digits
        return [digits, *[""] * (len(places) - 1)]
    spare = len(digits) - len(places)
    if spare >= 0:
        return [digits[: spare + 1], *digits[spare + 1 :]]
    return [*[""] * -spare, *digits]


def _filled(section: FormatSection, digits: list[str], decimals: str) -> str:
    """The section with digits at their places."""
    written = ""
    behind = False
    for token in section.tokens:
        if token.kind == "point":
            behind = True
            written += "." if decimals else ""
        elif token.kind == "digit" and behind:
            written += decimals[:1]
            decimals = decimals[1:]
        elif token.kind == "digit":
            written += digits.pop(0) if digits else ""
        elif token.kind != "comma":
            written += token.text
    return written


def _fraction(section: FormatSection, value: Decimal) -> str:
    """A whole number and a fraction: 1 1/2."""
    parts = "".join(
        token.text
        for token in section.tokens
        if token.kind in ("digit", "slash", "text")
    )
    match = re.search(r"([#?0]+)?\s+?[#?0]+\s*/\s*(\d+|[#?0]+)", parts)
    denominator = re.search(r"/\s*([0-9#?]+)", parts)
    stated = denominator[1] if denominator else "?"
    fixed = int(stated) if stated.isdecimal() and int(stated) else 0
    exact = Fraction(abs(value))
    if fixed:
        nearest = Fraction(round(exact * fixed), fixed)
        of = fixed
    else:
        nearest = exact.limit_denominator(10 ** min(len(stated), 4) - 1)
        of = nearest.denominator
    whole, rest = divmod(nearest.numerator * (of // nearest.denominator), of)
    if match is None:
        whole, rest = 0, rest + whole * of
    sign = "-" if value < 0 else ""
    words = [str(whole) if whole or not rest else "", f"{rest}/{of}" if rest else ""]
    return sign + " ".join(filter(None, words))


def _scientific(section: FormatSection, value: Decimal) -> str:
    """1.23E+04."""
    mantissa = [token for token in section.tokens if token.kind != "text"]
    at = next(i for i, token in enumerate(mantissa) if token.kind == "power")
    head = FormatSection(mantissa[:at], None)
    _, fraction, _, _ = _places(head)
    written = f"{value:.{len(fraction)}E}"
    number, _, exponent = written.partition("E")
    width = sum(token.kind == "digit" for token in mantissa[at:])
    sign = "-" if exponent.startswith("-") else "+"
    if sign == "+" and mantissa[at].text.endswith("-"):
        sign = ""
    return f"{number}E{sign}{exponent.lstrip('+-').zfill(width)}"
