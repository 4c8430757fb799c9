"""What a search promises: nothing for nonsense, no stale text, filters, cold records,
provenance, one user's own.
"""

import json
import math
from datetime import date
from uuid import UUID

import psycopg
import pytest

from reverie import config, db, embedded, errors
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import progress, vector_store
from reverie.records import base, bookmarks, diary, events, notes
from reverie.search import query as queries
from reverie.search import results as searched
from reverie.search import search as searching
from tests.search.conftest import Life

GIBBERISH = (
    "xqzzt vlorp",
    "asdfgh qwertz yxcvbn",
    "fjdkslajf",
    "qqqqqqqqqq",
    "zzzyx wvuut",
    "blorptang fizzlewump",
    "hjkl hjkl hjkl",
    "wxyz vbnm qazwsx",
    "trglbtz pfffhm",
    "ngthrxx mpfzzk drtghw",
    "lkjhgfdsa poiuytrewq",
    "vwxkq ptrszh bgfdc",
    "kxjzqw",
    "mnbvcxz lkjh",
    "skdjfhg eirutywo",
    "0xdeadbeefcafe",
    "zorbnak tulvex",
    "ghtyrnvb cxzdsa",
    "qwrtpsdfg",
    "yyyyxxxxzzzz wwwwqqqq",
    "flarnbuzz gweeblix",
    "rtyfgh vbncvb",
    "plokmijnuhb",
    "ppzzkktt vvxxqqjj",
    "98437598437598437",
)


async def _note(
    database: db.Database,
    caller: callers.Caller,
    title: str,
    content: str,
    **more: object,
) -> notes.Note:
    async with database.transaction(caller) as tx:
        return await base.create(
            tx, caller, notes.NOTES, {"title": title, "content": content, **more}
        )


async def _titles(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    text: str,
    **filters: object,
) -> list[str]:
    query = queries.Query(text=text, **filters)  # pyright: ignore[reportArgumentType]
    return [
        hit.title
        for hit in (await searching.search(database, caller, embeddings, query)).hits
    ]


# --- Nothing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", GIBBERISH)
async def test_nonsense_finds_nothing_and_says_so(life: Life, text: str) -> None:
    results = await life.search(text)
    assert [hit.title for hit in results.hits] == []
    assert results.reason.startswith(
        "Nothing holds these words or means something close to them."
    )


@pytest.mark.parametrize("text", ["", "   ", "\x00", "x" * 1001])
async def test_what_cannot_be_asked_is_refused(life: Life, text: str) -> None:
    with pytest.raises(errors.Invalid):
        await life.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "?!",
        "…",
        "the of and",
        "%_\\'\";--",
        "😀",
        "\ud800",
        "a" * 1000,
        "'; DROP TABLE note",
    ],
)
async def test_odd_questions_are_answered(life: Life, text: str) -> None:
    results = await life.search(text)
    assert bool(results.hits) != bool(results.reason)
    json.dumps(searched.as_json(results))


# --- No stale text ------------------------------------------------------------------------------------------


async def test_deleted_text_is_gone_at_once_and_back_when_restored(
    own_life: Life,
) -> None:
    """No worker runs here: what counts is the record's own transaction."""
    hit = (await own_life.search("beach trip")).hits[0]
    assert hit.title == "Domingo de playa"
    assert (await own_life.search("sombrilla medusa")).hits[
        0
    ].record_id == hit.record_id
    async with own_life.database.transaction(own_life.caller) as tx:
        await base.delete(tx, own_life.caller, notes.NOTES, hit.record_id)
    for question in ("beach trip", "sombrilla medusa", "Domingo de playa"):
        found = {
            one.record_id
            for one in (
                await own_life.search(question, limit=50, include_cold=True)
            ).hits
        }
        assert hit.record_id not in found
    async with own_life.database.transaction(own_life.caller) as tx:
        await base.restore(tx, own_life.caller, notes.NOTES, hit.record_id)
    for question in ("beach trip", "sombrilla medusa"):
        assert (await own_life.search(question)).hits[0].record_id == hit.record_id


async def test_edited_text_is_gone_at_once(own_life: Life) -> None:
    hit = (await own_life.search("beach trip")).hits[0]
    change = {
        "title": "Inventory",
        "content": "Seventeen brass screws and an umlaut called Zwetschgenkuchen.",
    }
    async with own_life.database.transaction(own_life.caller) as tx:
        await base.update(tx, own_life.caller, notes.NOTES, hit.record_id, change)
    for question in ("beach trip", "sombrilla medusa", "Domingo de playa"):
        found = {
            one.record_id
            for one in (
                await own_life.search(question, limit=50, include_cold=True)
            ).hits
        }
        assert hit.record_id not in found
    again = (await own_life.search("Zwetschgenkuchen")).hits
    assert again[0].record_id == hit.record_id
    assert [passage.text for passage in again[0].passages] == [change["content"]]
    async for state in progress.follow(
        own_life.database, own_life.embeddings, own_life.caller
    ):
        assert not state.trouble
    meant = (
        await own_life.search(
            "metal fasteners in a workshop", limit=50, include_cold=True
        )
    ).hits
    assert hit.record_id in {
        one.record_id for one in meant if "semantic" in one.fused.evidence
    }


# --- Without spaces, without an embedder --------------------------------------------------------------------


async def test_chinese_and_japanese_are_found_without_spaces(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    await _note(
        database,
        owner,
        "東京の旅",
        "京都の駅で傘を忘れた。次の日、駅員さんが見つけてくれた。",
    )
    await _note(database, owner, "搬家", "我们在五月搬到毕尔巴鄂，钢琴最后才到。")
    await _note(database, owner, "別の話", "東から来た人と京菜の話。")
    assert (await _titles(database, owner, words_alone, "駅員"))[0] == "東京の旅"
    assert (await _titles(database, owner, words_alone, "傘を忘れた"))[0] == "東京の旅"
    assert (await _titles(database, owner, words_alone, "毕尔巴鄂"))[0] == "搬家"
    assert await _titles(database, owner, words_alone, "钢琴") == ["搬家"]


async def test_without_an_embedder_words_answer_and_the_rest_is_named(
    life: Life, words_alone: embedding.Embeddings
) -> None:
    query = queries.Query(text="INV-2024-0017")
    results = await searching.search(life.database, life.caller, words_alone, query)
    assert results.hits[0].title == "An old invoice, politely"
    assert (
        results.signals["semantic"]
        == "left out: No embedding model is configured: search goes by words."
    )
    nothing = await searching.search(
        life.database, life.caller, words_alone, queries.Query(text="xqzzt")
    )
    assert nothing.hits == []
    assert (
        "Meaning was not searched: No embedding model is configured" in nothing.reason
    )


async def test_an_embedder_that_is_down_is_named_and_words_answer(
    own_life: Life,
) -> None:
    life = own_life
    settings = config.Embedding(
        provider="openai", base_url="http://127.0.0.1:9/v1", model="gone", timeout_s=2
    )
    away = embedding.Embeddings(settings)
    # The built-in model has vectors of everything here, and answers in place of the new
    # one.
    results = await searching.search(
        life.database, life.caller, away, queries.Query(text="García")
    )
    assert results.signals["semantic"] == "ok"
    async with life.database.transaction(life.caller) as tx:
        await vector_store.forget(tx, life.caller)
    results = await searching.search(
        life.database, life.caller, away, queries.Query(text="García")
    )
    away.close()
    assert results.hits
    assert results.signals["semantic"].startswith(
        "left out: The embedding server does not answer"
    )
    assert results.signals["lexical"] == "ok"


# --- Filters ------------------------------------------------------------------------------------------------


async def test_filters_narrow_both_signals(life: Life) -> None:
    everything = (await life.search("Marta García", limit=50)).hits
    assert len({hit.domain for hit in everything}) >= 4
    for domains in (("note",), ("contact", "events"), ("diary",)):
        hits = (await life.search("Marta García", limit=50, domains=domains)).hits
        assert hits
        assert {hit.domain for hit in hits} <= {
            name.removesuffix("s") for name in domains
        }
    tagged = (await life.search("beach trip", limit=50, tag="verano")).hits
    assert tagged[0].title == "Domingo de playa"
    assert all("verano" in hit.tags for hit in tagged)
    assert (await life.search("beach trip", tag="no such tag")).reason.startswith(
        "Nothing in this scope"
    )


async def test_days_are_the_owners_days(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    async with database.transaction(owner) as tx:
        for day in ("2026-05-01", "2026-05-02", "2026-05-03"):
            await base.create(
                tx, owner, diary.DIARY, {"date": day, "content": "xylophone lesson"}
            )
        event = {
            "title": "xylophone concert",
            "start": "2026-05-03T23:30:00+02:00",
            "timezone": "Europe/Madrid",
        }
        await base.create(tx, owner, events.EVENTS, event)
    first, last = date(2026, 5, 2), date(2026, 5, 3)
    assert sorted(
        await _titles(database, owner, words_alone, "xylophone", first=first)
    ) == [
        "2026-05-02",
        "2026-05-03",
        "xylophone concert",
    ]
    assert await _titles(
        database, owner, words_alone, "xylophone", last=date(2026, 5, 1)
    ) == ["2026-05-01"]
    assert (
        len(
            await _titles(
                database, owner, words_alone, "xylophone", first=first, last=last
            )
        )
        == 3
    )
    assert (
        await _titles(database, owner, words_alone, "xylophone", first=date(2026, 5, 4))
        == []
    )


async def test_tiers(
    database: db.Database,
    fresh: str,
    cluster: embedded.EmbeddedServer,
    owner: callers.Caller,
    words_alone: embedding.Embeddings,
) -> None:
    for title, heat in (
        ("hot", 0.9),
        ("warm", 0.5),
        ("cold", 0.1),
        ("untouched", None),
    ):
        made = await _note(database, owner, f"xylophone {title}", "x")
        if heat is not None:
            _heat(cluster, fresh, owner, made, heat=heat, accesses=9, days=0)
    assert await _titles(database, owner, words_alone, "xylophone", tier="hot") == [
        "xylophone hot"
    ]
    assert set(
        await _titles(database, owner, words_alone, "xylophone", tier="warm")
    ) == {
        "xylophone hot",
        "xylophone warm",
    }
    assert set(
        await _titles(database, owner, words_alone, "xylophone", tier="cold")
    ) == {
        "xylophone cold",
        "xylophone untouched",
    }


# --- Cold records -------------------------------------------------------------------------------------------


def _heat(
    cluster: embedded.EmbeddedServer,
    name: str,
    caller: callers.Caller,
    note: notes.Note,
    *,
    heat: float,
    accesses: float,
    days: int,
) -> None:
    """Set a heat row as the tables' owner does: time cannot be waited for."""
    statement = """
        INSERT INTO heat (user_id, record_id, accesses, incremented_at, accessed_at, source, heat)
        VALUES (%(user)s, %(record)s, %(accesses)s, now() - %(days)s * interval '1 day',
                now() - %(days)s * interval '1 day', 'user', %(heat)s)
        ON CONFLICT (user_id, record_id) DO UPDATE SET accesses = excluded.accesses, heat = excluded.heat,
            incremented_at = excluded.incremented_at, accessed_at = excluded.accessed_at
    """
    values = {
        "user": caller.user_id,
        "record": note.id,
        "accesses": accesses,
        "days": days,
        "heat": heat,
    }
    with psycopg.connect(
        cluster.place.url(embedded.OWNER_ROLE, database=name), autocommit=True
    ) as connection:
        connection.execute(
            "SELECT set_config('reverie.user_id', %s, false)", (str(caller.user_id),)
        )
        assert connection.execute(statement, values).rowcount == 1


@pytest.mark.parametrize(
    ("accesses", "heat", "days", "hidden"),
    [
        (1, 0.05, 8, True),
        (1, 0.05, 6, False),  # not cold for long
        (1, 0.25, 8, False),  # warm
        (1, 0.0, 800, False),  # so old that the rule no longer speaks of it
        (2, 0.05, 8, False),  # touched twice
        (0.25, 0.01, 8, False),  # brought in by an import, never opened
    ],
)
async def test_what_was_touched_once_and_went_cold_steps_back(
    database: db.Database,
    fresh: str,
    cluster: embedded.EmbeddedServer,
    owner: callers.Caller,
    words_alone: embedding.Embeddings,
    accesses: float,
    heat: float,
    days: int,
    *,
    hidden: bool,
) -> None:
    cold = await _note(database, owner, "cold xylophone", "x")
    _heat(cluster, fresh, owner, cold, heat=heat, accesses=accesses, days=days)
    await _note(database, owner, "fresh xylophone", "x")

    async def search(text: str, **filters: object) -> tuple[set[str], int]:
        query = queries.Query(text=text, **filters)  # pyright: ignore[reportArgumentType]
        results = await searching.search(database, owner, words_alone, query)
        return {hit.title for hit in results.hits}, results.hidden_cold

    both = {"cold xylophone", "fresh xylophone"}
    assert await search("xylophone") == (
        ({"fresh xylophone"}, 1) if hidden else (both, 0)
    )
    assert await search("xylophone", include_cold=True) == (both, 0)
    # A match is never hidden when nothing else matches.
    assert await search("cold") == ({"cold xylophone"}, 0)


# --- Provenance ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question",
    ["beach trip", "García", "INV-2024-0017", "§3 Absatz 2", "boiler warranty", "Leo"],
)
async def test_every_score_can_be_computed_from_the_answer_alone(
    life: Life, question: str
) -> None:
    answer = json.loads(json.dumps(searched.as_json(await life.search(question))))
    assert answer["results"]
    for one in answer["results"]:
        told = one["provenance"]
        total = sum(
            signal["weight"] * signal["score"] for signal in told["signals"].values()
        )
        total = (total + sum(told["bonuses"].values())) * math.prod(
            told["boosts"].values()
        )
        assert math.isclose(one["score"], total, abs_tol=2e-5)
        assert one["passages"][0]["score"] == one["score"]
        assert told["signals"]
        assert all(signal["rank"] >= 1 for signal in told["signals"].values())
        assert one["passages"]
        assert 0 <= told["heat"] <= 1
    scores = [one["score"] for one in answer["results"]]
    assert scores == sorted(scores, reverse=True)


async def test_heat_lifts_but_never_finds(
    database: db.Database,
    fresh: str,
    cluster: embedded.EmbeddedServer,
    owner: callers.Caller,
    words_alone: embedding.Embeddings,
) -> None:
    first = await _note(database, owner, "xylophone", "one")
    second = await _note(database, owner, "xylophone", "two")
    hot = await _note(database, owner, "drum", "three")
    _heat(cluster, fresh, owner, second, heat=1.0, accesses=30, days=0)
    _heat(cluster, fresh, owner, hot, heat=1.0, accesses=30, days=0)
    query = queries.Query(text="xylophone")
    hits = (await searching.search(database, owner, words_alone, query)).hits
    assert [hit.record_id for hit in hits] == [second.id, first.id]
    assert hits[0].fused.heat == 1.0
    assert math.isclose(
        hits[0].fused.score,
        1.1 * sum(e.weight * e.score for e in hits[0].fused.evidence.values()),
    )


# --- Two users ----------------------------------------------------------------------------------------------


async def test_no_result_and_no_statistic_crosses_a_user(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    embeddings: embedding.Embeddings,
) -> None:
    async with database.transaction(owner) as tx:
        await base.create(
            tx,
            owner,
            bookmarks.BOOKMARKS,
            {"url": "https://example.org", "title": "piano lesson"},
        )
    mine = await _note(
        database, owner, "piano lesson", "the piano is being tuned on Monday"
    )
    async for _ in progress.follow(database, embeddings, owner):
        pass
    query = queries.Query(text="piano lesson", limit=50)
    alone = searched.as_json(await searching.search(database, owner, embeddings, query))
    assert (await searching.search(database, other, embeddings, query)).hits == []
    for i in range(30):
        await _note(
            database, other, "piano lesson", f"the piano is being tuned on Monday {i}"
        )
    async for _ in progress.follow(database, embeddings, other):
        pass
    again = searched.as_json(await searching.search(database, owner, embeddings, query))
    for answer in (alone, again):
        for one in answer["results"]:
            one.pop("line")  # it tells how long ago
            one["provenance"].pop("heat")  # it cools by the second
            one["score"] = round(one["score"], 3)
            for passage in one["passages"]:
                passage["score"] = round(passage["score"], 3)
    assert again == alone
    theirs = (await searching.search(database, other, embeddings, query)).hits
    assert len(theirs) == 30
    assert mine.id not in {hit.record_id for hit in theirs}
    nobody = callers.Caller(UUID(int=0), "user", "nobody", frozenset({"*:*"}), "UTC")
    assert (await searching.search(database, nobody, embeddings, query)).hits == []
