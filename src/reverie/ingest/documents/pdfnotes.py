"""PDF annotations, form fields (AcroForm) and embedded files (PDF 32000)."""

import ctypes
import mimetypes
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import PurePosixPath
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from reverie.ingest.documents import pdftext, units

# Limits, set by hand.
MOST_ON_A_PAGE = 2_000
MOST_FILES = 200
LARGEST_FILE = 64 * 1024 * 1024
NOTES = (
    pdfium.FPDF_ANNOT_TEXT,
    pdfium.FPDF_ANNOT_FREETEXT,
    pdfium.FPDF_ANNOT_HIGHLIGHT,
    pdfium.FPDF_ANNOT_UNDERLINE,
    pdfium.FPDF_ANNOT_SQUIGGLY,
    pdfium.FPDF_ANNOT_STRIKEOUT,
    pdfium.FPDF_ANNOT_STAMP,
    pdfium.FPDF_ANNOT_CARET,
    pdfium.FPDF_ANNOT_INK,
    pdfium.FPDF_ANNOT_SQUARE,
    pdfium.FPDF_ANNOT_CIRCLE,
    pdfium.FPDF_ANNOT_LINE,
)
FIELDS = (
    pdfium.FPDF_FORMFIELD_TEXTFIELD,
    pdfium.FPDF_FORMFIELD_COMBOBOX,
    pdfium.FPDF_FORMFIELD_LISTBOX,
    pdfium.FPDF_FORMFIELD_CHECKBOX,
    pdfium.FPDF_FORMFIELD_RADIOBUTTON,
)
# A flag of a text field (PDF 32000-1, 12.7.4.3).
PASSWORD_FIELD = 1 << 13


def on_page(page: pypdfium2.PdfPage) -> Iterator[units.Block]:
    """Values of fields as "name: value", then nothing twice; and what people wrote onto
    the page.
    """
    seen: set[str] = set()
    count: int = pdfium.FPDFPage_GetAnnotCount(page.raw)
    for index in range(min(count, MOST_ON_A_PAGE)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            text = _text(annotation, page)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
        if text and text not in seen:
            seen.add(text)
            yield units.Block(text, "notes")


def _text(annotation: Any, page: pypdfium2.PdfPage) -> str:
    """The text of an annotation: the value of a field, or what was written."""
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    if kind == pdfium.FPDF_ANNOT_WIDGET:
        return _field(annotation, page.formenv.raw) if page.formenv else ""
    if kind in NOTES:
        return _string(
            partial(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
        )
    return ""


def _field(annotation: Any, form: Any) -> str:
    """A field that is filled in, with the name that people see or else its own."""
    if pdfium.FPDFAnnot_GetFormFieldType(form, annotation) not in FIELDS:
        return ""
    if pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation) & PASSWORD_FIELD:
        return ""
    value = _string(partial(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation))
    if value in ("", "Off"):
        return ""
    name = _string(
        partial(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    )
    if not name:
        name = _string(partial(pdfium.FPDFAnnot_GetFormFieldName, form, annotation))
    return f"{name}: {value}" if name else value


def _string(ask: Callable[[Any, int], int]) -> str:
    """pdfium's way to hand over a text: its length in bytes, then UTF-16 into a buffer
    of that length.
    """
    size = ask(None, 0)
    if not 2 < size <= 1 << 20:
        return ""
    buffer = ctypes.create_string_buffer(size)
    ask(ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    lines = buffer.raw[: size - 2].decode("utf-16-le", "replace").splitlines()
    return "\n".join(line for each in lines if (line := pdftext.clean(each)))


def files(document: pypdfium2.PdfDocument) -> Iterator[units.EmbeddedFile]:
    """Files inside the document; one that is broken or too large is left out."""
    for index in range(min(document.count_attachments(), MOST_FILES)):
        try:
            file = document.get_attachment(index)
            size = ctypes.c_ulong()
            pdfium.FPDFAttachment_GetFile(file, None, 0, size)
            if not 0 < size.value <= LARGEST_FILE:
                continue
            name = file.get_name()
            data = bytes(file.get_data())
        except pypdfium2.PdfiumError:
            continue
        name = _base_name(name) or f"attachment {index + 1}"
        mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
        yield units.EmbeddedFile(name, mime, data)


def _base_name(path: str) -> str:
    """The last part of a path, with slashes or backslashes."""
    return PurePosixPath(pdftext.clean(path).replace("\\", "/")).name
