"""HTML to plain text, for bodies of mail and descriptions of feeds: readable, never
exact.
"""

import html
import re

LONGEST = 4_000_000  # characters of HTML that are read; more is no letter
OPENING = re.compile(
    r"<!--|<(script|style|head|title|template)\b[^<>]{0,5000}>", re.IGNORECASE
)
CLOSING = {"": re.compile("-->")} | {
    name: re.compile(rf"</{name}[^<>]{{0,100}}>", re.IGNORECASE)
    for name in ("script", "style", "head", "title", "template")
}
BLOCKS = re.compile(
    r"</?(p|div|br|tr|table|ul|ol|li|h[1-6]|blockquote|pre|hr|section|article|header|footer|dl|dt|dd|center|form)\b",
    re.IGNORECASE,
)
TAG = re.compile(r"<(?:!|/|\?)?[A-Za-z\[?!-][^<>]*>")
CELL = re.compile(r"</t[dh]\s*>", re.IGNORECASE)


def text(markup: str) -> str:
    """The words of the page, one line a block; links, pictures, scripts and comments
    are left out.
    """
    markup = _without(markup[:LONGEST])
    markup = re.sub(r"[ \t\r\n\f]+", " ", markup)
    markup = CELL.sub("\t", markup)
    markup = BLOCKS.sub(lambda match: "\n" + match.group(), markup)
    plain = (
        html.unescape(TAG.sub("", markup))
        .replace("\u00a0", " ")
        .replace("\u200b", "")
        .replace("\u00ad", "")
    )
    lines = (
        re.sub(r" *\t *", "\t", re.sub(r" {2,}", " ", line)).strip()
        for line in plain.split("\n")
    )
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _without(markup: str) -> str:
    """The page without comments and without elements that hold no text."""
    kept: list[str] = []
    # Looked for once to the end of the page and not again, or time would be quadratic.
    unclosed: set[str] = set()
    at = 0
    for opening in OPENING.finditer(markup):
        name = (opening.group(1) or "").lower()
        if opening.start() < at or name in unclosed:
            continue
        closing = CLOSING[name].search(markup, opening.end())
        # The rest stays: it is most of a broken letter, not something to throw away.
        if closing is None:
            unclosed.add(name)
            continue
        kept.append(markup[at : opening.start()])
        at = closing.end()
    kept.append(markup[at:])
    return " ".join(kept)
