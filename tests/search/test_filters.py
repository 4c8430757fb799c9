"""Filters by person, category and file: what each domain is narrowed by, in both modes
and through every door.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

import reverie.sample
from reverie import db, embedded
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import progress
from reverie.records import (
    base,
    bookmarks,
    chats,
    contacts,
    emails,
    events,
    files,
    notes,
    passages,
    record_types,
    tasks,
    transactions,
)
from reverie.search import advanced, results, search
from reverie.search import query as queries
from tests.cli.conftest import Home, make_home
from tests.search.given import Given
from tests.web.test_records import ROOT

SAMPLE = Path(reverie.sample.__file__).parent
NOW = datetime(2026, 9, 16, 10, 0, tzinfo=UTC)
WIDE = 2_500

# Everything speaks of a xylophone: what is left is what the filter lets through.
LIFE: tuple[tuple[record_types.Domain[Any], dict[str, Any]], ...] = (
    (
        contacts.CONTACTS,
        {"display_name": "José García", "emails": ["pepe@example.org"], "notes": "plays the xylophone"},
    ),
    (
        contacts.CONTACTS,
        {"display_name": "100% Music", "emails": ["a_b@example.net"], "notes": "sells xylophone"},
    ),
    (contacts.CONTACTS, {"display_name": "Axb Ltd", "emails": ["axb@example.net"], "notes": "sells xylophone"}),
    (
        events.EVENTS,
        {
            "title": "Concert of xylophone",
            "start": "2026-05-03T10:00:00+02:00",
            "calendar": "Música",
            "attendees": [{"name": "Jose Garcia", "email": "pepe@example.org"}, {"email": "lucia@example.org"}],
        },
    ),
    (
        emails.EMAILS,
        {
            "subject": "Sent: xylophone",
            "from": "José García <pepe@example.org>",
            "to": ["me@example.org"],
            "folder": "INBOX",
            "body_text": "The xylophone is tuned.",
            "date": "2026-09-15T09:00:00Z",
        },
    ),
    (
        emails.EMAILS,
        {
            "subject": "Got: xylophone",
            "from": "me@example.org",
            "to": ["Lucía Pérez <lucia@example.org>"],
            "cc": ["Otto Weiß <otto@example.com>"],
            "folder": "Archive/2026",
            "body_text": "The xylophone is broken.",
            "date": "2026-09-15T10:00:00Z",
        },
    ),
    (
        chats.CHATS,
        {
            "title": "Chat of the xylophone",
            "started": "2026-09-15T11:00:00Z",
            "turns": [
                {"id": "1", "speaker": "Otto Weiß", "text": "Have you seen my xylophone?"},
                {"id": "2", "speaker": "Ana", "text": "Under the piano."},
            ],
        },
    ),
    (
        transactions.TRANSACTIONS,
        {"date": "2026-05-01", "amount": "-50", "counterparty": "Instrumentos García S.L.", "text": "xylophone"},
    ),
    (tasks.TASKS, {"title": "Tune the xylophone", "board": "Música"}),
    (tasks.TASKS, {"title": "Sell the xylophone"}),
    (files.FILES, {"name": "xylophone.pdf", "mime": "application/pdf", "size": 1, "category": "Manuals"}),
    (
        bookmarks.BOOKMARKS,
        {"url": "https://example.org/x", "title": "Xylophone link", "folder": "música", "tags": ["wood"]},
    ),
    (
        notes.NOTES,
        {
            "title": "Xylophone",
            "content": "Of wood.",
            "tags": ["wood"],
            "custom": {"imported_from": "Vault/Música/x.md"},
        },
    ),
    (
        notes.NOTES,
        {"title": "Glockenspiel", "content": "No xylophone.", "custom": {"imported_from": "vault/100%_sure.md"}},
    ),
)  # fmt: skip
GARCIA = {
    "José García",
    "Concert of xylophone",
    "Sent: xylophone",
    "Instrumentos García S.L.",
}
MUSIC = {"Concert of xylophone", "Tune the xylophone", "Xylophone link"}
CASES: tuple[tuple[dict[str, Any], set[str]], ...] = (
    ({"person": "garcia"}, GARCIA),
    ({"person": "GARCÍA"}, GARCIA),
    ({"person": "José"}, GARCIA - {"Instrumentos García S.L."}),
    ({"person": "pepe@example.org"}, GARCIA - {"Instrumentos García S.L."}),
    (
        {"person": "Lucia"},
        {"Concert of xylophone", "Got: xylophone"},
    ),  # attendee by address, to
    ({"person": "otto@example.com"}, {"Got: xylophone"}),  # cc
    ({"person": "weiss"}, {"Got: xylophone", "Chat of the xylophone"}),
    ({"person": "instrumentos"}, {"Instrumentos García S.L."}),
    ({"person": "%"}, {"100% Music"}),
    ({"person": "_"}, {"100% Music"}),
    ({"person": "a_b@"}, {"100% Music"}),
    ({"person": "a%b"}, set()),
    ({"person": "\\"}, set()),
    ({"person": "nobody at all"}, set()),
    ({"category": "musica"}, MUSIC),
    ({"category": "MÚSICA"}, MUSIC),
    ({"category": "inbox"}, {"Sent: xylophone"}),
    ({"category": "Archive/2026"}, {"Got: xylophone"}),
    ({"category": "Archive"}, set()),  # a category is named whole
    (
        {"category": "Tasks"},
        {"Sell the xylophone"},
    ),  # the board that tasks have by themselves
    ({"category": "manuals"}, {"xylophone.pdf"}),
    ({"category": "m%"}, set()),
    ({"category": "m_sica"}, set()),
    ({"file": "vault"}, {"Xylophone", "Glockenspiel"}),
    ({"file": "musica/x"}, {"Xylophone"}),
    ({"file": "0%_s"}, {"Glockenspiel"}),
    ({"file": "vault/%"}, set()),
    ({"file": "vault_"}, set()),
    ({"person": "garcia", "category": "música"}, {"Concert of xylophone"}),
    (
        {"person": "garcia", "domains": ("email", "contact")},
        {"José García", "Sent: xylophone"},
    ),
    (
        {"person": "garcia", "first": date(2026, 5, 2), "last": date(2026, 5, 3)},
        {"Concert of xylophone"},
    ),
    ({"file": "vault", "tag": "wood"}, {"Xylophone"}),
    ({"person": "garcia", "file": "vault"}, set()),
)


class Life:
    """Records of every domain that a filter speaks of, without vectors."""

    def __init__(
        self,
        database: db.Database,
        caller: callers.Caller,
        embeddings: embedding.Embeddings,
    ) -> None:
        self.database, self.caller, self.embeddings = database, caller, embeddings

    async def search(self, text: str = "xylophone", **filters: Any) -> results.Results:
        query = queries.Query(text=text, limit=50, now=NOW, **filters)
        return await search.search(self.database, self.caller, self.embeddings, query)

    async def by_sliders(
        self, text: str = "xylophone", **filters: Any
    ) -> results.Results:
        query = queries.Query(text=text, limit=50, now=NOW, **filters)
        return await search.by_sliders(
            self.database, self.caller, self.embeddings, query, advanced.Sliders()
        )


def titles(found: results.Results) -> set[str]:
    return {hit.title for hit in found.hits}


async def keep(
    database: db.Database,
    caller: callers.Caller,
    *given: tuple[record_types.Domain[Any], dict[str, Any]],
) -> None:
    async with database.transaction(caller) as tx:
        for domain, values in given:
            await base.create(tx, caller, domain, values)


@pytest_asyncio.fixture
async def life(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> Life:
    await keep(database, owner, *LIFE)
    return Life(database, owner, words_alone)


# --- What is narrowed by what ---------------------------------------------------------------------------------


async def test_every_filter_lets_through_what_it_names_in_both_modes(
    life: Life,
) -> None:
    assert len(titles(await life.search())) == len(LIFE)
    for filters, expected in CASES:
        for found in (await life.search(**filters), await life.by_sliders(**filters)):
            assert titles(found) == expected, filters
            if not expected:
                assert found.reason.startswith(
                    "Nothing in this scope holds these words"
                ), filters


async def test_a_filter_narrows_meaning_too(
    database: db.Database, owner: callers.Caller
) -> None:
    embeddings = Given({"wooden": 0.9})
    for name in ("Ana", "Berta"):
        mail = {
            "subject": f"wooden {name}",
            "from": f"{name} <{name}@example.org>",
            "body_text": "wooden bars, tuned",
        }
        await keep(database, owner, (emails.EMAILS, mail))
    async for state in progress.follow(database, embeddings, owner):
        assert not state.trouble
    life = Life(database, owner, embeddings)
    assert titles(await life.search("percussion")) == {"wooden Ana", "wooden Berta"}
    for found in (
        await life.search("percussion", person="berta"),
        await life.by_sliders("percussion", person="BERTA"),
    ):
        assert titles(found) == {"wooden Berta"}
        assert set(found.hits[0].fused.evidence) >= {"semantic"}
    assert titles(await life.search("percussion", person="Carla")) == set()
    embeddings.close()


async def test_a_filter_holds_where_only_a_time_is_asked_for(life: Life) -> None:
    asked = "what did we talk about yesterday?"
    assert titles(await life.search(asked)) == {
        "Sent: xylophone",
        "Got: xylophone",
        "Chat of the xylophone",
    }
    assert titles(await life.search(asked, person="garcia")) == {"Sent: xylophone"}
    assert titles(await life.search(asked, person="weiß")) == {
        "Got: xylophone",
        "Chat of the xylophone",
    }
    assert titles(await life.search(asked, category="inbox")) == {"Sent: xylophone"}
    assert titles(await life.search(asked, file="vault")) == set()
    assert titles(await life.search(asked, person="nobody")) == set()
    assert titles(await life.search(asked, tier="hot")) == set()


async def test_a_filter_holds_where_a_session_is_asked_for(life: Life) -> None:
    later = {
        "title": "Later chat",
        "started": "2026-09-15T12:00:00Z",
        "turns": [{"id": "1", "speaker": "Berta", "text": "The xylophone is found."}],
    }
    await keep(life.database, life.caller, (chats.CHATS, later))
    asked = "what did we say in our first session?"
    assert titles(await life.search(asked)) == {"Chat of the xylophone"}
    assert titles(await life.search(asked, person="Berta")) == {"Later chat"}


async def test_a_later_session_is_asked_what_was_said_in_it(life: Life) -> None:
    """The session is counted among all chats, also where words are searched in it."""
    for day in (15, 20):
        chat = {
            "title": f"Chat of the {day}th",
            "started": f"2026-09-{day}T12:00:00Z",
            "turns": [{"id": "1", "speaker": "Berta", "text": "The roof leaks again."}],
        }
        await keep(life.database, life.caller, (chats.CHATS, chat))
    question = "what did we say about the roof in our {} session?"
    found = titles(await life.search(question.format("second")))
    assert found == {"Chat of the 15th"}
    found = titles(await life.search(question.format("third")))
    assert found == {"Chat of the 20th"}


async def test_who_took_part_follows_a_change_at_once(life: Life) -> None:
    mail = next(
        hit for hit in (await life.search()).hits if hit.title == "Sent: xylophone"
    )
    async with life.database.transaction(life.caller) as tx:
        change = {"from": "Zoë <zoe@example.org>", "folder": "Spam"}
        await base.update(tx, life.caller, emails.EMAILS, mail.record_id, change)
    assert titles(await life.search(person="zoe")) == {"Sent: xylophone"}
    assert "Sent: xylophone" not in titles(await life.search(person="garcia"))
    assert titles(await life.search(category="spam")) == {"Sent: xylophone"}
    assert titles(await life.search(category="inbox")) == set()


# --- A wide scope ---------------------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def wide(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> Life:
    """2,500 notes of which one says `q17` once, and 300 bookmarks that say nothing
    else.
    """
    await keep(
        database,
        owner,
        *(
            (notes.NOTES, {"content": f"number {number}, " + "of no use " * 3})
            for number in range(WIDE)
        ),
        (
            notes.NOTES,
            {
                "title": "the one",
                "content": "Between other things of every kind, somewhere, a q17 too.",
            },
        ),
        *(
            (
                bookmarks.BOOKMARKS,
                {"url": f"https://example.org/{number}", "title": "q17 q17"},
            )
            for number in range(300)
        ),
    )
    return Life(database, owner, words_alone)


async def test_a_scope_too_wide_to_be_read_is_searched_deep_enough(wide: Life) -> None:
    """What is out of the scope fills the best hundred of the lists, before and after
    they are packed.
    """
    assert "the one" not in titles(await wide.search("q17"))
    for _ in range(2):
        for found in (
            await wide.search("q17", domains=("note",)),
            await wide.by_sliders("q17", domains=("note",)),
        ):
            assert titles(found) == {"the one"}
        narrow = {"domains": ("note",), "first": date(2020, 1, 1)}
        assert titles(await wide.search("q17", **narrow)) <= {"the one"}
        packed = True
        while packed:
            async with wide.database.transaction(wide.caller) as tx:
                packed = await passages.pack(tx, wide.caller)
    async with wide.database.transaction(wide.caller) as tx:
        assert await tx.value("SELECT sum(size) FROM segment") > WIDE


# --- Through the other doors ----------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def filled(api: httpx.AsyncClient) -> AsyncIterator[httpx.AsyncClient]:
    for domain, values in LIFE:
        response = await api.post(f"{ROOT}/{domain.plural}", json=values)
        assert response.status_code == 201, response.text
    yield api


async def test_over_http(filled: httpx.AsyncClient) -> None:
    for path in ("search", "search/advanced"):
        for filters, expected in (
            ({"person": "garcia"}, GARCIA),
            ({"category": "musica"}, MUSIC),
            ({"file": "vault"}, {"Xylophone", "Glockenspiel"}),
            ({"person": "%"}, {"100% Music"}),
            ({"person": "garcia", "domain": "email"}, {"Sent: xylophone"}),
            ({"person": "nobody"}, set[str]()),
        ):
            response = await filled.get(
                f"{ROOT}/{path}", params={"q": "xylophone", "limit": "50", **filters}
            )
            assert response.status_code == 200, response.text
            answer = response.json()
            assert {one["title"] for one in answer["results"]} == expected, (
                path,
                filters,
            )
            assert answer["reason"].startswith("Nothing in this scope") == (
                not expected
            )
        origin = (
            await filled.get(
                f"{ROOT}/{path}", params={"q": "xylophone", "file": "musica"}
            )
        ).json()["results"]
        assert [one["origin"] for one in origin] == ["Vault/Música/x.md"]


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    """A home that holds the sample life's mail and a part of its vault, with its server
    up.
    """
    made = make_home()
    server = embedded.acquire(made.path)
    given = made.given
    shutil.copytree(SAMPLE / "vault", given / "vault")
    shutil.copy(SAMPLE / "mail.mbox", given)
    made.run("import", given)
    yield made
    server.release()
    made.end()


def test_on_the_command_line(home: Home) -> None:
    everything = home.json("search", "Marta", "--limit", "50")["results"]
    assert {one["domain"] for one in everything} > {"email"}
    mails = home.json(
        "search", "the", "invoice", "--person", "pritchard", "--limit", "50"
    )["results"]
    assert mails
    assert {one["domain"] for one in mails} == {"email"}
    assert "An old invoice, politely" in {one["title"] for one in mails}
    assert "Your three weeks in my flat" not in {one["title"] for one in mails}
    by_address = home.json(
        "search", "Marta", "--person", "MARTA.GARCIA@", "--limit", "50"
    )["results"]
    assert by_address
    assert {one["domain"] for one in by_address} == {"email"}
    assert "An old invoice, politely" not in {one["title"] for one in by_address}
    of_file = home.json("search", "Marta", "--file", "mail.mbox", "--limit", "50")[
        "results"
    ]
    assert {one["origin"] for one in of_file} == {"mail.mbox"}
    notes_only = home.json("search", "Marta", "--file", "vault/", "--limit", "50")[
        "results"
    ]
    assert notes_only
    assert all(one["origin"].startswith("vault/") for one in notes_only)
    weighed = home.json(
        "search", "the", "invoice", "--person", "pritchard", "--weigh", "lexical=1"
    )["results"]
    assert {one["id"] for one in weighed} <= {one["id"] for one in mails}
    assert weighed
    nothing = home.json("search", "Marta", "--person", "nobody at all")
    assert nothing["results"] == []
    assert nothing["reason"].startswith("Nothing in this scope")
    assert home.json("search", "Marta", "--category", "no such folder")["results"] == []
