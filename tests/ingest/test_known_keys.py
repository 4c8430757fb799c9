"""Nothing outside may overwrite: a known Message-ID or UID from elsewhere replaces
nothing, sources of one person add up, and what an import replaces stays as a version.
"""

from pathlib import Path
from typing import Any

import pytest

from reverie import db
from reverie.access import callers
from reverie.ingest import report
from reverie.records import contacts, emails, events, history, tasks, versions
from tests.ingest.test_importer import Desk, counts

MAIL = """From: {sender}
To: Berta <berta@example.org>
Subject: {subject}
Date: {date}
Message-ID: <known@example.org>
{more}Content-Type: text/plain; charset=utf-8

{body}
"""
SAID = {
    "sender": "Ana <ana@example.org>",
    "subject": "The keys",
    "date": "Tue, 05 May 2026 10:00:00 +0200",
    "more": "",
    "body": "They lie under the stone.",
}
OTHERS = {
    "sender": {"sender": "Ana <ana@examp1e.org>"},
    "date": {"date": "Wed, 06 May 2026 10:00:00 +0200"},
    "body": {"body": "Send them to 12 Low Street."},
    "subject": {"subject": "Your account"},
    "reply": {"more": "Reply-To: mallory@example.net\n"},
}
"""What another letter under the same Message-ID says instead."""


@pytest.fixture
def desk(database: db.Database, owner: callers.Caller, tmp_path: Path) -> Desk:
    (tmp_path / "given").mkdir()
    return Desk(database, owner, tmp_path / "given", tmp_path / "blobs")


def letter(**other: str) -> str:
    return MAIL.format(**{**SAID, **other})


def mbox(*letters: str) -> str:
    return "\n".join(
        f"From ana@example.org Tue May  5 10:00:00 2026\n{text}" for text in letters
    )


def remarks(done: report.Report) -> str:
    return str([remark for file in done.files for remark in file.remarks])


async def bodies(desk: Desk) -> list[str]:
    return sorted(mail.body_text.strip() for mail in await desk.all(emails.EMAILS))


async def replaced(desk: Desk, record: Any) -> list[dict[str, Any]]:
    """What the updates of a record replaced, the newest first."""
    async with desk.database.transaction(desk.caller) as tx:
        rows, _ = await versions.page(tx, desk.caller, record.id, limit=50, offset=0)
    return [dict(row.replaced) for row in rows if row.action == "update"]


# --- Mail ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", OTHERS.values(), ids=list(OTHERS))
@pytest.mark.parametrize("age", [-100, 100], ids=["newer file", "older file"])
@pytest.mark.parametrize("form", ["eml", "mbox"])
async def test_another_letter_under_a_known_id_is_a_second_record(
    desk: Desk, other: dict[str, str], age: int, form: str
) -> None:
    desk.file("mine.eml", letter())
    await desk.run()
    (mine,) = await desk.all(emails.EMAILS)
    text = letter(**other)
    desk.file(f"in/other.{form}", mbox(text) if form == "mbox" else text, age=age)
    done = await desk.run()
    assert counts(done) == (1, 0, 1)
    assert "Message-ID" in remarks(done)
    held = await desk.all(emails.EMAILS)
    assert len(held) == 2
    assert next(mail for mail in held if mail.id == mine.id) == mine
    (second,) = [mail for mail in held if mail.id != mine.id]
    assert b"known@example.org" in await desk.original(second)
    assert counts(await desk.run()) == (0, 0, 2)


@pytest.mark.parametrize("first", ["mine", "theirs"])
async def test_two_letters_of_one_id_in_one_mailbox(desk: Desk, first: str) -> None:
    """In whichever order: neither vanishes, and later a second look finds both."""
    theirs = letter(body="Send them to me.")
    desk.file("inbox.mbox", mbox(letter()))
    await desk.run()
    (mine,) = await desk.all(emails.EMAILS)
    both = [letter(), theirs] if first == "mine" else [theirs, letter()]
    desk.file("inbox.mbox", mbox(*both), age=-10)
    assert counts(await desk.run()) == (1, 0, 1)
    assert await bodies(desk) == ["Send them to me.", "They lie under the stone."]
    held = {mail.id: mail for mail in await desk.all(emails.EMAILS)}
    assert held[mine.id] == mine
    # The order of the mailbox says nothing, nor does a copy of either.
    desk.file("inbox.mbox", mbox(*reversed(both)), age=-20)
    assert counts(await desk.run()) == (0, 0, 2)
    desk.file("copies/a.eml", theirs, age=-30)
    desk.file("copies/b.mbox", mbox(theirs, letter(), theirs), age=-30)
    done = await desk.run()
    assert done.imported == 0
    assert {mail.id for mail in await desk.all(emails.EMAILS)} == held.keys()


async def test_one_mail_in_many_places_is_one_record(desk: Desk) -> None:
    """Folder, labels, flags, and how lines end are those of the place."""
    desk.file("a.eml", letter())
    desk.file("b.mbox", mbox(letter(more="X-Gmail-Labels: Inbox,Keys\n")))
    desk.file("Box/cur/1700000000.M1.host:2,S", letter())
    desk.file("crlf/c.eml", letter().replace("\n", "\r\n"))
    done = await desk.run()
    assert done.imported == 1
    assert len(await desk.all(emails.EMAILS)) == 1
    again = await desk.run()
    assert (again.imported, again.updated) == (0, 0)


async def test_an_edited_file_updates_its_mail_and_the_old_text_stays(
    desk: Desk,
) -> None:
    desk.file("mine.eml", letter())
    await desk.run()
    (mine,) = await desk.all(emails.EMAILS)
    desk.file("mine.eml", letter(body="They lie on the table."), age=-10)
    assert counts(await desk.run()) == (0, 1, 0)
    (now,) = await desk.all(emails.EMAILS)
    assert (now.id, now.body_text.strip()) == (mine.id, "They lie on the table.")
    (old,) = await replaced(desk, mine)
    assert old["body_text"].strip() == "They lie under the stone."


async def test_a_letter_is_known_that_came_before_contents_were_kept(
    desk: Desk,
) -> None:
    desk.file("mine.eml", letter())
    await desk.run()
    async with desk.database.transaction(desk.caller) as tx:
        await tx.run("UPDATE imported SET content = NULL")
    desk.file("copy/mine.mbox", mbox(letter()), age=-10)
    done = await desk.run()
    assert done.imported == 0
    desk.file("copy/other.eml", letter(body="Send them to me."), age=-20)
    assert (await desk.run()).imported == 1


async def test_a_deleted_mail_hides_no_other(desk: Desk) -> None:
    desk.file("mine.eml", letter())
    await desk.run()
    (mine,) = await desk.all(emails.EMAILS)
    await desk.delete(emails.EMAILS, mine)
    desk.file("copy/mine.eml", letter(), age=-10)
    desk.file("copy/other.eml", letter(body="Not that one."), age=-10)
    await desk.run()
    assert await bodies(desk) == ["Not that one."]


# --- Calendars ----------------------------------------------------------------------------------------------


def calendar(
    summary: str,
    *,
    sequence: int | None = None,
    modified: str = "",
    organizer: str = "",
    name: str = "",
    kind: str = "VEVENT",
) -> str:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//EN"]
    lines += [f"X-WR-CALNAME:{name}"] if name else []
    lines += [f"BEGIN:{kind}", "UID:known@example.org", "DTSTART:20260505T080000Z"]
    lines += [f"SUMMARY:{summary}"]
    lines += [f"SEQUENCE:{sequence}"] if sequence is not None else []
    lines += [f"LAST-MODIFIED:{modified}"] if modified else []
    lines += [f"ORGANIZER:mailto:{organizer}"] if organizer else []
    return "\r\n".join([*lines, f"END:{kind}", "END:VCALENDAR", ""])


MINE: dict[str, Any] = {
    "sequence": 1,
    "modified": "20260501T080000Z",
    "organizer": "ana@example.org",
    "name": "Home",
}
NOT_NEWER: dict[str, tuple[str, dict[str, Any]]] = {
    "says nothing": ("b.ics", {"sequence": None, "modified": ""}),
    "the same": ("b.ics", {}),
    "older": ("b.ics", {"sequence": 0, "modified": "20260401T080000Z"}),
    "both ways": ("b.ics", {"sequence": 2, "modified": "20260401T080000Z"}),
    "another organizer": ("b.ics", {"sequence": 9, "organizer": "m@example.net"}),
    "no organizer": ("b.ics", {"sequence": 9, "organizer": ""}),
    "another calendar": ("b.ics", {"sequence": 9, "name": "Work"}),
    "another folder": ("in/b.ics", {"sequence": 9}),
}


@pytest.mark.parametrize(("place", "other"), NOT_NEWER.values(), ids=list(NOT_NEWER))
@pytest.mark.parametrize("kind", ["VEVENT", "VTODO"])
async def test_a_known_uid_from_elsewhere_replaces_nothing(
    desk: Desk, place: str, other: dict[str, Any], kind: str
) -> None:
    domain = events.EVENTS if kind == "VEVENT" else tasks.TASKS
    desk.file("a.ics", calendar("Dentist", kind=kind, **MINE))
    await desk.run()
    (mine,) = await desk.all(domain)
    text = calendar("Come to me", kind=kind, **{**MINE, **other})
    desk.file(place, text, age=-100)
    done = await desk.run()
    assert counts(done) == (1, 0, 1)
    assert "UID" in remarks(done)
    held = {record.id: record for record in await desk.all(domain)}
    assert len(held) == 2
    assert held[mine.id] == mine
    assert counts(await desk.run()) == (0, 0, 2)
    assert len(await desk.all(domain)) == 2


@pytest.mark.parametrize(
    "newer", [{"sequence": 2}, {"modified": "20260502T080000Z"}], ids=str
)
async def test_a_plainly_newer_version_replaces_and_the_old_one_stays(
    desk: Desk, newer: dict[str, Any]
) -> None:
    desk.file("export-1.ics", calendar("Dentist", **MINE))
    await desk.run()
    (mine,) = await desk.all(events.EVENTS)
    # The time of the file says nothing: an export is as old as its disk says.
    desk.file("export-2.ics", calendar("Dentist at ten", **{**MINE, **newer}), age=99)
    assert counts(await desk.run()) == (0, 1, 1)
    (now,) = await desk.all(events.EVENTS)
    assert (now.id, now.title) == (mine.id, "Dentist at ten")
    (old,) = await replaced(desk, mine)
    assert old["title"] == "Dentist"
    assert counts(await desk.run()) == (0, 0, 2)
    async with desk.database.transaction(desk.caller) as tx:
        rows, _ = await versions.page(tx, desk.caller, mine.id, limit=9, offset=0)
        first = await history.at_version(
            tx, desk.caller, events.EVENTS, mine.id, rows[-1].version
        )
    assert first.title == "Dentist"


async def test_the_same_event_in_two_calendars_is_one(desk: Desk) -> None:
    desk.file("a.ics", calendar("Dentist", **MINE))
    work: dict[str, Any] = {**MINE, "name": "Work"}
    desk.file("in/b.ics", calendar("Dentist", **work), age=10)
    done = await desk.run()
    assert done.imported == 1
    assert len(await desk.all(events.EVENTS)) == 1


# --- Contacts -----------------------------------------------------------------------------------------------


def card(*lines: str) -> str:
    return "\r\n".join(["BEGIN:VCARD", "VERSION:3.0", *lines, "END:VCARD", ""])


async def test_a_card_of_a_known_uid_replaces_nothing(desk: Desk) -> None:
    bank = (
        "UID:bank",
        "FN:The Bank",
        "EMAIL:help@bank.example",
        "REV:20260101T000000Z",
    )
    desk.file("a.vcf", card(*bank, "TEL:+49 30 111"))
    await desk.run()
    (mine,) = await desk.all(contacts.CONTACTS)
    late = (*bank[:3], "REV:20270101T000000Z")
    desk.file("in/b.vcf", card(*late, "TEL:+49 30 666"), age=-100)
    desk.file("c.vcf", card(*bank, "TEL:+49 30 777"), age=-100)
    done = await desk.run()
    assert counts(done) == (2, 0, 1)
    held = {one.id: one for one in await desk.all(contacts.CONTACTS)}
    assert held[mine.id] == mine
    assert sorted(one.phones[0][-3:] for one in held.values()) == ["111", "666", "777"]
    # The next export from the same folder is a newer version.
    desk.file("d.vcf", card(*late, "TEL:+49 30 112"))
    assert counts(await desk.run()) == (0, 1, 3)
    held = {one.id: one for one in await desk.all(contacts.CONTACTS)}
    assert held[mine.id].phones == ["+49 30 112"]
    (old,) = await replaced(desk, mine)
    assert old["phones"] == ["+49 30 111"]


CARDS = card(
    "FN:Wanda Okoro",
    "N:Okoro;Wanda;;;",
    "BDAY;VALUE=text:circa 1950",
    "TEL:+44-20-7946-0001",
    "EMAIL;TYPE=pref:wanda@example.org",
    "EMAIL:wanda2@example.org",
    "ORG:Okoro & Sons",
    "NOTE:met in Leeds",
)
TABLE = (
    "First Name,Last Name,E-mail 1 - Value,Phone 1 - Value,Organization Name,Birthday,Notes\n"
    "Wanda,Okoro,wanda@example.org ::: w2@example.org,+44 20 7946 0001 ::: +44 20 7946 0002,"
    'Tea Ltd, --02-29,"likes tea"\n'
)


@pytest.mark.parametrize("order", ["card first", "table first", "card with UID last"])
@pytest.mark.parametrize("age", [-100, 100], ids=["newer file", "older file"])
async def test_a_second_source_of_a_person_adds_and_takes_nothing(
    desk: Desk, order: str, age: int
) -> None:
    cards = CARDS.replace("FN:", "UID:w-1\r\nFN:") if "UID" in order else CARDS
    sources = [("a.vcf", cards), ("b.csv", TABLE)]
    if order != "card first":
        sources.reverse()
    desk.file(sources[0][0], sources[0][1])
    assert counts(await desk.run()) == (1, 0, 0)
    (before,) = await desk.all(contacts.CONTACTS)
    desk.file(sources[1][0], sources[1][1], age=age)
    done = await desk.run()
    assert counts(done) == (0, 1, 1)
    assert "merged into the contact of" in remarks(done)
    assert "notes" in remarks(done)
    (now,) = await desk.all(contacts.CONTACTS)
    assert now.id == before.id
    assert set(now.emails) == {
        "wanda@example.org",
        "wanda2@example.org",
        "w2@example.org",
    }
    assert now.emails[: len(before.emails)] == before.emails
    digits = sorted("".join(filter(str.isdigit, phone)) for phone in now.phones)
    assert digits == ["442079460001", "442079460002"]
    assert "met in Leeds" in now.notes
    assert "likes tea" in now.notes
    # Where both say something, what was known stays, and the other is kept beside it.
    assert now.company == before.company
    both = {now.company, *now.custom["other"]["company"]}
    assert both == {"Okoro & Sons", "Tea Ltd"}
    births = {now.custom["birthday"], *now.custom["other"]["birthday"]}
    assert births == {"circa 1950", "--02-29"}
    assert now.custom["imported_from"] == before.custom["imported_from"]
    assert (await replaced(desk, before))[0]["emails"] == before.emails
    assert counts(await desk.run()) == (0, 0, 2)
    if "UID" in order:
        assert now.custom["uid"] == "w-1"


async def test_an_edit_of_one_source_takes_nothing_of_the_other(desk: Desk) -> None:
    desk.file("a.vcf", CARDS)
    desk.file("b.csv", TABLE)
    await desk.run()
    desk.file("a.vcf", CARDS.replace("Okoro & Sons", "Okoro & Daughters"), age=-10)
    assert counts(await desk.run()) == (0, 1, 1)
    (now,) = await desk.all(contacts.CONTACTS)
    assert now.company == "Okoro & Daughters"
    assert "w2@example.org" in now.emails
    assert "likes tea" in now.notes
    desk.file("b.csv", TABLE.replace("Tea Ltd", "Tea Co"), age=-10)
    await desk.run()
    (now,) = await desk.all(contacts.CONTACTS)
    assert now.company == "Okoro & Daughters"
    assert now.custom["other"]["company"] == ["Tea Ltd", "Tea Co"]


@pytest.mark.parametrize(
    "row",
    [
        "Wanda,Okoro,other@example.org,,",
        "Wanda,Okoro,,,",
        "Wanda,Okoro,wanda@example.org,,1990-01-02",
    ],
    ids=["no address in common", "a name alone", "another birthday"],
)
async def test_what_is_not_plainly_one_person_stays_two(desk: Desk, row: str) -> None:
    desk.file("a.vcf", CARDS.replace("BDAY;VALUE=text:circa 1950", "BDAY:1950-03-04"))
    await desk.run()
    (mine,) = await desk.all(contacts.CONTACTS)
    head = "First Name,Last Name,E-mail 1 - Value,Phone 1 - Value,Birthday\n"
    desk.file("b.csv", f"{head}{row}\n", age=-100)
    assert counts(await desk.run()) == (1, 0, 1)
    held = {one.id: one for one in await desk.all(contacts.CONTACTS)}
    assert held[mine.id] == mine
    assert counts(await desk.run()) == (0, 0, 2)


async def test_two_rows_of_one_person_in_one_table(desk: Desk) -> None:
    head = "First Name,Last Name,E-mail 1 - Value,Phone 1 - Value,Notes\n"
    rows = (
        "Wanda,Okoro,wanda@example.org,+44 20 1,\n"
        "Wanda,Okoro,wanda@example.org,+44 20 2,likes tea\n"
        "Pio,Lang,,,plays\n"
        "Pio,Lang,,,sings\n"
    )
    desk.file("b.csv", head + rows)
    done = await desk.run()
    assert counts(done) == (3, 0, 0)
    wanda = next(
        one for one in await desk.all(contacts.CONTACTS) if one.given == "Wanda"
    )
    assert wanda.phones == ["+44 20 1", "+44 20 2"]
    assert wanda.notes == "likes tea"
    assert counts(await desk.run()) == (0, 0, 3)


async def test_my_own_words_stay_when_a_source_adds(desk: Desk) -> None:
    desk.file("a.vcf", CARDS)
    await desk.run()
    (mine,) = await desk.all(contacts.CONTACTS)
    await desk.change(contacts.CONTACTS, mine, notes="mine", company="Now retired")
    desk.file("b.csv", TABLE, age=-10)
    await desk.run()
    (now,) = await desk.all(contacts.CONTACTS)
    assert now.notes == "mine\n\nlikes tea"
    assert now.company == "Now retired"
