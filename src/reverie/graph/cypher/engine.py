"""Query engine: a child process that holds one user's graph in Ladybug, read-only.

It speaks in frames over its standard streams: four bytes of length, then JSON. First
come nodes and links, then `ready`; from there on it can open no file and no socket,
write nothing, and take little more memory than it has. Every query runs in a
transaction that only reads. Whoever started it ends it when a query takes too long.
"""

import contextlib
import itertools
import json
import os
import re
import resource
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import ladybug

from reverie.graph.cypher import columns, rendering

# Bytes; see docs/decisions/0017.
_BUFFER_POOL = 768 << 20
_LARGEST_DATABASE = 1 << 30
_MORE_ADDRESS_SPACE = 1 << 30
_THREADS = 2
_NAME = re.compile(r"\w{1,100}")
_RESERVED = frozenset(
    {"from", "to", "_id", "_label", "_src", "_dst", "_nodes", "_rels"}
)
_CSV = "file_format='csv', header=true, parallel=false, auto_detect=false, delim=',', quote='\"', escape='\"'"

_NODE_COLUMNS = ("key", "name", "type", "description")
_LINK_COLUMNS = ("link_type", "confidence", "valid_from", "valid_to")
Row = dict[str, Any]


class GraphDatabase:
    """The Ladybug database in memory, its tables, and their rows until it is filled."""

    def __init__(self) -> None:
        self.database = ladybug.Database(
            ":memory:",
            buffer_pool_size=_BUFFER_POOL,
            max_db_size=_LARGEST_DATABASE,
            max_num_threads=_THREADS,
        )
        self.connection = ladybug.Connection(self.database, num_threads=_THREADS)
        self.nodes: dict[str, dict[str, Row]] = {}
        self.links: dict[str, dict[tuple[str, str], list[Row]]] = {}
        self.relations: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._keys: dict[tuple[int, int], str] | None = None

    def add_nodes(self, rows: Sequence[Sequence[Any]]) -> None:
        """Nodes to be kept; a second one of the same key is left out."""
        for kind, key, name, type_, description, properties in rows:
            if key in self._kinds:
                continue
            self._kinds[key] = kind
            own = {"key": key, "name": name, "type": type_, "description": description}
            row = {**_as_columns(properties, own), **own}
            self.nodes.setdefault(kind, {})[key] = row

    def add_links(self, rows: Sequence[Sequence[Any]]) -> None:
        """Links to be kept; one with an end that is not here is left out."""
        for (
            start,
            stop,
            relation,
            link_type,
            confidence,
            valid_from,
            valid_to,
            properties,
        ) in rows:
            start_kind, stop_kind = self._kinds.get(start), self._kinds.get(stop)
            if start_kind is None or stop_kind is None:
                continue
            own: Row = {
                "link_type": link_type,
                "confidence": confidence,
                "valid_from": valid_from,
                "valid_to": valid_to,
            }
            row = {
                " start": start,
                " stop": stop,
                **own,
                **(_as_columns(properties, own) if properties else {}),
            }
            pairs = self.links.setdefault(relation, {})
            pairs.setdefault((start_kind, stop_kind), []).append(row)

    def settle(
        self,
        kinds: Mapping[str, Mapping[str, str]],
        relations: Mapping[str, Mapping[str, str]],
    ) -> Row:
        """Make the tables and fill them; gives the shape that came of it."""
        nodes = self._settle_nodes(kinds)
        links = self._settle_links(relations, list(nodes))
        self._kinds.clear()
        return {"nodes": nodes, "relations": links}

    def _settle_nodes(
        self, kinds: Mapping[str, Mapping[str, str]]
    ) -> dict[str, dict[str, str]]:
        """A table for each kind; gives their columns with their types."""
        tables: dict[str, list[Row]] = {kind: [] for kind in kinds}
        tables |= {kind: list(rows.values()) for kind, rows in self.nodes.items()}
        self.nodes.clear()
        settled = columns.settled(tables, kinds, _NODE_COLUMNS)
        for kind, types in settled.items():
            listed = ", ".join(
                f"{columns.quoted(name)} {columns.stored(type_)}"
                for name, type_ in types.items()
            )
            table = columns.quoted(kind)
            self.connection.execute(
                f"CREATE NODE TABLE {table}({listed}, PRIMARY KEY(`key`))"
            )
            self._copy(kind, types, tables.pop(kind), "")
        return settled

    def _settle_links(
        self, relations: Mapping[str, Mapping[str, str]], kinds: Sequence[str]
    ) -> Row:
        """A table for each relation; gives which kinds they join, and their columns."""
        tables: dict[str, list[Row]] = {name: [] for name in relations}
        tables |= {
            name: list(itertools.chain.from_iterable(pairs.values()))
            for name, pairs in self.links.items()
        }
        settled = columns.settled(tables, relations, _LINK_COLUMNS)
        del tables
        taken = {kind.lower() for kind in kinds}
        shape: Row = {}
        for name, types in settled.items():
            pairs = self.links.pop(name, {})
            relation = _free(name, taken)
            # A table of links needs two kinds, even if there is no link.
            self._create_links(relation, list(pairs) or [(kinds[0], kinds[0])], types)
            for (start, stop), rows in pairs.items():
                self._copy(
                    relation,
                    {" start": "STRING", " stop": "STRING", **types},
                    rows,
                    f" (from={columns.text(start)}, to={columns.text(stop)})",
                )
            looped = any(
                row[" start"] == row[" stop"] for rows in pairs.values() for row in rows
            )
            self.relations[relation] = name
            shape[relation] = {
                "pairs": list(pairs),
                "properties": types,
                "name": name,
                "looped": looped,
            }
        return shape

    def _create_links(
        self,
        relation: str,
        pairs: Sequence[tuple[str, str]],
        types: Mapping[str, str],
    ) -> None:
        ends = [
            f"FROM {columns.quoted(start)} TO {columns.quoted(stop)}"
            for start, stop in pairs
        ]
        listed = "".join(
            f", {columns.quoted(name)} {columns.stored(type_)}"
            for name, type_ in types.items()
        )
        self.connection.execute(
            f"CREATE REL TABLE {columns.quoted(relation)}({', '.join(ends)}{listed})"
        )

    def _copy(
        self, table: str, types: Mapping[str, str], rows: Sequence[Row], ends: str
    ) -> None:
        """Fill a table in one go, by way of a file without a name that only this
        process can open.
        """
        if not rows:
            return
        with _unnamed_file() as file:
            _write_csv(file, types, rows)
            names = [f"f{place}" for place in range(len(types))]
            typed = zip(names, types.values(), strict=True)
            fields = ", ".join(
                f"{name} {columns.file_type(type_)}" for name, type_ in typed
            )
            values = ", ".join(map(columns.read_back, names, types.values()))
            path = columns.text(_path_of(file))
            source = (
                f"LOAD WITH HEADERS ({fields}) FROM {path} ({_CSV}) RETURN {values}"
            )
            self.connection.execute(
                f"COPY {columns.quoted(table)} FROM ({source}){ends}"
            )

    def ask(
        self, text: str, parameters: Row, seconds: float, page: rendering.AnswerRows
    ) -> None:
        """Run one query and fill the page."""
        self.connection.set_query_timeout(int(seconds * 1000))
        self.connection.execute("BEGIN TRANSACTION READ ONLY")
        try:
            result = self.connection.execute(text, parameters)
            if isinstance(result, list):
                raise TypeError("one statement, one result")
            while result.has_next() and page.open:
                page.add(list(result.get_next()), self.key, self.relations)
            result.close()
        finally:
            # A query that went wrong has ended the transaction already.
            with contextlib.suppress(RuntimeError):
                self.connection.execute("ROLLBACK")

    def key(self, node: Mapping[str, int]) -> str | None:
        """The key of the node that the engine knows by its own number."""
        keys = self._keys
        if keys is None:
            result = self.connection.execute("MATCH (n) RETURN id(n), n.`key`")
            rows = cast(list[list[Any]], cast(ladybug.QueryResult, result).get_all())
            keys = self._keys = {
                (row[0]["table"], row[0]["offset"]): row[1] for row in rows
            }
        return keys.get((node["table"], node["offset"]))


def _as_columns(properties: Mapping[str, Any], own: Mapping[str, Any]) -> Row:
    """The properties whose names can be columns beside our own; the engine knows names
    without case.
    """
    seen = {name.lower() for name in own}
    named: Row = {}
    for name, value in properties.items():
        name += "_" if name.lower() in _RESERVED else ""
        if _NAME.fullmatch(name) and name.lower() not in seen:
            seen.add(name.lower())
            named[name] = value
    return named


def _free(name: str, taken: set[str]) -> str:
    """A name for a table: the engine has one set of names for all, without case."""
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _write_csv(file: IO[bytes], types: Mapping[str, str], rows: Sequence[Row]) -> None:
    """The rows as CSV, with a header of `f0`, `f1`, …"""
    fields = [
        columns.fields([row.get(name) for row in rows], type_)
        for name, type_ in types.items()
    ]
    lines = [
        ",".join(f"f{place}" for place in range(len(types))),
        *map(",".join, zip(*fields, strict=True)),
    ]
    file.write(("\n".join(lines) + "\n").encode("utf-8", "replace"))
    file.flush()


def _unnamed_file() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("graph"), "w+b")
    return tempfile.NamedTemporaryFile("w+b")


def _path_of(file: IO[bytes]) -> str:
    if hasattr(os, "memfd_create"):
        return f"/dev/fd/{file.fileno()}"
    return str(file.name)


def _close_doors() -> None:
    """From here on: no file, no socket, no writing, no core, and little more memory."""
    mapped = _address_space()
    if mapped:
        most = mapped + _MORE_ADDRESS_SPACE
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (0, 0))


def _address_space() -> int:
    """How many bytes this process has mapped; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _limit_cpu(seconds: float) -> None:
    """End this process by itself when it has computed far longer than a query may take
    (its time limit, on each thread).
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    most = int(usage.ru_utime + usage.ru_stime + seconds * _THREADS) + 2
    _, hard_limit = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (most, hard_limit))


def _frames(stream: IO[bytes]) -> Iterator[Row]:
    while len(head := stream.read(4)) == 4:
        body = stream.read(struct.unpack(">I", head)[0])
        yield json.loads(body, object_hook=rendering.dated)


def _reply(stream: IO[bytes], message: Row) -> None:
    body = json.dumps(
        message, ensure_ascii=False, allow_nan=False, check_circular=False
    ).encode("utf-8", "replace")
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()


def _answered(graph: GraphDatabase, frame: Row) -> Row:
    """One query's reply. What went wrong is told by a word and the engine's first line."""
    _limit_cpu(frame["seconds"])
    page = rendering.AnswerRows(
        rows=frame["rows"], size=frame["size"], verbose=frame["verbose"]
    )
    try:
        graph.ask(frame["run"], frame["parameters"], frame["seconds"], page)
    except MemoryError:
        return {"error": "gone", "message": ""}
    except Exception as wrong:  # noqa: BLE001 -- the engine has no errors of its own
        message = str(wrong)
        line = message.strip().split("\n", 1)[0][:400]
        return {"error": _error_word(message), "message": line}
    return {"rows": page.rows, "truncated": not page.open}


# What stands in the engine's message, and the word that the projection knows it by.
_ERROR_WORDS = {"Interrupted": "time", "Buffer manager": "memory", "bad_alloc": "gone"}


def _error_word(message: str) -> str:
    for mark, word in _ERROR_WORDS.items():
        if mark in message:
            return word
    return "query"


def main() -> None:
    """Take the graph, close the doors, answer until nobody asks any more."""
    source = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    graph = GraphDatabase()
    for frame in _frames(source):
        if "nodes" in frame:
            graph.add_nodes(frame["nodes"])
        elif "links" in frame:
            graph.add_links(frame["links"])
        elif "ready" in frame:
            shape = graph.settle(frame["ready"]["kinds"], frame["ready"]["relations"])
            _close_doors()
            _reply(answers, {"shape": shape})
        else:
            _reply(answers, _answered(graph, frame))


if __name__ == "__main__":
    main()
