"""What an agent may do by way of files and sensitivity: no more than by the front door."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from reverie import app, blobs
from reverie.access import agents, callers, tokens
from reverie.ingest import ingestions, status
from reverie.records import catalogue
from reverie.web import server
from tests.ingest.test_durable import ask, held, working
from tests.ingest.test_durable import ended as ended_of
from tests.web.test_records import ROOT

CALENDAR = b"""BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//t//EN
BEGIN:VEVENT
UID:meeting-1@t
DTSTART:20260301T090000Z
DTEND:20260301T100000Z
SUMMARY:Meeting at the harbour
END:VEVENT
END:VCALENDAR
"""
NOTE = b"# The leak\n\nUnder the sink.\n"
LETTER = (
    b"From: Ana <ana@example.org>\nTo: me@example.org\nSubject: Papers\n"
    b"Message-ID: <papers@example.org>\nDate: Sat, 07 Mar 2026 09:00:00 +0000\n"
    b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    b"--b\nContent-Type: text/plain\n\nSee the paper.\n"
    b"--b\nContent-Type: text/html; name=paper.html\n"
    b"Content-Disposition: attachment; filename=paper.html\n\n"
    b"<html><body><h1>Paper</h1><p>The paper of the attachment</p></body></html>.\n--b--\n"
)
FEED = b"""<rss version="2.0"><channel><title>Harbour news</title><link>https://example.org/</link>
<description>d</description><item><title>Low tide</title><guid>tide-1</guid>
<link>https://example.org/1</link><description>At six.</description>
<pubDate>Sat, 07 Mar 2026 09:00:00 GMT</pubDate></item></channel></rss>"""


async def token_of(
    reverie: app.App, name: str, *scopes: str, kind: callers.Kind = "agent"
) -> str:
    return await tokens.mint(
        reverie.database, reverie.owner.user_id, name=name, kind=kind, scopes=scopes
    )


def client(reverie: app.App, token: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=server.create(reverie)),
        base_url="http://127.0.0.1:8585",
        headers={"Authorization": f"Bearer {token}"},
    )


async def sent(
    reverie: app.App, token: str, data: bytes, name: str, **more: Any
) -> UUID:
    """Ask over HTTP for some bytes to be taken in; returns the ingestion."""
    async with client(reverie, token) as api:
        upload = (await api.post(f"{ROOT}/upload", content=data)).json()["sha256"]
        body = {"upload": upload, "name": name, **more}
        answer = await api.post(f"{ROOT}/ingest", json=body)
    assert answer.status_code == 201, answer.text
    return UUID(answer.json()["id"])


async def taken_in(
    reverie: app.App, token: str, data: bytes, name: str, **more: Any
) -> status.Status:
    return await ended_of(reverie, await sent(reverie, token, data, name, **more))


async def owners_token(reverie: app.App) -> str:
    return await token_of(reverie, "test", "*:*", kind="user")


async def who_wrote(reverie: app.App, domain: str) -> set[str]:
    async with reverie.database.transaction(reverie.owner) as tx:
        rows = await tx.rows(
            "SELECT caller FROM change WHERE user_id = %s AND domain = %s",
            (reverie.owner.user_id, domain),
        )
    return {row["caller"] for row in rows}


async def files_of(reverie: app.App, ingestion: UUID) -> list[ingestions.IngestionFile]:
    async with reverie.database.transaction(reverie.owner) as tx:
        return await ingestions.files(tx, reverie.owner, ingestion)


async def test_an_upload_writes_no_domain_that_its_agent_may_not(
    reverie: app.App,
) -> None:
    token = await token_of(reverie, "clerk", "files:*")
    async with working(reverie):
        for data, name in (
            (CALENDAR, "harbour.ics"),
            (NOTE, "leak.md"),
            (FEED, "news.xml"),
            (LETTER, "papers.eml"),
        ):
            done = await taken_in(reverie, token, data, name)
            first = (await files_of(reverie, done.ingestion.id))[0]
            assert first.state == "skipped", name
            assert "may not write" in first.reason, name
    for name, domain in catalogue.DOMAINS.items():
        # The attachment of the letter is a file, and files it may write.
        wanted = ["paper.html"] if name == "file" else []
        found = await held(reverie, domain)
        assert [getattr(record, "name", record) for record in found] == wanted, name
    assert await who_wrote(reverie, "file") == {"agent:clerk"}


async def test_what_the_caller_may_write_of_a_file_comes_in(reverie: app.App) -> None:
    token = await token_of(reverie, "reader", "files:write", "feeds:write")
    async with working(reverie):
        done = await taken_in(reverie, token, FEED, "news.xml")
        [file] = await files_of(reverie, done.ingestion.id)
        assert file.state == "imported"
        assert file.counts["imported"] == 1
        [item] = file.counts["skipped"]
        assert item["reason"] == "This token may not write feed-items"
        assert await who_wrote(reverie, "feed") == {"agent:reader"}
        assert not await held(reverie, catalogue.domain("feed_item"))
        # The same bytes by the owner: what was refused comes in, the rest is there.
        done = await taken_in(reverie, await owners_token(reverie), FEED, "news.xml")
        [file] = await files_of(reverie, done.ingestion.id)
        assert (file.counts["imported"], file.counts["unchanged"]) == (1, 1)
    assert await who_wrote(reverie, "feed_item") == {"user:test"}


async def test_an_agent_does_not_rewrite_what_it_may_not_write(
    reverie: app.App,
) -> None:
    owner, agent = await owners_token(reverie), await token_of(reverie, "c", "files:*")
    async with working(reverie):
        await taken_in(reverie, owner, NOTE, "leak.md", path="leak")
        forged = NOTE.replace(b"Under", b"Over")
        await taken_in(reverie, agent, forged, "leak.md", path="leak")
        [note] = await held(reverie, catalogue.domain("note"))
        assert "Under the sink" in note.content
        assert await who_wrote(reverie, "note") == {"user:test"}


async def test_two_callers_requests_are_two_and_each_has_its_own_rights(
    reverie: app.App,
) -> None:
    owner, agent = await owners_token(reverie), await token_of(reverie, "c", "files:*")
    ids = [await sent(reverie, one, NOTE, "leak.md") for one in (agent, owner, agent)]
    assert ids[0] == ids[2] != ids[1]
    async with working(reverie):
        for one in ids:
            await ended_of(reverie, one)
    # Both at once, in either order: the agent's brings nothing in.
    [refused] = await files_of(reverie, ids[0])
    assert (refused.counts["imported"], refused.counts["updated"]) == (0, 0)
    assert [file.state for file in await files_of(reverie, ids[1])] == ["imported"]
    assert await who_wrote(reverie, "note") == {"user:test"}


async def test_a_revoked_token_ends_what_was_asked_with_it(reverie: app.App) -> None:
    token = await token_of(reverie, "scribe", "files:*", "notes:*")
    waiting = await sent(reverie, token, NOTE, "leak.md")
    caller = await tokens.caller(reverie.database, token)
    assert caller.proof is not None
    await tokens.revoke(reverie.database, reverie.owner, caller.proof)
    async with working(reverie):
        done = await ended_of(reverie, waiting)
    assert done.ingestion.state == "failed"
    assert "revoked" in done.ingestion.reason
    assert not await held(reverie, catalogue.domain("note"))


async def test_an_ended_token_ends_what_was_asked_with_it(reverie: app.App) -> None:
    token = await token_of(reverie, "scribe", "files:*", "notes:*")
    waiting = await sent(reverie, token, NOTE, "leak.md")
    async with reverie.database.transaction(reverie.owner) as tx:
        await tx.run(
            "UPDATE token SET expires_at = %s WHERE user_id = %s AND name = 'scribe'",
            (datetime.now(UTC) - timedelta(minutes=1), reverie.owner.user_id),
        )
    async with working(reverie):
        assert (await ended_of(reverie, waiting)).ingestion.state == "failed"
    assert not await held(reverie, catalogue.domain("note"))


async def test_an_agent_narrowed_meanwhile_runs_with_what_it_may_now(
    reverie: app.App,
) -> None:
    token = await token_of(reverie, "creative", "*:*")
    await agents.change(
        reverie.database, reverie.owner, name="creative", scopes=["files:*", "notes:*"]
    )
    waiting = await sent(reverie, token, NOTE, "leak.md")
    await agents.change(
        reverie.database, reverie.owner, name="creative", scopes=["files:*"]
    )
    async with working(reverie):
        await ended_of(reverie, waiting)
    [file] = await files_of(reverie, waiting)
    assert (file.state, file.reason) == ("skipped", "This token may not write notes")


async def test_what_a_dead_process_left_goes_on_as_whoever_asked(
    reverie: app.App,
) -> None:
    token = await token_of(reverie, "clerk", "files:*")
    left = await sent(reverie, token, NOTE, "leak.md")
    async with reverie.database.transaction(reverie.owner) as tx:
        assert await ingestions.take_next(tx, reverie.owner, "ingest:dead") == left
    async with working(reverie):
        await ended_of(reverie, left)
    [file] = await files_of(reverie, left)
    assert (file.state, file.reason) == ("skipped", "This token may not write notes")


async def test_what_was_asked_for_before_the_upgrade_runs_as_its_user(
    reverie: app.App, tmp_path: Path
) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "leak.md").write_bytes(NOTE)
    asked = await ask(reverie, tmp_path / "old")
    async with reverie.database.transaction(reverie.owner) as tx:
        await tx.run(
            "UPDATE ingestion SET asker = NULL WHERE user_id = %s",
            (reverie.owner.user_id,),
        )
    async with working(reverie):
        await ended_of(reverie, asked)
    assert await who_wrote(reverie, "note") == {"user:ingestion"}


async def test_a_watched_folder_is_followed_with_the_callers_rights(
    reverie: app.App, tmp_path: Path
) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    (folder / "leak.md").write_bytes(NOTE)
    (folder / "other.md").write_bytes(b"# Other\n\nstays\n")
    narrow = callers.Caller(
        reverie.owner.user_id, "user", "narrow", frozenset({"files:*"})
    )
    async with working(reverie):
        await ended_of(reverie, await ask(reverie, folder, watch=True))
        (folder / "leak.md").unlink()
        gone = await ask(reverie, folder, watch=True, caller=narrow)
        await ended_of(reverie, gone)
        assert len(await held(reverie, catalogue.domain("note"))) == 2
        await ended_of(reverie, await ask(reverie, folder, watch=True))
        assert len(await held(reverie, catalogue.domain("note"))) == 1


# The original bytes ------------------------------------------------------------------


async def test_bytes_open_only_to_who_may_read_all_that_is_in_them(
    reverie: app.App,
) -> None:
    owner = await owners_token(reverie)
    async with working(reverie):
        await taken_in(reverie, owner, LETTER, "papers.eml")
    [letter] = await held(reverie, catalogue.domain("email"))
    address = f"{ROOT}/emails/{letter.id}/original"
    for scopes, wanted in (
        (["emails:read"], 403),  # the attachment is a file
        (["emails:read", "files:read"], 200),
        (["*:read"], 200),
    ):
        token = await token_of(reverie, f"a{len(scopes)}{wanted}", *scopes)
        async with client(reverie, token) as api:
            answer = await api.get(address)
            assert answer.status_code == wanted, (scopes, answer.text)
            shown = (await api.get(f"{ROOT}/documents/{letter.id}/passages")).json()
            assert (shown["original"] is not None) == (wanted == 200)
            if wanted == 403:
                assert "file" not in answer.json()["error"]["message"].replace(
                    "The file of this record", ""
                )


async def test_what_was_refused_to_its_sender_closes_the_bytes_too(
    reverie: app.App,
) -> None:
    token = await token_of(reverie, "reader", "files:write", "feeds:*")
    async with working(reverie):
        await taken_in(reverie, token, FEED, "news.xml")
    [feed] = await held(reverie, catalogue.domain("feed"))
    async with client(reverie, token) as api:
        answer = await api.get(f"{ROOT}/feeds/{feed.id}/original")
    assert answer.status_code == 403


async def test_a_deleted_record_closes_the_bytes_too(reverie: app.App) -> None:
    owner = await owners_token(reverie)
    async with working(reverie):
        await taken_in(reverie, owner, FEED, "news.xml")
    [feed] = await held(reverie, catalogue.domain("feed"))
    [item] = await held(reverie, catalogue.domain("feed_item"))
    async with client(reverie, owner) as api:
        await api.delete(f"{ROOT}/feed-items/{item.id}")
    async with client(reverie, await token_of(reverie, "r", "feeds:read")) as api:
        answer = await api.get(f"{ROOT}/feeds/{feed.id}/original")
    assert answer.status_code == 403


async def test_a_digest_alone_opens_no_bytes(reverie: app.App) -> None:
    owner = await owners_token(reverie)
    async with working(reverie):
        await taken_in(reverie, owner, LETTER, "papers.eml")
    agent = await token_of(reverie, "clerk", "files:*", "notes:*")
    digest = blobs.put(reverie.blobs, reverie.owner.user_id, LETTER)
    async with client(reverie, agent) as api:
        known = await api.post(
            f"{ROOT}/ingest", json={"upload": digest, "name": "mine.txt"}
        )
        unknown = await api.post(
            f"{ROOT}/ingest", json={"upload": "0" * 64, "name": "mine.txt"}
        )
        assert (known.status_code, known.json()) == (404, unknown.json())
        # Who has the bytes may send them.
        await api.post(f"{ROOT}/upload", content=LETTER)
        answer = await api.post(
            f"{ROOT}/ingest", json={"upload": digest, "name": "mine.txt"}
        )
        assert answer.status_code == 201


# Sensitivity -------------------------------------------------------------------------

MEDICAL = "The oncologist says the tumour is back."
PLAIN = "The plumber says the leak is back."


@pytest.mark.parametrize("kind", ["agent", "machine"])
async def test_only_a_person_lowers_a_level(
    reverie: app.App, kind: callers.Kind
) -> None:
    token = await token_of(reverie, "scribe", "notes:*", "emails:*", kind=kind)
    owner = await owners_token(reverie)
    async with client(reverie, token) as agent, client(reverie, owner) as person:
        notes = f"{ROOT}/notes"

        async def level(note: str) -> str:
            return str((await person.get(f"{notes}/{note}")).json()["sensitivity"])

        async def kept(answer: httpx.Response) -> str:
            assert answer.status_code in (200, 201), answer.text
            return str(answer.json()["id"])

        # Content that asked for critical, and asks for it no longer.
        note = await kept(await person.post(notes, json={"content": MEDICAL}))
        assert await level(note) == "critical"
        for change in (
            {"sensitivity": "normal"},
            {"content": PLAIN},
            {"content": PLAIN + "!", "sensitivity": "low"},
            {"title": "leak", "custom": {"a": 1}},
        ):
            await kept(await agent.patch(f"{notes}/{note}", json=change))
            assert await level(note) == "critical", change
        # A person's word, raised above the content.
        note = await kept(
            await person.post(notes, json={"content": PLAIN, "sensitivity": "critical"})
        )
        await kept(await agent.patch(f"{notes}/{note}", json={"sensitivity": "normal"}))
        assert await level(note) == "critical"
        # An agent may raise.
        note = await kept(await agent.post(notes, json={"content": PLAIN}))
        assert await level(note) == "normal"
        await kept(await agent.patch(f"{notes}/{note}", json={"sensitivity": "high"}))
        assert await level(note) == "high"
        await kept(await agent.patch(f"{notes}/{note}", json={"content": MEDICAL}))
        assert await level(note) == "critical"
        await kept(await person.patch(f"{notes}/{note}", json={"content": PLAIN}))
        # New, below what its content asks for.
        body = {"content": "Write to ana@example.org.", "sensitivity": "normal"}
        assert await level(await kept(await agent.post(notes, json=body))) == "high"
        assert await level(await kept(await person.post(notes, json=body))) == "normal"


async def test_no_file_lowers_a_level(reverie: app.App) -> None:
    async def level() -> str:
        [note] = await held(reverie, catalogue.domain("note"))
        return str(note.sensitivity)

    agent = await token_of(reverie, "scribe", "notes:*", "files:*")
    owner = await owners_token(reverie)
    head = b"---\nsensitivity: low\n---\n# Leak\n\n"
    async with working(reverie):
        first = head + MEDICAL.encode()
        await taken_in(reverie, owner, first, "leak.md", path="leak")
        assert await level() == "critical"
        changed = head + PLAIN.encode()
        await taken_in(reverie, agent, changed, "leak.md", path="leak")
        [note] = await held(reverie, catalogue.domain("note"))
        assert PLAIN in note.content
        assert await level() == "critical"
