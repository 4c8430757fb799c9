"""Letters as a mailbox holds them: the headers of four relays, plain text and HTML, what
they answer, and signatures. What they say is of the LoCoMo conversations where these
are at hand, and else made up.
"""

import base64
import json
import os
import quopri
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

from bench import spine

_DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
_FIRST = datetime(2021, 1, 4, 8, tzinfo=UTC)
_STYLE = "p{margin:0 0 12px;font-family:Helvetica,Arial,sans-serif;font-size:14px}"
_SIGNATURE = "-- \n{name}\nExample Works, 12 Long Street\n+44 20 7946 {number:04}"
_PEOPLE = 300
# Of ten letters six are written in a browser, and five answer an earlier one.
_HTML_SHARE, _ANSWER_SHARE = 0.6, 0.5


class Mailbox:
    """Letters of some hundred people, each with a text of its own."""

    def __init__(self, seed: int = 5) -> None:
        self._turns = spoken(_DATA / "locomo" / "locomo_dev.json") or made_up(seed)
        self._random = random.Random(seed)
        self._sent: list[tuple[str, str]] = []

    def letters(self, count: int) -> Iterator[str]:
        """So many letters, each with the line that begins it in an mbox."""
        for number in range(count):
            yield self._letter(number)

    def _letter(self, number: int) -> str:
        day = _FIRST + timedelta(minutes=37 * number)
        sender = self._random.randrange(_PEOPLE)
        name = f"Sender {sender}"
        message_id = f"<{number}.{self._hex(8)}@mail{sender % 7}.example.org>"
        text = self._text(name, number)
        self._sent = [*self._sent[-50:], (message_id, text)]
        head = [
            f"From s{sender}@example.org {day:%a %b %d %H:%M:%S %Y}",
            *self._trace(sender, day),
            f"From: {name} <s{sender}@example.org>",
            f"To: me@example.org, Other {sender % 40} <o{sender % 40}@example.net>",
            f"Subject: {self._subject()} INV-2024-{number:05}",
            f"Date: {format_datetime(day)}",
            f"Message-ID: {message_id}",
            "MIME-Version: 1.0",
            *self._thread(),
        ]
        if self._random.random() < _HTML_SHARE:
            return "\n".join([*head, *self._both(text)])
        plain = [
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: 8bit",
        ]
        return "\n".join([*head, *plain, "", text, "", ""])

    def _text(self, name: str, number: int) -> str:
        paragraphs = [self._paragraph() for _ in range(self._random.randint(1, 4))]
        lines = ["Hello,", "", "\n\n".join(paragraphs), ""]
        if self._sent and self._random.random() < _ANSWER_SHARE:
            _, earlier = self._random.choice(self._sent)
            lines += ["On Monday somebody wrote:", *_quoted(earlier), ""]
        lines.append(_SIGNATURE.format(name=name, number=number % 10_000))
        return "\n".join(lines)

    def _paragraph(self) -> str:
        at = self._random.randrange(len(self._turns) - 3)
        return " ".join(self._turns[at : at + self._random.randint(1, 3)])

    def _subject(self) -> str:
        return " ".join(self._random.choice(self._turns).split()[:6])

    def _trace(self, sender: int, day: datetime) -> list[str]:
        """What relays and filters put before a letter, some 2 KB."""
        relays = [
            f"Received: from mx{relay}.example.org (mx{relay}.example.org [192.0.2.{relay}])\n"
            f"\tby relay{relay}.example.net with ESMTPS id {self._hex(8)}\n"
            f"\tfor <me@example.org>; {format_datetime(day)}"
            for relay in range(4)
        ]
        signature = base64.b64encode(self._random.randbytes(256)).decode()
        signed = "\n\t".join(signature[at : at + 72] for at in range(0, 344, 72))
        return [
            f"Return-Path: <s{sender}@example.org>",
            *relays,
            (
                "DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.org;\n"
                f"\ts=k1; h=from:to:subject:date:message-id;\n\tb={signed}"
            ),
            "Authentication-Results: mx.example.org; dkim=pass; spf=pass; dmarc=pass",
            "X-Spam-Status: No, score=-1.9 required=5.0 tests=BAYES_00,DKIM_SIGNED",
        ]

    def _thread(self) -> list[str]:
        if len(self._sent) < 5:
            return []
        ids = [sent for sent, _ in self._random.sample(self._sent[:-1], 3)]
        return [f"In-Reply-To: {ids[0]}", "References: " + "\n\t".join(ids)]

    def _both(self, text: str) -> list[str]:
        """The body as mail programs write it: plain text, and the same as HTML."""
        boundary = f"=_{self._hex(12)}"
        paragraphs = "".join(f"<p>{part}</p>\n" for part in text.split("\n\n"))
        page = f"<html><head><style>{_STYLE}</style></head><body>{paragraphs}</body></html>"
        return [
            f'Content-Type: multipart/alternative; boundary="{boundary}"',
            "",
            f"--{boundary}",
            *_part("text/plain", text),
            f"--{boundary}",
            *_part("text/html", page),
            f"--{boundary}--",
            "",
            "",
        ]

    def _hex(self, count: int) -> str:
        return self._random.randbytes(count).hex()


def spoken(file: Path) -> list[str]:
    """What is said in the conversations of a LoCoMo file, turn by turn; [] without it."""
    if not file.exists():
        return []
    conversations = [sample["conversation"] for sample in json.loads(file.read_bytes())]
    return [
        " ".join(turn["text"].split())
        for conversation in conversations
        for turns in conversation.values()
        if isinstance(turns, list)
        for turn in turns
    ]


def made_up(seed: int) -> list[str]:
    """Turns of words by Zipf's law."""
    speaker = spine.Speaker(seed)
    return [speaker.text(20) for _ in range(2000)]


def _quoted(text: str) -> list[str]:
    return [f"> {line}" for line in text.splitlines()[:30]]


def _part(kind: str, text: str) -> list[str]:
    return [
        f"Content-Type: {kind}; charset=utf-8",
        "Content-Transfer-Encoding: quoted-printable",
        "",
        quopri.encodestring(text.encode()).decode("ascii"),
    ]


def write_mbox(path: Path, count: int) -> None:
    """An mbox of so many letters."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(Mailbox().letters(count))
