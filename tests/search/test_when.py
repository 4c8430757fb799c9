"""Time words and hints through the public search: only that time, more of that time, or
all of that time.
"""

from datetime import UTC, datetime

import pytest_asyncio

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.records import base, chats, emails, notes
from reverie.search import query as queries
from reverie.search import results
from reverie.search import search as searching

NOW = datetime(2026, 9, 16, 10, 0, tzinfo=UTC)


class Life:
    """Two mails and two chats about the roof, searched by words alone."""

    def __init__(
        self,
        database: db.Database,
        caller: callers.Caller,
        embeddings: embedding.Embeddings,
    ) -> None:
        self.database, self.caller, self.embeddings = database, caller, embeddings

    async def search(self, text: str) -> tuple[list[str], results.Results]:
        """The titles found, and all else."""
        query = queries.Query(text=text, now=NOW)
        found = await searching.search(
            self.database, self.caller, self.embeddings, query
        )
        return [hit.title for hit in found.hits], found


@pytest_asyncio.fixture
async def life(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> Life:
    async with database.transaction(owner) as tx:
        for day, month, name in ((15, 9, "September"), (10, 3, "March")):
            at = datetime(2026, month, day, 9, tzinfo=UTC)
            mail = {
                "subject": f"mail {name}",
                "from": "ana@example.org",
                "date": at,
                "body_text": "The roof is leaking.",
            }
            await base.create(tx, owner, emails.EMAILS, mail)
            turns = [{"id": "1", "speaker": "Bob", "text": "What about the roof?"}]
            chat = {"title": f"chat {name}", "started": at, "turns": turns}
            await base.create(tx, owner, chats.CHATS, chat)
        await base.create(
            tx, owner, notes.NOTES, {"title": "garden", "content": "Roses and beans."}
        )
    return Life(database, owner, words_alone)


async def test_only_that_time(life: Life) -> None:
    titles, found = await life.search("what did we write about the roof last March")
    assert set(titles) == {"mail March", "chat March"}
    assert found.signals["time"] == "only 2026-03-01 to 2026-03-31"


async def test_all_of_that_time(life: Life) -> None:
    titles, found = await life.search("what did we talk about yesterday?")
    assert set(titles) == {"mail September", "chat September"}
    assert all("time" in hit.fused.evidence for hit in found.hits)


async def test_the_kind_that_is_named_comes_first(life: Life) -> None:
    assert (await life.search("emails from yesterday"))[0] == [
        "mail September",
        "chat September",
    ]
    assert (await life.search("unsere Gespräche von gestern"))[0] == [
        "chat September",
        "mail September",
    ]


async def test_more_of_that_time(life: Life) -> None:
    titles, found = await life.search("Why did Ana climb on the roof in March?")
    assert [
        titles.index(f"{kind} March") < titles.index(f"{kind} September")
        for kind in ("mail", "chat")
    ] == [True] * 2
    assert found.signals["time"] == "more of 2026-03-01 to 2026-03-31"


async def test_nothing_is_of_that_time(life: Life) -> None:
    titles, found = await life.search("what did we write about the roof in 2021")
    assert len(titles) == 4
    assert (
        found.signals["time"]
        == "nothing is of 2021-01-01 to 2021-12-31: searched everywhere"
    )


async def test_sessions(life: Life) -> None:
    assert (await life.search("What did we discuss in our first session?"))[0] == [
        "chat March"
    ]
    assert (
        await life.search("what did bob say about the roof in our last conversation")
    )[0] == ["chat September"]


async def test_no_time_no_word_of_it(life: Life) -> None:
    titles, found = await life.search("roses and beans")
    assert titles == ["garden"]
    assert "time" not in found.signals


async def test_a_record_named_by_the_day_comes_first(life: Life) -> None:
    async with life.database.transaction(life.caller) as tx:
        for title in ("about the lamp", "2026-09-15", "about the door"):
            note = {
                "title": title,
                "content": "nothing else",
                "custom": {"created": "2026-09-15T08:00:00+00:00"},
            }
            await base.create(tx, life.caller, notes.NOTES, note)
    names, found = await life.search("2026-09-15")
    assert names[0] == "2026-09-15"
    assert found.signals["time"] == "only 2026-09-15 to 2026-09-15"
    assert set(names) >= {"about the lamp", "about the door", "mail September"}
