"""Titles in plain words: without the entities and the markup that programs leave in."""

import html
import re

# Elements that stand in titles: those that are closed in it, and those that are empty.
INLINE = re.compile(
    r"</?(a|abbr|b|big|bdi|br|cite|code|del|em|font|i|img|ins|kbd|mark|p|q|s|small|span|strike|strong|sub|sup|tt|u|wbr|h[1-6])\b[^<>]{0,2000}>",
    re.IGNORECASE,
)
CLOSED = re.compile(r"</([A-Za-z][A-Za-z0-9]{0,9})\s{0,9}>")
EMPTY = frozenset({"br", "wbr", "img"})
TIMES_ESCAPED = 3  # by a program, by the one after it, and once more


def plain(text: str) -> str:
    """A title in one line, without entities and without the elements that mark words
    in it; a "<" that begins no such element stays.
    """
    for _ in range(TIMES_ESCAPED):
        if "&" not in text:
            break
        text = html.unescape(text)
    if "<" in text:
        closed = {name.lower() for name in CLOSED.findall(text)} | EMPTY
        text = INLINE.sub(
            lambda tag: "" if tag[1].lower() in closed else tag.group(), text
        )
    return " ".join(text.replace("\u200b", "").replace("\u00ad", "").split())
