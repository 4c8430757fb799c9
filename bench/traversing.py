"""How fast a graph is ready to be asked and answers, and how much of openCypher it
understands.

    python bench/traversing.py [--nodes N] [--links N] [--tck DIR] [--show N] [--json]

With --tck the read-only scenarios of the openCypher TCK run through the product's own
door: each one's graph is built from its CREATE statements, loaded, and asked. Every
scenario counts, and each example of an outline is one. A label, a relation or a
property that a query names is declared, since the engine wants a schema and openCypher
has none; so is a node's set of labels as one kind. An error passes where one is
expected, whatever its name.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sets import opencypher

from reverie import errors
from reverie.graph.cypher import lexer, projection, schema

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
SEED, RUNS = 7, 5
PAIRS = (
    ("Person", "thinks_about", "Concept"),
    ("Person", "has_relationship_with", "Person"),
    ("Concept", "relates_to", "Concept"),
    ("Concept", "involves", "Person"),
    ("Concept", "involves", "Entity"),
    ("Concept", "produced", "Artifact"),
    ("Person", "relates_to", "Entity"),
    ("Entity", "relates_to", "Entity"),
    ("Source", "mentions", "Person"),
    ("Source", "mentions", "Entity"),
    ("Source", "mentions", "Concept"),
    ("Artifact", "sourced_from", "Source"),
    ("Person", "works_at", "Entity"),
    ("Person", "collaborates_with", "Person"),
)
QUERIES: Mapping[str, str] = {
    "one by key": "MATCH (n:Person {key: 'n0'}) RETURN n",
    "by a part of the name": "MATCH (n) WHERE n.name CONTAINS '77' RETURN n.key, n.name",
    "neighbours": "MATCH (:Person {key: 'n0'})-[r]-(b) RETURN r, b",
    "friends of friends": (
        "MATCH (a:Person {key: 'n0'})-[:collaborates_with]-(b)-[:collaborates_with]-(c) RETURN DISTINCT c.name"
    ),
    "two links from a hub": "MATCH (:Person {key: 'n0'})-[*1..2]-(b) RETURN count(DISTINCT b.key)",
    "three links from a hub": "MATCH (:Person {key: 'n0'})-[*1..3]-(b) RETURN count(DISTINCT b.key)",
    "three links from others": "MATCH (:Person {key: 'n9000'})-[*1..3]-(b) RETURN count(DISTINCT b.key)",
    "shortest path": "MATCH p = shortestPath((:Person {key: 'n9000'})-[*..4]-(:Person {key: 'n9500'})) RETURN p",
    "most mentioned": "MATCH (s:Source)-[:mentions]->(n) RETURN n.name, count(*) AS c ORDER BY c DESC LIMIT 10",
    "all by kind": "MATCH (n) RETURN labels(n)[0] AS kind, count(*) AS c",
    "too much, stopped": "MATCH (a)-[*1..8]-(b) RETURN count(*)",
}


def graph(nodes: int, links: int) -> projection.Rows:
    """A made-up graph of the specification's kinds and relations, some nodes far more
    linked than others.
    """
    chance = random.Random(SEED)
    kinds = list(schema.KINDS)
    made = [
        projection.ProjectedNode(
            f"n{place}",
            kinds[place % len(kinds)],
            f"Näme {place} 名",
            "company" if kinds[place % len(kinds)] == "Entity" else None,
            f"What is known of number {place}, in a sentence or two that somebody wrote down.",
            {"notes": "noted", "salience": chance.random()},
        )
        for place in range(nodes)
    ]
    by_kind = {kind: [node.key for node in made if node.kind == kind] for kind in kinds}
    since = datetime(2020, 1, 1, tzinfo=UTC)
    edges: list[projection.ProjectedEdge] = []
    for _ in range(links):
        start, relation, stop = chance.choice(PAIRS)
        ends = [
            by_kind[kind][int(len(by_kind[kind]) * chance.random() ** 2)]
            for kind in (start, stop)
        ]
        day = since + timedelta(days=chance.randrange(2000))
        edges.append(
            projection.ProjectedEdge(
                ends[0], ends[1], relation, "extracted", chance.random(), day
            )
        )
    return made, edges


async def speed(nodes: int, links: int) -> dict[str, Any]:
    """Seconds until a graph is ready, and milliseconds of each query, as the caller
    sees them.
    """
    made, edges = graph(nodes, links)
    held = projection.Projection()
    ready: list[float] = []
    for run in range(RUNS):
        started = time.perf_counter()
        await held.load(made, edges, version=run)
        ready.append(time.perf_counter() - started)
    answers: dict[str, Any] = {}
    for name, text in QUERIES.items():
        took: list[float] = []
        outcome = ""
        for _ in range(3 if "stopped" in name else 15):
            started = time.perf_counter()
            try:
                outcome = f"{len((await held.run(text)).rows)} rows"
            except errors.Invalid as refused:
                outcome = str(refused)
            took.append((time.perf_counter() - started) * 1000)
        answers[name] = {
            "median_ms": round(statistics.median(took), 1),
            "max_ms": round(max(took), 1),
            "got": outcome,
        }
    await held.close()
    return {
        "ready_s": [round(one, 2) for one in ready],
        "ready_median_s": round(statistics.median(ready), 2),
    } | answers


async def understood(folder: Path) -> dict[str, Any]:
    """Which scenarios pass, by folder, and why the others do not."""
    passed: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    failed: list[str] = []
    for scenario in opencypher.scenarios(folder):
        all_[scenario.folder] += 1
        reason = await outcome(scenario)
        if not reason:
            passed[scenario.folder] += 1
            continue
        reasons[scenario.folder][reason.split(": ")[0]] += 1
        failed.append(
            f"{scenario.name} | {reason} | {' '.join(scenario.query.split())}"
        )
    return {
        "passed": sum(passed.values()),
        "scenarios": sum(all_.values()),
        "share": round(sum(passed.values()) / sum(all_.values()), 4),
        "folders": {
            name: {
                "passed": passed[name],
                "scenarios": count,
                "reasons": dict(reasons[name].most_common()),
            }
            for name, count in all_.items()
        },
        "failed": failed,
    }


async def outcome(scenario: opencypher.Scenario) -> str:
    """Nothing if a scenario passes, else the reason why not."""
    try:
        made = opencypher.graph(scenario.given)
        parameters = {
            name: opencypher.Values(text).value()
            for name, text in scenario.parameters.items()
        }
    except (opencypher.Unread, errors.Invalid) as unread:
        return f"the given graph is not built: {unread}"
    held = projection.Projection()
    try:
        held = declared(made, scenario.query)
        await held.load(made.nodes, made.edges)
        answer = await held.run(scenario.query, parameters=parameters, verbose=True)
    except errors.Invalid as refused:
        told = "writes, so refused" if scenario.writes else "the parser refuses"
        told = "the engine refuses" if "cannot be answered" in str(refused) else told
        return "" if scenario.error else f"{told}: {refused}"
    except errors.Unavailable as broken:
        return f"the given graph is not loaded: {broken}"
    finally:
        await held.close()
    if scenario.error:
        return f"an error was expected: {scenario.error}"
    return compared(scenario, answer)


def declared(made: opencypher.Graph, query: str) -> projection.Projection:
    """A projection that knows the labels, relations and properties that a query names."""
    found = lexer.split(query)
    texts = [token.value if token.kind == "sign" else "" for token in found]
    names = [
        (n, token.value)
        for n, token in enumerate(found)
        if token.kind in ("name", "quoted")
    ]
    after = {value for n, value in names if texts[n - 1] in (":", "|")}
    properties = {
        value: "STRING"
        for n, value in names
        if texts[n - 1] == "." or texts[n + 1] == ":"
    }
    used = {node.kind for node in made.nodes} or {opencypher.NOTHING}
    related = {edge.relation for edge in made.edges} | {
        name for name in after if f"[:{name}" in query or "|" in query
    }
    related |= {
        value
        for n, value in names
        if texts[n - 1] in (":", "|") and "[" in (texts[n - 2], texts[n - 3])
    }
    labels = {
        name: frozenset(kind for kind in used if name in kind.split(":"))
        for name in after
    }
    labels |= {
        part: frozenset(k for k in used if part in k.split(":"))
        for kind in used
        for part in kind.split(":")
    }
    return projection.Projection(
        kinds=dict.fromkeys(sorted(used), properties),
        relations=dict.fromkeys(sorted(related) or ["~~"], properties),
        labels=labels,
    )


def compared(scenario: opencypher.Scenario, answer: projection.CypherAnswer) -> str:
    """Nothing if the answer is what was expected."""
    if scenario.expected is None:
        return "no expectation was read"
    head, *rows = scenario.expected
    if head and list(answer.columns) != head:
        if sorted(answer.columns) != sorted(head):
            return f"other columns: {answer.columns}"
        rows = [[row[head.index(name)] for name in answer.columns] for row in rows]
    wanted = [
        [frozen(opencypher.Values(cell).value(), scenario.loose) for cell in row]
        for row in rows
    ]
    got = [
        [frozen(plain(value), scenario.loose) for value in row] for row in answer.rows
    ]
    if not scenario.ordered:
        wanted, got = sorted(wanted, key=repr), sorted(got, key=repr)
    return "" if wanted == got else f"another answer: {got[:3]} for {wanted[:3]}"


def plain(value: Any) -> Any:
    """A value of an answer in the form of the expectations."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        if "nodes" in value and "links" in value:
            return ("path", plain(value["nodes"]), plain(value["links"]))
        rest = {name: plain(one) for name, one in value.items() if one is not None}
        if "kind" in rest and "key" in rest:
            labels = frozenset(
                part
                for part in rest.pop("kind").split(":")
                if part != opencypher.NOTHING
            )
            return (
                "node",
                labels,
                {name: one for name, one in rest.items() if name != "key"},
            )
        if "relation" in rest and "from" in rest:
            own = ("relation", "from", "to")
            return (
                "link",
                rest["relation"],
                {name: one for name, one in rest.items() if name not in own},
            )
        return {name: plain(one) for name, one in value.items()}
    return value


def frozen(value: Any, loose: bool) -> Any:
    """A value that compares and sorts by what it is: 1 is not 1.0 and not true."""
    match value:
        case list():
            parts = [frozen(one, loose) for one in value]
            return ("list", tuple(sorted(parts, key=repr) if loose else parts))
        case tuple():
            return tuple(frozen(one, loose) for one in value)
        case dict():
            return (
                "map",
                tuple(
                    sorted((name, frozen(one, loose)) for name, one in value.items())
                ),
            )
        case frozenset():
            return tuple(sorted(value))
        case _:
            return (type(value).__name__, value)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--links", type=int, default=50_000)
    parser.add_argument(
        "--tck",
        type=Path,
        nargs="?",
        const=DATA / "opencypher-tck",
        help="the scenarios' folder",
    )
    parser.add_argument(
        "--show", type=int, default=0, help="scenarios that fail, to be shown"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: dict[str, Any] = {}
    if options.nodes:
        report["speed"] = asyncio.run(speed(options.nodes, options.links))
    if options.tck:
        report["tck"] = asyncio.run(understood(options.tck))
    if options.json:
        print(json.dumps(report, indent=1, ensure_ascii=False))
    else:
        show(report, options.show)


def show(report: Mapping[str, Any], failures: int) -> None:
    """The figures as lines of text."""
    for name, value in report.get("speed", {}).items():
        if isinstance(value, dict):
            value = f"median {value['median_ms']} ms, at most {value['max_ms']} ms  ({value['got']})"
        print(f"{name:24} {value}")
    tck = report.get("tck")
    if not tck:
        return
    print(
        f"\nopenCypher: {tck['passed']} of {tck['scenarios']} scenarios pass ({tck['share']:.1%})"
    )
    for name, row in tck["folders"].items():
        _folder(name, row)
    for line in tck["failed"][:failures]:
        print("  ", line[:400])


def _folder(name: str, row: Mapping[str, Any]) -> None:
    reasons: Sequence[str] = [
        f"{reason} {count}" for reason, count in row["reasons"].items()
    ]
    print(
        f"  {name:26} {row['passed']:4} of {row['scenarios']:4}  {'; '.join(reasons)}"
    )


if __name__ == "__main__":
    main()
