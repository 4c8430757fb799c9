"""One table, one writer: the rows of a table are written by a single module.

Reads SQL out of the string literals in src/reverie and out of the .sql files beside its
modules, and fails when two modules write the same table. Migrations are left out: they
own the shape of every table. `-v` prints which module writes what.
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

SHARED: dict[str, str] = {}
"""Tables that more than one module may write, each with its reason."""

RUN_TIME = "reverie.records.base"
"""The one module that names its table at run time: it writes the table of every
`record_types.Domain(name=…)`.
"""

MIGRATIONS = "migrations"

_NAME = r'(?:ONLY\s+)?((?:"?\w+"?\.)?"?(?:\w+|\{\w*\})"?)'
_WRITES = (
    re.compile(rf"\bINSERT\s+INTO\s+{_NAME}", re.IGNORECASE),
    re.compile(rf"\bDELETE\s+FROM\s+{_NAME}", re.IGNORECASE),
    re.compile(rf"\bMERGE\s+INTO\s+{_NAME}", re.IGNORECASE),
    re.compile(rf"\bTRUNCATE\s+(?:TABLE\s+)?{_NAME}"),
    re.compile(rf"\bUPDATE\s+{_NAME}(?:\s+(?:AS\s+)?\w+)?\s+SET\b", re.IGNORECASE),
    re.compile(rf"\bCOPY\s+{_NAME}\s*(?:\([^)]*\))?\s*FROM\s+STDIN\b", re.IGNORECASE),
)
_TEMPORARY = re.compile(
    rf"\bCREATE\s+TEMP(?:ORARY)?\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}",
    re.IGNORECASE,
)
_SQL_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def _docstrings(tree: ast.AST) -> set[ast.expr]:
    """Strings that stand alone: prose, never sent to a database."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def _literals(source: str) -> Iterator[str]:
    """Each string of a module; the places of an f-string become `{}`."""
    tree = ast.parse(source)
    prose = _docstrings(tree)
    inner: set[ast.expr] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inner.update(node.values)
            if node not in prose:
                yield "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "{}"
                    for part in node.values
                )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and node not in prose | inner
        ):
            yield node.value


def _name_of(function: ast.expr) -> str:
    """The last name of what is called: `Domain` of `record_types.Domain`."""
    return ast.unparse(function).rpartition(".")[2]


def _domains(source: str) -> Iterator[str]:
    """The tables that a module hands to RUN_TIME by declaring a domain."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and _name_of(node.func) == "Domain":
            yield from (
                str(given.value.value)
                for given in node.keywords
                if given.arg == "name" and isinstance(given.value, ast.Constant)
            )


def tables(text: str) -> set[str]:
    """The tables that an SQL text writes; a table named at run time comes out as
    `{name}`.
    """
    text = _SQL_COMMENT.sub(" ", text)
    temporary = {_plain(name) for name in _TEMPORARY.findall(text)}
    return {
        _plain(name) for pattern in _WRITES for name in pattern.findall(text)
    } - temporary


def _plain(name: str) -> str:
    return name.replace('"', "").lower().removeprefix("public.")


def _owner(path: Path, root: Path) -> str:
    """The module a file belongs to: itself; for SQL the module of the same name, or
    else the package.
    """
    if path.suffix == ".sql" and not path.with_suffix(".py").exists():
        path = path.parent
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def writers(root: Path) -> dict[str, set[str]]:
    """Table -> the modules under `root` that write it."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(root.rglob("*")):
        if path.suffix not in {".py", ".sql"} or path.relative_to(root).parts[0] in {
            MIGRATIONS,
            "sample",
        }:
            continue
        text = path.read_text(encoding="utf-8")
        # One text per module, so that a temporary table made in one statement is known
        # in the next.
        whole = "\n;\n".join(_literals(text)) if path.suffix == ".py" else text
        owner = _owner(path, root)
        for table in tables(whole):
            if not (table.startswith("{") and owner == RUN_TIME):
                found[table].add(owner)
        if path.suffix == ".py":
            for table in _domains(text):
                found[table].add(RUN_TIME)
    return dict(found)


def main() -> int:
    """Print what is wrong and return 1, or return 0."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "root",
        nargs="?",
        type=Path,
        default=Path(__file__).parent.parent / "src" / "reverie",
    )
    options.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="print which module writes which table",
    )
    given = options.parse_args()
    found = writers(given.root.resolve())
    if given.verbose:
        for table, modules in sorted(found.items()):
            print(f"{table:24} {', '.join(sorted(modules))}")
    faults = 0
    for table, modules in sorted(found.items()):
        who = " and ".join(sorted(modules))
        if table.startswith("{"):
            faults += 1
            print(
                f"one_writer: {who} names a table it writes at run time ({table}), so nobody can see "
                "who writes what. Write the name out."
            )
        elif len(modules) > 1 and table not in SHARED:
            faults += 1
            print(
                f"one_writer: {who} both write the table {table}; a table has one writer. "
                "Let the others call a function of its owner."
            )
    if not faults:
        print(f"one_writer: {len(found)} tables, one writer each")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
