"""Recursive descent parser of Cypher's expressions: one method a level of precedence.

Three things are put right on the way, where the engine differs from openCypher: places
in lists count from 0, chains of comparisons are conjunctions, and what stands beyond
the end of a list is NULL.
"""

from collections.abc import Callable, Sequence

from reverie import errors
from reverie.graph.cypher import fragments, lexer, literals, schema

_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=")
_PLAIN = frozenset({"string", "whole", "number", "truth", "list", "map"})
_SINGLE = frozenset({"string", "whole", "number", "truth", "null"})


class ExpressionParser(literals.LiteralParser):
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
            self._require_truth(part, word)
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
            self._require_truth(fragment, "NOT")
        for _ in range(count):
            fragment = literals.compose(
                f"NOT {fragment.operand()}", [fragment], "truth"
            )
        return fragment

    def _require_truth(self, fragment: fragments.Fragment, word: str) -> None:
        """Raise Invalid for what cannot be a condition."""
        if fragment.kind not in ("truth", "null", "pattern", ""):
            raise errors.Invalid(
                f"{word} takes what is true or false, not a {fragment.kind}."
            )

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
                _comparison_of(left, sign, right) for left, sign, right in pairs
            ),
            parts,
            "truth",
        )

    def _predicate(self) -> fragments.Fragment:
        """`sum { IS [NOT] NULL | IN sum | =~ sum | CONTAINS sum | … }`."""
        fragment = self._sum()
        while True:
            if self.accept("IS", "NOT", "NULL"):
                fragment = literals.compose(
                    f"{fragment.operand()} IS NOT NULL", [fragment], "truth"
                )
            elif self.accept("IS", "NULL"):
                fragment = literals.compose(
                    f"{fragment.operand()} IS NULL", [fragment], "truth"
                )
            elif self.accept("IN"):
                fragment = self._in(fragment, self._sum())
            elif self.accept_sign("=~"):
                other = self._sum()
                fragment = literals.compose(
                    f"{fragment.operand()} =~ {other.operand()}",
                    [fragment, other],
                    "truth",
                )
            elif operator := self._text_operator():
                other = self._sum()
                fragment = literals.compose(
                    f"{fragment.operand()} {operator} {other.operand()}",
                    [fragment, other],
                    "truth",
                )
            else:
                return fragment

    def _text_operator(self) -> str:
        """STARTS WITH, ENDS WITH or CONTAINS, if it stands here."""
        if self.accept("STARTS", "WITH"):
            return "STARTS WITH"
        if self.accept("ENDS", "WITH"):
            return "ENDS WITH"
        return "CONTAINS" if self.accept("CONTAINS") else ""

    def _in(
        self, fragment: fragments.Fragment, other: fragments.Fragment
    ) -> fragments.Fragment:
        """`value IN list`."""
        if other.kind not in ("list", "null", ""):
            raise errors.Invalid(f"IN takes a list, not a {other.kind}.")
        return literals.compose(
            f"{fragment.operand()} IN {other.operand()}", [fragment, other], "truth"
        )

    def _sum(self) -> fragments.Fragment:
        """`product { + | - product }`; + joins lists and their elements, too."""
        fragment, chained = self._product(), False
        while self.at_sign("+", "-"):
            sign = self.advance().value
            other = self._product()
            if sign == "+" and fragment.kind == "list" and other.kind in _SINGLE:
                fragment = literals.compose(
                    f"list_append({fragment.text}, {other.text})",
                    [fragment, other],
                    "list",
                    atomic=True,
                )
            elif sign == "+" and other.kind == "list" and fragment.kind in _SINGLE:
                fragment = literals.compose(
                    f"list_prepend({other.text}, {fragment.text})",
                    [fragment, other],
                    "list",
                    atomic=True,
                )
            else:
                kind = fragment.kind if fragment.kind == other.kind else ""
                left = fragment.text if chained else fragment.operand()
                fragment = literals.compose(
                    f"{left} {sign} {other.operand()}", [fragment, other], kind
                )
            chained = True
        return fragment

    def _product(self) -> fragments.Fragment:
        """`power { * | / | % power }`, and `signed { ^ signed }` below it."""
        return self._left_associative(
            ("*", "/", "%"), lambda: self._left_associative(("^",), self._signed)
        )

    def _left_associative(
        self, signs: Sequence[str], below: Callable[[], fragments.Fragment]
    ) -> fragments.Fragment:
        """Operators of one level, the left ones first."""
        fragment, left = below(), ""
        while self.at_sign(*signs):
            sign = self.advance().value
            other = below()
            fragment = literals.compose(
                f"{left or fragment.operand()} {sign} {other.operand()}",
                [fragment, other],
                "",
            )
            left = fragment.text
        return fragment

    def _signed(self) -> fragments.Fragment:
        """`{ + | - } postfix`."""
        minus = False
        while self.at_sign("-", "+"):
            minus ^= self.advance().value == "-"
        if minus and self.current.kind == "whole":
            return self._postfix(literals.integer(-int(self.advance().value)))
        fragment = self._postfix(self._atom())
        return (
            literals.compose(f"-{fragment.operand()}", [fragment], fragment.kind)
            if minus
            else fragment
        )

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
        if fragment.kind in (
            "path",
            "links",
            "list",
            "string",
            "whole",
            "number",
            "truth",
        ):
            raise errors.Invalid(f"A {fragment.kind} has no property {name}.")
        if fragment.kind == "null":
            return fragment
        return literals.compose(
            f"{fragment.operand()}.{lexer.named(name)}", [fragment], "", atomic=True
        )

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
        if first.kind == "string" and fragment.kind not in ("list", "links", "path"):
            token = self.tokens[self.position - 2]
            if token.kind == "string":
                return self._property(fragment, token.value)
        name_of_list = first.kind == "string" and fragment.kind == "list"
        if name_of_list or first.kind in ("number", "truth", "list", "map"):
            raise errors.Invalid(
                f"A place in a list is a whole number, not a {first.kind}."
            )
        element = fragments.list_element(fragment, first)
        return literals.compose(element.text, [fragment, first], "", atomic=True)

    def _slice(
        self, fragment: fragments.Fragment, first: fragments.Fragment | None
    ) -> fragments.Fragment:
        """`list[first..second]`, where the first is read already."""
        second = None if self.at_sign("]") else self.expression()
        self.expect("]", "after the part of a list")
        text = fragments.list_slice(fragment, first, second).text
        parts = [part for part in (fragment, first, second) if part is not None]
        return literals.compose(text, parts, "list", atomic=True)

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
        return literals.compose(
            f"label({fragment.text}) IN [{listed}]" if tables else "false",
            [fragment],
            "truth",
        )

    def related(self, names: Sequence[str]) -> list[str]:
        """The relations that are meant by these names."""
        return [schema.relation(self.shape, name) for name in names]


def _comparison_of(
    left: fragments.Fragment, sign: str, right: fragments.Fragment
) -> str:
    """A comparison. The engine would turn words into numbers, so what is plainly of two
    kinds is settled here.
    """
    kinds = {left.kind, right.kind}
    if len(kinds) == 2 and kinds <= _PLAIN and kinds != {"whole", "number"}:
        return {"=": "false", "<>": "true"}.get(sign, "CAST(NULL AS BOOL)")
    return f"{left.operand()} {sign} {right.operand()}"
