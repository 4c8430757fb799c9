"""Privacy takes time no worse than n log n: each pattern, each pass of decoding, each
reader of names and numbers, on hostile texts made of what it looks for.
"""

from collections.abc import Callable, Iterator, Mapping
from types import ModuleType

import pytest

from reverie.privacy import (
    addresses,
    decoding,
    detect,
    encodings,
    escapes,
    folding,
    forms,
    known_values,
    lists,
    mask_spans,
    names,
    numbers,
    pattern_scan,
    regrouping,
    rules,
    secret_values,
    sensitivity,
    spans,
    spelled_out,
    tokenizer,
    unmasking,
)
from tests import growth, hostile

RULES = rules.load()
PATTERNS = {pattern.name: pattern for pattern in RULES.patterns}
SMALL, LARGE = 4_000, 16_000
"""A size to begin with, and one from which on what takes no time is linear."""


def grows(work: Callable[[str], object], made: hostile.Text) -> None:
    growth.assert_grows_evenly(lambda size: work(made(size)), SMALL, largest=LARGE)


def each(work: Callable[[str], Iterator[object]]) -> Callable[[str], object]:
    return lambda text: sum(1 for _ in work(text))


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern(name: str) -> None:
    pattern = PATTERNS[name]

    def scan(text: str) -> int:
        scanned = pattern_scan.of(text)
        return sum(1 for _ in pattern_scan.matches(pattern, scanned))

    for made in hostile.texts(pattern.match):
        grows(scan, made)


@pytest.mark.parametrize("name", [name for name in PATTERNS if PATTERNS[name].cue])
def test_every_cue(name: str) -> None:
    pattern = PATTERNS[name]
    assert pattern.cue is not None
    for made in hostile.texts(pattern.cue):
        grows(each(pattern.cue.finditer), made)


def test_names_of_patterns_are_their_own() -> None:
    assert len(PATTERNS) == len(RULES.patterns)


REGROUPING = (
    regrouping.marks,
    regrouping.numbers,
    regrouping.line_starts,
    regrouping.letters,
    regrouping.broken_lines,
    regrouping.addresses,
    regrouping.seams,
    regrouping.cue_seams,
    regrouping.chunks,
    regrouping.underscored_chunks,
    regrouping.wide_gaps,
    regrouping.backwards,
    regrouping.like_digits,
)


def regroup(text: str) -> None:
    for rewrite in REGROUPING:
        for _ in rewrite(text):
            pass


def unescape(text: str) -> None:
    for find in (escapes.find, escapes.runs, escapes.smuggled):
        for _ in find(text):
            pass
    for find in (escapes.symbols, escapes.lookalikes):
        for _ in find(text):
            pass


def decode(text: str) -> None:
    encodings.find(text)
    for _ in encodings.runs(text):
        pass


def read_numbers(text: str) -> None:
    for _ in numbers.find(text, RULES.words["order"]):
        pass


PASSES: Mapping[str, tuple[ModuleType, Callable[[str], object]]] = {
    "regrouping": (regrouping, regroup),
    "escapes": (escapes, unescape),
    "encodings": (encodings, decode),
    "spelled out": (spelled_out, each(spelled_out.find)),
    "numbers": (numbers, read_numbers),
    "folding": (folding, folding.fold),
    "tokens of ours": (forms, forms.looks),
}


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_by_its_own_patterns(name: str) -> None:
    module, work = PASSES[name]
    for pattern in growth.patterns_of(module):
        for made in hostile.texts(pattern):
            grows(work, made)


def test_marks_of_quotations_behind_a_hyphen() -> None:
    grows(regroup, lambda size: "a-\n" + ">" * size + "1")
    grows(regroup, lambda size: "a\n" + "> " * size + "\n")


def test_small_words_that_look_like_an_encoding() -> None:
    grows(decode, lambda size: "abcdefghijklm" + " abcd" * (size // 5) + " 12345")


PIECES = (
    "a@a@", "a@b.org ", "ana.", "a n a @ x . o r g ", "ana at x dot org ", "1", "1 ",
    "1-", "+34 600 123 456 ", "4111 1111 1111 1111 ", "ES12 ", "12/12/", "one two ",
    "double ", "12 Main Street\n", "12 Main Street, ", "A\n,", "(", "Bob (", "St. ",
    "Mr. ", "my name is ana ", "Mein Name ist Ana, ", "works for Foo and Bar, ",
    "Kim's ", "von der ", "Ana Lopez ", "A. ", "password ", "password: aB3$x9kk\n",
    "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----x-----END", "ghp_|ikVO|",
    "DNI12345678Z", "https://a:b@c.d/", "every sunday ", "church every sunday ", "教",
    "QWxhZGRpbjpvcGVuIHNlc2FtZQ== ", "61 6c 61 64 64 69 6e ", "%41", "&#64;", "\\u0041",
    "=\n", "<b>a</b>", "<!--", "**a**", "_a", "\n> a", "- a\n", "①", "а1", "\u200b",
    "e\u0301", "\n", " ", "a", "a-\n", "Person_2345", "P e r s o n _ 2 ", "llll 1111 ",
)  # fmt: skip


def read_names(text: str) -> None:
    for language in ("en", "de", "es"):
        tokenized = tokenizer.tokenize(text, RULES.words, language)
        for _ in names.find(tokenized):
            pass
        for _ in addresses.find(tokenized):
            pass


@pytest.mark.parametrize("piece", PIECES)
def test_readers_of_a_text(piece: str) -> None:
    made = growth.repeated(piece)
    grows(read_names, made)
    grows(decoding.views, made)
    grows(RULES.special.category, made)
    grows(secret_values.redacted, made)


@pytest.mark.parametrize("piece", PIECES[::3])
def test_detection(piece: str) -> None:
    grows(detect.find, growth.repeated(piece))


@pytest.mark.parametrize("piece", PIECES[1::3])
def test_levels(piece: str) -> None:
    grows(sensitivity.of_text, growth.repeated(piece))


def test_a_pair_far_apart() -> None:
    def category(size: int) -> None:
        RULES.special.category("every sunday " + "a " * size + "church " * size)

    growth.assert_grows_evenly(category, SMALL)


def test_a_private_key_that_is_a_placeholder() -> None:
    begin = "-----BEGIN PRIVATE KEY-----changeme"
    end = "\n-----END PRIVATE KEY-----"
    grows(secret_values.redacted, lambda size: begin + ";" * min(size, 39_000) + end)


KNOWN = known_values.index(
    [
        *(spans.KnownValue(f"Maria Perez{number}", "person") for number in range(20)),
        spans.KnownValue("+34 600 123 456", "phone"),
    ]
)


@pytest.mark.parametrize(
    "piece",
    ["Maria ", "maria perez1 ", "M. Perez1, ", "Perez1", "600 123 456 ", "6", "-"],
)
def test_known_values(piece: str) -> None:
    grows(each(lambda text: known_values.find(text, KNOWN)), growth.repeated(piece))


def test_a_long_known_value() -> None:
    def index(size: int) -> None:
        name = " ".join(f"ana{number}" for number in range(size // 8))
        known_values.index([spans.KnownValue(name, "person")])

    growth.assert_grows_evenly(index, 1_000, largest=8 * LARGE)


CORE = "2345678923456789234"[: forms.LENGTHS[0]]
TOKENS = unmasking.index({forms.shown("person", CORE): "Ana"})


def restore(text: str) -> None:
    unmasking.restore(text, TOKENS)
    unmasking.cores(text)
    stream = unmasking.Stream(TOKENS)
    for at in range(0, len(text), 7):
        stream.feed(text[at : at + 7])
    stream.close()


@pytest.mark.parametrize(
    "piece",
    [
        forms.shown("person", CORE),
        "Person_",
        "Person_2",
        "P e r ",
        "email_2@exam",
        "+00-",
    ],
)
def test_unmasking(piece: str) -> None:
    grows(restore, growth.repeated(piece))


def test_spans_that_overlap() -> None:
    def settle(size: int) -> None:
        found = [
            spans.FoldedSpan(at, min(size, at + 30 + at % 50), "person", at % 7 / 7)
            for at in range(0, size, 3)
        ]
        mask_spans.merge("a " * size, spans.settle(found))

    growth.assert_grows_evenly(settle, SMALL, largest=LARGE)


@pytest.mark.parametrize("piece", ["a", "haus", "wort", "nesbar"])
def test_long_words_of_german(piece: str) -> None:
    grows(lists.german, growth.repeated(piece))
