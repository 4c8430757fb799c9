"""The reranker: the best are sorted again by what it says, exact finds stay first, and
without it nothing is lost.
"""

from typing import Any
from uuid import UUID

from reverie import config, db
from reverie.access import callers
from reverie.llm import embedding
from reverie.records import base, notes
from reverie.search import query, search
from reverie.search import results as searched
from tests.llm import model_server


def judge(body: dict[str, Any]) -> tuple[int, Any]:
    """The later the colour in the alphabet, the better."""
    scores = [
        (ord(text.rsplit(maxsplit=1)[-1][0]) - ord("a")) / 26
        for text in body["documents"]
    ]
    return 200, {
        "results": [
            {"index": i, "relevance_score": one} for i, one in enumerate(scores)
        ]
    }


async def kept(
    database: db.Database, caller: callers.Caller, *contents: str
) -> list[UUID]:
    made: list[UUID] = []
    for content in contents:
        async with database.transaction(caller) as tx:
            made.append(
                (
                    await base.create(
                        tx, caller, notes.NOTES, {"title": "Paint", "content": content}
                    )
                ).id
            )
    return made


async def test_the_best_are_sorted_again(
    database: db.Database, owner: callers.Caller
) -> None:
    fillers = [f"the fence {'and more ' * i} amber" for i in range(1, 4)]
    made = await kept(
        database,
        owner,
        "the fence is blue",
        "the fence is yellow",
        "RAL-7016 fence is grey",
        *fillers,
    )
    with model_server.serving(judge) as server:
        settings = config.RerankerModel(
            provider="openai", base_url=server.url, model="judge", top=4
        )
        embeddings = embedding.Embeddings(config.Embedding(provider="none"), settings)
        results = await search.search(
            database, owner, embeddings, query.Query(text="fence")
        )
        (asked,) = server.asked
        assert (asked.body["query"], len(asked.body["documents"])) == ("fence", 4)
        assert asked.body["documents"][0].startswith("Paint\n")
        assert results.signals["reranker"] == "ok"
        assert [hit.record_id for hit in results.hits[:3]] == [
            made[1],
            made[2],
            made[0],
        ]
        scores = [hit.fused.score for hit in results.hits]
        assert scores == sorted(scores, reverse=True)
        assert len(results.hits) == len(made)
        assert (
            searched.as_json(results)["results"][0]["provenance"]["signals"][
                "reranker"
            ]["rank"]
            == 1
        )
        # An identifier of the question is not argued with.
        results = await search.search(
            database, owner, embeddings, query.Query(text="fence RAL-7016")
        )
        assert results.hits[0].record_id == made[2]
    results = await search.search(
        database, owner, embeddings, query.Query(text="fence")
    )
    assert results.signals["reranker"].startswith(
        "left out: The reranking server does not answer"
    )
    assert {hit.record_id for hit in results.hits} == set(made)
    embeddings.close()
