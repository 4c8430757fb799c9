"""Files made to crash or stall a reader: each ends within seconds, in drafts or in
Unreadable.
"""

import datetime as dt
import io
import time
import zipfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie import errors
from reverie.ingest import detect, drafts
from reverie.ingest.formats import (
    bookmarks,
    chats,
    feeds,
    ics,
    mail,
    markdown,
    plain,
    table,
    vcf,
)

# generous for a busy machine; what these inputs are made for takes minutes or never
# ends
SECONDS = 20
READERS = {
    "ics": ics.read,
    "vcf": vcf.read,
    "eml": mail.read,
    "mbox": mail.read_mbox,
    "htm": bookmarks.read,
    "xml": feeds.read,
    "opml": feeds.read_opml,
    "csv": table.read,
    "json": chats.read,
    "zip": chats.read_zip,
    "md": markdown.read,
    "txt": plain.read,
}


def source(data: bytes, kind: str) -> drafts.SourceFile:
    now = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    return drafts.SourceFile(
        Path(f"/x/a.{kind}"), PurePosixPath(f"a.{kind}"), data, False, now
    )


def zipped(data: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", data)
    return buffer.getvalue()


def nested(count: int) -> bytes:
    return b"From: a@b\n" + b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n)
        for n in range(count)
    )


def entities() -> bytes:
    chain = b"".join(
        b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, 10)
    )
    return (
        b'<!DOCTYPE x [<!ENTITY l0 "lol">'
        + chain
        + b']><rss version="2.0"><channel><title>&l9;</title></channel></rss>'
    )


CALENDAR = b"BEGIN:VCALENDAR\n%s\nEND:VCALENDAR"
ZONE = (
    b"BEGIN:VTIMEZONE\nTZID:Foo\nBEGIN:STANDARD\nDTSTART:16010101T000000\nTZOFFSETFROM:+0100\n"
    b"TZOFFSETTO:+0200\n"
    b"RRULE:FREQ=SECONDLY\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT\n"
    b"DTSTART;TZID=Foo:20240101T000000\nEND:VEVENT"
)
REFUSED = {
    "laughs": ("xml", entities()),
    "zip bomb": ("zip", zipped(b"[" + b" " * 220_000_000 + b"]")),
    "broken zip": ("zip", zipped(b"[]" * 1000)[:-40]),
    "json": ("json", b"[" * 1_000_000),
    "components": ("ics", b"BEGIN:VCALENDAR\n" + b"BEGIN:VEVENT\n" * 100_000),
    "folders": ("htm", b"<DL><DT>" * 100_000),
    "outlines": ("opml", b"<opml>" + b"<outline text='a'>" * 100_000),
    "binary": ("txt", bytes(range(32)) * 1000),
    "binary table": ("csv", b"a,b\n\x00\x00,1\n"),
}
SURVIVED = {
    "mime": ("eml", nested(10_000)),
    "messages": ("eml", b"From: a@b\n" + b"Content-Type: message/rfc822\n\n" * 10_000),
    "parts": (
        "eml",
        b"From: a@b\nContent-Type: multipart/mixed; boundary=x\n\n"
        + b"--x\n\nhi\n" * 20_000,
    ),
    "addresses": ("eml", b"From: a@b\nTo: " + b'"x" <a@b>, ' * 200_000 + b"\n\nhi"),
    "brackets": ("eml", b"From: a@b\nTo: " + b"(" * 200_000 + b"\n\nhi"),
    "words": ("eml", b"From: a@b\nSubject: " + b"=?utf-8?Q?" * 50_000 + b"\n\nhi"),
    "parameters": (
        "eml",
        b"From: a@b\nContent-Type: text/plain" + b"; a*0*=x" * 20_000 + b"\n\nhi",
    ),
    "page": (
        "eml",
        b"From: a@b\nContent-Type: text/html\n\n" + b"<script><style><div " * 100_000,
    ),
    "tags": ("htm", b"<DL>" + b'<DT><A HREF="' * 20_000),
    "entity": (
        "xml",
        (
            b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><rss version="2.0"><channel>'
            b"<title>&a;b</title></channel></rss>"
        ),
    ),
    "escapes": (
        "ics",
        CALENDAR
        % (
            b"BEGIN:VEVENT\nDTSTART:20240101\nSUMMARY:"
            + b"\\," * 1_000_000
            + b"\nEND:VEVENT"
        ),
    ),
    "folds": (
        "ics",
        CALENDAR
        % (
            b"BEGIN:VEVENT\nDTSTART:20240101\nSUMMARY:a"
            + b"\n b" * 500_000
            + b"\nEND:VEVENT"
        ),
    ),
    "quotes": (
        "ics",
        CALENDAR
        % (
            b"BEGIN:VEVENT\nDTSTART:20240101\nATTENDEE"
            + b';A="' * 200_000
            + b"\nEND:VEVENT"
        ),
    ),
    "zone": ("ics", CALENDAR % ZONE),
    "soft breaks": (
        "vcf",
        b"BEGIN:VCARD\nTEL:1\nFN;QUOTED-PRINTABLE:" + b"=\n" * 500_000,
    ),
    "circle": (
        "json",
        b'[{"mapping":{"a":{"parent":"b"},"b":{"parent":"a"}},"current_node":"a"}]',
    ),
    "aliases": (
        "md",
        b"---\na: &a [x,x]\n"
        + b"".join(b"b%d: [%s]\n" % (n, b"*a," * 9) for n in range(9))
        + b"---\nhi",
    ),
    "yaml": ("md", b"---\na: " + b"[" * 50_000 + b"\n---\nhi"),
    "fences": ("md", b"#a\n```\n" * 200_000),
    "line": ("txt", b"a" * 20_000_000),
    "number": ("csv", b"Date,Amount,Text\n2024-01-02," + b"1" * 100_000 + b",x\n"),
    "cell": ("csv", b'a,b\n1,"' + b"x" * 1_000_000),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_a_reason(name: str) -> None:
    kind, data = REFUSED[name]
    start = time.process_time()
    with pytest.raises(errors.Unreadable) as caught:
        list(READERS[kind](source(data, kind)))
    assert 5 < len(str(caught.value)) < 300
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize("name", SURVIVED)
def test_read_all_the_same(name: str) -> None:
    kind, data = SURVIVED[name]
    start = time.process_time()
    items = list(READERS[kind](source(data, kind)))
    assert items
    assert "root:" not in repr(items[:3])
    assert time.process_time() - start < SECONDS


@pytest.mark.parametrize(
    "head", [b"<!--", b"<!DOCTYPE", b"<?", b"<!DOCTYPE x [", b"X: y\n", b"[ ", b"\n"]
)
def test_detection_is_quick(head: bytes) -> None:
    start = time.process_time()
    detect.look((head * detect.HEAD)[: detect.HEAD], PurePosixPath("a.xml"))
    assert time.process_time() - start < 2


WORDS = st.sampled_from(
    [
        b"BEGIN:VCALENDAR\n",
        b"BEGIN:VEVENT\n",
        b"DTSTART:20240101T000000Z\n",
        b"RRULE:FREQ=DAILY\n",
        b"END:VEVENT\n",
        b"BEGIN:VCARD\n",
        b"FN:a\n",
        b"BDAY:--0203\n",
        b"END:VCARD\n",
        b"From: a@b\n",
        b"Date: ",
        b"Content-Type: text/html; charset=",
        b"\n\n",
        b"=?utf-8?B?",
        b"<rss><channel><item><title>",
        b"<DL><DT><A HREF='x'>",
        b"---\n",
        b"tags: [",
        b"Date,Amount,Description\n",
        b'{"mapping": {',
        b'"',
        b"\x00",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"From a@b Thu Jan 01 00:00:00 2015\n",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(WORDS, st.binary(max_size=12)), max_size=25).map(b"".join))
def test_no_reader_fails_otherwise(data: bytes) -> None:
    for kind, reader in READERS.items():
        try:
            for item in reader(source(data, kind)):
                repr(item).encode()
                if isinstance(item, drafts.Draft):
                    assert "\x00" not in str(item.fields.get("content", ""))
        except errors.Unreadable:
            pass
    detect.look(data, PurePosixPath("a"))
