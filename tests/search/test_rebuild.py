"""Rebuilding: everything derived made again from the records gives the same answers,
whatever happens half-way.
"""

import json
from pathlib import Path

import psycopg
import pytest

from reverie.pipeline import checkup, progress, rebuild
from reverie.records import base, notes
from tests.search.conftest import Life

_SAMPLE = json.loads(
    (Path(__file__).parent / "sample_questions.json").read_text(encoding="utf-8")
)
QUESTIONS = [one["query"] for one in _SAMPLE[::4]]
QUESTIONS += [
    "Leo",
    "Lisboa",
    "knee operation",
    "la abuela",
    "piano",
    "recipe with oranges",
    "2026-08-12",
    "seguro agua",
]
QUESTIONS += [
    "Marta",
    "train ticket",
    "dinner with friends",
    "doctor",
    "Bilbao",
    "Miga",
    "libro",
    "paint",
    "the dog",
]
QUESTIONS += ["Berlin", "transferencia", "café"]


async def answers(life: Life) -> dict[str, list[tuple[str, float]]]:
    """The first ten of each question, with their scores less the heat, which is not
    derived and cools meanwhile.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    for question in QUESTIONS:
        hits = (await life.search(question)).hits
        found[question] = [
            (
                str(hit.record_id),
                round(hit.fused.score / hit.fused.boosts.get("heat", 1.0), 9),
            )
            for hit in hits
        ]
    return found


async def catch_up(life: Life) -> None:
    async for state in progress.follow(life.database, life.embeddings, life.caller):
        assert not state.trouble


async def states(life: Life) -> dict[str, checkup.Finding]:
    return {
        one.about: one
        for one in await checkup.examine(life.database, life.embeddings, life.caller)
    }


def size(life: Life) -> tuple[int, ...]:
    """How much is derived: cards, passages, vectors."""
    tables = ("card", "passage", "embedding")
    with psycopg.connect(life.owner_url) as connection:
        connection.execute(
            "SELECT set_config('reverie.user_id', %s, false)",
            (str(life.caller.user_id),),
        )
        rows = [
            connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
            for table in tables
        ]
    return tuple(row[0] for row in rows if row)


async def test_the_same_answers_with_the_vectors_kept(own_life: Life) -> None:
    before, large = await answers(own_life), size(own_life)
    assert len(before) == 30
    assert sum(map(bool, before.values())) >= 28
    done: list[int] = []
    count = await rebuild.rebuild(
        own_life.database, own_life.caller, vectors=False, progress=done.append
    )
    assert count == done[-1] == large[0]
    assert size(own_life) == large
    assert await answers(own_life) == before


async def test_the_same_answers_from_nothing_after_a_stop_half_way(
    own_life: Life,
) -> None:
    before, large = await answers(own_life), size(own_life)

    def stop(done: int) -> None:
        if done > 20:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await rebuild.rebuild(own_life.database, own_life.caller, progress=stop)
    # Words find everything meanwhile; that meaning does not is no secret.
    found = await states(own_life)
    assert "search" not in found
    assert found["vectors"].level == "degraded"
    assert found["vectors"].state.startswith("0 of ")
    assert size(own_life) == (*large[:2], 0)
    assert (await own_life.search("INV-2024-0017")).hits[
        0
    ].title == "An old invoice, politely"
    await rebuild.rebuild(
        own_life.database, own_life.caller, progress=lambda done: None
    )
    await catch_up(own_life)
    assert size(own_life) == large
    assert "search" not in await states(own_life)
    assert {one.level for one in (await states(own_life)).values()} == {"ok"}
    assert await answers(own_life) == before


async def test_records_that_search_does_not_know_are_named_and_found_again(
    own_life: Life,
) -> None:
    """As after a disk lost a part of what is derived."""
    before, large = await answers(own_life), size(own_life)
    with psycopg.connect(own_life.owner_url) as connection:
        connection.execute(
            "SELECT set_config('reverie.user_id', %s, false)",
            (str(own_life.caller.user_id),),
        )
        connection.execute("DELETE FROM fresh")
        connection.execute(
            "DELETE FROM passage WHERE record_id IN (SELECT id FROM note)"
        )
        lost = connection.execute(
            "DELETE FROM card WHERE record_id IN (SELECT id FROM note)"
        ).rowcount
    found = (await states(own_life))["search"]
    assert (found.level, found.remedy) == ("wrong", "Run `reverie rebuild`.")
    assert found.state == f"{large[0]} records, but search knows {large[0] - lost}"
    await rebuild.rebuild(
        own_life.database, own_life.caller, vectors=False, progress=lambda done: None
    )
    assert "search" not in await states(own_life)
    assert size(own_life) == large
    assert await answers(own_life) == before


async def test_deleted_records_stay_out(own_life: Life) -> None:
    hit = (await own_life.search("Domingo de playa")).hits[0]
    async with own_life.database.transaction(own_life.caller) as tx:
        await base.delete(tx, own_life.caller, notes.NOTES, hit.record_id)
    await rebuild.rebuild(
        own_life.database, own_life.caller, vectors=False, progress=lambda done: None
    )
    found = {
        one.record_id
        for one in (await own_life.search("sombrilla medusa", limit=50)).hits
    }
    assert hit.record_id not in found
