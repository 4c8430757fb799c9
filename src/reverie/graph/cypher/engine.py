"""The child process that holds one user's graph in Ladybug and answers queries about
it.

It speaks in frames over its standard streams: four bytes of length, then JSON. First
come nodes and links, then `ready`; from there on it can open no file and no socket,
write nothing, and take little more memory than it has. Every query runs in a
transaction that only reads. Whoever started it ends it when a query takes too long.
"""

import contextlib
import itertools
import json
import math
import os
import re
import resource
import struct
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import IO, Any, cast

import ladybug

from reverie.graph.cypher import rendering

_POOL = 768 << 20
_MAPPED = 1 << 30
_MORE = 1 << 30
_THREADS = 2
_NAME = re.compile(r"\w{1,100}")
_RESERVED = frozenset(
    {"from", "to", "_id", "_label", "_src", "_dst", "_nodes", "_rels"}
)
_SPLIT = "\x1f"
_LARGEST = 2**63
_CSV = "file_format='csv', header=true, parallel=false, auto_detect=false, delim=',', quote='\"', escape='\"'"

_LINK = ("link_type", "confidence", "valid_from", "valid_to")
_OWN = {"confidence": "DOUBLE", "valid_from": "TIMESTAMP", "valid_to": "TIMESTAMP"}
_PLAIN: Mapping[type, str] = {
    str: "STRING",
    float: "DOUBLE",
    bool: "BOOL",
    datetime: "TIMESTAMP",
}

Row = dict[str, Any]


class Graph:
    """The database in memory, its tables, and what a column of each holds."""

    def __init__(self) -> None:
        self.database = ladybug.Database(
            ":memory:",
            buffer_pool_size=_POOL,
            max_db_size=_MAPPED,
            max_num_threads=_THREADS,
        )
        self.connection = ladybug.Connection(self.database, num_threads=_THREADS)
        self.nodes: dict[str, dict[str, Row]] = {}
        self.links: dict[str, dict[tuple[str, str], list[Row]]] = {}
        self._kinds: dict[str, str] = {}
        self._keys: dict[tuple[int, int], str] | None = None

    def add_nodes(self, rows: Sequence[Sequence[Any]]) -> None:
        """Nodes to be kept; a second one of the same key is left out."""
        for kind, key, name, type_, description, properties in rows:
            if key not in self._kinds:
                self._kinds[key] = kind
                own = {
                    "key": key,
                    "name": name,
                    "type": type_,
                    "description": description,
                }
                self.nodes.setdefault(kind, {})[key] = {
                    **_named(properties, own),
                    **own,
                }

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
            pair = self._kinds.get(start), self._kinds.get(stop)
            if pair[0] is None or pair[1] is None:
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
                **(_named(properties, own) if properties else {}),
            }
            self.links.setdefault(relation, {}).setdefault(
                (pair[0], pair[1]), []
            ).append(row)

    def settle(
        self,
        kinds: Mapping[str, Mapping[str, str]],
        relations: Mapping[str, Mapping[str, str]],
    ) -> Row:
        """Make the tables and fill them; gives the shape that came of it."""
        nodes: dict[str, list[Row]] = {kind: [] for kind in kinds}
        nodes |= {kind: list(held.values()) for kind, held in self.nodes.items()}
        self.nodes.clear()
        shape: Row = {"nodes": {}, "relations": {}}
        for kind, columns in _columns(
            nodes, kinds, ("key", "name", "type", "description")
        ).items():
            listed = ", ".join(
                f"{_quoted(name)} {type_}" for name, type_ in columns.items()
            )
            self.connection.execute(
                f"CREATE NODE TABLE {_quoted(kind)}({listed}, PRIMARY KEY(`key`))"
            )
            self._copy(kind, columns, nodes.pop(kind), "")
            shape["nodes"][kind] = columns
        any_kind = next(iter(shape["nodes"]))
        links: dict[str, list[Row]] = {name: [] for name in relations}
        links |= {
            name: list(itertools.chain.from_iterable(pairs.values()))
            for name, pairs in self.links.items()
        }
        taken = {kind.lower() for kind in shape["nodes"]}
        for name, columns in _columns(links, relations, _LINK).items():
            pairs = self.links.pop(name, {})
            relation = _free(name, taken)
            joined = [
                f"FROM {_quoted(a)} TO {_quoted(b)}"
                for a, b in (pairs or {(any_kind, any_kind): []})
            ]
            listed = "".join(
                f", {_quoted(name)} {type_}" for name, type_ in columns.items()
            )
            self.connection.execute(
                f"CREATE REL TABLE {_quoted(relation)}({', '.join(joined)}{listed})"
            )
            for (start, stop), held in pairs.items():
                ends = {" start": "STRING", " stop": "STRING"}
                self._copy(
                    relation,
                    {**ends, **columns},
                    held,
                    f" (from={_text(start)}, to={_text(stop)})",
                )
            shape["relations"][relation] = {"pairs": list(pairs), "properties": columns}
        self._kinds.clear()
        return shape

    def _copy(
        self, table: str, columns: Mapping[str, str], rows: Sequence[Row], ends: str
    ) -> None:
        """Fill a table in one go, by way of a file without a name that only this
        process can open.
        """
        if not rows:
            return
        with _unnamed() as file:
            fields = [
                _fields([row.get(name) for row in rows], type_)
                for name, type_ in columns.items()
            ]
            lines = [
                ",".join(f"f{place}" for place in range(len(columns))),
                *map(",".join, zip(*fields, strict=True)),
            ]
            file.write(("\n".join(lines) + "\n").encode("utf-8", "replace"))
            file.flush()
            given = ", ".join(
                f"f{place} {_given(type_)}"
                for place, type_ in enumerate(columns.values())
            )
            read = ", ".join(
                _read(f"f{place}", type_)
                for place, type_ in enumerate(columns.values())
            )
            path = (
                f"/dev/fd/{file.fileno()}"
                if hasattr(os, "memfd_create")
                else str(file.name)
            )
            source = (
                f"LOAD WITH HEADERS ({given}) FROM {_text(path)} ({_CSV}) RETURN {read}"
            )
            self.connection.execute(f"COPY {_quoted(table)} FROM ({source}){ends}")

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
                page.add(list(result.get_next()), self.key)
            result.close()
        finally:
            with contextlib.suppress(
                RuntimeError
            ):  # a query that went wrong has ended the transaction already
                self.connection.execute("ROLLBACK")

    def key(self, node: Mapping[str, int]) -> str | None:
        """The key of the node that the engine knows by its own number."""
        keys = self._keys
        if keys is None:
            found = self.connection.execute("MATCH (n) RETURN id(n), n.`key`")
            rows = cast(list[list[Any]], cast(ladybug.QueryResult, found).get_all())
            keys = self._keys = {
                (row[0]["table"], row[0]["offset"]): row[1] for row in rows
            }
        return keys.get((node["table"], node["offset"]))


def _named(properties: Mapping[str, Any], own: Mapping[str, Any]) -> Row:
    """The properties whose names can be columns beside our own; the engine knows names
    without case.
    """
    seen = {name.lower() for name in own}
    found: Row = {}
    for name, value in properties.items():
        name += "_" if name.lower() in _RESERVED else ""
        if _NAME.fullmatch(name) and name.lower() not in seen:
            seen.add(name.lower())
            found[name] = value
    return found


def _free(name: str, taken: set[str]) -> str:
    """A name for a table: the engine has one set of names for all, without case."""
    while name.lower() in taken:
        name += "_"
    taken.add(name.lower())
    return name


def _columns(
    tables: Mapping[str, Sequence[Row]],
    given: Mapping[str, Mapping[str, str]],
    own: Sequence[str],
) -> dict[str, dict[str, str]]:
    """The columns of each table with their types. A name has one type in all of them,
    so that all can be asked at once: the narrowest that holds every value, and the
    given one where there is none.
    """
    types = _OWN | {
        name: type_ for columns in given.values() for name, type_ in columns.items()
    }
    found: dict[str, set[str]] = {}
    columns: dict[str, list[str]] = {}
    spelled: dict[str, str] = {}
    for table, rows in tables.items():
        names = [
            name
            for name in dict.fromkeys(itertools.chain(own, given.get(table, ()), *rows))
            if name[0] != " "
        ]
        columns[table] = [
            name for name in names if spelled.setdefault(name.lower(), name) == name
        ]
        for name in columns[table]:
            found.setdefault(name, set()).update(
                _kinds([row[name] for row in rows if name in row])
            )
    settled = {
        name: _type(kinds, types.get(name, "STRING")) for name, kinds in found.items()
    }
    return {
        table: {name: settled[name] for name in names}
        for table, names in columns.items()
    }


def _kinds(values: Sequence[object]) -> set[str]:
    """What kinds of values a column holds, NULL not counted."""
    types = set(map(type, values)) - {type(None)}
    if len(types) == 1 and (plain := _PLAIN.get(next(iter(types)))):
        return {plain}
    return {_kind(value) for value in values if value is not None}


def _kind(value: object) -> str:
    match value:
        case bool():
            return "BOOL"
        case int():
            return "INT64" if -_LARGEST <= value < _LARGEST else "TEXT"
        case float():
            return "DOUBLE"
        case str():
            return "STRING"
        case datetime():
            return "TIMESTAMP"
        case date():
            return "DATE"
        case list() if value:
            parts = cast(list[object], value)
            if all(
                isinstance(part, str) and part and _SPLIT not in part for part in parts
            ):
                return "STRING[]"
            return "INT64[]" if {_kind(part) for part in parts} == {"INT64"} else "TEXT"
        case list():
            return "[]"
        case _:
            return "TEXT"


def _type(found: set[str], given: str) -> str:
    whole = found - {"[]"}
    if not whole:
        return given if not found or given.endswith("[]") else "STRING[]"
    if whole == {"INT64", "DOUBLE"} or (whole == {"INT64"} and given == "DOUBLE"):
        return "DOUBLE"
    if (
        len(whole) > 1
        or "TEXT" in whole
        or (len(found) > 1 and not next(iter(whole)).endswith("[]"))
    ):
        return "STRING"
    return next(iter(whole))


def _fields(values: Sequence[Any], type_: str) -> list[str]:
    """A column of CSV: nothing for NULL, quotes around text."""
    if not any(value is not None for value in values):
        return [""] * len(values)
    return ["" if value is None else _field(value, type_) for value in values]


def _field(value: object, type_: str) -> str:
    match type_:
        case "STRING" if isinstance(value, str):
            text = value
        case "INT64" | "DOUBLE":
            return (
                ""
                if isinstance(value, float) and not math.isfinite(value)
                else str(value)
            )
        case "BOOL":
            return "true" if value else "false"
        case "TIMESTAMP" if isinstance(value, datetime):
            return _moment(value)
        case "DATE":
            return str(value)
        case "STRING[]" if isinstance(value, list):
            if not value:
                return ""
            text = _SPLIT.join(str(part) for part in cast(list[object], value))
        case _:
            text = json.dumps(value, ensure_ascii=False, default=str)
    return '"' + text.replace("\0", "").replace('"', '""') + '"'


def _moment(value: datetime) -> str:
    """In UTC; a moment without a zone is taken to be there already."""
    there = value.astimezone(UTC) if value.tzinfo else value
    return there.replace(tzinfo=None).isoformat(" ")


def _given(type_: str) -> str:
    """The type of a column in the file: a list of texts is one text there."""
    return "STRING" if type_ == "STRING[]" else type_


def _read(field: str, type_: str) -> str:
    return f"string_split({field}, {_text(_SPLIT)})" if type_ == "STRING[]" else field


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _unnamed() -> IO[bytes]:
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("graph"), "w+b")
    return tempfile.NamedTemporaryFile("w+b")


def _wall() -> None:
    """From here on: no file, no socket, no writing, no core, and little more memory."""
    held = _mapped()
    if held:
        resource.setrlimit(resource.RLIMIT_AS, (held + _MORE, held + _MORE))
    for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(what, (0, 0))


def _mapped() -> int:
    """How much address space this process has; 0 where the system does not tell."""
    try:
        return (
            int(Path("/proc/self/statm").read_text("ascii").split()[0])
            * resource.getpagesize()
        )
    except OSError:
        return 0


def _hurry(seconds: float) -> None:
    """End this process by itself when it has computed far longer than a query may take."""
    spent = resource.getrusage(resource.RUSAGE_SELF)
    most = int(spent.ru_utime + spent.ru_stime + seconds * _THREADS) + 2
    resource.setrlimit(
        resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1])
    )


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


def _answered(graph: Graph, frame: Row) -> Row:
    """One query's reply. What went wrong is told by a word and the engine's first line."""
    _hurry(frame["seconds"])
    page = rendering.AnswerRows(
        rows=frame["rows"], size=frame["size"], verbose=frame["verbose"]
    )
    try:
        graph.ask(frame["run"], frame["parameters"], frame["seconds"], page)
    except MemoryError:
        return {"error": "gone", "message": ""}
    except Exception as wrong:  # noqa: BLE001 -- the engine has no errors of its own
        told = str(wrong)
        line = told.strip().split("\n", 1)[0][:400]
        if "Interrupted" in told:
            return {"error": "time", "message": line}
        if "Buffer manager" in told:
            return {"error": "memory", "message": line}
        if "bad_alloc" in told:
            return {"error": "gone", "message": line}
        return {"error": "query", "message": line}
    return {"rows": page.rows, "truncated": not page.open}


def main() -> None:
    """Take the graph, close the doors, answer until nobody asks any more."""
    source = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    graph = Graph()
    for frame in _frames(source):
        if "nodes" in frame:
            graph.add_nodes(frame["nodes"])
        elif "links" in frame:
            graph.add_links(frame["links"])
        elif "ready" in frame:
            shape = graph.settle(frame["ready"]["kinds"], frame["ready"]["relations"])
            _wall()
            _reply(answers, {"shape": shape})
        else:
            _reply(answers, _answered(graph, frame))


if __name__ == "__main__":
    main()
