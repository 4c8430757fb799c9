"""Recursive descent parser of Cypher's values: literals, calls, lists, maps, CASE."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reverie import errors
from reverie.graph.cypher import fragments, lexer, schema

_QUANTIFIERS = ("ANY", "ALL", "NONE", "SINGLE")
_CONSTANTS = {"TRUE": "truth", "FALSE": "truth", "NULL": "null"}
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name of the query is called in the engine's text, and what it stands for."""

    engine: str
    kind: str


class LiteralParser(lexer.TokenCursor):
    """A parser of single values. What a name stands for is in `scope`."""

    def __init__(self, text: str, shape: schema.Schema | None = None) -> None:
        super().__init__(text)
        self.shape = shape
        self.scope: dict[str, Binding] = {}
        self.parameters: dict[str, str] = {}
        self.names: dict[str, str] = {}

    def fresh(self, name: str, kind: str) -> Binding:
        """A name of the query under a name of our own, so that no name of the caller's
        reaches the engine.
        """
        binding = Binding(f"v{len(self.names) + 1}", kind)
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
                return fragments.Fragment(lexer.quoted(token.value), kind="string")
            case "whole":
                return integer(int(self.advance().value))
            case "number":
                return _number(self.advance().value)
            case "parameter":
                name = self.parameters.setdefault(
                    self.advance().value, f"p{len(self.parameters) + 1}"
                )
                return fragments.Fragment(f"${name}")
            case "sign":
                return self._signs()
            case "name":
                return self._words()
            case "quoted":
                return self._variable()
            case "end":
                raise self.unexpected("a value")

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
            return self._quantified(word) if word in _QUANTIFIERS else self._call()
        if word in _CONSTANTS:
            self.advance()
            return fragments.Fragment(word.lower(), kind=_CONSTANTS[word])
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
        if binding.kind == "links":
            return fragments.Fragment(
                f"rels({binding.engine})", kind="list", variable=name
            )
        return fragments.Fragment(binding.engine, kind=binding.kind, variable=name)

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
        return fragments.call(name, parts, distinct=distinct)

    def _case(self) -> fragments.Fragment:
        """`CASE [value] WHEN … THEN … [ELSE …] END`."""
        self.advance()
        parts: list[fragments.Fragment] = []
        text = "CASE"
        if not self.at_word("WHEN"):
            parts.append(self.expression())
            text += f" {parts[-1].operand()}"
        while self.accept("WHEN"):
            parts.append(self.expression())
            self.expect_word("THEN", "after WHEN")
            parts.append(self.expression())
            text += f" WHEN {parts[-2].operand()} THEN {parts[-1].operand()}"
        if len(parts) < 2:
            raise self.unexpected("WHEN in CASE")
        if self.accept("ELSE"):
            parts.append(self.expression())
            text += f" ELSE {parts[-1].operand()}"
        self.expect_word("END", "at the end of CASE")
        return compose(f"{text} END", parts, "")

    def _quantified(self, word: str) -> fragments.Fragment:
        """`ANY | ALL | NONE | SINGLE ( name IN list WHERE condition )`."""
        self.advance()
        self.expect("(", f"after {word}")
        name, source = self._element_source()
        with _InnerScope(self, name) as own:
            self.expect_word("WHERE", f"in {word}")
            condition = self.expression()
        self.expect(")", f"at the end of {word}")
        text = f"{word}({own} IN {source.operand()} WHERE {condition.text})"
        return compose(text, [source, condition], "truth", atomic=True)

    def _element_source(self) -> tuple[str, fragments.Fragment]:
        """`name IN list`: the name of each element, and the list."""
        name = self.name("a name for each element")
        self.expect_word("IN", "after the name of the element")
        return name, self.expression()

    def _list(self) -> fragments.Fragment:
        """`[ expression , … ]`, or a list comprehension."""
        if self._comprehension_ahead():
            return self._comprehension()
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
        _check_kinds(parts)
        text = f"[{', '.join(part.text for part in parts)}]"
        return compose(text, parts, "list", atomic=True)

    def _comprehension_ahead(self) -> bool:
        """Whether `[name IN …` stands here."""
        if self.current.kind not in ("name", "quoted"):
            return False
        following = self.peek()
        return following.kind == "name" and following.value.upper() == "IN"

    def _comprehension(self) -> fragments.Fragment:
        """`[x IN list WHERE … | …]` by the engine's own functions over lists."""
        name, source = self._element_source()
        parts, text = [source], source.text
        with _InnerScope(self, name) as own:
            if self.accept("WHERE"):
                parts.append(self.expression())
                text = f"list_filter({text}, {own} -> {parts[-1].text})"
            if self.accept_sign("|"):
                parts.append(self.expression())
                if parts[-1].aggregate:
                    raise errors.Invalid("Nothing can be counted inside a list.")
                text = f"list_transform({text}, {own} -> {parts[-1].text})"
        self.expect("]", "at the end of the list")
        return compose(text, parts, "list", atomic=True)

    def _map(self) -> fragments.Fragment:
        """`{ name : expression , … }`; an empty one needs other words."""
        parts = self.pairs()
        if not parts:
            return fragments.Fragment("map([], [])", kind="map")
        text = ", ".join(f"{lexer.named(name)}: {part.text}" for name, part in parts)
        return compose(f"{{{text}}}", [part for _, part in parts], "map", atomic=True)

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


class _InnerScope:
    """A name that is known only inside a list's own expression."""

    def __init__(self, parser: LiteralParser, name: str) -> None:
        self._parser, self._name = parser, name

    def __enter__(self) -> str:
        self._outside = self._parser.scope
        binding = self._parser.fresh(self._name, "")
        self._parser.scope = {**self._outside, self._name: binding}
        return binding.engine

    def __exit__(self, *_: object) -> None:
        self._parser.scope = self._outside


def _check_kinds(parts: Sequence[fragments.Fragment]) -> None:
    """Raise Invalid for a list of several kinds; whole and other numbers are one."""
    kinds = {part.kind for part in parts} - {"", "null"}
    if "whole" in kinds:
        kinds.discard("number")
    if len(kinds) > 1:
        raise errors.Invalid(
            "A list holds values of one kind.", hint="Make a list for each kind."
        )


def compose(
    text: str, parts: Sequence[fragments.Fragment], kind: str, *, atomic: bool = False
) -> fragments.Fragment:
    """A fragment that was made of others."""
    return fragments.Fragment(
        text, atomic=atomic, kind=kind, aggregate=any(part.aggregate for part in parts)
    )


def integer(number: int) -> fragments.Fragment:
    """A whole number, if the engine can hold it."""
    if not -_LARGEST <= number < _LARGEST:
        raise errors.Invalid(f"{str(number)[:30]} is too large a number.")
    return fragments.Fragment(str(number), kind="whole")


def _number(text: str) -> fragments.Fragment:
    number = float(text)
    if number == float("inf"):
        raise errors.Invalid(f"{text[:30]} is too large a number.")
    return fragments.Fragment(
        f"0{text}" if text.startswith(".") else text, kind="number"
    )
