"""Arithmetic and joining of Cypher values, written for the query engine by their kinds."""

from dataclasses import replace

from reverie import errors
from reverie.graph.cypher import comparing, fragments, literals, value_types
from reverie.graph.cypher.value_types import ValueType

_NUMBERS = frozenset({"whole", "number"})
_COUNTED = _NUMBERS | {""}
_MOST_PIECES = 200


def joined(
    left: fragments.Fragment,
    sign: str,
    right: fragments.Fragment,
    *,
    chained: bool,
) -> fragments.Fragment:
    """`left sign right`; `chained`: the left one is such an operation of its level."""
    parts = [left, right]
    for part in parts:
        comparing.require_one_kind(part)
    if any(part.kind == "null" for part in parts):
        return literals.compose("null", parts, "null", atomic=True)
    kinds = {left.kind, right.kind}
    if sign == "+" and "list" in kinds:
        return _joined_lists(left, right)
    if sign == "+" and "string" in kinds:
        return _joined_texts(left, right)
    if not kinds <= _COUNTED:
        odd = min(kinds - _COUNTED)
        raise errors.Invalid(f"`{sign}` takes numbers, not a {odd}.")
    first = left.text if chained else left.operand()
    text = f"{first} {sign} {right.operand()}"
    return literals.compose(text, parts, _kind_of_number(kinds, sign))


def _kind_of_number(kinds: set[str], sign: str) -> str:
    if sign == "^":
        return "number"
    if "" in kinds:
        return ""
    return "number" if "number" in kinds else "whole"


def _joined_texts(
    left: fragments.Fragment, right: fragments.Fragment
) -> fragments.Fragment:
    """Texts, or a text and a whole number, one after the other; NULL if one of them is,
    which the engine would take for an empty text.
    """
    pieces = (*_pieces(left), *_pieces(right))
    if len(pieces) > _MOST_PIECES:
        raise errors.Invalid(
            f"A text is joined of at most {_MOST_PIECES} parts.",
            hint="Join some of them in WITH first.",
        )
    text = " + ".join(piece for piece, _ in pieces)
    missing = [f"{piece} IS NULL" for piece, nullable in pieces if nullable]
    if missing:
        text = f"(CASE WHEN {' OR '.join(missing)} THEN NULL ELSE {text} END)"
    whole = literals.compose(
        fragments.bounded(text), [left, right], "string", atomic=bool(missing)
    )
    return replace(whole, pieces=pieces)


def _pieces(part: fragments.Fragment) -> tuple[tuple[str, bool], ...]:
    """What a text was joined of."""
    if part.kind not in ("string", "whole", ""):
        raise errors.Invalid(
            f"A {part.kind} is not joined to a text here.",
            hint="Use toString for a whole number, true or false.",
        )
    if part.pieces:
        return part.pieces
    cast = f"CAST({part.text} AS STRING)"
    text = cast if part.kind == "whole" else part.operand()
    return ((text, not comparing.never_null(part)),)


def _joined_lists(
    left: fragments.Fragment, right: fragments.Fragment
) -> fragments.Fragment:
    """Two lists, or a list and one element more."""
    items = [part.items if part.kind == "list" else (part,) for part in (left, right)]
    if items[0] is not None and items[1] is not None:
        return literals.listed([*items[0], *items[1]])
    types = [_as_list(part) for part in (left, right)]
    of = value_types.common(types)
    if of is None or not types[0].kind or not types[1].kind:
        raise errors.Invalid(
            "A list takes more elements of its own kind only.",
            hint="Make a list for each kind.",
        )
    texts = [
        part.text if part.kind == "list" else f"[{part.text}]" for part in (left, right)
    ]
    text = f"list_concat({texts[0]}, {texts[1]})"
    return literals.compose(text, [left, right], "list", atomic=True, of=of)


def _as_list(part: fragments.Fragment) -> ValueType:
    """The type of a list, or of the list of one element."""
    if part.kind in ("list", ""):
        return part.type
    solid = comparing.never_null(part) and part.type.solid
    return ValueType("list", part.type, solid=solid)


def negative(fragment: fragments.Fragment) -> fragments.Fragment:
    """`- value`."""
    if fragment.kind == "null":
        return fragment
    if fragment.kind not in _COUNTED:
        raise errors.Invalid(f"`-` takes a number, not a {fragment.kind}.")
    text = f"-{fragment.operand()}"
    return literals.compose(text, [fragment], fragment.kind)
