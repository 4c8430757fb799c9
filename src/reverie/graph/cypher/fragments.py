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


# Functions that the engine has by the same arguments: the caller's name, the engine's,
# how many arguments, what kind of value comes of it ("-": any), and whether it sums up.
_PLAIN_FUNCTIONS = """
count          count          1     whole   aggregate
sum            sum            1     -       aggregate
avg            avg            1     number  aggregate
min            min            1     -       aggregate
max            max            1     -       aggregate
collect        collect        1     list    aggregate
label          label          1     string
keys           keys           1     list
properties     properties     1     map
startNode      start_node     1     node
endNode        end_node       1     node
nodes          nodes          1     list
coalesce       coalesce       1-20  -
range          range          2-3   list
list_sort      list_sort      1     list
list_unique    list_distinct  1     list
toUpper        upper          1     string
toLower        lower          1     string
upper          upper          1     string
lower          lower          1     string
trim           trim           1     string
lTrim          ltrim          1     string
rTrim          rtrim          1     string
left           left           2     string
right          right          2     string
replace        replace        3     string
split          string_split   2     list
abs            abs            1     -
ceil           ceil           1     number
floor          floor          1     number
sign           sign           1     whole
sqrt           sqrt           1     number
log            ln             1     number
log10          log10          1     number
date           date           1     -
datetime       timestamp      1     -
timestamp      timestamp      1     -
duration       interval       1     -
date_part      date_part      2     whole
"""


def _plain_function(line: str) -> tuple[str, Function]:
    name, engine, arguments, kind, *aggregate = line.split()
    least, _, most = arguments.partition("-")
    write = _plain(engine, "" if kind == "-" else kind)
    return name, Function(
        int(least), int(most or least), write, aggregate=bool(aggregate)
    )


SPELLINGS: Mapping[str, Function] = {
    **dict(map(_plain_function, _PLAIN_FUNCTIONS.strip().splitlines())),
    "labels": Function(1, 1, _labels),
    "type": Function(1, 1, _type),
    "id": Function(1, 1, _id),
    "elementId": Function(1, 1, _id),
    "relationships": Function(1, 1, _links),
    "rels": Function(1, 1, _links),
    "length": Function(1, 1, _length),
    "size": Function(1, 1, _size),
    "isEmpty": Function(1, 1, _empty),
    "exists": Function(1, 1, _exists),
    "head": Function(1, 1, lambda parts: list_element(parts[0], Fragment("0"))),
    "last": Function(1, 1, lambda parts: list_element(parts[0], Fragment("-1"))),
    "tail": Function(1, 1, _tail),
    "reverse": Function(1, 1, _reverse),
    "toString": Function(1, 1, _cast("STRING", "string")),
    "toInteger": Function(1, 1, _cast("INT64", "whole")),
    "toFloat": Function(1, 1, _cast("DOUBLE", "number")),
    "toBoolean": Function(1, 1, _cast("BOOL", "truth")),
    "substring": Function(2, 3, _substring),
    "round": Function(
        1, 2, lambda parts: _plain("round", "number")([*parts, Fragment("0")][:2])
    ),
}
FUNCTIONS: Mapping[str, Function] = {
    name.lower(): function for name, function in SPELLINGS.items()
}
