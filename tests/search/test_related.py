"""The graph signal: records linked to what a question names, and those near in time to
an event of theirs.
"""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import rule_extraction, worker
from reverie.records import base, catalogue
from reverie.search import query as queries
from reverie.search import results as searched
from reverie.search import search as searching
from reverie.search import weights


async def kept(
    database: db.Database, caller: callers.Caller, domain: str, **body: Any
) -> UUID:
    async with database.transaction(caller) as tx:
        return (await base.create(tx, caller, catalogue.domain(domain), body)).id


async def read(
    database: db.Database, caller: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    found: list[worker.Standing] = []
    async with worker.Worker(
        database, words_alone, followers=(rule_extraction.RULE_EXTRACTION,)
    ).running():
        for _ in range(1000):
            async with database.transaction(caller) as tx:
                found = await worker.standings(tx, caller)
            if not next(one.behind for one in found if one.slot == "rule_extraction"):
                return
            await asyncio.sleep(0.02)
    raise AssertionError(found)


async def search(
    database: db.Database,
    caller: callers.Caller,
    words_alone: embedding.Embeddings,
    text: str,
    **more: Any,
) -> searched.Results:
    return await searching.search(
        database, caller, words_alone, queries.Query(text=text, **more)
    )


async def test_who_is_named_brings_what_is_linked(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    words_alone: embedding.Embeddings,
) -> None:
    """A mail that has the address and not the name is found by the name, and says why."""
    await kept(
        database, owner, "contact", display_name="Ana Ruiz", emails=["ar77@example.org"]
    )
    mail = await kept(
        database,
        owner,
        "email",
        **{"from": "ar77@example.org", "subject": "Roof", "body_text": "Leaks."},
    )
    for person in (owner, other):
        await kept(
            database, person, "note", title="Roof", content="The roof of the shed."
        )
    await read(database, owner, words_alone)
    found = await search(database, owner, words_alone, "ana ruiz roof")
    hit = next(one for one in found.hits if one.record_id == mail)
    assert (found.signals["graph"], hit.fused.evidence["graph"].score) == ("ok", 1.0)
    assert found.hits[0].title in ("Roof", "Ana Ruiz")
    alone = await search(database, owner, words_alone, "Ana Ruiz", domains=("email",))
    assert [one.record_id for one in alone.hits] == [mail]
    late = await search(
        database,
        owner,
        words_alone,
        "Ana Ruiz",
        first=date(2020, 1, 1),
        last=date(2020, 2, 1),
    )
    assert late.hits == []
    theirs = await search(database, other, words_alone, "ana ruiz roof")
    assert theirs.signals["graph"].startswith("left out")
    assert all("graph" not in one.fused.evidence for one in theirs.hits)


async def test_what_is_near_an_event_of_theirs_counts_more(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    now = datetime.now(UTC)
    await kept(
        database, owner, "contact", display_name="Ana Ruiz", emails=["ana@example.org"]
    )
    attendees = [{"name": "Ana Ruiz", "email": "ana@example.org"}]
    await kept(
        database,
        owner,
        "event",
        title="Dinner",
        start=(now + timedelta(days=2)).isoformat(),
        attendees=attendees,
    )
    mails = [
        await kept(
            database,
            owner,
            "email",
            **{
                "from": "ana@example.org",
                "subject": "Zebra",
                "body_text": "stripes",
                "date": at.isoformat(),
            },
        )
        for at in (now + timedelta(days=1), now - timedelta(days=200))
    ]
    await read(database, owner, words_alone)
    found = await search(database, owner, words_alone, "Ana Ruiz zebra")
    near, far = [
        next(one for one in found.hits if one.record_id == mail) for mail in mails
    ]
    assert 1.1 < near.fused.boosts["soon"] <= 1 + weights.PROXIMITY_BOOST
    assert "soon" not in far.fused.boosts
    assert near.fused.score > far.fused.score
    async with database.transaction(
        owner
    ) as tx:  # nothing of what is named is near: no boost
        await tx.run(
            "UPDATE card SET at = now() + interval '30 days' WHERE domain = 'event'"
        )
    later = await search(database, owner, words_alone, "Ana Ruiz zebra")
    assert all("soon" not in one.fused.boosts for one in later.hits)


async def test_a_name_that_is_a_word_wants_a_capital(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    await kept(
        database,
        owner,
        "contact",
        display_name="Rose Alder",
        given="Rose",
        family="Alder",
    )
    await kept(database, owner, "note", title="Garden", content="The rose is in bloom.")
    await read(database, owner, words_alone)
    assert (await search(database, owner, words_alone, "what does Rose say")).signals[
        "graph"
    ] == "ok"
    assert (
        (await search(database, owner, words_alone, "the rose in bloom"))
        .signals["graph"]
        .startswith("left out")
    )
