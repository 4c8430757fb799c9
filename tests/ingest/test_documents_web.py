"""Pages, books, OpenDocument texts and slides, rich text and subtitles."""

import io
import zipfile

import pytest

from reverie import errors
from reverie.ingest.documents import epub, html, opendocument, rtf, subtitles, units

ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" '
    'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" '
    'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" '
    'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" '
    'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" '
    'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"'
)
LONG = "A sentence of the article that says something about ducks and lakes. " * 40


def zipped(**parts: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def read(reader, data: bytes) -> tuple[units.About, list[units.Unit]]:
    about, *rest = reader.read(units.DocumentSource(data, "a"))
    assert isinstance(about, units.About)
    return about, [one for one in rest if isinstance(one, units.Unit)]


def blocks(reader, data: bytes) -> list[tuple[str, str, int]]:
    return [
        (one.text, one.kind, one.level)
        for unit in read(reader, data)[1]
        for one in unit.blocks
    ]


def texts(reader, data: bytes) -> list[str]:
    return [text for text, _, _ in blocks(reader, data)]


class TestPage:
    def test_the_article_is_read_in_order_without_what_surrounds_it(self):
        page = f"""<html><head><title>Ducks</title><meta name="author" content="Ana">
          <meta property="article:published_time" content="2024-05-06T07:08:00Z"><script>no()</script></head><body>
          <header><a href="/">Home</a></header><nav><a href="/a">Elsewhere</a></nav>
          <div class="sidebar"><a href="/b">Related thing</a></div>
          <main><h1>Ducks</h1><p>{LONG}</p><table><tr><th>Year<th>Ducks<tr><td rowspan=2>2024<td>1<tr><td>2</table>
          <ol start="3"><li>three<li>four</ol><ul><li>dot</ul><pre>a  b
c</pre><p style="display:none">hidden</p><p>H<sub>2</sub>O<br>end</p></main><footer>Imprint</footer></body></html>"""
        about, _ = read(html, page.encode())
        assert about == units.About("Ducks", "Ana", "2024-05-06T07:08:00Z", "utf-8")
        assert blocks(html, page.encode()) == [
            ("Ducks", "heading", 1),
            (LONG.strip(), "text", 0),
            ("Year | Ducks", "header", 0),
            ("2024 | 1", "row", 0),
            ("2024 | 2", "row", 0),
            ("3. three", "text", 0),
            ("4. four", "text", 0),
            ("- dot", "text", 0),
            ("a b\nc", "text", 0),
            ("H2O end", "text", 0),
        ]

    def test_a_short_page_is_all_content(self):
        assert texts(
            html, b"<body><nav><a href=x>One</a></nav><ul role=menu><li>Two</ul></body>"
        ) == ["One", "- Two"]

    def test_text_that_only_looks_like_navigation_stays(self):
        page = f"<div class='menu'><p>{LONG}</p></div><p>{LONG}</p>"
        assert len(texts(html, page.encode())) == 2

    def test_of_a_page_of_links_the_article_is_chosen(self):
        links = "".join(
            f"<div><a href='/{n}'>Another story number {n} to look at</a></div>"
            for n in range(300)
        )
        page = f"<html><body><div>{links}</div><div><h1>Ducks</h1><p>{LONG}</p><p>{LONG}</p></div></body></html>"
        said = " ".join(texts(html, page.encode()))
        assert "about ducks and lakes" in said
        assert "Another story number 7 " not in said

    @pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16", "koi8-r"])
    def test_the_encoding_is_found(self, encoding: str):
        said = "Это русский текст" if encoding == "koi8-r" else "caf\u00e9 \u20ac"
        page = f"<html><head><meta charset='{encoding}'></head><body><p>{said}</p></body></html>"
        assert texts(html, page.encode(encoding)) == [said]

    def test_entities_of_its_own_mean_nothing(self):
        page = '<!DOCTYPE html [<!ENTITY a "boom"><!ENTITY b "&a;&a;">]><p>x &b; &amp; y</p>'
        assert "boomboom" not in " ".join(texts(html, page.encode()))

    def test_cells_say_what_covers_them_and_a_title_across_all_is_said_once(self):
        page = b"""<table><tr><td colspan=3>Ducks<tr><th>Year<th colspan=2>Seen
          <tr><td rowspan=2>2024<td>1<td>2<tr><td>3<td>4</table>"""
        assert texts(html, page) == [
            "Ducks",
            "Year | Seen | Seen",
            "2024 | 1 | 2",
            "2024 | 3 | 4",
        ]

    def test_cells_cannot_multiply_without_end(self):
        rows = "<tr>" + "<td rowspan=60 colspan=60>text" * 20 + "<tr><td>a" * 4000
        assert sum(map(len, texts(html, f"<table>{rows}</table>".encode()))) < 1_000_000

    @pytest.mark.parametrize("data", [b"", b"  ", b"<!-- x -->", bytes(range(32)) * 40])
    def test_what_is_no_page_is_refused(self, data: bytes):
        with pytest.raises(errors.Unreadable):
            read(html, data)


def book(**more: str) -> bytes:
    chapter = '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
    parts = {
        "META-INF/container.xml": '<container><rootfiles><rootfile full-path="O/b.opf"/></rootfiles></container>',
        "O/b.opf": '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>Poems</dc:title>'
        "<dc:creator>Ana</dc:creator><dc:date>1834-01-02</dc:date></metadata><manifest>"
        '<item id="two" href="t/2%20b.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="one" href="t/1.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/></manifest>'
        '<spine><itemref idref="nav"/><itemref idref="one"/><itemref idref="two"/></spine></package>',
        "O/nav.xhtml": chapter.format(
            '<nav><ol><li><a href="t/1.xhtml">Chapter I</a></li></ol></nav>'
        ),
        "O/t/1.xhtml": chapter.format("<h2>The First</h2><p>once</p>"),
        "O/t/2 b.xhtml": chapter.format(
            "<h2>The Second</h2><p>broken &nbsp; <b>upon</p>"
        ),
    }
    return zipped(**(parts | more))


class TestBook:
    def test_a_chapter_is_a_unit_in_the_order_of_reading(self):
        about, (one, two) = read(epub, book())
        assert about == units.About("Poems", "Ana", "1834-01-02")
        assert [block.text for block in one.blocks] == ["The First", "once"]
        assert [block.text for block in two.blocks] == ["The Second", "broken upon"]
        assert (one.place, two.place) == (
            {"section": "Chapter I"},
            {"section": "The Second"},
        )
        assert [unit.total for unit in (one, two)] == [2, 2]

    def test_copy_protection_is_named_and_scrambled_fonts_are_no_matter(self):
        for name, locked in (("O/t/1.xhtml", True), ("O/fonts/a.otf", False)):
            data = book(
                **{"META-INF/encryption.xml": f'<e><CipherReference URI="{name}"/></e>'}
            )
            if locked:
                with pytest.raises(errors.Locked):
                    read(epub, data)
            else:
                assert len(read(epub, data)[1]) == 2


def document(body: str, **more: str) -> bytes:
    content = f"<office:document-content {ODF}><office:body>{body}</office:body></office:document-content>"
    return zipped(**({"content.xml": content} | more))


class TestOpenDocument:
    def test_a_text_has_headings_lists_tables_and_notes(self):
        meta = (
            f"<office:document-meta {ODF}><office:meta><dc:title>Plan</dc:title>"
            "</office:meta></office:document-meta>"
        )
        data = document(
            "<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
            '<text:h text:outline-level="2">Head</text:h><text:p>a<text:s text:c="999999999"/>b'
            "<text:note><text:note-citation>1</text:note-citation>"
            "<text:note-body><text:p>said below</text:p></text:note-body></text:note></text:p>"
            "<text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>"
            "<table:table><table:table-row><table:table-cell><text:p>x"
            "</text:p></table:table-cell><table:table-cell><text:p>y</text:p></table:table-cell></table:table-row>"
            "</table:table><text:p>end</text:p></office:text>",
            **{"meta.xml": meta},
        )
        assert read(opendocument, data)[0].title == "Plan"
        assert blocks(opendocument, data) == [
            ("Head", "heading", 2),
            ("a b [1]", "text", 0),
            ("item", "text", 0),
            ("x | y", "row", 0),
            ("end", "text", 0),
            ("[1] said below", "text", 0),
        ]

    def test_a_presentation_has_slides_and_notes(self):
        page = (
            "<draw:page><draw:frame><draw:text-box><text:p>body</text:p></draw:text-box></draw:frame><draw:frame "
            'presentation:class="title"><draw:text-box><text:p>Title</text:p></draw:text-box></draw:frame>'
            "<presentation:notes><draw:frame><draw:text-box><text:p>say</text:p></draw:text-box></draw:frame>"
            "</presentation:notes></draw:page>"
        )
        data = document(f"<office:presentation>{page}{page}</office:presentation>")
        _, (one, two) = read(opendocument, data)
        assert [(block.text, block.kind) for block in one.blocks] == [
            ("Title", "heading"),
            ("body", "text"),
            ("say", "notes"),
        ]
        assert (one.place, two.place, two.total) == ({"slide": 1}, {"slide": 2}, 2)

    def test_an_encrypted_file_wants_its_password(self):
        with pytest.raises(errors.Locked):
            read(
                opendocument,
                document("", **{"META-INF/manifest.xml": "<m><encryption-data/></m>"}),
            )


class TestRichText:
    def test_paragraphs_letters_and_tables_are_read(self):
        data = (
            rb"{\rtf1\ansi\ansicpg1252{\info{\title Pl\'e4ne}{\creatim\yr2024\mo5\dy6}}{\fonttbl{\f0 Arial;}}"
            rb"Caf\'e9 \u8364?\par next\par\trowd\cellx1\cellx2 a\cell b\cell\row end\par}"
        )
        about, _ = read(rtf, data)
        assert (about.title, about.created, about.encoding) == (
            "Pl\u00e4ne",
            "2024-05-06",
            "cp1252",
        )
        assert blocks(rtf, data) == [
            ("Caf\u00e9 \u20ac", "text", 0),
            ("next", "text", 0),
            ("a | b", "row", 0),
            ("end", "text", 0),
        ]

    def test_another_alphabet_is_read(self):
        said = "\u041f\u0440\u0438\u0432\u0435\u0442"
        coded = "".join(f"\\'{byte:02x}" for byte in said.encode("cp1251"))
        assert texts(rtf, f"{{\\rtf1\\ansi\\ansicpg1251 {coded}\\par}}".encode()) == [
            said
        ]

    def test_what_is_no_rich_text_is_refused(self):
        with pytest.raises(errors.Unreadable, match="not a Rich Text"):
            read(rtf, b"hello")


class TestSubtitles:
    def test_each_cue_has_its_time_and_its_speaker(self):
        data = (
            b"WEBVTT\r\n\r\nNOTE nobody\r\n\r\nSTYLE\r\n::cue{}\r\n\r\nid\r\n"
            b"00:01:02.000 --> 00:01:03.000 align:left\r\n"
            b"<v Ana>Hi &amp; <i>bye</i>\r\nthere\r\n\r\n01:00:00.5 --> 01:00:01.0\r\n<v Bo>no</v> <v Cy>yes</v>\r\n"
        )
        _, (unit,) = read(subtitles, data)
        assert [(block.text, block.place) for block in unit.blocks] == [
            ("Ana: Hi & bye there", {"section": "00:01:02"}),
            ("Bo: no", {"section": "01:00:00"}),
            ("Cy: yes", {"section": "01:00:00"}),
        ]

    def test_subrip_is_read_in_any_encoding(self):
        data = "1\n00:00:01,000 --> 00:00:02,000\ncaf\u00e9\n\n2\n00:00:03,000 --> 00:00:04,000\n{\\an8}end\n"
        assert texts(subtitles, data.encode("cp1252")) == ["caf\u00e9", "end"]

    def test_what_has_no_times_is_refused(self):
        with pytest.raises(errors.Unreadable, match="not a subtitle"):
            read(subtitles, b"hello\n\nworld")
