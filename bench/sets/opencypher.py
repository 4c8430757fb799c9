"""The openCypher scenarios: feature files read, their graphs built from CREATE, their
tables of expected values.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reverie.graph.cypher import lexer, projection

NOTHING = "~"  # the kind of a node without labels


class Unread(Exception):
    """A given graph or a value that this reader does not know how to make."""


@dataclass(slots=True)
class Scenario:
    """One scenario, or one example of an outline."""

    folder: str
    name: str
    given: list[str] = field(default_factory=list[str])
    query: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])
    expected: list[list[str]] | None = None
    ordered: bool = False
    loose: bool = False  # the order inside lists does not count
    error: str = ""
    writes: bool = False


@dataclass(slots=True)
class Graph:
    """What the CREATE statements of a scenario make."""

    nodes: list[projection.ProjectedNode] = field(
        default_factory=list[projection.ProjectedNode]
    )
    edges: list[projection.ProjectedEdge] = field(
        default_factory=list[projection.ProjectedEdge]
    )


def scenarios(folder: Path) -> Iterator[Scenario]:
    """Every scenario below a folder; an outline once for each of its examples."""
    for path in sorted(folder.rglob("*.feature")):
        background: list[list[str]] = []
        for title, lines in _blocks(path.read_text("utf-8")):
            if title == "Background":
                background = [lines]
                continue
            for values in _examples(lines):
                filled = [_filled(line, values) for line in lines]
                shown = ", ".join(values.values())
                one = Scenario(
                    str(path.parent.relative_to(folder)),
                    f"{path.stem} {_filled(title, values)} {shown}",
                )
                for part in [*background, filled]:
                    _steps(part, one, folder)
                yield one


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    title, lines = "", list[str]()
    for line in text.splitlines():
        found = re.match(r"\s*(Background|Scenario Outline|Scenario):\s*(.*)", line)
        if found:
            if title:
                yield title, lines
            title, lines = found[2] or "Background", []
        elif title and not line.lstrip().startswith("#"):
            lines.append(line)
    if title:
        yield title, lines


def _examples(lines: Sequence[str]) -> list[Mapping[str, str]]:
    starts = [n for n, line in enumerate(lines) if line.strip().startswith("Examples:")]
    if not starts:
        return [{}]
    found: list[Mapping[str, str]] = []
    for start in starts:
        rows = [
            _cells(line)
            for line in itertools.takewhile(lambda row: row.strip(), lines[start + 1 :])
        ]
        found += [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    return found


def _cells(line: str) -> list[str]:
    return [
        cell.strip().replace("\\|", "|")
        for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]
    ]


def _filled(line: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        line = line.replace(f"<{name}>", value)
    return line


def _steps(lines: Sequence[str], one: Scenario, folder: Path) -> None:
    place = 0
    while place < len(lines):
        line = re.sub(r"^(Given|And|When|Then|But)\s+", "", lines[place].strip())
        place += 1
        text, table = "", list[list[str]]()
        if place < len(lines) and lines[place].strip() == '"""':
            stop = next(
                n for n in range(place + 1, len(lines)) if lines[n].strip() == '"""'
            )
            text, place = "\n".join(lines[place + 1 : stop]), stop + 1
        while place < len(lines) and lines[place].strip().startswith("|"):
            table.append(_cells(lines[place]))
            place += 1
        if line.startswith("Examples"):
            return
        _step(line, text, table, one, folder)


def _step(
    line: str, text: str, table: list[list[str]], one: Scenario, folder: Path
) -> None:
    if line.startswith("having executed"):
        one.given.append(text)
    elif line.startswith("parameters are"):
        one.parameters = {row[0]: row[1] for row in table}
    elif line.startswith("executing query"):
        one.query = text
    elif line.startswith("the result should be empty"):
        one.expected = [[]]
    elif line.startswith("the result should be"):
        one.expected, one.ordered, one.loose = (
            table,
            ", in order" in line,
            "ignoring element order" in line,
        )
    elif " should be raised" in line:
        one.error = line.split(" should be")[0] + line.rsplit(":", 1)[-1]
    elif line.startswith("the side effects should be"):
        one.writes = True
    elif found := re.match(r"the (binary-tree-\d) graph", line):
        one.given.append((folder / "graphs" / f"{found[1]}.cypher").read_text("utf-8"))


class Values(lexer.TokenCursor):
    """Reads the values that expectations, parameters and CREATE are written with."""

    def __init__(self, text: str, known: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.known = known or {}

    def value(self) -> Any:
        token = self.current
        if token.kind in ("string", "whole", "number"):
            self.advance()
            return {"string": str, "whole": int, "number": float}[token.kind](
                token.value
            )
        if self.accept_sign("-"):
            return -self.value()
        if self.accept_sign("["):
            if self.at_sign(":"):
                relation = ("link", self.labels()[0], self.properties())
                self.expect("]", "after a link")
                return relation
            found = list[Any]()
            while not self.accept_sign("]"):
                found.append(self.value())
                self.accept_sign(",")
            return found
        if self.at_sign("{"):
            return self.properties()
        if self.at_sign("("):
            return self.node()
        if self.accept_sign("<"):
            return self.path()
        return self.named()

    def named(self) -> Any:
        name = self.name("a value")
        if name.lower() in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[name.lower()]
        if name in ("NaN", "Inf", "Infinity"):
            return name.lower()
        if name in self.known:
            return self.known[name]
        raise Unread(f"the value {name}")

    def labels(self) -> list[str]:
        found = list[str]()
        while self.accept_sign(":"):
            found.append(self.name("a label"))
        return found

    def properties(self) -> dict[str, Any]:
        found = dict[str, Any]()
        if self.accept_sign("{"):
            while not self.accept_sign("}"):
                name = self.name("a property")
                self.expect(":", "after a property")
                found[name] = self.value()
                self.accept_sign(",")
        return found

    def node(self) -> tuple[str, frozenset[str], dict[str, Any]]:
        self.expect("(", "at a node")
        found = ("node", frozenset(self.labels()), self.properties())
        self.expect(")", "after a node")
        return found

    def path(self) -> Any:
        nodes, links = [self.node()], list[Any]()
        while not self.accept_sign(">"):
            left = self.accept_sign("<")
            self.expect("-", "at a link")
            self.expect("[", "at a link")
            links.append((*("link", self.labels()[0], self.properties()), left))
            self.expect("]", "after a link")
            self.expect("-", "after a link")
            self.accept_sign(">")
            nodes.append(self.node())
        return ("path", nodes, [link[:3] for link in links])


class _Maker(Values):
    """Runs CREATE statements, with UNWIND of a range before them at most."""

    def __init__(
        self, text: str, graph: Graph, names: dict[str, str], known: Mapping[str, Any]
    ) -> None:
        super().__init__(text, known)
        self.graph, self.names = graph, names

    def run(self) -> None:
        while self.current.kind != "end":
            if self.accept("CREATE"):
                self.pattern()
                while self.accept_sign(","):
                    self.pattern()
            elif not self.accept_sign(";"):
                raise Unread(f"{self.current.value} in the given graph")

    def pattern(self) -> None:
        start = self.end()
        while self.at_sign("-", "<"):
            left = self.accept_sign("<")
            self.expect("-", "at a link")
            self.expect("[", "at a link")
            if self.current.kind in ("name", "quoted"):
                self.advance()
            relation, properties = self.labels()[0], self.properties()
            self.expect("]", "after a link")
            self.expect("-", "after a link")
            self.accept_sign(">")
            stop = self.end()
            pair = (stop, start) if left else (start, stop)
            self.graph.edges.append(
                projection.ProjectedEdge(*pair, relation, properties=properties)
            )
            start = stop

    def end(self) -> str:
        self.expect("(", "at a node")
        name = self.advance().value if self.current.kind in ("name", "quoted") else ""
        labels, properties = self.labels(), self.properties()
        self.expect(")", "after a node")
        if name and name in self.names:
            return self.names[name]
        key = f"n{len(self.graph.nodes)}"
        kind = ":".join(sorted(set(labels))) or NOTHING
        own = {n: v for n, v in properties.items() if v is not None}
        name_, type_, said = (
            own.pop("name", None),
            own.pop("type", None),
            own.pop("description", None),
        )
        self.graph.nodes.append(
            projection.ProjectedNode(key, kind, name_, type_, said, own)
        )
        if name:
            self.names[name] = key
        return key


def graph(given: Sequence[str]) -> Graph:
    """The graph that these statements make; raises Unread for what is more than CREATE."""
    made = Graph()
    for text in given:
        found = re.match(
            r"\s*UNWIND\s+range\((\d+),\s*(\d+)\)\s+AS\s+(\w+)\s+(CREATE.*)",
            text,
            re.DOTALL,
        )
        if found:
            for number in range(int(found[1]), int(found[2]) + 1):
                _Maker(found[4], made, {}, {found[3]: number}).run()
        else:
            _Maker(text, made, {}, {}).run()
    return made
