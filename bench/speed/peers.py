"""The peers: the same texts, vectors and questions in LanceDB, SQLite (FTS5 and
sqlite-vec), tantivy and usearch.

Each is set up as its own documentation does, with its defaults for the size ("as
shipped"), and asked a second time so that its vectors are found as surely as ours: with
the quickest of some settings that finds `ENOUGH` of the exact nearest. None is a
dependency of the product.
"""

import importlib
import importlib.metadata
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reverie.llm import embedding
from speed import corpus, home, measure

ENOUGH = 0.95
AS_SHIPPED = " as shipped"
_TUNED_ON = 40
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

Setting = tuple[int, ...]
"""How far a peer looks: nothing is what it does unasked."""
Rows = Callable[[corpus.Question], list[int]]

# Partitions that are looked at, and how many times the wanted are compared exactly.
_LANCE_SETTINGS: Sequence[Setting] = [
    (probes, refine) for probes in (20, 32, 64, 128) for refine in (5, 10, 20, 40, 60)
]
# expansion_search
_USEARCH_SETTINGS: Sequence[Setting] = [
    (one,) for one in (64, 96, 128, 192, 256, 384, 512, 768, 1024)
]


@dataclass(frozen=True, slots=True)
class Peer:
    """A system that answers a question with rows, best first; `meant` by the vector
    alone, where it has one.
    """

    name: str
    what: str
    ask: Rows
    meant: Rows | None
    size: int


@dataclass(frozen=True, slots=True)
class Engine:
    """A peer with the corpus in it: how it is asked with a setting, and the settings
    that may be tried.
    """

    what: str
    ask: Callable[[Setting], Rows]
    meant: Callable[[Setting], Rows] | None = None
    settings: Sequence[Setting] = ()
    names: Sequence[str] = ()

    def peer(self, name: str, setting: Setting, size: int) -> Peer:
        """The peer with a setting."""
        told = "".join(
            f", {key} {value}" for key, value in zip(self.names, setting, strict=False)
        )
        meant = self.meant(setting) if self.meant else None
        return Peer(name, self.what + told, self.ask(setting), meant, size)


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
    kept: home.Kept,
    folder: Path,
    questions: Sequence[corpus.Question],
    *,
    index: str,
    only: Sequence[str] = (),
) -> list[Peer]:
    """All peers with the corpus in them, as shipped and at equal recall; what is there
    already is not made again.
    """
    exact = measure.exact(kept, questions[:_TUNED_ON], DEPTH)
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
        engine = maker(place, pieces, index)
        ready.touch()
        size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
        home.tell(
            f"{name}: ready after {time.perf_counter() - began:.1f} s, {size / 2**20:.0f} MB"
        )
        found.append(
            engine.peer(name, _tuned(name, engine, questions[:_TUNED_ON], exact), size)
        )
        if engine.settings:
            found.append(engine.peer(name + AS_SHIPPED, (), size))
    return found


def _tuned(
    name: str,
    engine: Engine,
    questions: Sequence[corpus.Question],
    exact: NDArray[np.int64],
) -> Setting:
    """The quickest setting that finds enough of the nearest; where none does, the one
    that finds most.
    """
    if engine.meant is None or not engine.settings:
        return ()
    tried: list[tuple[float, float, Setting]] = []
    for setting in engine.settings:
        meant = engine.meant(setting)
        meant(questions[0])
        taken: list[float] = []
        rows: list[list[int]] = []
        for question in questions:
            began = time.perf_counter()
            rows.append(meant(question))
            taken.append(1000 * (time.perf_counter() - began))
        recall, median = measure.share(exact, rows), statistics.median(taken)
        home.tell(f"{name} {setting}: recall {recall}, {median:.1f} ms")
        tried.append((recall, median, setting))
    enough = [one for one in tried if one[0] >= ENOUGH]
    if enough:
        return min(enough, key=lambda one: one[1])[2]
    return max(tried)[2]


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


def _lancedb(place: Path, pieces: Iterator[Piece], index: str) -> Engine:
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

    def far(asked: Any, setting: Setting) -> Any:
        if not setting:
            return asked
        probes, refine = setting
        return asked.nprobes(probes).refine_factor(refine)

    def ask(setting: Setting) -> Rows:
        def rows(question: corpus.Question) -> list[int]:
            asked = table.search(query_type="hybrid").vector(question.vector)
            asked = far(asked.text(question.text).distance_type("cosine"), setting)
            asked = asked.rerank(reranker).select(["row", "text"]).limit(DEPTH)
            return [one["row"] for one in asked.to_list()]

        return rows

    def meant(setting: Setting) -> Rows:
        def rows(question: corpus.Question) -> list[int]:
            asked = far(table.search(question.vector).distance_type("cosine"), setting)
            asked = asked.select(["row", "_distance"]).limit(DEPTH)
            return [one["row"] for one in asked.to_list()]

        return rows

    what = f"hybrid: {index}, FTS, RRF, top {DEPTH}"
    return Engine(what, ask, meant, _LANCE_SETTINGS, ("nprobes", "refine"))


def _sqlite(place: Path, pieces: Iterator[Piece], _: str) -> Engine:
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

    what = f"FTS5, sqlite-vec (exact), RRF, top {DEPTH}"
    return Engine(what, lambda _: ask, lambda _: meant)


def _tantivy(place: Path, pieces: Iterator[Piece], _: str) -> Engine:
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

    return Engine(f"BM25, top {DEPTH}", lambda _: ask)


def _usearch(place: Path, pieces: Iterator[Piece], _: str) -> Engine:
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

    shipped = index.expansion_search

    def ask(setting: Setting) -> Rows:
        def rows(question: corpus.Question) -> list[int]:
            index.expansion_search = setting[0] if setting else shipped
            return index.search(question.vector, DEPTH).keys.tolist()

        return rows

    what = f"HNSW f16, top {DEPTH}"
    return Engine(what, ask, ask, _USEARCH_SETTINGS, ("expansion",))


def _fused(*rankings: Sequence[int]) -> list[int]:
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking, 1):
            scores[row] = scores.get(row, 0.0) + 1 / (_K + rank)
    return sorted(scores, key=lambda row: -scores[row])[:DEPTH]
