"""Reading a question and cutting a text take time no worse than n log n: of a text twice
as long, at most 2.6 times the processor's time. A question is measured up to its limit.
"""

import itertools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import pytest

from reverie.records import passages, terms
from reverie.search import lexical, query, query_intent, question_type, results
from reverie.search.dates import timewords
from tests import growth

SMALL, LARGE = 2_000, 64_000
NOW = datetime(2026, 11, 28, tzinfo=UTC)
TIMES = (
    "May ", "in May ", "and May ", "between May and ", "from May to June ", "1/1/20 ",
    "2020-01-01 ", "last week ", "since May ", "before May ", "two weeks before May ",
    "monday last week ", "session 1 ", "first to second session ", "q1 ", "q1,", "2020-",
    '"May" ', "“a", "„a", "„“", "«", "‘a", "today ", "USA Today ", "the ", "1", "1st ",
    "over the last ", "a few ", "not the last session ", "-", "é", "last time we talk ",
    "from Ada and Bob ", "email from ", "Bob ", "when ", "what did ana say ",
)  # fmt: skip


def times(text: str) -> None:
    when = timewords.read(text, now=NOW, timezone="UTC")
    timewords.content(text, when)


def hints(text: str) -> None:
    query_intent.read(text)
    query_intent.holds(text, "a b")


@pytest.mark.parametrize("piece", TIMES)
def test_questions_up_to_the_longest(piece: str) -> None:
    made = growth.repeated(piece)
    for work in (times, hints, lexical.query_terms):

        def several(size: int, work: Callable[[str], object] = work) -> None:
            text = made(size)[:size]
            for _ in range(20):
                work(text)

        growth.assert_grows_evenly(
            several, query.LONGEST // 4, largest=query.LONGEST // 2
        )


@pytest.mark.parametrize("piece", TIMES)
def test_times_of_longer_texts(piece: str) -> None:
    made = growth.repeated(piece)
    growth.assert_grows_evenly(lambda size: times(made(size)), SMALL, largest=8_000)


@pytest.mark.parametrize("mark", '"“„«»‘')
def test_quotations_that_do_not_end(mark: str) -> None:
    made = growth.repeated(f"{mark}a ")
    growth.assert_grows_evenly(lambda size: hints(made(size)), SMALL, largest=LARGE)


@pytest.mark.parametrize(
    "piece", ["when did i last ", "who is ana ", "what said ", "? "]
)
def test_types_of_questions(piece: str) -> None:
    made = growth.repeated(piece)

    def several(size: int) -> None:
        for _ in range(20):
            question_type.read(made(size)[:size])

    growth.assert_grows_evenly(several, 50, largest=100)


NUMBERS = itertools.count()


def new_letters() -> str:
    """What makes each text new: words are remembered."""
    return str(next(NUMBERS)).translate(str.maketrans("0123456789", "abcdefghij"))


TEXTS: Mapping[str, Callable[[str], object]] = {
    "terms": lambda text: terms.of_text("a", text),
    "terms of a title": lambda text: terms.of_text(text, "a"),
    "passages": passages.pieces_of,
    "marks": lambda text: results.highlights(text, {"a", "ana"}),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str) -> None:
    for piece in (
        "a", "a ", "ana", "1", "1 ", "é", "e\u0301", "中", "a-", "INV-1 ", "a. ", ".", "\n",
        "\n\n", "a\n\n", " ", "a.b@", "'", "_", "ß", "ＡＢ", "a! b? ", "\ta\r\n",
    ):  # fmt: skip
        made = growth.repeated(piece)
        growth.assert_grows_evenly(
            lambda size, made=made: TEXTS[name](made(size) + new_letters()),
            SMALL,
            largest=LARGE,
        )
