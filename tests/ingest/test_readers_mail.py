"""Mail: bodies, headers, attachments, mbox and Maildir, of small inputs written here."""

import datetime as dt
import hashlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from reverie import errors
from reverie.ingest import detect, drafts
from reverie.ingest.formats import mail, pagetext


def every(items: Iterable[Any]) -> list[Any]:
    """What a reader yields, not yet told apart: each test says what it expects."""
    return list(items)


def source(data: bytes, name: str = "x.eml") -> drafts.SourceFile:
    return drafts.SourceFile(
        Path("/x") / name,
        PurePosixPath(name),
        data,
        False,
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    )


def read(data: str | bytes, name: str = "x.eml") -> Any:
    draft, *_ = mail.read(
        source(data if isinstance(data, bytes) else data.encode(), name)
    )
    return draft


def test_a_plain_message() -> None:
    draft = read(
        'From: =?utf-8?q?J=C3=B6rg?= <j@x.de>\nTo: a@x.org, "Doe, Jo" <jo@x.org>\nCc: list@x.org\n'
        "Subject: =?utf-8?B?w6Q=?= =?iso-8859-1?Q?=FC?=\nDate: Fri, 5 Jan 2024 09:00:00 +0100\n"
        "Message-ID: <3@x>\n"
        "References: <1@x> <2@x>\nIn-Reply-To: <2@x>\nList-Id: <l.x>\n\nHello\n"
    )
    assert draft.key == "mid:3@x"
    assert draft.fields["from_"] == "Jörg <j@x.de>"
    assert draft.fields["to"] == ["a@x.org", "Doe, Jo <jo@x.org>"]
    assert draft.fields["subject"] == "äü"
    assert draft.fields["thread"] == "1@x"
    assert draft.fields["date"].isoformat() == "2024-01-05T09:00:00+01:00"
    assert draft.fields["body_text"] == "Hello"
    assert "read" not in draft.fields


def test_missing_and_broken_headers() -> None:
    data = b"From: x\nSubject: caf\xe9\nDate: whenever\nContent-Type: text/plain; charset=nonsense\n\nna\xefve"
    draft = read(data)
    assert draft.key == "sha:" + hashlib.sha256(data).hexdigest()
    assert draft.fields["subject"] == "café"
    assert draft.fields["body_text"] == "naïve"
    assert draft.fields["custom"]["broken_date"] == "whenever"
    with pytest.raises(errors.Unreadable):
        read("no headers at all")


def test_a_word_cut_in_two() -> None:
    assert (
        read("From: a@b\nSubject: =?utf-8?Q?a=C3?= =?utf-8?Q?=BC?=\n\nx").fields[
            "subject"
        ]
        == "aü"
    )


def test_html_only_and_alternative() -> None:
    page = "<style>p{}</style><p>One&nbsp;&amp; two</p><ul><li>a<li>b</ul><script>x</script>"
    draft = read(f"From: a@b\nTo: c@d\nContent-Type: text/html\n\n{page}")
    assert draft.fields["body_text"] == "One & two\n\na\nb"
    assert draft.fields["body_html"] == page
    both = read(
        "From: a@b\nContent-Type: multipart/alternative; boundary=B\n\n--B\n\nwords\n--B\n"
        "Content-Type: text/html\n\n<b>x</b>\n--B--"
    )
    assert (both.fields["body_text"], both.fields["body_html"]) == ("words", "<b>x</b>")


def test_attachments() -> None:
    draft = read(
        "From: a@b\nContent-Type: multipart/mixed; boundary=B\n\n--B\n\nsee\n--B\n"
        "Content-Type: application/pdf\n"
        "Content-Disposition: attachment; filename*=utf-8''%C3%A4.pdf\n"
        "Content-Transfer-Encoding: base64\n\naGVsbG8=\n"
        '--B\nContent-Type: text/plain; name="=?utf-8?q?=C3=B6=2Etxt?="\n'
        "Content-Disposition: attachment\n\nnot body\n"
        "--B\nContent-Type: message/rfc822\nContent-Disposition: attachment\n\nSubject: inner\n\nhi\n--B--"
    )
    pdf, text, inner = draft.fields["attachments"]
    assert pdf == {
        "name": "ä.pdf",
        "mime": "application/pdf",
        "size": 5,
        "sha256": hashlib.sha256(b"hello").hexdigest(),
    }
    assert text["name"] == "ö.txt"
    assert inner == {"name": "inner.eml", "mime": "message/rfc822"}
    assert draft.fields["body_text"] == "see\n\ninner\n\nhi"


def test_paths_in_names_of_attachments() -> None:
    draft = read('From: a@b\nContent-Type: image/png; name="../../etc/x.png"\n\nx')
    assert draft.fields["attachments"][0]["name"] == "x.png"


def test_a_boundary_that_is_missing() -> None:
    assert (
        read(
            "From: a@b\nContent-Type: multipart/mixed; boundary=B\n\nonly text"
        ).fields["body_text"]
        == "only text"
    )


FIRST = b"From a@b Thu Jan 01 00:00:00 2015\nFrom: a@b\nSubject: 1\nStatus: RO\nMessage-ID: <1@x>\n\nhi\n>From me\n"
SECOND = b"\nFrom c@d Thu Jan 01 00:00:00 2015\nFrom: c@d\nSubject: 2\nStatus: O\n\nFrom here on text\n"


def test_mbox() -> None:
    one, two, again = every(
        mail.read_mbox(source(FIRST + SECOND + b"\n" + FIRST, "Inbox.mbox"))
    )
    assert (one.fields["body_text"], one.fields["read"], one.fields["folder"]) == (
        "hi\nFrom me",
        True,
        "Inbox",
    )
    assert (two.fields["body_text"], two.fields["read"]) == ("From here on text", False)
    assert isinstance(again, drafts.Skip)


def test_a_broken_message_in_an_mbox_does_not_stop_it() -> None:
    deep = b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n)
        for n in range(3000)
    )
    middle = b"\nFrom x@y Thu Jan 01 00:00:00 2015\nFrom: x@y\n" + deep + b"\n"
    one, hostile, two = every(mail.read_mbox(source(FIRST + middle + SECOND, "a.mbox")))
    assert (one.domain, two.domain) == ("email", "email")
    assert hostile.fields["from_"] == "x@y"


@pytest.mark.parametrize(
    ("path", "folder", "seen"),
    [
        ("mail/cur/1.M2.host:2,FS", "INBOX", True),
        ("mail/new/1.M2.host", "INBOX", False),
        ("mail/.Archive.2020/cur/1!2,", "Archive/2020", False),
    ],
)
def test_maildir(path: str, folder: str, seen: bool) -> None:
    data = b"From: a@b\nTo: c@d\n\nhi"
    assert detect.look(data, PurePosixPath(path)) is mail.read
    fields = read(data, path).fields
    assert (fields["folder"], fields["read"]) == (folder, seen)


def test_text_of_pages() -> None:
    assert (
        pagetext.text("<!-- x --><head><title>t</title></head>a<br>b<!-- <b>")
        == "a\nb<!--"
    )
    assert pagetext.text("<table><tr><td>1</td><td>2</td></tr></table>") == "1\t2"
    assert pagetext.text("<script>alert(1)") == "alert(1)"


def test_apple_mail_counts_the_message_and_appends_a_list() -> None:
    assert (
        read("17 \nFrom: a@b\n\nhello\n<?xml version='1.0'?>", "1.emlx").fields[
            "body_text"
        ]
        == "hello"
    )
