"""Reads the patterns of MATCH, nodes and links, and writes them for the engine.

A link is walked once in a pattern, as openCypher has it: the engine would walk it again
and again, so that a friend of a friend would be oneself. A path without an upper bound
gets one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.graph.cypher import expressions, fragments, lexer, literals, schema

UNBOUNDED = 8
FARTHEST = 30
_MOST = 40


@dataclass(frozen=True, slots=True)
class _Link:
    engine: str
    relations: frozenset[str]
    many: bool


class Patterns(expressions.Expressions):
    """A cursor that reads patterns too. What a pattern asks beyond its picture gathers
    in `conditions`.
    """

    def __init__(self, text: str, shape: schema.Schema | None = None) -> None:
        super().__init__(text, shape)
        self.conditions: list[str] = []
        self.notes: list[str] = []
        self._links: list[_Link] = []

    def matched(self) -> str:
        """The patterns after MATCH, with WHERE."""
        outside, self.conditions, self._links = (self.conditions, self._links), [], []
        texts = [self._path()]
        while self.take_sign(","):
            texts.append(self._path())
        self.conditions += _walked_once(self._links)
        where = self.conditions
        self.conditions, self._links = outside
        if self.take("WHERE"):
            condition = self.expression()
            if condition.grouping:
                raise errors.Invalid("WHERE cannot count; count in WITH, then ask.")
            self._truth(condition, "WHERE")
            where = [*where, condition.inside()]
        return f"MATCH {', '.join(texts)}" + (
            f" WHERE {' AND '.join(where)}" if where else ""
        )

    def subquery(self, word: str) -> fragments.Fragment:
        self.step()
        self.expect("{", f"after {word}")
        self.take("MATCH")
        outside, self.scope = self.scope, dict(self.scope)
        text = self.matched()
        self.scope = outside
        self.expect("}", f"at the end of {word}")
        return fragments.Fragment(
            f"{word} {{ {text} }}", kind="truth" if word == "EXISTS" else "whole"
        )

    def pattern(self) -> fragments.Fragment:
        outside, self.scope = self.scope, dict(self.scope)
        held, self.conditions, self._links = (self.conditions, self._links), [], []
        text = self._element()
        where = [*self.conditions, *_walked_once(self._links)]
        self.conditions, self._links = held
        new = [name for name in self.scope if name not in outside]
        self.scope = outside
        if new:
            raise errors.Invalid(
                f"{new[0][:60]} is not known at this place of the query."
            )
        text += f" WHERE {' AND '.join(where)}" if where else ""
        return fragments.Fragment(f"EXISTS {{ MATCH {text} }}", kind="pattern")

    def _path(self) -> str:
        name = ""
        if (
            self.here.kind in ("name", "quoted")
            and self.ahead().kind == "sign"
            and self.ahead().value == "="
        ):
            name = self.step().value
            self.step()
            if name in self.scope:
                raise errors.Invalid(f"{name[:60]} stands for something else already.")
            self.scope[name] = self.fresh(name, "path")
        if self.here.kind == "name" and self.here.value.lower() in (
            "shortestpath",
            "allshortestpaths",
        ):
            manner = (
                "SHORTEST"
                if self.step().value.lower() == "shortestpath"
                else "ALL SHORTEST"
            )
            self.expect("(", "after shortestPath")
            text = self._element(manner)
            self.expect(")", "at the end of shortestPath")
        else:
            text = self._element()
        if not name:
            return text
        return f"{self.scope[name].engine} = {text}"

    def _element(self, manner: str = "TRAIL") -> str:
        text, links = self._node(), 0
        while self.sign("-", "<"):
            text += self._link(manner) + self._node()
            links += 1
            if links > FARTHEST:
                raise errors.Invalid(
                    f"A pattern has at most {FARTHEST} links in a row."
                )
        if manner != "TRAIL" and links != 1:
            raise errors.Invalid(
                "shortestPath takes two nodes and one link of any length between them."
            )
        return text

    def _node(self) -> str:
        self.expect("(", "at the start of a node")
        text = ""
        if self.here.kind in ("name", "quoted"):
            text = self._named("node")
        groups: list[list[str]] = []
        while self.take_sign(":"):
            groups.append([self.name("a label")])
            while self.take_sign("|"):
                self.take_sign(":")
                groups[-1].append(self.name("a label"))
        if groups:
            kinds = schema.labelled(self.shape, groups)
            if kinds:
                text += ":" + "|".join(lexer.named(kind) for kind in kinds)
            else:
                self.conditions.append("false")
        text += self._properties()
        self.expect(")", "at the end of a node")
        return f"({text})"

    def _named(self, kind: str) -> str:
        name = self.name("a name")
        known = self.scope.get(name)
        if known is None:
            known = self.scope[name] = self.fresh(name, kind)
        elif kind != "node":
            raise errors.Invalid(
                f"{name[:60]} is matched already.",
                hint="Give each link a name of its own.",
            )
        elif known.kind not in ("node", ""):
            raise errors.Invalid(f"{name[:60]} is a {known.kind} and no {kind}.")
        return known.engine

    def _properties(self) -> str:
        if self.here.kind == "parameter":
            raise errors.Invalid(
                "Properties are written one by one in a pattern; each value may be a parameter."
            )
        if not self.take_sign("{"):
            return ""
        found = self.pairs()
        if any(part.grouping for _, part in found):
            raise errors.Invalid("A pattern cannot count.")
        if not found:
            return ""
        return (
            " {"
            + ", ".join(f"{lexer.named(name)}: {part.text}" for name, part in found)
            + "}"
        )

    def _link(self, manner: str) -> str:
        left = self.take_sign("<")
        self.expect("-", "at the start of a link")
        inside = (
            self._detail(manner)
            if self.take_sign("[")
            else self._kept("", [], "", manner, "")
        )
        self.expect("-", "at the end of a link")
        right = self.take_sign(">")
        if left and right:
            left = right = False
        return f"{'<' if left else ''}-[{inside}]-{'>' if right else ''}"

    def _detail(self, manner: str) -> str:
        named = self.step().value if self.here.kind in ("name", "quoted") else ""
        names: list[str] = []
        if self.take_sign(":"):
            names.append(self.name("a relation"))
            while self.take_sign("|"):
                self.take_sign(":")
                names.append(self.name("a relation"))
        lengths = self._lengths(manner) if self.take_sign("*") else ""
        properties = self._properties()
        self.expect("]", "at the end of a link")
        return self._kept(named, names, lengths, manner, properties)

    def _kept(
        self,
        named: str,
        names: Sequence[str],
        lengths: str,
        manner: str,
        properties: str,
    ) -> str:
        """A link as the engine reads it; it is remembered, to be walked once."""
        if manner != "TRAIL" and not lengths:
            raise errors.Invalid(
                "shortestPath takes a link of any length, such as -[*]-."
            )
        before = self.scope.get(named) if named else None
        known = self.fresh(named, "links" if lengths else "link")
        if before is not None:
            self._same(named, before, known)
        elif named:
            self.scope[named] = known
        relations = self.related(names)
        if len(self._links) >= _MOST:
            raise errors.Invalid(f"A MATCH has at most {_MOST} links.")
        self._links.append(_Link(known.engine, frozenset(relations), bool(lengths)))
        types = (
            ":" + "|".join(lexer.named(name) for name in relations) if relations else ""
        )
        return f"{known.engine}{types}{lengths}{properties}"

    def _same(
        self, named: str, before: literals.Binding, now: literals.Binding
    ) -> None:
        """A link that was matched before is matched under another name, and has to be
        the same one.
        """
        if (
            before.kind not in ("link", "")
            or now.kind != "link"
            or any(one.engine == before.engine for one in self._links)
        ):
            kind = before.kind or "value"
            raise errors.Invalid(
                f"{named[:60]} is a {kind} already.",
                hint="Give each link a name of its own.",
            )
        self.conditions.append(f"id({now.engine}) = id({before.engine})")

    def _lengths(self, manner: str) -> str:
        least = self.step().value if self.here.kind == "whole" else ""
        if self.take_sign(".."):
            most = self.step().value if self.here.kind == "whole" else ""
            if not most:
                most = str(max(UNBOUNDED, int(least or 0)))
                self.notes.append(
                    f"A path without an upper bound is followed for {most} links."
                )
        elif least:
            most = least
        else:
            most = str(UNBOUNDED)
            self.notes.append(
                f"A path without an upper bound is followed for {most} links."
            )
        if int(most) > FARTHEST:
            raise errors.Invalid(
                f"A path is followed for at most {FARTHEST} links, not {most}."
            )
        if int(least or 1) > int(most):
            least, most = "1", "1"
            self.conditions.append("false")
        return f"* {manner} {least or '1'}..{most}"


def _walked_once(links: Sequence[_Link]) -> list[str]:
    """Conditions that no two links of a pattern are the same one. The engine sees to it
    inside a path itself.
    """
    found: list[str] = []
    for place, one in enumerate(links):
        for other in links[place + 1 :]:
            if (
                one.relations
                and other.relations
                and not one.relations & other.relations
            ):
                continue
            if one.many and other.many:
                own = f"list_transform(rels({one.engine}), x -> id(x))"
                theirs = f"list_transform(rels({other.engine}), x -> id(x))"
                found.append(f"NOT list_has_any({own}, {theirs})")
            elif one.many or other.many:
                many, single = (one, other) if one.many else (other, one)
                walked = f"list_transform(rels({many.engine}), x -> id(x))"
                found.append(f"NOT list_contains({walked}, id({single.engine}))")
            else:
                found.append(f"id({one.engine}) <> id({other.engine})")
    return found
