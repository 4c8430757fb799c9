"""The home a run measures: every corpus a user of it, imported by the product once,
each text embedded once.
"""

import contextlib
import hashlib
import json
import shutil
import sqlite3
import sys
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import psycopg
from numpy.typing import NDArray

from reverie import app, config, embedded
from reverie.access import callers, users
from reverie.ingest import importer, ingest_file, scan
from reverie.ingest.sandbox import pool
from reverie.llm import embedding
from reverie.pipeline import progress
from reverie.records import base, bulk, catalogue
from sets import shapes
from sets.shapes import Corpus

_BATCH = 50
_LASTS_S = 6 * 24 * 3600
_INDEXED_BY = ("records", "ingest", "pipeline", "providers", "migrations")
_VECTORS = """
SELECT passage.record_id, passage.place, embedding.vector::text AS vector
FROM passage JOIN embedding
    ON embedding.user_id = passage.user_id AND embedding.hash = passage.hash AND embedding.model = %s
WHERE passage.user_id = %s ORDER BY passage.record_id, passage.ordinal
"""


class Remembered(embedding.Embeddings):
    """The product's embedder with a memory of what it embedded: the same vectors,
    sooner.
    """

    def __init__(self, settings: config.Embedding, *, cache: Path, file: Path) -> None:
        super().__init__(settings, cache=cache)
        self._file = sqlite3.connect(file)
        self._file.execute(
            "CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, value BLOB NOT NULL)"
        )
        self.made = 0

    async def passages(
        self,
        texts: Sequence[str],
        model: str | None = None,
        *,
        origin: embedding.Origin | None = None,
    ) -> embedding.Vectors:
        if model not in (None, self.model):
            return await super().passages(texts, model)
        keys = [self._key("passage", text) for text in texts]
        known = {key: value for key in keys if (value := self._get(key)) is not None}
        new = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in known
        }
        if new:
            vectors = await super().passages(list(new.values()))
            self.made += len(new)
            known |= dict(zip(new, vectors, strict=True))
            self._put({key: known[key] for key in new})
        return np.stack([known[key] for key in keys])

    async def query(
        self,
        text: str,
        model: str | None = None,
        *,
        measured: embedding.Calibration | None = None,
        origin: embedding.Origin | None = None,
    ) -> embedding.QueryVector:
        if model not in (None, self.model):
            return await super().query(text, model, measured=measured)
        key = self._key("query", text)
        value = self._get(key)
        if value is None:
            found = await super().query(text, measured=measured)
            self._put({key: np.asarray(found.values, dtype=np.float32)})
            return found
        return embedding.QueryVector(
            self.model, value.tolist(), self.calibrated(self.model, measured)
        )

    def close(self) -> None:
        super().close()
        self._file.close()

    def _key(self, kind: str, text: str) -> bytes:
        return hashlib.sha256(f"{self.model}\0{kind}\0{text}".encode()).digest()

    def _get(self, key: bytes) -> NDArray[np.float32] | None:
        row = self._file.execute(
            "SELECT value FROM vector WHERE key = ?", (key,)
        ).fetchone()
        return np.frombuffer(row[0], dtype=np.float32) if row else None

    def _put(self, vectors: Mapping[bytes, NDArray[np.float32]]) -> None:
        rows = [
            (key, np.asarray(value, dtype=np.float32).tobytes())
            for key, value in vectors.items()
        ]
        self._file.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?)", rows)
        self._file.commit()


@dataclass(frozen=True, slots=True)
class Held:
    """A corpus as a user keeps it: which unit, or for a chat which conversation, each
    record is.
    """

    caller: callers.Caller
    records: Mapping[UUID, str]
    units: Mapping[str, tuple[str, str]]

    def unit(self, record_id: UUID, place: Mapping[str, Any]) -> str:
        """The unit that a passage belongs to, or "" for none."""
        name = self.records.get(record_id, "")
        return f"{name}/{place['turn']}" if "turn" in place else name


class Home:
    """A Reverie home with its manifest: who keeps which corpus."""

    def __init__(self, life: app.App, embeddings: Remembered, manifest: Path) -> None:
        self.life = life
        self.embeddings = embeddings
        self._manifest = manifest

    async def hold(self, corpus: Corpus) -> Held:
        """The corpus as a user keeps it: imported and embedded now, unless it is there
        already.
        """
        kept = json.loads(self._manifest.read_text("utf-8"))
        if corpus.key not in kept["corpora"]:
            began = time.perf_counter()
            user = await users.create(
                self.life.database, name=f"{corpus.name} {corpus.key}", timezone="UTC"
            )
            records = await _imported(self.life, _caller(user.user_id), corpus)
            tell(
                f"{corpus.name}: {len(records)} records imported in {time.perf_counter() - began:.1f} s"
            )
            kept["corpora"][corpus.key] = {
                "user": str(user.user_id),
                "records": {
                    str(record_id): unit for record_id, unit in records.items()
                },
            }
            self._manifest.write_text(json.dumps(kept), "utf-8")
        entry = kept["corpora"][corpus.key]
        caller = _caller(UUID(entry["user"]))
        await self._derive(caller, corpus.name)
        records = {
            UUID(record_id): unit for record_id, unit in entry["records"].items()
        }
        units = corpus.units() or await _texts(self.life, caller, records)
        return Held(caller, records, units)

    async def vectors(self, held: Held) -> tuple[list[str], NDArray[np.float32]]:
        """Every vector that the product keeps of the corpus, and the unit that it
        belongs to.
        """
        async with self.life.database.transaction(held.caller) as tx:
            rows = await tx.rows(_VECTORS, (self.embeddings.model, held.caller.user_id))
        units = [held.unit(row["record_id"], row["place"]) for row in rows]
        found = [
            np.asarray(json.loads(row["vector"]), dtype=np.float32) for row in rows
        ]
        return units, np.stack(found)

    async def _derive(self, caller: callers.Caller, name: str) -> None:
        """Let the product's own worker catch up, and let PostgreSQL count, as
        autovacuum does within minutes.
        """
        began, before, said = time.perf_counter(), self.embeddings.made, 0.0
        state = progress.Progress(0, 0, "")
        async for state in progress.follow(self.life.database, self.embeddings, caller):
            if state.trouble:
                tell(f"{name}: {state.trouble}")
            elif time.perf_counter() - said > 5 and state.vectors < state.texts:
                tell(f"{name}: {state.vectors} of {state.texts} texts have a vector")
                said = time.perf_counter()
        if state.vectors < state.texts:
            raise SystemExit(
                f"{name}: {state.texts - state.vectors} texts have no vector: {state.trouble}"
            )
        made = self.embeddings.made - before
        tell(
            f"{name}: ready, {made} texts embedded in {time.perf_counter() - began:.1f} s"
        )
        if self.life.server:
            with psycopg.connect(
                self.life.server.owner_url, autocommit=True
            ) as connection:
                connection.execute("ANALYZE")


@contextlib.asynccontextmanager
async def opened(folder: Path) -> AsyncGenerator[Home]:
    """The home in a folder, fresh unless what was imported there was indexed by this
    very code, and lately.

    After a week records go cold, and search would show others.
    """
    place, manifest, shape = (
        folder / "life",
        folder / "life" / "bench.json",
        shapes.of_code(_INDEXED_BY),
    )
    embedded.make_home(folder)
    known = json.loads(manifest.read_text("utf-8")) if manifest.exists() else None
    if known and (
        known["shape"] != shape or time.time() - known.get("made", 0) > _LASTS_S
    ):
        tell(
            "the code that indexes has changed, or a week has passed: importing again (vectors are remembered)"
        )
        embedded.acquire(
            place
        ).release()  # stops a server that a killed run left behind
        shutil.rmtree(place)
    embedded.make_home(place)
    if not manifest.exists():
        manifest.write_text(
            json.dumps({"shape": shape, "made": time.time(), "corpora": {}}), "utf-8"
        )
    settings = config.load({"REVERIE_HOME": str(place)})
    async with app.opened(settings) as life:
        embeddings = Remembered(
            settings.embedding, cache=place / "cache", file=folder / "vectors.sqlite"
        )
        try:
            yield Home(life, embeddings, manifest)
        finally:
            embeddings.close()


def tell(line: str) -> None:
    """Progress, beside the table."""
    print(line, file=sys.stderr, flush=True)


def _caller(user_id: UUID) -> callers.Caller:
    return callers.Caller(user_id, "user", "bench", frozenset({"*:*"}))


async def _imported(
    life: app.App, caller: callers.Caller, corpus: Corpus
) -> dict[UUID, str]:
    """The records made, each with its unit (a chat: its conversation)."""
    made: dict[UUID, str] = {}
    note, chat = catalogue.domain("note"), catalogue.domain("chat")
    for start in range(0, len(corpus.notes), _BATCH):
        async with life.database.transaction(caller) as tx:
            for one in corpus.notes[start : start + _BATCH]:
                record = await base.create(
                    tx, caller, note, {"title": one.title, "content": one.text}
                )
                made[record.id] = one.unit
        if start and start % 1000 == 0:
            tell(f"{corpus.name}: {start} of {len(corpus.notes)} notes")
    for one in corpus.chats:
        turns = [
            {"id": turn.id, "speaker": turn.speaker, "at": turn.at, "text": turn.text}
            for turn in one.turns
        ]
        async with life.database.transaction(caller) as tx:
            values = {"title": one.title, "started": one.started, "turns": turns}
            record = await base.create(tx, caller, chat, values)
            made[record.id] = one.conversation
    if corpus.folder:
        files = list(scan.find([corpus.folder]))
        async with pool.WorkerPool() as reading:
            desk = ingest_file.Context(life.database, caller, life.blobs, reading)
            await importer.run(desk, files, progress=lambda number, file: None)
        for domain in catalogue.DOMAINS.values():
            async for _, found in bulk.walk(life.database, caller, domain):
                made |= {
                    record.id: str(record.custom["imported_from"]) for record in found
                }
    return made


async def _texts(
    life: app.App, caller: callers.Caller, records: Mapping[UUID, str]
) -> dict[str, tuple[str, str]]:
    """The texts of what was imported from files, as the records hold them."""
    found: dict[str, tuple[str, str]] = {}
    for domain in catalogue.DOMAINS.values():
        async for _, some in bulk.walk(life.database, caller, domain):
            for record in some:
                text = domain.text(record)
                parts = [
                    text.title,
                    *(section.text for section in text.sections),
                    text.keywords,
                    *text.tags,
                ]
                found[records[record.id]] = (
                    "\n".join(part for part in parts if part),
                    "en",
                )
    return found
