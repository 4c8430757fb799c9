"""Fragments of a Cypher query in the engine's text, and the parts of lists."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.graph.cypher import value_types
from reverie.graph.cypher.value_types import ValueType

_LONGEST = 20_000
_NAME = re.compile(r"\bv[0-9]+\b")


@dataclass(frozen=True, slots=True)
class Fragment:
    """An expression as the engine reads it.

    `atomic` says that it needs no brackets to stand inside another one. `kind` is what
    it holds, as in `ValueType`, and `of` is the whole type where it is more than its
    kind. `aggregate` says that an aggregate is inside, `variable` is the name if it is
    nothing but one. `items` and `entries` are what a list or a map is written with.
    `pieces` are the texts that were joined to it, and whether each may be NULL.
    `beside` are the parts with names in them that stand beside an aggregate.
    """

    text: str
    atomic: bool = True
    kind: str = ""
    aggregate: bool = False
    variable: str = ""
    of: ValueType = value_types.UNKNOWN
    items: "tuple[Fragment, ...] | None" = None
    entries: "tuple[tuple[str, Fragment], ...] | None" = None
    pieces: tuple[tuple[str, bool], ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def type(self) -> ValueType:
        """What it holds."""
        return self.of if self.of.kind == self.kind else ValueType(self.kind)

    def operand(self) -> str:
        """The text as a part of another expression."""
        return self.text if self.atomic else f"({self.text})"


def beside(parts: "Sequence[Fragment]") -> tuple[str, ...]:
    """The parts with names in them that stand beside an aggregate."""
    if not any(part.aggregate for part in parts):
        return ()
    own = [part.text for part in parts if not part.aggregate]
    inner = [text for part in parts for text in part.beside]
    return tuple(text for text in (*own, *inner) if _NAME.search(text))


def list_element(source: Fragment, place: Fragment) -> Fragment:
    """The element of a list at a place that counts from 0, or from the end if negative;
    NULL beyond either end.
    """
    at = _from_one(place)
    part = bounded(f"list_slice({source.text}, {at}, {at})")
    element_or_null = f"CASE WHEN size({part}) = 0 THEN NULL ELSE {part} END"
    return Fragment(f"list_extract({element_or_null}, 1)")


def list_slice(
    source: Fragment, start: Fragment | None, stop: Fragment | None
) -> Fragment:
    """A part of a list, from a place to before another one."""
    first = "1" if start is None else _from_one(start)
    last = f"size({source.text})" if stop is None else _last_place(stop)
    text = bounded(f"list_slice({source.text}, {first}, {last})")
    return Fragment(text, kind="list")


def _last_place(stop: Fragment) -> str:
    """The last place before one that counts from 0, as one that counts from 1."""
    if not _is_number(stop):
        at = stop.operand()
        return f"CASE WHEN {at} < 0 THEN {at} - 1 ELSE {at} END"
    return str(int(stop.text) - 1) if _from_the_end(stop) else stop.text


def _is_number(place: Fragment) -> bool:
    """Whether a place is written as a number."""
    digits = place.text.lstrip("-")
    return digits.isdigit()


def _from_the_end(place: Fragment) -> bool:
    """Whether a place that is written as a number counts from the end."""
    return place.text.startswith("-")


def bounded(text: str) -> str:
    """A text that is about to be written twice, so that it cannot grow without end."""
    if len(text) > _LONGEST:
        raise errors.Invalid(
            "The query takes elements of elements of lists too many times."
        )
    return text


def _from_one(place: Fragment) -> str:
    """A place that counts from 0 as one that counts from 1."""
    if not _is_number(place):
        at = bounded(place.operand())
        return f"CASE WHEN {at} < 0 THEN {at} ELSE {at} + 1 END"
    return place.text if _from_the_end(place) else str(int(place.text) + 1)
