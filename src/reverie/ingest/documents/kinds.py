"""The formats of documents, by the modules that read them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """A format that a module of `documents` reads: the module's name, and what people
    call such files.
    """

    reader: str
    called: str


PDF = Document("pdf", "PDF documents")
IMAGE = Document("images", "images")
WORD = Document("word", "office documents")
SLIDES = Document("slides", "office documents")
SHEETS = Document("sheets", "spreadsheets")
OPEN = Document("opendocument", "office documents")
OLD = Document("legacy", "old office documents")
RTF = Document("rtf", "RTF documents")
EPUB = Document("epub", "books")
HTML = Document("html", "web pages")
OUTLOOK = Document("outlook", "Outlook .msg files")
SUBTITLES = Document("subtitles", "subtitles")
DOCUMENTS = (
    PDF,
    IMAGE,
    WORD,
    SLIDES,
    SHEETS,
    OPEN,
    OLD,
    RTF,
    EPUB,
    HTML,
    OUTLOOK,
    SUBTITLES,
)
