"""Terms and pieces: whatever is written is found by its own words, and cutting loses
none of them.
"""

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.records import language, passages, terms

SCRIPTS = st.characters(exclude_categories=("Cs", "Cc"), max_codepoint=0x2FFFF)
# A fragment may join the piece before it, and another the piece behind it.
LEEWAY = 2 * (passages.FRAGMENT + 2)
TEXTS = st.text(SCRIPTS, max_size=200)
SPOKEN = st.lists(
    st.sampled_from(
        [
            "the",
            "and",
            "house",
            "houses",
            "Straße",
            "straße",
            "García",
            "niña",
            "ÜBER",
            "über",
            "casa",
            "casas",
            "corriendo",
            "Häuser",
            "running",
            "INV-2024-0017",
            "ana@example.org",
            "§3",
            "3,50€",
            "京都の桜",
            "한국어",
            "don't",
            "l'amour",
            "v2.0",
            "ＡＢＣ",
            "ﬁn",
            "Ǆ",
            "İstanbul",
            "ſ",
            "a_b",
            "__init__",
            "C++",
            "#tag",
            "12",
            "2",
        ]
    ),
    min_size=1,
    max_size=30,
).map(" ".join)


@given(TEXTS)
@settings(max_examples=500, deadline=None)
def test_folding_twice_is_folding_once(text: str) -> None:
    once = terms.fold(text)
    assert terms.fold(once) == once


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("García", "garcia"),
        ("GARCÍA", "García"),
        ("Straße", "STRASSE"),
        ("ＡＢＣ", "abc"),
        ("ﬁn", "FIN"),
        ("İ", "i"),
    ],
)
def test_case_accents_and_width_do_not_matter(written: str, asked: str) -> None:
    assert terms.fold(written) == terms.fold(asked)


def missed(text: str) -> list[str]:
    """The words of a text that do not find it."""
    held = terms.of_text("", text).weights.keys()
    return [
        word
        for word in terms.words(text)
        if len(word) <= 100
        and held.isdisjoint(one.term for one in terms.of_query(word))
    ]


@given(SPOKEN)
@settings(max_examples=500, deadline=None)
def test_every_word_finds_its_text(text: str) -> None:
    assert missed(text) == []


@given(TEXTS)
@settings(max_examples=500, deadline=None)
def test_every_word_of_any_script_finds_its_text(text: str) -> None:
    assert missed(text) == []


@given(SPOKEN)
@settings(max_examples=300, deadline=None)
def test_a_text_covers_itself(text: str) -> None:
    """Asked for whole, no term that is asked exactly is missing from the text."""
    held = terms.of_text("", text[:900]).weights
    groups: dict[int, list[bool]] = {}
    for one in terms.of_query(text[:900]):
        if not one.exact:
            groups.setdefault(one.group, []).append(one.term in held)
    assert all(any(found) for found in groups.values())


@given(TEXTS | SPOKEN, st.integers(10, 60))
@settings(max_examples=500, deadline=None)
def test_cutting_loses_nothing(text: str, limit: int) -> None:
    pieces = passages.pieces_of(text, limit)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece.strip() for piece in pieces)


@given(
    st.lists(
        st.text(st.sampled_from("abcdefghij"), min_size=1, max_size=15),
        min_size=1,
        max_size=200,
    )
)
@settings(max_examples=300, deadline=None)
def test_cutting_breaks_no_word_and_keeps_to_the_limit(words: list[str]) -> None:
    pieces = passages.pieces_of(" ".join(words), 100)
    assert " ".join(pieces).split() == words
    assert max(map(len, pieces)) <= 100 + LEEWAY


@pytest.mark.parametrize(
    "text",
    [
        "x" * 5000,
        "長い文章" * 500,
        "a\n\n" * 2000,
        "\u00a0" * 900,
        " ".join(["wort"] * 3000),
    ],
)
def test_long_and_odd_texts_are_cut(text: str) -> None:
    pieces = passages.pieces_of(text)
    assert all(0 < len(piece) <= passages.LIMIT + LEEWAY for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_terms_are_what_the_database_keeps(text: str) -> None:
    for term, weight in terms.of_text(text, text, text).weights.items():
        assert 0 < len(term) <= 120
        assert weight > 0
        assert "\x00" not in term
        term.encode()
        assert unicodedata.is_normalized("NFC", term)


@given(st.text("abcdefghijklmnopqrstuvwxyzAEIOUY", min_size=1, max_size=20))
@settings(max_examples=500, deadline=None)
def test_every_form_of_a_plain_word_has_its_first_letter(word: str) -> None:
    assert {form.lstrip("~")[0] for form in terms.forms(word)} <= {word[0].lower()}


def test_threads_stem_as_one_does() -> None:
    """A long text is read in a thread while another is written."""
    words = [
        f"{start}{i}{end}"
        for i in range(800)
        for start, end in (("runn", "ings"), ("nation", "alizations"))
    ]
    alone = [language.stem(word, "en") for word in words]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            each = [
                pool.submit(lambda: [language.stem(word, "en") for word in words])
                for _ in range(4)
            ]
            assert all(one.result() == alone for one in each)
    finally:
        sys.setswitchinterval(interval)
