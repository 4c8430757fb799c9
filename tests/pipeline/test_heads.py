"""What stands above a passage: search reads it with each, by words and by meaning, and
no text holds it twice.
"""

from typing import Any
from uuid import UUID

import pytest

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import worker
from reverie.records import base, notes, passages, terms
from reverie.search import query as queries
from reverie.search import search
from tests.pipeline import embedder
from tests.pipeline.conftest import caught_up

HERONS = "\n\n".join(
    f"It stood in the river for {number} hours, and nobody saw it leave. " * 3
    for number in range(4)
)
CONTENT = f"""Before any heading, a few words about what this note is and why I wrote it.

# Birds

Seen from the bridge over the old canal, early on a Sunday in the spring.

## Herons ##

{HERONS}

```
# no heading, but a comment in some code that goes on for a while so that it is no fragment
```

### Young

They are grey all over, and they wait for hours without any movement at all.

# Mammals

An otter, seen once, at the weir below the mill, swimming against the stream."""


async def note(
    database: db.Database, caller: callers.Caller, content: str, **more: Any
) -> UUID:
    async with database.transaction(caller) as tx:
        return (
            await base.create(
                tx, caller, notes.NOTES, {"content": content, "title": "Walk", **more}
            )
        ).id


async def cut(
    database: db.Database, caller: callers.Caller, record_id: UUID
) -> list[dict[str, Any]]:
    async with database.transaction(caller) as tx:
        return await tx.rows(
            "SELECT place->>'section' AS section, head, text, hash, length FROM passage WHERE record_id = %s"
            " ORDER BY ordinal",
            (record_id,),
            binary=True,
        )


async def test_a_note_is_cut_by_section(
    database: db.Database, owner: callers.Caller
) -> None:
    found = await cut(database, owner, await note(database, owner, CONTENT))
    herons = [row for row in found if row["section"] == "Birds > Herons"]
    assert list(dict.fromkeys(row["section"] for row in found)) == [
        None,
        "Birds",
        "Birds > Herons",
        "Birds > Herons > Young",
        "Mammals",
    ]
    assert [row["head"] for row in herons] == [
        "Birds",
        *["Birds > Herons"] * (len(herons) - 1),
    ]
    assert len(herons) > 3
    assert "".join("".join(row["text"] for row in found).split()) == "".join(
        CONTENT.split()
    )
    assert all(
        len(row["text"]) <= passages.LIMIT + 2 * passages.FRAGMENT for row in found
    )
    assert (
        next(row["head"] for row in found if "grey" in row["text"]) == "Birds > Herons"
    )


@pytest.mark.parametrize("form", ["text", "html"])
async def test_only_markdown_has_headings(
    database: db.Database, owner: callers.Caller, form: str
) -> None:
    found = await cut(
        database, owner, await note(database, owner, CONTENT, format=form)
    )
    assert {(row["section"], row["head"]) for row in found} == {(None, "")}


async def test_headings_of_any_order_and_fragments(
    database: db.Database, owner: callers.Caller
) -> None:
    long = "These are words enough to be more than a fragment of a note that nobody would read alone."
    content = f"## First\n{long}\n## Second\n{long}\n# Walk\n## Third\nshort\n## Fourth\n{long}"
    found = await cut(database, owner, await note(database, owner, content))
    assert [(row["section"], row["head"]) for row in found] == [
        ("First", ""),
        ("Second", ""),
        ("Walk > Fourth", ""),  # a fragment goes with what follows
    ]


async def test_the_words_above_find_a_passage_and_do_not_make_it_longer(
    database: db.Database, owner: callers.Caller
) -> None:
    made = await note(database, owner, CONTENT)
    none = embedding.Embeddings(embedding.config.Embedding(provider="none"))
    found = (
        await search.search(database, owner, none, queries.Query(text="herons 3 hours"))
    ).hits
    assert [hit.record_id for hit in found] == [made]
    best = found[0].passages[0]
    assert "3 hours" in best.text
    assert "Herons" not in best.text
    assert best.place == {"section": "Birds > Herons"}
    rows = await cut(database, owner, made)
    assert (
        next(row["length"] for row in rows if row["text"] == best.text)
        == terms.of_text("", best.text).length
    )
    none.close()


async def test_the_embedder_reads_what_stands_above_and_its_hash_knows(
    database: db.Database,
    owner: callers.Caller,
    embeddings: embedding.Embeddings,
    server: embedder.Server,
) -> None:
    made = await note(database, owner, CONTENT)
    async with worker.Worker(database, embeddings).running():
        await caught_up(database, owner)
    rows = await cut(database, owner, made)
    read = {
        "\n".join(one for one in ("Walk", row["head"], row["text"]) if one)
        for row in rows
    }
    assert set(server.texts) == read
    assert [bytes(row["hash"]) for row in rows] == [
        passages.content_hash("Walk", row["text"], row["head"]) for row in rows
    ]
    assert passages.content_hash("a", "b") == passages.content_hash("a", "b", "")
    assert passages.content_hash("a", "b") != passages.content_hash("a", "b", "c")


async def test_a_whole_section_is_one_passage(
    database: db.Database, owner: callers.Caller
) -> None:
    made = await note(database, owner, "anything")
    text = passages.Text(
        "Long", [passages.Section("word " * 300, {"page": 1}, head="Above", whole=True)]
    )
    async with database.transaction(owner) as tx:
        await passages.rewrite(
            tx, owner, domain="note", record_id=made, sensitivity="normal", new=text
        )
    (row,) = await cut(database, owner, made)
    assert (row["head"], row["text"], row["length"]) == ("Above", "word " * 300, 300)
