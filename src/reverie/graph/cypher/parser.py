"""Recursive descent parser of read-only Cypher, written anew for the query engine.

The engine never sees its caller's text. It sees what is written here from what was
understood: names of our own for variables and parameters, labels and properties in
quotes, strings and numbers from their values. A statement that writes, defines, reaches
a file or the network, or calls a procedure has no rule here and is refused by name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reverie import errors
from reverie.graph.cypher import comparing, fragments, literals, patterns, schema
from reverie.graph.cypher.value_types import ValueType

ROWS = 200
COLUMNS = 100

# Statements that have no rule here, by what they would do.
_REFUSALS: Mapping[str, str] = {
    "changes the graph": (
        "CREATE SET DELETE DETACH MERGE REMOVE FOREACH INSERT UPDATE"
        " DROP ALTER COMMENT RENAME MACRO TRUNCATE"
    ),
    "reaches files or the network": (
        "COPY LOAD EXPORT IMPORT ATTACH INSTALL UNINSTALL EXTENSION"
    ),
    "changes the engine": (
        "USE BEGIN COMMIT ROLLBACK CHECKPOINT PRAGMA ANALYZE VACUUM"
        " FORCE START STOP GRANT REVOKE TERMINATE"
    ),
    "calls a procedure": "CALL YIELD",
    "shows the engine's plan": "EXPLAIN PROFILE",
    "shows the engine's own state": "SHOW DESCRIBE",
}
REFUSED: Mapping[str, str] = {
    word: effect for effect, words in _REFUSALS.items() for word in words.split()
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
    fragment: fragments.Fragment


def checked(
    text: str,
    shape: schema.Schema | None = None,
    given: Mapping[str, ValueType] | None = None,
) -> Checked:
    """Read a query and write it anew; raises Invalid with a sentence for everything
    that is not allowed.

    With the shape of a graph, labels and relations that it does not know are refused
    too, with the shape as the hint. `given` are the types of the parameters.
    """
    parser = _QueryParser(text, shape)
    parser.given = given or {}
    written, columns = parser.query()
    _require_no_walk_in_case(written)
    notes = tuple(dict.fromkeys(parser.notes))
    names = tuple(column.name for column in columns)
    return Checked(written, names, dict(parser.parameters), dict(parser.names), notes)


class _QueryParser(patterns.PatternParser):
    """A recursive descent parser of whole queries. `_ordered` and `_cut` say whether
    rows were put in order by WITH, and whether some were left out then.
    """

    _ordered = _cut = False

    def query(self) -> tuple[str, Sequence[_Column]]:
        """A query, its parts joined by UNION; the engine's text and the columns."""
        several = self._has_union()
        text, columns = self._single_query(limited=not several)
        texts = [text]
        joins: set[bool] = set()
        while self.accept("UNION"):
            joins.add(self.accept("ALL"))
            texts.append("UNION ALL" if True in joins else "UNION")
            text, others = self._single_query(limited=not several)
            texts.append(text)
            if [column.name for column in others] != [
                column.name for column in columns
            ]:
                raise errors.Invalid("The parts of a UNION need the same columns.")
        if len(joins) > 1:
            raise errors.Invalid("UNION and UNION ALL cannot be mixed.")
        self._end_of_query()
        return " ".join(texts), columns

    def _has_union(self) -> bool:
        """Whether UNION stands anywhere: then only the whole is limited."""
        return any(
            token.kind == "name" and token.value.upper() == "UNION"
            for token in self.tokens
        )

    def _end_of_query(self) -> None:
        """Raise Invalid for anything after the query but one semicolon."""
        if self.accept_sign(";") and self.current.kind != "end":
            raise errors.Invalid("Only one statement can be asked at a time.")
        if self.current.kind != "end":
            self._refuse()
            raise self.unexpected("nothing more")

    def _single_query(self, *, limited: bool) -> tuple[str, Sequence[_Column]]:
        """Clauses up to RETURN. `limited`: no more rows than an answer has, plus one."""
        self.scope = {}
        self._ordered = self._cut = False
        texts: list[str] = []
        while True:
            if self.accept("OPTIONAL", "MATCH"):
                texts.append("OPTIONAL " + self.match_clause(optional=True))
            elif self.accept("MATCH"):
                texts.append(self.match_clause())
            elif self.accept("UNWIND"):
                texts.append(self._unwind())
            elif self.accept("WITH"):
                texts.append(self._with())
            elif self.accept("RETURN"):
                text, columns = self._return(limited=limited)
                return " ".join([*texts, text]), columns
            else:
                self._refuse()
                raise self.unexpected("MATCH, UNWIND, WITH or RETURN")

    def _refuse(self) -> None:
        """Raise Invalid, by name, for a statement that does more than read."""
        word = self.current.value.upper() if self.current.kind == "name" else ""
        if word in REFUSED:
            raise errors.Invalid(
                f"{word} {REFUSED[word]}; only reading is allowed here.",
                hint="A query is made of MATCH, OPTIONAL MATCH, UNWIND, WITH and RETURN.",
            )

    def _unwind(self) -> str:
        """`UNWIND list AS name`."""
        source = self.expression()
        if source.aggregate:
            raise errors.Invalid("UNWIND cannot count; count in WITH first.")
        if source.kind not in ("list", "null", ""):
            raise errors.Invalid(f"UNWIND takes a list, not a {source.kind}.")
        self.expect_word("AS", "after UNWIND")
        name = self.name("a name for each element")
        if name in self.scope:
            raise errors.Invalid(f"{name[:60]} stands for something else already.")
        inner = source.type.inner()
        binding = self.scope[name] = self.fresh(name, inner.kind, inner)
        return f"UNWIND {source.text} AS {binding.engine}"

    def _with(self) -> str:
        """`WITH [DISTINCT] columns [ORDER BY …] [SKIP …] [LIMIT …] [WHERE …]`."""
        distinct = self.accept("DISTINCT")
        columns = self._columns(named=True)
        bindings: dict[str, literals.Binding] = {}
        texts: list[str] = []
        for column in columns:
            binding = self._passed_on(column, bindings)
            bindings[column.name] = binding
            texts.append(f"{column.fragment.text} AS {binding.engine}")
        text = f"WITH {'DISTINCT ' if distinct else ''}{', '.join(texts)}"
        closed = distinct or any(column.fragment.aggregate for column in columns)
        self._require_no_order(columns, distinct=distinct)
        text += self._order_and_limit(bindings, closed=closed, limited=False)
        self._ordered |= " ORDER BY " in text
        self._cut |= self._ordered and (" SKIP " in text or " LIMIT " in text)
        self.scope = bindings
        return text + self._where()

    def _require_no_order(self, columns: Sequence[_Column], *, distinct: bool) -> None:
        """Raise Invalid for summing up rows whose order counts: the engine forgets it."""
        summed = distinct or any(column.fragment.aggregate for column in columns)
        collected = any("collect(" in column.fragment.text for column in columns)
        if (summed and self._cut) or (collected and self._ordered):
            raise errors.Invalid(
                "What WITH … ORDER BY has put in order cannot be counted, collected or"
                " made DISTINCT after it.",
                hint="Count first, or return the rows in order.",
            )

    def _passed_on(
        self, column: _Column, taken: Mapping[str, literals.Binding]
    ) -> literals.Binding:
        """What a column of WITH is bound to: as before if it is a name only."""
        binding = self.scope.get(column.fragment.variable)
        if binding is None or binding.kind == "links" or binding in taken.values():
            return self.fresh(column.name, column.fragment.kind, column.fragment.type)
        return binding

    def _where(self) -> str:
        """`WHERE condition`, if it stands here."""
        condition = self.where_condition()
        return "" if condition is None else f" WHERE {condition.text}"

    def _return(self, *, limited: bool) -> tuple[str, Sequence[_Column]]:
        """`RETURN [DISTINCT] columns [ORDER BY …] [SKIP …] [LIMIT …]`."""
        distinct = self.accept("DISTINCT")
        columns = self._columns(named=False)
        bindings = {
            column.name: literals.Binding(
                f"c{place}", column.fragment.kind, column.fragment.type
            )
            for place, column in enumerate(columns)
        }
        texts = [
            f"{column.fragment.text} AS c{place}"
            for place, column in enumerate(columns)
        ]
        text = f"RETURN {'DISTINCT ' if distinct else ''}{', '.join(texts)}"
        closed = distinct or any(column.fragment.aggregate for column in columns)
        self._require_no_order(columns, distinct=distinct)
        text += self._order_and_limit(bindings, closed=closed, limited=limited)
        return text, columns

    def _columns(self, *, named: bool) -> list[_Column]:
        """`* | column , …`. Raises Invalid for two of one name."""
        columns: list[_Column] = []
        if self.accept_sign("*"):
            if not self.scope and not named:
                raise errors.Invalid("RETURN * has nothing to return.")
            columns = [_Column(name, self.bound(name)) for name in self.scope]
        if not columns or self.accept_sign(","):
            columns.append(self._column(named=named))
            while self.accept_sign(","):
                columns.append(self._column(named=named))
        _check_names([column.name for column in columns])
        _check_beside([column.fragment for column in columns])
        return columns

    def _column(self, *, named: bool) -> _Column:
        """`expression [AS name]`; without a name, its text in the query is its name."""
        start = self.current.start
        fragment = self.expression()
        if fragment.kind == "pattern":
            raise errors.Invalid(
                "A pattern is a condition; it cannot be returned.",
                hint="Use EXISTS { … }.",
            )
        stop = self.tokens[self.position - 1].end
        if self.accept("AS"):
            return _Column(self.name("a name after AS"), fragment)
        if named and not fragment.variable:
            raise errors.Invalid("What WITH passes on needs a name: … AS name.")
        return _Column(fragment.variable or self.text[start:stop], fragment)

    def _order_and_limit(
        self, bindings: Mapping[str, literals.Binding], *, closed: bool, limited: bool
    ) -> str:
        """ORDER BY, SKIP and LIMIT. After counting or DISTINCT only what was returned
        can be ordered by.
        """
        outside = self.scope
        self.scope = {**outside, **bindings}
        text = self._order_by(closed=closed, limited=limited)
        self.scope = {}
        if self.accept("SKIP") or self.accept("OFFSET"):
            text += f" SKIP {self._amount('SKIP').text}"
        text += self._limit(limited=limited)
        self.scope = outside
        return text

    def _order_by(self, *, closed: bool, limited: bool) -> str:
        """`ORDER BY key , …`, if it stands here."""
        if not self.accept("ORDER"):
            return ""
        self.expect_word("BY", "after ORDER")
        keys = [self._sort_key(closed=closed)]
        while self.accept_sign(","):
            keys.append(self._sort_key(closed=closed))
        text = f" ORDER BY {', '.join(keys)}"
        bounded = any(map(self.at_word, ("SKIP", "OFFSET", "LIMIT")))
        # The engine wants one of the two after WITH.
        return text if bounded or limited else f"{text} SKIP 0"

    def _limit(self, *, limited: bool) -> str:
        """`LIMIT number`; a limited answer has at most ROWS, and one to tell of more."""
        if not self.accept("LIMIT"):
            return f" LIMIT {ROWS + 1}" if limited else ""
        amount = self._amount("LIMIT")
        text = amount.text
        if limited and amount.kind == "whole" and text.isdigit():
            text = str(min(int(text), ROWS + 1))
        return f" LIMIT {text}"

    def _sort_key(self, *, closed: bool) -> str:
        """`expression [ASC | ASCENDING | DESC | DESCENDING]`."""
        fragment = self.expression()
        comparing.require_one_kind(fragment)
        if fragment.kind == "number" and self._divides():
            raise errors.Invalid(
                "Numbers are not put in order where something is divided: what is no"
                " number (0.0 / 0.0) would come first and not last.",
                hint="Pass the quotient on as toInteger, or order by its parts.",
            )
        if fragment.aggregate and not closed:
            raise errors.Invalid("ORDER BY cannot count unless the columns do.")
        if self.accept("DESC") or self.accept("DESCENDING"):
            return f"{fragment.text} DESC"
        if not self.accept("ASC"):
            self.accept("ASCENDING")
        return fragment.text

    def _divides(self) -> bool:
        return any(token.kind == "sign" and token.value == "/" for token in self.tokens)

    def _amount(self, word: str) -> fragments.Fragment:
        """The number after SKIP and LIMIT, or a parameter for it."""
        fragment = self.expression()
        integer = fragment.kind in ("whole", "") and not fragment.aggregate
        if not integer or fragment.text.startswith("-"):
            raise errors.Invalid(f"{word} takes a whole number that is not negative.")
        return fragment


_MARK = re.compile(
    r"'(?:[^'\\]|\\.)*'|`[^`]*`"
    r"|(?P<case>\bCASE\b)|(?P<end>\bEND\b)"
    r"|(?P<walk>\b(?:any|list_filter|list_transform)\()",
    re.DOTALL,
)


def _require_no_walk_in_case(text: str) -> None:
    """Raise Invalid for a list whose elements are asked inside CASE: the engine takes
    the elements of another row's list.
    """
    depth = 0
    for mark in _MARK.finditer(text):
        if mark["case"]:
            depth += 1
        elif mark["end"]:
            depth -= 1
        elif mark["walk"] and depth:
            raise errors.Invalid(
                "What is asked of a list's elements cannot stand inside CASE, or in an"
                " element of such a list.",
                hint="Compute it in WITH first.",
            )


_KEY = re.compile(r"v[0-9]+(?:\.`[^`]+`)*")


def _check_beside(columns: Sequence[fragments.Fragment]) -> None:
    """Raise Invalid for what stands beside an aggregate and is no column of its own."""
    keys = {column.text for column in columns if not column.aggregate}
    for column in columns:
        for text in column.beside:
            plain = text.strip("()")
            if plain not in keys or not _KEY.fullmatch(plain):
                raise errors.Invalid(
                    "Beside what is counted may stand only a name or a property that is"
                    " a column of its own.",
                    hint="Pass it on with WITH first.",
                )


def _check_names(names: Sequence[str]) -> None:
    """Raise Invalid for too many columns, or two of one name."""
    if len(names) > COLUMNS:
        raise errors.Invalid(
            f"A query has at most {COLUMNS} columns, not {len(names)}."
        )
    for name in names:
        if names.count(name) > 1:
            raise errors.Invalid(f"Two columns have the name {name[:60]}.")


def readable(message: str, names: Mapping[str, str]) -> str:
    """A sentence of the engine with the caller's names in it."""
    for engine, name in sorted(names.items(), key=lambda pair: -len(pair[0])):
        message = message.replace(f" {engine} ", f" {name} ").replace(
            f" {engine}.", f" {name}."
        )
    return message
