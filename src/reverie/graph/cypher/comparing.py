"""Comparison of Cypher values in three-valued logic, written for the query engine.

The engine takes NULL inside a list or a map for a value like any other, and turns words
into numbers. Here lists and maps that are written out are compared element by element,
values of two kinds are settled by their kinds, and what cannot be told is refused.
"""

from collections.abc import Sequence

from reverie import errors
from reverie.graph.cypher import fragments, value_types

NOTHING = "CAST(NULL AS BOOL)"
_SINGLE = frozenset({"string", "whole", "number", "truth"})
_NUMBERS = frozenset({"whole", "number"})
_KNOWN = _SINGLE | {"list", "map", "node", "link", "path"}


def comparison(left: fragments.Fragment, sign: str, right: fragments.Fragment) -> str:
    """`left sign right` in the engine's text."""
    for side in (left, right):
        require_one_kind(side)
    if "null" in (left.kind, right.kind):
        return NOTHING
    if sign == "=":
        return equality(left, right)
    if sign == "<>":
        return _unequal(left, right)
    return _order(left, sign, right)


def require_one_kind(fragment: fragments.Fragment) -> None:
    """Raise Invalid for a property that holds values of several kinds."""
    value_types.require_found(fragment.kind)
    if fragment.kind == "mixed":
        raise errors.Invalid(
            "This property or list holds values of several kinds; it can be returned"
            " and counted, but not compared or changed here."
        )


def never_null(fragment: fragments.Fragment) -> bool:
    """Whether a value is written out, so that it cannot be NULL."""
    if fragment.items is not None or fragment.entries is not None:
        return True
    return fragment.kind in _SINGLE and fragment.type.solid


def _unequal(left: fragments.Fragment, right: fragments.Fragment) -> str:
    if _plainly_comparable(left, right) and left.kind not in ("node", "link"):
        return f"{left.operand()} <> {right.operand()}"
    equal = equality(left, right)
    return {"true": "false", "false": "true"}.get(equal, f"NOT ({equal})")


def _plainly_comparable(left: fragments.Fragment, right: fragments.Fragment) -> bool:
    """Whether the engine compares the two as openCypher does."""
    if "" in (left.kind, right.kind):
        return True
    kinds = {left.kind, right.kind}
    if kinds <= _NUMBERS:
        return True
    return left.kind == right.kind and left.kind in _SINGLE | {"path"}


def equality(left: fragments.Fragment, right: fragments.Fragment) -> str:
    """`left = right`."""
    require_one_kind(left)
    require_one_kind(right)
    if "null" in (left.kind, right.kind):
        return NOTHING
    if _plainly_comparable(left, right):
        return f"{left.operand()} = {right.operand()}"
    if left.kind != right.kind:
        return _settled(left, right, "false")
    if left.kind in ("node", "link"):
        return f"id({left.text}) = id({right.text})"
    if left.items is not None and right.items is not None:
        return _pairwise(left.items, right.items)
    if left.entries is not None and right.entries is not None:
        return _entries_equal(left, right)
    if left.kind == "list":
        return _lists_equal(left, right)
    if left.kind == "map" and _one_solid_type(left, right):
        return f"{left.operand()} = {right.operand()}"
    raise errors.Invalid(
        f"Two values of the kind {left.kind or 'value'} cannot be compared here.",
        hint="Compare what they hold.",
    )


def _settled(left: fragments.Fragment, right: fragments.Fragment, outcome: str) -> str:
    """What a comparison of two kinds comes to: NULL if one of them is."""
    unsure = [side for side in (left, right) if not never_null(side)]
    if not unsure:
        return outcome
    missing = " OR ".join(f"{_presence(side)} IS NULL" for side in unsure)
    return f"CASE WHEN {missing} THEN {NOTHING} ELSE {outcome} END"


def _presence(fragment: fragments.Fragment) -> str:
    """What is NULL exactly when a value is."""
    if fragment.kind in ("node", "link"):
        return f"id({fragment.text})"
    return fragment.operand()


def _pairwise(
    left: Sequence[fragments.Fragment], right: Sequence[fragments.Fragment]
) -> str:
    """Lists that are written out: of one length, and equal at each place."""
    if len(left) != len(right):
        return "false"
    return _all(list(map(equality, left, right)))


def _all(parts: Sequence[str]) -> str:
    """Conditions that hold together; none are always true."""
    if not parts:
        return "true"
    return _joined(" AND ", parts)


def _joined(word: str, parts: Sequence[str]) -> str:
    """Conditions in brackets, with a word between them."""
    bracketed = [f"({part})" for part in parts]
    return fragments.bounded(f"({word.join(bracketed)})")


def _entries_equal(left: fragments.Fragment, right: fragments.Fragment) -> str:
    first = dict(left.entries or ())
    second = dict(right.entries or ())
    if first.keys() != second.keys():
        return "false"
    return _all([equality(first[name], second[name]) for name in first])


def _one_solid_type(left: fragments.Fragment, right: fragments.Fragment) -> bool:
    """Whether both have one type that is known, and no NULL inside."""
    joined = value_types.common([left.type, right.type])
    return joined is not None and left.type.solid and right.type.solid


def _lists_equal(left: fragments.Fragment, right: fragments.Fragment) -> str:
    for side, other in ((left, right), (right, left)):
        if side.items == ():
            return f"size({other.text}) = 0"
    if _one_solid_type(left, right):
        return f"{left.operand()} = {right.operand()}"
    solid = left.type.solid and right.type.solid
    if solid and _told_apart(left.type.inner().kind, right.type.inner().kind):
        return f"(size({left.text}) = 0 AND size({right.text}) = 0)"
    raise errors.Invalid(
        "Lists that may hold NULL cannot be compared here.",
        hint="Compare their elements.",
    )


def _told_apart(first: str, second: str) -> bool:
    """Whether two kinds are known and no value of one equals any of the other."""
    kinds = {first, second}
    return first != second and kinds <= _KNOWN and not kinds <= _NUMBERS


def _order(left: fragments.Fragment, sign: str, right: fragments.Fragment) -> str:
    """`<`, `>`, `<=` or `>=`; NULL for two kinds, and for kinds without an order."""
    if _plainly_comparable(left, right) and "path" not in (left.kind, right.kind):
        text = f"{left.operand()} {sign} {right.operand()}"
        if " / " not in text or "<" not in sign:
            return text
        numbers = [f"{side.operand()} = {side.operand()}" for side in (left, right)]
        # The engine takes what is no number for the least one.
        return fragments.bounded(f"({text} AND {' AND '.join(numbers)})")
    if left.kind != right.kind or left.kind != "list":
        return NOTHING
    inner = {left.type.inner().kind, right.type.inner().kind}
    if _one_solid_type(left, right) and inner <= _SINGLE | {""}:
        return f"{left.operand()} {sign} {right.operand()}"
    raise errors.Invalid(
        "Lists that may hold NULL or values of several kinds have no order here.",
        hint="Compare their elements.",
    )


def membership(value: fragments.Fragment, source: fragments.Fragment) -> str:
    """`value IN source`."""
    require_one_kind(value)
    require_one_kind(source)
    if source.kind == "null":
        return NOTHING
    if source.items is not None:
        return _among(value, source)
    if source.kind == "":
        return f"{value.operand()} IN {source.operand()}"
    if value.kind == "null":
        return f"CASE WHEN size({source.text}) = 0 THEN false ELSE {NOTHING} END"
    return _in_list(value, source)


def _among(value: fragments.Fragment, source: fragments.Fragment) -> str:
    """Membership in a list that is written out."""
    items = source.items or ()
    if not items:
        return "false"
    plain = value.kind in _SINGLE | {""}
    same = not value.kind or {item.kind for item in items} <= {value.kind, ""}
    if plain and same and all(map(never_null, items)):
        return f"{value.operand()} IN {source.operand()}"
    return _joined(" OR ", [equality(value, item) for item in items])


def _in_list(value: fragments.Fragment, source: fragments.Fragment) -> str:
    """Membership in a list that is not written out."""
    inner = source.type.inner()
    core = f"{value.operand()} IN {source.operand()}"
    empty = f"CASE WHEN size({source.text}) = 0 THEN false"
    same = inner.kind == value.kind and inner.kind in _SINGLE
    if same or "" in (inner.kind, value.kind):
        if source.type.solid:
            return fragments.bounded(f"(size({source.text}) > 0 AND {core})")
        # Neither in nor not in it, if NULL is in it.
        nulls = f"any(e IN {source.operand()} WHERE e IS NULL)"
        text = f"({core} OR ({nulls} AND {NOTHING}))"
        return fragments.bounded(f"(size({source.text}) > 0 AND {text})")
    solid = source.type.solid and value.type.solid
    if inner == value.type and solid:
        return core
    settled = inner.kind in _KNOWN and inner.kind != value.kind
    if source.type.solid and settled and not {inner.kind, value.kind} <= _NUMBERS:
        return (
            f"{empty} WHEN {_presence(value)} IS NULL OR {source.operand()} IS NULL"
            f" THEN {NOTHING} ELSE false END"
        )
    raise errors.Invalid(
        f"Whether a {value.kind} is IN this list cannot be told here.",
        hint="UNWIND the list and compare its elements.",
    )
