"""The formats of documents, by the modules that read them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DocumentFormat:
    """A format that a module of `documents` reads: the module's name, and what people
    call such files.
    """

    reader: str
    called: str


PDF = DocumentFormat("pdf", "PDF documents")
IMAGE = DocumentFormat("images", "images")
WORD = DocumentFormat("word", "office documents")
SLIDES = DocumentFormat("slides", "office documents")
SHEETS = DocumentFormat("sheets", "spreadsheets")
OPEN = DocumentFormat("opendocument", "office documents")
OLD = DocumentFormat("legacy", "old office documents")
RTF = DocumentFormat("rtf", "RTF documents")
EPUB = DocumentFormat("epub", "books")
HTML = DocumentFormat("html", "web pages")
OUTLOOK = DocumentFormat("outlook", "Outlook .msg files")
SUBTITLES = DocumentFormat("subtitles", "subtitles")
TEXT = DocumentFormat("sourcetext", "texts")
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
    TEXT,
)
