"""Front matter of Markdown: YAML between `---`, TOML between `+++`, or a JSON object.

What is broken as a whole is read line by line: a bad line is set aside, the others
count.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, time
from typing import cast

import yaml

from reverie.ingest import drafts

YAML_FENCE = re.compile(
    r"^---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
TOML_FENCE = re.compile(r"^\+\+\+[ \t]*\n(.*?)(?:^|\n)\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL)
LONGEST = 100_000
ALIAS = re.compile(r"(?:^|[\s\[,:-])\*\w", re.MULTILINE)
MOST_ALIASES = 20
MOST_SET_ASIDE = 20
# Besides YAMLError: dates such as 2023-02-31, keys that are lists, endless brackets.
YAML_FAULTS = (
    yaml.YAMLError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
    OverflowError,
)
# A property at the start of a line; what is indented below it, or a list, goes with it.
PROPERTY = re.compile(r"([\w][\w .@/-]{0,80}?)[ \t]*:(?=\s|$)[ \t]*")
ENTRY = re.compile(r"([\w.\"'-]{1,80})\s*=")
JSON_KEYS = frozenset(
    {
        "title",
        "date",
        "tags",
        "categories",
        "slug",
        "draft",
    }
)
# Properties by which lines are known for front matter though none of them is YAML.
USUAL = frozenset({"title", "tags", "tag", "date", "created", "aliases", "author"})
DEEPEST = 20


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The properties with their values as data and, in `texts`, as they are written;
    the lines that could not be read; the text below.
    """

    values: Mapping[str, object] = field(default_factory=dict[str, object])
    texts: Mapping[str, object] = field(default_factory=dict[str, object])
    set_aside: tuple[str, ...] = ()
    body: str = ""


def read(text: str) -> FrontMatter:
    """The front matter of a text. What is none (braces of a template, a rule) stays in
    the body.
    """
    text = text.removeprefix("\ufeff")
    for fence, load in ((YAML_FENCE, _yaml), (TOML_FENCE, _toml)):
        match = fence.match(text, 0, LONGEST)
        if match is not None:
            front = load(match.group(1))
            if front is None:
                return FrontMatter(body=text)
            body = text[match.end() :]
            return FrontMatter(front.values, front.texts, front.set_aside, body)
    return _json(text) or FrontMatter(body=text)


def words(value: object) -> str:
    """A value as its writer would write it, and never in the form of a program."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return ", ".join(f"{words(name)}: {words(inner)}" for name, inner in items)
    if isinstance(value, list):
        return ", ".join(flat(cast("list[object]", value)))
    return str(value)


def flat(values: list[object], depth: int = 0) -> list[str]:
    """The words of a list, also of lists in it: `[[a, b]]` are two."""
    texts: list[str] = []
    for value in values:
        if isinstance(value, list) and depth < DEEPEST:
            texts += flat(cast("list[object]", value), depth + 1)
        else:
            texts.append(words(value))
    return [text for text in texts if text.strip()]


def _yaml(raw: str) -> FrontMatter | None:
    """YAML, whole or line by line; None for what is no list of properties."""
    raw = raw.replace("\t", "  ")
    # Aliases make a page of YAML into gigabytes; nobody writes them by hand.
    if len(ALIAS.findall(raw)) > MOST_ALIASES:
        return None
    try:
        loaded: object = yaml.load(raw, _Loader)  # noqa: S506 - a subclass of SafeLoader
        texts: object = yaml.load(raw, yaml.BaseLoader)  # noqa: S506 - makes texts only
    except YAML_FAULTS:
        return _line_by_line(raw)
    if loaded is None:
        return FrontMatter()
    if not isinstance(loaded, dict) or not isinstance(texts, dict):
        return None
    return FrontMatter(_named(loaded), _named(texts))  # pyright: ignore[reportUnknownArgumentType]


def _named(loaded: Mapping[object, object]) -> dict[str, object]:
    return {words(key): value for key, value in loaded.items()}


def _line_by_line(raw: str) -> FrontMatter | None:
    """Each property of its own; None when most of it is none."""
    values: dict[str, object] = {}
    texts: dict[str, object] = {}
    set_aside: list[str] = []
    is_front_matter = False
    for lines in _properties(raw):
        chunk = "\n".join(lines)
        stripped = chunk.strip()
        name = PROPERTY.match(chunk)
        try:
            loaded: object = yaml.load(chunk, _Loader)  # noqa: S506 - a subclass of SafeLoader
            written: object = yaml.load(chunk, yaml.BaseLoader)  # noqa: S506 - makes texts only
        except YAML_FAULTS:
            loaded = written = None
        if name and isinstance(loaded, dict) and isinstance(written, dict):
            values |= _named(loaded)  # pyright: ignore[reportUnknownArgumentType]
            texts |= _named(written)  # pyright: ignore[reportUnknownArgumentType]
            is_front_matter = True
        elif name and (plain := _plain(chunk[name.end() :])):
            values[name[1]] = texts[name[1]] = plain
            is_front_matter = is_front_matter or name[1].casefold() in USUAL
        else:
            set_aside.append(stripped)
    if not is_front_matter or len(set_aside) > len(values):
        return None
    return FrontMatter(values, texts, tuple(set_aside[:MOST_SET_ASIDE]))


def _properties(raw: str) -> Iterator[list[str]]:
    """The lines of each property, and lines that belong to none."""
    lines: list[str] = []
    for line in raw.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        if lines and line[0] in " -" and PROPERTY.match(lines[0]):
            lines.append(line)
            continue
        if lines:
            yield lines
        lines = [line]
    if lines:
        yield lines


def _plain(written: str) -> str:
    """A value of one line that is a text, though YAML wants it in quotes; "" for one
    that a bracket or a quote was forgotten of.
    """
    text = written.strip()
    if "\n" in text or text[:1] in ("{", "|", ">"):
        return ""
    if text.startswith("["):
        return text if "]" in text[:-1] and not text.endswith("]") else ""
    # 'It's mine' and "Quoted" words.
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return "" if text.count(text[:1]) == 1 and text[:1] in ("'", '"') else text


def _toml(raw: str) -> FrontMatter | None:
    """TOML, whole or line by line; None for what is no list of properties."""
    try:
        loaded = tomllib.loads(raw)
    except (ValueError, RecursionError):
        return _toml_line_by_line(raw)
    values = _with_taxonomies(loaded)
    return FrontMatter(values, values)


def _with_taxonomies(loaded: Mapping[str, object]) -> dict[str, object]:
    """The properties, and those that Zola keeps in a table of their own."""
    values = dict(loaded)
    taxonomies = values.get("taxonomies")
    if isinstance(taxonomies, dict):
        values = {**cast("dict[str, object]", taxonomies), **values}
    return values


def _toml_line_by_line(raw: str) -> FrontMatter | None:
    values: dict[str, object] = {}
    set_aside: list[str] = []
    for lines in _entries(raw):
        chunk = "\n".join(lines)
        try:
            values |= tomllib.loads(chunk)
        except (ValueError, RecursionError):
            set_aside.append(chunk.strip())
    if not values:
        return None
    values = _with_taxonomies(values)
    return FrontMatter(values, values, tuple(set_aside[:MOST_SET_ASIDE]))


def _entries(raw: str) -> Iterator[list[str]]:
    """The lines of each entry; a list may go over several."""
    lines: list[str] = []
    for line in raw.split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        if lines and (ENTRY.match(line) or line.startswith("[")):
            yield lines
            lines = []
        lines.append(line)
    if lines:
        yield lines


def _json(text: str) -> FrontMatter | None:
    """A JSON object at the beginning of a text (Hugo), and the rest."""
    if not text.startswith("{"):
        return None
    try:
        loaded, end = json.JSONDecoder().raw_decode(text[:LONGEST])
    except (ValueError, RecursionError):
        return None
    if not isinstance(loaded, dict) or not JSON_KEYS & loaded.keys():
        return None
    values = cast("drafts.Fields", loaded)
    return FrontMatter(values, values, (), text[end:].removeprefix("\n"))


class _Loader(yaml.SafeLoader):
    """SafeLoader that leaves 12:30, 1_000 and `no` as they are written, where YAML 1.1
    makes numbers and truth values of them.
    """


_YAML11 = frozenset(
    {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:bool"}
)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _YAML11]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int",
    re.compile(r"^[-+]?(?:0|[1-9]\d{0,17})$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?\d{1,17}\.\d{1,17}$"),
    list("-+0123456789"),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool",
    re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"),
    list("tTfF"),
)
