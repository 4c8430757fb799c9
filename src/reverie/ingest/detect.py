"""Content type detection: which reader reads a file, by its magic bytes and text first,
then by its name.
"""

import re
from collections.abc import Mapping
from pathlib import PurePath

from reverie.ingest import charsets, drafts
from reverie.ingest.documents import kinds
from reverie.ingest.formats import (
    bookmarks,
    chats,
    feeds,
    ics,
    mail,
    markdown,
    plain,
    table,
    tnef,
    vcf,
)

HEAD = 64 * 1024  # as many bytes of the file as a caller needs to give

Detected = drafts.Reader | kinds.DocumentFormat | str
"""The reader of drafts, the format of a document, or why the file is skipped."""

ARCHIVES = {kinds.WORD, kinds.SLIDES, kinds.SHEETS, kinds.OPEN, kinds.EPUB}
STREAMS = {kinds.WORD, kinds.SLIDES, kinds.SHEETS, kinds.OLD, kinds.OUTLOOK}

_MOVING = "audio and video are not read yet"
_OTHER_IMAGE = "images of this kind are not read yet"
_PACKED = "a packed file: unpack it first"
MAGIC: tuple[tuple[bytes, Detected], ...] = (
    (b"%PDF-", kinds.PDF),
    (b"\x89PNG\r\n", kinds.IMAGE),
    (b"\xff\xd8\xff", kinds.IMAGE),
    (b"GIF8", kinds.IMAGE),
    (b"BM", kinds.IMAGE),
    (b"II*\x00", kinds.IMAGE),
    (b"MM\x00*", kinds.IMAGE),
    (b"OggS", _MOVING),
    (b"ID3", _MOVING),
    (b"fLaC", _MOVING),
    (b"\x1aE\xdf\xa3", _MOVING),
    (b"SQLite format 3\x00", "databases are not read"),
    (b"\x1f\x8b", _PACKED),
    (b"BZh", _PACKED),
    (b"\xfd7zXZ", _PACKED),
    (b"7z\xbc\xaf", _PACKED),
    (b"Rar!", _PACKED),
    (b"\x7fELF", "programs are not read"),
    (b"MZ", "programs are not read"),
    (b"{\\rtf", kinds.RTF),
    (tnef.SIGNATURE, tnef.read),
)
# Short marks that a text may begin with by chance: only believed when the rest is
# binary too.
WEAK = {b"BM", b"MZ", b"ID3", b"BZh"}
BY_SUFFIX: Mapping[str, kinds.DocumentFormat | str] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp"), kinds.IMAGE),
    **dict.fromkeys((".heic", ".ico"), _OTHER_IMAGE),
    **dict.fromkeys((".mp3", ".m4a", ".wav", ".ogg", ".flac"), _MOVING),
    **dict.fromkeys((".mp4", ".mov", ".mkv", ".webm", ".avi"), _MOVING),
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), kinds.WORD),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx"), kinds.SLIDES),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm", ".xls"), kinds.SHEETS),
    **dict.fromkeys((".odt", ".ott", ".ods", ".ots", ".odp", ".otp"), kinds.OPEN),
    **dict.fromkeys((".doc", ".dot", ".ppt", ".pps"), kinds.OLD),
    **dict.fromkeys((".mobi", ".azw3"), "books of this kind are not read yet"),
    **dict.fromkeys((".html", ".htm", ".xhtml"), kinds.HTML),
    ".xlsb": "binary spreadsheets are not read: save the sheet as .xlsx",
    ".rtf": kinds.RTF,
    ".epub": kinds.EPUB,
    ".pdf": kinds.PDF,
    ".msg": kinds.OUTLOOK,
    ".pst": "Outlook archives are not read",
    ".srt": kinds.SUBTITLES,
    ".vtt": kinds.SUBTITLES,
    ".base": "an Obsidian base: a view of notes, not a note",
}  # fmt: skip
# Names that cannot be told from their content, since plain text looks like any of them.
TEXTS: dict[str, drafts.Reader] = {
    ".md": markdown.read, ".markdown": markdown.read, ".mdown": markdown.read, ".mkd": markdown.read,
    ".txt": plain.read,
    ".text": plain.read, ".log": plain.read, ".rst": plain.read, ".org": plain.read, ".csv": table.read,
    ".tsv": table.read,
    ".tab": table.read, ".eml": mail.read, ".emlx": mail.read, ".mbox": mail.read_mbox,
    ".mbx": mail.read_mbox, ".ics": ics.read,
    ".ical": ics.read, ".ifb": ics.read, ".vcf": vcf.read, ".vcard": vcf.read, ".opml": feeds.read_opml,
    ".rss": feeds.read,
    ".atom": feeds.read, ".rdf": feeds.read, ".cdf": feeds.read,
}  # fmt: skip
SYSTEM_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})
# ISO 14496-12: the brands of pictures; all others are films and sounds.
HEIF_BRANDS = frozenset({b"heic", b"heix", b"mif1", b"avif"})
CONTENT_LINES: tuple[tuple[bytes, drafts.Reader], ...] = (
    (b"BEGIN:VCALENDAR", ics.read),
    (b"BEGIN:VCARD", vcf.read),
)
# In these, a letter or JSON is what the text is about.
PROSE = frozenset({".md", ".markdown", ".csv"})
TEXTUAL = PROSE | {".txt"}
NO_MAIL = PROSE | {
    ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".json", ".py", ".js", ".ts",
    ".rst", ".org", ".tex", ".properties",
}  # fmt: skip
JSON_SUFFIXES: Mapping[str, drafts.Reader] = {
    ".json": chats.read,
}
HTML_SUFFIXES = frozenset({".htm", ".html", ".xhtml"})
FEED_SUFFIXES = frozenset({".rss", ".atom", ".rdf", ".cdf"})
# Bytes that stand in no text: all below the space, but for white space and escape.
CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\x1b"))
HEADER_LINE = re.compile(
    rb"[!-9;-~]{1,76}:(?=[ \t\r\n])[^\r\n]*\r?\n(?:[ \t]+[^\r\n]*\r?\n)*"
)
LETTER = re.compile(rb"(from|to|subject|date|cc|sender|reply-to):", re.IGNORECASE)
MACHINE = re.compile(
    rb"(message-id|received|return-path|delivered-to|mime-version|x-mailer|x-mozilla-status|x-gm-thrid):"
    rb"|content-type: *(multipart|text|message)",
    re.IGNORECASE,
)
HTML_ROOT = re.compile(rb"<(!doctype\s+)?html", re.IGNORECASE)
FEED_ROOT = re.compile(rb"<(?:\w+:)?(rss|feed|rdf:RDF|RDF|channel)[\s>]", re.IGNORECASE)


def look(source_head: bytes, path: PurePath) -> Detected:
    """The reader of drafts, the format of the document, or the reason why the file is
    skipped.

    The path counts from the import root, or folders above it could make the file a
    hidden one. What an archive or an old office document holds is not seen in its head:
    see `sandbox.readers`.
    """
    hidden = _hidden(path, source_head)
    if hidden:
        return hidden
    if not source_head:
        return "the file is empty"
    head = charsets.as_utf8(source_head)
    detected = _by_magic(source_head, path) or _by_text(head, path)
    if detected:
        return detected
    suffix = path.suffix.lower()
    if suffix in BY_SUFFIX:
        return BY_SUFFIX[suffix]
    if suffix in TEXTS:
        return TEXTS[suffix]
    if not _is_text(head):
        return "a binary file of an unknown kind"
    return kinds.TEXT if suffix else plain.read


def _is_text(head: bytes) -> bool:
    """Whether bytes of an unknown kind are text: in UTF-8, or nearly without control
    characters.
    """
    sample = head[:4096]
    if b"\x00" in sample:
        return False
    controls = len(sample) - len(sample.translate(None, CONTROLS))
    return controls * 50 <= len(sample)


def _hidden(path: PurePath, head: bytes) -> str:
    """Why a file is passed over by its name alone; "" when it is not."""
    if ".obsidian" in path.parts:
        return "Obsidian settings"
    if path.name in SYSTEM_FILES:
        return "a file of the operating system"
    if _is_in_maildir(path) and _is_mail(head):
        return ""
    if any(map(_is_hidden_name, path.parts)):
        return "a hidden file"
    if path.name.startswith("~$") or path.name.endswith("~"):
        return "a temporary file"
    return ""


def _is_in_maildir(path: PurePath) -> bool:
    """A Maildir keeps its folders in .Sent, .Archive."""
    return path.parent.name in {"cur", "new"} and not path.name.startswith(".")


def _is_hidden_name(name: str) -> bool:
    return name.startswith(".") and name not in {".", ".."}


def _by_magic(head: bytes, path: PurePath) -> Detected | None:
    for mark, detected in MAGIC:
        if head.startswith(mark) and (mark not in WEAK or b"\x00" in head[:512]):
            return detected
    if head[:4] == b"RIFF":
        return kinds.IMAGE if head[8:12] == b"WEBP" else _MOVING
    if head[4:8] == b"ftyp":
        return _OTHER_IMAGE if head[8:12] in HEIF_BRANDS else _MOVING
    return _by_container(head, path)


def _by_container(head: bytes, path: PurePath) -> Detected | None:
    """An archive or a compound file, by its name: what it holds is seen later."""
    named = BY_SUFFIX.get(path.suffix.lower())
    if head.startswith(b"PK\x03\x04"):
        return named if named in ARCHIVES else chats.read_zip
    if head.startswith(b"\xd0\xcf\x11\xe0"):
        return named if named in STREAMS else kinds.OLD
    return None


def _by_text(head: bytes, path: PurePath) -> Detected | None:
    start = head.lstrip()[:2048]
    suffix = path.suffix.lower()
    for mark, reader in CONTENT_LINES:
        if start[: len(mark)].upper() == mark:
            return reader
    if start.startswith((b"{", b"[")) and suffix not in TEXTUAL:
        return _json(start, suffix)
    if start.startswith(b"<"):
        return _markup(head, suffix)
    if _is_mbox(start):
        return mail.read_mbox
    if suffix not in NO_MAIL and _is_mail(head):
        return mail.read
    return JSON_SUFFIXES.get(suffix)


def _is_mbox(start: bytes) -> bool:
    if not mail.MBOX_FROM.match(start):
        return False
    return bool(mail.HEADER.match(start.partition(b"\n")[2][:200]))


def _is_mail(head: bytes) -> bool:
    """Whether the text begins as a message does: a header only programs write, or a
    sender and more.

    Minutes of a meeting may well begin with "Date:" and "Subject:".
    """
    head = head.lstrip(b"\r\n")[:HEAD]
    names: set[bytes] = set()
    at = 0
    while (line := HEADER_LINE.match(head, at)) is not None:
        if MACHINE.match(line.group()):
            return True
        if LETTER.match(line.group()):
            names.add(line.group().partition(b":")[0].lower())
        if b"from" in names and len(names) > 1:
            return True
        at = line.end()
    return False


def _json(start: bytes, suffix: str) -> Detected:
    if re.match(rb"\[\s*(?:\[\s*)?\"vcalendar\"", start):
        return "jCal: the same calendar as JSON, import the .ics"
    if re.match(rb"\[\s*\"vcard\"", start):
        return "jCard: the same contact as JSON, import the .vcf"
    return chats.read if suffix in {".json", ""} else kinds.TEXT


def _markup(head: bytes, suffix: str) -> Detected | None:
    upper = head[:4096].upper()
    if b"NETSCAPE-BOOKMARK-FILE" in upper:
        return bookmarks.read
    bare = _after_prolog(head)[:4096]
    if re.match(rb"<opml[\s>]", bare, re.IGNORECASE):
        return feeds.read_opml
    if FEED_ROOT.match(bare):
        return feeds.read
    if suffix in HTML_SUFFIXES or HTML_ROOT.match(bare):
        return _html(upper, suffix)
    if suffix in FEED_SUFFIXES:
        return feeds.read
    return kinds.TEXT if suffix == ".xml" else None


def _html(upper: bytes, suffix: str) -> Detected | None:
    # Bookmarks of a browser that leaves the document type out.
    if b"<DL>" in upper and re.search(rb"<DT>\s*<(A|H3)\b", upper):
        return bookmarks.read
    return None if suffix in TEXTS else kinds.HTML


def _after_prolog(head: bytes) -> bytes:
    """The markup from its first element on: XML declaration, comments and document type
    are passed over.
    """
    at = 0
    while True:
        while head[at : at + 1].isspace():
            at += 1
        if head.startswith(b"<!--", at):
            end = head.find(b"-->", at)
        elif head.startswith(b"<?", at):
            end = head.find(b"?>", at)
        elif _has_other_doctype(head, at):
            end = _doctype_end(head, at)
        else:
            return head[at:]
        if end < 0:
            return b""
        at = head.find(b">", end) + 1


def _has_other_doctype(head: bytes, at: int) -> bool:
    start = head[at : at + 14].lower()
    return start.startswith(b"<!doctype") and start != b"<!doctype html"


def _doctype_end(head: bytes, at: int) -> int:
    """Where a document type ends, behind its own declarations in brackets; -1 when it
    does not.
    """
    brackets = head.find(b"[", at)
    end = head.find(b">", at)
    if 0 <= brackets < end:
        end = head.find(b"]", brackets)
    return head.find(b">", end) if end >= 0 else -1
