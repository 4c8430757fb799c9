"""Passes over a text skip where they can find nothing: what they find is what a plain
reading of all of it finds.
"""

import base64
import itertools
import random
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from reverie.privacy import (
    anchored,
    digit_runs,
    encodings,
    escapes,
    folding,
    mapped_text,
    numbers,
    regrouping,
    rules,
    sensitivity,
    spelled_out,
    word_rules,
)
from tests import hostile

Level = sensitivity.Level
Spans = list[tuple[int, int]]

# Longer than what is read around digits, and without any.
FAR = "and the letter of my aunt lay under old maps " * 3
GLUE = (" ", " ", "\n", "", ", ", f" {FAR}")


AROUND = (
    *(("", ""), ("7", "7"), ("a", "7"), ("7", "a"), ("", "1234"), ("", "abc")),
    *(("", "ABCD1"), ("7", "A"), ("A", "7"), ("(", ")"), ("x", "x")),
)


def part(module: ModuleType, name: str) -> re.Pattern[str]:
    pattern: re.Pattern[str] = vars(module)[name]
    return pattern


def texts(pattern: re.Pattern[str], count: int) -> Iterator[str]:
    """Samples of a pattern with what it may look for around them, near each other,
    apart, and in prose.
    """
    chance = random.Random(pattern.pattern)
    samples = list(hostile.samples(pattern, count))
    for sample, (before, behind) in zip(samples, itertools.cycle(AROUND), strict=False):
        yield f"{FAR}{before}{sample}{behind} {FAR}"
        pieces = [sample, *chance.choices(samples, k=chance.randint(0, 4))]
        yield "".join(piece[:300] + chance.choice(GLUE) for piece in pieces)
        cut = chance.randint(0, min(len(sample), 80))
        yield FAR + sample[cut:] + chance.choice(GLUE) + sample[:cut] + FAR


def spans(matches: Iterator[re.Match[str]]) -> Spans:
    return [match.span() for match in matches]


NEAR_DIGITS = {
    "separators": (regrouping, "_SEPARATORS", "_SEPARATOR_REACH", ""),
    "seams": (regrouping, "_SEAM", "_SEAM_REACH", "_SEAM_DIGITS"),
    "cue seams": (regrouping, "_CUE_SEAM", "_CUE_SEAM_REACH", ""),
    "reversible words": (regrouping, "_REVERSIBLE", "_REVERSIBLE_REACH", ""),
    "numbers": (numbers, "_RUN", "_REACH", ""),
    "IBANs": (numbers, "_IBAN_START", "_REACH", ""),
}


@pytest.mark.parametrize("name", NEAR_DIGITS)
def test_near_digits_is_found_what_is_found_everywhere(name: str) -> None:
    module, pattern_name, reach, fewest = NEAR_DIGITS[name]
    pattern = part(module, pattern_name)
    found = 0
    for text in texts(pattern, 600):
        if name == "seams":
            text = text.replace("_", "-")  # with these all of it is read
        everywhere = spans(pattern.finditer(text))
        near = digit_runs.matches(
            pattern, text, vars(module)[reach], fewest=vars(module).get(fewest, 1)
        )
        assert spans(near) == everywhere, text
        found += len(everywhere)
    assert found > 100


@pytest.mark.parametrize("name", NEAR_DIGITS)
def test_a_shorter_reach_would_lose_something(name: str) -> None:
    module, pattern_name, reach_name, fewest = NEAR_DIGITS[name]
    pattern = part(module, pattern_name)
    reach = vars(module)[reach_name] // 6
    assert any(
        spans(
            digit_runs.matches(pattern, text, reach, fewest=vars(module).get(fewest, 1))
        )
        != spans(pattern.finditer(text))
        for text in texts(pattern, 600)
    )


ANCHORED = {
    "marks": (regrouping, "_MARK", "_MARK_START"),
    "escapes": (escapes, "_ESCAPE", "_START"),
}


@pytest.mark.parametrize("name", ANCHORED)
def test_from_its_first_signs_is_found_what_is_found_everywhere(name: str) -> None:
    module, pattern_name, start_name = ANCHORED[name]
    pattern = part(module, pattern_name)
    found = 0
    for text in texts(pattern, 400):
        everywhere = spans(pattern.finditer(text))
        start = part(module, start_name)
        assert spans(anchored.matches(pattern, start, text)) == everywhere, text
        found += len(everywhere)
    assert found > 1000


FORMS = (
    part(encodings, "_CODES"),
    re.compile(
        r"(?<![0-9A-Za-z+/])[0-9A-Za-z+/_-]{10,}(?:\s{1,4}[0-9A-Za-z+/_-]{4,})*={0,2}"
    ),
    part(encodings, "_HEX"),
    part(encodings, "_BASE32"),
    part(encodings, "_ASCII85"),
    part(encodings, "_BINARY"),
)
"""Encoded runs, each as one regular expression for all of a text."""


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.pattern[:30])
def test_encoded_runs_are_those_of_their_forms(form: re.Pattern[str]) -> None:
    prose = part(encodings, "_PROSE")
    found = 0
    for text in texts(form, 300):
        matches = [match for each in FORMS for match in each.finditer(text)]
        expected = [
            match.span() for match in matches if not prose.fullmatch(match.group())
        ]
        if not part(encodings, "_ANY").search(text):
            expected = []
        assert list(encodings.runs(text)) == expected, text
        found += len(expected)
    assert found > 300


def test_symbols_of_digits_and_letters_are_read_wherever_they_are_in_unicode() -> None:
    read = 0
    for char in map(chr, range(0xB2, 0x1F200)):
        digit = unicodedata.digit(char, None)
        if digit is None or unicodedata.category(char) != "No":
            continue
        (edit,) = escapes.symbols(f"a{char}")
        assert edit == mapped_text.Edit(1, 2, str(digit))
        read += 1
    assert read > 60
    for text, said in {"Ⓐ": "A", "🄰": "A", "🅰": "A", "🇦": "a", "㉈": ""}.items():
        assert [edit.replacement for edit in escapes.symbols(text)] == [said][
            : len(said)
        ]


def test_letters_of_other_scripts_are_read_in_words_with_latin_ones() -> None:
    for letter in "АВЕКМНОРСТХУаеорсухіјѕԁһԛԝΑΒΕΖΗΙΚΜΝΟΡΤΥΧοαν":
        assert len(list(escapes.lookalikes(f"x{letter}"))) == 1
        assert not list(escapes.lookalikes(f"x {letter}"))


def test_folding_keeps_for_each_letter_where_it_stood() -> None:
    """What is folded of a text is what is folded of each of its characters."""
    chance = random.Random(6)
    for _ in range(2000):
        text = "".join(
            chance.choices("ab 1\t—’é²½ﬁＡ４\u200b\u00ad😀ªß𝐚ﷺ教ア\xa0İ", k=9)
        )
        alone = [folding.fold(char).text for char in text]
        folded = folding.fold(text)
        assert folded.text == "".join(alone)
        places = [at for at, said in enumerate(alone) for _ in said]
        for at, place in enumerate(places):
            assert folded.back(at, at + 1) == (place, place + 1)
    accented = folding.fold("xe\u0301\u200by\u0301\u0300 — o")
    assert accented.text == "xéý - o"
    assert accented.back(1, 2) == (1, 3)


def plain_pieces(text: str, gaps: str) -> list[mapped_text.Edit]:
    """Runs of pieces that are as long as their first, one piece after another."""
    inside = rf"[^\s{gaps}]"
    run: list[re.Match[str]] = []
    between = ""
    edits: list[mapped_text.Edit] = []
    for piece in re.finditer(rf"(?<!{inside}){inside}{{1,8}}(?!{inside})", text):
        gap = text[run[-1].end() : piece.start()] if run else ""
        size = len(run[0].group()) if run else 0
        goes_on = 0 < len(gap) <= 6 and len(piece.group()) <= size
        if "\n" in gap and run[-1].group().endswith("."):
            goes_on = False
        if len(run) > 1 and gap != between:
            goes_on = False
        if goes_on:
            run.append(piece)
            between = gap
        if not goes_on or len(piece.group()) < size:
            edits += joined(run)
            run = [piece]
    return edits + joined(run)


def joined(run: Sequence[re.Match[str]]) -> list[mapped_text.Edit]:
    fewest = 3
    if run and any(char.isdigit() for char in run[0].group()):
        fewest = 2
    if len(run) < fewest or len(run[0].group()) < 2:
        return []
    said = run[0].string[run[0].start() : run[-1].end()]
    if re.fullmatch(r"[^\W\d_][a-zß-öø-ÿ'’.]*(?: [^\W\d_][a-zß-öø-ÿ'’.]*)*", said):
        return []
    return [
        mapped_text.Edit(first.end(), second.start(), "")
        for first, second in itertools.pairwise(run)
    ]


PIECES = (
    "abc",
    "ab1",
    "1234",
    "ghp_",
    "x",
    "Wow",
    "it's",
    "abcdefgh",
    "abcdefghi",
    "a.",
    "é²",
    "²34",
    "ab.",
)
BETWEEN = (
    " ",
    " ",
    " ",
    "|",
    "_",
    ", ",
    "\n",
    "\n> ",
    " | ",
    "      ",
    "       ",
    "**",
)


@pytest.mark.parametrize(
    ("rewrite", "gaps"),
    [(regrouping.chunks, "|>*~`,;"), (regrouping.underscored_chunks, "|>*~`,;_")],
)
def test_equal_pieces_are_those_that_a_reading_of_each_piece_finds(
    rewrite: Callable[[str], Iterator[mapped_text.Edit]], gaps: str
) -> None:
    chance = random.Random(7)
    found = 0
    for _ in range(4000):
        some = chance.sample(PIECES, chance.randint(1, 4))
        between = chance.sample(BETWEEN, chance.randint(1, 2))
        text = "_" if rewrite is regrouping.underscored_chunks else ""
        for _ in range(chance.randint(1, 12)):
            text += chance.choice(some) + chance.choice(between)
        edits = list(rewrite(text))
        assert edits == plain_pieces(text, gaps), text
        found += len(edits)
    assert found > 2000


LINE_END = re.compile(r"(?<=\S)[ \t]*(?:(?<=[ \t])[\\|])?\n[ \t>|#*+-]*(?=\S)")
HYPHEN = re.compile(r"(?<=[^\W\d_])-[ \t]*\n[ \t>|#*]*(?=[^\W\d_])")


def plain_broken_lines(text: str) -> Spans:
    """Line ends inside of addresses and keys, each of them looked at."""
    found = spans(HYPHEN.finditer(text))
    taken = {start for start, _ in found}
    for start, end in spans(LINE_END.finditer(text)):
        before = text[max(0, start - 120) : start].split()[-1]
        after = text[end : end + 120].split(maxsplit=1)[0]
        is_key = len(before) >= 8 and any(char.isdigit() for char in before)
        is_key = is_key and not before.isdigit() and before[-1].isalnum()
        if taken.isdisjoint((start, start - 1)) and (is_key or "@" in before + after):
            found.append((start, end))
    apart: Spans = []
    for start, end in sorted(found, key=lambda extent: extent[0]):
        if not apart or start >= apart[-1][1]:
            apart.append((start, end))
    return apart


LINES = (
    "a@b",
    "ab",
    "abcdefg1",
    "12345678",
    "abcdefgh",
    "x²abcdef",
    "abcdefg1!",
    "-",
    "|",
    "\\",
    "dia-",
    "> ",
)
ENDS = (
    "\n",
    "\n",
    " \n",
    "\t\n> ",
    "|\n",
    " |\n| ",
    " \\\n",
    "\n\n",
    "\n- \n",
    " ",
    "\x0b\n",
    "\n#",
)


def test_line_ends_inside_of_values_are_those_that_a_reading_of_each_finds() -> None:
    chance = random.Random(8)
    found = 0
    for _ in range(6000):
        some = chance.sample(LINES, chance.randint(1, 4))
        text = ""
        for _ in range(chance.randint(1, 8)):
            text += chance.choice(some) + chance.choice(ENDS)
        edits = list(regrouping.broken_lines(text))
        assert [(edit.start, edit.end) for edit in edits] == plain_broken_lines(text), (
            text
        )
        found += len(edits)
    assert found > 2000


SAID = (
    "one", "two", "Three", "seis", "fünf", "zweihundertzehn", "and", "y", "dash", "x", "A", "OK", "DNI",
    "word", "words", "7", "42", "double", "hundred", "7x", "a_one", "ein", "un", "twenty", "tel",
)  # fmt: skip
SPELLED = " wording wording one two three"


def test_numbers_in_words_are_those_of_a_text_that_is_read_to_its_end() -> None:
    """With a run behind it every text is: that adds one edit and no more."""
    chance = random.Random(9)
    found = 0
    for _ in range(5000):
        text = chance.choice(("", "", "é "))
        for _ in range(chance.randint(1, 9)):
            text += chance.choice(SAID) + chance.choice(
                (" ", " ", ", ", "-", " 5 ", "\n", ".")
            )
        *expected, _ = spelled_out.find(text + SPELLED)
        edits = list(spelled_out.find(text))
        assert edits == expected, text
        found += len(edits)
    assert found > 1000


WORDS = (
    "a",
    "b",
    "c",
    "aa",
    "ab",
    "教",
    "会",
    "教会",
    "信教会",
    "b教c",
    "x",
    ".",
    "B",
    "á",
)
ENTRIES = (
    "a",
    "a b",
    "a b c",
    "-a b",
    "b",
    "aa*",
    "*b",
    "教",
    "教会",
    "教会 a",
    "信教会",
    "-教会",
    "b b",
    "a b x c",
)


def plain_matches(
    lists: Mapping[str, Sequence[str]], text: str
) -> set[tuple[int, int, str]]:
    """Every entry at every word, without what an exception covers. A Chinese sign is a
    word, with the rest of its run behind it.
    """
    tokens: list[str] = []
    for run in re.findall(r"[教会信]+|[^\W教会信]+|\.", text):
        is_han = run[0] in "教会信"
        tokens += [run[at:] for at in range(len(run))] if is_han else [run]
    found: set[tuple[int, int, str]] = set()
    covered: set[int] = set()
    for name, entries in lists.items():
        for entry, start in itertools.product(entries, range(len(tokens))):
            end = start
            for form in entry.removeprefix("-").split():
                end = _behind(form, tokens, end)
            if end >= 0 and entry.startswith("-"):
                covered.update(range(start, end))
            elif end >= 0:
                found.add((start, end, name))
    return {
        match for match in found if not covered.issuperset(range(match[0], match[1]))
    }


def _behind(form: str, tokens: Sequence[str], at: int) -> int:
    """Where a form ends that stands at a word; -1 if it does not."""
    if at < 0 or at >= len(tokens):
        return -1
    if form[0] in "教会信":
        return at + len(form) if tokens[at].startswith(form) else -1
    word = folding.plain(tokens[at])
    bare = form.strip("*")
    if form.endswith("*"):
        stands = word.startswith(bare)
    elif form.startswith("*"):
        stands = word.endswith(bare)
    else:
        stands = word == bare
    return at + 1 if stands else -1


def test_entries_of_word_lists_are_found_at_every_word() -> None:
    chance = random.Random(10)
    found = 0
    for _ in range(400):
        lists = {
            name: chance.sample(ENTRIES, chance.randint(1, 6))
            for name in ("one", "two")
        }
        compiled = word_rules.WordRules(lists)
        for _ in range(10):
            text = " ".join(chance.choices(WORDS, k=chance.randint(1, 9)))
            words = compiled.words(text)
            matches = set(map(tuple, compiled.matches(words)))
            assert matches == plain_matches(lists, text), (lists, text)
            found += len(matches)
    assert found > 2000


def test_offsets_lead_back_to_where_each_character_came_from() -> None:
    """Beside lists of the same, written out with each edit."""
    chance = random.Random(11)
    for _ in range(500):
        size = chance.randint(1, 400)
        text = "".join(chance.choices("ab c", k=size))
        mapped = mapped_text.of(text)
        characters = [(char, at, at + 1, 0) for at, char in enumerate(text)]
        for _ in range(chance.randint(1, 3)):
            edits = list(_edits(chance, mapped.text))
            mapped = mapped_text.substitute(mapped, edits)
            characters = _written_out(characters, edits)
        assert mapped.text == "".join(char for char, *_ in characters)
        assert list(mapped.starts) == [start for _, start, _, _ in characters]
        assert list(mapped.ends) == [end for _, _, end, _ in characters]
        assert list(mapped.changed) == [changed for *_, changed in characters]
        shown: set[int] = set()
        for window in mapped_text.windows(mapped, strict=True):
            at = mapped.text.find(window.text)
            assert at >= 0
            assert window.strict
            assert 1 in window.changed
            shown.update(window.starts)
        missed = [
            start
            for _, start, _, changed in characters
            if changed and start not in shown
        ]
        assert not missed


def _edits(chance: random.Random, text: str) -> Iterator[mapped_text.Edit]:
    at = 0
    while at < len(text):
        start = at + chance.randint(0, 250)
        end = start + chance.randint(1, 3)
        if end > len(text):
            return
        if chance.random() < 0.3:
            yield mapped_text.reversal(text, start, end)
        else:
            yield mapped_text.Edit(start, end, "xyz"[: chance.randint(0, 3)])
        at = end


Character = tuple[str, int, int, int]


def _written_out(
    before: Sequence[Character], edits: Sequence[mapped_text.Edit]
) -> list[Character]:
    after: list[Character] = []
    beside: set[int] = set()
    at = 0
    for edit in edits:
        after += before[at : edit.start]
        beside.add(len(after) - 1)
        sources = before[edit.start : edit.end]
        start = min(start for _, start, _, _ in sources)
        end = max(end for _, _, end, _ in sources)
        if edit.backwards:
            after += [
                (char, start, end, 1) for char, start, end, _ in reversed(sources)
            ]
        else:
            after += [(char, start, end, 1) for char in edit.replacement]
        beside.add(len(after))
        at = edit.end
    after += before[at:]
    return [
        (char, start, end, 1 if number in beside else changed)
        for number, (char, start, end, changed) in enumerate(after)
    ]


KEY = "k3Jq9Zx7" * 4
ONLY_JUST = {
    "the longest gap between digits": "4111" + f"{'*' * 16}dann{'*' * 8}1111" * 2 + f"{'·' * 16}1111",
    "thirty letters before a number": f"{'x' * 27}dni12345678Z",
    "a cue and four letters": "#ibanES9121000418450200051332",
    "a key of 64 characters, backwards": ("sk-proj-" + "Zx7kQ9LmR4Vb2NtW" * 4)[:64][::-1],
    "a key with one digit, backwards": ("ghp_" + "kJqZxabc" * 4 + "aBd7")[::-1],
    "a key whose digit comes last, backwards": ("sk-7" + "ZxkQLmRVbNtW" * 5)[::-1],
    "six bytes without a space": b"PIN123".hex(),
    "a sentence that begins with its full stop": ".rof nevig saw sseretsid ,setebaid sah ehS",
    "a sentence that ends with its capital": "ooT nilusni sekat dna setebaid sah ehS",
    "letters like digits": "card 4l11 1I11 1l11 1111",
    "pieces of four": "|".join((f"ghp_{KEY}aB3d"[at : at + 4]) for at in range(0, 40, 4)),
    "a mail over two lines": "ines@mail\nbox.example.org",
    "its sign on the second": "ines.okafor\n@mailbox.example.org",
    "a bar at the line end": "ines@mailbox |\n| .example.org",
    "a hyphen without a digit in the text": "she has dia-\nbetes",
    "a key over two lines": f"ghp_{KEY[:20]}\n{KEY[20:]}aB3d",
    "words with digits between": "call seis 1 dos 3 cuatro 5 seis 7 8",
    "words with umlauts": "sechs eins zwei drei vier fünf sechs sieben acht",
    "an escape of each kind: percent": "ines%40mailbox.example.org",
    "a code point": "ines U+0040 mailbox.example.org",
    "an entity": "ines&commat;mailbox.example.org",
    "quoted-printable": "ines=40mailbox.example.org",
    "octal": "ines\\100mailbox.example.org",
    "codes of eight characters": " ".join(str(byte) for byte in b"ana@b.co"),
    "bytes with a prefix": " ".join(f"0x{byte:02x}" for byte in b"ana@b.co"),
    "bytes with another": "".join(f"\\x{byte:02x}" for byte in b"ana@b.co"),
    "twelve letters of base32": base64.b32encode(b"a@b.org").decode(),
    "ten letters of base64": base64.b64encode(b"a@b.org").decode(),
    "base85": f"<~{base64.a85encode(b'ines@mailbox.example.org').decode()}~>",
    "two apostrophes": "ines''@mailbox''.example.org",
    "the end of a comment": "ines<!-- -->@mailbox.example.org",
    "a street without a capital": "vive en c/ luna 14",
    "the shortest key": "xoxb-2384756102",
    "a coin without a digit's word": "LVg2kJoFNg45Nbpy53h7Fe1wKyeXVRhMH9",
}  # fmt: skip


@pytest.mark.parametrize("disguise", ONLY_JUST)
def test_what_only_just_has_the_form_of_a_value_raises(disguise: str) -> None:
    assert sensitivity.of_text(ONLY_JUST[disguise]) >= Level.HIGH


def test_a_short_text_that_comes_again_is_judged_by_the_rules_of_each_time(
    tmp_path: Path,
) -> None:
    file = tmp_path / "work.toml"
    file.write_text(
        '[[pattern]]\nname = "project"\nkind = "secret"\nmatch = "kiwi-[a-z0-9]{8}"\n'
    )
    own = rules.load([file])
    for _ in range(2):
        assert sensitivity.of_text("kiwi-4f9a8c2e") == Level.LOW
        assert sensitivity.of_text("kiwi-4f9a8c2e", with_rules=own) == Level.CRITICAL
        assert sensitivity.of_text("call 612 34 56 78") == Level.HIGH
        high = sensitivity.of_text("kiwi-4f9a8c2e", at_least=Level.HIGH)
        assert high == Level.HIGH
