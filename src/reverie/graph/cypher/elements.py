"""Recursive descent parser of what is said of a list's elements: quantifiers such as
`all(x IN list WHERE …)`, and list comprehensions.

Over a list that is written out they are written out too, one condition for each
element, in three-valued logic. Over any other list the engine goes through the
elements itself; it does so rightly for one list of values without NULL at a time, and
for the nodes and links of a path. What is more than that is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType

from reverie import errors
from reverie.graph.cypher import comparing, fragments, literals
from reverie.graph.cypher.fragments import Fragment
from reverie.graph.cypher.value_types import ValueType

_MOST_ELEMENTS = 100
_MOST_READINGS = 2_000
_OF_PATH = ("nodes(", "rels(")
_SINGLE = frozenset({"string", "whole", "number", "truth"})
_WITHIN = re.compile(r"\b(?:any|list_filter|list_transform)\(|\bCASE\b|\{")
_NAMES = re.compile(r"\bv[0-9]+\b")
_TEXTS = re.compile(r"'(?:[^'\\]|\\.)*'|`[^`]*`", re.DOTALL)


class ElementParser(literals.LiteralParser):
    """A parser that reads what is said of elements."""

    _readings = 0  # of conditions, over all elements that are written out
    _walks = 0  # through lists that are not

    def quantified(self, word: str) -> Fragment:
        """`ANY | ALL | NONE | SINGLE ( name IN list WHERE condition )`."""
        self.advance()
        self.expect("(", f"after {word}")
        name, source = self._element_source()
        if source.items is not None:
            conditions = self._each(name, source.items, word)
            text = _written_out(word, conditions)
        else:
            with _InnerScope(self, name, source.type.inner()) as own:
                conditions = [self._condition(word)]
            text = self._walked(word, own, source, conditions[0])
        self.expect(")", f"at the end of {word}")
        if source.kind == "null":
            return Fragment("null", kind="null")
        parts = [source, *conditions]
        whole = literals.compose(f"({text})", parts, "truth", atomic=True)
        return replace(whole, text=fragments.bounded(whole.text))

    def _element_source(self) -> tuple[str, Fragment]:
        """`name IN list`: the name of each element, and the list."""
        name = self.name("a name for each element")
        self.expect_word("IN", "after the name of the element")
        source = self.expression()
        if source.kind not in ("list", "null", ""):
            raise errors.Invalid(f"IN takes a list, not a {source.kind}.")
        return name, source

    def _condition(self, word: str) -> Fragment:
        self.expect_word("WHERE", f"in {word}")
        condition = self.expression()
        self.require_truth(condition, "WHERE")
        return condition

    def _each(self, name: str, items: Sequence[Fragment], word: str) -> list[Fragment]:
        """The condition for each element, read once for every one of them."""
        self._readings += len(items)
        if len(items) > _MOST_ELEMENTS or self._readings > _MOST_READINGS:
            raise errors.Invalid(
                f"A quantifier goes over at most {_MOST_ELEMENTS} elements that are"
                " written out.",
                hint="UNWIND the list.",
            )
        start, conditions = self.position, list[Fragment]()
        for item in items or [Fragment("null", kind="null")]:
            self.position = start
            with _InnerScope(self, name, item.type, item):
                conditions.append(self._condition(word))
        return conditions if items else []

    def _walked(
        self, word: str, own: str, source: Fragment, condition: Fragment
    ) -> str:
        """A quantifier over a list that is not written out."""
        self._require_walkable(source, own, condition)
        head = f"any({own} IN {source.operand()} WHERE"
        if source.text.startswith(_OF_PATH):
            return _over_path(word, own, source, condition)
        if _maybe_null(source, own, condition):
            raise errors.Invalid(
                f"{word} over a list or a condition that may hold NULL is not told here.",
                hint="UNWIND the list and count.",
            )
        match word:
            case "ANY":
                return f"{head} {condition.text})"
            case "NONE":
                return f"NOT {head} {condition.text})"
            case "ALL":
                return f"NOT {head} NOT ({condition.text}))"
            case _:
                found = f"list_filter({source.text}, {own} -> {condition.text})"
                return f"size({found}) = 1"

    def _require_walkable(self, source: Fragment, own: str, part: Fragment) -> None:
        """Raise Invalid for what the engine does not compute rightly for each element."""
        if part.aggregate:
            raise errors.Invalid("Nothing can be counted inside a list.")
        if source.kind == "null":
            return
        plain = _TEXTS.sub("", part.text)
        of_path = source.text.startswith(_OF_PATH)
        sliced = source.type.inner().kind in ("node", "link") and not of_path
        others = {name for name in _NAMES.findall(plain) if name != own}
        if _WITHIN.search(plain) or sliced or (others and not of_path):
            raise errors.Invalid(
                "What is asked of each element of this list is more than can be told"
                " here.",
                hint="UNWIND the list and ask about each element.",
            )
        self._walks += not of_path
        if self._walks > 1 and not of_path:
            raise errors.Invalid(
                "A query goes through one list at a time.", hint="UNWIND the others."
            )

    def comprehension(self) -> Fragment:
        """`[x IN list WHERE … | …]`."""
        name, source = self._element_source()
        parts, text, of = [source], source.text, source.type
        if source.items is not None and self.at_sign("|"):
            return self._made_of_each(name, source)
        with _InnerScope(self, name, source.type.inner()) as own:
            if self.at_word("WHERE"):
                parts.append(self._condition("a list"))
                self._require_walkable(source, own, parts[-1])
                text = f"list_filter({text}, {own} -> {parts[-1].text})"
                of = replace(of, kind="list")
                if source.text.startswith(_OF_PATH):
                    raise errors.Invalid(
                        "Some of the nodes or links of a path are not listed here.",
                        hint="UNWIND nodes(p), then collect.",
                    )
            if self.accept_sign("|"):
                parts.append(self.expression())
                self._walks -= len(parts) > 2
                self._require_walkable(source, own, parts[-1])
                text = f"list_transform({text}, {own} -> {parts[-1].text})"
                of = ValueType("list", parts[-1].type)
        self.expect("]", "at the end of the list")
        if source.kind == "null":
            return source
        return literals.compose(text, parts, "list", atomic=True, of=of)

    def _made_of_each(self, name: str, source: Fragment) -> Fragment:
        """`[x IN [ … ] | …]`: the list that is made, written out."""
        items = source.items or ()
        self._readings += len(items)
        if len(items) > _MOST_ELEMENTS or self._readings > _MOST_READINGS:
            raise errors.Invalid(
                f"At most {_MOST_ELEMENTS} elements are written out.",
                hint="UNWIND the list.",
            )
        start, made = self.position, list[Fragment]()
        for item in items or [Fragment("null", kind="null")]:
            self.position = start
            with _InnerScope(self, name, item.type, item):
                self.expect("|", "after the list")
                made.append(self.expression())
            if made[-1].aggregate:
                raise errors.Invalid("Nothing can be counted inside a list.")
        self.expect("]", "at the end of the list")
        return literals.listed(made if items else [])


def _written_out(word: str, conditions: Sequence[Fragment]) -> str:
    """A quantifier over a list that is written out."""
    if not conditions:
        return "true" if word in ("ALL", "NONE") else "false"
    texts = [
        comparing.NOTHING if condition.kind == "null" else f"({condition.text})"
        for condition in conditions
    ]
    match word:
        case "ANY":
            return " OR ".join(texts)
        case "ALL":
            return " AND ".join(texts)
        case "NONE":
            return f"NOT ({' OR '.join(texts)})"
        case _:
            return _exactly_one(texts)


def _exactly_one(texts: Sequence[str]) -> str:
    count = " + ".join(f"CASE WHEN {text} THEN 1 ELSE 0 END" for text in texts)
    unknown = " OR ".join(f"({text} IS NULL)" for text in texts)
    return (
        f"CASE WHEN {count} > 1 THEN false WHEN {unknown} THEN NULL"
        f" ELSE {count} = 1 END"
    )


def _over_path(word: str, own: str, source: Fragment, condition: Fragment) -> str:
    """A quantifier over the nodes or links of a path, in three-valued logic; the engine
    would take NULL for false.
    """
    head = f"any({own} IN {source.operand()} WHERE"
    held = f"{head} {condition.text})"
    unknown = f"({head} ({condition.text}) IS NULL) OR size({source.text}) IS NULL)"
    either = f"(NOT {unknown} OR {comparing.NOTHING})"
    match word:
        case "ANY":
            return f"{held} OR ({unknown} AND {comparing.NOTHING})"
        case "NONE":
            return f"NOT ({held} OR ({unknown} AND {comparing.NOTHING}))"
        case "ALL":
            return f"NOT {head} NOT ({condition.text})) AND {either}"
        case _:
            count = f"size(list_filter({source.text}, {own} -> {condition.text}))"
            one = f"({count} = 1 OR ({unknown} AND {comparing.NOTHING}))"
            return f"{count} <= 1 AND {either} AND {one}"


def _maybe_null(source: Fragment, own: str, condition: Fragment) -> bool:
    """Whether NULL may come of a condition for an element of a list."""
    plain = _TEXTS.sub("", condition.text)
    single = source.type.solid and source.type.inner().kind in _SINGLE
    asks = f"{own} IS NULL", f"{own} IS NOT NULL"
    if condition.text in asks:
        return False
    return not single or "null" in plain.lower() or "." in plain or "$" in plain


class _InnerScope:
    """A name that is known only inside a list's own expression."""

    def __init__(
        self,
        parser: literals.LiteralParser,
        name: str,
        of: ValueType,
        value: Fragment | None = None,
    ) -> None:
        self._parser, self._name, self._of, self._value = parser, name, of, value

    def __enter__(self) -> str:
        self._outside = self._parser.scope
        if self._value is None:
            binding = self._parser.fresh(self._name, self._of.kind, self._of)
        else:
            binding = literals.Binding("", self._of.kind, self._of, self._value)
        self._parser.scope = {**self._outside, self._name: binding}
        return binding.engine

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._parser.scope = self._outside
