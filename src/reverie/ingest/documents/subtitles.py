"""Subtitles and transcripts (.vtt, .srt): what was said, by whom where it says so, each
with its time.
"""

import html
import re
from collections.abc import Iterator, Sequence

from reverie import errors
from reverie.ingest import charsets
from reverie.ingest.documents import packed, spacing, units

KIND = "a subtitle file"
TIMES = re.compile(
    r"\s*(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,]\d{1,3}[ \t]*-->[ \t]*(?:\d{1,4}:)?\d{1,2}:\d{1,2}[.,]\d"
)
SPEAKER = re.compile(r"<v(?:\.[^\s>]{0,100})*[ \t]+([^>]{1,200})>")
TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>|<\d{1,4}:[\d:.]{1,12}>|\{\\[^{}]{0,100}\}")


@packed.guarded(KIND)
def read(given: units.Given) -> Iterator[units.Read]:
    """One unit with a block a cue; its place is the time at which it begins
    ("00:01:02").
    """
    text, encoding = charsets.decode(given.data)
    cues = [
        block
        for part in re.split(r"\n(?:[ \t]*\n)+", _plain(text))
        for block in _cue(part.split("\n"))
    ]
    if not cues and not text.lstrip("\ufeff").startswith("WEBVTT"):
        raise errors.Unreadable(f"not {KIND}" if text.strip() else "the file is empty")
    yield units.About(encoding=encoding)
    if given.first <= 1:
        yield units.Unit(1, 1, tuple(cues))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _cue(lines: Sequence[str]) -> Iterator[units.Block]:
    """The blocks of one cue: a line for each that speaks in it. Comments and styles
    have no time and say nothing.
    """
    at, found = next(
        ((at, found) for at, line in enumerate(lines) if (found := TIMES.match(line))),
        (0, None),
    )
    if found is None:
        return
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    place: units.Place = {"section": f"{hours:02}:{minutes:02}:{seconds:02}"}
    pieces = SPEAKER.split("\n".join(lines[at + 1 :]))
    for speaker, words in zip(["", *pieces[1::2]], pieces[::2], strict=True):
        said = spacing.clean(html.unescape(TAG.sub("", words)))
        if said:
            who = spacing.clean(html.unescape(speaker))
            yield units.Block(f"{who}: {said}" if who else said, place=place)
