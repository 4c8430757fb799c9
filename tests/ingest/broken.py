"""Broken and hostile files: twenty formats, each with sixteen defects, made from
documents that are made here.

    python tests/ingest/broken.py FOLDER [SEED]

writes them all. The same seed gives the same files.
"""

import base64
import gzip
import io
import random
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import docx
import openpyxl
import pptx
from PIL import Image

MB = 1024 * 1024
LONG = 50 * MB
DEEP = 100_000
SEED = 7
WORDS = "Der Zug nach Málaga fährt um 9 Uhr; the ticket is in the blue folder. "
HTML_NS = 'xmlns="http://www.w3.org/1999/xhtml"'
ODF = "urn:oasis:names:tc:opendocument:xmlns"
ODF_NS = f'xmlns:office="{ODF}:office:1.0" xmlns:text="{ODF}:text:1.0" xmlns:table="{ODF}:table:1.0"'
WORD_NS = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
SLIDE_NS = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
)
SHEET_NS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LAUGHS = (
    "<!DOCTYPE x [<!ENTITY a0 'ha'>"
    + "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 10))
    + "]>"
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A file to be: `make` gives its bytes, which may be tens of megabytes."""

    kind: str
    defect: str
    make: Callable[[], bytes]

    @property
    def name(self) -> str:
        return f"{self.defect}.{self.kind}"


def variants(seed: int = SEED) -> Iterator[Variant]:
    """All of them, the small ones and the large."""
    for kind, base in BASES.items():
        for defect in DEFECTS:
            yield Variant(kind, defect, _maker(kind, base, defect, seed))


def _maker(
    kind: str, base: Callable[[], bytes], defect: str, seed: int
) -> Callable[[], bytes]:
    def make() -> bytes:
        chance = random.Random(f"{seed} {kind} {defect}")
        return DEFECTS[defect](kind, base(), chance)

    return make


# ------------------------------------------------------------------------------------------------ sound documents


def pdf(
    content: bytes = b"",
    *,
    more: str = "",
    kids: str = "3 0 R",
    catalog: str = "",
    packed: bytes = b"",
) -> bytes:
    """A PDF of one page; `packed` is its content, packed already."""
    text = content or f"BT /F1 12 Tf 72 720 Td ({WORDS * 3}) Tj ET".encode("latin-1")
    stream = packed or zlib.compress(text)
    bodies = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>".encode(),
        f"<< /Type /Pages /Kids [{kids}] /Count 1 >>".encode(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >>>>>>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream"
        % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data = b"%PDF-1.7\n"
    places: list[int] = []
    for number, body in enumerate(bodies, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = f"trailer\n<< /Size 6 /Root 1 0 R {more} >>\nstartxref\n{len(data)}\n%%EOF\n".encode()
    return data + b"xref\n0 6\n0000000000 65535 f \n" + table + end


def image(kind: str, size: tuple[int, int] = (120, 80)) -> bytes:
    buffer = io.BytesIO()
    Image.frombytes(
        "RGB", size, random.Random(SEED).randbytes(3 * size[0] * size[1])
    ).save(buffer, kind)
    return buffer.getvalue()


def zipped(members: Mapping[str, bytes | str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            stored = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(
                zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data, stored, 1
            )
    return buffer.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def timeless(data: bytes) -> bytes:
    """The archive without the hour at which it was made."""
    members = unzipped(data)
    core = members["docProps/core.xml"]
    return zipped(
        {
            **members,
            "docProps/core.xml": re.sub(
                rb"(?<=>)\d{4}-\d\d-\d\dT[^<]*", b"2024-01-01T00:00:00Z", core
            ),
        }
    )


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Journey", 1)
    for _ in range(20):
        document.add_paragraph(WORDS)
    document.add_table(2, 2).cell(0, 0).text = "cell"
    buffer = io.BytesIO()
    document.save(buffer)
    return timeless(buffer.getvalue())


def slides() -> bytes:
    deck = pptx.Presentation()
    for number in range(3):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Slide {number}"  # pyright: ignore[reportOptionalMemberAccess]
        slide.placeholders[1].text = WORDS  # pyright: ignore[reportAttributeAccessIssue]
    buffer = io.BytesIO()
    deck.save(buffer)
    return timeless(buffer.getvalue())


def sheets() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.create_sheet("Costs", 0)
    sheet.append(["day", "what", "sum"])
    for number in range(50):
        sheet.append([number, WORDS, number * 1.5])
    buffer = io.BytesIO()
    book.save(buffer)
    return timeless(buffer.getvalue())


def opendocument(mime: str, body: str, *, manifest: str = "") -> bytes:
    """An ODF file with this inside of office:body."""
    content = f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {ODF_NS}><office:body>{body}'
    entries = f'<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml">{manifest}'
    return zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{mime}",
            "content.xml": content + "</office:body></office:document-content>",
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{ODF}:manifest:1.0">{entries}'
            "</manifest:file-entry></manifest:manifest>",
        }
    )


def text_of(body: str) -> str:
    return f"<office:text>{body}</office:text>"


def sheet_of(body: str) -> str:
    return f'<office:spreadsheet><table:table table:name="One">{body}</table:table></office:spreadsheet>'


def row_of(text: str) -> str:
    return f"<table:table-row><table:table-cell><text:p>{text}</text:p></table:table-cell></table:table-row>"


def book(chapter: str = "", *, spine: str = '<itemref idref="c1"/>') -> bytes:
    """An EPUB of one chapter, which is XHTML."""
    inside = (
        chapter
        or f"<html {HTML_NS}><body><h1>One</h1>{f'<p>{WORDS}</p>' * 20}</body></html>"
    )
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata/><manifest>'
        '<item id="c1" href="c1.xhtml" media-type="application/xhtml+xml"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="a.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
    )
    members = {"META-INF/container.xml": container, "a.opf": opf, "c1.xhtml": inside}
    return zipped({"mimetype": "application/epub+zip", **members})


def ole(
    streams: Sequence[tuple[str, bytes]],
    *,
    first_fat: Sequence[int] | None = None,
    sectors: int = 1,
) -> bytes:
    """An OLE file with streams of at least 4096 bytes each; the FAT's entries and its
    sector count can be lies.
    """
    fat: list[int] = [0xFFFFFFFD, 0xFFFFFFFE]
    body = b""
    entries = [_entry("Root Entry", 5, 0xFFFFFFFE, 0, 1)]
    for number, (name, data) in enumerate(streams, start=1):
        data = data.ljust(4096, b"\x00")
        data += b"\x00" * (-len(data) % 512)
        count, start = len(data) // 512, len(fat)
        fat += [*range(start + 1, start + count), 0xFFFFFFFE]
        right = number + 1 if number < len(streams) else 0xFFFFFFFF
        entries.append(_entry(name, 2, start, len(data), 0xFFFFFFFF, right))
        body += data
    while len(entries) < 4:
        entries.append(bytes(128))
    for place, value in enumerate(first_fat or ()):
        fat[place] = value
    table = struct.pack("<128I", *(fat + [0xFFFFFFFF] * 128)[:128])
    head = (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + bytes(16)
        + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
        + bytes(6)
    )
    head += struct.pack(
        "<IIIIIIIII", 0, sectors, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0
    )
    head += struct.pack("<109I", 0, *[0xFFFFFFFF] * 108)
    return head + table + b"".join(entries[:4]) + body


def _entry(
    name: str, kind: int, start: int, size: int, child: int, right: int = 0xFFFFFFFF
) -> bytes:
    coded = (name + "\x00").encode("utf-16-le")
    data = coded.ljust(64, b"\x00") + struct.pack(
        "<HBBIII", len(coded), kind, 1, 0xFFFFFFFF, right, child
    )
    return data + bytes(36) + struct.pack("<IQ", start, size)


def biff(cells: int = 30, text: bytes = WORDS.encode("latin-1")) -> bytes:
    """A workbook of one sheet with texts in it, as Excel 5 wrote them."""

    def record(number: int, data: bytes) -> bytes:
        return struct.pack("<HH", number, len(data)) + data

    labels = b"".join(
        record(0x0204, struct.pack("<HHHH", row, 0, 15, len(text)) + text)
        for row in range(min(cells, 65_535))
    )
    start = record(0x0809, struct.pack("<HHHH", 0x0500, 0x0005, 0, 0))
    sheet = (
        record(0x0809, struct.pack("<HHHH", 0x0500, 0x0010, 0, 0))
        + labels
        + record(0x000A, b"")
    )
    place = len(start) + 4 + 7 + 3 + 4
    named = record(0x0085, struct.pack("<IBBB", place, 0, 0, 3) + b"One")
    return start + named + record(0x000A, b"") + sheet


def message(
    body: str = "", *, kind: str = "text/plain; charset=utf-8", more: str = ""
) -> bytes:
    head = f"From: ann@a.org\nTo: bob@b.org\nSubject: Journey\nDate: Mon, 1 Jan 2024 10:00:00 +0000\n{more}"
    return f"{head}MIME-Version: 1.0\nContent-Type: {kind}\n\n{body or WORDS * 5}\n".encode()


def calendar(inside: str = "") -> bytes:
    event = (
        inside
        or "DTSTART:20240101T100000Z\r\nDTEND:20240101T110000Z\r\nSUMMARY:Journey\r\n"
    )
    return f"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\n{event}END:VEVENT\r\nEND:VCALENDAR\r\n".encode()


def page(inside: str = "") -> bytes:
    body = inside or f"<article><h1>Journey</h1>{f'<p>{WORDS}</p>' * 20}</article>"
    return f"<!doctype html><html><head><title>Journey</title></head><body>{body}</body></html>".encode()


def rich(inside: str = "") -> bytes:
    return (
        b"{\\rtf1\\ansi\\ansicpg1252 "
        + (inside or f"\\b Journey\\b0\\par {WORDS * 20}").encode("cp1252")
        + b"}"
    )


def chat(text: str = WORDS) -> str:
    return f'[{{"uuid": "1", "name": "Journey", "chat_messages": [{{"sender": "human", "text": "{text}"}}]}}]'


BASES: Mapping[str, Callable[[], bytes]] = {
    "pdf": pdf,
    "png": partial(image, "PNG"),
    "jpg": partial(image, "JPEG"),
    "tiff": partial(image, "TIFF"),
    "docx": word,
    "pptx": slides,
    "xlsx": sheets,
    "odt": lambda: opendocument("text", text_of(f"<text:p>{WORDS}</text:p>" * 20)),
    "ods": lambda: opendocument("spreadsheet", sheet_of(row_of(WORDS) * 20)),
    "epub": book,
    "rtf": rich,
    "html": page,
    "xls": lambda: ole([("Book", biff())]),
    "msg": lambda: ole(
        [
            ("__properties_version1.0", bytes(512)),
            ("__substg1.0_1000001F", WORDS.encode("utf-16-le")),
        ]
    ),
    "eml": message,
    "csv": ("day,what,sum\n" + f"2024-01-01,{WORDS},5\n" * 50).encode,
    "md": f"---\ntitle: Journey\n---\n# One\n\n{WORDS * 5}\n\n## Two\n\n{WORDS}".encode,
    "txt": (WORDS * 30).encode,
    "json": chat().encode,
    "ics": calendar,
}
OFFICE = {
    "docx": "word/document.xml",
    "pptx": "ppt/slides/slide1.xml",
    "xlsx": "xl/worksheets/sheet1.xml",
}
PARTS = {**OFFICE, "odt": "content.xml", "ods": "content.xml", "epub": "c1.xhtml"}
OLE = {"xls", "msg"}
IMAGES = {"png", "jpg", "tiff"}


def _in_docx(text: str) -> bytes:
    return part(
        "docx",
        f"<w:document {WORD_NS}><w:body><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:body></w:document>",
    )


def _in_pptx(text: str) -> bytes:
    shape = f"<p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    return part(
        "pptx",
        f"<p:sld {SLIDE_NS}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>",
    )


def _in_xlsx(text: str) -> bytes:
    cell = f'<c r="A1" t="inlineStr"><is><t>{text}</t></is></c>'
    return part(
        "xlsx",
        f'<worksheet {SHEET_NS}><sheetData><row r="1">{cell}</row></sheetData></worksheet>',
    )


def _in_msg(text: str) -> bytes:
    return ole(
        [
            ("__properties_version1.0", bytes(512)),
            ("__substg1.0_1000001F", text.encode("utf-16-le")),
        ]
    )


AROUND: Mapping[str, Callable[[str], bytes]] = {
    "pdf": lambda text: pdf(
        f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode("latin-1", "replace")
    ),
    "docx": _in_docx,
    "pptx": _in_pptx,
    "xlsx": _in_xlsx,
    "odt": lambda text: opendocument("text", text_of(f"<text:p>{text}</text:p>")),
    "ods": lambda text: opendocument("spreadsheet", sheet_of(row_of(text))),
    "epub": lambda text: book(f"<html {HTML_NS}><body><p>{text}</p></body></html>"),
    "html": lambda text: page(f"<p>{text}</p>"),
    "rtf": rich,
    "xls": lambda text: ole(
        [("Book", biff(3, text.encode("latin-1", "replace")[:8000]))]
    ),
    "msg": _in_msg,
    "eml": message,
    "csv": lambda text: f"day,what\n1,{text}\n".encode(),
    "json": lambda text: chat(text).encode(),
    "ics": lambda text: calendar(f"DTSTART:20240101T100000Z\r\nSUMMARY:{text}\r\n"),
}


def around(kind: str, text: str) -> bytes:
    """A document of the kind with this as its text, which may hold marks of the kind's
    own.
    """
    return AROUND[kind](text) if kind in AROUND else text.encode()


def part(kind: str, xml: str | bytes) -> bytes:
    """The base with its main part replaced."""
    return zipped({**unzipped(BASES[kind]()), PARTS[kind]: xml})


def png(width: int, height: int, data: bytes, *more: tuple[bytes, bytes]) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body))
            + name
            + body
            + struct.pack(">I", zlib.crc32(name + body))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    body = (
        head
        + b"".join(chunk(name, one) for name, one in more)
        + chunk(b"IDAT", data)
        + chunk(b"IEND", b"")
    )
    return b"\x89PNG\r\n\x1a\n" + body


def squeezed(size: int, unit: bytes = b" ") -> bytes:
    """So many bytes of the same, packed by zlib without ever lying in memory."""
    packer = zlib.compressobj(9)
    block = unit * (MB // len(unit))
    return b"".join(packer.compress(block) for _ in range(size // MB)) + packer.flush()


def swollen(kind: str, size: int) -> bytes:
    """The archive with its main part swollen to so many bytes when unpacked."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in unzipped(BASES[kind]()).items():
            if name != PARTS[kind]:
                archive.writestr(
                    name, data, zipfile.ZIP_STORED if name == "mimetype" else None
                )
                continue
            at = (
                data.find(b">", data.find(b"<", 60)) + 1
            )  # inside of the first element that is no declaration
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(data[:at])
                for _ in range(size // MB):
                    member.write(b"<a/> " * (MB // 5))
                member.write(data[at:])
    return buffer.getvalue()


# ------------------------------------------------------------------------------------------------------- defects


def cut(share: float) -> "Defect":
    return lambda kind, data, chance: data[: int(len(data) * share)]


def wrong_type(kind: str, data: bytes, chance: random.Random) -> bytes:
    return BASES[chance.choice([other for other in BASES if other != kind])]()


def locked(data: bytes) -> bytes:
    """The archive, each member of which says that it wants a password."""
    changed = bytearray(data)
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = data.find(mark)
        while at >= 0:
            changed[at + place] |= 1
            at = data.find(mark, at + 4)
    return bytes(changed)


def encrypted(kind: str, data: bytes, chance: random.Random) -> bytes:
    secret = chance.randbytes(8000)
    if kind == "pdf":
        key = chance.randbytes(32).hex()
        return pdf(
            more=f"/ID [<{key}> <{key}>] /Encrypt << /Filter /Standard /V 1 /R 2 /O <{key}> /U <{key}> /P -4 >>"
        )
    if kind in OFFICE:
        return ole([("EncryptionInfo", secret), ("EncryptedPackage", secret)])
    if kind in {"odt", "ods"}:
        coded = '<manifest:encryption-data manifest:checksum="x"/>'
        return opendocument(
            {"odt": "text", "ods": "spreadsheet"}[kind], text_of("x"), manifest=coded
        )
    if kind == "epub":
        return locked(data)
    if kind == "eml":
        return message(
            base64.encodebytes(secret).decode(),
            kind="application/pkcs7-mime; smime-type=enveloped-data",
        )
    if kind in OLE or kind in IMAGES:
        return data[:512] + secret
    return (
        b"-----BEGIN PGP MESSAGE-----\n\n"
        + base64.encodebytes(secret)
        + b"-----END PGP MESSAGE-----\n"
    )


def _shouting_jpg(data: bytes) -> bytes:
    at = data.find(b"\xff\xc0")
    return data[: at + 5] + struct.pack(">HH", 65_500, 65_500) + data[at + 9 :]


def _packed_mail(data: bytes) -> bytes:
    packed = base64.encodebytes(zipped({"a.txt": bytes(200 * MB)})).decode()
    body = f"--x\nContent-Type: application/zip\nContent-Transfer-Encoding: base64\n\n{packed}\n--x--"
    return message(body, kind="multipart/mixed; boundary=x")


def _aliases(data: bytes) -> bytes:
    lines = "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
    )
    return f"---\na0: &a0 [x]\n{lines}---\ntext".encode()


BOMBS: Mapping[str, Callable[[bytes], bytes]] = {
    "pdf": lambda data: pdf(packed=squeezed(1500 * MB, b"q Q 0 0 m\n")),
    "png": lambda data: png(60_000, 60_000, squeezed(450 * MB, b"\x00")),
    "jpg": _shouting_jpg,
    "tiff": lambda data: data.replace(
        struct.pack("<HHIHH", 256, 4, 1, 120, 0), struct.pack("<HHII", 256, 4, 1, 10**6)
    ),
    "eml": _packed_mail,
    "md": _aliases,
    "ics": lambda data: calendar(
        "DTSTART:00010101T000000Z\r\nRRULE:FREQ=SECONDLY;COUNT=999999999\r\n" * 50
    ),
    "json": lambda data: b"[" + b"[]," * 5_000_000 + b"[]]",
    "xls": lambda data: ole([("Book", biff(250, b"x" * 200) * 1)]),
    "msg": lambda data: ole(
        [("__properties_version1.0", bytes(512)), ("__substg1.0_10090102", _tnef())]
    ),
}


def _tnef() -> bytes:
    """Rich text as Outlook packs it, which says that it is 4 GB."""
    return struct.pack("<IIII", 0xFFFFFFF0, 0xFFFFFFF0, 0x75465A4C, 0) + b"\x00" * 4000


def bomb(kind: str, data: bytes, chance: random.Random) -> bytes:
    if kind in PARTS:
        return swollen(kind, 1000 * MB)
    return (
        BOMBS[kind](data)
        if kind in BOMBS
        else gzip.compress(bytes(200 * MB), 6, mtime=0)
    )


def _many_parts(data: bytes) -> bytes:
    return b"From: a@b\n" + b"".join(
        b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (n, n)
        for n in range(5000)
    )


def _boxes(data: bytes) -> bytes:
    for _ in range(50):
        data = zipped({"a.zip": data})
    return data


NESTED: Mapping[str, Callable[[bytes], bytes]] = {
    "pdf": lambda data: pdf(catalog="/X " + "[" * DEEP + "]" * DEEP),
    "docx": lambda data: part(
        "docx",
        f"<w:document {WORD_NS}><w:body>{'<w:tbl><w:tr><w:tc>' * DEEP}{'</w:tc></w:tr></w:tbl>' * DEEP}"
        "</w:body></w:document>",
    ),
    "pptx": lambda data: part(
        "pptx",
        f"<p:sld {SLIDE_NS}><p:cSld><p:spTree>{'<p:grpSp>' * DEEP}{'</p:grpSp>' * DEEP}</p:spTree></p:cSld></p:sld>",
    ),
    "xlsx": lambda data: part(
        "xlsx",
        f"<worksheet {SHEET_NS}><sheetData>{'<row>' * DEEP}{'</row>' * DEEP}</sheetData></worksheet>",
    ),
    "odt": lambda data: around(
        "odt", "<text:span>" * DEEP + "x" + "</text:span>" * DEEP
    ),
    "ods": lambda data: around(
        "ods", "<text:span>" * DEEP + "x" + "</text:span>" * DEEP
    ),
    "epub": lambda data: around("epub", "<div>" * DEEP + "x" + "</div>" * DEEP),
    "html": lambda data: around("html", "<div>" * DEEP + "x" + "</div>" * DEEP),
    "rtf": lambda data: rich("{" * DEEP + "x" + "}" * DEEP),
    "eml": _many_parts,
    "md": lambda data: b">" * DEEP + b" x\n" + b"- " * DEEP,
    "json": lambda data: b"[" * DEEP * 10,
    "ics": lambda data: b"BEGIN:VCALENDAR\r\n" + b"BEGIN:VEVENT\r\n" * DEEP,
}


def nested(kind: str, data: bytes, chance: random.Random) -> bytes:
    return NESTED.get(kind, _boxes)(data)


def long_line(kind: str, data: bytes, chance: random.Random) -> bytes:
    if kind in IMAGES:
        return data + b"x" * LONG
    return around(kind, "word" * (LONG // 4))


def bad_encoding(kind: str, data: bytes, chance: random.Random) -> bytes:
    mixed = b"\xff\xfeM\xe1laga \xc3\xa1 \xed\xa0\x80 \xf4\x90\x80\x80 \x81\x8d" * 20
    if kind in PARTS:
        main = unzipped(data)[PARTS[kind]]
        body = main.partition(b"?>")[2] or main
        return part(
            kind,
            b'<?xml version="1.0" encoding="utf-16"?>'
            + body.replace(b">", b">" + mixed, 5),
        )
    if kind == "html":
        return (
            page().replace(b"<head>", b"<head><meta charset='x-no-such-charset'>")
            + mixed
        )
    if kind == "eml":
        return message(kind="text/plain; charset=x-no-such-charset").replace(
            b"Journey", mixed
        )
    middle = len(data) // 2
    return data[:middle] + mixed + data[middle:]


def flipped(kind: str, data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(max(3, len(changed) // 200)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def nul_filled(kind: str, data: bytes, chance: random.Random) -> bytes:
    return data[:64] + bytes(len(data))


def repeated(kind: str, data: bytes, chance: random.Random) -> bytes:
    return data * max(2, min(500, 8 * MB // len(data)))


def huge_sizes(kind: str, data: bytes, chance: random.Random) -> bytes:
    most = b"\xfe\xff\xff\xff"
    if kind in {"xlsx", "ods"}:
        wide = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
        cells = (
            '<table:table-row table:number-rows-repeated="1048576">'
            '<table:table-cell table:number-columns-repeated="16384"><text:p>x</text:p></table:table-cell>'
            "</table:table-row>"
        )
        if kind == "ods":
            return opendocument("spreadsheet", sheet_of(cells))
        return part(
            kind,
            f'<worksheet {SHEET_NS}><dimension ref="A1:XFD1048576"/><sheetData>{wide}</sheetData></worksheet>',
        )
    if kind in PARTS:  # each member says that it is 4 GB
        changed = bytearray(data)
        at = data.find(b"PK\x01\x02")
        while at >= 0:
            changed[at + 20 : at + 28] = most * 2
            at = data.find(b"PK\x01\x02", at + 4)
        return bytes(changed)
    if kind in OLE:
        return ole([("Book", biff())], sectors=0xFFFFFFF0)
    edits: dict[str, Callable[[], bytes]] = {
        "pdf": lambda: data.replace(b"/Length ", b"/Length 99999999").replace(
            b"/Count 1", b"/Count 2147483647"
        ),
        "png": lambda: png(2**31 - 1, 2**31 - 1, b"x"),
        "jpg": lambda: data[:2] + b"\xff\xe1\xff\xff" + data[2:],
        "tiff": lambda: data[:4] + b"\xf0\xff\xff\xff" + data[8:],
        "rtf": lambda: rich("\\bin2147483647 x\\fs99999999999999999999 y"),
        "html": lambda: page(
            "<table><tr><td colspan=999999999 rowspan=999999999>x</td></tr></table>"
            * 50
        ),
        "eml": lambda: message(
            more="Content-Length: 99999999999999\n" + "X: y\n" * 100_000
        ),
        "csv": lambda: b"," * (4 * MB) + b"\n" + b"1,2\n" * 1000,
        "json": lambda: (
            b'[{"title": 1e999999, "create_time": ' + b"9" * 5000 + b', "mapping": {}}]'
        ),
        "ics": lambda: calendar(
            "DTSTART:99991231T235959Z\r\nDURATION:P99999999999D\r\nSUMMARY:x\r\n"
        ),
    }
    return edits.get(kind, lambda: b"9" * (2 * MB))()


def recursive(kind: str, data: bytes, chance: random.Random) -> bytes:
    if kind in OLE:  # each sector of the FAT comes after itself
        return ole(
            [("Book" if kind == "xls" else "__properties_version1.0", biff())],
            first_fat=[0, 1, 2, 3, 2],
        )
    if kind in PARTS:
        main = unzipped(data)[PARTS[kind]].decode()
        body = main.partition("?>")[2] if main.startswith("<?") else main
        at = body.find(">") + 1
        return part(kind, LAUGHS + body[:at] + "&a9;" + body[at:])
    edits: dict[str, Callable[[], bytes]] = {
        "pdf": partial(pdf, kids="2 0 R 2 0 R 3 0 R", catalog="/Outlines 1 0 R"),
        "png": lambda: png(
            10,
            10,
            zlib.compress(bytes(30)),
            (b"zTXt", b"a\x00\x00" + squeezed(200 * MB, b"x")),
        ),
        "tiff": lambda: (
            data[:4] + b"\x08\x00\x00\x00" + struct.pack("<HHHIII", 1, 330, 4, 1, 8, 8)
        ),
        "html": (LAUGHS + "<html><body>&a9;</body></html>").encode,
        "rtf": lambda: rich(
            "{\\*\\shppict{\\pict{\\object{\\field{\\fldinst}}}}}" * 20_000
        ),
        "eml": partial(_within, 300),
        "md": ("---\na: &a\n  b: *a\n---\n[[recursive]] ![[recursive]] " * 1000).encode,
        "ics": lambda: calendar(
            "DTSTART:20240101\r\nRELATED-TO:1\r\nRRULE:FREQ=DAILY\r\nRRULE:FREQ=YEARLY\r\n"
        ),
        "json": lambda: (
            b'[{"title":"x","current_node":"a","mapping":{"a":{"parent":"b"},"b":{"parent":"a"}}}]'
        ),
    }
    return edits.get(kind, lambda: data + data[::-1])()


def _within(depth: int) -> bytes:
    data = message()
    for _ in range(depth):
        data = message(kind="message/rfc822").replace((WORDS * 5).encode(), b"") + data
    return data


Defect = Callable[[str, bytes, random.Random], bytes]
DEFECTS: Mapping[str, Defect] = {
    "empty": lambda kind, data, chance: b"",
    "cut10": cut(0.10),
    "cut50": cut(0.50),
    "cut95": cut(0.95),
    "wrong_type": wrong_type,
    "encrypted": encrypted,
    "bomb": bomb,
    "nested": nested,
    "long_line": long_line,
    "bad_encoding": bad_encoding,
    "flipped": flipped,
    "header_only": lambda kind, data, chance: data[:16],
    "nul_filled": nul_filled,
    "repeated": repeated,
    "huge_sizes": huge_sizes,
    "recursive": recursive,
}


def main() -> None:
    """Write them all into a folder."""
    folder, *seed = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    for variant in variants(int(seed[0]) if seed else SEED):
        Path(folder, variant.name).write_bytes(variant.make())


if __name__ == "__main__":
    main()
