"""NUL and other broken bytes cost only themselves, in every reader of texts."""

import pytest

from tests.ingest.test_report_calendars import Visitor, visitor

__all__ = ["visitor"]

EVENT = (
    b"BEGIN:VCALENDAR\nBEGIN:VEVENT\nUID:1\nDTSTART:20260714T090000Z\n"
    b"SUMMARY:Kiln\x00 opening \xff day\nEND:VEVENT\nEND:VCALENDAR\n"
)
CARD = b"BEGIN:VCARD\nFN:Kiln\x00 opening \xff\nTEL:+34 600\nEND:VCARD\n"
MAIL = (
    b"From: Ana <ana@example.org>\nTo: bo@example.org\nSubject: Kiln\x00 opening \xff\n"
    b"Message-ID: <1@example.org>\nDate: Tue, 05 May 2026 10:00:00 +0200\n\nbody\x00 text\n"
)
HTML = (
    b"<!doctype html><html><head><title>Kiln\x00 opening</title></head>"
    b"<body><p>The kiln\x00 opening is on Friday \xff and everybody may come along.</p></body></html>"
)
FEED = (
    b'<rss version="2.0"><channel><title>Kiln</title><item><title>Kiln\x00 opening</title>'
    b"<guid>1</guid></item></channel></rss>"
)
OPML = (
    b'<opml version="2.0"><body><outline type="rss" text="Kiln\x00 opening"'
    b' xmlUrl="https://example.org/feed"/></body></opml>'
)
TABLE = b"Date,Description,Amount\n2026-03-02,Kiln\x00 opening \xff,-4.80\n"
CHAT = (
    b'[{"title": "Kiln\x00 opening", "create_time": 1700000000, "mapping": {"u": {"id": "u", "parent": null,'
    b' "children": [], "message": {"id": "u", "author": {"role": "user"}, "create_time": 1700000000,'
    b' "content": {"content_type": "text", "parts": ["hi\x00 there"]}}}}, "current_node": "u"}]'
)
FILES: dict[str, tuple[bytes, str]] = {
    "a.ics": (EVENT, "events"),
    "a.vcf": (CARD, "contacts"),
    "a.eml": (MAIL, "emails"),
    "a.html": (HTML, "files"),
    "a.rss": (FEED, "feed-items"),
    "a.opml": (OPML, "feeds"),
    "conversations.json": (CHAT, "chats"),
    "a.csv": (TABLE, "transactions"),
    "a.txt": (b"Kiln\x00 opening is on Friday, come along all of you", "notes"),
    "a.md": (b"# Kiln\x00 opening\n\nIt is on Friday.", "notes"),
}


@pytest.mark.parametrize("name", FILES)
async def test_a_broken_byte_costs_itself(visitor: Visitor, name: str) -> None:
    content, domain = FILES[name]
    told = await visitor.read(name, content)
    assert told.status == "imported", told
    records = await visitor.get(domain)
    assert len(records) == 1
    said = " ".join(str(value) for value in records[0].values())
    assert "kiln opening" in said.lower().replace("\ufffd", "").replace("  ", " ")
