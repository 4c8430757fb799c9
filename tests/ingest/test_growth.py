"""Readers take time no worse than n log n: of hostile input twice as long, at most 2.6
times the processor's time.
"""

import datetime as dt
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from reverie import errors
from reverie.ingest import charsets, detect, drafts
from reverie.ingest.documents import html, sourcetext, titles, units
from reverie.ingest.formats import (
    bookmarks,
    chatmarks,
    chats,
    feeds,
    mail,
    mailaddresses,
    markdown,
    plain,
    tnef,
)
from tests.growth import assert_grows_evenly

READERS: dict[str, drafts.Reader] = {
    "eml": mail.read,
    "mbox": mail.read_mbox,
    "md": markdown.read,
    "txt": plain.read,
    "xml": feeds.read,
    "opml": feeds.read_opml,
    "htm": bookmarks.read,
    "json": chats.read,
    "dat": tnef.read,
}


def read(kind: str, data: bytes) -> None:
    """Read a file to its end, or to where it is refused."""
    source = drafts.SourceFile(
        Path(f"/x/a.{kind}"),
        PurePosixPath(f"a.{kind}"),
        data,
        False,
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )
    try:
        for _ in READERS[kind](source):
            pass
    except errors.Unreadable:
        pass


HEAD = b"From: a@b\nTo: c@d\n"
MAIL_HEADERS = (
    b"<", b">", b"(", b")", b'"', b"\\", b"[", b":", b";", b",", b"@", b"a", b"<a@b>",
    b"a@b, ", b'"x" <a@b>, ', b"(a) ", b"=?utf-8?Q?a?= ", b"=?utf-8?Q?", b"?=  ", b"=?",
    b" \n ", b"\n\t", b"\xe9", b"a b ",
)  # fmt: skip
HEADERS = ("From", "To", "Subject", "Date", "Message-ID", "References", "Content-Type")


def mail_with(header: str, piece: bytes) -> Callable[[int], None]:
    def work(size: int) -> None:
        value = (piece * (size // len(piece) + 1))[:size]
        name = header.encode()
        read("eml", b"X-A: b\nFrom: a@b\n" + name + b": x" + value + b"\n\nhi\n")

    return work


@pytest.mark.parametrize("header", HEADERS)
def test_headers_of_mail(header: str) -> None:
    for piece in MAIL_HEADERS:
        assert_grows_evenly(mail_with(header, piece), 8_000)


def nested(size: int) -> bytes:
    count = size // 60
    return HEAD + b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n)
        for n in range(count)
    )


def messages_in_messages(size: int) -> bytes:
    return HEAD + b"Subject: x\nContent-Type: message/rfc822\n\n" * (size // 50)


def many_parts(size: int) -> bytes:
    head = HEAD + b"Content-Type: multipart/mixed; boundary=x\n\n"
    return head + b"--x\nContent-Type: text/html\n\n<p>hi</p>\n" * (size // 40)


def many_alternatives(size: int) -> bytes:
    head = HEAD + b"Content-Type: multipart/alternative; boundary=x\n\n"
    return head + b"--x\nContent-Type: text/html\n\n<p>word%d</p>\n" * (size // 45)


def many_recipients(size: int) -> bytes:
    people = b", ".join(
        b"Person %d <p%d@example.org>" % (n, n) for n in range(size // 35)
    )
    return b"From: a@b\nTo: " + people + b"\nSubject: x\n\nhi\n"


def repeated(head: bytes, piece: bytes, tail: bytes = b"") -> Callable[[int], bytes]:
    return lambda size: head + piece * (size // len(piece)) + tail


def winmail(size: int) -> bytes:
    attribute = (
        b"\x02\x05\x90\x06\x00\x08\x00\x00\x00" + b"\xff\xff\xff\x7f\x1e\x00\x01\x30"
    )
    return tnef.SIGNATURE + b"\x00\x00" + (attribute + b"\x00\x00") * (size // 19)


def chat_marks(piece: str) -> Callable[[int], bytes]:
    def made(size: int) -> bytes:
        text = piece * (size // len(piece))
        messages = [{"role": "user", "content": text}]
        return json.dumps({"messages": messages}).encode()

    return made


def many_turns(size: int) -> bytes:
    files = [{"file_name": "", "extracted_content": f"t{n}"} for n in range(size // 50)]
    messages = [{"sender": "human", "text": "x", "attachments": files}]
    return json.dumps([{"uuid": "1", "name": "n", "chat_messages": messages}]).encode()


HTML_HEAD = HEAD + b"Content-Type: text/html\n\n"
RSS = b'<rss version="2.0"><channel><title>x</title><item><title>'
RSS_END = b"</title></item></channel></rss>"
HOSTILE: dict[str, tuple[str, Callable[[int], bytes]]] = {
    "nested mime": ("eml", nested),
    "nested messages": ("eml", messages_in_messages),
    "parts": ("eml", many_parts),
    "alternatives": ("eml", many_alternatives),
    "recipients": ("eml", many_recipients),
    "mbox lines": ("mbox", repeated(b"From a@b Thu Jan 01 00:00:00 2015\nFrom: x@y\n\n", b"From x\n\n")),
    "mbox messages": ("mbox", repeated(b"", b"From a@b Thu Jan 01 00:00:00 2015\nFrom: x@y\n\nhi\n\n")),
    "mbox times": ("mbox", repeated(b"From a@b Thu Jan 01 00:00:00 2015\nFrom: x@y\n\n", b"From 1:11 ")),
    "page tags": ("eml", repeated(HTML_HEAD, b"<script><style><div ")),
    "page comments": ("eml", repeated(HTML_HEAD, b"<!--")),
    "page brackets": ("eml", repeated(HTML_HEAD, b"<")),
    "page cells": ("eml", repeated(HTML_HEAD, b"</td  ")),
    "page entities": ("eml", repeated(HTML_HEAD, b"&amp;")),
    "page spaces": ("eml", repeated(HTML_HEAD, b" \t ")),
    "front lines": ("md", repeated(b"---\ntitle: a: b\n", b"k: [\n", b"---\nhi")),
    "front words": ("md", repeated(b"---\ntitle: a: b\n", b"k: v\n", b"---\nhi")),
    "front keys": ("md", repeated(b"---\ntitle: a: b\n", b"a b ", b"\n---\nhi")),
    "front brackets": ("md", repeated(b"---\na: ", b"[", b"\n---\nhi")),
    "front fences": ("md", repeated(b"---\n", b"--\n", b"hi")),
    "toml lines": ("md", repeated(b"+++\ntitle = 'a'\n", b"k = [\n", b"+++\nhi")),
    "json front": ("md", repeated(b'{"title": "a", "b": ', b"[", b"\nhi")),
    "tags": ("md", repeated(b"", b"#1")),
    "tag words": ("md", repeated(b"", b" #a/")),
    "digits": ("md", repeated(b"#", b"1")),
    "fences": ("md", repeated(b"", b"```\n~~~\n")),
    "backticks": ("md", repeated(b"", b"`a")),
    "wikilinks": ("md", repeated(b"", b"[[")),
    "open links": ("md", repeated(b"", b"[a](")),
    "headings": ("md", repeated(b"", b"# \n")),
    "hash": ("md", repeated(b"# ", b" ")),
    "line": ("txt", repeated(b"", b"a")),
    "controls": ("txt", repeated(b"", b"\x04\x1f")),
    "odd bytes": ("txt", repeated(b"", b"\xe9a\xff")),
    "feed title tags": ("xml", repeated(RSS, b"&lt;b&gt;", RSS_END)),
    "feed title amps": ("xml", repeated(RSS, b"&amp;amp;", RSS_END)),
    "feed open": ("xml", repeated(RSS, b"&lt;b ", RSS_END)),
    "feed items": ("xml", repeated(b"<rss><channel>", b"<item><title>a</title></item>", b"</channel></rss>")),
    "feed entities": ("xml", repeated(b"<rss><channel><title>", b"<!ENTITY a ", b"</title></channel></rss>")),
    "opml": ("opml", repeated(b"<opml>", b"<outline text='a' xmlUrl='u'/>")),
    "opml quotes": ("opml", repeated(b"<opml>", b"<outline a='")),
    "bookmarks": ("htm", repeated(b"<DL>", b"<DT><A HREF='u'>t</A>")),
    "bookmark quotes": ("htm", repeated(b"<DL>", b'<DT><A HREF="')),
    "bookmark title": ("htm", repeated(b"<DL><DT><A HREF='u'>", b"a<P>")),
    "bookmark brackets": ("htm", repeated(b"<DL><DT><A HREF='u'>", b"<")),
    "chat marks": ("json", chat_marks("\ue200")),
    "chat cites": ("json", chat_marks("citeturn1")),
    "chat old cites": ("json", chat_marks("【1†")),
    "chat artifacts": ("json", chat_marks("<antArtifact title='")),
    "chat artifacts closed": ("json", chat_marks("<antArtifact title='a'>")),
    "chat files": ("json", many_turns),
    "winmail": ("dat", winmail),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_readers(name: str) -> None:
    kind, made = HOSTILE[name]
    assert_grows_evenly(lambda size: read(kind, made(size)), 8_000)


ALPHABET = [
    b"<", b">", b"(", b'"', b"'", b"\\", b"[", b"]", b"{", b":", b"=", b"#", b"`", b"&",
    b"-", b"\n", b" ", b"\t", b"a", b"1", b"\x00", b"\xe9", b"\xc3\xa9", b"From ", b"=?",
    b"?=", b"--x\n", b"&amp;", b"<b>", b"---\n", b"+++\n", b"@",
]  # fmt: skip


def seeded(seed: int) -> Callable[[int], bytes]:
    """Patterns of a few pieces, again and again, as an attacker tries them."""
    chance = random.Random(seed)
    pattern = b"".join(chance.choices(ALPHABET, k=chance.randint(1, 6)))
    return lambda size: pattern * (size // len(pattern))


STARTS = {
    "eml": HEAD + b"Content-Type: text/html\nSubject: ",
    "mbox": b"From a@b Thu Jan 01 00:00:00 2015\nFrom: x@y\n",
    "md": b"---\ntitle: a: b\n",
    "txt": b"",
    "xml": RSS,
    "opml": b"<opml><outline ",
    "htm": b"<DL><DT><A HREF='u'>",
    "json": b'{"messages": [',
}


@pytest.mark.parametrize("kind", STARTS)
def test_seeded_patterns(kind: str) -> None:
    for seed in range(8):
        made = seeded(seed * 100 + len(kind))
        start = STARTS[kind]
        assert_grows_evenly(
            lambda size, made=made, start=start: read(kind, start + made(size)), 8_000
        )


def document(
    read: Callable[[units.DocumentSource], Iterator[units.Read]], data: bytes
) -> None:
    try:
        for _ in read(units.DocumentSource(data, "a")):
            pass
    except errors.Unreadable:
        pass


@pytest.mark.parametrize(
    "piece", [b"<b>", b"<", b"&amp;", b"<title>", b"<p>a ", b"a\n"]
)
def test_pages_and_sources(piece: bytes) -> None:
    for reader in (html.read, sourcetext.read):
        assert_grows_evenly(
            lambda size, reader=reader: document(reader, piece * (size // len(piece))),
            8_000,
        )


@pytest.mark.parametrize(
    "piece", ["<", ">", "(", '"', '"\\', "a@", "<a", ":", ";", "(a"]
)
def test_addresses(piece: str) -> None:
    assert_grows_evenly(lambda size: mailaddresses.parse(piece * size), 8_000)


@pytest.mark.parametrize("piece", ["<b>", "<b", "</b>", "&amp;amp;", "&", "<b </b>"])
def test_titles(piece: str) -> None:
    assert_grows_evenly(lambda size: titles.plain(piece * size), 8_000)
    assert_grows_evenly(lambda size: chatmarks.clean(piece * size), 8_000)


@pytest.mark.parametrize(
    "piece", [b"\x00a", b"a\x00", b"\x04\x30", b"\xe4\xb8", b"\xc3"]
)
def test_encodings_and_detection(piece: bytes) -> None:
    assert_grows_evenly(lambda size: charsets.decode(piece * size), 8_000)
    assert_grows_evenly(
        lambda size: detect.look(piece * size, PurePosixPath("a.txt")), 8_000
    )
