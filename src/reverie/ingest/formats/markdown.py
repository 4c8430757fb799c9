"""Markdown files and Obsidian vaults: notes with YAML front matter (frontmatter), and
daily notes as diary entries.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath
from typing import cast

from reverie import errors
from reverie.ingest import charsets, drafts
from reverie.ingest.documents import sourcetext
from reverie.ingest.formats import frontmatter, plain
from reverie.vocabulary import calendar_words

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


SHORTEST_MONTH = 3  # letters that a month is known by
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
    if sourcetext.is_binary(text):
        raise errors.Unreadable("not text: the file holds control characters")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    front = frontmatter.read(text)
    body = front.body
    if not body.strip() and not front.values:
        yield drafts.Skip("", "the note is empty")
        return
    for line in front.set_aside:
        text = f"a line of the front matter cannot be read: {line[:200]}"
        yield drafts.Remark("front matter", text)
    custom = _custom(front.values)
    if front.set_aside:
        custom["set_aside"] = list(front.set_aside)
    if encoding not in {"utf-8", "utf-8-sig"}:
        custom["encoding"] = encoding
    custom.setdefault("modified", source.mtime)
    tags = _tags(front.texts, body)
    day = _daily(source)
    if day is None:
        note = _note(source, front, tags) | {"custom": custom}
        yield drafts.Draft("note", "", note)
    elif not body.strip():
        yield drafts.Skip("", "the daily note is empty")
    else:
        fields = {
            "date": day,
            "mood": frontmatter.words(front.texts.get("mood")) or None,
            "content": body.strip("\n"),
            "custom": custom | {"tags": tags},
        }
        yield drafts.Draft("diary", "", fields)


def _note(
    source: drafts.SourceFile, front: frontmatter.FrontMatter, tags: list[str]
) -> drafts.Fields:
    """The fields of a note."""
    return {
        "title": _title(source, front),
        "content": front.body.strip("\n"),
        "format": "markdown",
        "tags": tags or None,
        "pinned": _flag(front.values, "pinned"),
        "archived": _flag(front.values, "archived"),
    }


def _title(source: drafts.SourceFile, front: frontmatter.FrontMatter) -> str:
    """The title of the properties, else the first heading, else the name of the file,
    which in a vault is the name of the note.
    """
    title = ""
    if front.values.get("title") is not None:
        title = frontmatter.words(front.texts.get("title"))
    if not title and not source.vault:
        heading = HEADING.search(front.body[:5000])
        title = heading.group(1).strip().rstrip("#").strip() if heading else ""
    return title or source.relative.stem


def _flag(front: Mapping[str, object], name: str) -> bool | None:
    """A property that is true or false."""
    value = front.get(name)
    return value if isinstance(value, bool) else None


def _custom(front: Mapping[str, object]) -> drafts.Fields:
    """Properties that a record has no field for, and its dates."""
    properties = {
        name: _flattened(value)
        for name, value in front.items()
        if name not in OWN_FIELDS
    }
    custom: drafts.Fields = {}
    if properties:
        custom["properties"] = properties
    for field, names in (("created", CREATED), ("modified", MODIFIED)):
        moment = _first_moment(properties, names)
        if moment is not None:
            custom[field] = moment
    return custom


def _flattened(value: object) -> object:
    """A value; of a link without quotes, which YAML takes for a list in a list
    (`[[a note]]`), its words.
    """
    if not isinstance(value, list):
        return value
    inner = cast("list[object]", value)
    if len(inner) == 1 and isinstance(inner[0], list):
        return frontmatter.flat(inner)
    return inner


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
        words = frontmatter.flat(cast("list[object]", value))
        return [word for word in words if word not in ("null", "~")]
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
    # macOS writes an accent as a character of its own.
    name = unicodedata.normalize("NFC", inside.with_suffix("").as_posix())
    folder = unicodedata.normalize("NFC", daily.folder)
    if folder:
        if not name.casefold().startswith(folder.casefold() + "/"):
            return None
        name = name[len(folder) + 1 :]
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
    match = re.fullmatch(_pattern(unicodedata.normalize("NFC", moment_format)), name)
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
    """The number of the month that is called so in a language we know, or abbreviated
    so; "" when none is.
    """
    word = name.casefold()
    number = calendar_words.MONTH_NUMBERS.get(word)
    number = number or calendar_words.SHORT_MONTH_NUMBERS.get(word)
    if number is None:
        beginning = {
            number
            for month, number in calendar_words.MONTH_NUMBERS.items()
            if len(word) >= SHORTEST_MONTH and month.startswith(word)
        }
        number = beginning.pop() if len(beginning) == 1 else None
    return str(number or "")


def _day(year: str, month: str, day: str) -> date | None:
    """A date of three texts; None when it is none."""
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None
