"""`reverie graph`, as its user sees it."""

import asyncio
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from reverie import app, config
from reverie.graph import nodes
from reverie.graph.extraction import record_fields, update
from reverie.records import base, contacts, emails, notes, record_types
from tests.cli.conftest import Home

ROME, OSLO = datetime(2020, 1, 1, tzinfo=UTC), datetime(2024, 6, 1, tzinfo=UTC)


@pytest.fixture
def lived_in(warm_home: Home) -> Iterator[Home]:
    """A home in which the graph has read three records, and forgets them afterwards."""
    asyncio.run(_live(warm_home))
    yield warm_home
    asyncio.run(_forget(warm_home))


_RECORDS: list[
    tuple[
        record_types.Domain[Any],
        dict[str, Any],
        list[update.NamedEntity],
        list[update.StatedFact],
    ]
] = [
    (
        contacts.CONTACTS,
        {
            "display_name": "Ana Ruiz",
            "emails": ["ana@example.org"],
            "company": "Palanca",
            "notes": "tall",
        },
        [],
        [],
    ),
    (
        emails.EMAILS,
        {
            "subject": "Hello",
            "from": "Ana Ruiz <ana@example.org>",
            "to": ["Carla Neri <c@example.org>"],
        },
        [],
        [],
    ),
    (
        notes.NOTES,
        {"title": "Ana moves", "content": "From Rome to Oslo."},
        [
            update.NamedEntity("person", "Ana Ruiz"),
            update.NamedEntity("entity", "Rome", "place"),
            update.NamedEntity("entity", "Oslo", "place"),
        ],
        [
            update.StatedFact("Ana Ruiz", "located_in", "Rome", valid_from=ROME),
            update.StatedFact("Ana Ruiz", "located_in", "Oslo", valid_from=OSLO),
        ],
    ),
]


async def _live(home: Home) -> None:
    settings = config.load({**os.environ, **home.environment()})
    async with (
        app.opened(settings) as reverie,
        reverie.database.transaction(reverie.owner) as tx,
    ):
        for domain, values, named, stated in _RECORDS:
            made = await base.create(tx, reverie.owner, domain, values)
            title = domain.text(made).title
            reading = update.Extraction(
                domain.name,
                made.id,
                title,
                fields=record_fields.of(made),
                named=named,
                stated=stated,
            )
            await update.apply(tx, reverie.owner, reading)
        await nodes.add(
            tx, reverie.owner, nodes.NodeDraft("person", "Ana María Ruiz", by="user")
        )


async def _forget(home: Home) -> None:
    settings = config.load({**os.environ, **home.environment()})
    async with (
        app.opened(settings) as reverie,
        reverie.database.transaction(reverie.owner) as tx,
    ):
        await tx.run("DELETE FROM node WHERE user_id = %s", (reverie.owner.user_id,))


def test_nothing_yet(home: Home) -> None:
    assert home.run("graph", "stats").stdout.startswith(
        "The graph is empty. It fills as you keep records"
    )
    assert home.run("graph", "duplicates").stdout.strip() == "No two look like one."
    assert "The graph is empty" in home.run("graph", "show", "Ana", code=1).stderr
    assert (
        "The graph is empty" in home.run("graph", "path", "Ana", "Bruno", code=1).stderr
    )
    assert home.json("graph", "stats") == {"nodes": {}, "links": {}, "version": 0}
    assert home.json("graph", "duplicates") == []


def test_who_somebody_is(lived_in: Home) -> None:
    shown = lived_in.run("graph", "show", "ana ruiz").stdout
    lines = [line.strip() for line in shown.splitlines()]
    assert lines[0] == "Ana Ruiz (person)"
    assert "ana@example.org" in lines[1]
    assert "notes: tall" in lines
    assert "→ Oslo  since 2024-06-01" in lines
    assert "Rome" not in shown
    assert lines[lines.index("→ Oslo  since 2024-06-01") + 1].startswith(
        "“Ana moves” (note"
    )
    assert "located in" in lines
    assert any(line.startswith("→ Palanca  since 20") for line in lines)
    assert "← “Hello” (email)  role: from" in lines
    before = lived_in.run("graph", "show", "Ana Ruiz", "--as-of", "2022-05-01").stdout
    assert "→ Rome  2020-01-01 to 2024-06-01" in before
    assert "Oslo" not in before
    assert {"Rome", "Oslo"} <= set(
        lived_in.run("graph", "show", "Ana Ruiz", "--ended").stdout.split()
    )
    whole = lived_in.json("graph", "show", "ana@example.org")
    assert (whole["name"], whole["emails"]) == ("Ana Ruiz", ["ana@example.org"])
    assert (
        "is no day"
        in lived_in.run("graph", "show", "Ana Ruiz", "--as-of", "May", code=1).stderr
    )


def test_a_name_that_nobody_or_several_have(lived_in: Home) -> None:
    assert (
        "Nothing in the graph is called Zoe."
        in lived_in.run("graph", "show", "Zoe", code=1).stderr
    )
    several = lived_in.run("graph", "show", "Ruiz", code=1).stderr
    assert "may be several" in several
    ids = [one["id"] for one in _persons(lived_in)]
    assert all(one in several for one in ids)
    assert len(ids) == 2


def _persons(home: Home) -> list[dict[str, str]]:
    pair = home.json("graph", "duplicates")[0]
    return [pair["first"], pair["second"]]


def test_a_way_from_one_to_the_other(lived_in: Home) -> None:
    lines = lived_in.run("graph", "path", "Oslo", "Palanca").stdout.splitlines()
    assert lines[0].startswith("Oslo ←located_in— Ana Ruiz   “Ana moves” (note")
    assert lines[1].startswith("Ana Ruiz —works_at→ Palanca   “Ana Ruiz” (contact")
    over = lived_in.run(
        "graph", "path", "Carla Neri", "ana@example.org"
    ).stdout.splitlines()
    assert over == [
        "Carla Neri ←mentions— “Hello” (email)",
        "“Hello” (email) —mentions→ Ana Ruiz",
    ]
    none = lived_in.run("graph", "path", "Carla Neri", "Ana María Ruiz").stdout
    assert (
        none.strip()
        == "No way of at most 4 links leads from Carla Neri to Ana María Ruiz."
    )
    assert (
        lived_in.json("graph", "path", "Carla Neri", "Ana María Ruiz")["found"] is False
    )
    assert lived_in.json("graph", "path", "Oslo", "Palanca")["length"] == 2


def test_figures(lived_in: Home) -> None:
    words = lived_in.run("graph", "stats").stdout.split()
    assert words[:2] == ["9", "nodes"]
    assert lived_in.json("graph", "stats")["nodes"] == {
        "entity": 3,
        "person": 3,
        "source": 3,
    }


def test_merged_and_two_again(lived_in: Home) -> None:
    suggested = lived_in.run("graph", "duplicates").stdout
    assert "Ana Ruiz  =?  Ana María Ruiz   (person, 0." in suggested
    merge = next(
        line.split() for line in suggested.splitlines() if "reverie graph merge" in line
    )
    done = lived_in.run("graph", *merge[2:])
    assert done.stdout.strip() == "Ana María Ruiz is Ana Ruiz from now on."
    merge_id = done.stderr.split("unmerge ")[1].split("`")[0]
    assert lived_in.json("graph", "duplicates") == []
    assert merge_id in lived_in.run("graph", "show", "Ana María Ruiz").stderr
    assert lived_in.run("graph", "unmerge", merge_id).stdout.startswith(
        "Two again: Ana"
    )
    assert len(lived_in.json("graph", "duplicates")) == 1
    assert "no such merge" in lived_in.run("graph", "unmerge", merge_id, code=1).stderr
    assert "is no id" in lived_in.run("graph", "unmerge", "7", code=1).stderr
    again = lived_in.json("graph", "merge", "ana@example.org", "Ana María Ruiz")
    assert again["loser_name"] == "Ana María Ruiz"
    assert {
        one["name"] for one in lived_in.json("graph", "unmerge", again["id"])["nodes"]
    } == {
        "Ana Ruiz",
        "Ana María Ruiz",
    }
