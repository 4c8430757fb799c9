"""Conversions of Cypher values (toString, toInteger, toFloat, toBoolean), written for the
query engine, which would round, spell and refuse otherwise than openCypher.
"""

from collections.abc import Sequence

from reverie import errors
from reverie.graph.cypher import fragments
from reverie.graph.cypher.fragments import Fragment

Arguments = Sequence[Fragment]


def as_number(part: Fragment) -> str:
    """The text of a number as one with decimals."""
    return f"CAST({part.text} AS DOUBLE)" if part.kind == "whole" else part.text


def to_string(parts: Arguments) -> Fragment:
    source = parts[0]
    match source.kind:
        case "string":
            return source
        case "whole":
            return Fragment(f"CAST({source.text} AS STRING)", kind="string")
        case "truth":
            at = source.operand()
            text = f"CASE WHEN {at} THEN 'true' WHEN NOT {at} THEN 'false' END"
            return Fragment(f"({fragments.bounded(text)})", kind="string")
        case _:
            raise errors.Invalid(
                "toString takes a text, a whole number, or true or false here.",
                hint="Return a number with decimals as it is.",
            )


_NUMBER = "'[ ]*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?[ ]*'"


def _number_of_text(text: str) -> str:
    """The number that a text is, or NULL; the engine would end the whole query."""
    reads = f"regexp_full_match({text}, {_NUMBER})"
    return f"CAST(CASE WHEN {reads} THEN {text} END AS DOUBLE)"


def to_integer(parts: Arguments) -> Fragment:
    source = parts[0]
    match source.kind:
        case "whole":
            return source
        case "number":
            return _truncated(source.operand())
        case "string":
            return _integer_of_text(source.operand())
        case _:
            raise errors.Invalid("toInteger takes a number or a text here.")


def _truncated(number: str) -> Fragment:
    """A number without its decimals; the engine would round it."""
    toward_zero = f"CASE WHEN {number} < 0 THEN ceil({number}) ELSE floor({number}) END"
    text = f"CAST({toward_zero} AS INT64)"
    return Fragment(fragments.bounded(text), kind="whole")


def _integer_of_text(text: str) -> Fragment:
    """Digits as they are, since a large number has more of them than one with decimals
    can tell.
    """
    is_whole = f"regexp_full_match({text}, '[ ]*[+-]?[0-9]+[ ]*')"
    whole = f"CASE WHEN {is_whole} THEN {text} END"
    number = f"CASE WHEN NOT {is_whole} THEN {_number_of_text(text)} END"
    truncated = _truncated(f"({number})")
    both = f"coalesce(CAST(({whole}) AS INT64), {truncated.text})"
    return Fragment(fragments.bounded(both), kind="whole")


def to_float(parts: Arguments) -> Fragment:
    source = parts[0]
    match source.kind:
        case "number":
            return source
        case "whole":
            return Fragment(as_number(source), kind="number")
        case "string":
            text = fragments.bounded(_number_of_text(source.operand()))
            return Fragment(text, kind="number")
        case _:
            raise errors.Invalid("toFloat takes a number or a text here.")


def to_boolean(parts: Arguments) -> Fragment:
    source = parts[0]
    if source.kind == "truth":
        return source
    if source.kind != "string":
        raise errors.Invalid("toBoolean takes a text, or true or false here.")
    low = f"lower({source.text})"
    text = f"CASE {low} WHEN 'true' THEN true WHEN 'false' THEN false END"
    return Fragment(f"({fragments.bounded(text)})", kind="truth")
