"""Recursive descent parser of Cypher's values: literals, calls, lists, maps, CASE."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from reverie import errors
from reverie.graph.cypher import (
    comparing,
    fragments,
    functions,
    lexer,
    schema,
    value_types,
)
from reverie.graph.cypher.value_types import ValueType

_QUANTIFIERS = ("ANY", "ALL", "NONE", "SINGLE")
_CONSTANTS = ("TRUE", "FALSE", "NULL")
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name of the query is called in the engine's text, and what it stands for."""

    engine: str
    kind: str
    of: ValueType = value_types.UNKNOWN
    value: fragments.Fragment | None = None  # if it stands for nothing else


class LiteralParser(lexer.TokenCursor):
    """A parser of single values. What a name stands for is in `scope`."""

    def __init__(self, text: str, shape: schema.Schema | None = None) -> None:
        super().__init__(text)
        self.shape = shape
        self.scope: dict[str, Binding] = {}
        self.parameters: dict[str, str] = {}
        self.names: dict[str, str] = {}
        self.given: Mapping[str, ValueType] = {}

    def fresh(
        self, name: str, kind: str, of: ValueType = value_types.UNKNOWN
    ) -> Binding:
        """A name of the query under a name of our own, so that no name of the caller's
        reaches the engine.
        """
        binding = Binding(f"v{len(self.names) + 1}", kind, of)
        self.names[binding.engine] = name
        return binding

    # What needs operators, patterns and clauses is read by the classes above this one.
    def subquery(self, word: str) -> fragments.Fragment:
        """EXISTS { … } and COUNT { … }."""
        raise self.unexpected(f"no {word}")

    def expression(self) -> fragments.Fragment:
        """Values joined by operators."""
        raise self.unexpected("no expression")

    def pattern(self) -> fragments.Fragment:
        """A pattern as a condition."""
        raise self.unexpected("no pattern")

    def quantified(self, word: str) -> fragments.Fragment:
        """A quantifier over a list."""
        raise self.unexpected(f"no {word}")

    def comprehension(self) -> fragments.Fragment:
        """A list made of another one."""
        raise self.unexpected("no list made of a list")

    def pattern_ahead(self) -> bool:
        """Whether the bracket here is the first node of a pattern with links."""
        first = self.peek()
        starts_node = first.kind == "sign" and first.value in (":", "{", ")")
        if not starts_node and first.kind not in ("name", "quoted"):
            return False
        after = self.closing[self.position] + 1
        signs = [
            token.value if token.kind == "sign" else ""
            for token in self.tokens[after : after + 3]
        ]
        if signs[:1] == ["<"]:
            del signs[0]
        return signs[:1] == ["-"] and signs[1:2] in (["-"], ["["])

    def _atom(self) -> fragments.Fragment:
        """A literal, a parameter, a name, a call, brackets, a list or a map."""
        token = self.current
        match token.kind:
            case "string":
                self.advance()
                return _written(lexer.quoted(token.value), "string")
            case "whole":
                return integer(int(self.advance().value))
            case "number":
                return _number(self.advance().value)
            case "parameter":
                return self._parameter()
            case "sign":
                return self._signs()
            case "name":
                return self._words()
            case "quoted":
                return self._variable()
            case "end":
                raise self.unexpected("a value")

    def _parameter(self) -> fragments.Fragment:
        """`$name`, of the type of the value that it is given."""
        name = self.advance().value
        engine = self.parameters.setdefault(name, f"p{len(self.parameters) + 1}")
        of = self.given.get(name, value_types.UNKNOWN)
        if of.kind == "null":
            return fragments.Fragment("null", kind="null")
        return fragments.Fragment(f"${engine}", kind=of.kind, of=of)

    def _signs(self) -> fragments.Fragment:
        """`( expression )`, a pattern as a condition, `[ … ]` or `{ … }`."""
        if self.at_sign("("):
            if self.pattern_ahead():
                return self.pattern()
            self.advance()
            fragment = self.expression()
            self.expect(")", "at the end of the brackets")
            return replace(fragment, text=f"({fragment.text})", atomic=True)
        if self.accept_sign("["):
            return self._list()
        if self.accept_sign("{"):
            return self._map()
        raise self.unexpected("a value")

    def _words(self) -> fragments.Fragment:
        """CASE, EXISTS and COUNT with a subquery, a call, a constant or a name."""
        word = self.current.value.upper()
        following = self.peek().value if self.peek().kind == "sign" else ""
        if word == "CASE":
            return self._case()
        if following == "{" and word in ("EXISTS", "COUNT"):
            return self.subquery(word)
        if following == "(":
            return self.quantified(word) if word in _QUANTIFIERS else self._call()
        if word in _CONSTANTS:
            self.advance()
            if word == "NULL":
                return fragments.Fragment("null", kind="null")
            return _written(word.lower(), "truth")
        return self._variable()

    def _variable(self) -> fragments.Fragment:
        """A name that is bound here. Raises Invalid for one that is not."""
        if self.peek().kind == "sign" and self.peek().value in ("(", "{"):
            raise errors.Invalid(f"{self.current.value[:60]} cannot be called here.")
        name = self.advance().value
        if name not in self.scope:
            raise errors.Invalid(
                f"{name[:60]} is not known at this place of the query."
            )
        return self.bound(name)

    def bound(self, name: str) -> fragments.Fragment:
        """What a name stands for; a link of any length is a list of links."""
        binding = self.scope[name]
        if binding.value is not None:
            value = binding.value
            return replace(value, text=value.operand(), atomic=True, variable="")
        if binding.kind == "links":
            return fragments.Fragment(
                f"rels({binding.engine})",
                kind="list",
                variable=name,
                of=value_types.LINKS,
            )
        return fragments.Fragment(
            binding.engine, kind=binding.kind, variable=name, of=binding.of
        )

    def _call(self) -> fragments.Fragment:
        """`name ( [DISTINCT] expression , … )`, or `count(*)`."""
        name = self.advance().value
        self.expect("(", "after the name of a function")
        if name.upper() == "COUNT" and self.accept_sign("*"):
            self.expect(")", "after count(*")
            return fragments.Fragment("count(*)", kind="whole", aggregate=True)
        distinct = self.accept("DISTINCT")
        parts: list[fragments.Fragment] = []
        while not self.at_sign(")"):
            parts.append(self.expression())
            if not self.accept_sign(","):
                break
        self.expect(")", "at the end of the arguments")
        return functions.call(name, parts, distinct=distinct, shape=self.shape)

    def _case(self) -> fragments.Fragment:
        """`CASE [value] WHEN … THEN … [ELSE …] END`."""
        self.advance()
        value = None if self.at_word("WHEN") else self.expression()
        parts: list[fragments.Fragment] = [] if value is None else [value]
        outcomes: list[fragments.Fragment] = []
        text = "CASE"
        while self.accept("WHEN"):
            parts.append(self.expression())
            condition = self._case_condition(value, parts[-1])
            self.expect_word("THEN", "after WHEN")
            outcomes.append(self.expression())
            text += f" WHEN {condition} THEN {outcomes[-1].operand()}"
        if not outcomes:
            raise self.unexpected("WHEN in CASE")
        if self.accept("ELSE"):
            outcomes.append(self.expression())
            text += f" ELSE {outcomes[-1].operand()}"
        self.expect_word("END", "at the end of CASE")
        type_ = functions.one_type(outcomes, "THEN and ELSE")
        whole = compose(f"{text} END", [*parts, *outcomes], type_.kind, of=type_)
        return replace(whole, text=fragments.bounded(whole.text))

    def _case_condition(
        self, value: fragments.Fragment | None, when: fragments.Fragment
    ) -> str:
        """What follows WHEN as a condition: equality with the value, if there is one."""
        if value is not None:
            return comparing.equality(value, when)
        self.require_truth(when, "WHEN")
        return when.operand()

    def require_truth(self, fragment: fragments.Fragment, word: str) -> None:
        """Raise Invalid for what cannot be a condition."""
        if fragment.kind not in ("truth", "null", "pattern", ""):
            raise errors.Invalid(
                f"{word} takes what is true or false, not a {fragment.kind}."
            )

    def _list(self) -> fragments.Fragment:
        """`[ expression , … ]`, or a list comprehension."""
        if self._comprehension_ahead():
            return self.comprehension()
        if self.at_sign("(") and self.pattern_ahead():
            raise errors.Invalid(
                "A list made of a pattern is not read here.",
                hint="Use MATCH and collect.",
            )
        parts: list[fragments.Fragment] = []
        while not self.at_sign("]"):
            parts.append(self.expression())
            if not self.accept_sign(","):
                break
        self.expect("]", "at the end of the list")
        return listed(parts)

    def _comprehension_ahead(self) -> bool:
        """Whether `[name IN …` stands here."""
        if self.current.kind not in ("name", "quoted"):
            return False
        following = self.peek()
        return following.kind == "name" and following.value.upper() == "IN"

    def _map(self) -> fragments.Fragment:
        """`{ name : expression , … }`; an empty one needs other words."""
        pairs = tuple(self.pairs())
        _check_names([name for name, _ in pairs])
        fields = {name: part.type for name, part in pairs}
        solid = all(_solid(part) for _, part in pairs)
        of = ValueType("map", fields=fields, solid=solid)
        if not pairs:
            return fragments.Fragment("map([], [])", kind="map", of=of, entries=())
        text = ", ".join(f"{lexer.named(name)}: {part.text}" for name, part in pairs)
        parts = [part for _, part in pairs]
        whole = compose(f"{{{text}}}", parts, "map", atomic=True, of=of)
        return replace(whole, entries=pairs)

    def pairs(self) -> list[tuple[str, fragments.Fragment]]:
        """`name: value, …}` after the opening bracket."""
        pairs: list[tuple[str, fragments.Fragment]] = []
        while not self.at_sign("}"):
            name = self.name("the name of a property")
            self.expect(":", "after the name of a property")
            pairs.append((name, self.expression()))
            if not self.accept_sign(","):
                break
        self.expect("}", "at the end of the properties")
        return pairs


def listed(parts: Sequence[fragments.Fragment]) -> fragments.Fragment:
    """A list that is written out. Raises Invalid for one of several kinds."""
    unknown = any(not part.kind for part in parts)
    element = value_types.common([part.type for part in parts if part.kind])
    if element is None or element.kind == "mixed":
        raise errors.Invalid(
            "A list holds values of one kind.",
            hint="Make a list for each kind; write 1.0 for 1 beside other numbers.",
        )
    inner = value_types.UNKNOWN if unknown else element
    solid = all(_solid(part) for part in parts)
    of = ValueType("list", inner if parts else None, solid=solid)
    text = f"[{', '.join(part.text for part in parts)}]"
    return replace(compose(text, parts, "list", atomic=True, of=of), items=tuple(parts))


def _solid(part: fragments.Fragment) -> bool:
    """Whether a part of a list or a map is no NULL and has none inside."""
    return comparing.never_null(part) and part.type.solid


def _check_names(names: Sequence[str]) -> None:
    """Raise Invalid for names that the engine takes for one."""
    if len({name.lower() for name in names}) < len(names):
        raise errors.Invalid(
            "Two names of a map may not differ by nothing but their case here."
        )


def compose(
    text: str,
    parts: Sequence[fragments.Fragment],
    kind: str,
    *,
    atomic: bool = False,
    of: ValueType = value_types.UNKNOWN,
) -> fragments.Fragment:
    """A fragment that was made of others."""
    return fragments.Fragment(
        text,
        atomic=atomic,
        kind=kind,
        aggregate=any(part.aggregate for part in parts),
        of=of,
        beside=fragments.beside(parts),
    )


def _written(text: str, kind: str) -> fragments.Fragment:
    """A single value that is written out."""
    return fragments.Fragment(text, kind=kind, of=ValueType(kind, solid=True))


def integer(number: int) -> fragments.Fragment:
    """A whole number, if the engine can hold it."""
    if not -_LARGEST <= number < _LARGEST:
        raise errors.Invalid(f"{str(number)[:30]} is too large a number.")
    return _written(str(number), "whole")


def _number(text: str) -> fragments.Fragment:
    number = float(text)
    if number == float("inf"):
        raise errors.Invalid(f"{text[:30]} is too large a number.")
    return _written(f"0{text}" if text.startswith(".") else text, "number")
