"""The readers over the real files of shared/data, and against the expectations that
come with them.
"""

import datetime as dt
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from reverie import errors
from reverie.ingest import detect, drafts
from reverie.ingest.documents import kinds
from reverie.ingest.formats import contentlines, feeds, ics, vcf

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[3] / "shared" / "data")
)
FOLDERS = ("vault-obsidian", "ics", "vcf", "mail", "feeds", "bookmarks", "memorybank")
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the test data is not at {DATA}"
)


def source(path: Path, root: Path) -> drafts.SourceFile:
    mtime = dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC)
    vault = any((folder / ".obsidian").is_dir() for folder in path.parents)
    return drafts.SourceFile(
        path,
        PurePosixPath(path.relative_to(root).as_posix()),
        path.read_bytes(),
        vault,
        mtime,
    )


def files(folder: str, suffix: str = "") -> Iterator[Path]:
    return (
        path for path in sorted((DATA / folder).rglob(f"*{suffix}")) if path.is_file()
    )


def drafts_of(reader: Callable[..., Iterator[Any]], path: Path) -> list[drafts.Draft]:
    return [
        item for item in reader(source(path, DATA)) if isinstance(item, drafts.Draft)
    ]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_ends_in_drafts_or_a_reason(folder: str) -> None:
    ends: Counter[str] = Counter()
    for path in files(folder):
        one = source(path, DATA / folder)
        reader = detect.look(one.data[: detect.HEAD], PurePosixPath(one.relative))
        if isinstance(reader, str | kinds.DocumentFormat):
            assert reader
            ends["skipped"] += 1
            continue
        try:
            items = list(reader(one))
        except errors.Unreadable:
            ends["unreadable"] += 1
            continue
        assert items, path
        keys = [
            item.key for item in items if isinstance(item, drafts.Draft) and item.key
        ]
        assert len(keys) == len(set(keys)), path
        for item in items:
            ends[item.domain if isinstance(item, drafts.Draft) else "skips"] += 1
            if isinstance(item, drafts.Draft):
                json.dumps(item.fields.get("custom"))
                assert set(item.refs.values()) <= set(keys)
    assert sum(ends.values()) >= len(list(files(folder)))
    assert ends["unreadable"] == 0


def test_the_numbers_of_records() -> None:
    """What the folders hold, so that a reader that loses some is noticed."""
    least = {
        "vault-obsidian": 100,
        "ics": 20,
        "vcf": 4,
        "mail": 45,
        "feeds": 290,
        "bookmarks": 69,
        "memorybank": 148,
    }
    for folder, number in least.items():
        found = 0
        for path in files(folder):
            reader = detect.look(
                path.read_bytes()[: detect.HEAD],
                PurePosixPath(path.relative_to(DATA / folder)),
            )
            if not isinstance(reader, str | kinds.DocumentFormat):
                found += len(drafts_of(reader, path))
        assert found >= number, folder


# --- jCal and jCard -----------------------------------------------------------------------------------------


def components(jcal: list[Any], name: str) -> Iterator[list[Any]]:
    if jcal and isinstance(jcal[0], list):
        for part in jcal:
            yield from components(part, name)
        return
    if jcal[0] == name:
        yield jcal
    for part in jcal[2]:
        yield from components(part, name)


def values(component: list[Any], name: str) -> list[Any]:
    return [prop for prop in component[1] if prop[0] == name]


def test_events_are_what_jcal_says() -> None:
    compared = skipped = components_seen = 0
    for path in files("ics", ".json"):
        ics_file = path.with_suffix(".ics")
        items = list(ics.read(source(ics_file, DATA)))
        for event in components(json.loads(path.read_text()), "vevent"):
            components_seen += 1
            summary = next((str(prop[3]) for prop in values(event, "summary")), "")
            uid = next((prop[3] for prop in values(event, "uid")), None)
            if not values(
                event, "dtstart"
            ):  # no record without a start: the report names the event instead
                assert any(
                    isinstance(item, drafts.Skip) and summary in item.reason
                    for item in items
                )
                skipped += 1
                continue
            draft = next(
                item
                for item in items
                if isinstance(item, drafts.Draft) and item.key.startswith(f"uid:{uid}")
            )
            compared += compare_event(event, draft.fields)
    assert components_seen == 3
    assert skipped == 2  # component.ics
    assert compared == 3


def compare_event(event: list[Any], fields: Any) -> int:
    compared = 0
    for name, field in (
        ("summary", "title"),
        ("description", "description"),
        ("location", "location"),
    ):
        for prop in values(event, name):
            assert fields.get(field, "") == prop[3]
            compared += 1
    for name, field in (("dtstart", "start"), ("dtend", "end")):
        for prop in values(event, name):
            moment = fields[field]
            written = (
                moment.isoformat()
                if not isinstance(moment, dt.datetime)
                else f"{moment:%Y-%m-%dT%H:%M:%S}"
            )
            assert written == prop[3].removesuffix("Z")
            compared += 1
    for prop in values(event, "uid"):
        assert fields["custom"]["uid"] == prop[3]
        compared += 1
    for prop in values(event, "rrule"):
        assert f"FREQ={prop[3]['freq']}" in fields["recurrence"]
        compared += 1
    return compared


def test_contacts_are_what_jcard_says() -> None:
    compared = cards = 0
    for path in files("vcf", ".json"):
        card = json.loads(path.read_text())
        found = drafts_of(vcf.read, path.with_suffix(".vcf"))
        if not values(
            card, "fn"
        ):  # vcard_grouped: addresses only, no name to file them under
            assert path.stem == "vcard_grouped"
            assert not found
            continue
        cards += 1
        (draft,) = found
        compared += compare_card(card, draft.fields)
    assert cards == 4
    assert compared >= 40


def compare_card(card: list[Any], fields: Any) -> int:
    custom = fields["custom"]
    checks = 0
    assert fields["display_name"] == values(card, "fn")[0][3]
    for prop in values(card, "n")[:1]:  # a second name has no field
        assert [fields.get("family", ""), fields.get("given", "")] == prop[3][:2]
        assert custom.get("prefix", "") == prop[3][3]
        checks += 3
    for name, field in (("email", "emails"), ("tel", "phones")):
        wanted = {prop[3].removeprefix("tel:") for prop in values(card, name)}
        assert set(fields.get(field, [])) == wanted
        checks += len(wanted)
    for prop in values(card, "org"):
        parts = prop[3] if isinstance(prop[3], list) else [prop[3]]
        assert [fields["company"], *custom.get("departments", [])] == parts
        checks += 1
    for name, field in (("title", "job_title"), ("note", "notes")):
        for prop in values(card, name):
            assert fields[field] == prop[3]
            checks += 1
    for prop in values(card, "bday")[:1]:
        known = (
            fields["birthday"].isoformat()
            if "birthday" in fields
            else custom["birthday"]
        )
        assert known == prop[3][:10]
        checks += 1
    for prop, address in zip(
        values(card, "adr"),
        [fields.get("address"), *custom.get("addresses", [])],
        strict=False,
    ):
        assert all(part in address for part in prop[3] if part)
        checks += 1
    for prop in values(card, "nickname"):
        assert set(prop[3:]) <= set(custom["nicknames"])
        checks += 1
    return checks + 1


# --- Expect: of the feeds -----------------------------------------------------------------------------------

# feedparser 6.0 knows only "yes" and "clean" here; "true" and "false" came later. No
# field of ours holds it.
KNOWN = {"itunes_channel_explicit_false.xml", "itunes_item_explicit_true.xml"}
EXPECT = re.compile(rb"Expect:\s*(.+)")
HEADER = re.compile(rb"Header:\s*([\w-]+):\s*(.+)")
# Expressions about these are held against the draft too.
ENTRY = {
    "title": "title",
    "link": "url",
    "author": "author",
    "id": "guid",
    "summary": "content",
    "description": "content",
    "published": "published",
}
FEED = {
    "title": "title",
    "link": "site_url",
    "description": "description",
    "tagline": "description",
}
SIMPLE = re.compile(
    r"(entries\[0\]|feed)\['(\w+)'\](\[0\]\['value'\])? == ('(?:[^'\\]|\\.)*'|\"[^\"]*\")$"
)


def expectations() -> Iterator[tuple[Path, str, dict[str, str]]]:
    for path in files("feeds", ".xml"):
        data = path.read_bytes()
        expected = EXPECT.search(data)
        if expected is None:
            continue
        # As feedparser's own tests serve them: from this address, and with the headers
        # the comment names.
        headers = {"content-location": f"http://127.0.0.1:8097/{path.name}"}
        headers |= {
            name.decode().lower(): value.decode().strip()
            for name, value in HEADER.findall(data)
        }
        yield path, expected.group(1).decode().strip(), headers


def test_feeds_are_what_their_comments_say() -> None:
    checked, failed = 0, set[str]()
    for path, expression, headers in expectations():
        parsed = feeds.parse(path.read_bytes(), headers)
        names = {"len": len, "datetime": dt}
        try:
            holds = bool(eval(expression, {"__builtins__": {}}, {**names, **parsed}))
        except (KeyError, IndexError, AttributeError, TypeError):
            holds = False
        checked += 1
        if not holds:
            failed.add(path.name)
    assert checked == 183
    assert failed == KNOWN


def test_drafts_of_feeds_are_what_the_comments_say() -> None:
    checked = 0
    for path, expression, headers in expectations():
        match = SIMPLE.match(expression.removeprefix("not bozo and ").strip())
        if match is None or "Content-Location" in headers or path.parent.name == "base":
            # addresses relative to the server: a file on disk was served from nowhere
            continue
        holder, name, value = match.group(1), match.group(2), match.group(4)
        field = (
            {"content": "content", **ENTRY}.get(name)
            if holder != "feed"
            else FEED.get(name)
        )
        if field is None or (name == "content") != bool(match.group(3)):
            continue
        domain = "feed" if holder == "feed" else "feed_item"
        draft = next(
            item for item in drafts_of(feeds.read, path) if item.domain == domain
        )
        wanted = eval(value, {"__builtins__": {}}).strip()
        if field == "title":  # a title is shown without its markup
            wanted = re.sub("<[^<>]*>", "", wanted)
        got = draft.fields.get(field)
        kept: Any = draft.fields.get("custom", {})
        assert (got or "") == wanted or (
            name == "summary" and kept.get("summary") == wanted
        ), path
        checked += 1
    assert checked >= 60


def test_lines_are_what_jcal_and_jcard_say() -> None:
    """The line syntax below the readers: folds, escapes, quoted and structured
    parameters, groups.
    """
    checked = 0
    for path in (*files("ics", ".json"), *files("vcf", ".json")):
        twin = next(
            path.with_suffix(end)
            for end in (".ics", ".vcf")
            if path.with_suffix(end).exists()
        )
        data = twin.read_bytes()
        wanted = [
            prop
            for part in everything(json.loads(path.read_text()))
            for prop in part[1]
        ]
        lines = [
            line
            for root in contentlines.components(data)
            for part in root.walk()
            for line in part.lines
        ]
        pool = [(line.name, line.text) for line in lines] + [
            (line.name, part)
            for line in lines
            for part in contentlines.split(line.value, ",")
        ]
        for name, _, kind, *texts in wanted:
            if kind in {"text", "cal-address", "uri"} and all(
                isinstance(text, str) for text in texts
            ):
                for text in texts:
                    assert (name.upper().rpartition(".")[2], text) in pool, (
                        path.name,
                        name,
                        text,
                    )
                    checked += 1
    assert checked == 94


def everything(jcal: list[Any]) -> Iterator[list[Any]]:
    if jcal and isinstance(jcal[0], list):
        for part in jcal:
            yield from everything(part)
        return
    yield jcal
    for part in jcal[2]:
        yield from everything(part)
