"""Outlook's messages and the Office files of 97 to 2003, made byte by byte: compound
files of storages and streams.
"""

import datetime as dt
import struct
from typing import Any

import pytest

from reverie import errors
from reverie.ingest.documents import (
    legacy,
    outlook,
    richtext,
    sheets,
    slides,
    units,
    word,
)

END, FREE, NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFF
Tree = dict[str, "bytes | Tree"]


def compound(tree: Tree) -> bytes:
    """A compound file. Streams are filled up with NUL to 4,096 bytes: shorter ones lie
    elsewhere.
    """
    entries: list[list] = [
        ["Root Entry", 5, NONE, NONE, END, 0]
    ]  # name, type, right, child, sector, size
    sectors: list[bytes] = []
    fat: list[int] = []

    def stream(data: bytes) -> int:
        start = len(sectors)
        count = -(-len(data) // 512)
        sectors.extend(
            data[at * 512 : at * 512 + 512].ljust(512, b"\0") for at in range(count)
        )
        fat.extend([*range(start + 1, start + count), END])
        return start

    def add(parent: int, inside: Tree) -> None:
        before = None
        for name, what in inside.items():
            at = len(entries)
            data = b"" if isinstance(what, dict) else what.ljust(4096, b"\0")
            entries.append(
                [name, 1 if isinstance(what, dict) else 2, NONE, NONE, END, len(data)]
            )
            if data:
                entries[at][4] = stream(data)
            if before is None:
                entries[parent][3] = at
            else:
                entries[before][2] = at
            before = at
            if isinstance(what, dict):
                add(at, what)

    add(0, tree)
    directory = b""
    for name, kind, right, child, sector, size in entries:
        wide = name.encode("utf-16-le")
        directory += wide.ljust(64, b"\0") + struct.pack(
            "<HBBIII", len(wide) + 2, kind, 1, NONE, right, child
        )
        directory += bytes(36) + struct.pack("<IQ", sector, size)
    first = stream(directory)
    needed = -(-(len(fat) + 8) // 128)
    table = [*fat, *[0xFFFFFFFD] * needed]
    table += [FREE] * (needed * 128 - len(table))
    at = len(sectors)
    head = (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + bytes(16)
        + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
        + bytes(6)
    )
    head += struct.pack("<IIIIIIIII", 0, needed, first, 0, 4096, END, 0, END, 0)
    head += struct.pack(
        "<109I", *[at + n for n in range(needed)], *[FREE] * (109 - needed)
    )
    return head + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


def texts(reader, data: bytes) -> list[str]:
    read = reader.read(units.DocumentSource(data, "a"))
    return [
        block.text
        for unit in read
        if isinstance(unit, units.Unit)
        for block in unit.blocks
    ]


def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


def properties(skip: int, **values: bytes) -> bytes:
    entries = (
        struct.pack("<HHI", 0, int(tag[1:], 16), 0) + value.ljust(8, b"\0")
        for tag, value in values.items()
    )
    return bytes(skip) + b"".join(entries)


SENT = int(
    (
        dt.datetime(2024, 5, 6, 7, 8, tzinfo=dt.UTC)
        - dt.datetime(1601, 1, 1, tzinfo=dt.UTC)
    ).total_seconds()
)
FIXED = properties(
    32,
    t0039=(SENT * 10_000_000).to_bytes(8, "little"),
    t3FFD=(1252).to_bytes(4, "little"),
)


def letter(**more: "bytes | Tree") -> bytes:
    tree: Tree = {
        "__properties_version1.0": FIXED,
        "__substg1.0_0037001F": wide("Tea"),
        "__substg1.0_0C1A001F": wide("Ana"),
        "__substg1.0_5D01001F": wide("ana@example.org"),
        "__substg1.0_0E04001E": "Jos\u00e9".encode("cp1252"),
    }
    return compound(tree | more)


class TestOutlook:
    def test_a_message_has_headers_a_body_and_attachments(self):
        file: bytes | Tree = {
            "__substg1.0_3707001F": wide("plan.txt"),
            "__substg1.0_37010102": b"x" * 5000,
        }
        data = letter(
            **{
                "__substg1.0_1000001F": wide("Hello\r\nJos\u00e9\r\n\r\nBye"),
                "__attach_version1.0_#00000000": file,
            }
        )
        about, unit, attachment = list(
            outlook.read(units.DocumentSource(data, "a.msg"))
        )
        assert about == units.About(
            "Tea", "Ana <ana@example.org>", "2024-05-06T07:08:00+00:00", "cp1252"
        )
        assert isinstance(unit, units.Unit)
        assert [block.text for block in unit.blocks] == [
            "Tea",
            "From: Ana <ana@example.org>",
            "To: Jos\u00e9",
            "Date: 2024-05-06 07:08:00+00:00",
            "Hello\nJos\u00e9",
            "Bye",
        ]
        assert attachment == units.EmbeddedFile("plan.txt", "", b"x" * 5000)

    def test_a_body_in_html_alone_is_read(self):
        page = b"<html><body><h1>Big</h1><p>small</p></body></html>"
        assert texts(outlook, letter(**{"__substg1.0_10130102": page}))[-2:] == [
            "Big",
            "small",
        ]

    def test_a_body_in_compressed_rich_text_alone_is_read(self):
        plain = b"{\\rtf1\\ansi kept as it is\\par}"
        stored = (
            struct.pack("<IIII", len(plain) + 12, len(plain), 0x414C454D, 0) + plain
        )
        assert (
            texts(outlook, letter(**{"__substg1.0_10090102": stored}))[-1]
            == "kept as it is"
        )

    def test_rich_text_repeats_what_it_has_just_written(self):
        # one letter, then a reference to it that overlaps itself: ten times "a"
        told = b"\x02" + b"a" + struct.pack(">H", 207 << 4 | 7)
        assert (
            richtext.unpacked(struct.pack("<IIII", 0, 10, 0x75465A4C, 0) + told)
            == b"a" * 10
        )

    def test_rich_text_that_claims_gigabytes_is_refused(self):
        with pytest.raises(errors.Unreadable, match="unpacks to more than"):
            richtext.unpacked(struct.pack("<IIII", 0, 1 << 31, 0x75465A4C, 0))

    def test_a_message_in_the_message_is_part_of_its_text(self):
        inner: Any = {
            "__properties_version1.0": properties(24),
            "__substg1.0_0037001F": wide("Inner"),
            "__substg1.0_1000001F": wide("words within"),
        }
        data = letter(
            **{"__attach_version1.0_#00000000": {"__substg1.0_3701000D": inner}}
        )
        assert texts(outlook, data)[-2:] == ["Inner", "words within"]


def old_word(flags: int = 0) -> bytes:
    """A heading, a paragraph with a link, and a table of one row, in one piece of
    cp1252.
    """
    parts = [
        "Title\r",
        "See \x13 HYPERLINK x \x14here\x15.\r",
        "A\x07",
        "caf\u00e9\x07",
        "\x07",
    ]
    text = "".join(parts).encode("cp1252")
    bounds = [0x800]
    for part in parts:
        bounds.append(bounds[-1] + len(part))
    styles = [
        b"\x02" + struct.pack("<H", 1) + b"\0",
        b"\x02" + struct.pack("<H", 0) + b"\0",
        *[b"\x03" + struct.pack("<HHB", 0, 0x2416, 1)] * 2,
        b"\x00\x04" + struct.pack("<HHBHB", 0, 0x2416, 1, 0x2417, 1),
    ]
    page = bytearray(512)
    struct.pack_into("<6I", page, 0, *bounds)
    for number, style in enumerate(styles):
        at = 200 + 16 * number
        page[24 + 13 * number] = at // 2
        page[at : at + len(style)] = style
    page[511] = len(styles)
    fib = bytearray(0x800)
    struct.pack_into("<HH", fib, 0, 0xA5EC, 0xC1)
    struct.pack_into("<H", fib, 0x0A, flags)
    struct.pack_into("<I", fib, 0x4C, len(text))
    fib[0x600:0x800] = page
    pieces = b"\x02" + struct.pack("<I", 16) + struct.pack("<II", 0, len(text))
    pieces += struct.pack("<HIH", 0, 0x40000000 | 0x800 * 2, 0)
    paragraphs = struct.pack("<III", bounds[0], bounds[-1], 3)
    struct.pack_into("<II", fib, 0x1A2, 0, len(pieces))
    struct.pack_into("<II", fib, 0x102, len(pieces), len(paragraphs))
    return compound({"WordDocument": bytes(fib) + text, "0Table": pieces + paragraphs})


def record(kind: int, inside: bytes, instance: int = 0, holds: bool = False) -> bytes:
    return (
        struct.pack("<HHI", instance << 4 | (0xF if holds else 0), kind, len(inside))
        + inside
    )


def old_slides() -> bytes:
    """Two slides: one whose texts stand in the list and in a shape, one without a
    shape; notes to the first.
    """

    def persist(at: int, identity: int) -> bytes:
        return record(0x03F3, struct.pack("<IIII", at, 0, 0, identity) + bytes(4))

    def text(kind: int, said: str) -> bytes:
        return record(0x0F9F, struct.pack("<I", kind)) + record(0x0FA0, wide(said))

    listed = (
        persist(2, 256)
        + text(1, "body one\rbody two")
        + text(0, "Caf\u00e9")
        + persist(9, 257)
        + text(0, "Two")
    )
    lists = record(0x0FF0, listed, 0, True) + record(0x0FF0, persist(3, 7), 2, True)
    shapes = (
        record(0x0F9E, struct.pack("<I", 0))
        + record(0x0F9E, struct.pack("<I", 1))
        + text(4, "loose")
    )
    parts = [
        record(0x03E8, lists, holds=True),
        record(0x03EE, record(0x040C, shapes, holds=True), holds=True),
        record(
            0x03F0,
            record(0x03F1, struct.pack("<II", 256, 0)) + text(2, "say this"),
            holds=True,
        ),
    ]
    offsets = [0, len(parts[0]), len(parts[0]) + len(parts[1])]
    directory = record(0x1772, struct.pack("<I3I", 3 << 20 | 1, *offsets))
    return compound({"PowerPoint Document": b"".join(parts) + directory})


class TestOlderOffice:
    def test_word_has_headings_fields_and_rows(self):
        (unit,) = [
            one
            for one in legacy.read(units.DocumentSource(old_word(), "a.doc"))
            if isinstance(one, units.Unit)
        ]
        assert [(block.text, block.kind, block.level) for block in unit.blocks] == [
            ("Title", "heading", 1),
            ("See here.", "text", 0),
            ("A | caf\u00e9", "row", 0),
        ]

    def test_slides_take_their_texts_from_shapes_and_from_the_list(self):
        one, two = [
            one
            for one in legacy.read(units.DocumentSource(old_slides(), "a.ppt"))
            if isinstance(one, units.Unit)
        ]
        assert [(block.text, block.kind) for block in one.blocks] == [
            ("Caf\u00e9", "heading"),
            ("body one", "text"),
            ("body two", "text"),
            ("loose", "text"),
            ("say this", "notes"),
        ]
        assert [block.text for block in two.blocks] == ["Two"]
        assert (one.place, two.place, two.total) == ({"slide": 1}, {"slide": 2}, 2)

    def test_encrypted_files_want_their_password(self):
        locked = compound({"EncryptionInfo": b"", "EncryptedPackage": b"x" * 100})
        for reader in (word, slides, sheets, legacy):
            with pytest.raises(errors.Unreadable) as caught:
                texts(reader, locked)
            assert isinstance(caught.value, errors.Locked), reader
        with pytest.raises(errors.Locked):
            texts(legacy, old_word(flags=0x0100))
        with pytest.raises(errors.Locked):
            texts(
                legacy,
                compound({"PowerPoint Document": b"x", "EncryptedSummary": b"x"}),
            )

    @pytest.mark.parametrize("make", [old_word, old_slides, letter])
    def test_cut_and_broken_files_raise_nothing_else(self, make):
        data = make()
        for size in range(0, len(data), 397):
            for changed in (
                data[:size],
                data[:size] + b"\xff" * 40 + data[size + 40 :],
            ):
                for reader in (legacy, outlook):
                    try:
                        texts(reader, changed)
                    except errors.Unreadable as error:
                        assert error.message  # noqa: PT017 -- reading what is left is fine as well

    def test_a_compound_file_of_something_else_says_so(self):
        data = compound({"Something": b"x"})
        for reader, reason in (
            (outlook, "not an Outlook"),
            (legacy, "neither"),
            (word, "older Office"),
        ):
            with pytest.raises(errors.Unreadable, match=reason):
                texts(reader, data)
