"""Phrases in quotes, kinds spoken of, and what an answer tells of how its question was
understood.
"""

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import progress
from reverie.records import base, contacts, diary, emails, events, notes, tasks
from reverie.search import query as queries
from reverie.search import results, search, weights
from tests.search.given import Given
from tests.web.test_records import ROOT

MISSES = 300
QUOTES = ["„{}“", "«{}»", '"{}"', "“{}”", "»{}«"]
# The phrase as it is asked for, and as it is written: case, accents and what stands
# between the words differ.
PHRASES = [
    ("to be or not to be", "TO BE, OR NOT TO BE"),
    ("der grune Garten am See", "der Grüne Garten am See"),
    ("la habitación del fondo", "La habitacion del FONDO"),
]


async def found(
    database: db.Database,
    caller: callers.Caller,
    embeddings: embedding.Embeddings,
    text: str,
    **more: Any,
) -> results.Results:
    return await search.search(
        database, caller, embeddings, queries.Query(text=text, **more)
    )


def orders(words: Sequence[str], count: int) -> list[str]:
    """The same words in other orders, none of which is the right one."""
    dice = random.Random(5)
    made: list[str] = []
    while len(made) < count:
        some = dice.sample(list(words), len(words))
        if some != list(words):
            made.append(" ".join(some))
    return made


async def among_near_misses(
    database: db.Database, caller: callers.Caller, asked: str, written: str
) -> None:
    """300 notes with the words of a phrase in other orders, and one with the phrase in
    the middle of them.
    """
    lines = [f"Then {one}, he said." for one in orders(asked.split(), MISSES)]
    lines.insert(2 * MISSES // 3, f"Then {written}, he said.")
    async with database.transaction(caller) as tx:
        for number, line in enumerate(lines):
            title = "the one" if written in line else f"near miss {number}"
            await base.create(
                tx, caller, notes.NOTES, {"title": title, "content": line}
            )


@pytest.mark.parametrize(
    ("asked", "written"), PHRASES, ids=[asked for asked, _ in PHRASES]
)
async def test_what_holds_a_phrase_word_by_word_is_first_among_three_hundred_near_misses(
    database: db.Database,
    owner: callers.Caller,
    words_alone: embedding.Embeddings,
    asked: str,
    written: str,
) -> None:
    await among_near_misses(database, owner, asked, written)
    for quotes in QUOTES:
        answer = await found(database, owner, words_alone, quotes.format(asked))
        assert answer.hits[0].title == "the one", quotes
        assert answer.hits[0].fused.bonuses["phrase"] > 0
        assert [hit.title for hit in answer.hits if "phrase" in hit.fused.bonuses] == [
            "the one"
        ]
        answer = await found(
            database, owner, words_alone, f"who said {quotes.format(asked)} to him?"
        )
        assert answer.hits[0].title == "the one", quotes


async def test_meaning_does_not_push_a_phrase_down(
    database: db.Database, owner: callers.Caller
) -> None:
    asked, written = PHRASES[0]
    embeddings = Given({"the one": 0.2, "near miss": 0.9})
    await among_near_misses(database, owner, asked, written)
    async for state in progress.follow(database, embeddings, owner):
        assert not state.trouble
    assert (await found(database, owner, embeddings, f'"{asked}"')).hits[
        0
    ].title == "the one"
    embeddings.close()


async def test_of_two_phrases_what_holds_both_is_first(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    async with database.transaction(owner) as tx:
        for title, content in (
            ("neither", "piano red, cat black, piano red, cat black"),
            ("one", "The red piano. A cat that is black."),
            (
                "both",
                "The red piano stands where the black cat sleeps, most of the day, if nobody plays on it.",
            ),
        ):
            await base.create(
                tx, owner, notes.NOTES, {"title": title, "content": content}
            )
    answer = await found(database, owner, words_alone, '"red piano" "black cat"')
    assert [hit.title for hit in answer.hits] == ["both", "one", "neither"]
    bonuses = {hit.title: hit.fused.bonuses.get("phrase", 0.0) for hit in answer.hits}
    assert bonuses == pytest.approx(
        {"both": weights.PHRASE_BONUS, "one": weights.PHRASE_BONUS / 2, "neither": 0}
    )


async def test_a_phrase_that_stands_in_the_title_counts(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    async with database.transaction(owner) as tx:
        titles = ("Piano red", "Red piano", "Red, red piano piano", "The piano is red")
        for title in titles:
            await base.create(
                tx,
                owner,
                notes.NOTES,
                {"title": title, "content": "bought from a neighbour"},
            )
    answer = await found(database, owner, words_alone, '"the piano is red"')
    assert answer.hits[0].title == "The piano is red"
    assert answer.hits[0].fused.bonuses["phrase"] > 0


async def test_a_phrase_in_a_language_without_spaces(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    async with database.transaction(owner) as tx:
        for title, content in (
            ("other", "忘れた傘を探す。傘、傘、忘れた。"),
            ("the one", "京都の駅で傘を忘れた。次の日。"),
        ):
            await base.create(
                tx, owner, notes.NOTES, {"title": title, "content": content}
            )
    answer = await found(database, owner, words_alone, '"傘を忘れた"')
    assert [(hit.title, "phrase" in hit.fused.bonuses) for hit in answer.hits] == [
        ("the one", True),
        ("other", False),
    ]


async def test_a_phrase_is_found_within_the_filters_only(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    async with database.transaction(owner) as tx:
        for tag in ("in", "out"):
            values = {"title": tag, "content": "The red piano.", "tags": [tag]}
            await base.create(tx, owner, notes.NOTES, values)
    answer = await found(database, owner, words_alone, '"red piano"', tag="in")
    assert [hit.title for hit in answer.hits] == ["in"]
    assert (await found(database, owner, words_alone, '"to be or not"')).hits == []


# --- Kinds spoken of ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("my note about the xylophone", "note"),
        ("E-Mail über das Xylophone", "email"),
        ("tareas del xylophone", "task"),
        ("diary: xylophone", "diary"),
        ("Termin xylophone", "event"),
        ("contacto xylophone", "contact"),
    ],
)
async def test_the_kind_spoken_of_is_raised_and_no_other_left_out(
    database: db.Database,
    owner: callers.Caller,
    words_alone: embedding.Embeddings,
    text: str,
    kind: str,
) -> None:
    async with database.transaction(owner) as tx:
        await base.create(
            tx, owner, notes.NOTES, {"title": "xylophone", "content": "xylophone"}
        )
        await base.create(
            tx, owner, emails.EMAILS, {"subject": "xylophone", "body_text": "xylophone"}
        )
        await base.create(
            tx, owner, tasks.TASKS, {"title": "xylophone", "description": "xylophone"}
        )
        await base.create(
            tx,
            owner,
            diary.DIARY,
            {"date": "2026-05-01", "content": "xylophone xylophone"},
        )
        await base.create(
            tx,
            owner,
            contacts.CONTACTS,
            {"display_name": "xylophone", "notes": "xylophone"},
        )
        event = {
            "title": "xylophone",
            "start": "2026-05-03T10:00:00+02:00",
            "description": "xylophone",
        }
        await base.create(tx, owner, events.EVENTS, event)
    plain = {
        hit.domain: hit
        for hit in (await found(database, owner, words_alone, "xylophone")).hits
    }
    hinted = await found(database, owner, words_alone, text)
    raised = {hit.domain: hit for hit in hinted.hits}
    assert (
        set(raised)
        == set(plain)
        == {"note", "email", "task", "diary", "contact", "event"}
    )
    assert raised[kind].fused.boosts["hint"] > 1
    assert all(
        "hint" not in hit.fused.boosts
        for domain, hit in raised.items()
        if domain != kind
    )
    assert all("hint" not in hit.fused.boosts for hit in plain.values())
    assert results.as_json(hinted)["understood"]["domains"] == [kind]


# --- Understood -----------------------------------------------------------------------------------------------


async def test_an_answer_tells_how_its_question_was_understood(
    database: db.Database, owner: callers.Caller, words_alone: embedding.Embeddings
) -> None:
    now = datetime(2026, 9, 16, 10, 0, tzinfo=UTC)

    async def understood(text: str) -> dict[str, Any]:
        return results.as_json(
            await found(database, owner, words_alone, text, now=now)
        )["understood"]

    assert await understood(
        'my note of last March with "red piano" and «gato negro»'
    ) == {
        "days": ["2026-03-01", "2026-03-31"],
        "domains": ["note"],
        "phrases": ["red piano", "gato negro"],
    }
    assert (await understood("what did we say in our third session?"))["session"] == [
        3,
        3,
    ]
    assert await understood("pgvector") == {}


async def test_over_http_too(api: httpx.AsyncClient) -> None:
    await api.post(
        f"{ROOT}/notes", json={"title": "Piano", "content": "The red piano."}
    )
    response = await api.get(
        f"{ROOT}/search", params={"q": 'my note about the "red piano" on 3 May 2026'}
    )
    answer = response.json()
    assert answer["understood"] == {
        "days": ["2026-05-03", "2026-05-03"],
        "domains": ["note"],
        "phrases": ["red piano"],
    }
    assert answer["results"][0]["provenance"]["bonuses"]["phrase"] > 0
