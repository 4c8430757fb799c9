"""Two people on one database, with records of the same names: neither ever learns of
the other's.
"""

from typing import Any

import httpx
import pytest

from reverie.records import catalogue, record_types
from tests.web import lives
from tests.web.test_records import ROOT, by_domain, filled

LONG_AGO = "2020-01-01T00:00:00Z"
CANARY = "canary-7f3a"
UNKNOWN = "01a00000-0000-7000-8000-000000000009"


def marked(domain: record_types.Domain[Any], count: int) -> list[dict[str, Any]]:
    """Records that carry a word that nobody else's have."""
    found = lives.bodies(domain.name, count)
    for one in found:
        one[lives.SECRET[domain.name]] = (
            f"{one.get(lives.SECRET[domain.name]) or ''} {CANARY}"
        )
        one["custom"] = {"mark": CANARY}
    return found


@by_domain
async def test_neither_sees_the_other(
    api: httpx.AsyncClient,
    others_api: httpx.AsyncClient,
    domain: record_types.Domain[Any],
) -> None:
    path = f"{ROOT}/{domain.plural}"
    foreign = [
        (await others_api.post(path, json=body)).json()["id"]
        for body in marked(domain, 3)
    ]
    await others_api.delete(f"{path}/{foreign[2]}")
    own = await filled(api, domain, 2)
    column, value = lives.CHANGE[domain.name]

    async def asked(one: str) -> list[tuple[int, str]]:
        answers = [
            await api.get(f"{path}/{one}"),
            await api.patch(f"{path}/{one}", json={column: value}),
            await api.patch(f"{path}/{one}", json={"nonsense": 1}),
            await api.delete(f"{path}/{one}"),
            await api.post(f"{path}/{one}/restore"),
        ]
        return [(answer.status_code, answer.text) for answer in answers]

    baseline = await asked(UNKNOWN)
    assert [status for status, _ in baseline] == [404, 404, 422, 404, 404]
    for one in foreign:
        assert await asked(one) == baseline

    texts: list[str] = []
    for params in (
        {},
        {"format": "compact"},
        {"deleted": "true"},
        {"since": LONG_AGO},
        {"since": LONG_AGO, "format": "compact"},
        {"tier": "cold"},
        {"fields": "id"},
        {"limit": "1"},
    ):
        answer = await api.get(path, params=params)
        assert answer.status_code == 200
        texts.append(answer.text)
        meta = answer.json()["meta"]
        assert meta.get("total", meta.get("total_changes")) == (
            0 if "deleted" in params else 2
        )
    texts += [
        (await api.get(f"{ROOT}/changes", params=p)).text
        for p in ({}, {"since": LONG_AGO})
    ]
    for needle in (CANARY, *foreign):
        assert not [text for text in texts if needle in text]
    # Nothing that was tried has changed anything of the other person's.
    there = (await others_api.get(path)).json()
    assert sorted(one["id"] for one in there["items"]) == sorted(foreign[:2])
    assert not [
        one for one in there["items"] if one["id"] in [mine["id"] for mine in own]
    ]


async def test_a_foreign_reference_is_like_an_unknown_one(
    api: httpx.AsyncClient, others_api: httpx.AsyncClient
) -> None:
    feed = (
        await others_api.post(f"{ROOT}/feeds", json=lives.bodies("feed", 1)[0])
    ).json()["id"]
    answers = {
        (response.status_code, response.text)
        for response in [
            await api.post(f"{ROOT}/feed-items", json={"title": "x", "feed_id": one})
            for one in (feed, UNKNOWN)
        ]
    }
    assert len(answers) == 1
    assert answers.pop()[0] == 422


async def test_two_people_may_keep_the_same_day(
    api: httpx.AsyncClient, others_api: httpx.AsyncClient
) -> None:
    for client in (api, others_api):
        response = await client.post(
            f"{ROOT}/diary", json={"date": "2026-11-28", "content": "same"}
        )
        assert response.status_code == 201


@pytest.mark.parametrize("word", [CANARY, "glossary", "Kaution"])
async def test_search_finds_only_ones_own(
    api: httpx.AsyncClient, others_api: httpx.AsyncClient, word: str
) -> None:
    for domain in catalogue.DOMAINS.values():
        for body in marked(domain, 2):
            assert (
                await others_api.post(f"{ROOT}/{domain.plural}", json=body)
            ).status_code == 201
    answer = await api.get(
        f"{ROOT}/search", params={"q": word, "include_cold": "true", "limit": "50"}
    )
    assert answer.json()["results"] == []
    own = (await api.post(f"{ROOT}/notes", json={"content": f"my own {word}"})).json()[
        "id"
    ]
    again = await api.get(
        f"{ROOT}/search", params={"q": word, "include_cold": "true", "limit": "50"}
    )
    assert [one["id"] for one in again.json()["results"]] == [own]
    assert CANARY not in again.text.replace(word, "") or word == CANARY
