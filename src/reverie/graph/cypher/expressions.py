"""Reads the expressions of Cypher by descent, one method a level of binding, and writes
them for the engine.

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


class Expressions(literals.Values):
    """A cursor that reads expressions."""

    def expression(self) -> fragments.Fragment:
        """An expression, from the loosest binding on."""
        self.deeper()
        piece = self._joined(
            "OR", lambda: self._joined("XOR", lambda: self._joined("AND", self._not))
        )
        self.shallower()
        return piece

    def _joined(
        self, word: str, below: Callable[[], fragments.Fragment]
    ) -> fragments.Fragment:
        parts = [below()]
        while self.take(word):
            parts.append(below())
        if len(parts) == 1:
            return parts[0]
        for part in parts:
            self._truth(part, word)
        return literals.made(
            f" {word} ".join(part.inside() for part in parts), parts, "truth"
        )

    def _not(self) -> fragments.Fragment:
        count = 0
        while self.take("NOT"):
            count += 1
            if count > 20:
                raise errors.Invalid("The query has too many NOTs in a row.")
        piece = self._comparison()
        if count:
            self._truth(piece, "NOT")
        for _ in range(count):
            piece = literals.made(f"NOT {piece.inside()}", [piece], "truth")
        return piece

    def _truth(self, piece: fragments.Fragment, word: str) -> None:
        if piece.kind not in ("truth", "null", "pattern", ""):
            raise errors.Invalid(
                f"{word} takes what is true or false, not a {piece.kind}."
            )

    def _comparison(self) -> fragments.Fragment:
        parts, signs = [self._predicate()], list[str]()
        while self.sign(*_COMPARISONS):
            signs.append(self.step().value)
            parts.append(self._predicate())
        if not signs:
            return parts[0]
        pairs = zip(parts, signs, parts[1:], strict=False)
        return literals.made(
            " AND ".join(_compared(one, sign, other) for one, sign, other in pairs),
            parts,
            "truth",
        )

    def _predicate(self) -> fragments.Fragment:
        piece = self._sum()
        while True:
            if self.take("IS", "NOT", "NULL"):
                piece = literals.made(f"{piece.inside()} IS NOT NULL", [piece], "truth")
            elif self.take("IS", "NULL"):
                piece = literals.made(f"{piece.inside()} IS NULL", [piece], "truth")
            elif self.take("IN"):
                piece = self._in(piece, self._sum())
            elif self.take_sign("=~"):
                other = self._sum()
                piece = literals.made(
                    f"{piece.inside()} =~ {other.inside()}", [piece, other], "truth"
                )
            elif found := self._worded():
                other = self._sum()
                piece = literals.made(
                    f"{piece.inside()} {found} {other.inside()}",
                    [piece, other],
                    "truth",
                )
            else:
                return piece

    def _worded(self) -> str:
        if self.take("STARTS", "WITH"):
            return "STARTS WITH"
        if self.take("ENDS", "WITH"):
            return "ENDS WITH"
        return "CONTAINS" if self.take("CONTAINS") else ""

    def _in(
        self, piece: fragments.Fragment, other: fragments.Fragment
    ) -> fragments.Fragment:
        if other.kind not in ("list", "null", ""):
            raise errors.Invalid(f"IN takes a list, not a {other.kind}.")
        return literals.made(
            f"{piece.inside()} IN {other.inside()}", [piece, other], "truth"
        )

    def _sum(self) -> fragments.Fragment:
        piece, chained = self._product(), False
        while self.sign("+", "-"):
            sign = self.step().value
            other = self._product()
            if sign == "+" and piece.kind == "list" and other.kind in _SINGLE:
                piece = literals.made(
                    f"list_append({piece.text}, {other.text})",
                    [piece, other],
                    "list",
                    whole=True,
                )
            elif sign == "+" and other.kind == "list" and piece.kind in _SINGLE:
                piece = literals.made(
                    f"list_prepend({other.text}, {piece.text})",
                    [piece, other],
                    "list",
                    whole=True,
                )
            else:
                kind = piece.kind if piece.kind == other.kind else ""
                left = piece.text if chained else piece.inside()
                piece = literals.made(
                    f"{left} {sign} {other.inside()}", [piece, other], kind
                )
            chained = True
        return piece

    def _product(self) -> fragments.Fragment:
        return self._chain(("*", "/", "%"), lambda: self._chain(("^",), self._signed))

    def _chain(
        self, signs: Sequence[str], below: Callable[[], fragments.Fragment]
    ) -> fragments.Fragment:
        piece, left = below(), ""
        while self.sign(*signs):
            sign = self.step().value
            other = below()
            piece = literals.made(
                f"{left or piece.inside()} {sign} {other.inside()}", [piece, other], ""
            )
            left = piece.text
        return piece

    def _signed(self) -> fragments.Fragment:
        minus = False
        while self.sign("-", "+"):
            minus ^= self.step().value == "-"
        if minus and self.here.kind == "whole":
            return self._postfix(literals.whole(-int(self.step().value)))
        piece = self._postfix(self._atom())
        return (
            literals.made(f"-{piece.inside()}", [piece], piece.kind) if minus else piece
        )

    def _postfix(self, piece: fragments.Fragment) -> fragments.Fragment:
        while True:
            if self.take_sign("."):
                piece = self._property(piece, self.name("the name of a property"))
            elif self.take_sign("["):
                piece = self._bracket(piece)
            elif self.sign(":") and piece.kind in ("node", "link") and piece.variable:
                piece = self._labelled(piece)
            else:
                return piece

    def _property(self, piece: fragments.Fragment, name: str) -> fragments.Fragment:
        if piece.kind in (
            "path",
            "links",
            "list",
            "string",
            "whole",
            "number",
            "truth",
        ):
            raise errors.Invalid(f"A {piece.kind} has no property {name}.")
        if piece.kind == "null":
            return piece
        return literals.made(
            f"{piece.inside()}.{lexer.named(name)}", [piece], "", whole=True
        )

    def _bracket(self, piece: fragments.Fragment) -> fragments.Fragment:
        if piece.kind in ("string", "whole", "number", "truth"):
            raise errors.Invalid(f"A {piece.kind} has no elements.")
        first = None if self.sign("..") else self.expression()
        if self.take_sign(".."):
            second = None if self.sign("]") else self.expression()
            self.expect("]", "after the part of a list")
            part = fragments.stretch(piece, first, second)
            return literals.made(
                part.text,
                [piece, *(one for one in (first, second) if one)],
                "list",
                whole=True,
            )
        self.expect("]", "after the place in a list")
        if first is None:
            raise self.unexpected("a place in the list")
        if first.kind == "string" and piece.kind not in ("list", "links", "path"):
            token = self.tokens[self.place - 2]
            if token.kind == "string":
                return self._property(piece, token.value)
        if first.kind in ("number", "truth", "list", "map") or (
            first.kind == "string" and piece.kind == "list"
        ):
            raise errors.Invalid(
                f"A place in a list is a whole number, not a {first.kind}."
            )
        return literals.made(
            fragments.element(piece, first).text, [piece, first], "", whole=True
        )

    def _labelled(self, piece: fragments.Fragment) -> fragments.Fragment:
        """`n:Person` as a condition."""
        groups: list[list[str]] = []
        while self.take_sign(":"):
            names = [self.name("a label")]
            while self.take_sign("|"):
                names.append(self.name("a label"))
            groups.append(names)
        if piece.kind == "node":
            tables = schema.labelled(self.shape, groups)
        else:
            tables = self.related([name for names in groups for name in names])
        listed = ", ".join(lexer.quoted(name) for name in tables)
        return literals.made(
            f"label({piece.text}) IN [{listed}]" if tables else "false",
            [piece],
            "truth",
        )

    def related(self, names: Sequence[str]) -> list[str]:
        """The relations that are meant by these names."""
        return [schema.relation(self.shape, name) for name in names]


def _compared(one: fragments.Fragment, sign: str, other: fragments.Fragment) -> str:
    """A comparison. The engine would turn words into numbers, so what is plainly of two
    kinds is settled here.
    """
    kinds = {one.kind, other.kind}
    if len(kinds) == 2 and kinds <= _PLAIN and kinds != {"whole", "number"}:
        return {"=": "false", "<>": "true"}.get(sign, "CAST(NULL AS BOOL)")
    return f"{one.inside()} {sign} {other.inside()}"
