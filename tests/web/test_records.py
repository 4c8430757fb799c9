"""Every verb of every domain, over HTTP, on the real database."""

from typing import Any
from uuid import UUID

import httpx
import pytest

from reverie import app
from reverie.access import callers
from reverie.records import base, catalogue, record_types
from tests.web import lives

ROOT = "/api/v1"
DOMAINS = list(catalogue.DOMAINS.values())
by_domain = pytest.mark.parametrize(
    "domain", DOMAINS, ids=[one.name for one in DOMAINS]
)


def error_of(response: httpx.Response) -> dict[str, Any]:
    """The error of an answer, whose envelope is complete."""
    body = response.json()
    assert list(body) == ["error"]
    assert set(body["error"]) == {"code", "message", "details", "hint"}
    assert body["error"]["message"].endswith(".")
    assert int(response.headers["x-token-count"]) > 0
    return body["error"]


async def filled(
    api: httpx.AsyncClient, domain: record_types.Domain[Any], count: int
) -> list[dict[str, Any]]:
    """That many new records, as the API gave them back."""
    found: list[dict[str, Any]] = []
    for body in lives.bodies(domain.name, count):
        response = await api.post(f"{ROOT}/{domain.plural}", json=body)
        assert response.status_code == 201, response.text
        found.append(response.json())
    return found


@by_domain
async def test_a_record_lives_through_every_verb(
    api: httpx.AsyncClient, domain: record_types.Domain[Any]
) -> None:
    path = f"{ROOT}/{domain.plural}"
    body = lives.bodies(domain.name, 1)[0]
    created = await api.post(path, json=body)
    assert created.status_code == 201
    record = created.json()
    assert created.headers["location"] == f"{path}/{record['id']}"
    assert set(record) == set(domain.shown)
    for name, value in body.items():
        # Times come back in their own words, so only what has one spelling is compared.
        if not isinstance(value, str) or name not in ("start", "end", "amount"):
            if isinstance(value, str) and value[:4].isdigit() and "T" in value:
                continue
            assert record[name] == value or name in (
                "attendees",
                "attachments",
                "turns",
            ), name

    assert (await api.get(f"{path}/{record['id']}")).json() == record
    column, value = lives.CHANGE[domain.name]
    changed = await api.patch(f"{path}/{record['id']}", json={column: value})
    assert changed.status_code == 200
    assert changed.json() == record | {
        column: value,
        "updated_at": changed.json()["updated_at"],
    }
    listed = (await api.get(path)).json()
    assert listed == {
        "items": [changed.json()],
        "meta": {"total": 1, "limit": 50, "offset": 0, "has_more": False},
    }

    gone = await api.delete(f"{path}/{record['id']}")
    assert gone.status_code == 200
    assert gone.json()["deleted_at"] is not None
    for method in ("GET", "PATCH", "DELETE"):
        again = await api.request(
            method, f"{path}/{record['id']}", json={} if method == "PATCH" else None
        )
        assert again.status_code == 404
    assert (await api.get(path)).json()["items"] == []
    assert [
        one["id"]
        for one in (await api.get(path, params={"deleted": "true"})).json()["items"]
    ] == [record["id"]]

    back = await api.post(f"{path}/{record['id']}/restore")
    assert back.status_code == 200
    assert back.json() == changed.json() | {"updated_at": back.json()["updated_at"]}
    assert (await api.get(f"{path}/{record['id']}")).status_code == 200


@by_domain
async def test_what_cannot_be_kept_is_said_in_the_words_of_the_records(
    api: httpx.AsyncClient,
    reverie: app.App,
    owner: callers.Caller,
    domain: record_types.Domain[Any],
) -> None:
    path = f"{ROOT}/{domain.plural}"
    body = lives.bodies(domain.name, 1)[0]
    for wrong in (
        {**body, "nonsense": 1},
        {},
        {**body, "sensitivity": "secret"},
        {**body, "user_id": str(owner.user_id)},
    ):
        if not wrong and not any(
            one.is_required() for one in domain.new.model_fields.values()
        ):
            continue  # some kinds may be empty
        response = await api.post(path, json=wrong)
        assert response.status_code == 422
        async with reverie.database.transaction(owner) as tx:
            with pytest.raises(base.errors.Invalid) as refused:
                await base.create(tx, owner, domain, wrong)
        error = error_of(response)
        assert (error["code"], error["message"], error["hint"]) == (
            "invalid",
            refused.value.message,
            refused.value.hint,
        )
        assert error["details"]["problems"]
    assert (await api.get(path)).json()["meta"]["total"] == 0


@by_domain
async def test_unknown_malformed_and_deleted_ids_look_the_same(
    api: httpx.AsyncClient, domain: record_types.Domain[Any]
) -> None:
    path = f"{ROOT}/{domain.plural}"
    kept = (await filled(api, domain, 1))[0]["id"]
    await api.delete(f"{path}/{kept}")
    ids = [
        kept,
        str(UUID(int=7)),
        "0",
        "nil",
        "%20",
        "'; DROP TABLE note; --",
        "{" + kept + "}",
        kept.replace("-", ""),
    ]
    answers = {
        (r.status_code, r.text) for r in [await api.get(f"{path}/{one}") for one in ids]
    }
    assert len(answers) == 1
    assert answers.pop()[0] == 404
    for method, suffix in (("PATCH", ""), ("DELETE", ""), ("POST", "/restore")):
        bodies = {
            (
                await api.request(
                    method,
                    f"{path}/{one}{suffix}",
                    json={} if method == "PATCH" else None,
                )
            ).text
            for one in ids[1:]
        }
        assert len(bodies) == 1


@by_domain
async def test_compact_is_a_line_a_record(
    api: httpx.AsyncClient, domain: record_types.Domain[Any]
) -> None:
    path = f"{ROOT}/{domain.plural}"
    await filled(api, domain, 3)
    items = (await api.get(path)).json()["items"]
    answer = (await api.get(path, params={"format": "compact", "limit": 2})).json()
    assert list(answer) == ["format", "summary", "lines", "ids", "meta"]
    assert answer["format"] == "compact"
    assert answer["summary"] == f"2 of 3 {domain.plural}"
    assert answer["ids"] == [one["id"] for one in items[:2]]
    assert [line[-12:] for line in answer["lines"]] == [
        f" id:{one[-8:]}" for one in answer["ids"]
    ]
    assert all("\n" not in line for line in answer["lines"])
    assert answer["meta"] == {"total": 3, "limit": 2, "offset": 0, "has_more": True}
    # One record is always whole, and an error is always in full.
    single = await api.get(f"{path}/{answer['ids'][0]}", params={"format": "compact"})
    assert single.json() == items[0]
    error_of(await api.get(f"{path}/x", params={"format": "compact"}))


@by_domain
async def test_fields_choose_columns(
    api: httpx.AsyncClient, domain: record_types.Domain[Any]
) -> None:
    path = f"{ROOT}/{domain.plural}"
    record = (await filled(api, domain, 1))[0]
    shown = lives.SECRET[domain.name]
    for fields in (shown, f"created_at,{shown}", f"id, {shown}"):
        answer = await api.get(path, params={"fields": fields})
        wanted = {"id", shown} | {name.strip() for name in fields.split(",")}
        assert answer.json()["items"] == [
            {name: record[name] for name in record if name in wanted}
        ]
    single = await api.get(f"{path}/{record['id']}", params={"fields": shown})
    assert single.json() == {"id": record["id"], shown: record[shown]}
    for fields in ("nonsense", "user_id", "", f"{shown},"):
        refused = await api.get(path, params={"fields": fields})
        assert refused.status_code == 422
        assert shown in error_of(refused)["hint"]
        assert "user_id" not in error_of(refused)["hint"]
    both = await api.get(path, params={"fields": shown, "format": "compact"})
    assert both.status_code == 422
    assert "exclude each other" in error_of(both)["message"]


@by_domain
async def test_parameters_are_typed_and_known(
    api: httpx.AsyncClient, domain: record_types.Domain[Any]
) -> None:
    path = f"{ROOT}/{domain.plural}"
    unknown = await api.get(path, params={"colour": "red"})
    assert unknown.status_code == 422
    assert all(
        name in error_of(unknown)["hint"]
        for name in ("limit", "since", *domain.filters)
    )
    for name, value in (
        ("limit", "0"),
        ("limit", "201"),
        ("limit", "x"),
        ("offset", "-1"),
        ("tier", "mild"),
        ("deleted", "perhaps"),
        ("format", "xml"),
        ("since", "yesterday"),
        ("since", "2026-01-01T00:00:00"),
        ("since", ""),
    ):
        assert (await api.get(path, params={name: value})).status_code == 422, (
            name,
            value,
        )
    assert (await api.get(f"{path}?limit=1&limit=2")).status_code == 422
    for name, one in domain.filters.items():
        if one.type is not str:
            wrong = await api.get(path, params={name: "nonsense"})
            assert wrong.status_code == 422
            assert f"`{name}`" in error_of(wrong)["message"]
        good = {bool: "true", UUID: str(UUID(int=1)), str: "x%_'\""}.get(
            one.type, "2026-01-01"
        )
        assert (await api.get(path, params={name: good})).status_code == 200, name
    for method, suffix in (
        ("POST", ""),
        ("PATCH", "/x"),
        ("DELETE", "/x"),
        ("GET", "/x"),
        ("POST", "/x/restore"),
    ):
        refused = await api.request(
            method, f"{path}{suffix}", params={"colour": "red"}, json={}
        )
        assert refused.status_code == 422


async def test_filters_narrow_and_pages_follow(api: httpx.AsyncClient) -> None:
    notes = await filled(api, catalogue.DOMAINS["note"], 10)
    pinned = (await api.get(f"{ROOT}/notes", params={"pinned": "true"})).json()
    assert [one["id"] for one in pinned["items"]] == [
        one["id"] for one in notes if one["pinned"]
    ]
    tagged = (
        await api.get(f"{ROOT}/notes", params={"tag": "home", "archived": "false"})
    ).json()
    assert [one["tags"] for one in tagged["items"]] == [["home"]]
    seen: list[str] = []
    for offset in range(0, 12, 4):
        page = (
            await api.get(f"{ROOT}/notes", params={"limit": 4, "offset": offset})
        ).json()
        assert page["meta"] == {
            "total": 10,
            "limit": 4,
            "offset": offset,
            "has_more": offset < 8,
        }
        seen += [one["id"] for one in page["items"]]
    assert sorted(seen) == sorted(one["id"] for one in notes)
    await filled(api, catalogue.DOMAINS["transaction"], 10)
    some = await api.get(
        f"{ROOT}/transactions", params={"from": "2026-11-05", "to": "2026-11-08"}
    )
    assert [one["date"] for one in some.json()["items"]] == [
        "2026-11-08",
        "2026-11-06",
        "2026-11-05",
    ]


async def test_only_opening_a_record_warms_it(api: httpx.AsyncClient) -> None:
    one, two = (await filled(api, catalogue.DOMAINS["note"], 2))[:2]
    for _ in range(3):
        await api.get(f"{ROOT}/notes/{one['id']}")
        await api.get(f"{ROOT}/notes")
    warm = (await api.get(f"{ROOT}/notes", params={"tier": "warm"})).json()["items"]
    assert [found["id"] for found in warm] == [one["id"]]
    cold = (await api.get(f"{ROOT}/notes", params={"tier": "cold"})).json()["items"]
    assert [found["id"] for found in cold] == [two["id"]]
    for _ in range(6):
        await api.get(f"{ROOT}/notes/{one['id']}")
    for tier in ("hot", "warm"):
        found = (await api.get(f"{ROOT}/notes", params={"tier": tier})).json()
        assert found["meta"]["total"] == 1, tier


async def test_one_diary_entry_a_day(api: httpx.AsyncClient) -> None:
    first = await api.post(
        f"{ROOT}/diary", json={"date": "2026-11-28", "content": "eins"}
    )
    second = await api.post(
        f"{ROOT}/diary", json={"date": "2026-11-28", "content": "zwei"}
    )
    assert second.status_code == 409
    assert "one a day" in error_of(second)["message"]
    await api.delete(f"{ROOT}/diary/{first.json()['id']}")
    assert (
        await api.post(f"{ROOT}/diary", json={"date": "2026-11-28", "content": "zwei"})
    ).status_code == 201
    assert (
        await api.post(f"{ROOT}/diary/{first.json()['id']}/restore")
    ).status_code == 409


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"x"',
        b"null",
        b"\xff\xfe",
        b'{"content":"a","content":"b"}',
        b'{"content":NaN}',
        b'{"content":"x","custom":{"a":1,"a":2}}',
        b"[" * 100_000,
        b'{"content":"\\u0000"}',
        b'{"content":"\\ud800"}',
        b'{"content":"x","custom":{"a":' + b"9" * 5000 + b"}}",
    ],
    ids=lambda body: repr(body[:20]),
)
async def test_a_body_that_is_no_json_object_is_refused(
    api: httpx.AsyncClient, body: bytes
) -> None:
    response = await api.post(f"{ROOT}/notes", content=body)
    assert response.status_code == 422
    error_of(response)


async def test_a_body_has_a_limit(api: httpx.AsyncClient) -> None:
    response = await api.post(
        f"{ROOT}/notes", content=b'{"content":"' + b"x" * (33 << 20) + b'"}'
    )
    assert response.status_code == 413
    assert error_of(response)["code"] == "too_large"


async def test_the_description_names_every_route_and_every_field(
    api: httpx.AsyncClient,
) -> None:
    whole = (await api.get(f"{ROOT}/openapi.json")).json()
    assert whole["openapi"].startswith("3.")
    for domain in DOMAINS:
        path = whole["paths"][f"{ROOT}/{domain.plural}"]
        sent = path["post"]["requestBody"]["content"]["application/json"]["schema"][
            "$ref"
        ].rsplit("/", 1)[1]
        fields = whole["components"]["schemas"][sent]["properties"]
        assert set(domain.own) - domain.derived <= set(fields)
        assert set(domain.filters) <= {one["name"] for one in path["get"]["parameters"]}
        assert set(whole["paths"][f"{ROOT}/{domain.plural}/{{record_id}}"]) == {
            "get",
            "patch",
            "delete",
        }
        shown = whole["components"]["schemas"][domain.record.__name__]["properties"]
        assert set(shown) == set(domain.shown)
    references = {
        one.split('"')[0]
        for one in str(whole).replace("'", '"').split("#/components/schemas/")[1:]
    }
    assert references <= set(whole["components"]["schemas"])
    assert "cdn" not in str(whole).lower()
    for page in ("/docs", "/redoc", f"{ROOT}/docs"):
        assert (await api.get(page)).status_code == 404
