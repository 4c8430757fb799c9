"""Subtitles and transcripts (WebVTT, SubRip .srt): cues with their times and speakers.

A cue is a group of lines: perhaps an identifier, then a line with its times, then what is
shown. WebVTT may mark who speaks (<v Name>).
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
EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
SPEAKER = re.compile(r"<v(?:\.[^\s>]{0,100})*[ \t]+([^>]{1,200})>")
TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>|<\d{1,4}:[\d:.]{1,12}>|\{\\[^{}]{0,100}\}")


@packed.guarded(KIND)
def read(source: units.DocumentSource) -> Iterator[units.Read]:
    """One unit with a block a cue; its place is the time at which it begins
    ("00:01:02").
    """
    text, encoding = charsets.decode(source.data)
    parts = EMPTY_LINES.split(_plain(text))
    cues: units.Blocks = []
    for part in parts:
        cues += _cue(part.split("\n"))
    if not cues and not text.lstrip("\ufeff").startswith("WEBVTT"):
        raise errors.Unreadable(f"not {KIND}" if text.strip() else "the file is empty")
    yield units.About(encoding=encoding)
    if source.first <= 1:
        yield units.whole(cues)


def _plain(text: str) -> str:
    """The text with line feeds only."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _cue(lines: Sequence[str]) -> Iterator[units.Block]:
    """The blocks of one cue: a line for each that speaks in it. Comments and styles
    have no time and say nothing.
    """
    timed = _timing(lines)
    if timed is None:
        return
    line, times = timed
    hours, minutes, seconds = (int(part or 0) for part in times.groups())
    place: units.Place = {"section": f"{hours:02}:{minutes:02}:{seconds:02}"}
    payload = "\n".join(lines[line + 1 :])
    # What comes before the first speaker, then a speaker and the words in turn.
    pieces = ["", *SPEAKER.split(payload)]
    for speaker, words in zip(pieces[::2], pieces[1::2], strict=True):
        text = _unescaped(TAG.sub("", words))
        if not text:
            continue
        name = _unescaped(speaker)
        line_text = f"{name}: {text}" if name else text
        yield units.Block(line_text, place=place)


def _timing(lines: Sequence[str]) -> tuple[int, re.Match[str]] | None:
    """The line of a cue that has its times, and what they are."""
    for number, line in enumerate(lines):
        if times := TIMES.match(line):
            return number, times
    return None


def _unescaped(text: str) -> str:
    """A text with entities resolved, cleaned."""
    return spacing.clean(html.unescape(text))
