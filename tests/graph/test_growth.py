"""Extraction and the parser of Cypher take time no worse than n log n: of hostile text
twice as long, at most 2.6 times the processor's time.
"""

import contextlib

import pytest

from reverie import errors
from reverie.graph.cypher import lexer, parser
from reverie.graph.extraction import (
    gazetteer,
    lexicon,
    mentions,
    record_fields,
    text_relations,
)
from reverie.graph.resolution import keys, parsing
from tests import growth, hostile

SMALL, LARGE = 2_000, 16_000
KNOWN = gazetteer.of(
    gazetteer.KnownNode(
        f"person:{number}", "person", f"Maria Perez{number}", "", (f"Mia{number}",)
    )
    for number in range(20)
)
PIECES = (
    "Ada Lovelace ", "Ada Lovelace lives in Paris. ", "I live in Berlin since 2020. ",
    "Ada Lovelace lives in Paris and works at Vela Foods, ", "Maria ", "Mia1 ", "#tag ",
    "Maria Perez1 works at Vela Foods, ", "[[", "[[x ", '"A B" ', '"A', '"Aa Bb ',
    "Annas Haus ", "Quenbys Garten und ", "Aurora-Projekt ", "A-", "A-B-", "the ", "of ",
    "University of ", "University of the ", "A. ", "Dr. ", "2020-01-01 ", "since 2020 ",
    "Ada, ", "Ada and ", "Ada's ", "Grahams' ", "a", "A", "Aa", "\n", "not ", "I ",
    "<1p>", "Ada <1p> ", "Project X ", "HTTP ", "in Porto and Braga, ", "Grace grace ",
    "Quenby said. ", "said Quenby ", "my sister Ada ", "Ada.", "...", ".1", "1.", "x@y ",
    "ada lovelace ", "mein Haus ", "mi hermana Ada ",
)  # fmt: skip
GERMAN = (
    "Annas Haus ",
    "Quenbys Garten und ",
    "Aurora-Projekt ",
    "A-B-",
    "Aa",
    "Ada, ",
)


@pytest.mark.parametrize(
    ("piece", "language"),
    [
        *((piece, None) for piece in PIECES),
        *((piece, "de") for piece in GERMAN),
        ("mi hermana Ada ", "es"),
    ],
)
def test_mentions_and_relations(piece: str, language: str | None) -> None:
    made = growth.repeated(piece)

    def work(size: int) -> None:
        text = made(size)
        found = mentions.find(text, known=KNOWN, language=language)
        relations = text_relations.find(text, found, language=language)
        related = text_relations.related_names(relations)
        mentions.salient(found, related=related)

    growth.assert_grows_evenly(work, SMALL, largest=LARGE)


@pytest.mark.parametrize("end", [".", " and", ",", "\n"])
def test_relations_between_many_mentions(end: str) -> None:
    """Looked at by themselves: names take longer to find."""
    piece = f"Ada Lovelace lives in Paris{end} "
    found: dict[int, tuple[str, list[mentions.Mention]]] = {}

    def work(size: int) -> None:
        text, mentioned = found[size]
        for _ in range(3):
            text_relations.find(text, mentioned, language="en")

    for size in (32_000, 64_000):
        text = growth.repeated(piece)(size)
        found[size] = text, mentions.find(text, language="en")
    growth.assert_grows_evenly(work, 32_000, largest=32_000)


@pytest.mark.parametrize(
    "piece", ["<", "<a@", "a@b <", "(@", '"\\', "<a@b> ", "Ana ", "@", " "]
)
def test_addresses_in_fields(piece: str) -> None:
    made = growth.repeated(piece)
    growth.assert_grows_evenly(
        lambda size: record_fields.address(made(size)), SMALL, largest=64_000
    )


def test_an_address_inside_of_many_brackets_is_none() -> None:
    assert record_fields.address("(" * 5_000 + "a@example.org") == ("", "")


@pytest.mark.parametrize("piece", ["Ana ", "1", "1st ", "a-", "Dr. ", "'", "de ", "é"])
def test_names(piece: str) -> None:
    made = growth.repeated(piece)

    def work(size: int) -> None:
        parsing.person(made(size))
        parsing.thing(made(size))

    growth.assert_grows_evenly(work, SMALL, largest=64_000)


def test_languages() -> None:
    for pattern in growth.patterns_of(lexicon):
        for made in hostile.texts(pattern):
            growth.assert_grows_evenly(
                lambda size, made=made: lexicon.tell_language(made(size)),
                SMALL,
                largest=LARGE,
            )


HEADS = (("RETURN ", "1"), ("MATCH (a) WHERE ", "1 RETURN 1"), ("MATCH ", ""))
QUERIES = (
    "(", "[", "{a:", "1+", "-", "NOT ", "1,", "a.", "(a)-[]->", "(a)--", "(a),", "'a",
    "`a`", "/*", "CASE WHEN ", "a=a AND ", "x IN [", "[x IN ", "$a,", "size(",
    "EXISTS {", "1=", "1<", "0.", "a[", "a[1]", "UNION ", "'\\u0041'+", "'a'+", "a XOR ",
    "a IS NULL OR ", "WITH 1 AS b ", "//a\n", "\n",
)  # fmt: skip


@pytest.mark.parametrize("piece", QUERIES)
def test_cypher(piece: str) -> None:
    """Up to the longest query that is read."""
    for head, tail in HEADS:

        def work(size: int, head: str = head, tail: str = tail) -> None:
            text = head + piece * ((size - len(head + tail)) // len(piece)) + tail
            with contextlib.suppress(errors.Invalid):
                parser.checked(text)

        growth.assert_grows_evenly(work, lexer.LONGEST // 8, largest=lexer.LONGEST // 2)


def test_a_text_of_very_many_parts_is_refused() -> None:
    parser.checked("RETURN " + "+".join(["'a'"] * 200))
    with pytest.raises(errors.Invalid, match="at most 200 parts"):
        parser.checked("RETURN " + "+".join(["'a'"] * 201))


def test_keys() -> None:
    for piece in ("Ana ", "1", "a-", "é"):
        made = growth.repeated(piece)
        growth.assert_grows_evenly(
            lambda size, made=made: keys.same(made(size), made(size) + "x"),
            200,
            largest=LARGE,
        )
