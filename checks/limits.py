"""The sizes and names that docs/architecture.md ("Voice of the code") asks for, kept by
a machine.

Modules stay within 450 lines and functions within 60 (architecture.md says about 400
and about 50; this is the hard end), no module has a name that says nothing, and each
opens with a sentence saying what it owns.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

MODULE_LINES = 450
FUNCTION_LINES = 60
EMPTY_NAMES = frozenset(
    {"utils", "util", "helpers", "helper", "manager", "service", "core", "common"}
)
SOURCE = 'docs/architecture.md, "Voice of the code"'


def faults(path: Path, shown: str) -> Iterator[str]:
    """What is wrong with one module, a sentence each."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lines = len(text.splitlines())
    if lines > MODULE_LINES:
        yield (
            f"{shown}: {lines} lines; a module has at most {MODULE_LINES} ({SOURCE}: about 400). "
            "Find the seam and give the new module a name of its own."
        )
    if path.stem in EMPTY_NAMES:
        yield f"{shown}: the name {path.stem} says nothing about what the module owns ({SOURCE})."
    if not ast.get_docstring(tree):
        yield f"{shown}: a module opens with a sentence saying what it owns ({SOURCE})."
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > FUNCTION_LINES:
                yield (
                    f"{shown}:{node.lineno}: {node.name} has {length} lines; a function has at most "
                    f"{FUNCTION_LINES} ({SOURCE}: about 50)."
                )


def folder_faults(root: Path, top: Path) -> Iterator[str]:
    """Packages with a name that says nothing."""
    for folder in sorted(root.rglob("*")):
        if (
            folder.is_dir()
            and folder.name in EMPTY_NAMES
            and "sample" not in folder.relative_to(root).parts
        ):
            shown = folder.relative_to(top)
            yield f"{shown}: the name {folder.name} says nothing about what the package owns ({SOURCE})."


def main() -> int:
    """Print what is wrong and return 1, or return 0."""
    top = Path(__file__).resolve().parent.parent
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "roots", nargs="*", type=Path, default=[top / "src" / "reverie", top / "checks"]
    )
    found: list[str] = []
    modules = 0
    for root in (given.resolve() for given in options.parse_args().roots):
        base = top if root.is_relative_to(top) else root
        found += folder_faults(root, base)
        for path in sorted(root.rglob("*.py")):
            if "sample" not in path.relative_to(root).parts:
                modules += 1
                found += faults(path, str(path.relative_to(base)))
    for fault in found:
        print(f"limits: {fault}")
    if not found:
        print(f"limits: {modules} modules within their limits")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
