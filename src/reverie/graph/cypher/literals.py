"""Reads the values of Cypher: literals, names, calls, lists, maps and CASE, and writes
them for the engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.graph.cypher import fragments, lexer, schema

_QUANTIFIERS = ("ANY", "ALL", "NONE", "SINGLE")
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name of the query is called in the engine's text, and what it stands for."""

    engine: str
    kind: str


class Values(lexer.TokenCursor):
    """A cursor that reads single values. What a name stands for is in `scope`."""

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
        known = Binding(f"v{len(self.names) + 1}", kind)
        self.names[known.engine] = name
        return known

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
        first = self.ahead()
        if not (
            first.kind in ("name", "quoted")
            or (first.kind == "sign" and first.value in (":", "{", ")"))
        ):
            return False
        place = self.closing[self.place] + 1
        signs = [
            token.value if token.kind == "sign" else ""
            for token in self.tokens[place : place + 3]
        ]
        signs = signs[1:] if signs[:1] == ["<"] else signs
        return signs[:1] == ["-"] and signs[1:2] in (["-"], ["["])

    def _atom(self) -> fragments.Fragment:
        token = self.here
        match token.kind:
            case "string":
                self.step()
                return fragments.Fragment(lexer.quoted(token.value), kind="string")
            case "whole":
                return whole(int(self.step().value))
            case "number":
                return _number(self.step().value)
            case "parameter":
                name = self.parameters.setdefault(
                    self.step().value, f"p{len(self.parameters) + 1}"
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
        if self.sign("("):
            if self.pattern_ahead():
                return self.pattern()
            self.step()
            piece = self.expression()
            self.expect(")", "at the end of the brackets")
            variable = piece.variable
            return fragments.Fragment(
                f"({piece.text})",
                kind=piece.kind,
                grouping=piece.grouping,
                variable=variable,
            )
        if self.take_sign("["):
            return self._list()
        if self.take_sign("{"):
            return self._map()
        raise self.unexpected("a value")

    def _words(self) -> fragments.Fragment:
        word, following = self.here.value.upper(), self.ahead()
        opens = following.kind == "sign" and following.value == "("
        if word == "CASE":
            return self._case()
        if word in ("TRUE", "FALSE", "NULL") and not opens:
            self.step()
            return fragments.Fragment(
                word.lower(), kind="null" if word == "NULL" else "truth"
            )
        if (
            word in ("EXISTS", "COUNT")
            and following.kind == "sign"
            and following.value == "{"
        ):
            return self.subquery(word)
        if opens and word in _QUANTIFIERS:
            return self._quantified(word)
        return self._call() if opens else self._variable()

    def _variable(self) -> fragments.Fragment:
        if self.ahead().kind == "sign" and self.ahead().value in ("(", "{"):
            raise errors.Invalid(f"{self.here.value[:60]} cannot be called here.")
        name = self.step().value
        if name not in self.scope:
            raise errors.Invalid(
                f"{name[:60]} is not known at this place of the query."
            )
        return self.held(name)

    def held(self, name: str) -> fragments.Fragment:
        """What a name stands for; a link of any length is a list of links."""
        known = self.scope[name]
        if known.kind == "links":
            return fragments.Fragment(
                f"rels({known.engine})", kind="list", variable=name
            )
        return fragments.Fragment(known.engine, kind=known.kind, variable=name)

    def _call(self) -> fragments.Fragment:
        name = self.step().value
        self.expect("(", "after the name of a function")
        if name.upper() == "COUNT" and self.take_sign("*"):
            self.expect(")", "after count(*")
            return fragments.Fragment("count(*)", kind="whole", grouping=True)
        distinct = self.take("DISTINCT")
        parts: list[fragments.Fragment] = []
        while not self.sign(")"):
            parts.append(self.expression())
            if not self.take_sign(","):
                break
        self.expect(")", "at the end of the arguments")
        return fragments.called(name, parts, distinct=distinct)

    def _case(self) -> fragments.Fragment:
        self.step()
        parts: list[fragments.Fragment] = []
        text = "CASE"
        if not self.word("WHEN"):
            parts.append(self.expression())
            text += f" {parts[-1].inside()}"
        while self.take("WHEN"):
            parts.append(self.expression())
            self.expect_word("THEN", "after WHEN")
            parts.append(self.expression())
            text += f" WHEN {parts[-2].inside()} THEN {parts[-1].inside()}"
        if len(parts) < 2:
            raise self.unexpected("WHEN in CASE")
        if self.take("ELSE"):
            parts.append(self.expression())
            text += f" ELSE {parts[-1].inside()}"
        self.expect_word("END", "at the end of CASE")
        return made(f"{text} END", parts, "")

    def _quantified(self, word: str) -> fragments.Fragment:
        self.step()
        self.expect("(", f"after {word}")
        name, source = self._drawn()
        with _Inside(self, name) as own:
            self.expect_word("WHERE", f"in {word}")
            condition = self.expression()
        self.expect(")", f"at the end of {word}")
        text = f"{word}({own} IN {source.inside()} WHERE {condition.text})"
        return made(text, [source, condition], "truth", whole=True)

    def _drawn(self) -> tuple[str, fragments.Fragment]:
        name = self.name("a name for each element")
        self.expect_word("IN", "after the name of the element")
        return name, self.expression()

    def _list(self) -> fragments.Fragment:
        if (
            self.here.kind in ("name", "quoted")
            and self.ahead().value.upper() == "IN"
            and self.ahead().kind == "name"
        ):
            return self._comprehension()
        if self.sign("(") and self.pattern_ahead():
            raise errors.Invalid(
                "A list made of a pattern is not read here.",
                hint="Use MATCH and collect.",
            )
        parts: list[fragments.Fragment] = []
        while not self.sign("]"):
            parts.append(self.expression())
            if not self.take_sign(","):
                break
        self.expect("]", "at the end of the list")
        kinds = {part.kind for part in parts if part.kind not in ("", "null")}
        if len(kinds - {"number"} if "whole" in kinds else kinds) > 1:
            raise errors.Invalid(
                "A list holds values of one kind.", hint="Make a list for each kind."
            )
        return made(
            f"[{', '.join(part.text for part in parts)}]", parts, "list", whole=True
        )

    def _comprehension(self) -> fragments.Fragment:
        """`[x IN list WHERE … | …]` by the engine's own functions over lists."""
        name, source = self._drawn()
        parts, text = [source], source.text
        with _Inside(self, name) as own:
            if self.take("WHERE"):
                parts.append(self.expression())
                text = f"list_filter({text}, {own} -> {parts[-1].text})"
            if self.take_sign("|"):
                parts.append(self.expression())
                if parts[-1].grouping:
                    raise errors.Invalid("Nothing can be counted inside a list.")
                text = f"list_transform({text}, {own} -> {parts[-1].text})"
        self.expect("]", "at the end of the list")
        return made(text, parts, "list", whole=True)

    def _map(self) -> fragments.Fragment:
        parts = self.pairs()
        if not parts:
            return fragments.Fragment("map([], [])", kind="map")
        text = ", ".join(f"{lexer.named(name)}: {part.text}" for name, part in parts)
        return made(f"{{{text}}}", [part for _, part in parts], "map", whole=True)

    def pairs(self) -> list[tuple[str, fragments.Fragment]]:
        """`name: value, …}` after the opening bracket."""
        found: list[tuple[str, fragments.Fragment]] = []
        while not self.sign("}"):
            name = self.name("the name of a property")
            self.expect(":", "after the name of a property")
            found.append((name, self.expression()))
            if not self.take_sign(","):
                break
        self.expect("}", "at the end of the properties")
        return found


class _Inside:
    """A name that is known only inside a list's own expression."""

    def __init__(self, reader: Values, name: str) -> None:
        self._reader, self._name = reader, name

    def __enter__(self) -> str:
        self._outside = self._reader.scope
        known = self._reader.fresh(self._name, "")
        self._reader.scope = {**self._outside, self._name: known}
        return known.engine

    def __exit__(self, *_: object) -> None:
        self._reader.scope = self._outside


def made(
    text: str, parts: Sequence[fragments.Fragment], kind: str, *, whole: bool = False
) -> fragments.Fragment:
    """A piece that was made of others."""
    return fragments.Fragment(
        text, whole=whole, kind=kind, grouping=any(part.grouping for part in parts)
    )


def whole(number: int) -> fragments.Fragment:
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
