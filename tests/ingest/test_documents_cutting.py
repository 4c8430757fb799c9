"""Documents in passages: nothing is lost, nothing crosses a page, and every passage
knows where it stands.
"""

import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies

from reverie.ingest.documents import cutting, units

SENTENCE = "The heron number {} stood in the river until evening."


def running(count: int, first: int = 0) -> str:
    return " ".join(SENTENCE.format(number) for number in range(first, first + count))


def unit(*blocks: units.Block | str, number: int = 1, **place: Any) -> units.Unit:
    made = tuple(units.Block(one) if isinstance(one, str) else one for one in blocks)
    return units.Unit(number, 0, made, place)


def heading(text: str, level: int = 1) -> units.Block:
    return units.Block(text, "heading", level)


def row(text: str, number: int, kind: units.Kind = "row") -> units.Block:
    return units.Block(text, kind, place={"rows": [number, number]})


def shown(cut: cutting.Cut) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (one.head, cut.text[one.start : one.end], dict(one.place)) for one in cut.parts
    ]


def test_running_text_is_cut_at_sentences_and_overlaps() -> None:
    cut = cutting.cut([unit(running(60), page=7)])
    texts = [text for _, text, _ in shown(cut)]
    assert len(texts) == 4
    assert all(
        text.startswith("The heron") and text.endswith("evening.") for text in texts
    )
    assert all(850 <= len(text) <= 1000 for text in texts[:-1])
    assert [before.end - after.start for before, after in pairwise(cut.parts)] == [
        107
    ] * 3
    assert [place for _, _, place in shown(cut)] == [{"page": 7}] * 4
    assert cut.text == running(60)


def test_abbreviations_and_lines_end_no_sentence() -> None:
    text = (
        "\n".join(
            f"we and Dr. Heron saw no. {n} of approx. ten birds" for n in range(50)
        )
        + " word" * 100
    )
    first = cutting.cut([unit(text)]).parts[0]
    assert text[first.end].isspace()
    assert not text[: first.end].endswith((".", "birds"))


def test_a_paragraph_over_the_end_of_a_page_is_two_passages() -> None:
    cut = cutting.cut(
        [
            unit("It begins here and", page=1),
            unit("goes on there. " + running(2), number=2, page=2),
        ]
    )
    assert [place["page"] for _, _, place in shown(cut)] == [1, 2]
    assert cut.text[: cut.parts[0].end] == "It begins here and"


def test_headings_open_sections_and_are_read_before_what_does_not_hold_them() -> None:
    cut = cutting.cut(
        [
            unit(
                heading("Birds"),
                heading("Herons", 2),
                running(30),
                heading("Storks", 2),
                running(5, 30),
                heading("Detail", 4),
                running(5, 40),
                heading("Mammals"),
                running(5, 50),
            )
        ]
    )
    assert [(head, text[:5], place["section"]) for head, text, place in shown(cut)] == [
        ("", "Birds", "Birds > Herons"),  # a heading alone joins what follows
        ("Birds > Herons", "The h", "Birds > Herons"),
        ("Birds", "Stork", "Birds > Storks"),
        ("", "Mamma", "Mammals"),
    ]
    assert "Detail" in shown(cut)[2][1]


def test_a_section_runs_on_over_pages_but_not_into_another_slide() -> None:
    pages = [
        unit(heading("Title"), running(3), page=1),
        unit(running(3), number=2, page=2),
    ]
    assert shown(cutting.cut(pages))[1][::2] == (
        "Title",
        {"page": 2, "section": "Title"},
    )
    slides = [
        unit(heading("Title"), running(3), slide=1),
        unit(running(3), number=2, slide=2),
    ]
    assert [one[::2] for one in shown(cutting.cut(slides))] == [
        ("", {"slide": 1}),
        ("", {"slide": 2}),
    ]


def test_a_chapter_is_a_section() -> None:
    chapter = unit(
        heading("One"), running(20), heading("Part", 2), running(3), section="One"
    )
    cut = cutting.cut([chapter, unit(running(3), number=2, section="Two")])
    assert [(head, place["section"]) for head, _, place in shown(cut)] == [
        ("", "One"),
        ("One", "One > Part"),
        ("Two", "Two"),
    ]


def test_fragments_join_their_neighbour() -> None:
    blocks = [one for n in range(30) for one in (heading(f"Word {n}"), f"Means {n}.")]
    cut = cutting.cut([unit(*blocks)])
    assert all(100 <= len(text) < 200 for _, text, _ in shown(cut))
    cut = cutting.cut([unit(heading("Long"), running(5), heading("End"), "Short.")])
    assert [(text[-6:], place["section"]) for _, text, place in shown(cut)] == [
        ("Short.", "Long")
    ]


def test_a_slide_is_one_passage_with_its_notes() -> None:
    notes = units.Block("Say this slowly. " + running(40), "notes")
    slide = unit(heading("Plan"), "First", "Second", notes, slide=3)
    assert len(cutting.cut([slide]).parts) == 1
    long = unit(heading("Plan"), running(80), slide=4)
    parts = shown(cutting.cut([long]))
    assert len(parts) == 5
    assert [head for head, _, _ in parts] == ["", *["Plan"] * 4]
    assert {place["slide"] for _, _, place in parts} == {4}


def test_sheets_in_groups_of_rows_with_their_header() -> None:
    rows = [row(f"item {n} | {n * 3} pieces | shelf {n % 4}", n) for n in range(2, 52)]
    cut = cutting.cut(
        [unit(row("name | amount | where", 1, "header"), *rows, sheet="Plan")]
    )
    head = "[Sheet: Plan]\nname | amount | where"
    assert [(head, place) for head, _, place in shown(cut)] == [
        ("[Sheet: Plan]", {"sheet": "Plan", "rows": [1, 21]}),
        (head, {"sheet": "Plan", "rows": [22, 41]}),
        (head, {"sheet": "Plan", "rows": [42, 51]}),
    ]
    assert shown(cut)[1][1].startswith("item 22 |")


def test_a_sheet_in_several_units_keeps_its_header_and_another_has_its_own() -> None:
    read = [
        unit(row("name | amount", 1, "header"), row("screws | 12 boxes", 2), sheet="A"),
        unit(row("nails | 40 boxes", 3), number=2, sheet="A"),
        unit(row("nothing | above it", 1), number=3, sheet="B"),
    ]
    heads = [head for head, _, _ in shown(cutting.cut(read))]
    assert heads == ["[Sheet: A]", "[Sheet: A]\nname | amount", "[Sheet: B]"]


def test_a_very_long_row_is_split_and_long_rows_are_fewer() -> None:
    rows = [
        row("short | row | of | cells", 1),
        row(running(150), 2),
        *(row(running(20), n) for n in range(3, 9)),
    ]
    parts = shown(cutting.cut([unit(*rows, sheet="S")]))
    assert all(len(text) <= cutting.MOST for _, text, _ in parts)
    assert [place["rows"] for _, _, place in parts][-2:] == [[3, 4], [5, 6]] or parts[
        -1
    ][2]["rows"][1] == 8
    assert sum(place["rows"] == [2, 2] for _, _, place in parts) > 5


def test_a_table_in_running_text_repeats_its_header() -> None:
    rows = [
        units.Block(f"item number {n} | {n * 3} pieces | shelf {n % 4}", "row")
        for n in range(60)
    ]
    cut = cutting.cut(
        [
            unit(
                "Before the table.",
                units.Block("name | amount | where", "header"),
                *rows,
                "After it.",
            )
        ]
    )
    heads = [head for head, _, _ in shown(cut)]
    assert heads == ["", *["name | amount | where"] * (len(heads) - 1)]
    assert all(text.startswith("item number") for _, text, _ in shown(cut)[1:])


@pytest.mark.parametrize(
    "text",
    [
        "鷺は川に立っていた。夕方まで動かなかった。" * 150,
        "鷺は川に立っていた" * 300,
        "นกกระสายืนอยู่ในแม่น้ำจนถึงเย็นและเด็กๆเดินกลับบ้าน" * 60,
        "👩‍👩‍👧‍👦e\u0301" * 500,
        "x" * 5000,
    ],
)
def test_text_without_spaces(text: str) -> None:
    cut = cutting.cut([unit(text)])
    texts = [one for _, one, _ in shown(cut)]
    assert len(texts) > 2
    assert all(400 <= len(one) <= 1000 for one in texts[:-1])
    assert 200 <= len(texts[-1]) <= 1200
    for one in texts:  # no letter is torn from its marks
        assert one[0] not in "\u0301\u200dะาำิีึืุูั็่้๊๋์"
        assert one[-1] not in "\u200dเแโใไ"
    if "。" in text:
        assert all(one.endswith("。") and one[0] in "鷺夕" for one in texts)


def test_a_long_document_in_little_time() -> None:
    def took(pages: int) -> float:
        read = [
            unit(heading(f"Chapter {n}"), *[running(9, n)] * 6, number=n, page=n)
            for n in range(1, pages + 1)
        ]
        began = time.process_time()
        cut = cutting.cut(read)
        assert len(cut.text) > 2900 * pages
        return time.process_time() - began

    few, many = min(took(100) for _ in range(3)), took(1000)
    assert many < 40 * few  # and not a hundred times
    one_page = unit(*[running(200)] * 300)
    began = time.process_time()
    cutting.cut([one_page])
    assert time.process_time() - began < 60 * max(few, 0.05)


def test_a_word_in_a_desert_of_spaces() -> None:
    text = (" " * 2000).join(["a", "b" * 30, "c", "d", "e"])
    texts = [one for _, one, _ in shown(cutting.cut([unit(text)]))]
    assert texts[0] == "a"
    assert set("".join(texts)) == set("abcde")
    assert all(one == one.strip() for one in texts)


words = strategies.text("abcdefgh", min_size=1, max_size=12)
ending = strategies.sampled_from([" ", ". ", "! ", "\n", "; ", "  "])
sentences = strategies.lists(strategies.tuples(words, ending), min_size=1, max_size=300)
texts_made = sentences.map(lambda made: "".join(word + end for word, end in made))
anything = (
    strategies.text(max_size=60)
    | texts_made
    | strategies.integers(1, 4000).map("語".__mul__)
)
blocks_made = strategies.builds(
    units.Block,
    anything,
    strategies.sampled_from(["text", "text", "heading", "row", "header", "notes"]),
    strategies.integers(0, 6),
)
places = strategies.sampled_from(
    [{"page": 1}, {"slide": 1}, {"sheet": "S"}, {"section": "C"}, {}]
)


@hypothesis.settings(max_examples=80, deadline=None)
@hypothesis.given(
    strategies.lists(
        strategies.tuples(strategies.lists(blocks_made, max_size=8), places), max_size=5
    )
)
def test_whatever_comes(
    given: Sequence[tuple[list[units.Block], dict[str, Any]]],
) -> None:
    read = [
        units.Unit(number, 0, tuple(blocks), place)
        for number, (blocks, place) in enumerate(given, start=1)
    ]
    cut = cutting.cut(read)
    assert cut == cutting.cut(read)
    assert (
        cut.text.split()
        == " ".join(one.text for unit in read for one in unit.blocks).split()
    )
    covered = [False] * len(cut.text)
    for part in cut.parts:
        assert 0 <= part.start < part.end <= len(cut.text)
        assert part.end - part.start <= (
            cutting.MOST if {"slide", "sheet"} & set(part.place) else 3000
        )
        assert not cut.text[part.start].isspace()
        assert not cut.text[part.end - 1].isspace()
        covered[part.start : part.end] = [True] * (part.end - part.start)
    assert all(
        held or letter.isspace() for held, letter in zip(covered, cut.text, strict=True)
    )
    for before, after in pairwise(cut.parts):
        assert before.start < after.start
        assert before.end < after.end
        assert before.end - after.start <= cutting.OVERLAP * 3 // 2 + 16
    if cut.parts:
        assert max(one.end for one in cut.parts) == len(cut.text)
    _no_part_crosses(read, cut)


def _no_part_crosses(read: Sequence[units.Unit], cut: cutting.Cut) -> None:
    """Each unit's passages lie in its own stretch of the text and bear its place."""
    at = 0
    parts = list(cut.parts)
    for one in read:
        own = cutting.cut([one])
        if not own.text:
            continue
        assert cut.text.startswith(own.text, at)
        mine = [part for part in parts if at <= part.start < at + len(own.text)]
        assert all(part.end <= at + len(own.text) for part in mine)
        place = {name: value for name, value in one.place.items() if name != "section"}
        assert all(dict(part.place).items() >= place.items() for part in mine)
        at += len(own.text) + 2


@hypothesis.settings(max_examples=60, deadline=None)
@hypothesis.given(texts_made)
def test_no_word_is_torn(text: str) -> None:
    cut = cutting.cut([unit(text, page=1)])
    known = set(cut.text.split())
    for part in cut.parts:
        held = cut.text[part.start : part.end].split()
        assert set(held) <= known
        assert part.start == 0 or cut.text[part.start - 1].isspace()
        assert part.end == len(cut.text) or cut.text[part.end].isspace()
        assert part.end - part.start <= cutting.LIMIT + 200
