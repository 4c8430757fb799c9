"""PDFs that tests make, byte by byte."""

from collections.abc import Sequence


def built(
    contents: Sequence[str],
    *,
    page: str = "",
    objects: Sequence[bytes] = (),
    catalog: str = "",
) -> bytes:
    """A PDF whose pages draw `contents` with Helvetica; `objects` are numbered from 10
    on.
    """
    numbers = [100 + 2 * index for index in range(len(contents))]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    bodies = {
        1: f"<</Type/Catalog/Pages 2 0 R {catalog}>>".encode(),
        2: f"<</Type/Pages/Kids[{kids}]/Count {len(contents)}>>".encode(),
        3: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>",
        4: b"<</Title(The lamp)/Author(A. Keeper)/CreationDate(D:20240203040506+02'00')>>",
        **{10 + index: body for index, body in enumerate(objects)},
    }
    for number, content in zip(numbers, contents, strict=True):
        stream = content.encode("cp1252")
        bodies[number] = (
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"
            f"/Contents {number + 1} 0 R {page}>>"
        ).encode()
        bodies[number + 1] = b"<</Length %d>>stream\n%s\nendstream" % (
            len(stream),
            stream,
        )
    out, places = b"%PDF-1.7\n", {}
    for number, body in sorted(bodies.items()):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(
        b"%d 1\n%010d 00000 n \n" % (number, place) for number, place in places.items()
    )
    end = b"trailer<</Size %d/Root 1 0 R/Info 4 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        max(bodies) + 1,
        len(out),
    )
    return out + b"xref\n0 1\n0000000000 65535 f \n" + table + end


def drawn(lines: Sequence[str], *, x: int = 60, y: int = 780, size: int = 11) -> str:
    return "".join(
        f"BT /F {size} Tf {x} {y - 14 * n} Td ({line}) Tj ET\n"
        for n, line in enumerate(lines)
    )
