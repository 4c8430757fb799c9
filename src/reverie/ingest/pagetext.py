"""HTML to plain text, for bodies of mail and descriptions of feeds: readable, never exact."""

import html
import re

LONGEST = 4_000_000  # characters of HTML that are read; more is no letter
DROPPED = re.compile(r"<(script|style|head|title|template)\b[^<>]{0,5000}>", re.IGNORECASE)
BLOCKS = re.compile(
    r"</?(p|div|br|tr|table|ul|ol|li|h[1-6]|blockquote|pre|hr|section|article|header|footer|dl|dt|dd|center|form)\b",
    re.IGNORECASE,
)
TAG = re.compile(r"<(?:!|/|\?)?[A-Za-z\[?!-][^<>]*>")
CELL = re.compile(r"</t[dh]\s*>", re.IGNORECASE)


def text(markup: str) -> str:
    """The words of the page, one line a block; links, pictures, scripts and comments are left out."""
    markup = _without(markup[:LONGEST])
    markup = re.sub(r"[ \t\r\n\f]+", " ", markup)
    markup = CELL.sub("\t", markup)
    markup = BLOCKS.sub(lambda match: "\n" + match.group(), markup)
    plain = (
        html.unescape(TAG.sub("", markup)).replace("\u00a0", " ").replace("\u200b", "").replace("\u00ad", "")
    )
    lines = (re.sub(r" *\t *", "\t", re.sub(r" {2,}", " ", line)).strip() for line in plain.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _without(markup: str) -> str:
    """The page without comments and without elements that hold no text.

    By plain searches: every step moves on, however broken the page is.
    """
    kept: list[str] = []
    at = 0
    while True:
        comment = markup.find("<!--", at)
        element = DROPPED.search(markup, at, comment if comment >= 0 else len(markup))
        if element is not None:
            kept.append(markup[at : element.start()])
            close = _end(markup, f"</{element.group(1)}", element.end())
            # A head that is never closed is most of a broken letter, not something to throw away.
            at = close if close > 0 else element.end()
        elif comment >= 0:
            kept.append(markup[at:comment])
            close = markup.find("-->", comment + 4)
            if close < 0:
                break
            at = close + 3
        else:
            kept.append(markup[at:])
            break
    return " ".join(kept)


def _end(markup: str, tag: str, at: int) -> int:
    # Lower case of a slice may change its length; a search does not.
    found = re.compile(re.escape(tag) + r"[^<>]{0,100}>", re.IGNORECASE).search(markup, at)
    return found.end() if found else -1
