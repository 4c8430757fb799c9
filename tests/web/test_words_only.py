"""First results as one types: by words alone, with no model asked and no graph."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import httpx

from reverie import app
from reverie.access import callers
from reverie.pipeline import progress
from tests.conftest import client_of
from tests.search.given import Given
from tests.web.test_records import ROOT

LEFT_OUT = "left out: words only"


class Unasked(Given):
    """A model that fails the test if anybody asks it about a question."""

    def __init__(self) -> None:
        super().__init__({"kayak": 0.9}, dimensions=384)
        self.may_be_asked = False

    @property
    def reranks(self) -> bool:
        return not self.may_be_asked

    async def query(self, text: str, *arguments: Any, **more: Any) -> Any:
        assert self.may_be_asked, "the model was asked for a vector"
        return await super().query(text, *arguments, **more)

    async def rerank(self, query: str, texts: Sequence[str], **more: Any) -> NoReturn:
        raise AssertionError("the reranker was asked")

    async def makes_sense(self, text: str) -> bool:
        assert self.may_be_asked, "the known words were asked"
        return True


async def _answer(api: httpx.AsyncClient, path: str = "", **params: str) -> Any:
    response = await api.get(f"{ROOT}/search{path}", params=params)
    assert response.status_code == 200, response.text
    return response.json()


async def test_words_alone_answer_without_a_model(
    reverie: app.App, owner: callers.Caller
) -> None:
    model = Unasked()
    async with await client_of(replace(reverie, embeddings=model), owner) as api:
        notes = (
            {"title": "Mooring", "content": "The boat is moored at pier nine."},
            {"title": "Paddling", "content": "A kayak for two, red."},
        )
        for note in notes:
            made = await api.post(f"{ROOT}/notes", json=note)
            assert made.status_code == 201, made.text
        async for _ in progress.follow(reverie.database, model, owner):
            pass
        quick = await _answer(api, q="boat pier", words_only="true")
        assert [hit["title"] for hit in quick["results"]] == ["Mooring"]
        assert quick["signals"] == {
            "lexical": "ok",
            "semantic": LEFT_OUT,
            "graph": LEFT_OUT,
            "heat": "ok",
        }
        assert list(quick["results"][0]["provenance"]["signals"]) == ["lexical"]
        phrase = await _answer(api, q='"moored at pier"', words_only="true")
        assert [hit["title"] for hit in phrase["results"]] == ["Mooring"]
        nothing = await _answer(api, q="xylophone", words_only="true")
        assert nothing["results"] == []
        assert nothing["reason"].endswith("Meaning was not searched: words only")
        own_weights = await _answer(api, "/advanced", q="boat", words_only="true")
        assert own_weights["signals"]["semantic"] == LEFT_OUT
        model.may_be_asked = True
        whole = await _answer(api, q="boat pier")
        assert whole["signals"]["semantic"] == "ok"
        titles = {hit["title"] for hit in whole["results"]}
        assert titles == {"Mooring", "Paddling"}


async def test_words_alone_keep_filters_and_time(api: httpx.AsyncClient) -> None:
    for title, tag in (("Tide table", "sea"), ("Tide and time", "books")):
        body = {"title": title, "content": "tide", "tags": [tag]}
        assert (await api.post(f"{ROOT}/notes", json=body)).status_code == 201
    found = await _answer(api, q="tide", tag="sea", words_only="true")
    assert [hit["title"] for hit in found["results"]] == ["Tide table"]
    old = await _answer(api, q="tide", words_only="true", to="2001-01-01")
    assert old["results"] == []
