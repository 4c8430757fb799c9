"""What Word writes before the items of its lists: bullets and running numbers, which
stand nowhere in the text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from reverie.ingest.documents import officeparts, trees

LEVELS = 9
ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
         (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class ListLevel:
    """How one level of a list counts: its format, its text ("%1.%2"), its first number."""

    format: str = "decimal"
    text: str = "%1."
    start: int = 1


@dataclass(slots=True)
class Lists:
    """The lists of a document, and how far each has counted."""

    levels: Mapping[str, Mapping[int, ListLevel]] = field(
        default_factory=dict[str, dict[int, ListLevel]]
    )
    abstract: Mapping[str, str] = field(default_factory=dict[str, str])
    restarts: Mapping[tuple[str, int], int] = field(
        default_factory=dict[tuple[str, int], int]
    )
    counts: dict[str, list[int | None]] = field(
        default_factory=dict[str, list[int | None]]
    )
    seen: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])

    def label(self, number: str, depth: int) -> str:
        """What stands before the next item of list `number` at `depth` (0 is
        outermost); "" for none.
        """
        known = self.levels.get(number, {})
        level = known.get(depth)
        if level is None or level.format == "none":
            return ""
        if level.format == "bullet":
            return "-"
        counts = self.counts.setdefault(
            self.abstract.get(number, number), [None] * LEVELS
        )
        if (number, depth) in self.restarts and (number, depth) not in self.seen:
            counts[depth] = None
            level = ListLevel(level.format, level.text, self.restarts[number, depth])
        self.seen.add((number, depth))
        before = counts[depth]
        counts[depth] = level.start if before is None else before + 1
        counts[depth + 1 :] = [None] * (LEVELS - depth - 1)

        def counted(found: re.Match[str]) -> str:
            at = int(found.group(1)) - 1
            other = known.get(at, ListLevel())
            count = counts[at] if at < LEVELS else None
            return written(
                other.start if count is None else count,
                other.format if at != depth else level.format,
            )

        return re.sub(r"%([1-9])", counted, level.text).strip()


def read(root: trees.Element | None) -> Lists:
    """The lists of numbering.xml."""
    if root is None:
        return Lists()
    kinds: dict[str, dict[int, ListLevel]] = {}
    for one in root.iterchildren("{*}abstractNum"):
        kinds[officeparts.attribute(one, "abstractNumId")] = {
            depth: level
            for level_of in one.iterchildren("{*}lvl")
            for depth, level in [_level(level_of)]
        }
    levels: dict[str, dict[int, ListLevel]] = {}
    abstract: dict[str, str] = {}
    restarts: dict[tuple[str, int], int] = {}
    for one in root.iterchildren("{*}num"):
        number, kind = (
            officeparts.attribute(one, "numId"),
            officeparts.value(one, "abstractNumId"),
        )
        abstract[number] = kind
        levels[number] = dict(kinds.get(kind, {}))
        for override in one.iterchildren("{*}lvlOverride"):
            depth = whole(officeparts.attribute(override, "ilvl"))
            own = officeparts.child(override, "lvl")
            if own is not None:
                levels[number][depth] = _level(own)[1]
            if start := officeparts.value(override, "startOverride"):
                restarts[number, depth] = whole(start)
    return Lists(levels, abstract, restarts=restarts)


def whole(text: str, least: int = 0, most: int = 1_000_000) -> int:
    """An integer within bounds; `least` when it is none."""
    return min(most, int(text)) if re.fullmatch(r"[0-9]{1,9}", text) else least


def _level(element: trees.Element) -> tuple[int, ListLevel]:
    depth = min(LEVELS - 1, whole(officeparts.attribute(element, "ilvl")))
    start = officeparts.value(element, "start")
    return depth, ListLevel(
        officeparts.value(element, "numFmt") or "decimal",
        officeparts.value(element, "lvlText"),
        whole(start) if start else 1,
    )


def written(number: int, kind: str) -> str:
    """A number as a list's format writes it; unknown formats are decimal."""
    if kind in {"lowerLetter", "upperLetter"} and number > 0:
        letter = chr(ord("a") + (number - 1) % 26) * min(8, 1 + (number - 1) // 26)
        return letter if kind == "lowerLetter" else letter.upper()
    if kind in {"lowerRoman", "upperRoman"} and 0 < number < 4000:
        text = ""
        for size, sign in ROMAN:
            text += sign * (number // size)
            number %= size
        return text if kind == "lowerRoman" else text.upper()
    if kind == "decimalZero":
        return f"{number:02}"
    return "" if kind in {"bullet", "none"} else str(number)
