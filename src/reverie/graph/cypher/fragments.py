"""Fragments of a Cypher query in the engine's text, and the functions it may call.

Whatever is not listed here cannot be called: nothing that reads a file, loads an
extension, draws a sequence or tells of the engine's own state is.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reverie import errors

_LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class Fragment:
    """An expression as the engine reads it.

    `atomic` says that it needs no brackets to stand inside another one. `kind` is what
    it holds, where that shows: node, link, links, path, list, map, string, whole,
    number, truth, null, pattern; else nothing. `aggregate` says that an aggregate is
    inside, `variable` is the name if it is nothing but one.
    """

    text: str
    atomic: bool = True
    kind: str = ""
    aggregate: bool = False
    variable: str = ""

    def operand(self) -> str:
        """The text as a part of another expression."""
        return self.text if self.atomic else f"({self.text})"


Writer = Callable[[Sequence[Fragment]], Fragment]


@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes, how it is written, and whether it sums up
    rows.
    """

    least: int
    most: int
    write: Writer
    aggregate: bool = False


def call(name: str, parts: Sequence[Fragment], *, distinct: bool = False) -> Fragment:
    """A call that is allowed, written anew; raises Invalid for every other one."""
    function = FUNCTIONS.get(name.lower())
    if function is None:
        raise errors.Invalid(
            f"The function {name[:60]} cannot be called here.",
            hint=f"These can: {', '.join(sorted(SPELLINGS))}.",
        )
    _check_call(name, function, parts, distinct=distinct)
    if distinct:
        first = Fragment(f"DISTINCT {parts[0].operand()}", kind=parts[0].kind)
        parts = [first, *parts[1:]]
    written = function.write(parts)
    aggregate = function.aggregate or any(part.aggregate for part in parts)
    return Fragment(written.text, kind=written.kind, aggregate=aggregate)


def _check_call(
    name: str, function: Function, parts: Sequence[Fragment], *, distinct: bool
) -> None:
    """Raise Invalid for a call with too many or too few arguments, or a wrong one."""
    least, most = function.least, function.most
    if not least <= len(parts) <= most:
        count = f"{least}" if least == most else f"{least} to {most}"
        raise errors.Invalid(f"{name} takes {count} arguments, not {len(parts)}.")
    if function.aggregate and any(part.aggregate for part in parts):
        raise errors.Invalid(
            f"{name} cannot count over what another function has counted."
        )
    if distinct and not function.aggregate:
        raise errors.Invalid(f"DISTINCT makes no sense in {name}.")


def list_element(source: Fragment, place: Fragment) -> Fragment:
    """The element of a list at a place that counts from 0, or from the end if negative;
    NULL beyond either end.
    """
    at = _from_one(place)
    part = _bounded(f"list_slice({source.text}, {at}, {at})")
    return Fragment(
        f"list_extract(CASE WHEN size({part}) = 0 THEN NULL ELSE {part} END, 1)"
    )


def list_slice(
    source: Fragment, start: Fragment | None, stop: Fragment | None
) -> Fragment:
    """A part of a list, from a place to before another one."""
    first = "1" if start is None else _from_one(start)
    last = f"size({source.text})" if stop is None else _last_place(stop)
    text = _bounded(f"list_slice({source.text}, {first}, {last})")
    return Fragment(text, kind="list")


def _last_place(stop: Fragment) -> str:
    """The last place before one that counts from 0, as one that counts from 1."""
    if stop.text.lstrip("-").isdigit():
        negative = stop.text.startswith("-")
        return str(int(stop.text) - 1) if negative else stop.text
    at = stop.operand()
    return f"CASE WHEN {at} < 0 THEN {at} - 1 ELSE {at} END"


def _bounded(text: str) -> str:
    """A text that is about to be written twice, so that it cannot grow without end."""
    if len(text) > _LONGEST:
        raise errors.Invalid(
            "The query takes elements of elements of lists too many times."
        )
    return text


def _from_one(place: Fragment) -> str:
    """A place that counts from 0 as one that counts from 1."""
    if place.text.lstrip("-").isdigit():
        return place.text if place.text.startswith("-") else str(int(place.text) + 1)
    at = _bounded(place.operand())
    return f"CASE WHEN {at} < 0 THEN {at} ELSE {at} + 1 END"


def _plain(engine: str, kind: str = "") -> Writer:
    return lambda parts: Fragment(
        f"{engine}({', '.join(part.text for part in parts)})", kind=kind
    )


def _cast(to: str, kind: str) -> Writer:
    return lambda parts: Fragment(f"CAST({parts[0].text} AS {to})", kind=kind)


def _labels(parts: Sequence[Fragment]) -> Fragment:
    if parts[0].kind not in ("node", "null", ""):
        raise errors.Invalid("labels takes a node.")
    return Fragment(f"[label({parts[0].text})]", kind="list")


def _type(parts: Sequence[Fragment]) -> Fragment:
    if parts[0].kind not in ("link", "null", ""):
        raise errors.Invalid("type takes a link.")
    return Fragment(f"label({parts[0].text})", kind="string")


def _id(parts: Sequence[Fragment]) -> Fragment:
    if parts[0].kind == "node":
        return Fragment(f"{parts[0].text}.`key`", kind="string")
    if parts[0].kind == "link":
        return Fragment(f"offset(id({parts[0].text}))", kind="whole")
    raise errors.Invalid("id takes a node or a link.")


def _size(parts: Sequence[Fragment]) -> Fragment:
    if parts[0].kind in ("path", "pattern"):
        raise errors.Invalid("size takes a list or a text; a path has a length.")
    return Fragment(f"size({parts[0].text})", kind="whole")


def _length(parts: Sequence[Fragment]) -> Fragment:
    if parts[0].kind in ("node", "link", "map", "truth", "whole", "number"):
        raise errors.Invalid("length takes a path; a list or a text has a size.")
    return Fragment(
        f"{'size' if parts[0].kind == 'list' else 'length'}({parts[0].text})",
        kind="whole",
    )


def _links(parts: Sequence[Fragment]) -> Fragment:
    return Fragment(f"rels({parts[0].text})", kind="list")


def _tail(parts: Sequence[Fragment]) -> Fragment:
    return list_slice(parts[0], Fragment("1"), None)


def _reverse(parts: Sequence[Fragment]) -> Fragment:
    kind = parts[0].kind
    return Fragment(
        f"{'list_reverse' if kind == 'list' else 'reverse'}({parts[0].text})", kind=kind
    )


def _substring(parts: Sequence[Fragment]) -> Fragment:
    length = parts[2].text if len(parts) == 3 else f"size({parts[0].text})"
    return Fragment(
        f"substring({parts[0].text}, {parts[1].operand()} + 1, {length})", kind="string"
    )


def _exists(parts: Sequence[Fragment]) -> Fragment:
    if parts[0].kind == "pattern":
        return parts[0]
    return Fragment(f"({parts[0].operand()} IS NOT NULL)", kind="truth")


def _empty(parts: Sequence[Fragment]) -> Fragment:
    return Fragment(f"(size({parts[0].text}) = 0)", kind="truth")


SPELLINGS: Mapping[str, Function] = {
    "count": Function(1, 1, _plain("count", "whole"), aggregate=True),
    "sum": Function(1, 1, _plain("sum"), aggregate=True),
    "avg": Function(1, 1, _plain("avg", "number"), aggregate=True),
    "min": Function(1, 1, _plain("min"), aggregate=True),
    "max": Function(1, 1, _plain("max"), aggregate=True),
    "collect": Function(1, 1, _plain("collect", "list"), aggregate=True),
    "labels": Function(1, 1, _labels),
    "label": Function(1, 1, _plain("label", "string")),
    "type": Function(1, 1, _type),
    "id": Function(1, 1, _id),
    "elementId": Function(1, 1, _id),
    "keys": Function(1, 1, _plain("keys", "list")),
    "properties": Function(1, 1, _plain("properties", "map")),
    "startNode": Function(1, 1, _plain("start_node", "node")),
    "endNode": Function(1, 1, _plain("end_node", "node")),
    "nodes": Function(1, 1, _plain("nodes", "list")),
    "relationships": Function(1, 1, _links),
    "rels": Function(1, 1, _links),
    "length": Function(1, 1, _length),
    "size": Function(1, 1, _size),
    "isEmpty": Function(1, 1, _empty),
    "exists": Function(1, 1, _exists),
    "coalesce": Function(1, 20, _plain("coalesce")),
    "head": Function(1, 1, lambda parts: list_element(parts[0], Fragment("0"))),
    "last": Function(1, 1, lambda parts: list_element(parts[0], Fragment("-1"))),
    "tail": Function(1, 1, _tail),
    "reverse": Function(1, 1, _reverse),
    "range": Function(2, 3, _plain("range", "list")),
    "list_sort": Function(1, 1, _plain("list_sort", "list")),
    "list_unique": Function(1, 1, _plain("list_distinct", "list")),
    "toString": Function(1, 1, _cast("STRING", "string")),
    "toInteger": Function(1, 1, _cast("INT64", "whole")),
    "toFloat": Function(1, 1, _cast("DOUBLE", "number")),
    "toBoolean": Function(1, 1, _cast("BOOL", "truth")),
    "toUpper": Function(1, 1, _plain("upper", "string")),
    "toLower": Function(1, 1, _plain("lower", "string")),
    "upper": Function(1, 1, _plain("upper", "string")),
    "lower": Function(1, 1, _plain("lower", "string")),
    "trim": Function(1, 1, _plain("trim", "string")),
    "lTrim": Function(1, 1, _plain("ltrim", "string")),
    "rTrim": Function(1, 1, _plain("rtrim", "string")),
    "left": Function(2, 2, _plain("left", "string")),
    "right": Function(2, 2, _plain("right", "string")),
    "substring": Function(2, 3, _substring),
    "replace": Function(3, 3, _plain("replace", "string")),
    "split": Function(2, 2, _plain("string_split", "list")),
    "abs": Function(1, 1, _plain("abs")),
    "ceil": Function(1, 1, _plain("ceil", "number")),
    "floor": Function(1, 1, _plain("floor", "number")),
    "round": Function(
        1, 2, lambda parts: _plain("round", "number")([*parts, Fragment("0")][:2])
    ),
    "sign": Function(1, 1, _plain("sign", "whole")),
    "sqrt": Function(1, 1, _plain("sqrt", "number")),
    "log": Function(1, 1, _plain("ln", "number")),
    "log10": Function(1, 1, _plain("log10", "number")),
    "date": Function(1, 1, _plain("date")),
    "datetime": Function(1, 1, _plain("timestamp")),
    "timestamp": Function(1, 1, _plain("timestamp")),
    "duration": Function(1, 1, _plain("interval")),
    "date_part": Function(2, 2, _plain("date_part", "whole")),
}
FUNCTIONS: Mapping[str, Function] = {
    name.lower(): function for name, function in SPELLINGS.items()
}
