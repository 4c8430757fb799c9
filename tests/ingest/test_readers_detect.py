"""Feeds, lists of feeds, and what reads what, from small inputs written here."""

import datetime as dt
import io
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from reverie.ingest import detect, drafts
from reverie.ingest.documents import kinds
from reverie.ingest.formats import chats, feeds, mail, markdown, plain, table
from reverie.ingest.sandbox import readers
from tests.ingest import broken

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def source(data: str) -> drafts.SourceFile:
    return drafts.SourceFile(
        Path("/x/x.xml"), PurePosixPath("x.xml"), data.encode(), False, NOW
    )


def test_a_feed_and_its_items() -> None:
    feed, item = feeds.read(
        source(
            '<?xml version="1.0"?><rss version="2.0"><channel><title>F</title><link>https://f.org/</link>'
            "<item><title>I</title>"
            "<guid>g</guid><pubDate>Fri, 05 Jan 2024 09:00:00 GMT</pubDate><description>d</description>"
            "</item></channel></rss>"
        )
    )
    assert isinstance(feed, drafts.Draft)
    assert isinstance(item, drafts.Draft)
    assert (feed.key, feed.fields["site_url"]) == (
        "url:https://f.org/",
        "https://f.org/",
    )
    assert (item.key, item.refs) == ("guid:https://f.org/|g", {"feed_id": feed.key})
    assert item.fields["published"] == dt.datetime(2024, 1, 5, 9, tzinfo=dt.UTC)


def test_opml() -> None:
    one, two = feeds.read_opml(
        source(
            '<opml><body><outline text="News &amp; more">'
            '<outline text="A" xmlUrl="https://a/?x=1&amp;y" htmlUrl="https://a"/>'
            '</outline><outline title="B" xmlUrl="https://b"></outline></body></opml>'
        )
    )
    assert isinstance(one, drafts.Draft)
    assert isinstance(two, drafts.Draft)
    assert one.fields["url"] == "https://a/?x=1&y"
    assert one.fields["custom"] == {"folder": "News & more"}
    assert two.key == "url:https://b"
    assert "custom" not in two.fields


@pytest.mark.parametrize(
    ("path", "data", "reader"),
    [
        ("a.txt", b"From: a@b\nTo: c@d\n\nhi", mail.read),
        ("a.txt", b"Date: Monday\nSubject: minutes\n\nhi", plain.read),
        (
            "a.txt",
            b"From a@b Thu Jan 01 00:00:00 2015\nFrom: a@b\n\nhi",
            mail.read_mbox,
        ),
        ("a.txt", b"hello", plain.read),
        ("README", b"hello", plain.read),
        ("a.md", b"From: a@b\nTo: c@d\n\nhi", markdown.read),
        ("a.xml", b"<?xml version='1.0'?><!-- x --><feed xmlns='a'>", feeds.read),
        ("a.xml", b"<opml version='2.0'>", feeds.read_opml),
        ("a.csv", b"a,b\n", table.read),
        ("a.json", b'[{"mapping": {}}]', chats.read),
        ("a.zip", b"PK\x03\x04xx", chats.read_zip),
    ],
)
def test_readers_by_content(path: str, data: bytes, reader: Any) -> None:
    assert detect.look(data, PurePosixPath(path)) is reader


@pytest.mark.parametrize(
    ("path", "data", "words"),
    [
        ("a.txt", b"", "empty"),
        ("v/.obsidian/app.json", b"{}", "Obsidian settings"),
        ("v/.DS_Store", b"x", "operating system"),
        (".git/config", b"x", "hidden"),
        ("a.base", b"filters:", "base"),
        ("a.png", b"\x89PNG\r\n\x1a\n", "images"),
        ("photo.txt", b"\xff\xd8\xff\xe0", "images"),
        ("a.json", b'["vcalendar",[],[]]', "jCal"),
        ("a.jsonl", b"{}\n{}", "texts"),
        ("a.docx", b"PK\x03\x04", "office"),
        ("a.xml", b"<svg>", "texts"),
        ("a.html", b"<html>", "web pages"),
        ("a.bin", b"\x00\x01", "binary"),
        ("a.exe", b"MZ\x00\x00", "programs"),
    ],
)
def test_reasons(path: str, data: bytes, words: str) -> None:
    reason = detect.look(data, PurePosixPath(path))
    assert words in (
        reason.called if isinstance(reason, kinds.DocumentFormat) else str(reason)
    )


def zipped(*names: str, mark: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        if mark:
            archive.writestr("mimetype", mark)
        for name in names:
            archive.writestr(name, "<x/>")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("path", "data", "found"),
    [
        ("a.docx", zipped("[Content_Types].xml", "word/document.xml"), kinds.WORD),
        ("a.zip", zipped("[Content_Types].xml", "word/document.xml"), kinds.WORD),
        ("a.docx", zipped("[Content_Types].xml", "xl/workbook.xml"), kinds.SHEETS),
        ("a", zipped("[Content_Types].xml", "ppt/presentation.xml"), kinds.SLIDES),
        (
            "a.zip",
            zipped("content.xml", mark="application/vnd.oasis.opendocument.text"),
            kinds.OPEN,
        ),
        ("a.zip", zipped("content.xml", "META-INF/manifest.xml"), kinds.OPEN),
        ("a.docx", zipped("a.opf", mark="application/epub+zip\n"), kinds.EPUB),
        ("a.zip", zipped("META-INF/container.xml"), kinds.EPUB),
        ("a.zip", zipped("conversations.json"), chats.read_zip),
        ("a.mp3", zipped("conversations.json"), chats.read_zip),
        ("a.docx", b"PK\x03\x04 and no more", kinds.WORD),
        ("a.txt", broken.BASES["xls"](), kinds.SHEETS),
        ("a.doc", broken.BASES["msg"](), kinds.OUTLOOK),
        ("a.doc", broken.ole([("WordDocument", b"x")]), kinds.OLD),
        ("a.xls", broken.ole([("PowerPoint Document", b"x")]), kinds.OLD),
        ("a.xlsx", broken.ole([("EncryptedPackage", b"x")]), kinds.SHEETS),
        ("a", broken.ole([("EncryptedPackage", b"x")]), kinds.WORD),
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 and no more", kinds.OUTLOOK),
        ("a.txt", b"{\\rtf1 x}", kinds.RTF),
        ("a.txt", b"%PDF-1.4", kinds.PDF),
        ("a.webp", b"RIFF\x00\x00\x00\x00WEBP", kinds.IMAGE),
        ("a", b"<!doctype html><html>", kinds.HTML),
        ("a.htm", b"plain words", kinds.HTML),
        ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nhi", kinds.SUBTITLES),
    ],
)
def test_documents_by_content_and_then_by_name(
    path: str, data: bytes, found: Any
) -> None:
    assert readers.find(data, PurePosixPath(path)) == found


def test_a_binary_workbook_and_a_hidden_document_have_a_reason() -> None:
    workbook = zipped("[Content_Types].xml", "xl/workbook.bin")
    assert "binary spreadsheets" in str(readers.find(workbook, PurePosixPath("a.xlsx")))
    assert (
        readers.find(broken.BASES["odt"](), PurePosixPath(".trash/a.odt"))
        == "a hidden file"
    )
