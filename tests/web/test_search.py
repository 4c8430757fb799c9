"""Search over HTTP: parameters, filters, errors."""

import httpx
import pytest

from reverie.records import catalogue
from tests.web.test_records import ROOT, error_of, filled


async def ids(api: httpx.AsyncClient, **params: str | list[str]) -> list[str]:
    response = await api.get(f"{ROOT}/search", params=params)
    assert response.status_code == 200, response.text
    return [one["id"] for one in response.json()["results"]]


async def test_a_record_is_found_at_once_and_gone_at_once(
    api: httpx.AsyncClient,
) -> None:
    made = (await filled(api, catalogue.DOMAINS["note"], 3))[0]
    assert made["id"] in await ids(api, q="plumber sink")
    await api.delete(f"{ROOT}/notes/{made['id']}")
    assert made["id"] not in await ids(api, q="plumber sink")
    await api.post(f"{ROOT}/notes/{made['id']}/restore")
    assert made["id"] in await ids(api, q="plumber sink")


async def test_filters(api: httpx.AsyncClient) -> None:
    for name in ("note", "bookmark", "transaction"):
        await api.post(
            f"{ROOT}/{catalogue.DOMAINS[name].plural}",
            json={
                "note": {
                    "title": "xylophone",
                    "content": "xylophone",
                    "tags": ["music"],
                },
                "bookmark": {
                    "url": "https://example.org/xylophone",
                    "title": "xylophone",
                },
                "transaction": {
                    "date": "2026-05-01",
                    "amount": "-5",
                    "counterparty": "xylophone",
                },
            }[name],
        )
    assert len(await ids(api, q="xylophone")) == 3
    assert len(await ids(api, q="xylophone", limit="2")) == 2
    assert len(await ids(api, q="xylophone", domain="note")) == 1
    assert len(await ids(api, q="xylophone", domain=["note", "transactions"])) == 2
    assert len(await ids(api, q="xylophone", tag="music")) == 1
    assert (
        len(await ids(api, q="xylophone", **{"from": "2026-05-01", "to": "2026-05-01"}))
        == 1
    )


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"q": ""},
        {"q": "  "},
        {"q": "x" * 1001},
        {"q": "x", "limit": "0"},
        {"q": "x", "limit": "51"},
        {"q": "x", "domain": "dreams"},
        {"q": "x", "from": "May"},
        {"q": "x", "tier": "mild"},
        {"q": "x", "colour": "red"},
        {"q": ["x", "y"]},
    ],
)
async def test_questions_that_make_no_sense(
    api: httpx.AsyncClient, params: dict[str, str]
) -> None:
    response = await api.get(f"{ROOT}/search", params=params)
    assert response.status_code == 422
    error_of(response)
