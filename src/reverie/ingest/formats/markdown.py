"""Markdown files and Obsidian vaults: notes with front matter, and daily notes as diary
entries.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import cast

import yaml

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.formats import plain

FENCE = re.compile(r"^---[ \t]*\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
LONGEST_FRONT = 100_000
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
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
PATTERNS = {
    "YYYY": r"(?P<year>\d{4})", "YY": r"(?P<short>\d{2})", "MM": r"(?P<month>\d{2})",
    "M": r"(?P<month>\d{1,2})",
    "MMMM": r"(?P<name>[^\W\d]+)", "MMM": r"(?P<name>[^\W\d]+)\.?", "DD": r"(?P<day>\d{2})",
    "D": r"(?P<day>\d{1,2})",
    "Do": r"(?P<day>\d{1,2})\w{0,2}", "dddd": r"[^\W\d]+", "ddd": r"[^\W\d]+\.?", "dd": r"[^\W\d]+\.?",
    "d": r"\d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Daily:
    """Where a vault keeps its daily notes, and how it names them."""

    folder: str
    format: str


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
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
    if day is not None and body.strip():
        mood = front.get("mood")
        custom |= {"tags": tags}
        fields = {
            "date": day,
            "mood": str(mood) if mood else None,
            "content": body.strip("\n"),
            "custom": custom,
        }
        yield drafts.Draft("diary", "", fields)
        return
    if day is not None:
        yield drafts.Skip("", "the daily note is empty")
        return
    yield drafts.Draft(
        "note", "", _note(source, front, body, tags) | {"custom": custom}
    )


def _note(
    source: drafts.SourceFile, front: Mapping[str, object], body: str, tags: list[str]
) -> dict[str, object]:
    title = front.get("title")
    if not title and not source.vault and (heading := HEADING.search(body[:5000])):
        title = heading.group(1).strip().rstrip("#").strip()
    return {
        "title": str(title)
        if title and not isinstance(title, list | dict)
        else source.path.stem,
        "content": body.strip("\n"),
        "format": "markdown",
        "tags": tags or None,
        "pinned": _flag(front, "pinned"),
        "archived": _flag(front, "archived"),
    }


def _flag(front: Mapping[str, object], name: str) -> bool | None:
    value = front.get(name)
    return value if isinstance(value, bool) else None


def _front_matter(text: str) -> tuple[dict[str, object], str]:
    """The properties and the rest. Front matter that is no YAML (braces of a template)
    stays in the text.
    """
    match = FENCE.match(text.removeprefix("\ufeff"), 0, LONGEST_FRONT)
    if match is None:
        return {}, text
    raw = match.group(1)
    # Aliases make a page of YAML into gigabytes; nobody writes them by hand.
    if (
        len(raw) > LONGEST_FRONT
        or len(re.findall(r"(?m)(?:^|[\s\[,:-])\*\w", raw)) > 20
    ):
        return {}, text
    try:
        loaded: object = yaml.load(raw.replace("\t", "  "), _Loader)  # noqa: S506 - a subclass of SafeLoader
    except (
        yaml.YAMLError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OverflowError,
    ):
        return (
            {},
            text,
        )  # besides YAMLError: dates such as 2023-02-31, keys that are lists, endless brackets
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


def _custom(front: Mapping[str, object]) -> dict[str, object]:
    left = {
        key: value
        for key, value in front.items()
        if key not in {"tags", "tag", "title", "pinned", "archived", "mood"}
    }
    custom: dict[str, object] = {}
    if left:
        custom["properties"] = left
    for name in ("created", "date", "date created", "created_at"):
        if isinstance(moment := left.get(name), date | datetime):
            custom["created"] = moment
            break
    for name in ("updated", "modified", "date modified", "last_modified"):
        if isinstance(moment := left.get(name), date | datetime):
            custom["modified"] = moment
            break
    return custom


def _tags(front: Mapping[str, object], body: str) -> list[str]:
    """Tags of the properties, then those in the text, once each whatever their case."""
    found: list[str] = []
    for name in ("tags", "tag"):
        value = front.get(name)
        if isinstance(value, str):
            found += re.split(r"[,\s]+", value)
        elif isinstance(value, list):
            found += [
                str(word) for word in cast("list[object]", value) if word is not None
            ]
    if "#" in body:
        found += TAG.findall(CODE.sub(" ", body))
    unique: dict[str, str] = {}
    for tag in found:
        if tag := tag.strip().lstrip("#").strip("/"):
            unique.setdefault(tag.casefold(), tag)
    return list(unique.values())


def _daily(source: drafts.SourceFile) -> date | None:
    """The day of a daily note: by the vault's own settings, else by a name that is only
    a date.
    """
    settings = _settings(source) if source.vault else None
    if settings is None:
        match = DAY_NAME.match(source.path.stem)
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
        file = folder / ".obsidian" / "daily-notes.json"
        if not (folder / ".obsidian").is_dir():
            continue
        try:
            settings: object = json.loads(file.read_bytes())
        except (OSError, ValueError, RecursionError):
            return None  # the plugin is off or was never set up
        if not isinstance(settings, dict):
            return None
        known = cast("dict[str, object]", settings)
        place, pattern = known.get("folder"), known.get("format")
        inside = PurePosixPath(source.path.relative_to(folder).as_posix())
        daily = Daily(
            place.strip("/") if isinstance(place, str) else "",
            pattern if isinstance(pattern, str) and pattern else "YYYY-MM-DD",
        )
        return daily, inside
    return None


def _by_format(name: str, moment: str) -> date | None:
    pattern, used = "", set[str]()
    for part in MOMENT.finditer(moment):
        token = part.group()
        known = PATTERNS.get(token)
        group = re.search(r"<(\w+)>", known) if known else None
        if known and group and group.group(1) in used:
            # YYYY/MM/YYYY-MM-DD names the same month twice
            pattern += f"(?P={group.group(1)})"
        elif known:
            pattern += known
            used |= {group.group(1)} if group else set()
        else:
            pattern += re.escape(part.group(1) if token.startswith("[") else token)
    match = re.fullmatch(pattern, name)
    if match is None:
        return None
    found = match.groupdict()
    year = found.get("year") or ("20" + found["short"] if found.get("short") else "")
    month = found.get("month") or _month(found.get("name") or "")
    return _day(year, month, found.get("day") or "")


def _month(name: str) -> str:
    return next(
        (
            str(at)
            for at, month in enumerate(MONTHS, start=1)
            if name and month.startswith(name.lower())
        ),
        "",
    )


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
