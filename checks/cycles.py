"""Import cycles between modules, counted with dynamic imports.

import-linter keeps the layers and sees import statements alone. Here, a string that is
the dotted name of one of our modules counts as an import, too: that is what
`importlib.import_module` and `python -m` are given. An import inside a function or for
types only counts like any other.
"""

import argparse
import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

Graph = Mapping[str, frozenset[str]]


def module_paths(root: Path) -> dict[str, Path]:
    """Each module below `root` by its dotted name."""
    modules: dict[str, Path] = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        modules[".".join(parts).removesuffix(".__init__")] = path
    return modules


def imported_names(tree: ast.AST) -> Iterator[str]:
    """Every dotted name that a module imports, or that a string of it names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def import_graph(modules: Mapping[str, Path]) -> Graph:
    """Module -> the modules of ours that it imports. Empty packages count for nothing."""
    graph: dict[str, frozenset[str]] = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = {other for other in imported_names(tree) if other in modules}
        packages = {other for other in imports if modules[other].stem == "__init__"}
        graph[name] = frozenset(imports - packages - {name})
    return graph


def reachable(graph: Graph, start: str) -> set[str]:
    """All that `start` imports, directly or not."""
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        module = waiting.pop()
        if module not in seen:
            seen.add(module)
            waiting.extend(graph[module])
    return seen


def cycles(graph: Graph) -> list[list[str]]:
    """Groups of modules that reach each other, each group sorted."""
    reach = {module: reachable(graph, module) for module in graph}
    groups: set[tuple[str, ...]] = set()
    for module, others in reach.items():
        if module in others:
            members = {other for other in others if module in reach[other]}
            groups.add(tuple(sorted(members)))
    return [list(group) for group in sorted(groups)]


def main() -> int:
    """Print the cycles and return 1, or return 0."""
    options = argparse.ArgumentParser(description=__doc__)
    package = Path(__file__).resolve().parent.parent / "src" / "reverie"
    options.add_argument("root", nargs="?", type=Path, default=package)
    root = options.parse_args().root.resolve()
    graph = import_graph(module_paths(root))
    groups = cycles(graph)
    for group in groups:
        print(f"cycles: {', '.join(group)} import each other; move what they share")
    if not groups:
        print(f"cycles: none among {len(graph)} modules, dynamic imports counted")
    return 1 if groups else 0


if __name__ == "__main__":
    sys.exit(main())
