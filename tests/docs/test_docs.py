"""The pages say what the code says: links, commands, settings, modules, sentences,
tables.

`python tests/docs/test_docs.py` writes the generated parts of the pages anew.
"""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from reverie import config, db
from reverie.access import agents, operations
from reverie.cli import main as cli
from reverie.records import catalogue

TOP = Path(__file__).resolve().parents[2]
SOURCE = TOP / "src" / "reverie"
ARCHITECTURE = TOP / "docs" / "architecture.md"
API = TOP / "docs" / "howto" / "api.md"
ACCESS = TOP / "docs" / "howto" / "access.md"
WRONG = TOP / "docs" / "howto" / "when-something-is-wrong.md"
DEPENDENCIES = TOP / "docs" / "decisions" / "0004-dependencies.md"
PAGES = [
    TOP / "README.md",
    TOP / "CHANGELOG.md",
    TOP / "CONTRIBUTING.md",
    *sorted((TOP / "docs").rglob("*.md")),
]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"(?<![\w./-])reverie ([a-z][a-z-]*)")
_VARIABLE = re.compile(r"\bREVERIE_[A-Z_]+\b")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
_CODE = re.compile(r"`` (.+?) ``|`([^`\n]+)`")
# What words around the command make of it in a sentence of prose or another program's
# arguments.
_NO_COMMANDS = {"below"}


def each_page() -> Callable[[Callable[..., None]], Callable[..., None]]:
    return pytest.mark.parametrize(
        "page", PAGES, ids=[str(one.relative_to(TOP)) for one in PAGES]
    )


def prose(text: str) -> str:
    """A page without its fenced code."""
    return _FENCE.sub("", text)


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings make."""
    titles = (
        re.sub(r"[`*]", "", one).lower()
        for one in _HEADING.findall(prose(page.read_text("utf-8")))
    )
    return {re.sub(r"[^\w\- ]", "", one).replace(" ", "-") for one in titles}


def block(page: Path, name: str) -> str:
    """The generated part of a page."""
    found = re.search(
        rf"<!-- made by \S+: {name} -->\n(.*?)<!-- end -->",
        page.read_text("utf-8"),
        re.DOTALL,
    )
    assert found, f"{page.name} has no place for `{name}`"
    return found[1]


@each_page()
def test_every_relative_link_resolves(page: Path) -> None:
    for target in _LINK.findall(prose(page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target}: there is no such file"
        assert file.is_relative_to(TOP), f"{target}: it leaves the project"
        if anchor:
            assert anchor in anchors(file), f"{target}: there is no such heading"


@each_page()
def test_every_command_exists(page: Path) -> None:
    known = {*cli.COMMANDS, "version"}
    text = page.read_text("utf-8")
    code = [
        found[2] for found in _FENCE.finditer(text) if found[1] not in {"python", "sql"}
    ]
    code += [one for pair in _CODE.findall(prose(text)) for one in pair]
    code += re.findall(r"^    (.+)$", prose(text), re.MULTILINE)
    named = {name for part in code for name in _COMMAND.findall(part)} - _NO_COMMANDS
    assert named <= known, f"there is no {named - known}"


@each_page()
def test_every_variable_exists(page: Path) -> None:
    known = set(config._ENVIRONMENT)
    named = set(_VARIABLE.findall(page.read_text("utf-8")))
    assert named <= known, f"there is no {named - known}"


@each_page()
def test_every_toml_example_is_a_configuration(page: Path) -> None:
    for language, body in _FENCE.findall(page.read_text("utf-8")):
        if language == "toml":
            config.Config.model_validate(
                tomllib.loads(body) | {"home": Path("/nowhere")}
            )


def test_every_setting_is_told() -> None:
    told = "\n".join(page.read_text("utf-8") for page in PAGES)
    for model in (
        config.Config,
        config.Embedding,
        config.RerankerModel,
        config.SearchTuning,
    ):
        for name in model.model_fields:
            assert re.search(rf"\b{name}\b", told), (
                f"no page tells of the setting `{name}`"
            )


def test_the_tree_holds_only_what_is_there() -> None:
    folder = inner = SOURCE
    lines = [
        line
        for line in block(ARCHITECTURE, "tree").splitlines()
        if line and not line.startswith("```")
    ]
    assert len(lines) > 50
    for line in lines:
        name = line.split()[0]
        if not line.startswith(" "):
            there = folder = SOURCE / name.rstrip("/")
        elif name.endswith("/"):
            there = inner = folder / name.rstrip("/")
        else:
            there = (inner if line.startswith("    ") else folder) / name
        assert there.exists(), f"{there.relative_to(SOURCE)} is not there"


def test_the_tree_holds_every_package() -> None:
    told = block(ARCHITECTURE, "tree")
    for layer in layers():
        assert re.search(rf"^{layer}(/|\.py) ", told, re.MULTILINE), (
            f"the tree lacks {layer}"
        )


def test_the_domains_are_those_of_the_code() -> None:
    assert block(API, "domains") == domains(), "run `python tests/docs/test_docs.py`"


def test_the_operations_are_those_of_the_code() -> None:
    assert block(ACCESS, "operations") == operation_table(), (
        "run `python tests/docs/test_docs.py`"
    )
    assert block(ACCESS, "agents") == topology(), "run `python tests/docs/test_docs.py`"


def test_the_dependencies_are_those_of_the_project() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    wanted = {re.split(r"[\[<>=~!; ]", one)[0] for one in asked}
    told = set(
        re.findall(
            r"^\| ([a-z][\w-]+) \| ", DEPENDENCIES.read_text("utf-8"), re.MULTILINE
        )
    ) - {"package"}
    assert told == wanted


def test_every_sentence_is_one_of_the_code() -> None:
    said = [*constants()]
    missing: list[str] = []
    for line in WRONG.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            continue
        for pair in _CODE.findall(re.split(r"(?<!\\)\|", line)[1]):
            parts = [part.strip() for part in next(filter(None, pair)).split("…")]
            missing += [
                part
                for part in parts
                if len(part) > 2 and not any(part in one for one in said)
            ]
    assert not missing, f"nothing in the code says {missing}"


def constants() -> Iterator[str]:
    """Every text in the code; parts of f-strings come one by one."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


# What is generated
# ------------------------------------------------------------------------------------------


def layers() -> list[str]:
    """The top-level modules in the order of the import rule, as far as they are there."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))
    contract = next(
        one
        for one in project["tool"]["importlinter"]["contracts"]
        if one["id"] == "layers"
    )
    names = [
        re.sub(r"[()]", "", name).strip()
        for row in contract["layers"]
        for name in row.split("|")
    ]
    return [
        one
        for one in names
        if (SOURCE / one).is_dir() or (SOURCE / f"{one}.py").exists()
    ]


def sentence(path: Path) -> str:
    """The first sentence of a module."""
    first = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition(
        "\n\n"
    )[0]
    return re.split(r"(?<=\.)\s", " ".join(first.split()), maxsplit=1)[0]


def modules(folder: Path, indent: str) -> list[str]:
    """The modules of a package, a line each."""
    paths = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    return [f"{indent}{path.name} ".ljust(20) + sentence(path) for path in paths]


def tree() -> str:
    lines: list[str] = []
    for layer in layers():
        folder = SOURCE / layer
        if not folder.is_dir():
            lines.append(f"{layer}.py".ljust(20) + sentence(folder.with_suffix(".py")))
            continue
        lines.append(f"{layer}/".ljust(20) + sentence(folder / "__init__.py"))
        lines += modules(folder, "  ")
        for inner in sorted(path.parent for path in folder.glob("*/__init__.py")):
            lines.append(f"  {inner.name}/".ljust(20) + sentence(inner / "__init__.py"))
            lines += modules(inner, "    ")
    return "```\n" + "\n".join(line.rstrip() for line in lines) + "\n```\n"


def domains() -> str:
    rows = [
        "| domain | at | fields (required ones in bold) | filters of its list |",
        "|---|---|---|---|",
    ]
    for one in catalogue.DOMAINS.values():
        required = {
            db.column(name)
            for name, field in one.new.model_fields.items()
            if field.is_required()
        }
        names = [name for name in one.own if name not in one.derived]
        fields = ", ".join(
            f"**{name}**" if name in required else name for name in names
        )
        rows.append(
            f"| {one.name} | `/{one.plural}` | {fields} | {', '.join(one.filters)} |"
        )
    return "\n" + "\n".join(rows) + "\n\n"


def topology() -> str:
    rows = ["| agent | what it does | scopes |", "|---|---|---|"]
    rows += [
        f"| {one.name} | {one.about} | {', '.join(f'`{s}`' for s in one.scopes)} |"
        for one in agents.DEFAULTS.values()
    ]
    return "\n" + "\n".join(rows) + "\n\n"


def operation_table() -> str:
    """The table of operations; what every domain has is told once."""
    verbs = {
        name.partition(".")[2]
        for name in operations.OPERATIONS
        if name.startswith("bookmarks.")
    }
    rows = ["| operation | level | needs |", "|---|---|---|"]
    for one in operations.OPERATIONS.values():
        area, _, verb = one.name.partition(".")
        if area in operations.DOMAINS and verb in verbs:
            if area != operations.DOMAINS[0]:
                continue
            rows.append(
                f"| `<domain>.{verb}` | {one.level} | {one.requirement.replace(area, '<domain>')} |"
            )
        else:
            rows.append(f"| `{one.name}` | {one.level} | {one.requirement} |")
    return "\n" + "\n".join(rows) + "\n\n"


PARTS: Mapping[tuple[Path, str], Callable[[], str]] = {
    (ARCHITECTURE, "tree"): tree,
    (API, "domains"): domains,
    (ACCESS, "agents"): topology,
    (ACCESS, "operations"): operation_table,
}


def main() -> None:
    for (page, name), make in PARTS.items():
        text = page.read_text("utf-8")
        start = text.index("\n", text.index(f": {name} -->")) + 1
        page.write_text(
            text[:start] + make() + text[text.index("<!-- end -->", start) :], "utf-8"
        )


if __name__ == "__main__":
    main()
