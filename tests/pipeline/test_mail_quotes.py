"""What a mail quotes and its signature have no vector: they are found by their words,
and the mail that is quoted by words and meaning.
"""

from collections.abc import Iterator

import pytest

from reverie import db
from reverie.access import callers
from reverie.llm import embedding
from reverie.pipeline import worker
from reverie.records import base, emails
from reverie.search import query, search
from tests.pipeline import topics
from tests.pipeline.conftest import caught_up, vectors

_SIGNATURE = "-- \nXaver Holm\nOldenburg Bakery, 12 Long Street\n+49 441 5550123"
_QUOTE = """On Monday Zebulon Quist <zq@example.org> wrote:
> Hello,
>
> zettel7 about the roof over the boathouse
> > and Wendeline asked for slates before that"""
# So much of it that its passages would outweigh the answer.
_LONG_QUOTE = "\n".join(
    f"> {'Slates and battens, row by row. ' * 9}{i}" for i in range(4)
)


@pytest.fixture
def reading(model: topics.Model) -> Iterator[embedding.Embeddings]:
    one = embedding.Embeddings(model.settings_with())
    yield one
    one.close()


async def mail(
    database: db.Database,
    caller: callers.Caller,
    body: str,
    subject: str,
    **more: object,
) -> None:
    values = {"subject": subject, "body_text": body, **more}
    async with database.transaction(caller) as tx:
        await base.create(tx, caller, emails.EMAILS, values)


async def answer(
    database: db.Database, caller: callers.Caller, body: str, subject: str
) -> None:
    await mail(database, caller, body, subject, thread="a@x", message_id=f"{subject}@x")


async def found(
    database: db.Database,
    caller: callers.Caller,
    reading: embedding.Embeddings,
    text: str,
) -> list[tuple[str, float]]:
    """Subjects with the score of their best passage, best first."""
    results = await search.search(database, caller, reading, query.Query(text=text))
    return [(hit.title, hit.passages[0].score) for hit in results.hits]


async def test_a_quote_and_a_signature_are_found_by_words_and_the_mail_by_meaning(
    database: db.Database,
    owner: callers.Caller,
    model: topics.Model,
    reading: embedding.Embeddings,
) -> None:
    original = "zettel7 about the roof over the boathouse"
    await mail(database, owner, original, "Boathouse", thread="a@x", message_id="a@x")
    body = f"zettel9, so next week.\n\n{_SIGNATURE}\n\n{_QUOTE}"
    await answer(database, owner, body, "Slates")
    async with worker.Worker(database, reading).running():
        await caught_up(database, owner)
    own = {f"Boathouse\n{original}", "Slates\nzettel9, so next week."}
    assert set(model.texts) == own
    assert await vectors(database, owner) == (2, 0)
    # By meaning, and not its answer.
    (first, best), *others = await found(database, owner, reading, "frage7")
    assert first == "Boathouse"
    assert all(score < best / 2 for _, score in others)
    assert (await found(database, owner, reading, "frage9"))[0][0] == "Slates"
    # Who only wrote in the quote, and the words of a signature.
    for words in ("Zebulon", "Wendeline", "Oldenburg", '"5550123"', "Xaver Holm"):
        assert (await found(database, owner, reading, words))[0][0] == "Slates"
    both = {title for title, _ in await found(database, owner, reading, "boathouse")}
    assert both == {"Boathouse", "Slates"}


@pytest.mark.parametrize(
    ("subject", "body", "values"),
    [
        ("Fwd: Slates", f"See below.\n\n{_QUOTE}", {"thread": "a@x"}),
        ("WG: Slates", f"Siehe unten.\n\n{_QUOTE}", {"thread": "a@x"}),
        ("A poem", f"I read this:\n\n{_QUOTE}", {"thread": "b@x"}),
        ("Slates", f"I read this:\n\n{_QUOTE}", {}),
        ("Only a quote", f"{_QUOTE}\n\n{_SIGNATURE}", {"thread": "a@x"}),
    ],
)
async def test_what_no_other_mail_says_is_embedded(
    database: db.Database,
    owner: callers.Caller,
    model: topics.Model,
    reading: embedding.Embeddings,
    subject: str,
    body: str,
    values: dict[str, object],
) -> None:
    """A mail that forwards, that answers none, or that says nothing itself."""
    await mail(database, owner, body, subject, message_id="b@x", **values)
    async with worker.Worker(database, reading).running():
        await caught_up(database, owner)
    assert (await found(database, owner, reading, "frage7"))[0][0] == subject
    assert any("zettel7" in text for text in model.texts)


async def test_a_long_text_below_a_rule_is_no_signature(
    database: db.Database,
    owner: callers.Caller,
    model: topics.Model,
    reading: embedding.Embeddings,
) -> None:
    lines = "\n".join(f"zettel{i} is on the agenda" for i in range(20))
    await answer(database, owner, f"As agreed:\n--\n{lines}", "Agenda")
    async with worker.Worker(database, reading).running():
        await caught_up(database, owner)
    assert sum(text.count("zettel") for text in model.texts) == 20


async def test_a_quote_does_not_take_from_the_meaning_of_the_answer(
    database: db.Database, owner: callers.Caller, reading: embedding.Embeddings
) -> None:
    """Passages without a vector have no part in the means of a window."""
    said = "zettel5 was what we agreed on when we met, and I think that it still holds."
    await mail(database, owner, said, "Plain")
    await answer(database, owner, f"{said}\n\n{_LONG_QUOTE}\n{_SIGNATURE}", "Quoting")
    async with worker.Worker(database, reading).running():
        await caught_up(database, owner)
    scores = dict(await found(database, owner, reading, "frage5"))
    assert scores["Quoting"] == pytest.approx(scores["Plain"], rel=0.01)


async def test_a_changed_mail_leaves_no_vector_behind(
    database: db.Database, owner: callers.Caller, reading: embedding.Embeddings
) -> None:
    values = {"subject": "S", "body_text": f"zettel1\n\n{_SIGNATURE}"}
    async with database.transaction(owner) as tx:
        made = await base.create(tx, owner, emails.EMAILS, values)
    async with worker.Worker(database, reading).running():
        await caught_up(database, owner)
        assert await vectors(database, owner) == (1, 0)
        async with database.transaction(owner) as tx:
            body = {"body_text": f"zettel2\n\n{_SIGNATURE}"}
            await base.update(tx, owner, emails.EMAILS, made.id, body)
        await caught_up(database, owner)
        assert await vectors(database, owner) == (1, 0)
        async with database.transaction(owner) as tx:
            await base.delete(tx, owner, emails.EMAILS, made.id)
        await caught_up(database, owner)
        assert await vectors(database, owner) == (0, 0)
