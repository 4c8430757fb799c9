"""The importer: every file ends with a status and a reason, nothing comes in twice, no
edit and no byte is lost.
"""

import json
import os
import shutil
import socket
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import reverie.sample
from reverie import blobs, config, db, errors
from reverie.access import callers
from reverie.cli import importing
from reverie.ingest import importer, ingest_file, ledger, report, scan
from reverie.llm import embedding
from reverie.records import (
    base,
    catalogue,
    chats,
    diary,
    emails,
    events,
    notes,
    record_types,
)
from reverie.search import query as queries
from reverie.search import search as searching
from tests.conftest import DATA, WORKER_POOL

FOLDERS = ("vault-obsidian", "ics", "vcf", "mail", "feeds", "bookmarks", "memorybank")
SAMPLE = Path(reverie.sample.__file__).parent
STATUSES = {"imported", "unchanged", "skipped", "failed"}

MAIL = """From: Ana <ana@example.org>
To: Berta <berta@example.org>
Subject: {subject}
Date: Tue, 05 May 2026 10:00:00 +0200
Message-ID: <{number}@example.org>
Content-Type: text/plain; charset=utf-8

{body}
"""
EVENT = """BEGIN:VEVENT
UID:{uid}@example.org
DTSTAMP:20260501T080000Z
DTSTART:20260505T080000Z
DTEND:20260505T090000Z
SUMMARY:{summary}
END:VEVENT
"""


def calendar(**summaries: str) -> str:
    """A calendar of events by UID."""
    parts = [
        EVENT.format(uid=uid, summary=summary) for uid, summary in summaries.items()
    ]
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n{''.join(parts)}END:VCALENDAR\n".replace(
        "\n", "\r\n"
    )


@dataclass
class Desk:
    """One person's import: runs it, and looks at what is kept."""

    database: db.Database
    caller: callers.Caller
    folder: Path
    blobs: Path
    told: list[int] = field(default_factory=list)

    def file(self, name: str, content: str | bytes, *, age: int = 0) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        moment = 1_780_000_000 - age
        os.utime(path, (moment, moment))
        return path

    @property
    def own(self) -> ingest_file.Context:
        return ingest_file.Context(self.database, self.caller, self.blobs, WORKER_POOL)

    async def run(self, *paths: Path, name: str = "") -> report.Report:
        files = list(scan.find(paths or [self.folder], name=name))
        done = await importer.run(
            ingest_file.Context(self.database, self.caller, self.blobs, WORKER_POOL),
            files,
            progress=lambda number, file: self.told.append(number),
        )
        assert len(done.files) >= len(files)  # with those inside them
        for one in done.files:
            assert one.status in STATUSES
            assert bool(one.reason) == (one.status in {"skipped", "failed"}), one
            assert all(item["reason"] for item in one.skipped)
        return done

    async def all(
        self, domain: record_types.Domain, *, deleted: bool = False
    ) -> list[Any]:
        async with self.database.transaction(self.caller) as tx:
            return (
                await base.find(tx, self.caller, domain, limit=1000, deleted=deleted)
            ).items

    async def change(
        self, domain: record_types.Domain, record: Any, **values: object
    ) -> None:
        async with self.database.transaction(self.caller) as tx:
            await base.update(tx, self.caller, domain, record.id, values)

    async def delete(self, domain: record_types.Domain, record: Any) -> None:
        async with self.database.transaction(self.caller) as tx:
            await base.delete(tx, self.caller, domain, record.id)

    async def original(self, record: Any) -> bytes:
        async with self.database.transaction(self.caller) as tx:
            address = await ledger.original(tx, self.caller, record.id)
        return blobs.get(self.blobs, self.caller.user_id, address)


@pytest.fixture
def desk(database: db.Database, owner: callers.Caller, tmp_path: Path) -> Desk:
    (tmp_path / "given").mkdir()
    return Desk(database, owner, tmp_path / "given", tmp_path / "blobs")


def counts(done: report.Report) -> tuple[int, int, int]:
    """Imported, updated, unchanged."""
    return done.imported, done.updated, done.unchanged


# --- The real folders ---------------------------------------------------------------------------------------


async def test_the_seven_folders_come_in_once(desk: Desk) -> None:
    if not all((DATA / name).is_dir() for name in FOLDERS):
        pytest.skip(f"the shared test data is not at {DATA}")
    paths = [DATA / name for name in FOLDERS]
    first = await desk.run(*paths)
    assert desk.told == list(range(1, len(first.files) + 1))
    assert first.failed == 0
    assert first.imported >= 650
    statuses = Counter(one.status for one in first.files)
    assert statuses["imported"] >= 360
    held = sum([len(await desk.all(domain)) for domain in catalogue.DOMAINS.values()])
    assert held == first.imported
    second = await desk.run(*paths)
    assert (second.imported, second.updated, second.failed) == (0, 0, 0)
    assert (
        sum([len(await desk.all(domain)) for domain in catalogue.DOMAINS.values()])
        == held
    )
    # What was left out as a whole is told again, with its reason.
    again = {
        one.path for one in second.files
    }  # without the attachments of letters that are known
    left_out = {
        one.path: one.reason
        for one in first.files
        if one.status == "skipped" and one.path in again
    }
    assert {
        one.path: one.reason for one in second.files if one.status == "skipped"
    } == left_out
    json.dumps(first.as_json())


async def test_the_sample_life_comes_in_whole_and_every_original_is_kept(
    desk: Desk,
) -> None:
    files = [
        one
        for one in scan.find([SAMPLE], name="sample")
        if one.file.suffix not in (".py", ".pyc")
    ]
    done = await importer.run(
        ingest_file.Context(desk.database, desk.caller, desk.blobs, WORKER_POOL),
        files,
        progress=lambda number, file: None,
    )
    assert done.failed == 0
    assert done.imported >= 200
    domains = 0
    for domain in catalogue.DOMAINS.values():
        records = await desk.all(domain)
        domains += bool(records)
        for record in records:
            data = await desk.original(record)
            assert data == (SAMPLE / record.custom["imported_from"]).read_bytes()
    assert domains >= 8


# --- Again --------------------------------------------------------------------------------------------------


async def test_a_second_run_and_touched_files_change_nothing(desk: Desk) -> None:
    desk.file("a.md", "# One\n\nfirst")
    desk.file("b/c.ics", calendar(x="Dentist", y="Piano"))
    desk.file(
        "mail.mbox",
        "From ana@example.org Tue May  5 10:00:00 2026\n"
        + MAIL.format(subject="Hi", number=1, body="hello"),
    )
    assert counts(await desk.run()) == (4, 0, 0)
    assert counts(await desk.run()) == (0, 0, 4)
    for path in desk.folder.rglob("*"):
        os.utime(path)
    assert counts(await desk.run()) == (0, 0, 4)
    assert counts(
        await desk.run(desk.folder / "a.md", desk.folder / "b", desk.folder)
    ) == (0, 0, 7)
    assert len(await desk.all(notes.NOTES)) == 1


async def test_a_changed_file_updates_its_record_and_no_other(desk: Desk) -> None:
    desk.file("a.md", "# One\n\nfirst")
    desk.file("b.md", "# Two\n\nsecond")
    desk.file("c.ics", calendar(x="Dentist", y="Piano"))
    await desk.run()
    before = {
        record.id: record.updated_at
        for record in [*await desk.all(notes.NOTES), *await desk.all(events.EVENTS)]
    }
    desk.file("a.md", "# One\n\nfirst, and more", age=-10)
    desk.file("c.ics", calendar(x="Dentist", y="Piano lesson"), age=-10)
    assert counts(await desk.run()) == (0, 2, 2)
    after = [*await desk.all(notes.NOTES), *await desk.all(events.EVENTS)]
    assert {record.id for record in after} == before.keys()
    changed = [record for record in after if record.updated_at != before[record.id]]
    assert sorted(record.title for record in changed) == ["One", "Piano lesson"]
    assert b"and more" in await desk.original(
        next(one for one in changed if one.title == "One")
    )


async def test_what_changed_here_and_in_the_file_is_kept_twice(desk: Desk) -> None:
    desk.file("a.md", "# One\n\nfirst")
    await desk.run()
    (mine,) = await desk.all(notes.NOTES)
    await desk.change(notes.NOTES, mine, content="my own words")
    assert counts(await desk.run()) == (0, 0, 1)
    desk.file("a.md", "# One\n\nfrom the file", age=-10)
    done = await desk.run()
    assert counts(done) == (1, 0, 0)
    assert "both are kept" in done.files[0].skipped[0]["reason"]
    texts = sorted(
        note.content.strip().splitlines()[-1] for note in await desk.all(notes.NOTES)
    )
    assert texts == ["from the file", "my own words"]
    assert counts(await desk.run()) == (0, 0, 1)
    desk.file("a.md", "# One\n\nfrom the file again", age=-20)
    assert counts(await desk.run()) == (0, 1, 0)
    assert len(await desk.all(notes.NOTES)) == 2


async def test_an_edit_outlives_a_change_of_its_neighbour_in_the_file(
    desk: Desk,
) -> None:
    """The file changes elsewhere first, then at the edited item: the edit is still
    known as one.
    """
    desk.file("c.ics", calendar(x="Dentist", y="Piano"))
    await desk.run()
    mine = next(one for one in await desk.all(events.EVENTS) if one.title == "Dentist")
    await desk.change(events.EVENTS, mine, title="Dentist, bring the X-rays")
    desk.file("c.ics", calendar(x="Dentist", y="Piano lesson"), age=-10)
    assert counts(await desk.run()) == (0, 1, 1)
    desk.file("c.ics", calendar(x="Dentist, moved", y="Piano lesson"), age=-20)
    assert counts(await desk.run()) == (1, 0, 1)
    titles = {one.title for one in await desk.all(events.EVENTS)}
    assert titles == {"Dentist, bring the X-rays", "Dentist, moved", "Piano lesson"}


async def test_what_was_deleted_here_stays_deleted(desk: Desk) -> None:
    desk.file("a.md", "# One\n\nfirst")
    desk.file("c.ics", calendar(x="Dentist"))
    await desk.run()
    for domain in (notes.NOTES, events.EVENTS):
        (record,) = await desk.all(domain)
        await desk.delete(domain, record)
    assert counts(await desk.run()) == (0, 0, 2)
    desk.file("a.md", "# One\n\nchanged", age=-10)
    desk.file("again.ics", calendar(x="Dentist"), age=-10)
    done = await desk.run()
    assert counts(done) == (0, 0, 3)
    assert any(
        item["reason"] == "you deleted it" for one in done.files for item in one.skipped
    )
    assert [await desk.all(domain) for domain in (notes.NOTES, events.EVENTS)] == [
        [],
        [],
    ]


async def test_a_second_entry_for_a_day_becomes_a_note(desk: Desk) -> None:
    desk.file("home/2026-05-01.md", "It rained.")
    desk.file("work/2026-05-01.md", "It rained there too.")
    done = await desk.run()
    assert done.imported == 2
    (entry,) = await desk.all(diary.DIARY)
    (note,) = await desk.all(notes.NOTES)
    assert {entry.content.strip(), note.content.strip()} == {
        "It rained.",
        "It rained there too.",
    }
    assert "kept as a note" in done.files[1].skipped[0]["reason"]
    assert note.title
    assert "2026-05-01" in note.title
    assert counts(await desk.run()) == (0, 0, 2)
    desk.file("work/2026-05-01.md", "It rained there too, all day.", age=-10)
    assert counts(await desk.run()) == (0, 1, 1)
    assert [one.content.strip() for one in await desk.all(notes.NOTES)] == [
        "It rained there too, all day."
    ]


# --- The same thing in two files ----------------------------------------------------------------------------


async def test_one_event_and_one_mail_in_two_files_are_one_record(desk: Desk) -> None:
    desk.file("a.ics", calendar(x="Dentist"))
    desk.file("copy/a.ics", calendar(x="Dentist", y="Piano"))
    desk.file(
        "inbox.mbox",
        "From ana@example.org Tue May  5 10:00:00 2026\n"
        + MAIL.format(subject="Hi", number=1, body="hello"),
    )
    desk.file("one.eml", MAIL.format(subject="Hi", number=1, body="hello"))
    done = await desk.run()
    assert done.imported == 3
    assert {one.title for one in await desk.all(events.EVENTS)} == {"Dentist", "Piano"}
    assert len(await desk.all(events.EVENTS)) == 2
    assert len(await desk.all(emails.EMAILS)) == 1
    again = await desk.run()
    assert (again.imported, again.updated) == (0, 0)


async def test_two_exports_of_one_calendar_do_not_fight(desk: Desk) -> None:
    """Each new export changes the record that the other one changed before: no copy is
    made of it.
    """
    desk.file("a.ics", calendar(x="Dentist"), age=100)
    desk.file("b.ics", calendar(x="Dentist"), age=90)
    await desk.run()
    desk.file("a.ics", calendar(x="Dentist at ten"), age=80)
    await desk.run()
    desk.file("b.ics", calendar(x="Dentist at eleven"), age=70)
    done = await desk.run()
    assert counts(done) == (0, 1, 1)
    assert [one.title for one in await desk.all(events.EVENTS)] == ["Dentist at eleven"]


async def test_an_older_file_does_not_win(desk: Desk) -> None:
    """Nor does it vanish: what is not plainly a newer version is a second record."""
    desk.file("new.ics", calendar(x="Dentist at eleven"))
    await desk.run()
    (mine,) = await desk.all(events.EVENTS)
    desk.file("old/backup.ics", calendar(x="Dentist"), age=5000)
    done = await desk.run()
    assert (done.imported, done.updated) == (1, 0)
    assert any(
        "both are kept" in item["remark"] for one in done.files for item in one.remarks
    )
    held = {one.id: one for one in await desk.all(events.EVENTS)}
    assert {one.title for one in held.values()} == {"Dentist at eleven", "Dentist"}
    assert held[mine.id] == mine
    assert counts(await desk.run()) == (0, 0, 2)


async def test_an_older_copy_of_a_mail_does_not_move_it(desk: Desk) -> None:
    text = MAIL.format(subject="Hi", number=1, body="hello")
    desk.file("Archive/one.eml", text)
    await desk.run()
    desk.file("Inbox/one.eml", text, age=5000)
    done = await desk.run()
    assert (done.imported, done.updated) == (0, 0)
    assert any(
        "newer version" in item["reason"] for one in done.files for item in one.skipped
    )
    assert [one.folder for one in await desk.all(emails.EMAILS)] == ["Archive"]


async def test_a_named_source_is_known_wherever_it_lies(
    desk: Desk, tmp_path: Path
) -> None:
    desk.file("a.md", "# One\n\nfirst")
    desk.file("deep/b.md", "# Two\n\nsecond")
    moved = tmp_path / "elsewhere" / "copy"
    shutil.copytree(desk.folder, moved)
    assert counts(await desk.run(name="demo")) == (2, 0, 0)
    assert counts(await desk.run(moved, name="demo")) == (0, 0, 2)
    assert counts(await desk.run(moved)) == (2, 0, 0)


# --- Bad files ----------------------------------------------------------------------------------------------


async def test_a_broken_file_in_the_middle_stops_nothing(desk: Desk) -> None:
    desk.file("a.md", "# One\n\nfirst")
    desk.file("b.zip", b"PK\x03\x04 and then nothing of an archive")
    desk.file("conversations.json", '[{"title": "cut off", "mapping": {')
    desk.file("d.pdf", b"%PDF-1.7\n\xe2\xe3")
    desk.file("z.md", "# Last\n\nlast")
    done = await desk.run()
    by_name = {one.path: one for one in done.files}
    assert done.imported == 2
    assert by_name["z.md"].status == "imported"
    assert by_name["b.zip"].status == "failed"
    assert by_name["conversations.json"].status == "failed"
    assert by_name["d.pdf"].status == "failed"
    again = await desk.run()
    assert (again.imported, again.failed) == (0, done.failed)


async def test_what_comes_before_the_broken_place_is_kept_and_the_rest_follows(
    desk: Desk,
) -> None:
    path = desk.file("c.ics", calendar(x="Dentist", y="Piano"))
    await desk.run()
    whole = path.read_text()
    desk.file(
        "c.ics",
        whole.replace("END:VCALENDAR", EVENT.format(uid="z", summary="Last")),
        age=-10,
    )
    await desk.run()
    titles = {one.title for one in await desk.all(events.EVENTS)}
    assert titles >= {"Dentist", "Piano"}
    assert len(await desk.all(events.EVENTS)) == len(titles)


async def test_files_that_cannot_be_read_are_named(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.file("a.md", "# One\n\nfirst")
    gone = desk.file("gone.md", "# Gone\n\nsoon")
    large = desk.file("large.md", "")
    with large.open("r+b") as file:
        file.truncate(ingest_file.LARGEST + 1)  # a hole: it takes no room
    files = list(scan.find([desk.folder]))
    gone.unlink()
    done = await importer.run(
        ingest_file.Context(desk.database, desk.caller, desk.blobs, WORKER_POOL),
        files,
        progress=lambda number, file: None,
    )
    by_name = {one.path: one for one in done.files}
    assert by_name["a.md"].status == "imported"
    assert by_name["gone.md"].status == "failed"
    assert by_name["gone.md"].reason == "cannot be read: No such file or directory"
    assert by_name["large.md"].reason == "the file is larger than 2 GB: split it"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_files_and_folders_of_others_are_named(desk: Desk) -> None:
    desk.file("a.md", "# One\n\nfirst")
    desk.file("closed.md", "# Closed\n\nx").chmod(0)
    closed = desk.file("folder/b.md", "# In a closed folder\n\nx").parent
    closed.chmod(0)
    try:
        done = await desk.run()
    finally:
        closed.chmod(0o700)
    by_name = {one.path: one for one in done.files}
    assert by_name["a.md"].status == "imported"
    assert (by_name["closed.md"].status, by_name["closed.md"].reason) == (
        "failed",
        "cannot be read: Permission denied",
    )
    assert (by_name["folder"].status, by_name["folder"].reason) == (
        "skipped",
        "a folder that cannot be read",
    )


async def test_links_pipes_and_sockets_are_named_and_not_followed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.file("a.md", "# One\n\nfirst")
    (desk.folder / "loop").symlink_to(desk.folder)
    (desk.folder / "again.md").symlink_to(desk.folder / "a.md")
    (desk.folder / "dangling.md").symlink_to("nowhere")
    os.mkfifo(desk.folder / "pipe.md")
    monkeypatch.chdir(desk.folder)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.md")
        done = await desk.run()
    reasons = {one.path: one.reason for one in done.files}
    link, special = (
        "a symbolic link is not followed",
        "not a file but a pipe, a socket or a device",
    )
    assert reasons == {
        "a.md": "",
        "again.md": link,
        "dangling.md": link,
        "loop": link,
        "pipe.md": special,
        "socket.md": special,
    }
    assert done.imported == 1


def test_a_path_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(errors.NotFound, match=r"There is nothing at .*nowhere"):
        list(scan.find([tmp_path / "nowhere"]))


async def test_strange_names_break_nothing(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two names that differ in one byte that is no UTF-8 are two files."""
    odd: list[bytes] = [
        b"caf\xe9.md",
        b"caf\xe8.md",
        b"new\nline.md",
        "\u202egnp.md".encode(),
        b"a\x1b[31mred.md",
        "emoji 🏖️ 海.md".encode(),
        b"-rf.md",
        b"%s {} \\x.md",
    ]
    for number, name in enumerate(odd):
        desk.file(os.fsdecode(name), f"text number {number}\n")
    done = await desk.run()
    assert counts(done) == (len(odd), 0, 0)
    assert counts(await desk.run()) == (0, 0, len(odd))
    contents = sorted(note.content.strip() for note in await desk.all(notes.NOTES))
    assert contents == [f"text number {number}" for number in range(len(odd))]
    json.dumps(done.as_json(), ensure_ascii=False).encode()
    importing.print_report(done, verbose=True)
    shown = capsys.readouterr().out
    assert "\u202e" not in shown
    assert "\x1b[31mred" not in shown
    assert "🏖️" in shown


# --- Chats --------------------------------------------------------------------------------------------------


async def test_a_turn_is_found_with_its_chat_and_its_id(desk: Desk) -> None:
    await desk.run(SAMPLE / "chats")
    kept = {chat.id: chat for chat in await desk.all(chats.CHATS)}
    chat, turn = next(
        (chat, turn)
        for chat in kept.values()
        for turn in chat.turns
        if turn["speaker"] != "user"
    )
    words = " ".join(turn["text"].split()[:6])
    embeddings = embedding.Embeddings(config.Embedding(provider="none"))
    results = await searching.search(
        desk.database,
        desk.caller,
        embeddings,
        queries.Query(text=words, domains=("chat",)),
    )
    embeddings.close()
    hit = results.hits[0]
    assert hit.record_id == chat.id
    assert hit.passages[0].place["chat"] == str(chat.id)
    assert hit.passages[0].place["turn"] == turn["id"]
    assert hit.passages[0].place["speaker"] == turn["speaker"]
    assert hit.passages[0].place["at"] == turn["at"]
    assert turn["id"]
