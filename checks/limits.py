"""The sizes and names that docs/architecture.md ("Voice of the code") asks for, kept by
a machine.

Modules stay within 500 lines and functions within 60 (architecture.md says about 400
and about 50; this is the hard end), no module has a name that says nothing, each opens
with a sentence saying what it owns, no two public classes share a name, and no loop
calls what it goes through `one`.
"""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

MODULE_LINES = 500
FUNCTION_LINES = 60
EMPTY_NAMES = frozenset(
    {"utils", "util", "helpers", "helper", "manager", "service", "core", "common"}
)
EMPTY_VARIABLES = frozenset({"one"})
SOURCE = 'docs/architecture.md, "Voice of the code"'

Trees = Mapping[Path, ast.Module]
"""The modules of a package, parsed, by their path as it is shown."""


def module_faults(shown: Path, tree: ast.Module, lines: int) -> Iterator[str]:
    """A module that is too long, has an empty name, or does not say what it owns."""
    if lines > MODULE_LINES:
        yield (
            f"{shown}: {lines} lines; a module has at most {MODULE_LINES} ({SOURCE}: "
            "about 400). Find the seam and give the new module a name of its own."
        )
    if shown.stem in EMPTY_NAMES:
        yield (
            f"{shown}: the name {shown.stem} says nothing about what the module owns "
            f"({SOURCE})."
        )
    if not ast.get_docstring(tree):
        yield f"{shown}: a module opens with a sentence saying what it owns ({SOURCE})."


def function_faults(shown: Path, tree: ast.Module) -> Iterator[str]:
    """Functions that are too long."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield (
                    f"{shown}:{node.lineno}: {node.name} has {length} lines; a function "
                    f"has at most {FUNCTION_LINES} ({SOURCE}: about 50)."
                )


def loop_faults(shown: Path, tree: ast.Module) -> Iterator[str]:
    """Loops and comprehensions whose variable does not say what it is."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            continue
        for name in ast.walk(node.target):
            if isinstance(name, ast.Name) and name.id in EMPTY_VARIABLES:
                yield (
                    f"{shown}:{name.lineno}: a loop over `{name.id}`; say what it goes "
                    f"through ({SOURCE})."
                )


def class_faults(trees: Trees) -> Iterator[str]:
    """Names that two public classes share."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for shown, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(f"{shown}:{node.lineno}")
    for name, places in sorted(homes.items()):
        if len(places) > 1:
            yield (
                f"{' and '.join(places)}: public classes called {name}; a name means "
                f"one thing ({SOURCE})."
            )


def folder_faults(root: Path, top: Path) -> Iterator[str]:
    """Packages with a name that says nothing."""
    for folder in sorted(path for path in root.rglob("*") if path.is_dir()):
        if (
            folder.name in EMPTY_NAMES
            and "sample" not in folder.relative_to(root).parts
        ):
            shown = folder.relative_to(top)
            yield (
                f"{shown}: the name {folder.name} says nothing about what the package "
                f"owns ({SOURCE})."
            )


def root_faults(root: Path, top: Path) -> tuple[list[str], int]:
    """What is wrong below one folder, a sentence each; and how many modules it has."""
    faults = list(folder_faults(root, top))
    trees: dict[Path, ast.Module] = {}
    for path in sorted(root.rglob("*.py")):
        if "sample" in path.relative_to(root).parts:
            continue
        shown = path.relative_to(top)
        text = path.read_text(encoding="utf-8")
        trees[shown] = ast.parse(text)
        faults.extend(module_faults(shown, trees[shown], len(text.splitlines())))
        faults.extend(function_faults(shown, trees[shown]))
        faults.extend(loop_faults(shown, trees[shown]))
    faults.extend(class_faults(trees))
    return faults, len(trees)


def main() -> int:
    """Print what is wrong and return 1, or return 0."""
    top = Path(__file__).resolve().parent.parent
    options = argparse.ArgumentParser(description=__doc__)
    ours = [top / "src" / "reverie", top / "checks"]
    options.add_argument("roots", nargs="*", type=Path, default=ours)
    faults: list[str] = []
    modules = 0
    for path in options.parse_args().roots:
        root = path.resolve()
        base = top if root.is_relative_to(top) else root
        here, count = root_faults(root, base)
        faults.extend(here)
        modules += count
    for fault in faults:
        print(f"limits: {fault}")
    if not faults:
        print(f"limits: {modules} modules within their limits")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
