"""Recursive descent parser of Cypher's expressions: one method a level of precedence.

Three things are put right on the way, where the engine differs from openCypher: places
in lists count from 0, chains of comparisons are conjunctions, and what stands beyond
the end of a list is NULL.
"""

from collections.abc import Callable, Sequence

from reverie import errors
from reverie.graph.cypher import (
    arithmetic,
    comparing,
    elements,
    fragments,
    lexer,
    literals,
    schema,
    value_types,
)

_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=")
_NO_PROPERTIES = frozenset(
    {"path", "links", "list", "string", "whole", "number", "truth", "mixed"}
)


class ExpressionParser(elements.ElementParser):
    """A parser that reads expressions."""

    def expression(self) -> fragments.Fragment:
        """An expression, from the loosest binding on."""
        self.deeper()
        fragment = self._logical(
            "OR", lambda: self._logical("XOR", lambda: self._logical("AND", self._not))
        )
        self.shallower()
        return fragment

    def _logical(
        self, word: str, below: Callable[[], fragments.Fragment]
    ) -> fragments.Fragment:
        """`below { word below }`, of conditions: OR, XOR, AND."""
        parts = [below()]
        while self.accept(word):
            parts.append(below())
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            self.require_truth(part, word)
        return literals.compose(
            f" {word} ".join(part.operand() for part in parts), parts, "truth"
        )

    def _not(self) -> fragments.Fragment:
        """`{ NOT } comparison`."""
        count = 0
        while self.accept("NOT"):
            count += 1
            if count > 20:
                raise errors.Invalid("The query has too many NOTs in a row.")
        fragment = self._comparison()
        if count:
            self.require_truth(fragment, "NOT")
        for _ in range(count):
            fragment = literals.compose(
                f"NOT {fragment.operand()}", [fragment], "truth"
            )
        return fragment

    def _comparison(self) -> fragments.Fragment:
        """`predicate { = | <> | < | > | <= | >= predicate }`, a conjunction."""
        parts, signs = [self._predicate()], list[str]()
        while self.at_sign(*_COMPARISONS):
            signs.append(self.advance().value)
            parts.append(self._predicate())
        if not signs:
            return parts[0]
        pairs = zip(parts, signs, parts[1:], strict=False)
        return literals.compose(
            " AND ".join(
                comparing.comparison(left, sign, right) for left, sign, right in pairs
            ),
            parts,
            "truth",
        )

    def _predicate(self) -> fragments.Fragment:
        """`sum { IS [NOT] NULL | IN sum | =~ sum | CONTAINS sum | … }`."""
        fragment = self._sum()
        while True:
            if self.accept("IS", "NOT", "NULL"):
                fragment = _presence(fragment, "IS NOT NULL")
            elif self.accept("IS", "NULL"):
                fragment = _presence(fragment, "IS NULL")
            elif self.accept("IN"):
                fragment = self._in(fragment, self._sum())
            elif operator := self._text_operator():
                other = self._sum()
                text = _of_texts(fragment, operator, other)
                fragment = literals.compose(text, [fragment, other], "truth")
            else:
                return fragment

    def _text_operator(self) -> str:
        """STARTS WITH, ENDS WITH, CONTAINS or =~, if it stands here."""
        if self.accept("STARTS", "WITH"):
            return "STARTS WITH"
        if self.accept("ENDS", "WITH"):
            return "ENDS WITH"
        if self.accept_sign("=~"):
            return "=~"
        return "CONTAINS" if self.accept("CONTAINS") else ""

    def _in(
        self, fragment: fragments.Fragment, other: fragments.Fragment
    ) -> fragments.Fragment:
        """`value IN list`."""
        if other.kind not in ("list", "null", ""):
            raise errors.Invalid(f"IN takes a list, not a {other.kind}.")
        text = comparing.membership(fragment, other)
        return literals.compose(text, [fragment, other], "truth")

    def _sum(self) -> fragments.Fragment:
        """`product { + | - product }`; + joins lists and their elements, too."""
        return self._left_associative(("+", "-"), self._product)

    def _product(self) -> fragments.Fragment:
        """`power { * | / | % power }`, and `signed { ^ signed }` below it."""
        return self._left_associative(
            ("*", "/", "%"), lambda: self._left_associative(("^",), self._signed)
        )

    def _left_associative(
        self, signs: Sequence[str], below: Callable[[], fragments.Fragment]
    ) -> fragments.Fragment:
        """Operators of one level, the left ones first."""
        fragment, chained = below(), False
        while self.at_sign(*signs):
            sign = self.advance().value
            other = below()
            fragment = arithmetic.joined(fragment, sign, other, chained=chained)
            chained = not fragment.atomic
        return fragment

    def _signed(self) -> fragments.Fragment:
        """`{ + | - } postfix`."""
        minus = False
        while self.at_sign("-", "+"):
            minus ^= self.advance().value == "-"
        if minus and self.current.kind == "whole":
            return self._postfix(literals.integer(-int(self.advance().value)))
        fragment = self._postfix(self._atom())
        return arithmetic.negative(fragment) if minus else fragment

    def _postfix(self, fragment: fragments.Fragment) -> fragments.Fragment:
        """`atom { .name | [ … ] | :Label }`."""
        while True:
            if self.accept_sign("."):
                fragment = self._property(fragment, self.name("the name of a property"))
            elif self.accept_sign("["):
                fragment = self._bracket(fragment)
            elif (
                self.at_sign(":")
                and fragment.kind in ("node", "link")
                and fragment.variable
            ):
                fragment = self._labelled(fragment)
            else:
                return fragment

    def _property(self, fragment: fragments.Fragment, name: str) -> fragments.Fragment:
        """`value.name`. Raises Invalid for a kind that has no properties."""
        if fragment.kind in _NO_PROPERTIES:
            raise errors.Invalid(f"A {fragment.kind} has no property {name}.")
        if fragment.kind == "null":
            return fragment
        if fragment.type.fields is not None:
            return self._field(fragment, name)
        of = value_types.UNKNOWN
        if self.shape is not None and fragment.kind in ("node", "link"):
            links = fragment.kind == "link"
            of = value_types.of_column(schema.column(self.shape, name, links=links))
        text = f"{fragment.operand()}.{lexer.named(name)}"
        return literals.compose(text, [fragment], of.kind, atomic=True, of=of)

    def _field(self, fragment: fragments.Fragment, name: str) -> fragments.Fragment:
        """`map.name`: NULL for a name that the map does not have."""
        fields = fragment.type.fields or {}
        if name not in fields:
            return literals.compose("null", [fragment], "null", atomic=True)
        of = fields[name]
        text = f"{fragment.operand()}.{lexer.named(name)}"
        if of.kind == "null":
            return literals.compose("null", [fragment], "null", atomic=True)
        return literals.compose(text, [fragment], of.kind, atomic=True, of=of)

    def _bracket(self, fragment: fragments.Fragment) -> fragments.Fragment:
        """An element or a slice of a list, or a property: `[0]`, `[1..3]`, `['name']`."""
        if fragment.kind in ("string", "whole", "number", "truth"):
            raise errors.Invalid(f"A {fragment.kind} has no elements.")
        first = None if self.at_sign("..") else self.expression()
        if self.accept_sign(".."):
            return self._slice(fragment, first)
        self.expect("]", "after the place in a list")
        if first is None:
            raise self.unexpected("a place in the list")
        if "null" in (fragment.kind, first.kind):
            return literals.compose("null", [fragment, first], "null", atomic=True)
        if fragment.kind in ("map", "node", "link"):
            return self._named_property(fragment, first)
        if fragment.kind == "path" or first.kind not in ("whole", ""):
            raise errors.Invalid(
                f"A place in a list is a whole number, not a {first.kind}."
            )
        element = fragments.list_element(fragment, first)
        of = fragment.type.inner()
        return literals.compose(
            element.text, [fragment, first], of.kind, atomic=True, of=of
        )

    def _named_property(
        self, fragment: fragments.Fragment, name: fragments.Fragment
    ) -> fragments.Fragment:
        """`value['name']`, for a name that is written out."""
        token = self.tokens[self.position - 2]
        if name.kind != "string" or token.kind != "string" or not name.atomic:
            raise errors.Invalid(
                "The name of a property in brackets has to be written out: n['name']."
            )
        return self._property(fragment, token.value)

    def _slice(
        self, fragment: fragments.Fragment, first: fragments.Fragment | None
    ) -> fragments.Fragment:
        """`list[first..second]`, where the first is read already."""
        second = None if self.at_sign("]") else self.expression()
        self.expect("]", "after the part of a list")
        parts = [part for part in (fragment, first, second) if part is not None]
        if any(part.kind == "null" for part in parts):
            return literals.compose("null", parts, "null", atomic=True)
        if fragment.kind not in ("list", "links", ""):
            raise errors.Invalid(f"A {fragment.kind} has no part from one to another.")
        if any(part.kind not in ("whole", "") for part in parts[1:]):
            raise errors.Invalid("A place in a list is a whole number.")
        text = fragments.list_slice(fragment, first, second).text
        of = fragment.type
        return literals.compose(text, parts, "list", atomic=True, of=of)

    def _labelled(self, fragment: fragments.Fragment) -> fragments.Fragment:
        """`n:Person` as a condition."""
        groups: list[list[str]] = []
        while self.accept_sign(":"):
            names = [self.name("a label")]
            while self.accept_sign("|"):
                names.append(self.name("a label"))
            groups.append(names)
        if fragment.kind == "node":
            tables = schema.labelled(self.shape, groups)
        else:
            tables = self.related([name for names in groups for name in names])
        listed = ", ".join(lexer.quoted(name) for name in tables)
        at = fragment.text
        held = f"label({at}) IN [{listed}]" if tables else "false"
        # The label of what OPTIONAL MATCH did not find may be one that it asked for.
        text = f"(CASE WHEN id({at}) IS NULL THEN NULL ELSE {held} END)"
        return literals.compose(text, [fragment], "truth", atomic=True)

    def related(self, names: Sequence[str]) -> list[str]:
        """The relations that are meant by these names."""
        return [schema.relation(self.shape, name) for name in names]


def _presence(fragment: fragments.Fragment, test: str) -> fragments.Fragment:
    """`value IS [NOT] NULL`."""
    value_types.require_found(fragment.kind)
    if fragment.kind == "null":
        text = "true" if test == "IS NULL" else "false"
        return literals.compose(text, [fragment], "truth", atomic=True)
    text = f"{fragment.operand()} {test}"
    return literals.compose(text, [fragment], "truth")


def _of_texts(
    left: fragments.Fragment, operator: str, right: fragments.Fragment
) -> str:
    """An operator of two texts; NULL for any other kind, which the engine would read
    as text.
    """
    for side in (left, right):
        comparing.require_one_kind(side)
    if not {left.kind, right.kind} <= {"string", ""}:
        return comparing.NOTHING
    plain = f"{left.operand()} {operator} {right.operand()}"
    if operator != "CONTAINS" or (
        right.kind == "string" and len(right.text) > 2 and right.type.solid
    ):
        return plain
    # The engine finds no empty text in another one.
    empty = f"{right.operand()} = '' AND {left.operand()} IS NOT NULL"
    return fragments.bounded(f"({plain} OR ({empty}))")
