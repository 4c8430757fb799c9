"""Identifiers among 10,000 other records that look almost like them: the right one is
first, words or meaning.
"""

import itertools
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio

from reverie import db, embedded
from reverie.access import callers, tokens, users
from reverie.llm import embedding
from reverie.records import (
    base,
    bookmarks,
    emails,
    ids,
    notes,
    preparing,
    record_types,
)
from reverie.search import query as queries
from reverie.search import search as searching

OTHERS = 10_000
UUID_TEXT = "5e1d9c40-7b2a-4f63-9a18-c04d7e82b6f1"
# What is asked, and the text of the record that holds it: inside a line, in brackets,
# before a full stop.
TARGETS = {
    "berta.llopis+casa@correo.example.org": "Para la reunión escribe a <berta.llopis+casa@correo.example.org>.",
    UUID_TEXT: f"The warranty of the boiler was registered (reference {UUID_TEXT}).",
    "INV-2024-0017": "I see that invoice INV-2024-0017 of 4 November was never paid.",
    "§3 Absatz 2": "Nach §3 Absatz 2 der Hausordnung ist das Klavier ab acht Uhr abends still.",
    "/home/berta/Documentos/casa/plano-2024_v3.pdf": "El plano está en /home/berta/Documentos/casa/plano-2024_v3.pdf.",
    "1.2.3": "Since version 1.2.3 the importer keeps the colours.",
    "404B": "Your key card opens room 404B, second floor.",
    "E-4417/2024-B": "Actenzeichen E-4417/2024-B: eingestellt.",
    "https://example.org/a/b?id=17&lang=es": "See https://example.org/a/b?id=17&lang=es for the form.",
    "user_name_17": "The column user_name_17 is never read.",
    "+34 600 123 457": "Her new number is +34 600 123 457.",
}
WORDS = [
    "the",
    "of",
    "invoice",
    "reference",
    "room",
    "version",
    "path",
    "paid",
    "never",
    "since",
    "keeps",
    "colours",
    "meeting",
    "with",
    "about",
    "tomorrow",
    "neighbour",
    "piso",
    "casa",
    "reunión",
    "factura",
    "para",
    "escribe",
    "cuando",
    "ventana",
    "calle",
    "mercado",
    "lunes",
    "agua",
    "luz",
    "ruido",
    "garantía",
    "caldera",
    "plano",
    "boiler",
    "warranty",
    "registered",
    "letter",
    "key",
    "card",
    "opens",
    "second",
    "floor",
    "Klavier",
    "Hausordnung",
    "abends",
    "still",
    "house",
    "rules",
    "piano",
]


def near_misses(random_: random.Random) -> Iterator[str]:
    """Without end: texts that hold something like what is asked for, never the thing
    itself.
    """
    addresses = (
        "berta.llopis@correo.example.org",
        "casa@correo.example.org",
        "berta.llopis+trabajo@correo.example.org",
    )
    legal = (
        "§3 Absatz 1",
        "§2 Absatz 2",
        "Absatz 2 des Vertrags, siehe §3",
        "§3 und Absatz 2",
        "§ 32",
        "§13 Absatz 2",
    )
    paths = (
        "/home/berta/Documentos/casa/plano-2024_v2.pdf",
        "/home/berta/Documentos/plano-2024_v3.pdf",
    )
    versions = ("1.2.4", "1.2", "2.1.3", "1.2.3.1", "11.2.3", "1, 2 and 3", "1.2.30")
    rooms = ("404", "404A", "B404", "404 B-side", "40B", "4040B")
    links = (
        "https://example.org/a/b?id=18&lang=es",
        "https://example.org/a/b?id=17",
        "example.org/a/b",
    )
    names = ("user_name_18", "user_name", "user name 17", "username_17")
    numbers = ("+34 600 123 458", "+34 600 321 457", "600 123", "34 457 600 123 4")
    files = ("E-4417/2024-A", "E-4471/2024-B", "E-4417/2023-B", "4417 2024 B")
    while True:
        number = random_.randrange(18, 9999)
        yield from (
            f"invoice INV-2024-{number:04d} of 17 November 2024",
            f"INV 2024 and {number}: 0017 stamps",
            f"INV-{random_.randrange(2000, 2024)}-0017",
            f"write to {random_.choice(addresses)}",
            f"reference {UUID(int=random_.getrandbits(128), version=4)}",
            f"reference {UUID_TEXT[:-4]}{random_.randrange(0x1000, 0xB6F0):04x}",
            f"nach {random_.choice(legal)}",
            f"está en {random_.choice(paths)}",
            f"version {random_.choice(versions)}",
            f"room {random_.choice(rooms)}",
            f"see {random_.choice(links)}",
            f"column {random_.choice(names)}",
            f"number {random_.choice(numbers)}",
            f"Aktenzeichen {random_.choice(files)}",
        )


@pytest.fixture(scope="module")
def crowded(cluster: embedded.EmbeddedServer, template: str) -> Iterator[str]:
    """The name of the database of this module."""
    maintenance = cluster.place.url(embedded.OWNER_ROLE, database="postgres")
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE crowded TEMPLATE {template}".encode())
    yield "crowded"
    with psycopg.connect(maintenance, autocommit=True) as connection:
        connection.execute("DROP DATABASE crowded WITH (FORCE)")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def crowd(
    cluster: embedded.EmbeddedServer, crowded: str
) -> AsyncIterator[tuple[db.Database, callers.Caller]]:
    """The records asked for, among 10,000 others of three domains."""
    pool = db.Database(cluster.place.url(embedded.APP_ROLE, database=crowded))
    await pool.open()
    user = await users.create(pool, name="owner", timezone="Europe/Madrid")
    caller = await tokens.caller(
        pool, await tokens.mint(pool, user.user_id, name="owner")
    )
    random_ = random.Random(17)
    misses = near_misses(random_)
    rows: list[tuple[record_types.Domain, dict[str, object]]] = []
    for i in range(OTHERS):
        text = f"{' '.join(random_.choices(WORDS, k=8))} {next(misses)} {' '.join(random_.choices(WORDS, k=4))}"
        # Every tenth has the near miss in its title, where it weighs most.
        title = next(misses) if i % 10 == 0 else " ".join(random_.choices(WORDS, k=3))
        rows.append(_record(i, title, text))
    for i, text in enumerate(TARGETS.values()):
        rows.insert(random_.randrange(len(rows)), _record(i, f"asked {i}", text))
    for start in range(0, len(rows), 500):
        async with pool.transaction(caller) as tx:
            new = [
                preparing.prepared_now(caller, domain, values, ids.new())
                for domain, values in rows[start : start + 500]
            ]
            for _, same in itertools.groupby(sorted(new, key=_domain), key=_domain):
                await base.insert_all(tx, caller, list(same))
    yield pool, caller
    await pool.close()


def _domain(new: record_types.PreparedRecord[Any]) -> str:
    return new.domain.name


def _record(
    number: int, title: str, text: str
) -> tuple[record_types.Domain, dict[str, object]]:
    if number % 3 == 0:
        return emails.EMAILS, {
            "subject": title,
            "body_text": text,
            "from": "someone@example.com",
        }
    if number % 3 == 1:
        return bookmarks.BOOKMARKS, {
            "url": f"https://example.com/{number}",
            "title": title,
            "excerpt": text,
        }
    return notes.NOTES, {"title": title, "content": text}


@pytest.mark.parametrize("asked", TARGETS)
@pytest.mark.parametrize("form", ["{}", '"{}"', "({}).", "¿{}?"])
async def test_an_identifier_is_first_among_ten_thousand(
    crowd: tuple[db.Database, callers.Caller],
    words_alone: embedding.Embeddings,
    asked: str,
    form: str,
) -> None:
    database, caller = crowd
    query = queries.Query(text=form.format(asked))
    results = await searching.search(database, caller, words_alone, query)
    assert results.hits[0].title == f"asked {list(TARGETS).index(asked)}", [
        hit.title for hit in results.hits[:3]
    ]


@pytest.mark.parametrize(
    "asked",
    [
        "inv-2024-0017",
        "ＩＮＶ－２０２４－００１７",
        UUID_TEXT.upper(),
        "404b",
        "§3  ABSATZ 2",
    ],
)
async def test_in_any_case_and_width(
    crowd: tuple[db.Database, callers.Caller],
    words_alone: embedding.Embeddings,
    asked: str,
) -> None:
    database, caller = crowd
    results = await searching.search(
        database, caller, words_alone, queries.Query(text=asked)
    )
    assert results.hits[0].title.startswith("asked")


@pytest.mark.parametrize(
    "asked",
    [
        "what about invoice INV-2024-0017 in November",
        "who lives in room 404B",
        "was sagt §3 Absatz 2 zum Klavier",
    ],
)
async def test_inside_a_sentence(
    crowd: tuple[db.Database, callers.Caller],
    words_alone: embedding.Embeddings,
    asked: str,
) -> None:
    database, caller = crowd
    results = await searching.search(
        database, caller, words_alone, queries.Query(text=asked)
    )
    assert results.hits[0].title.startswith("asked")


async def test_meaning_does_not_push_an_identifier_down(
    crowd: tuple[db.Database, callers.Caller], embeddings: embedding.Embeddings
) -> None:
    """With the embedder there and no vectors yet, as in the first minutes after an
    import.
    """
    database, caller = crowd
    results = await searching.search(
        database, caller, embeddings, queries.Query(text="INV-2024-0017")
    )
    assert results.hits[0].title == f"asked {list(TARGETS).index('INV-2024-0017')}"
    assert results.signals["semantic"] == "ok"
    assert results.hits[0].fused.bonuses["exact"] > 0
    assert ["exact" in hit.fused.bonuses for hit in results.hits].count(True) == 1
