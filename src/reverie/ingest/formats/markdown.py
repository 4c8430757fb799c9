"""Markdown files and Obsidian vaults: notes with YAML front matter (frontmatter), and
daily notes as diary entries.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import cast

import yaml

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.formats import plain
from reverie.vocabulary import calendar_words

FENCE = re.compile(r"^---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
LONGEST_FRONT = 100_000
ALIAS = re.compile(r"(?:^|[\s\[,:-])\*\w", re.MULTILINE)
MOST_ALIASES = 20
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
# Properties that a note or an entry has a field for.
OWN_FIELDS = frozenset({"tags", "tag", "title", "pinned", "archived", "mood"})
CREATED = ("created", "date", "date created", "created_at")
MODIFIED = ("updated", "modified", "date modified", "last_modified")
# Obsidian: a tag needs a character that is no digit, and stands at the start of a word.
TAG = re.compile(r"(?:(?<=\s)|^)#([\w/-]*[^\W\d][\w/-]*)", re.MULTILINE)
CODE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)|`[^`\n]+`", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#\s+(\S.*)$", re.MULTILINE)
DAY_NAME = re.compile(r"^(\d{4})-(\d{2})-(\d{2})$")
# The parts of a Moment.js format that make a date; everything else in a format is taken
# as it stands.
MOMENT = re.compile(
    r"\[([^\]]*)\]|YYYY|YY|MMMM|MMM|MM|M|DDDD|DDD|DD|Do|D|dddd|ddd|dd|d|WW|ww|W|w|gggg|GGGG|Q|.",
    re.DOTALL,
)
PATTERNS = {
    "YYYY": r"(?P<year>\d{4})", "YY": r"(?P<short>\d{2})", "MM": r"(?P<month>\d{2})",
    "M": r"(?P<month>\d{1,2})",
    "MMMM": r"(?P<name>[^\W\d]+)", "MMM": r"(?P<name>[^\W\d]+)\.?", "DD": r"(?P<day>\d{2})",
    "D": r"(?P<day>\d{1,2})",
    "Do": r"(?P<day>\d{1,2})\w{0,2}", "dddd": r"[^\W\d]+", "ddd": r"[^\W\d]+\.?", "dd": r"[^\W\d]+\.?",
    "d": r"\d",
}  # fmt: skip


GROUP = re.compile(r"<(\w+)>")
DEFAULT_FORMAT = "YYYY-MM-DD"


@dataclass(frozen=True, slots=True)
class Daily:
    """Where a vault keeps its daily notes, and how it names them."""

    folder: str
    format: str


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """The file as one note, or as a diary entry when it is a daily note."""
    if len(source.data) > plain.LARGEST:
        raise errors.Unreadable(
            f"a text larger than {plain.LARGEST // 1024 // 1024} MB"
        )
    text, encoding = charsets.decode(source.data)
    if plain.is_binary(text):
        raise errors.Unreadable("not text: the file holds control characters")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front, body = _front_matter(text)
    if not body.strip() and not front:
        yield drafts.Skip("", "the note is empty")
        return
    custom = _custom(front)
    if encoding not in {"utf-8", "utf-8-sig"}:
        custom["encoding"] = encoding
    custom.setdefault("modified", source.mtime)
    tags = _tags(front, body)
    day = _daily(source)
    if day is None:
        note = _note(source, front, body, tags) | {"custom": custom}
        yield drafts.Draft("note", "", note)
    elif not body.strip():
        yield drafts.Skip("", "the daily note is empty")
    else:
        mood = front.get("mood")
        fields = {
            "date": day,
            "mood": str(mood) if mood else None,
            "content": body.strip("\n"),
            "custom": custom | {"tags": tags},
        }
        yield drafts.Draft("diary", "", fields)


def _note(
    source: drafts.SourceFile, front: Mapping[str, object], body: str, tags: list[str]
) -> drafts.Fields:
    """The fields of a note."""
    return {
        "title": _title(source, front, body),
        "content": body.strip("\n"),
        "format": "markdown",
        "tags": tags or None,
        "pinned": _flag(front, "pinned"),
        "archived": _flag(front, "archived"),
    }


def _title(source: drafts.SourceFile, front: Mapping[str, object], body: str) -> str:
    """The title of the properties, else the first heading, else the name of the file,
    which in a vault is the name of the note.
    """
    title = front.get("title")
    if not title and not source.vault:
        heading = HEADING.search(body[:5000])
        title = heading.group(1).strip().rstrip("#").strip() if heading else ""
    if not title or isinstance(title, list | dict):
        return source.relative.stem
    return str(title)


def _flag(front: Mapping[str, object], name: str) -> bool | None:
    """A property that is true or false."""
    value = front.get(name)
    return value if isinstance(value, bool) else None


def _front_matter(text: str) -> tuple[drafts.Fields, str]:
    """The properties and the rest. Front matter that is no YAML (braces of a template)
    stays in the text.
    """
    match = FENCE.match(text.removeprefix("\ufeff"), 0, LONGEST_FRONT)
    if match is None:
        return {}, text
    raw = match.group(1)
    # Aliases make a page of YAML into gigabytes; nobody writes them by hand.
    if len(raw) > LONGEST_FRONT or len(ALIAS.findall(raw)) > MOST_ALIASES:
        return {}, text
    try:
        loaded: object = yaml.load(raw.replace("\t", "  "), _Loader)  # noqa: S506 - a subclass of SafeLoader
    except YAML_FAULTS:
        return {}, text
    if loaded is None:
        return {}, text[match.end() :]
    if not isinstance(loaded, dict):
        return {}, text
    items = cast("dict[object, object]", loaded).items()
    return {str(key): value for key, value in items}, text[match.end() :]


class _Loader(yaml.SafeLoader):
    """SafeLoader that leaves 12:30 and 1_000 as they are written, where YAML 1.1 makes
    numbers of them.
    """


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
    ]
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


def _custom(front: Mapping[str, object]) -> drafts.Fields:
    """Properties that a record has no field for, and its dates."""
    properties = {
        name: value for name, value in front.items() if name not in OWN_FIELDS
    }
    custom: drafts.Fields = {}
    if properties:
        custom["properties"] = properties
    for field, names in (("created", CREATED), ("modified", MODIFIED)):
        moment = _first_moment(properties, names)
        if moment is not None:
            custom[field] = moment
    return custom


def _first_moment(
    properties: Mapping[str, object], names: Sequence[str]
) -> date | None:
    """The first of some properties that is a date or a time."""
    for name in names:
        value = properties.get(name)
        if isinstance(value, date):
            return value
    return None


def _tags(front: Mapping[str, object], body: str) -> list[str]:
    """Tags of the properties, then those in the text, once each whatever their case."""
    tags: list[str] = []
    for name in ("tags", "tag"):
        tags += _property_tags(front.get(name))
    if "#" in body:
        tags += TAG.findall(CODE.sub(" ", body))
    by_spelling: dict[str, str] = {}
    for tag in tags:
        tag = tag.strip().lstrip("#").strip("/")
        if tag:
            by_spelling.setdefault(tag.casefold(), tag)
    return list(by_spelling.values())


def _property_tags(value: object) -> list[str]:
    """The tags of a property, which is a list or a line of words."""
    if isinstance(value, str):
        return re.split(r"[,\s]+", value)
    if isinstance(value, list):
        words = cast("list[object]", value)
        return [str(word) for word in words if word is not None]
    return []


def _daily(source: drafts.SourceFile) -> date | None:
    """The day of a daily note: by the vault's own settings, else by a name that is only
    a date.
    """
    settings = _settings(source) if source.vault else None
    if settings is None:
        match = DAY_NAME.match(source.relative.stem)
        return _day(*match.groups()) if match else None
    daily, inside = settings
    name = inside.with_suffix("").as_posix()
    if daily.folder:
        if not name.casefold().startswith(daily.folder.casefold() + "/"):
            return None
        name = name[len(daily.folder) + 1 :]
    return _by_format(name, daily.format)


def _settings(source: drafts.SourceFile) -> tuple[Daily, PurePosixPath] | None:
    """The settings of the vault that holds the file, and the file's path inside the
    vault.
    """
    for folder in source.path.parents:
        if (folder / ".obsidian").is_dir():
            break
    else:
        return None
    daily = _daily_settings(folder / ".obsidian" / "daily-notes.json")
    if daily is None:
        return None
    return daily, PurePosixPath(source.path.relative_to(folder).as_posix())


def _daily_settings(file: Path) -> Daily | None:
    """What the plugin for daily notes is set to; None when it is off or was never set
    up.
    """
    try:
        settings: object = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(settings, dict):
        return None
    fields = cast("drafts.Fields", settings)
    folder = fields.get("folder")
    pattern = fields.get("format")
    return Daily(
        folder.strip("/") if isinstance(folder, str) else "",
        pattern if isinstance(pattern, str) and pattern else DEFAULT_FORMAT,
    )


def _by_format(name: str, moment_format: str) -> date | None:
    """The day that a name tells by a Moment.js format; None when it does not fit."""
    match = re.fullmatch(_pattern(moment_format), name)
    if match is None:
        return None
    groups = {group: text or "" for group, text in match.groupdict().items()}
    year = groups.get("year", "")
    short = groups.get("short", "")
    if not year and short:
        year = "20" + short
    month = groups.get("month") or _month(groups.get("name", ""))
    return _day(year, month, groups.get("day", ""))


def _pattern(moment_format: str) -> str:
    """A Moment.js format as a regular expression with groups for its parts."""
    pattern = ""
    used: set[str] = set()
    for part in MOMENT.finditer(moment_format):
        token = part.group()
        if token not in PATTERNS:
            quoted = token.startswith("[")
            literal = part[1] if quoted else token
            pattern += re.escape(literal)
            continue
        group = GROUP.search(PATTERNS[token])
        name = group.group(1) if group else ""
        # YYYY/MM/YYYY-MM-DD names the same month twice
        pattern += f"(?P={name})" if name in used else PATTERNS[token]
        if name:
            used.add(name)
    return pattern


def _month(name: str) -> str:
    """The number of the month whose name begins so; "" when none does."""
    if not name:
        return ""
    for number, month in enumerate(calendar_words.MONTHS["en"], start=1):
        if month.startswith(name.lower()):
            return str(number)
    return ""


def _day(year: str, month: str, day: str) -> date | None:
    """A date of three texts; None when it is none."""
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
