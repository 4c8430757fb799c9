"""The peers: the same texts, vectors and questions in LanceDB, SQLite (FTS5 and
sqlite-vec), tantivy and usearch.

Each is set up as its own documentation does, with its defaults for the size. None is a
dependency of the product.
"""

import importlib
import importlib.metadata
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.llm import embedding
from speed import corpus, home

DEPTH = 50
_CHUNK = 20_000
_K = 60
PACKAGES = {
    "lancedb": "0.40.0",
    "pysqlite3-binary": "0.5.4.post2",
    "sqlite-vec": "0.1.9",
    "tantivy": "0.27.0",
    "usearch": "2.26.6",
}
# SQLite compares with every vector: at a million that is a second a question.
SLOW = frozenset({"sqlite"})


@dataclass(frozen=True, slots=True)
class Peer:
    """A system that answers a question with rows, best first; `meant` by the vector
    alone, where it has one.
    """

    name: str
    what: str
    ask: Callable[[corpus.Question], list[int]]
    meant: Callable[[corpus.Question], list[int]] | None
    size: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Some passages of the corpus: the row of the first, their texts, their vectors."""

    row: int
    texts: list[str]
    vectors: embedding.Vectors


def missing() -> list[str]:
    """The packages that are not installed, as pip takes them."""
    there = {one.name.lower() for one in importlib.metadata.distributions()}
    return [
        f"{name}=={version}" for name, version in PACKAGES.items() if name not in there
    ]


def opened(
    kept: home.Kept, folder: Path, *, index: str, only: Sequence[str] = ()
) -> list[Peer]:
    """All peers with the corpus in them; what is there already is not made again."""
    makers = {
        "lancedb": _lancedb,
        "sqlite": _sqlite,
        "tantivy": _tantivy,
        "usearch": _usearch,
    }
    found: list[Peer] = []
    for name, maker in makers.items():
        if only and name not in only:
            continue
        began = time.perf_counter()
        place = folder / "peers" / (f"{name}-{index}" if name == "lancedb" else name)
        ready = place / "ready"
        if not ready.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
        pieces = _pieces(kept) if not ready.exists() else iter(())
        ask, meant, what = maker(place, pieces, index)
        ready.touch()
        size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        found.append(Peer(name, what, ask, meant, size))
        home.tell(
            f"{name}: ready after {time.perf_counter() - began:.1f} s, {size / 2**20:.0f} MB"
        )
    return found


_Asks = tuple[
    Callable[[corpus.Question], list[int]],
    Callable[[corpus.Question], list[int]] | None,
    str,
]


def _pieces(kept: home.Kept) -> Iterator[Piece]:
    """The corpus, some 20,000 passages at a time."""
    row, texts = 0, list[str]()
    for record in kept.plan.all():
        texts += record.pieces
        if len(texts) >= _CHUNK:
            yield Piece(
                row, texts, kept.known.vectors[row : row + len(texts)].astype("float32")
            )
            row, texts = row + len(texts), []
    if texts:
        yield Piece(
            row, texts, kept.known.vectors[row : row + len(texts)].astype("float32")
        )


def _lancedb(place: Path, pieces: Iterator[Piece], index: str) -> _Asks:
    os.environ.setdefault(
        "LANCEDB_LOG", "error"
    )  # its warnings would be part of its time
    lancedb, pa = importlib.import_module("lancedb"), importlib.import_module("pyarrow")
    rerankers = importlib.import_module("lancedb.rerankers")
    connection = lancedb.connect(str(place / "db"))
    made: Any = None
    for piece in pieces:
        flat = pa.array(piece.vectors.ravel())
        vectors = pa.FixedSizeListArray.from_arrays(flat, corpus.DIMENSIONS)
        rows = pa.array(range(piece.row, piece.row + len(piece.texts)), pa.int64())
        data = pa.table({"row": rows, "text": piece.texts, "vector": vectors})
        if made is None:
            made = connection.create_table("passage", data)
        else:
            made.add(data)
    if made is not None:
        made.create_index(
            metric="cosine", vector_column_name="vector", index_type=index
        )
        made.create_fts_index("text", use_tantivy=False)
        made.optimize()
    table = connection.open_table("passage")
    reranker = rerankers.RRFReranker()

    def ask(question: corpus.Question) -> list[int]:
        asked = (
            table.search(query_type="hybrid")
            .vector(question.vector)
            .text(question.text)
            .distance_type("cosine")
        )
        return [
            one["row"]
            for one in asked.rerank(reranker)
            .select(["row", "text"])
            .limit(DEPTH)
            .to_list()
        ]

    def meant(question: corpus.Question) -> list[int]:
        asked = (
            table.search(question.vector)
            .distance_type("cosine")
            .select(["row", "_distance"])
            .limit(DEPTH)
        )
        return [one["row"] for one in asked.to_list()]

    return ask, meant, f"hybrid: {index}, FTS, RRF, top {DEPTH}"


def _sqlite(place: Path, pieces: Iterator[Piece], _: str) -> _Asks:
    sqlite_vec = importlib.import_module("sqlite_vec")
    # Python's own sqlite3 is often built without extensions.
    connection = importlib.import_module("pysqlite3").connect(
        str(place / "passage.sqlite")
    )
    connection.enable_load_extension(True)
    sqlite_vec.load(connection)
    for piece in pieces:
        if piece.row == 0:
            connection.execute("CREATE VIRTUAL TABLE word USING fts5(text)")
            connection.execute(
                "CREATE VIRTUAL TABLE meaning USING vec0(vector float[384] distance_metric=cosine)"
            )
        rows = range(piece.row + 1, piece.row + 1 + len(piece.texts))
        connection.executemany(
            "INSERT INTO word (rowid, text) VALUES (?, ?)",
            zip(rows, piece.texts, strict=True),
        )
        vectors = zip(rows, (one.tobytes() for one in piece.vectors), strict=True)
        connection.executemany(
            "INSERT INTO meaning (rowid, vector) VALUES (?, ?)", vectors
        )
        connection.commit()

    def meant(question: corpus.Question) -> list[int]:
        statement = (
            "SELECT rowid FROM meaning WHERE vector MATCH ? AND k = ? ORDER BY distance"
        )
        return [
            row - 1
            for (row,) in connection.execute(
                statement, (question.vector.tobytes(), DEPTH)
            )
        ]

    def ask(question: corpus.Question) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in question.text.split())
        statement = "SELECT rowid FROM word WHERE word MATCH ? ORDER BY rank LIMIT ?"
        said = [row - 1 for (row,) in connection.execute(statement, (words, DEPTH))]
        return _fused(said, meant(question))

    return ask, meant, f"FTS5, sqlite-vec (exact), RRF, top {DEPTH}"


def _tantivy(place: Path, pieces: Iterator[Piece], _: str) -> _Asks:
    tantivy = importlib.import_module("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("text", stored=False)
    builder.add_integer_field("row", stored=True, fast=True)
    index = tantivy.Index(builder.build(), path=str(place))
    writer: Any = None
    for piece in pieces:
        writer = writer or index.writer(heap_size=256_000_000)
        for row, text in enumerate(piece.texts, piece.row):
            document = tantivy.Document()
            document.add_text("text", text)
            document.add_integer("row", row)
            writer.add_document(document)
    if writer:
        writer.commit()
        writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(question: corpus.Question) -> list[int]:
        # The addresses alone, as engines are compared: the documents are not read.
        return [
            address.doc
            for _, address in searcher.search(
                index.parse_query(question.text, ["text"]), DEPTH
            ).hits
        ]

    return ask, None, f"BM25, top {DEPTH}"


def _usearch(place: Path, pieces: Iterator[Piece], _: str) -> _Asks:
    usearch, numpy = (
        importlib.import_module("usearch.index"),
        importlib.import_module("numpy"),
    )
    index = usearch.Index(ndim=corpus.DIMENSIONS, metric="cos", dtype="f16")
    file, made = place / "hnsw.usearch", False
    for piece in pieces:
        made = True
        index.add(numpy.arange(piece.row, piece.row + len(piece.texts)), piece.vectors)
    if made:
        index.save(str(file))
    else:
        index.load(str(file))

    def ask(question: corpus.Question) -> list[int]:
        return index.search(question.vector, DEPTH).keys.tolist()

    return ask, ask, f"HNSW f16, top {DEPTH}"


def _fused(*rankings: Sequence[int]) -> list[int]:
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, 1):
            scores[row] = scores.get(row, 0.0) + 1 / (_K + rank)
    return sorted(scores, key=lambda row: -scores[row])[:DEPTH]
