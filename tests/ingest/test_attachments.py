"""Files inside letters: documents of their own that know their letter; nothing enters a
calendar by being sent.
"""

from email.message import EmailMessage
from pathlib import Path

from reverie import app, blobs
from reverie.ingest import importer, ingest_file, scan
from reverie.records import contacts, emails, events, files, notes
from tests.conftest import WORKER_POOL
from tests.ingest import pdfs
from tests.ingest.test_durable import ask, ended, held, working

LEASE = pdfs.built(
    [
        pdfs.drawn(
            ["The rent is due on the third working day of each month, by transfer."]
        )
    ]
)
EVENT = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\nUID:trap@x\r\nDTSTART:20260505T080000Z\r\nSUMMARY:Trap\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"  # noqa: E501
CARD = b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Mallory\r\nTEL:+34600000000\r\nEND:VCARD\r\n"
DOT = b"\x89PNG\r\n\x1a\n" + bytes(200)


def letter(number: int = 1) -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = (
        "Ana <ana@example.org>",
        "Berta <berta@example.org>",
    )
    message["Subject"], message["Message-ID"] = "The lease", f"<{number}@example.org>"
    message["Date"] = "Tue, 05 May 2026 10:00:00 +0200"
    message.set_content("Here is the lease.")
    message.add_attachment(
        LEASE, maintype="application", subtype="pdf", filename="../../lease.pdf"
    )
    message.add_attachment("Remember the keys.", filename="keys.txt")
    message.add_attachment(
        EVENT, maintype="text", subtype="calendar", filename="invite.ics"
    )
    message.add_attachment(
        CARD, maintype="text", subtype="vcard", filename="mallory.vcf"
    )
    message.add_attachment(
        DOT, maintype="image", subtype="png", filename="logo.png", cid="<logo>"
    )
    message.add_attachment(
        b"", maintype="application", subtype="pdf", filename="empty.pdf"
    )
    return message.as_bytes()


async def test_attachments_become_documents(reverie: app.App, tmp_path: Path) -> None:
    (tmp_path / "lease.eml").write_bytes(letter())
    async with working(reverie):
        done = await ended(reverie, await ask(reverie, tmp_path))
    assert done.ingestion.state == "done"
    [email] = await held(reverie, emails.EMAILS)
    [lease] = await held(reverie, files.FILES)
    assert lease.name == "lease.pdf"
    assert "third working day" in lease.text
    assert lease.custom["inside"] == str(email.id)
    assert blobs.get(reverie.blobs, reverie.owner.user_id, lease.sha256) == LEASE
    assert lease.sha256 in {one.get("sha256") for one in email.attachments}
    [keys] = await held(reverie, notes.NOTES)
    assert "Remember the keys." in keys.content
    assert not await held(reverie, events.EVENTS)
    assert not await held(reverie, contacts.CONTACTS)


async def test_the_same_attachment_of_two_letters_is_one_document(
    reverie: app.App, tmp_path: Path
) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "one.eml").write_bytes(letter(1))
    (folder / "two.eml").write_bytes(letter(2))
    desk = ingest_file.Context(
        reverie.database, reverie.owner, reverie.blobs, WORKER_POOL
    )
    for _ in range(2):
        done = await importer.run(
            desk, list(scan.find([folder])), progress=lambda *_: None
        )
        assert done.failed == 0
    assert len(await held(reverie, emails.EMAILS)) == 2
    assert len(await held(reverie, files.FILES)) == 1


async def test_our_own_originals_are_not_taken_in(
    reverie: app.App, tmp_path: Path
) -> None:
    (tmp_path / "lease.eml").write_bytes(letter())
    async with working(reverie):
        await ended(reverie, await ask(reverie, tmp_path))
        done = await ended(reverie, await ask(reverie, tmp_path))
    assert reverie.blobs.is_relative_to(tmp_path)
    assert "imported" not in done.files
    assert len(await held(reverie, files.FILES)) == 1


async def test_attachments_stay_and_go_with_their_letter(
    reverie: app.App, tmp_path: Path
) -> None:
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "wow! lease.eml").write_bytes(letter())
    (folder / "other.md").write_text("# Other\n\nstays\n", encoding="utf-8")
    async with working(reverie):
        for _ in range(2):
            await ended(reverie, await ask(reverie, folder, watch=True))
            assert len(await held(reverie, files.FILES)) == 1
        (folder / "wow! lease.eml").rename(folder / "moved.eml")
        for _ in range(2):
            await ended(reverie, await ask(reverie, folder, watch=True))
            assert (
                len(await held(reverie, files.FILES))
                == len(await held(reverie, emails.EMAILS))
                == 1
            )
        (folder / "moved.eml").unlink()
        await ended(reverie, await ask(reverie, folder, watch=True))
    assert not await held(reverie, files.FILES)
    assert not await held(reverie, emails.EMAILS)
    assert [one.title for one in await held(reverie, notes.NOTES)] == ["Other"]
