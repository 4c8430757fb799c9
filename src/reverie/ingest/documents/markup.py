"""HTML and XHTML trees as blocks: headings, paragraphs, list items, table rows, without
recursion.

A walk goes through the tree once. Elements that are blocks end the one before them;
headings, lists and preformatted text are kept on stacks while the walk is inside them.
Tables of data become rows; tables that only lay a page out are walked like the rest.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from reverie.ingest import charsets
from reverie.ingest.documents import numbering, officeparts, spacing, trees, units

# Elements of HTML (the living standard, section 4) that show no text of a page; of a
# formula the text is shown.
SILENT = frozenset(
    [
        "head",
        "script",
        "style",
        "template",
        "noscript",
        "svg",
        "math",
        "iframe",
        "object",
        "canvas",
        "audio",
        "video",
        "map",
        "select",
        "datalist",
        "textarea",
        "input",
    ]
)
# Elements that begin and end a line.
BLOCKS = frozenset(
    [
        "p",
        "div",
        "section",
        "article",
        "main",
        "header",
        "footer",
        "aside",
        "nav",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "blockquote",
        "pre",
        "hr",
        "table",
        "caption",
        "thead",
        "tbody",
        "tfoot",
        "tr",
        "td",
        "th",
        "figure",
        "figcaption",
        "form",
        "fieldset",
        "legend",
        "address",
        "details",
        "summary",
        "body",
        "html",
        "center",
        "hgroup",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
    ]
)
LISTS = frozenset(["ul", "ol"])
CELLS = frozenset(["td", "th"])
HEADING = re.compile(r"h[1-6]")
HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
DECLARED = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml[^>]{0,100}encoding=["']([\w.-]{1,40})""",
    re.IGNORECASE,
)
FILE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|bmp)\s*$", re.IGNORECASE)
STATED_NUMBER = re.compile(r"[0-9]{1,6}")
# Columns that a cell covers; set by hand, like the next.
SPAN = 60
# Cells of one table that are filled with the text of another.
COVERED = 20_000


@dataclass(slots=True)
class HtmlWalk:
    """Where the walk through a page stands."""

    blocks: units.Blocks = field(default_factory=units.Blocks)
    pieces: list[str] = field(default_factory=list[str])
    headings: list[int] = field(default_factory=list[int])
    labels: list[str] = field(default_factory=list[str])
    counts: list[int | None] = field(default_factory=list[int | None])
    code: int = 0

    def flush(self) -> None:
        """The text since the last block becomes one."""
        text = "".join(self.pieces)
        self.pieces.clear()
        text = spacing.lines(text) if self.code else spacing.clean(text)
        if not text:
            return
        if self.labels:
            label = self.labels[-1]
            self.labels.clear()
            text = f"{label} {text}"
        level = self.headings[-1] if self.headings else 0
        self.blocks.append(units.paragraph(text, level))


@dataclass(slots=True)
class Spans:
    """For each column how many more rows a cell above covers, and its text; how many
    cells may still be filled.
    """

    waiting: dict[int, tuple[int, str]] = field(
        default_factory=dict[int, tuple[int, str]]
    )
    left: int = COVERED

    def fill(self, texts: list[str]) -> None:
        """Add to a row what cells above cover of its next columns."""
        while len(texts) in self.waiting and self.left > 0:
            more, text = self.waiting.pop(len(texts))
            if more > 1:
                self.waiting[len(texts)] = (more - 1, text)
            texts.append(text)
            self.left -= 1


def decoded(data: bytes, declared: str = "") -> tuple[str, str]:
    """A page's text and its encoding: as declared outside, as it says itself, or as its
    bytes look.
    """
    inside = _declared_inside(data)
    if inside.lower().startswith("utf-16"):
        inside = ""  # a page that says so in letters of one byte is none
    return charsets.decode(data, declared or inside)


def _declared_inside(data: bytes) -> str:
    """The encoding that a page's own head names, "" without one."""
    declaration = DECLARED.search(data[:4096])
    if declaration is None:
        return ""
    name = b"".join(filter(None, declaration.groups()))
    return name.decode("ascii", "replace")


def page(text: str) -> trees.Element | None:
    """The tree of a page; None when there is nothing in it. Entities of its own mean
    nothing in HTML.
    """
    text = re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", text.replace("\0", ""))
    if not text.strip():
        return None
    return trees.page(text)


def chapter(data: bytes) -> trees.Element | None:
    """The tree of an XHTML file, which as HTML would lose what follows `<title/>`;
    broken ones are HTML.
    """
    try:
        return trees.parsed(data)
    except trees.SyntaxFault:
        return page(decoded(data)[0])


def blocks(
    root: trees.Element, left_out: frozenset[trees.Element] = frozenset()
) -> units.Blocks:
    """The blocks of a tree in its order, without the elements of `left_out` and what is
    not shown.
    """
    walk = HtmlWalk()
    walker = trees.walk(root, "start", "end")
    for event, element in walker:
        name = officeparts.local(element).lower()
        skipped = element in left_out or _silent(element, name)
        if event == "end":
            if not skipped:
                _close(walk, element, name)
            # The tail of the root stands outside of it.
            tail = None if element is root else element.tail
            walk.pieces.append(tail or "")
        elif skipped:
            walker.skip_subtree()
        elif name == "table" and _is_data(element):
            walk.flush()
            walk.blocks += _table(element)
            walker.skip_subtree()
        else:
            _open(walk, element, name)
    walk.flush()
    return walk.blocks


def _silent(element: trees.Element, name: str) -> bool:
    """Whether an element shows no text: by its kind, or because it is hidden. What has
    no name is no element, such as a comment.
    """
    if not name:
        return True
    if name in SILENT:
        return name != "math"
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    return HIDDEN.search(element.get("style") or "") is not None


def _open(walk: HtmlWalk, element: trees.Element, name: str) -> None:
    """Go into an element: begin its block, note what it means for what is in it."""
    if name in BLOCKS:
        walk.flush()
    if name in LISTS:
        walk.counts.append(_first_count(element, name))
    elif name == "li":
        walk.labels[:] = [_label(walk, element)]
    elif HEADING.fullmatch(name):
        walk.headings.append(int(name[1]))
    elif name == "pre":
        walk.code += 1
    elif name == "br":
        walk.pieces.append("\n")
    elif name == "img":
        walk.pieces.append(_picture(element))
    walk.pieces.append(element.text or "")


def _first_count(list_element: trees.Element, name: str) -> int | None:
    """The number of the first item of a list, None where items have none."""
    if name != "ol":
        return None
    start = list_element.get("start") or "1"
    return numbering.whole(start)


def _picture(element: trees.Element) -> str:
    """What a page says that a picture shows, unless that is only the name of its file."""
    description = element.get("alt") or ""
    return "" if FILE.search(description) else f" {description} "


def _close(walk: HtmlWalk, element: trees.Element, name: str) -> None:
    """Leave an element: end its block, forget what it meant."""
    if name in BLOCKS and not (name == "table" and _is_data(element)):
        walk.flush()
    if name in LISTS and walk.counts:
        walk.counts.pop()
    elif name == "li":
        walk.labels.clear()
    elif HEADING.fullmatch(name) and walk.headings:
        walk.headings.pop()
    elif name == "pre":
        walk.code = max(0, walk.code - 1)


def _label(walk: HtmlWalk, element: trees.Element) -> str:
    """What stands before an item of a list: a dash or its number."""
    count = walk.counts[-1] if walk.counts else None
    if count is None:
        return "-"
    stated = element.get("value") or ""
    if STATED_NUMBER.fullmatch(stated):
        count = int(stated)
    walk.counts[-1] = count + 1
    return f"{count}."


def _is_data(table: trees.Element) -> bool:
    """Whether a table holds data: one around other tables or headings only lays the
    page out.
    """
    if table.get("role") in {"presentation", "none"}:
        return False
    inner = table.iterdescendants("{*}table", "table", "h1", "h2", "article", "main")
    return next(inner, None) is None


def _table(table: trees.Element) -> units.Blocks:
    """A table: its caption, then its rows; what a cell covers says the same when it is
    short.
    """
    captions: units.Blocks = []
    rows: list[list[str]] = []
    spans = Spans()
    headed = False
    for element in table.iterdescendants("{*}caption", "caption", "{*}tr", "tr"):
        if officeparts.local(element) == "caption":
            if text := inline(element):
                captions.append(units.Block(text))
            continue
        cells = _cells(element)
        if not rows:
            headed = bool(cells) and all(map(_is_header, cells))
        rows.append(_row(cells, spans))
    return captions + spacing.table(rows, header=headed)


def _cells(row: trees.Element) -> list[trees.Element]:
    """The cells of a row that are shown."""
    return [
        cell
        for cell in row
        if officeparts.local(cell) in CELLS and not _silent(cell, "td")
    ]


def _is_header(cell: trees.Element) -> bool:
    """Whether a cell is a header."""
    return officeparts.local(cell) == "th"


def _row(cells: Sequence[trees.Element], spans: Spans) -> list[str]:
    """The texts of a row, with what the cells above cover of it."""
    if len(cells) == 1 and not spans.waiting and _is_one_row_high(cells[0]):
        return [inline(cells[0])]  # across the whole table: a title, which is said once
    texts: list[str] = []
    for cell in cells:
        spans.fill(texts)
        _add_cell(cell, texts, spans)
    spans.fill(texts)
    return texts


def _is_one_row_high(cell: trees.Element) -> bool:
    """Whether a cell covers nothing of the rows below."""
    return cell.get("rowspan") in {None, "", "1"}


def _add_cell(cell: trees.Element, texts: list[str], spans: Spans) -> None:
    """Add a cell to its row, with what it covers of the row and of those below."""
    text = inline(cell)
    covered = spacing.spanning(text)
    columns = numbering.whole(cell.get("colspan") or "1", 1, SPAN)
    rows = numbering.whole(cell.get("rowspan") or "1", 1)
    down = rows - 1
    across = max(1, columns) if spans.left > 0 else 1
    for more in range(across):
        if down > 0:
            spans.waiting[len(texts)] = (down, covered)
        texts.append(covered if more else text)
    spans.left -= across - 1


def inline(element: trees.Element) -> str:
    """All the text inside an element as one line."""
    return spacing.clean("".join(_words(element)))


def _words(root: trees.Element) -> Iterator[str]:
    """The text inside an element in pieces, items of ordered lists with their numbers."""
    counts: list[int | None] = []
    walker = trees.walk(root, "start", "end")
    for event, element in walker:
        name = officeparts.local(element).lower()
        if event == "end":
            yield _after(name, counts)
            if element is not root:
                yield element.tail or ""
        elif not name or (element is not root and _silent(element, name)):
            walker.skip_subtree()
        else:
            yield _before(name, counts)
            yield _picture(element) if name == "img" else element.text or ""


def _before(name: str, counts: list[int | None]) -> str:
    """What stands before the text of an element: space, and an item's number."""
    space = " " if name in BLOCKS or name == "br" else ""
    if name in LISTS:
        counts.append(1 if name == "ol" else None)
    if name != "li" or not counts:
        return space
    count = counts[-1]
    if count is None:
        return space
    counts[-1] = count + 1
    return f"{space}{count}. "


def _after(name: str, counts: list[int | None]) -> str:
    """What stands after the text of an element."""
    if name in LISTS and counts:
        counts.pop()
    return " " if name in BLOCKS else ""
