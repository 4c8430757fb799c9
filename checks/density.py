"""How much a line and a function say at once: cyclomatic complexity with boolean
operators, comprehensions and ternaries counted, and syntax nodes a line of code.

A dense line meets a limit on lines and is no easier to read. Bounds: complexity at most
15, more than 10 in at most 3 % of functions, at most 8.5 nodes a line in any package.
Data (constants of a module that are written out, SQL among them) does not count: long
lists of words would hide what stands beside them.
"""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

COMPLEXITY = 15
OFTEN = 10
"""Complexity that few functions may be above."""
SHARE_ABOVE_OFTEN = 0.03
NODES_A_LINE = 8.5
LEAST_LINES = 40
"""A package with fewer lines of code has no density worth the name."""

EXCEPTIONS: dict[str, str] = {}
"""`module.py:function` that may be more complex, each with its reason; five at most."""

_BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.comprehension,
    ast.match_case,
)


_COMPUTING = (ast.comprehension, ast.Lambda, ast.BoolOp, ast.IfExp)


@dataclass(frozen=True, slots=True)
class Function:
    """A function, where it stands, and its complexity, nested functions included."""

    module: str
    line: int
    name: str
    complexity: int


@dataclass(frozen=True, slots=True)
class Module:
    """A module: syntax nodes and lines of its code, without blank lines, comments and
    data; its functions.
    """

    package: str
    nodes: int
    lines: int
    functions: Sequence[Function]


def complexity(function: ast.AST) -> int:
    """Ways through a function: one, one for each branch, one for each `and` and `or`."""
    ways = 1
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES):
            ways += 1
        elif isinstance(node, ast.BoolOp):
            ways += len(node.values) - 1
    return ways


def is_data(statement: ast.stmt) -> bool:
    """Whether a statement of a module writes a constant out, and computes nothing."""
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    return not any(isinstance(node, _COMPUTING) for node in ast.walk(statement))


def code_lines(text: str, data: Sequence[ast.stmt]) -> int:
    """Lines that are neither blank, nor a comment, nor of data."""
    apart: set[int] = set()
    for statement in data:
        apart.update(range(statement.lineno, (statement.end_lineno or 0) + 1))
    count = 0
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#") and number not in apart:
            count += 1
    return count


def functions(tree: ast.AST, module: str) -> Iterator[Function]:
    """Every function of a module, methods and nested ones, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(module, node.lineno, node.name, complexity(node))


def measured(path: Path, root: Path) -> Module:
    """One module, read and counted."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    name = str(path.relative_to(root))
    package = str(path.relative_to(root).parent)
    data = [statement for statement in tree.body if is_data(statement)]
    code = [statement for statement in tree.body if not is_data(statement)]
    nodes = sum(1 for statement in code for _ in ast.walk(statement))
    lines = code_lines(text, data)
    return Module(package, nodes, lines, list(functions(tree, name)))


def too_complex(every: Sequence[Function]) -> Iterator[str]:
    """Functions above the limit that are no exception."""
    for function in every:
        key = f"{function.module}:{function.name}"
        if function.complexity > COMPLEXITY and key not in EXCEPTIONS:
            yield (
                f"{function.module}:{function.line}: {function.name} has complexity "
                f"{function.complexity}; at most {COMPLEXITY}. Give its steps names."
            )


def too_many_complex(every: Sequence[Function]) -> Iterator[str]:
    """Whether more than a few functions are above `OFTEN`, and which are worst."""
    above = [function for function in every if function.complexity > OFTEN]
    if len(above) <= SHARE_ABOVE_OFTEN * len(every):
        return
    above.sort(key=lambda function: -function.complexity)
    worst = ", ".join(f"{each.module}:{each.line} {each.name}" for each in above[:10])
    yield (
        f"{len(above)} of {len(every)} functions have complexity above {OFTEN}; at most "
        f"{SHARE_ABOVE_OFTEN:.0%} may: {worst}."
    )


def too_dense(modules: Sequence[Module]) -> Iterator[str]:
    """Packages with too many syntax nodes a line."""
    nodes: defaultdict[str, int] = defaultdict(int)
    lines: defaultdict[str, int] = defaultdict(int)
    for module in modules:
        nodes[module.package] += module.nodes
        lines[module.package] += module.lines
    for package in sorted(nodes):
        if lines[package] < LEAST_LINES:
            continue
        density = nodes[package] / lines[package]
        if density > NODES_A_LINE:
            yield (
                f"{package}: {density:.2f} syntax nodes a line; at most {NODES_A_LINE}. "
                "Say one thing a line."
            )


def main() -> int:
    """Print what is wrong and return 1, or return 0."""
    options = argparse.ArgumentParser(description=__doc__)
    source = Path(__file__).resolve().parent.parent / "src" / "reverie"
    options.add_argument("root", nargs="?", type=Path, default=source)
    root = options.parse_args().root.resolve()
    paths = [path for path in sorted(root.rglob("*.py")) if "sample" not in path.parts]
    modules = [measured(path, root) for path in paths]
    every = [function for module in modules for function in module.functions]
    faults = [*too_complex(every), *too_many_complex(every), *too_dense(modules)]
    for fault in faults:
        print(f"density: {fault}")
    if not faults:
        above = sum(function.complexity > OFTEN for function in every)
        density = sum(m.nodes for m in modules) / max(1, sum(m.lines for m in modules))
        print(
            f"density: {density:.1f} syntax nodes a line, {above} of {len(every)} "
            f"functions above complexity {OFTEN}, none above {COMPLEXITY}"
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
