"""Packing: lists of postings are made, merged and dropped, and no search can tell."""

import asyncio
import contextlib
import random
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from reverie import config, db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import progress, rebuild
from reverie.records import base, notes, passages, postings
from reverie.search import lexical, search
from reverie.search import query as queries

PARAGRAPHS = 520
VOCABULARY = [
    first + start + middle + end
    for first in ("", *(a + b for a in "bdgmv" for b in ("al", "er", "it", "on")))
    for start in ("bal", "dor", "fen", "gri", "kul", "mer", "nos", "pil", "rut", "sav")
    for middle in ("a", "e", "i", "o", "u", "an", "en", "or")
    for end in ("dak", "lim", "pos", "tur", "vex", "zon", "gel")
]
# Of words so rare that every passage with one, and its neighbours, is looked at: then
# all of the score is exact.
QUESTIONS = (
    "baladak unique0",
    "dersavorgel",
    "unique1 unique3",
    "monpilanvex rutendak",
    "fenizon",
    "nothing0",
)


@pytest.fixture
def words_alone() -> Iterator[embedding.Embeddings]:
    """No embedder at all."""
    made = embedding.Embeddings(config.Embedding(provider="none"))
    yield made
    made.close()


def text_of(number: int, paragraphs: int = PARAGRAPHS) -> str:
    """A long note: one passage a paragraph, and words of its own in two of them."""
    dice = random.Random(number)
    lines = [" ".join(dice.choices(VOCABULARY, k=24)) + "." for _ in range(paragraphs)]
    lines[paragraphs // 2] += f" unique{number}"
    lines[paragraphs // 3] += f" unique{number} nothing{number}"
    return "\n\n".join(lines)


async def note(
    database: db.Database,
    caller: callers.Caller,
    number: int,
    paragraphs: int = PARAGRAPHS,
) -> UUID:
    values = {"title": f"number{number}", "content": text_of(number, paragraphs)}
    async with database.transaction(caller) as tx:
        return (await base.create(tx, caller, notes.NOTES, values)).id


async def packed(database: db.Database, caller: callers.Caller) -> bool:
    """One step."""
    async with database.transaction(caller) as tx:
        return await passages.pack(tx, caller)


async def all_packed(database: db.Database, caller: callers.Caller) -> int:
    """Every step that there is; how many."""
    steps = 0
    while await packed(database, caller):
        steps += 1
    return steps


async def sizes(database: db.Database, caller: callers.Caller) -> list[int]:
    async with database.transaction(caller) as tx:
        return [one.size for one in await postings.segments(tx, caller)]


async def count(database: db.Database, caller: callers.Caller, table: str) -> int:
    async with database.transaction(caller) as tx:
        return int(
            await tx.value(db.compose("SELECT count(*) FROM {table}", table=table))
        )


async def once_each(database: db.Database, caller: callers.Caller) -> None:
    """Every passage is fresh or in one segment, and never both."""
    async with database.transaction(caller) as tx:
        fresh = [
            row["passage_id"] for row in await tx.rows("SELECT passage_id FROM fresh")
        ]
        known = [one.id for one in await postings.segments(tx, caller)]
        there = [row["id"] for row in await tx.rows("SELECT id FROM passage")]
        held = await postings.members(tx, caller, known)
    assert sorted(fresh + held) == sorted(there)


async def found(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    text: str,
) -> list[tuple[UUID, float, list[tuple[str, float]]]]:
    """Each record with its score, its passages and theirs, less the heat, which cools
    meanwhile.
    """
    answer = await search.search(
        database,
        caller,
        embeddings,
        queries.Query(text=text, limit=20, include_cold=True),
    )
    return [
        (
            hit.record_id,
            round(hit.fused.score / hit.fused.boosts.get("heat", 1.0), 5),
            [
                (one.text, round(one.score / hit.fused.boosts.get("heat", 1.0), 5))
                for one in hit.passages
            ],
        )
        for hit in answer.hits
    ]


async def answers(
    database: db.Database, caller: callers.Caller, embeddings: embedding.Embeddings
) -> dict[str, Any]:
    return {text: await found(database, caller, embeddings, text) for text in QUESTIONS}


# --- The same answers -----------------------------------------------------------------------------------------


async def test_packed_repacked_and_rebuilt_the_same_is_found_with_the_same_scores(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    for number in range(postings.FACTOR - 1):
        await note(database, owner, number)
        assert await all_packed(database, owner) == 1
    assert await sizes(database, owner) == [PARAGRAPHS] * (postings.FACTOR - 1)
    await note(database, owner, postings.FACTOR - 1)

    half_packed = await answers(database, owner, words_alone)
    assert all(half_packed.values())
    assert await packed(database, owner)
    assert await sizes(database, owner) == [PARAGRAPHS] * postings.FACTOR
    assert await count(database, owner, "fresh") == 0
    assert await answers(database, owner, words_alone) == half_packed

    assert await packed(database, owner)
    assert await sizes(database, owner) == [PARAGRAPHS * postings.FACTOR]
    assert not await packed(database, owner)
    await once_each(database, owner)
    assert await answers(database, owner, words_alone) == half_packed

    await rebuild.rebuild(database, owner, progress=lambda _: None)
    await once_each(database, owner)
    assert await answers(database, owner, words_alone) == half_packed
    await all_packed(database, owner)
    assert await answers(database, owner, words_alone) == half_packed


async def test_the_worker_packs_what_is_fresh_once_it_is_worth_it(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    await note(database, owner, 0, postings.SMALLEST - 1)

    async def followed() -> None:
        async for state in progress.follow(database, words_alone, owner):
            assert not state.trouble

    before = await answers(database, owner, words_alone)
    await followed()
    assert (await count(database, owner, "fresh"), await sizes(database, owner)) == (
        postings.SMALLEST - 1,
        [],
    )
    async with database.transaction(owner) as tx:
        await base.create(tx, owner, notes.NOTES, {"content": "one more"})
    await followed()
    assert (await count(database, owner, "fresh"), await sizes(database, owner)) == (
        0,
        [postings.SMALLEST],
    )
    assert await count(database, owner, "posting") > len(VOCABULARY) / 2
    after = await answers(database, owner, words_alone)
    assert {text: [one[0] for one in hits] for text, hits in after.items()} == {
        text: [one[0] for one in hits] for text, hits in before.items()
    }
    assert (await found(database, owner, words_alone, "one more"))[0][2][0][
        0
    ] == "one more"


# --- What is gone ---------------------------------------------------------------------------------------------


async def lists_of(database: db.Database, caller: callers.Caller, term: str) -> int:
    """How many entries the lists hold of a term, by the table itself."""
    async with database.transaction(caller) as tx:
        return int(
            await tx.value(
                "SELECT coalesce(sum(n), 0) FROM posting WHERE term = %s",
                (postings.key(term),),
            )
        )


async def test_deleted_and_edited_text_is_gone_at_once_and_from_the_lists_once_they_are_merged(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    made: list[UUID] = []
    for number in range(postings.FACTOR - 1):
        made.append(await note(database, owner, number))
        await packed(database, owner)
    async with database.transaction(owner) as tx:
        await base.delete(tx, owner, notes.NOTES, made[0])
        await base.update(
            tx, owner, notes.NOTES, made[1], {"content": "nothing but a zeppelin"}
        )
    for word in ("unique0", "nothing0", "number0", "unique1", "nothing1"):
        assert await found(database, owner, words_alone, word) == [], word
    assert [
        one[0] for one in await found(database, owner, words_alone, "zeppelin")
    ] == [made[1]]
    assert [one[0] for one in await found(database, owner, words_alone, "unique2")] == [
        made[2]
    ]
    # Their lists are as they were.
    assert [
        await lists_of(database, owner, f"unique{number}") for number in (0, 1, 2)
    ] == [2, 2, 2]

    before = await count(database, owner, "passage")
    await note(database, owner, 99)
    assert await all_packed(database, owner) == 2
    # Of the edited note the new text is packed with the last one.
    assert await sizes(database, owner) == [before + PARAGRAPHS]
    await once_each(database, owner)
    assert [
        await lists_of(database, owner, f"unique{number}") for number in (0, 1, 2)
    ] == [0, 0, 2]
    assert await lists_of(database, owner, "zeppelin") == 1
    for word in ("unique0", "unique1"):
        assert await found(database, owner, words_alone, word) == [], word
    assert [
        one[0] for one in await found(database, owner, words_alone, "zeppelin")
    ] == [made[1]]


async def test_a_large_segment_of_which_much_is_gone_is_merged_with_the_small_ones(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    made: list[UUID] = []
    for number in range(postings.FACTOR):
        made.append(await note(database, owner, number))
        await packed(database, owner)
    await packed(database, owner)
    async with database.transaction(owner) as tx:
        for one in made[:-2]:
            await base.delete(tx, owner, notes.NOTES, one)
    for number in range(100, 100 + postings.FACTOR):
        assert await sizes(database, owner) == [
            PARAGRAPHS * postings.FACTOR,
            *[PARAGRAPHS] * (number - 100),
        ]
        await note(database, owner, number)
        await packed(database, owner)
    assert await packed(database, owner)
    assert await sizes(database, owner) == [PARAGRAPHS * (postings.FACTOR + 2)]
    await once_each(database, owner)
    assert await found(database, owner, words_alone, "unique0") == []
    assert [
        one[0] for one in await found(database, owner, words_alone, "unique7")
    ] == made[-1:]


async def test_a_restored_record_is_found_again_beside_its_old_lists(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    made = await note(database, owner, 0)
    await packed(database, owner)
    async with database.transaction(owner) as tx:
        await base.delete(tx, owner, notes.NOTES, made)
    assert await found(database, owner, words_alone, "unique0") == []
    async with database.transaction(owner) as tx:
        await base.restore(tx, owner, notes.NOTES, made)
    (hit,) = await found(database, owner, words_alone, "unique0")
    assert hit[0] == made
    assert ["unique0" in text for text, _ in hit[2][:3]] == [True, True, False]


# --- Two people -----------------------------------------------------------------------------------------------


async def test_nobody_sees_anothers_lists(
    database: db.Database,
    owner: callers.Caller,
    other: callers.Caller,
    words_alone: embedding.Embeddings,
) -> None:
    await note(database, owner, 0)
    await packed(database, owner)
    gone = await note(database, owner, 1, 5)
    await note(database, owner, 2, 5)
    async with database.transaction(owner) as tx:
        await base.delete(tx, owner, notes.NOTES, gone)
    keys = [postings.key("unique0"), postings.key("unique2")]
    tables = ("fresh", "segment", "posting", "stale")
    assert all([await count(database, owner, table) > 0 for table in tables])
    assert [await count(database, other, table) for table in tables] == [0, 0, 0, 0]
    async with database.snapshot(owner) as tx:
        mine = await postings.lists(tx, owner, keys)
    assert (mine.document_frequencies[keys[0]], len(mine.fresh)) == (2, 5)
    async with database.snapshot(other) as tx:
        for user in (owner, other):  # not even when it is asked for by name
            theirs = await postings.lists(tx, user, keys)
            assert (
                theirs.segments,
                theirs.entries,
                theirs.document_frequencies,
                theirs.fresh,
            ) == (
                [],
                {},
                {},
                [],
            )
            assert (
                await postings.members(tx, user, [one.id for one in mine.segments])
                == []
            )
    assert await found(database, other, words_alone, "unique0") == []
    async with database.transaction(other) as tx:
        await postings.drop(tx, owner, [one.id for one in mine.segments])
    assert len(await found(database, owner, words_alone, "unique0")) == 1
    # The statistics are each one's own: so are the scores.
    alone = await answers(database, owner, words_alone)
    await note(database, other, 0)
    await packed(database, other)
    assert await answers(database, owner, words_alone) == alone


# --- Long lists -----------------------------------------------------------------------------------------------


def rows(term: str, weights: Sequence[float]) -> list[dict[str, Any]]:
    """Passages of ten words that hold a term so often, and one term of their own."""
    return [
        {
            "id": 1000 + i,
            "length": 10,
            "terms": postings.packed({term: weight, f"own{i}": 1.0}),
        }
        for i, weight in enumerate(weights)
    ]


async def test_a_long_list_has_its_best_entries_in_its_first_part(
    database: db.Database, owner: callers.Caller
) -> None:
    dice = random.Random(1)
    weights = [float(dice.randrange(1, 60)) for _ in range(5_000)]
    async with database.transaction(owner) as tx:
        await postings.pack(tx, owner, rows("common", weights))
        found = await tx.rows(
            "SELECT part, n, entries FROM posting WHERE term = %s ORDER BY part",
            (postings.key("common"),),
        )
        assert await tx.value("SELECT count(*) FROM posting") == 5_000 + 2
    assert [(row["part"], row["n"]) for row in found] == [
        (0, postings.BEST),
        (1, 5_000 - postings.BEST),
    ]
    best, rest = (np.frombuffer(row["entries"], postings.ENTRY) for row in found)
    assert best["gain"].min() >= rest["gain"].max()
    places = np.concatenate([best["at"], rest["at"]])
    assert sorted(places.tolist()) == list(range(5_000))
    gains = dict(
        zip(
            places.tolist(),
            np.concatenate([best["gain"], rest["gain"]]).tolist(),
            strict=True,
        )
    )
    expected = [weight * 2.2 / (weight + 1.2) for weight in weights]
    assert [gains[i] for i in range(5_000)] == pytest.approx(expected, rel=1e-3)
    async with database.snapshot(owner) as tx:
        listed = await postings.lists(
            tx, owner, [postings.key("common"), postings.key("own17")]
        )
    (segment,) = listed.segments
    assert (segment.size, segment.words) == (5_000, 50_000)
    assert sum(map(len, listed.entries[segment.id, postings.key("common")])) == 5_000
    (own,) = listed.entries[segment.id, postings.key("own17")]
    assert listed.members[segment.id][own["at"]].tolist() == [1017]


async def test_of_a_term_that_is_everywhere_the_best_entries_are_read_and_all_are_counted(
    database: db.Database, owner: callers.Caller
) -> None:
    many = postings.ALL + 1
    term = postings.packed({"everywhere": 1.0})
    async with database.transaction(owner) as tx:
        await postings.pack(
            tx, owner, [{"id": i, "length": 10, "terms": term} for i in range(many)]
        )
    async with database.snapshot(owner) as tx:
        listed = await postings.lists(tx, owner, [postings.key("everywhere")])
    ((_, entries),) = listed.entries.items()
    assert [len(one) for one in entries] == [postings.BEST]
    assert listed.document_frequencies == {postings.key("everywhere"): many}


def test_a_term_has_the_same_key_for_ever() -> None:
    assert postings.key("garcia") == -5455866071412746503
    assert postings.key("xylophone") == 2595784536737702873
    assert postings.key("absatz 2") == -2443119274564294832
    keys = [postings.key(word) for word in VOCABULARY]
    assert len(set(keys)) == len(VOCABULARY)
    assert all(-(2**63) <= one < 2**63 for one in keys)
    assert min(keys) < 0 < max(keys)


# --- In the middle --------------------------------------------------------------------------------------------


async def packed_in_vain(database: db.Database, caller: callers.Caller) -> None:
    """One step, that fails when all of it is done but the commit."""
    async with database.transaction(caller) as tx:
        assert await passages.pack(tx, caller)
        assert await tx.value("SELECT count(*) FROM fresh") == 0
        raise ZeroDivisionError


async def test_what_fails_in_the_middle_of_packing_loses_nothing(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    for number in range(postings.FACTOR):
        await note(database, owner, number)
        before = (
            await sizes(database, owner),
            await answers(database, owner, words_alone),
        )
        with pytest.raises(ZeroDivisionError):
            await packed_in_vain(database, owner)
        assert await count(database, owner, "fresh") == PARAGRAPHS
        assert (
            await sizes(database, owner),
            await answers(database, owner, words_alone),
        ) == before
        await packed(database, owner)
    merged = (await sizes(database, owner), await answers(database, owner, words_alone))
    with pytest.raises(ZeroDivisionError):
        await packed_in_vain(database, owner)
    assert (
        await sizes(database, owner),
        await answers(database, owner, words_alone),
    ) == merged
    await once_each(database, owner)


async def test_packing_that_is_cancelled_anywhere_loses_nothing(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    for number in range(3):
        await note(database, owner, number)
    before = await answers(database, owner, words_alone)
    dice = random.Random(2)
    for _ in range(12):
        task = asyncio.create_task(all_packed(database, owner))
        await asyncio.sleep(dice.uniform(0, 0.06))
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await once_each(database, owner)
    await all_packed(database, owner)
    await once_each(database, owner)
    assert await answers(database, owner, words_alone) == before


async def test_two_that_pack_at_once_pack_each_passage_once(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    """As when a worker's lock is lost while it goes on."""
    for number in range(2):
        await note(database, owner, number)
    before = await answers(database, owner, words_alone)
    await asyncio.gather(*(all_packed(database, owner) for _ in range(3)))
    await once_each(database, owner)
    assert await answers(database, owner, words_alone) == before


async def test_who_reads_while_it_is_packed_and_merged_finds_everything(
    database: db.Database, owner: callers.Caller
) -> None:
    for number in range(postings.FACTOR - 1):
        await note(database, owner, number)
        await packed(database, owner)
    await note(database, owner, postings.FACTOR - 1)
    query = queries.Query(text="unique0 unique7 baladak")
    async with database.snapshot(owner) as old:
        before = await lexical.retrieve(old, owner, query)
        assert await packed(database, owner)
        assert (await lexical.retrieve(old, owner, query)).hits == before.hits
        assert await packed(database, owner)
        assert not await packed(database, owner)
        again = await lexical.retrieve(old, owner, query)
    assert {one.passage_id for one in before.hits} == {
        one.passage_id for one in again.hits
    }
    assert again.hits == before.hits
    async with database.snapshot(owner) as new:
        after = await lexical.retrieve(new, owner, query)
    assert {one.passage_id for one in after.hits} == {
        one.passage_id for one in before.hits
    }


# --- Which segments are too many ------------------------------------------------------------------------------


def segments(*given: int) -> list[postings.Segment]:
    """Largest first, as they are read; the id tells the place."""
    return [
        postings.Segment(id=i, size=size, words=10 * size)
        for i, size in enumerate(given)
    ]


@pytest.mark.parametrize(
    ("given", "crowd"),
    [
        ((), []),
        ((600,) * 7, []),
        ((600,) * 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        ((600,) * 10, [2, 3, 4, 5, 6, 7, 8, 9]),  # the smallest of them
        ((4_096, *(4_095,) * 7), []),  # two tiers
        ((5_000,) * 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        (
            (*(5_000,) * 8, *(600,) * 8),
            [8, 9, 10, 11, 12, 13, 14, 15],
        ),  # the smaller ones first
        ((*(5_000,) * 8, *(600,) * 7), [0, 1, 2, 3, 4, 5, 6, 7]),
        ((10,) * 8, [0, 1, 2, 3, 4, 5, 6, 7]),  # smaller than the smallest
        ((32_768,) * 8, [0, 1, 2, 3, 4, 5, 6, 7]),  # the largest that is made
        ((40_000,) * 8, []),  # it would be too large
        ((*(40_000,) * 3, *(32_768,) * 6), []),
        ((262_144,) * 20, []),
        ((*(262_144,) * 20, *(600,) * 8), [20, 21, 22, 23, 24, 25, 26, 27]),
    ],
)
def test_segments_of_about_one_size_are_packed_together_once_they_are_many(
    given: tuple[int, ...], crowd: list[int]
) -> None:
    assert postings.crowded(segments(*given)) == crowd
