"""Recursive descent parser of Cypher's graph patterns: nodes, links and paths of MATCH.

A link is walked once in a pattern, as openCypher has it: the engine would walk it again
and again, so that a friend of a friend would be oneself. A path without an upper bound
gets one.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reverie import errors
from reverie.graph.cypher import (
    comparing,
    expressions,
    fragments,
    lexer,
    literals,
    schema,
    value_types,
)

UNBOUNDED = 8
FARTHEST = 30
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True)
class _Link:
    engine: str
    relations: frozenset[str]
    many: bool
    may_be_none: bool  # a path of any length may have no link


@dataclass(frozen=True, slots=True)
class _LinkDetail:
    """What stands in the brackets of a link; `lengths` and `properties` as written."""

    name: str = ""
    relations: Sequence[str] = ()
    lengths: str = ""
    properties: str = ""


_BARE = _LinkDetail()


class PatternParser(expressions.ExpressionParser):
    """A parser that reads patterns too. What a pattern asks beyond its picture gathers
    in `conditions`.
    """

    def __init__(self, text: str, shape: schema.Schema | None = None) -> None:
        super().__init__(text, shape)
        self.conditions: list[str] = []
        self.notes: list[str] = []
        self._links: list[_Link] = []
        self._optional = False
        self._existence = False

    def match_clause(self, *, optional: bool = False) -> str:
        """The patterns after MATCH, with WHERE."""
        self._optional, before = optional, dict(self.scope)
        outside, self.conditions, self._links = (self.conditions, self._links), [], []
        texts = [self._path()]
        while self.accept_sign(","):
            texts.append(self._path())
        conditions = [*self.conditions, *_distinct_links(self._links)]
        self.conditions, self._links = outside
        self._optional = False
        condition = self.where_condition()
        if optional:
            self._mark_missing(before)
        if condition is not None:
            conditions.append(condition.operand())
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"MATCH {', '.join(texts)}{where}"

    def _mark_missing(self, before: Mapping[str, literals.Binding]) -> None:
        """Paths that may be missing: the engine tells of one that is there."""
        for name, binding in self.scope.items():
            if binding.kind == "path" and before.get(name) != binding:
                self.scope[name] = replace(binding, kind=value_types.MISSING)

    def where_condition(self) -> fragments.Fragment | None:
        """The condition after WHERE, if there is one."""
        if not self.accept("WHERE"):
            return None
        condition = self.expression()
        if condition.aggregate:
            raise errors.Invalid("WHERE cannot count; count in WITH, then ask.")
        self.require_truth(condition, "WHERE")
        return condition

    def subquery(self, word: str) -> fragments.Fragment:
        """`EXISTS | COUNT { [MATCH] patterns [WHERE condition] }`."""
        self.advance()
        self.expect("{", f"after {word}")
        self.accept("MATCH")
        outside, self.scope = self.scope, dict(self.scope)
        start, state = self.position, (self._existence, self._optional)
        self._existence = word == "EXISTS"
        text = self.match_clause()
        self._existence, self._optional = state
        self._require_no_circle(start)
        self.scope = outside
        self.expect("}", f"at the end of {word}")
        return fragments.Fragment(
            f"{word} {{ {text} }}", kind="truth" if word == "EXISTS" else "whole"
        )

    def _require_no_circle(self, start: int) -> None:
        """Raise Invalid for a pattern as a condition that names a node twice: the engine
        does not see that it is the same one.
        """
        names = [
            after.value
            for token, after in itertools.pairwise(self.tokens[start : self.position])
            if token.kind == "sign" and token.value == "("
            if after.kind in ("name", "quoted") and after.value in self.scope
            if self.scope[after.value].kind in ("node", "")
        ]
        for name in names:
            if names.count(name) > 1:
                raise errors.Invalid(
                    f"{name[:60]} stands twice in a pattern that is a condition.",
                    hint="Use MATCH for a circle, then count or compare.",
                )

    def pattern(self) -> fragments.Fragment:
        """A pattern as a condition; it binds no names."""
        outside, self.scope = self.scope, dict(self.scope)
        state, self.conditions, self._links = (self.conditions, self._links), [], []
        start, nested = self.position, (self._existence, self._optional)
        self._existence, self._optional = True, False
        text = self._element()
        self._existence, self._optional = nested
        self._require_no_circle(start)
        conditions = [*self.conditions, *_distinct_links(self._links)]
        self.conditions, self._links = state
        new = [name for name in self.scope if name not in outside]
        self.scope = outside
        if new:
            raise errors.Invalid(
                f"{new[0][:60]} is not known at this place of the query."
            )
        text += f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return fragments.Fragment(f"EXISTS {{ MATCH {text} }}", kind="pattern")

    def _path(self) -> str:
        """`[name =] element`, or `shortestPath ( element )`."""
        name = ""
        if (
            self.current.kind in ("name", "quoted")
            and self.peek().kind == "sign"
            and self.peek().value == "="
        ):
            name = self.advance().value
            self.advance()
            if name in self.scope:
                raise errors.Invalid(f"{name[:60]} stands for something else already.")
            self.scope[name] = self.fresh(name, "path")
        before = len(self._links)
        if self.current.kind == "name" and self.current.value.lower() in (
            "shortestpath",
            "allshortestpaths",
        ):
            manner = (
                "SHORTEST"
                if self.advance().value.lower() == "shortestpath"
                else "ALL SHORTEST"
            )
            self.expect("(", "after shortestPath")
            text = self._element(manner)
            self.expect(")", "at the end of shortestPath")
        else:
            text = self._element()
        if not name:
            return text
        self._check_named(name, self._links[before:])
        return f"{self.scope[name].engine} = {text}"

    def _check_named(self, name: str, links: Sequence[_Link]) -> None:
        """Raise Invalid for paths that the engine tells wrongly."""
        several = len(links) > 1
        if self._optional and any(link.many for link in links):
            told = "may be missing, and the engine would tell of one that is there"
        elif several and any(link.may_be_none for link in links):
            told = "may have no link in a part of it, and a node would be told twice"
        else:
            return
        raise errors.Invalid(
            f"The path {name[:60]} {told}.", hint="Return its nodes by their names."
        )

    def _element(self, manner: str = "TRAIL") -> str:
        """`node { link node }`."""
        text, links = self._node(), 0
        while self.at_sign("-", "<"):
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
        """`( [name] {:Label} [properties] )`."""
        self.expect("(", "at the start of a node")
        text = ""
        if self.current.kind in ("name", "quoted"):
            text = self._named("node")
        groups: list[list[str]] = []
        while self.accept_sign(":"):
            groups.append([self.name("a label")])
            while self.accept_sign("|"):
                self.accept_sign(":")
                groups[-1].append(self.name("a label"))
        if groups:
            kinds = schema.labelled(self.shape, groups)
            if kinds:
                text += ":" + "|".join(lexer.named(kind) for kind in kinds)
            else:
                self.conditions.append("false")
        text += self._properties(links=False)
        self.expect(")", "at the end of a node")
        return f"({text})"

    def _named(self, kind: str) -> str:
        """The name of a node or a path, bound now or before."""
        name = self.name("a name")
        binding = self.scope.get(name)
        if binding is None:
            binding = self.scope[name] = self.fresh(name, kind)
        elif kind != "node":
            raise errors.Invalid(
                f"{name[:60]} is matched already.",
                hint="Give each link a name of its own.",
            )
        elif binding.kind not in ("node", ""):
            raise errors.Invalid(f"{name[:60]} is a {binding.kind} and no {kind}.")
        return binding.engine

    def _properties(self, *, links: bool) -> str:
        """`{ name : value , … }`, if it stands here."""
        if self.current.kind == "parameter":
            raise errors.Invalid(
                "Properties are written one by one in a pattern; each value may be a parameter."
            )
        if not self.accept_sign("{"):
            return ""
        pairs = self.pairs()
        if any(value.aggregate for _, value in pairs):
            raise errors.Invalid("A pattern cannot count.")
        if not pairs:
            return ""
        for name, value in pairs:
            self._check_property(name, value, links=links)
        texts = [f"{lexer.named(name)}: {value.text}" for name, value in pairs]
        return f" {{{', '.join(texts)}}}"

    def _check_property(
        self, name: str, value: fragments.Fragment, *, links: bool
    ) -> None:
        """A property of another kind than the value is never equal to it; the engine
        would turn one into the other. Raises Invalid where that cannot be told.
        """
        comparing.require_one_kind(value)
        if self.shape is None:
            return
        kind = value_types.of_column(schema.column(self.shape, name, links=links)).kind
        kinds = {kind, value.kind}
        if "mixed" in kinds or kinds == {"whole", "number"} or kind == "list":
            raise errors.Invalid(
                f"{name[:60]} cannot be compared inside a pattern.",
                hint=f"Use WHERE: n.{name[:60]} = ….",
            )
        if value.kind == "null" or (len(kinds) == 2 and "" not in kinds):
            self.conditions.append("false")

    def _link(self, manner: str) -> str:
        """`[<] - [ detail ] - [>]`."""
        left = self.accept_sign("<")
        self.expect("-", "at the start of a link")
        bracket = self.accept_sign("[")
        detail = self._detail(manner) if bracket else self._link_text(_BARE, manner)
        self.expect("-", "at the end of a link")
        right = self.accept_sign(">")
        if left and right:
            left = right = False  # either direction, as without arrows
        if not left and not right:
            self._require_no_loops()
        return f"{'<' if left else ''}-[{detail}]-{'>' if right else ''}"

    def _require_no_loops(self) -> None:
        """Raise Invalid for a link of either direction that may lead from a node to
        itself: the engine finds that one twice.
        """
        if self.shape is None or self._existence:
            return
        meant = self._links[-1].relations or self.shape.relations.keys()
        if any(self.shape.relations[table].looped for table in meant):
            raise errors.Invalid(
                "A link leads from a node to itself in this graph, and a pattern without"
                " an arrow would find it twice.",
                hint="Give the link a direction: -->.",
            )

    def _detail(self, manner: str) -> str:
        """`[name] [:RELATION | …] [*lengths] [properties] ]`."""
        name = self.advance().value if self.current.kind in ("name", "quoted") else ""
        relations: list[str] = []
        if self.accept_sign(":"):
            relations.append(self.name("a relation"))
            while self.accept_sign("|"):
                self.accept_sign(":")
                relations.append(self.name("a relation"))
        lengths = self._lengths(manner) if self.accept_sign("*") else ""
        properties = self._properties(links=True)
        self.expect("]", "at the end of a link")
        return self._link_text(
            _LinkDetail(name, relations, lengths, properties), manner
        )

    def _link_text(self, detail: _LinkDetail, manner: str) -> str:
        """A link as the engine reads it; it is remembered, to be walked once."""
        if manner != "TRAIL" and not detail.lengths:
            raise errors.Invalid(
                "shortestPath takes a link of any length, such as -[*]-."
            )
        binding = self._bind_link(detail)
        relations = self.related(detail.relations)
        if len(self._links) >= _MOST_LINKS:
            raise errors.Invalid(f"A MATCH has at most {_MOST_LINKS} links.")
        many, none = bool(detail.lengths), " 0.." in detail.lengths
        self._links.append(_Link(binding.engine, frozenset(relations), many, none))
        types = "|".join(map(lexer.named, relations))
        text = f"{binding.engine}:{types}" if types else binding.engine
        return f"{text}{detail.lengths}{detail.properties}"

    def _bind_link(self, detail: _LinkDetail) -> literals.Binding:
        """The name that a link has in the engine's text."""
        name = detail.name
        before = self.scope.get(name) if name else None
        if self._optional and (before is not None or (name and detail.lengths)):
            raise errors.Invalid(
                f"{name[:60]} may be missing, and the engine would tell of one that is"
                " there.",
                hint="Give the link another name, or leave it without one.",
            )
        binding = self.fresh(name, "links" if detail.lengths else "link")
        if before is not None:
            self._require_same(name, before, binding)
        elif name:
            self.scope[name] = binding
        return binding

    def _require_same(
        self, name: str, before: literals.Binding, binding: literals.Binding
    ) -> None:
        """A link that was matched before is matched under another name, and has to be
        the same one.
        """
        single = before.kind in ("link", "") and binding.kind == "link"
        if not single or any(link.engine == before.engine for link in self._links):
            kind = before.kind or "value"
            raise errors.Invalid(
                f"{name[:60]} is a {kind} already.",
                hint="Give each link a name of its own.",
            )
        self.conditions.append(f"id({binding.engine}) = id({before.engine})")

    def _lengths(self, manner: str) -> str:
        """The least and the most links of a path: `*`, `*2`, `*1..3`, `*..3`."""
        least = self._whole_number()
        bounded = self.accept_sign("..")
        most = self._whole_number() if bounded else least
        if not most:
            most = str(max(UNBOUNDED, int(least or 0)))
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

    def _whole_number(self) -> str:
        """The digits of a whole number, if it stands here."""
        return self.advance().value if self.current.kind == "whole" else ""


def _distinct_links(links: Sequence[_Link]) -> list[str]:
    """Conditions that no two links of a pattern are the same one. The engine sees to it
    inside a path itself.
    """
    return [
        _two_links(first, second)
        for first, second in itertools.combinations(links, 2)
        if _may_be_same(first, second)
    ]


def _may_be_same(first: _Link, second: _Link) -> bool:
    if not first.relations or not second.relations:
        return True  # of any relation
    return not first.relations.isdisjoint(second.relations)


def _two_links(first: _Link, second: _Link) -> str:
    """The condition that two links, or paths of links, have none in common."""
    if first.many and second.many:
        return f"NOT list_has_any({_link_ids(first)}, {_link_ids(second)})"
    if first.many:
        return f"NOT list_contains({_link_ids(first)}, id({second.engine}))"
    if second.many:
        return f"NOT list_contains({_link_ids(second)}, id({first.engine}))"
    return f"id({first.engine}) <> id({second.engine})"


def _link_ids(link: _Link) -> str:
    return f"list_transform(rels({link.engine}), x -> id(x))"
