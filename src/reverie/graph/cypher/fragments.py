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


Arguments = Sequence[Fragment]
Writer = Callable[[Arguments], Fragment]


@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes, how it is written, and whether it sums up
    rows.
    """

    least: int
    most: int
    write: Writer
    aggregate: bool = False

    def arity(self) -> str:
        """How many arguments it takes, in words."""
        if self.least == self.most:
            return str(self.least)
        return f"{self.least} to {self.most}"


def call(name: str, parts: Arguments, *, distinct: bool = False) -> Fragment:
    """A call that is allowed, written anew; raises Invalid for every other one."""
    function = _allowed(name)
    _check_call(name, function, parts, distinct=distinct)
    written = function.write(_distinct(parts) if distinct else parts)
    aggregate = function.aggregate or _any_aggregate(parts)
    return Fragment(written.text, kind=written.kind, aggregate=aggregate)


def _allowed(name: str) -> Function:
    """The function of a name; raises Invalid if there is none."""
    function = FUNCTIONS.get(name.lower())
    if function is None:
        names = ", ".join(sorted(SPELLINGS))
        raise errors.Invalid(
            f"The function {name[:60]} cannot be called here.",
            hint=f"These can: {names}.",
        )
    return function


def _distinct(parts: Arguments) -> Arguments:
    """The arguments of an aggregate over distinct values."""
    first, *others = parts
    return [Fragment(f"DISTINCT {first.operand()}", kind=first.kind), *others]


def _any_aggregate(parts: Arguments) -> bool:
    """Whether an aggregate is inside any of the arguments."""
    return any(part.aggregate for part in parts)


def _check_call(
    name: str, function: Function, parts: Arguments, *, distinct: bool
) -> None:
    """Raise Invalid for a call with too many or too few arguments, or a wrong one."""
    if not function.least <= len(parts) <= function.most:
        raise errors.Invalid(
            f"{name} takes {function.arity()} arguments, not {len(parts)}."
        )
    if function.aggregate and _any_aggregate(parts):
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
    element_or_null = f"CASE WHEN size({part}) = 0 THEN NULL ELSE {part} END"
    return Fragment(f"list_extract({element_or_null}, 1)")


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


def _bounded(text: str) -> str:
    """A text that is about to be written twice, so that it cannot grow without end."""
    if len(text) > _LONGEST:
        raise errors.Invalid(
            "The query takes elements of elements of lists too many times."
        )
    return text


def _from_one(place: Fragment) -> str:
    """A place that counts from 0 as one that counts from 1."""
    if not _is_number(place):
        at = _bounded(place.operand())
        return f"CASE WHEN {at} < 0 THEN {at} ELSE {at} + 1 END"
    return place.text if _from_the_end(place) else str(int(place.text) + 1)


def _plain(engine: str, kind: str = "") -> Writer:
    """A function that the engine has by the same arguments."""

    def write(parts: Arguments) -> Fragment:
        arguments = ", ".join([part.text for part in parts])
        return Fragment(f"{engine}({arguments})", kind=kind)

    return write


def _cast(to: str, kind: str) -> Writer:
    """A function that is a cast to a type of the engine."""

    def write(parts: Arguments) -> Fragment:
        return Fragment(f"CAST({parts[0].text} AS {to})", kind=kind)

    return write


def _labels(parts: Arguments) -> Fragment:
    if parts[0].kind not in ("node", "null", ""):
        raise errors.Invalid("labels takes a node.")
    return Fragment(f"[label({parts[0].text})]", kind="list")


def _type(parts: Arguments) -> Fragment:
    if parts[0].kind not in ("link", "null", ""):
        raise errors.Invalid("type takes a link.")
    return Fragment(f"label({parts[0].text})", kind="string")


def _id(parts: Arguments) -> Fragment:
    source = parts[0]
    if source.kind == "node":
        return Fragment(f"{source.text}.`key`", kind="string")
    if source.kind == "link":
        return Fragment(f"offset(id({source.text}))", kind="whole")
    raise errors.Invalid("id takes a node or a link.")


def _size(parts: Arguments) -> Fragment:
    if parts[0].kind in ("path", "pattern"):
        raise errors.Invalid("size takes a list or a text; a path has a length.")
    return Fragment(f"size({parts[0].text})", kind="whole")


def _length(parts: Arguments) -> Fragment:
    source = parts[0]
    if source.kind in ("node", "link", "map", "truth", "whole", "number"):
        raise errors.Invalid("length takes a path; a list or a text has a size.")
    engine = "size" if source.kind == "list" else "length"
    return Fragment(f"{engine}({source.text})", kind="whole")


def _links(parts: Arguments) -> Fragment:
    return Fragment(f"rels({parts[0].text})", kind="list")


def _head(parts: Arguments) -> Fragment:
    return list_element(parts[0], Fragment("0"))


def _last(parts: Arguments) -> Fragment:
    return list_element(parts[0], Fragment("-1"))


def _tail(parts: Arguments) -> Fragment:
    return list_slice(parts[0], Fragment("1"), None)


def _reverse(parts: Arguments) -> Fragment:
    source = parts[0]
    engine = "list_reverse" if source.kind == "list" else "reverse"
    return Fragment(f"{engine}({source.text})", kind=source.kind)


def _substring(parts: Arguments) -> Fragment:
    """The engine counts letters from 1, and wants a length."""
    source, start, *rest = parts
    length = rest[0].text if rest else f"size({source.text})"
    text = f"substring({source.text}, {start.operand()} + 1, {length})"
    return Fragment(text, kind="string")


def _round(parts: Arguments) -> Fragment:
    """The engine wants the number of digits, which is 0 where it is left out."""
    number, *digits = parts
    digits = digits or [Fragment("0")]
    return _ROUND([number, *digits])


_ROUND = _plain("round", "number")


def _exists(parts: Arguments) -> Fragment:
    if parts[0].kind == "pattern":
        return parts[0]
    return Fragment(f"({parts[0].operand()} IS NOT NULL)", kind="truth")


def _empty(parts: Arguments) -> Fragment:
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
    """One line of the table."""
    name, engine, arguments, kind, *aggregate = line.split()
    least, _, most = arguments.partition("-")
    function = Function(
        least=int(least),
        most=int(most or least),
        write=_plain(engine, "" if kind == "-" else kind),
        aggregate=bool(aggregate),
    )
    return name, function


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
    "head": Function(1, 1, _head),
    "last": Function(1, 1, _last),
    "tail": Function(1, 1, _tail),
    "reverse": Function(1, 1, _reverse),
    "toString": Function(1, 1, _cast("STRING", "string")),
    "toInteger": Function(1, 1, _cast("INT64", "whole")),
    "toFloat": Function(1, 1, _cast("DOUBLE", "number")),
    "toBoolean": Function(1, 1, _cast("BOOL", "truth")),
    "substring": Function(2, 3, _substring),
    "round": Function(1, 2, _round),
}
FUNCTIONS: Mapping[str, Function] = {
    name.lower(): function for name, function in SPELLINGS.items()
}
