"""The part of Cypher that may be asked: read by a parser, written anew for the engine.

The engine never sees its caller's text. It sees what is written here from what was
understood: names of our own for variables and parameters, labels and properties in
quotes, strings and numbers from their values. A statement that writes, defines, reaches
a file or the network, or calls a procedure has no rule here and is refused by name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.graph.cypher import fragments, literals, patterns, schema

ROWS = 200
COLUMNS = 100

_WRITES = "changes the graph"
_FILES = "reaches files or the network"
_ENGINE = "changes the engine"
REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "CREATE",
            "SET",
            "DELETE",
            "DETACH",
            "MERGE",
            "REMOVE",
            "FOREACH",
            "INSERT",
            "UPDATE",
        ),
        _WRITES,
    ),
    **dict.fromkeys(
        ("DROP", "ALTER", "COMMENT", "TRUNCATE", "RENAME", "MACRO"), _WRITES
    ),
    **dict.fromkeys(
        (
            "COPY",
            "LOAD",
            "EXPORT",
            "IMPORT",
            "ATTACH",
            "INSTALL",
            "UNINSTALL",
            "EXTENSION",
        ),
        _FILES,
    ),
    **dict.fromkeys(
        (
            "USE",
            "BEGIN",
            "COMMIT",
            "ROLLBACK",
            "CHECKPOINT",
            "PRAGMA",
            "ANALYZE",
            "VACUUM",
        ),
        _ENGINE,
    ),
    **dict.fromkeys(
        ("FORCE", "START", "STOP", "GRANT", "REVOKE", "TERMINATE"), _ENGINE
    ),
    **dict.fromkeys(("CALL", "YIELD"), "calls a procedure"),
    **dict.fromkeys(("EXPLAIN", "PROFILE"), "shows the engine's plan"),
    **dict.fromkeys(("SHOW", "DESCRIBE"), "shows the engine's own state"),
}


@dataclass(frozen=True, slots=True)
class Checked:
    """A query that may run: the engine's text, the caller's columns, and the parameters
    it wants.

    `parameters` gives the engine's name for each of the caller's, `names` the caller's
    name for each of the engine's. `notes` says what was put right on the way.
    """

    text: str
    columns: Sequence[str]
    parameters: Mapping[str, str]
    names: Mapping[str, str]
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    piece: fragments.Fragment


def checked(text: str, shape: schema.Schema | None = None) -> Checked:
    """Read a query and write it anew; raises Invalid with a sentence for everything
    that is not allowed.

    With the shape of a graph, labels and relations that it does not know are refused
    too, with the shape as the hint.
    """
    reader = _Statement(text, shape)
    written, columns = reader.read()
    notes = tuple(dict.fromkeys(reader.notes))
    names = tuple(column.name for column in columns)
    return Checked(written, names, dict(reader.parameters), dict(reader.names), notes)


class _Statement(patterns.Patterns):
    """A cursor that reads whole queries."""

    def read(self) -> tuple[str, Sequence[_Column]]:
        texts, joins = list[str](), set[bool]()
        first: Sequence[_Column] | None = None
        several = any(
            token.kind == "name" and token.value.upper() == "UNION"
            for token in self.tokens
        )
        while True:
            self.scope = {}
            text, columns = self._single(limited=not several)
            texts.append(text)
            if first is not None and [column.name for column in columns] != [
                column.name for column in first
            ]:
                raise errors.Invalid("The parts of a UNION need the same columns.")
            first = columns if first is None else first
            if not self.take("UNION"):
                break
            joins.add(self.take("ALL"))
            texts.append("UNION ALL" if True in joins else "UNION")
        if len(joins) > 1:
            raise errors.Invalid("UNION and UNION ALL cannot be mixed.")
        if self.take_sign(";") and self.here.kind != "end":
            raise errors.Invalid("Only one statement can be asked at a time.")
        if self.here.kind != "end":
            self._refuse()
            raise self.unexpected("nothing more")
        return " ".join(texts), first

    def _single(self, *, limited: bool) -> tuple[str, Sequence[_Column]]:
        texts: list[str] = []
        while True:
            if self.take("OPTIONAL", "MATCH"):
                texts.append("OPTIONAL " + self.matched())
            elif self.take("MATCH"):
                texts.append(self.matched())
            elif self.take("UNWIND"):
                texts.append(self._unwound())
            elif self.take("WITH"):
                texts.append(self._with())
            elif self.take("RETURN"):
                text, columns = self._returned(limited=limited)
                return " ".join([*texts, text]), columns
            else:
                self._refuse()
                raise self.unexpected("MATCH, UNWIND, WITH or RETURN")

    def _refuse(self) -> None:
        word = self.here.value.upper() if self.here.kind == "name" else ""
        if word in REFUSED:
            raise errors.Invalid(
                f"{word} {REFUSED[word]}; only reading is allowed here.",
                hint="A query is made of MATCH, OPTIONAL MATCH, UNWIND, WITH and RETURN.",
            )

    def _unwound(self) -> str:
        source = self.expression()
        if source.grouping:
            raise errors.Invalid("UNWIND cannot count; count in WITH first.")
        self.expect_word("AS", "after UNWIND")
        name = self.name("a name for each element")
        if name in self.scope:
            raise errors.Invalid(f"{name[:60]} stands for something else already.")
        known = self.scope[name] = self.fresh(name, "")
        return f"UNWIND {source.text} AS {known.engine}"

    def _with(self) -> str:
        distinct = self.take("DISTINCT")
        columns = self._columns(named=True)
        kept: dict[str, literals.Binding] = {}
        texts: list[str] = []
        for column in columns:
            known = self.scope.get(column.piece.variable)
            if known is None or known.kind == "links" or known in kept.values():
                known = self.fresh(column.name, column.piece.kind)
            kept[column.name] = known
            texts.append(f"{column.piece.text} AS {known.engine}")
        text = f"WITH {'DISTINCT ' if distinct else ''}{', '.join(texts)}"
        closed = distinct or any(column.piece.grouping for column in columns)
        text += self._ordered(kept, columns, closed=closed, limited=False)
        self.scope = kept
        if self.take("WHERE"):
            condition = self.expression()
            if condition.grouping:
                raise errors.Invalid("WHERE cannot count; count in WITH, then ask.")
            self._truth(condition, "WHERE")
            text += f" WHERE {condition.text}"
        return text

    def _returned(self, *, limited: bool) -> tuple[str, Sequence[_Column]]:
        distinct = self.take("DISTINCT")
        columns = self._columns(named=False)
        texts = [
            f"{column.piece.text} AS c{place}" for place, column in enumerate(columns)
        ]
        kept = {
            column.name: literals.Binding(f"c{place}", column.piece.kind)
            for place, column in enumerate(columns)
        }
        text = f"RETURN {'DISTINCT ' if distinct else ''}{', '.join(texts)}"
        closed = distinct or any(column.piece.grouping for column in columns)
        text += self._ordered(kept, columns, closed=closed, limited=limited)
        return text, columns

    def _columns(self, *, named: bool) -> list[_Column]:
        columns: list[_Column] = []
        if self.take_sign("*"):
            if not self.scope and not named:
                raise errors.Invalid("RETURN * has nothing to return.")
            columns = [_Column(name, self.held(name)) for name in self.scope]
        if not columns or self.take_sign(","):
            columns.append(self._column(named=named))
            while self.take_sign(","):
                columns.append(self._column(named=named))
        names = [column.name for column in columns]
        if len(names) > COLUMNS:
            raise errors.Invalid(
                f"A query has at most {COLUMNS} columns, not {len(names)}."
            )
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise errors.Invalid(f"Two columns have the name {twice[:60]}.")
        return columns

    def _column(self, *, named: bool) -> _Column:
        start = self.here.start
        piece = self.expression()
        if piece.kind == "pattern":
            raise errors.Invalid(
                "A pattern is a condition; it cannot be returned.",
                hint="Use EXISTS { … }.",
            )
        stop = self.tokens[self.place - 1].end
        if self.take("AS"):
            return _Column(self.name("a name after AS"), piece)
        if named and not piece.variable:
            raise errors.Invalid("What WITH passes on needs a name: … AS name.")
        return _Column(piece.variable or self.text[start:stop], piece)

    def _ordered(
        self,
        kept: Mapping[str, literals.Binding],
        columns: Sequence[_Column],
        *,
        closed: bool,
        limited: bool,
    ) -> str:
        """ORDER BY, SKIP and LIMIT. After counting or DISTINCT only what was returned
        can be ordered by.
        """
        text, before = "", self.scope
        self.scope = {**before, **kept}
        if self.take("ORDER"):
            self.expect_word("BY", "after ORDER")
            keys = [self._key(columns, closed=closed)]
            while self.take_sign(","):
                keys.append(self._key(columns, closed=closed))
            text += f" ORDER BY {', '.join(keys)}"
            held = (
                self.word("SKIP")
                or self.word("OFFSET")
                or self.word("LIMIT")
                or limited
            )
            text += (
                "" if held else " SKIP 0"
            )  # the engine wants one of the two after WITH
        self.scope = {}
        if self.take("SKIP") or self.take("OFFSET"):
            text += f" SKIP {self._amount('SKIP').text}"
        if self.take("LIMIT"):
            amount = self._amount("LIMIT")
            if limited and amount.kind == "whole" and amount.text.isdigit():
                amount = fragments.Fragment(str(min(int(amount.text), ROWS + 1)))
            text += f" LIMIT {amount.text}"
        elif limited:
            text += f" LIMIT {ROWS + 1}"
        self.scope = before
        return text

    def _key(self, columns: Sequence[_Column], *, closed: bool) -> str:
        piece = self.expression()
        if piece.grouping and not closed:
            raise errors.Invalid("ORDER BY cannot count unless the columns do.")
        text = piece.text
        if self.take("DESC") or self.take("DESCENDING"):
            return f"{text} DESC"
        if not self.take("ASC"):
            self.take("ASCENDING")
        return text

    def _amount(self, word: str) -> fragments.Fragment:
        piece = self.expression()
        if (
            piece.grouping
            or piece.kind not in ("whole", "")
            or piece.text.startswith("-")
        ):
            raise errors.Invalid(f"{word} takes a whole number that is not negative.")
        return piece


def readable(message: str, names: Mapping[str, str]) -> str:
    """A sentence of the engine with the caller's names in it."""
    for engine, name in sorted(names.items(), key=lambda pair: -len(pair[0])):
        message = message.replace(f" {engine} ", f" {name} ").replace(
            f" {engine}.", f" {name}."
        )
    return message
