"""Functions that a Cypher query may call, and how each is written for the engine.

Whatever is not listed here cannot be called: nothing that reads a file, loads an
extension, draws a sequence or tells of the engine's own state is. A function takes the
kinds of values that openCypher has it take; the engine would read any other as text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from reverie import errors
from reverie.graph.cypher import conversions, fragments, lexer, schema, value_types
from reverie.graph.cypher.fragments import Fragment, list_element, list_slice
from reverie.graph.cypher.value_types import ValueType

Arguments = Sequence[Fragment]
Writer = Callable[[Arguments], Fragment]


@dataclass(frozen=True, slots=True)
class Function:
    """How many arguments a function takes and of which kinds (nothing: of any), how it
    is written, and whether it sums up rows.

    `takes` gives the kinds of the first argument, then of the others.
    """

    least: int
    most: int
    write: Writer
    aggregate: bool = False
    takes: Sequence[frozenset[str]] = ()

    def arity(self) -> str:
        """How many arguments it takes, in words."""
        if self.least == self.most:
            return str(self.least)
        return f"{self.least} to {self.most}"


def call(
    name: str,
    parts: Arguments,
    *,
    distinct: bool = False,
    shape: schema.Schema | None = None,
) -> Fragment:
    """A call that is allowed, written anew; raises Invalid for every other one."""
    function = _allowed(name)
    _check_call(name, function, parts, distinct=distinct)
    if not function.aggregate and function.takes and parts[0].kind == "null":
        return Fragment("null", kind="null")
    if function.aggregate and parts[0].kind == "null":
        parts = [Fragment("CAST(NULL AS INT64)", kind="whole"), *parts[1:]]
    by_shape = _BY_SHAPE.get(name.lower())
    if by_shape is not None:
        return by_shape(parts[0], shape)
    written = function.write(_distinct(parts) if distinct else parts)
    aggregate = function.aggregate or _any_aggregate(parts)
    return replace(written, aggregate=aggregate, beside=fragments.beside(parts))


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
    text = f"DISTINCT {first.operand()}"
    return [replace(first, text=text, items=None, entries=None), *others]


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
    _check_kinds(name, function, parts)
    if function.aggregate and _any_aggregate(parts):
        raise errors.Invalid(
            f"{name} cannot count over what another function has counted."
        )
    if distinct and not function.aggregate:
        raise errors.Invalid(f"DISTINCT makes no sense in {name}.")


def _check_kinds(name: str, function: Function, parts: Arguments) -> None:
    """Raise Invalid for an argument of a kind that openCypher does not take there."""
    for place, part in enumerate(parts):
        value_types.require_found(part.kind)
        if not function.takes or part.kind in ("", "null"):
            continue
        kinds = function.takes[min(place, len(function.takes) - 1)]
        if part.kind not in kinds:
            listed = " or ".join(sorted(kinds))
            raise errors.Invalid(
                f"{name} takes a {listed}, not a {_worded(part.kind)}.",
                hint="openCypher turns no value into another kind by itself.",
            )


def _worded(kind: str) -> str:
    return "property with values of several kinds" if kind == "mixed" else kind


def _plain(engine: str, of: ValueType = value_types.UNKNOWN) -> Writer:
    """A function that the engine has by the same arguments."""

    def write(parts: Arguments) -> Fragment:
        arguments = ", ".join([part.text for part in parts])
        return Fragment(f"{engine}({arguments})", kind=of.kind, of=of)

    return write


def _unless_null(source: Fragment, text: str, kind: str) -> Fragment:
    """What is told of a node or a link that OPTIONAL MATCH may not have found."""
    guarded = f"CASE WHEN id({source.text}) IS NULL THEN NULL ELSE {text} END"
    return Fragment(f"({fragments.bounded(guarded)})", kind=kind)


def _labels(source: Fragment, shape: schema.Schema | None) -> Fragment:
    """The labels of a node: its kind, unless the kind stands for several or none."""
    label = f"label({source.text})"
    text = f"[{label}]"
    own = schema.own_labels(shape)
    if own:
        cases = [
            f"WHEN {lexer.quoted(kind)} THEN {_strings(names)}"
            for kind, names in own.items()
        ]
        text = f"CASE {label} {' '.join(cases)} ELSE {text} END"
    return replace(_unless_null(source, text, "list"), of=value_types.STRINGS)


def _strings(values: Sequence[str]) -> str:
    if not values:
        return "CAST([] AS STRING[])"
    return f"[{', '.join(map(lexer.quoted, values))}]"


def _type(source: Fragment, shape: schema.Schema | None) -> Fragment:
    """The relation of a link, by its own name."""
    label = f"label({source.text})"
    other = schema.renamed(shape)
    if other:
        cases = [
            f"WHEN {lexer.quoted(table)} THEN {lexer.quoted(name)}"
            for table, name in other.items()
        ]
        label = f"CASE {label} {' '.join(cases)} ELSE {label} END"
    return _unless_null(source, label, "string")


_BY_SHAPE: Mapping[str, Callable[[Fragment, schema.Schema | None], Fragment]] = {
    "labels": _labels,
    "type": _type,
}


def _id(parts: Arguments) -> Fragment:
    source = parts[0]
    if source.kind == "node":
        return Fragment(f"{source.text}.`key`", kind="string")
    if source.kind == "link":
        return Fragment(f"offset(id({source.text}))", kind="whole")
    raise errors.Invalid("id takes a node or a link.")


def _keys(parts: Arguments) -> Fragment:
    fields = parts[0].type.fields
    if fields is None or parts[0].entries is None:
        raise errors.Invalid(
            "keys takes a map that is written out; a node or a link has no list of its"
            " own properties here.",
            hint="RETURN n tells every property that n has.",
        )
    names = [Fragment(lexer.quoted(name), kind="string") for name in fields]
    text = f"[{', '.join(name.text for name in names)}]"
    written = Fragment(text, kind="list", of=value_types.STRINGS, items=tuple(names))
    return written if names else replace(written, text="[]")


def _properties(parts: Arguments) -> Fragment:
    if parts[0].kind != "map":
        raise errors.Invalid(
            "properties takes a map; of a node or a link there is no such map here.",
            hint="RETURN n tells every property that n has.",
        )
    return parts[0]


def _size(parts: Arguments) -> Fragment:
    return Fragment(f"size({parts[0].text})", kind="whole")


def _length(parts: Arguments) -> Fragment:
    engine = "size" if parts[0].kind == "list" else "length"
    return Fragment(f"{engine}({parts[0].text})", kind="whole")


def _head(parts: Arguments) -> Fragment:
    return _element(parts[0], "0")


def _last(parts: Arguments) -> Fragment:
    return _element(parts[0], "-1")


def _element(source: Fragment, place: str) -> Fragment:
    inner = source.type.inner()
    written = list_element(source, Fragment(place))
    return replace(written, kind=inner.kind, of=inner)


def _tail(parts: Arguments) -> Fragment:
    return replace(list_slice(parts[0], Fragment("1"), None), of=parts[0].type)


def _reverse(parts: Arguments) -> Fragment:
    source = parts[0]
    engine = "list_reverse" if source.kind == "list" else "reverse"
    return Fragment(f"{engine}({source.text})", kind=source.kind, of=source.type)


def _substring(parts: Arguments) -> Fragment:
    """The engine counts letters from 1, and wants a length."""
    source, start, *rest = parts
    _require_not_negative("substring", [start, *rest])
    length = rest[0].text if rest else f"size({source.text})"
    text = f"substring({source.text}, {start.operand()} + 1, {length})"
    return Fragment(text, kind="string")


def _require_not_negative(name: str, numbers: Arguments) -> None:
    for number in numbers:
        if number.text.startswith("-"):
            raise errors.Invalid(f"{name} takes numbers that are not negative.")


def _end_of_text(engine: str) -> Writer:
    """`left` and `right`."""

    def write(parts: Arguments) -> Fragment:
        _require_not_negative(engine, parts[1:])
        text = f"{engine}({parts[0].text}, {parts[1].text})"
        return Fragment(text, kind="string")

    return write


def _split(parts: Arguments) -> Fragment:
    """The engine leaves out what is empty before or between two separators, so there is
    a sign around each of them while it splits.
    """
    source, separator = parts
    if not separator.type.solid or separator.text == "''":
        raise errors.Invalid("split takes a separator that is written out here.")
    mark = lexer.quoted("\x1f")
    marked = f"{mark} + {separator.text} + {mark}"
    text = f"{mark} + replace({source.text}, {separator.text}, {marked}) + {mark}"
    pieces = f"string_split({text}, {separator.text})"
    cleaned = f"list_transform({pieces}, e -> replace(e, {mark}, ''))"
    return Fragment(cleaned, kind="list", of=value_types.STRINGS)


def _rounded_up(engine: str) -> Writer:
    """`ceil` and `floor`: a number, also of a whole one."""

    def write(parts: Arguments) -> Fragment:
        return Fragment(f"{engine}({conversions.as_number(parts[0])})", kind="number")

    return write


def _round(parts: Arguments) -> Fragment:
    """The engine wants the number of digits, and rounds a negative half down."""
    if len(parts) > 1:
        return Fragment(f"round({parts[0].text}, {parts[1].text})", kind="number")
    number = conversions.as_number(parts[0])
    half = f"({number}) - floor({number}) = 0.5"
    text = f"CASE WHEN {half} THEN ceil({number}) ELSE round({number}, 0) END"
    return Fragment(f"({fragments.bounded(text)})", kind="number")


def _exists(parts: Arguments) -> Fragment:
    if parts[0].kind == "pattern":
        return parts[0]
    return Fragment(f"({parts[0].operand()} IS NOT NULL)", kind="truth")


def _empty(parts: Arguments) -> Fragment:
    return Fragment(f"(size({parts[0].text}) = 0)", kind="truth")


def _coalesce(parts: Arguments) -> Fragment:
    given = [part for part in parts if part.kind != "null"]
    if not given:
        return Fragment("null", kind="null")
    type_ = one_type(given, "coalesce")
    text = f"coalesce({', '.join(part.text for part in given)})"
    return Fragment(text, kind=type_.kind, of=type_)


def one_type(parts: Arguments, where: str) -> ValueType:
    """The type of values of which one is taken; raises Invalid if they are of several
    kinds, since the engine would turn one into the other.
    """
    if any(not part.kind for part in parts):
        return value_types.UNKNOWN
    type_ = value_types.common([part.type for part in parts])
    if type_ is None:
        raise errors.Invalid(
            f"The values of {where} have to be of one kind here.",
            hint="Write 1.0 for 1 beside numbers with decimals; use toString for texts.",
        )
    return type_


# ------------------------------------------------------------------------- aggregates


def _sum(parts: Arguments) -> Fragment:
    """Nothing adds up to 0; a sum that no whole number can hold is an error."""
    source = parts[0]
    if source.kind == "number":
        return Fragment(f"coalesce(sum({source.text}), 0.0)", kind="number")
    if source.kind == "whole":
        text = f"coalesce(CAST(sum({source.text}) AS INT64), 0)"
        return Fragment(text, kind="whole")
    return Fragment(f"coalesce(sum({source.text}), 0)")


def _extreme(engine: str) -> Writer:
    """`min` and `max`."""

    def write(parts: Arguments) -> Fragment:
        return Fragment(f"{engine}({parts[0].text})", kind=parts[0].kind)

    return write


def _collect(parts: Arguments) -> Fragment:
    """The values but for NULL."""
    inner = parts[0].type
    single = inner.kind not in ("list", "map", "")
    of = ValueType("list", inner, solid=single or inner.solid)
    return Fragment(f"collect({parts[0].text})", kind="list", of=of)


_TYPES: Mapping[str, ValueType] = {
    "-": value_types.UNKNOWN,
    "nodes": value_types.NODES,
    "links": value_types.LINKS,
    "strings": value_types.STRINGS,
    "wholes": value_types.WHOLES,
}
_TAKES: Mapping[str, Sequence[frozenset[str]]] = {
    "-": (),
    "node": (frozenset({"node"}),),
    "link": (frozenset({"link"}),),
    "path": (frozenset({"path"}),),
    "list": (frozenset({"list"}),),
    "string": (frozenset({"string"}),),
    "whole": (frozenset({"whole"}),),
    "number": (frozenset({"whole", "number"}),),
    "sized": (frozenset({"string", "list"}),),
    "walked": (frozenset({"path", "list", "string"}),),
    "part": (frozenset({"string"}), frozenset({"whole"})),
    "kept": (frozenset({"map", "node", "link"}),),
    "ordered": (frozenset({"whole", "number", "string", "truth"}),),
}
# Functions that the engine has by the same arguments: the caller's name, the engine's,
# how many arguments, what they may be ("-": anything), and what comes of it.
_PLAIN_FUNCTIONS = """
label          label          1     -       string
startNode      start_node     1     link    node
endNode        end_node       1     link    node
nodes          nodes          1     path    nodes
relationships  rels           1     path    links
rels           rels           1     path    links
range          range          2-3   whole   wholes
list_sort      list_sort      1     list    -
list_unique    list_distinct  1     list    -
toUpper        upper          1     string  string
toLower        lower          1     string  string
upper          upper          1     string  string
lower          lower          1     string  string
trim           trim           1     string  string
lTrim          ltrim          1     string  string
rTrim          rtrim          1     string  string
replace        replace        3     string  string
abs            abs            1     number  -
sign           sign           1     number  whole
sqrt           sqrt           1     number  number
log            ln             1     number  number
log10          log10          1     number  number
date           date           1     -       -
datetime       timestamp      1     -       -
timestamp      timestamp      1     -       -
duration       interval       1     -       -
date_part      date_part      2     -       whole
"""
# Functions that are written anew: name, how many arguments, what they may be.
_WRITTEN: Mapping[str, tuple[str, str, Writer]] = {
    "labels": ("1", "node", _plain("label")),
    "type": ("1", "link", _plain("label")),
    "id": ("1", "-", _id),
    "elementId": ("1", "-", _id),
    "keys": ("1", "kept", _keys),
    "properties": ("1", "kept", _properties),
    "length": ("1", "walked", _length),
    "size": ("1", "sized", _size),
    "isEmpty": ("1", "sized", _empty),
    "exists": ("1", "-", _exists),
    "head": ("1", "list", _head),
    "last": ("1", "list", _last),
    "tail": ("1", "list", _tail),
    "reverse": ("1", "sized", _reverse),
    "left": ("2", "part", _end_of_text("left")),
    "right": ("2", "part", _end_of_text("right")),
    "substring": ("2-3", "part", _substring),
    "split": ("2", "string", _split),
    "ceil": ("1", "number", _rounded_up("ceil")),
    "floor": ("1", "number", _rounded_up("floor")),
    "round": ("1-2", "number", _round),
    "coalesce": ("1-20", "-", _coalesce),
    "toString": ("1", "-", conversions.to_string),
    "toInteger": ("1", "-", conversions.to_integer),
    "toFloat": ("1", "-", conversions.to_float),
    "toBoolean": ("1", "-", conversions.to_boolean),
}
_AGGREGATES: Mapping[str, tuple[str, str, Writer]] = {
    "count": ("1", "-", _plain("count", ValueType("whole"))),
    "sum": ("1", "number", _sum),
    "avg": ("1", "number", _plain("avg", ValueType("number"))),
    "min": ("1", "ordered", _extreme("min")),
    "max": ("1", "ordered", _extreme("max")),
    "collect": ("1", "-", _collect),
}


def _function(
    arguments: str, takes: str, write: Writer, *, aggregate: bool = False
) -> Function:
    """A function by its line of a table."""
    least, _, most = arguments.partition("-")
    return Function(int(least), int(most or least), write, aggregate, _TAKES[takes])


def _plain_function(line: str) -> tuple[str, Function]:
    """One line of the table."""
    name, engine, arguments, takes, of = line.split()
    type_ = _TYPES.get(of, ValueType(of))
    return name, _function(arguments, takes, _plain(engine, type_))


SPELLINGS: Mapping[str, Function] = {
    **dict(map(_plain_function, _PLAIN_FUNCTIONS.strip().splitlines())),
    **{name: _function(*line) for name, line in _WRITTEN.items()},
    **{name: _function(*line, aggregate=True) for name, line in _AGGREGATES.items()},
}
FUNCTIONS: Mapping[str, Function] = {
    name.lower(): function for name, function in SPELLINGS.items()
}
