"""How well pages are read: text layers of PDFs, pictures in four rotations, accents in
Spanish and German.

    python bench/ocr.py [--data FOLDER] [--json]

Word recall: of the reference's words (letters and digits, without case), how many are
there, each as often as in the reference. Ordered: the longest sequence of words that
both have in the same order. Seconds are of one process.
"""

import argparse
import json
import os
import re
import resource
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pypdfium2
from PIL import Image
from rapidfuzz.distance import LCSseq

from reverie.ingest.documents import ocr, pdf, units

DATA = Path(
    os.environ.get("TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
TURNS = (0, 90, 180, 270)
# Two public-domain openings and what a test of accents needs; drawn with the Helvetica
# of the library that draws PDFs.
TEXTS = {
    "es": """En un lugar de la Mancha, de cuyo nombre no quiero acordarme, no ha mucho tiempo que vivía un hidalgo de
    los de lanza en astillero, adarga antigua, rocín flaco y galgo corredor. Una olla de algo más vaca que carnero,
    salpicón las más noches, duelos y quebrantos los sábados, lantejas los viernes, algún palomino de añadidura los
    domingos, consumían las tres partes de su hacienda. También soñó el niño con pingüinos: ¿qué pasó después? La
    cigüeña voló así hacia el sur, según decían los pájaros, y jamás volvió; él bebió café en Málaga el miércoles.""",
    "de": """Als Gregor Samsa eines Morgens aus unruhigen Träumen erwachte, fand er sich in seinem Bett zu einem
    ungeheueren Ungeziefer verwandelt. Er lag auf seinem panzerartig harten Rücken und sah, wenn er den Kopf ein wenig
    hob, seinen gewölbten, braunen, von bogenförmigen Versteifungen geteilten Bauch, auf dessen Höhe sich die
    Bettdecke, zum gänzlichen Niedergleiten bereit, kaum noch erhalten konnte. Größere Häuser, schöne Gärten und süße
    Äpfel säumten die Straße über dem Fluß; später kämen Öl, Käse, Brötchen und Übermut, natürlich auch Ärger.""",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One document read: recall and order of its words, CPU seconds a page, pages a
    second.
    """

    what: str
    recall: float
    ordered: float
    cpu: float
    speed: float


def words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def measured(
    what: str, reference: str, found: str, cpu: float, wall: float, pages: int = 1
) -> Row:
    want, have = words(reference), words(found)
    counted = Counter(have)
    recall = sum(
        min(count, counted[word]) for word, count in Counter(want).items()
    ) / len(want)
    return Row(
        what,
        recall,
        LCSseq.similarity(want, have) / len(want),
        cpu / pages,
        pages / max(wall, 1e-9),
    )


def seen(what: str, reference: str, image: Image.Image) -> Row:
    cpu, wall = time.process_time(), time.perf_counter()
    found = " ".join(ocr.text(image))
    return measured(
        what, reference, found, time.process_time() - cpu, time.perf_counter() - wall
    )


def drawn(text: str, size: int) -> Image.Image:
    """A page of A4 at 144 dpi with the text in Helvetica of `size` points."""
    lines, line = list[str](), ""
    for word in text.split():
        if len(line) + len(word) > 880 / size:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    content = "".join(
        f"BT /F {size} Tf 60 {780 - number * size * 1.4:.1f} Td ({line}) Tj ET\n"
        for number, line in enumerate([*lines, line])
    ).encode("cp1252")
    data = (
        b"%%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
        b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 5 0 R"
        b"/Resources<</Font<</F 4 0 R>>>>>>endobj\n"
        b"4 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>endobj\n"
        b"5 0 obj<</Length %d>>stream\n%s\nendstream endobj\ntrailer<</Root 1 0 R>>"
        % (len(content), content)
    )
    with pdf.opened(data) as document:
        page = document[0]
        try:
            return pdf.picture(page, 144)
        finally:
            page.close()


def layers(folder: Path) -> list[Row]:
    """The PDFs that have a reference text, by whatever way they are read."""
    rows: list[Row] = []
    for reference in sorted((folder / "groundtruth").glob("*.md")):
        data = (folder / "sources" / f"{reference.stem}.pdf").read_bytes()
        cpu, wall = time.process_time(), time.perf_counter()
        found = [
            each
            for each in pdf.read(units.DocumentSource(data, reference.stem))
            if isinstance(each, units.Unit)
        ]
        text = "\n".join(block.text for unit in found for block in unit.blocks)
        spent = time.process_time() - cpu, time.perf_counter() - wall
        rows.append(
            measured(
                reference.stem,
                reference.read_text(encoding="utf-8"),
                text,
                *spent,
                len(found),
            )
        )
    return rows


def scans(folder: Path) -> list[Row]:
    """The scanned page in each rotation it comes in, and a printed page with much text
    in four.
    """
    rows: list[Row] = []
    reference = (folder / "ocr/groundtruth/ocr_test.md").read_text(encoding="utf-8")
    for path in sorted((folder / "ocr/sources").glob("ocr_test*.pdf")):
        with pypdfium2.PdfDocument(path) as document:
            rows.append(seen(path.stem, reference, pdf.picture(document[0], 144)))
    with pypdfium2.PdfDocument(folder / "pdf/sources/multi_page.pdf") as document:
        layer = document[0].get_textpage().get_text_bounded()
        page = pdf.picture(document[0], 144)
    rows += [
        seen(f"printed page, turned {turn}", layer, page.rotate(turn, expand=True))
        for turn in TURNS
    ]
    return rows


def accents() -> list[Row]:
    return [
        seen(
            f"{language}, {size} points, turned {turn}",
            text,
            drawn(text, size).rotate(turn, expand=True),
        )
        for language, text in TEXTS.items()
        for size, turn in ((8, 0), (11, 0), (11, 180))
    ]


def show(title: str, rows: Sequence[Row]) -> None:
    print(f"\n{title:42} recall ordered  CPU s/page  pages/s")
    for row in rows:
        print(
            f"  {row.what:40} {row.recall:6.3f} {row.ordered:7.3f} {row.cpu:11.2f} {row.speed:8.2f}"
        )
    recall, ordered = (
        sum(figures) / len(rows)
        for figures in zip(*((r.recall, r.ordered) for r in rows), strict=True)
    )
    print(f"  {'mean':40} {recall:6.3f} {ordered:7.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Recall of words in PDFs and pictures."
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA / "formats-docling",
        help="the labelled documents",
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = {"accents": accents()}
    if options.data.is_dir():
        found = {
            "text layers": layers(options.data / "pdf"),
            "scans": scans(options.data),
            **found,
        }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if options.json:
        print(
            json.dumps(
                {
                    **{
                        name: [asdict(row) for row in rows]
                        for name, rows in found.items()
                    },
                    "peak_mb": peak,
                }
            )
        )
        return
    for name, rows in found.items():
        show(name, rows)
    print(f"\nlargest in memory: {peak} MB")


if __name__ == "__main__":
    main()
