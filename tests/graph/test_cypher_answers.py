"""What openCypher says that expressions and queries come to: answered so, or refused with
a sentence, and never answered otherwise.

The values were written by hand from the openCypher specification.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reverie import errors
from reverie.graph.cypher import projection, schema
from reverie.graph.cypher.projection import ProjectedEdge, ProjectedNode

HERE = Path(__file__).parent
EXPRESSIONS = HERE / "opencypher_expressions.jsonl"
QUERIES = HERE / "opencypher_queries.jsonl"
LABELS = ("A", "B", "C", "X", "T", "KNOWS")
RELATIONS = ("T", "U", "K", "L", "M", "KNOWS", "knows")


def _node(key: str, kind: str, **properties: object) -> ProjectedNode:
    name = properties.pop("name", None)
    return ProjectedNode(key, kind, str(name) if name else None, properties=properties)


def _edge(start: str, stop: str, relation: str, **properties: object) -> ProjectedEdge:
    return ProjectedEdge(start, stop, relation, properties=properties)


GRAPHS: Mapping[str, tuple[Sequence[ProjectedNode], Sequence[ProjectedEdge]]] = {
    "nothing": ([], []),
    "mixed": (
        [
            _node("a", "A", name="a", num=1),
            _node("b", "B", name="b", num=2, x="q"),
            _node("c", "C"),
            _node("d", schema.UNLABELLED, name="d"),
            _node("e", "A:B", num=3),
        ],
        [
            _edge("a", "b", "T", name="r", w=1),
            _edge("b", "c", "U"),
            _edge("c", "d", "T", w=5),
            _edge("d", "e", "K"),
        ],
    ),
    "loops": (
        [_node("a", "A", name="a"), _node("b", "B", name="b")],
        [_edge("a", "a", "L"), _edge("a", "b", "M"), _edge("b", "b", "M")],
    ),
    "names": (
        [_node("t", "T", name="t"), _node("u", "KNOWS", name="u")],
        [
            _edge("t", "u", "T", name="r"),
            _edge("u", "t", "KNOWS"),
            _edge("t", "u", "knows"),
        ],
    ),
    "kinds": (
        [
            _node(f"x{place}", "X", v=value)
            for place, value in enumerate((1, "one", [1], "1", 2.5, True))
        ],
        [],
    ),
    "lists": (
        [
            _node("x", "X", v=[1, 2], s=["a", "b"], f=[1.5, 2.5], e=[], b=[True]),
            _node("y", "X", v=[3]),
        ],
        [],
    ),
}


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def _loaded(name: str) -> projection.Projection:
    """A graph whose nodes have labels as openCypher has them: several, or none."""
    nodes, edges = GRAPHS[name]
    kinds = {node.kind for node in nodes} | set(LABELS)
    labels = {
        label: frozenset(kind for kind in kinds if label in kind.split(":"))
        for label in LABELS
    }
    held = projection.Projection(
        kinds={key: {"missing": "STRING"} for key in sorted(kinds)},
        relations={key: {"missing": "STRING"} for key in RELATIONS},
        labels=labels,
    )
    await held.load(nodes, edges)
    return held


def _exact(value: object) -> object:
    """A value that is equal to another one of its type only: 1 is not 1.0."""
    match value:
        case list():
            return ("list", *map(_exact, value))
        case dict() if "kind" in value or "relation" in value or "nodes" in value:
            return ("node, link or path",)
        case dict():
            return ("map", *sorted((name, _exact(of)) for name, of in value.items()))
        case _:
            return (type(value).__name__, repr(value))


async def _outcome(held: projection.Projection, text: str) -> list[list[Any]] | str:
    try:
        answer = await held.run(text, verbose=True)
    except errors.Invalid as refused:
        assert refused.message.endswith(".")  # noqa: PT017 -- either way is right
        return "an error"
    return [list(row) for row in answer.rows]


async def test_expressions_come_to_what_opencypher_says_or_are_refused() -> None:
    held = await _loaded("nothing")
    answered, wrong = 0, list[str]()
    lines = _lines(EXPRESSIONS)
    for line in lines:
        got = await _outcome(held, f"RETURN {line['ask']} AS x")
        if isinstance(got, str):
            continue
        answered += 1
        if _exact(got[0][0]) not in [_exact(right) for right in line["is"]]:
            wrong.append(f"{line['ask']}: {got[0][0]!r}, not {line['is']!r}")
    await held.close()
    assert not wrong, "\n".join(wrong)
    assert answered > 0.8 * len(lines)


@pytest.mark.parametrize("name", GRAPHS)
async def test_queries_answer_what_opencypher_says_or_are_refused(name: str) -> None:
    held = await _loaded(name)
    answered, wrong = 0, list[str]()
    lines = [line for line in _lines(QUERIES) if line["graph"] == name]
    for line in lines:
        got = await _outcome(held, line["ask"])
        if isinstance(got, str):
            continue
        answered += 1
        if not any(_same(got, right, line["ordered"]) for right in line["is"]):
            wrong.append(f"{line['ask']}: {got!r}, not {line['is']!r}")
    await held.close()
    assert not wrong, "\n".join(wrong)
    assert answered > 0.1 * len(lines)


def _same(got: list[list[Any]], right: object, ordered: bool) -> bool:
    if not isinstance(right, list):
        return False
    rows, wanted = ([_exact(row) for row in side] for side in (got, right))
    if not ordered:
        rows, wanted = sorted(rows, key=repr), sorted(wanted, key=repr)
    return rows == wanted


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("RETURN toString(1.5) AS x", "toString takes"),
        ("RETURN toInteger(true) AS x", "toInteger takes"),
        ("RETURN size({a: 1}) AS x", "size takes"),
        ("RETURN [1, 2.5] AS x", "values of one kind"),
        ("RETURN {a: 1, A: 2} AS x", "differ by nothing but their case"),
        ("MATCH (n) RETURN keys(n) AS x", "keys takes a map"),
        ("MATCH (n) RETURN properties(n) AS x", "properties takes a map"),
        ("MATCH (n) WHERE n.num + 'a' - 1 > 0 RETURN n", "takes numbers"),
        ("OPTIONAL MATCH p = (:A)-[:U]->() RETURN length(p) AS x", "can be returned"),
        ("UNWIND [2, 1] AS x WITH x ORDER BY x RETURN collect(x) AS l", "in order"),
        (
            "UNWIND [[1, null]] AS l RETURN all(x IN l WHERE x > 0) AS x",
            "may hold NULL",
        ),
        ("MATCH (n) RETURN n.num + n.num + count(*) AS x", "a column of its own"),
    ],
)
async def test_what_the_engine_would_tell_wrongly_is_refused(
    text: str, told: str
) -> None:
    held = await _loaded("mixed")
    with pytest.raises(errors.Invalid) as refused:
        await held.run(text)
    await held.close()
    assert told in refused.value.message
