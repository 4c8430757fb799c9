"""The advanced mode: signals by their ranks under the owner's sliders, and every number
of it in the answer.
"""

import json
import math
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from reverie import app, db, errors
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import progress
from reverie.records import base, notes
from reverie.search import advanced, results, search
from reverie.search import query as queries
from tests.search.given import Given
from tests.web.test_records import ROOT, error_of

# Long enough (20 words) that its length takes nothing from its similarity.
FILLER = "under grey skies seven boats left before dawn while nobody on shore waved or sang except two very old sailors"
ONLY = {
    name: dict.fromkeys(advanced.NAMES, 0.0) | {name: 1.0} for name in advanced.NAMES
}
LEFT_OUT = "left out: No embedding model is configured: search goes by words."


class Life:
    """Four notes that each signal orders in its own way."""

    def __init__(
        self,
        database: db.Database,
        caller: callers.Caller,
        embeddings: embedding.Embeddings,
    ) -> None:
        self.database, self.caller, self.embeddings = database, caller, embeddings

    async def search(
        self,
        sliders: advanced.Sliders,
        *,
        embeddings: embedding.Embeddings | None = None,
        **more: Any,
    ) -> results.Results:
        query = queries.Query(text="xylophone", **more)
        return await search.by_sliders(
            self.database, self.caller, embeddings or self.embeddings, query, sliders
        )

    async def titles(self, **sliders: float) -> list[str]:
        return [
            hit.title for hit in (await self.search(advanced.Sliders(**sliders))).hits
        ]


async def note(
    database: db.Database, caller: callers.Caller, title: str, content: str
) -> UUID:
    async with database.transaction(caller) as tx:
        return (
            await base.create(
                tx, caller, notes.NOTES, {"title": title, "content": content}
            )
        ).id


async def caught_up(
    database: db.Database, embeddings: embedding.Embeddings, caller: callers.Caller
) -> None:
    async for state in progress.follow(database, embeddings, caller):
        assert not state.trouble


async def heated(
    database: db.Database,
    caller: callers.Caller,
    record_id: UUID,
    heat: float,
    *,
    accesses: float = 9,
    days: int = 0,
) -> None:
    """Warm a record: time cannot be waited for."""
    async with database.transaction(caller) as tx:
        await tx.run(
            "INSERT INTO heat (user_id, record_id, accesses, incremented_at, accessed_at, source, heat)"
            " SELECT %s, %s, %s, now() - %s * interval '1 day', now() - %s * interval '1 day', 'user', %s",
            (caller.user_id, record_id, accesses, days, days, heat),
        )


async def without_heat(database: db.Database, caller: callers.Caller) -> None:
    async with database.transaction(caller) as tx:
        await tx.run("DELETE FROM heat WHERE user_id = %s", (caller.user_id,))


def told(found: results.Results) -> dict[str, dict[str, tuple[int, float]]]:
    """(rank, normalised score) of each signal, by the title of the record."""
    return {
        hit.title: {
            name: (one.rank, round(one.score, 6))
            for name, one in hit.fused.evidence.items()
        }
        for hit in found.hits
    }


def recomputed(answer: dict[str, Any]) -> list[float]:
    """The scores by the formula in the answer, out of its provenance alone."""
    assert (
        answer["formula"]
        == "score = (sum of weight * score over signals + sum of bonuses) * product of boosts"
    )
    scores: list[float] = []
    for one in answer["results"]:
        why = one["provenance"]
        said = sum(
            signal["weight"] * signal["score"] for signal in why["signals"].values()
        )
        scores.append(
            (said + sum(why["bonuses"].values())) * math.prod(why["boosts"].values())
        )
    return scores


@pytest_asyncio.fixture
async def life(database: db.Database, owner: callers.Caller) -> AsyncIterator[Life]:
    """By words: loud, warm, plain. By meaning: plain, silent, loud. By heat: warm,
    loud.
    """
    embeddings = Given({"loud": 0.3, "plain": 0.9, "silent": 0.6})
    ids: dict[str, UUID] = {}
    for title, times in (("loud", 3), ("warm", 2), ("plain", 1), ("silent", 0)):
        ids[title] = await note(
            database, owner, title, f"{'xylophone ' * times}{FILLER}"
        )
    await caught_up(database, embeddings, owner)
    await without_heat(database, owner)
    await heated(database, owner, ids["warm"], 1.0)
    await heated(database, owner, ids["loud"], 0.5)
    yield Life(database, owner, embeddings)
    embeddings.close()


# --- Ranks ----------------------------------------------------------------------------------------------------


async def test_each_signal_counts_by_its_ranks_and_what_it_did_not_find_counts_nothing(
    life: Life,
) -> None:
    found = await life.search(advanced.Sliders())
    third = round(1 / 3, 6)
    assert told(found) == {
        "loud": {"lexical": (1, 1.0), "semantic": (3, third), "heat": (2, 0.5)},
        "warm": {"lexical": (2, round(2 / 3, 6)), "heat": (1, 1.0)},
        "plain": {"lexical": (3, third), "semantic": (1, 1.0)},
        "silent": {"semantic": (2, round(2 / 3, 6))},
    }
    scores = {hit.title: hit.fused.score for hit in found.hits}
    assert scores == pytest.approx(
        {
            "loud": 1.25 * (1 + 1 / 3 + 1 / 2) / 3,
            "warm": (2 / 3 + 1) / 3,  # heat never confirms
            "plain": 1.25 * (1 / 3 + 1) / 3,
            "silent": 2 / 3 / 3,
        }
    )
    assert [hit.title for hit in found.hits] == sorted(
        scores, key=lambda title: -scores[title]
    )


async def test_sliders_move_the_order(life: Life) -> None:
    assert await life.titles(**ONLY["lexical"]) == ["loud", "warm", "plain", "silent"]
    assert await life.titles(**ONLY["semantic"]) == ["plain", "silent", "loud", "warm"]
    assert (await life.titles(**ONLY["heat"]))[:2] == ["warm", "loud"]
    assert (await life.titles(heat=0, semantic=0.9, lexical=0.1, graph=0))[0] == "plain"
    assert (await life.titles(heat=0, semantic=0.1, lexical=0.9, graph=0))[0] == "loud"


async def test_weights_are_shares_of_the_sliders_whose_signals_can_say_something(
    life: Life,
) -> None:
    found = await life.search(
        advanced.Sliders(heat=0.2, semantic=0.6, lexical=0.2, graph=1.0)
    )
    loud = next(hit for hit in found.hits if hit.title == "loud")
    weights = {name: one.weight for name, one in loud.fused.evidence.items()}
    assert weights == pytest.approx({"heat": 0.2, "semantic": 0.6, "lexical": 0.2})
    assert found.signals["graph"] == "left out: no name of the graph is in it"


async def test_what_two_signals_confirm_is_boosted_and_heat_is_none_of_them(
    life: Life,
) -> None:
    found = await life.search(advanced.Sliders())
    boosts = {hit.title: dict(hit.fused.boosts) for hit in found.hits}
    assert boosts == {
        "loud": {"confirmation": 1.25},
        "plain": {"confirmation": 1.25},
        "warm": {},
        "silent": {},
    }


# --- Signals that say nothing ---------------------------------------------------------------------------------


async def test_a_signal_whose_scores_are_all_alike_is_named_and_its_weight_goes_to_the_others(
    database: db.Database, owner: callers.Caller
) -> None:
    embeddings = Given({"far": 0.4, "near": 0.8})
    for title in ("far", "near"):
        await note(database, owner, title, f"xylophone {FILLER}")
    await caught_up(database, embeddings, owner)
    await without_heat(database, owner)
    sliders = advanced.Sliders(heat=0, semantic=0.1, lexical=0.9, graph=0)
    found = await search.by_sliders(
        database, owner, embeddings, queries.Query(text="xylophone"), sliders
    )
    assert (
        found.signals["lexical"]
        == "degenerate: its scores are all alike, its weight went to the others"
    )
    assert found.signals["semantic"] == "ok"
    assert [hit.title for hit in found.hits] == ["near", "far"]
    assert {name: one.weight for name, one in found.hits[0].fused.evidence.items()} == {
        "lexical": 0,
        "semantic": 1,
    }
    embeddings.close()


async def test_without_an_embedder_meaning_is_named_and_left_out(
    life: Life, words_alone: embedding.Embeddings
) -> None:
    found = await life.search(advanced.Sliders(heat=0), embeddings=words_alone)
    assert found.signals["semantic"] == LEFT_OUT
    assert [hit.title for hit in found.hits] == ["loud", "warm", "plain"]
    for hit in found.hits:
        assert set(hit.fused.evidence) <= {"lexical", "heat"}
        assert hit.fused.evidence["lexical"].weight == 1.0


async def test_what_nothing_finds_has_its_reason(
    life: Life, words_alone: embedding.Embeddings
) -> None:
    query = queries.Query(text="xqzzt")
    found = await search.by_sliders(
        life.database, life.caller, words_alone, query, advanced.Sliders()
    )
    assert found.hits == []
    assert found.reason.startswith(
        "Nothing holds these words or means something close to them. Meaning was not"
    )


@pytest.mark.parametrize(
    ("scores", "alike"),
    [
        ((1.0, 1.0), True),
        ((1.0, 0.951), True),
        ((1.0, 0.94), False),
        ((20.0, 19.5, 19.2), True),
        ((20.0, 19.5, 18.0), False),
        ((1.0,), False),  # of one alone there is nothing to tell apart
        ((), False),
    ],
)
def test_scores_are_alike_within_five_percent(
    scores: Sequence[float], *, alike: bool
) -> None:
    assert advanced.degenerate(scores) is alike


# --- The pure fusion ------------------------------------------------------------------------------------------


def raw(record: int, score: float, *, passage: int | None = None) -> advanced.RawScore:
    return advanced.RawScore(UUID(int=record), passage, score)


def test_three_signals_confirm_more_than_two_and_heat_beside_them_nothing() -> None:
    raws = {
        "lexical": [
            raw(1, 9.0, passage=11),
            raw(2, 6.0, passage=21),
            raw(3, 3.0, passage=31),
        ],
        "semantic": [raw(1, 0.9, passage=12), raw(2, 0.5, passage=21)],
        "graph": [raw(1, 1.0, passage=11), raw(4, 0.5, passage=41)],
        "heat": [raw(1, 1.0), raw(3, 0.4)],
    }
    fused, said = advanced.fuse(
        raws, advanced.Sliders(), statuses=dict.fromkeys(advanced.NAMES, "ok")
    )
    assert said == dict.fromkeys(advanced.NAMES, "ok")
    by_record = {one.record_id.int: one for one in fused}
    assert {record: dict(one.boosts) for record, one in by_record.items()} == {
        1: {"confirmation": 1.5},
        2: {"confirmation": 1.25},
        3: {},  # words and heat: one signal that confirms
        4: {},
    }
    assert {record: one.score for record, one in by_record.items()} == pytest.approx(
        {1: 1.5, 2: 1.25 * (2 / 3 + 1 / 2) / 4, 3: (1 / 3 + 1 / 2) / 4, 4: 1 / 2 / 4}
    )
    assert [one.record_id.int for one in fused] == [1, 2, 3, 4]
    assert by_record[1].passage_id == 11
    assert by_record[4].passage_id == 41


def test_the_best_passage_of_a_record_stands_for_it_and_equal_scores_share_a_rank() -> (
    None
):
    found = [
        raw(1, 5.0, passage=11),
        raw(2, 4.0, passage=21),
        raw(3, 4.0, passage=31),
        raw(1, 1.0, passage=12),
    ]
    fused, _ = advanced.fuse({"lexical": found}, advanced.Sliders(), statuses={})
    assert [(one.passage_id, one.evidence["lexical"].rank) for one in fused] == [
        (11, 1),
        (21, 2),
        (31, 2),
    ]
    assert [one.evidence["lexical"].score for one in fused] == pytest.approx(
        [1, 2 / 3, 2 / 3]
    )
    assert fused[0].evidence["lexical"].raw == 5.0


def test_where_every_signal_is_degenerate_what_they_found_still_counts() -> None:
    raws = {"lexical": [raw(1, 4.0, passage=11), raw(2, 4.0, passage=21)]}
    fused, said = advanced.fuse(raws, advanced.Sliders(), statuses={})
    assert (
        said["lexical"]
        == "degenerate: its scores are all alike, and no other signal counts"
    )
    assert [one.score for one in fused] == [1.0, 1.0]


# --- Over HTTP ------------------------------------------------------------------------------------------------


async def advanced_search(api: httpx.AsyncClient, **params: str) -> dict[str, Any]:
    response = await api.get(f"{ROOT}/search/advanced", params=params)
    assert response.status_code == 200, response.text
    return json.loads(response.text)


@pytest_asyncio.fixture
async def filled(api: httpx.AsyncClient, reverie: app.App) -> httpx.AsyncClient:
    """Notes of a holiday, with the built-in model's vectors."""
    for title, content in (
        (
            "Beach",
            "A hot day by the sea: we swam, the children built castles of sand, and there was ice cream.",
        ),
        (
            "Trip",
            "The trip to the beach was cancelled, so the trip took us to the mountains in the rain instead.",
        ),
        (
            "Taxes",
            "The tax office wants the receipts of the last two years before the end of next month.",
        ),
    ):
        await api.post(f"{ROOT}/notes", json={"title": title, "content": content})
    await caught_up(reverie.database, reverie.embeddings, reverie.owner)
    return api


async def test_every_score_can_be_computed_from_the_answer_alone(
    filled: httpx.AsyncClient,
) -> None:
    for sliders in (
        {},
        {"heat": "0"},
        {"heat": "0.1", "semantic": "1", "lexical": "0.5", "graph": "1"},
    ):
        answer = await advanced_search(filled, q="beach trip", **sliders)
        scores = [one["score"] for one in answer["results"]]
        assert {"Beach", "Trip"} <= {one["title"] for one in answer["results"]}
        assert scores == pytest.approx(recomputed(answer), abs=1e-5)
        assert scores == sorted(scores, reverse=True)
        assert answer["signals"]["graph"] == "left out: no name of the graph is in it"
        for one in answer["results"]:
            signals = one["provenance"]["signals"]
            assert signals
            assert all(
                set(signal) == {"raw", "score", "rank", "weight"}
                for signal in signals.values()
            )
            confirmed = {"lexical", "semantic"} <= set(signals)
            assert one["provenance"]["boosts"] == (
                {"confirmation": 1.25} if confirmed else {}
            )


async def test_sliders_move_the_order_over_http(filled: httpx.AsyncClient) -> None:
    none = {"heat": "0", "graph": "0"}
    by_words = await advanced_search(
        filled, q="trip mountains sea", lexical="1", semantic="0", **none
    )
    assert by_words["results"][0]["title"] == "Trip"
    by_meaning = await advanced_search(
        filled, q="a day swimming at the seaside", lexical="0", semantic="1", **none
    )
    assert by_meaning["results"][0]["title"] == "Beach"


@pytest.mark.parametrize(
    ("sliders", "sentence"),
    [
        (
            {"heat": "0", "semantic": "0", "lexical": "0", "graph": "0"},
            "All sliders are at 0: no signal counts.",
        ),
        ({"semantic": "1.01"}, "less than or equal to 1"),
        ({"lexical": "-0.1"}, "greater than or equal to 0"),
        ({"graph": "nan"}, "graph"),
        ({"heat": "much"}, "heat"),
        ({"colour": "1"}, "colour"),
    ],
)
async def test_sliders_that_make_no_sense_are_refused_with_a_sentence(
    api: httpx.AsyncClient, sliders: dict[str, str], sentence: str
) -> None:
    response = await api.get(f"{ROOT}/search/advanced", params={"q": "x", **sliders})
    assert response.status_code == 422
    error = error_of(response)
    assert sentence in json.dumps(error)


@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf")])
def test_a_slider_goes_from_nothing_to_one(value: float) -> None:
    for name in advanced.NAMES:
        with pytest.raises(errors.Invalid, match=r"^A slider goes from 0 to 1\.$"):
            advanced.checked(advanced.Sliders(**{name: value}))


async def test_what_went_cold_steps_back_unless_it_is_asked_for(
    api: httpx.AsyncClient, reverie: app.App
) -> None:
    ids: dict[str, UUID] = {}
    for title in ("cold", "fresh"):
        ids[title] = await note(
            reverie.database, reverie.owner, title, f"xylophone {title}"
        )
    await heated(reverie.database, reverie.owner, ids["cold"], 0.05, accesses=1, days=8)
    answer = await advanced_search(api, q="xylophone")
    assert ([one["title"] for one in answer["results"]], answer["hidden_cold"]) == (
        ["fresh"],
        1,
    )
    answer = await advanced_search(api, q="xylophone", include_cold="true")
    assert ({one["title"] for one in answer["results"]}, answer["hidden_cold"]) == (
        {"cold", "fresh"},
        0,
    )


async def test_the_words_of_the_standard_mode_are_read_here_too(life: Life) -> None:
    query = queries.Query(text='my note "xylophone"')
    found = await search.by_sliders(
        life.database, life.caller, life.embeddings, query, advanced.Sliders()
    )
    assert results.as_json(found)["understood"] == {
        "domains": ["note"],
        "phrases": ["xylophone"],
    }
