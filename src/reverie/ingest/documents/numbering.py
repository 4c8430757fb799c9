"""List numbering of WordprocessingML: the bullets and running numbers before items,
which stand nowhere in the text.

A list (w:num) is an instance of an abstract list (w:abstractNum), whose levels say how
they count; an instance may replace levels or begin anew. Lists of the same abstract list
count on together.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from reverie.ingest.documents import officeparts, trees

# Of a list (ECMA-376 part 1, 17.9: w:ilvl is 0 to 8).
LEVELS = 9
ROMAN = {
    1000: "m",
    900: "cm",
    500: "d",
    400: "cd",
    100: "c",
    90: "xc",
    50: "l",
    40: "xl",
    10: "x",
    9: "ix",
    5: "v",
    4: "iv",
    1: "i",
}


@dataclass(frozen=True, slots=True)
class ListLevel:
    """How one level of a list counts: its format, its text ("%1.%2"), its first number."""

    format: str = "decimal"
    text: str = "%1."
    start: int = 1


ListLevels = Mapping[int, ListLevel]
"""The levels of one list, by depth from 0."""
NumberDepth = tuple[str, int]
"""The number of a list, and a depth in it."""
Counts = list[int | None]
"""How far each level of a list has counted; None before its first item."""


@dataclass(slots=True)
class Lists:
    """The lists of a document by number, and how far each has counted.

    Lists of the same abstract list count on together; `restarts` are the numbers at
    which a list sets out anew at a depth.
    """

    levels: Mapping[str, ListLevels]
    abstract: Mapping[str, str]
    restarts: Mapping[NumberDepth, int]
    counts: dict[str, Counts] = field(default_factory=dict[str, Counts])
    seen: set[NumberDepth] = field(default_factory=set[NumberDepth])

    def label(self, number: str, depth: int) -> str:
        """What stands before the next item of list `number` at `depth` (0 is
        outermost); "" for none.
        """
        levels = self.levels.get(number, {})
        level = levels.get(depth)
        if level is None or level.format == "none":
            return ""
        if level.format == "bullet":
            return "-"
        counts = self._advanced(number, depth, level)

        def counted(placeholder: re.Match[str]) -> str:
            """The number in place of "%1", "%2"…"""
            other = int(placeholder.group(1)) - 1
            return _count(counts, levels, other)

        return re.sub(r"%([1-9])", counted, level.text).strip()

    def _advanced(self, number: str, depth: int, level: ListLevel) -> Counts:
        """The counts of all levels after one more item at a depth; deeper levels begin
        again.
        """
        shared = self.abstract.get(number, number)
        counts = self.counts.setdefault(shared, [None] * LEVELS)
        start = level.start
        key = (number, depth)
        if key in self.restarts and key not in self.seen:
            counts[depth] = None
            start = self.restarts[key]
        self.seen.add(key)
        before = counts[depth]
        counts[depth] = start if before is None else before + 1
        counts[depth + 1 :] = [None] * (LEVELS - depth - 1)
        return counts


def _count(counts: Counts, levels: ListLevels, depth: int) -> str:
    """The number of a level as it is written; of one that has no item yet its first."""
    level = levels.get(depth, ListLevel())
    count = counts[depth] if depth < LEVELS else None
    if count is None:
        count = level.start
    return written(count, level.format)


def read(root: trees.Element | None) -> Lists:
    """The lists of numbering.xml."""
    kinds: dict[str, ListLevels] = {}
    for element in trees.children(root, "{*}abstractNum"):
        kind = officeparts.attribute(element, "abstractNumId")
        kinds[kind] = dict(map(_level, element.iterchildren("{*}lvl")))
    levels: dict[str, ListLevels] = {}
    abstract: dict[str, str] = {}
    restarts: dict[NumberDepth, int] = {}
    for element in trees.children(root, "{*}num"):
        number = officeparts.attribute(element, "numId")
        kind = officeparts.value(element, "abstractNumId")
        abstract[number] = kind
        own_levels = dict(kinds.get(kind, {}))
        for override in element.iterchildren("{*}lvlOverride"):
            depth = whole(officeparts.attribute(override, "ilvl"))
            level = officeparts.child(override, "lvl")
            if level is not None:
                _, own_levels[depth] = _level(level)
            if start := officeparts.value(override, "startOverride"):
                restarts[number, depth] = whole(start)
        levels[number] = own_levels
    return Lists(levels, abstract, restarts)


def whole(text: str, least: int = 0, most: int = 1_000_000) -> int:
    """An integer within bounds; `least` when it is none."""
    if not re.fullmatch(r"[0-9]{1,9}", text):
        return least
    return min(most, int(text))


def _level(element: trees.Element) -> tuple[int, ListLevel]:
    """The depth of a level (w:lvl), and how it counts."""
    stated_depth = whole(officeparts.attribute(element, "ilvl"))
    depth = min(LEVELS - 1, stated_depth)
    start = officeparts.value(element, "start")
    level = ListLevel(
        format=officeparts.value(element, "numFmt") or "decimal",
        text=officeparts.value(element, "lvlText"),
        start=whole(start) if start else 1,
    )
    return depth, level


def written(number: int, kind: str) -> str:
    """A number as a list's format (ST_NumberFormat) writes it; unknown formats are
    decimal.
    """
    if kind in {"lowerLetter", "upperLetter"} and number > 0:
        return _cased(_letters(number), kind)
    if kind in {"lowerRoman", "upperRoman"} and 0 < number < 4000:
        return _cased(_roman(number), kind)
    if kind == "decimalZero":
        return f"{number:02}"
    return "" if kind in {"bullet", "none"} else str(number)


def _cased(text: str, kind: str) -> str:
    """Letters in the case that a format asks for."""
    return text.upper() if kind.startswith("upper") else text


def _letters(number: int) -> str:
    """A to z, then aa to zz and so on, at most eight of a letter."""
    repeats, place = divmod(number - 1, 26)
    letter = chr(ord("a") + place)
    return letter * min(8, 1 + repeats)


def _roman(number: int) -> str:
    """A number in Roman letters."""
    text = ""
    for size, sign in ROMAN.items():
        text += sign * (number // size)
        number %= size
    return text
