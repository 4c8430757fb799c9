"""Values that were taken apart (over lines, cells, marks, letter by letter), put
together again.
"""

import itertools
import re
from collections.abc import Iterator

from reverie.privacy import mapped_text

Edit = mapped_text.Edit

# Marks that stand inside of words in Markdown and HTML.
_MARK = re.compile(
    r"<!--[^\n]{0,200}?-->|<!--|-->|</?[A-Za-z][^<>\n]{0,200}>|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?![\w<])"
    r"|\*{1,3}|~~|''\n?|`{1,3}|\\(?=[^\w\s])|\|\||==(?=\w)|(?<=\w)=="
)
_MARK_SIGNS = "<*~`\\|=_'"  # folding makes a backtick an apostrophe
# What is between two digits, or a digit and a letter alone, of a number taken apart.
_GAP = (
    r"[^\w@]{1,16}"
    r"(?:(?:and|then|next|y|luego|und|dann|dot|dash|guion|punto|punkt|br)\b[^\w@]{1,8})?"
)
_SEPARATORS = re.compile(
    rf"(?<=[0-9]){_GAP}(?=\w)|(?<=[A-Za-z]){_GAP}(?=[0-9])"
    r"|(?<=[0-9])_{1,3}(?=[0-9A-Za-z])|(?<=[A-Za-z])_{1,3}(?=[0-9])"
)
# These are read as they stand.
_PLAIN_GAP = re.compile(r"[ .\-/()]{1,3}")
_LINE_START = re.compile(
    r"(?<=\n)[ \t]*(?:(?:\d{1,2}[.)]|[-*+•>#|]{1,6}|\[[ x]\]|\(?[a-h\d]\)) +)+(?=\w)"
)
_LETTER_BY_LETTER = re.compile(
    r"(?<![^\W_])\w(?P<gap>[^\w\n]|_|\n|, |\. | - | \| |\*\*|\| )\w(?:(?P=gap)[\w@.+%/-]){1,200}(?![^\W_])"
)
# A line that ends inside of an address or a key.
_NEWLINE = re.compile(r"(?<=\S)[ \t]*(?:(?<=[ \t])[\\|])?\n[ \t>|#*+-]*(?=\S)")
_HYPHENATED = re.compile(r"(?<=[^\W\d_])-[ \t]*\n[ \t>|#*]*(?=[^\W\d_])")
_AROUND_AT = re.compile(
    r"(?<=[\w.])(?P<left>[\s|*_~`>\"'()\[\]{}<]{1,12})?(?P<at>[@.])(?P<right>[\s|*_~`>\"'()\[\]{}<]{1,12})?(?=\w)"
)
_LONGEST_PART = 120
_CLOSING = ")]}\"'"
# Where a word of letters alone meets digits, or digits meet a word.
_SEAM = re.compile(
    r"_|(?<![^\W_])[^\W\d_]{2,30}(?=\d{4})|(?<![^\W_])\d{4,20}(?=[^\W\d_]{3})"
)
_CUE_SEAM = re.compile(
    r"(?<![^\W_])(?:iban|dni|nie|nif|ssn|pass(?:word|port)?|card|tarjeta|karte|tel|phone|telefon|tel[eé]fono|key"
    r"|apikey|mail|email|correo|reisepassnummer|passportnumber|n[uú]merodepasaporte|dateofbirth|birthday|geburtsdatum|fechadenacimiento)(?=[A-Za-z]{0,4}\d)",
    re.IGNORECASE,
)
_CHUNK = re.compile(r"(?<![^\s|>*~`,;])[^\s|>*~`,;]{1,8}(?![^\s|>*~`,;])")
_UNDERSCORED_CHUNK = re.compile(
    r"(?<![^\s|>*~`,;_])[^\s|>*~`,;_]{1,8}(?![^\s|>*~`,;_])"
)
_PROSE = re.compile(r"[^\W\d_][a-zß-öø-ÿ'’.]*(?: [^\W\d_][a-zß-öø-ÿ'’.]*)*")
_WIDE_GAP = re.compile(r"(?<=\w) {2,5}(?=\w)")
_LONG_KEY = 20
_MOST_BETWEEN = 6
_FEWEST_CHUNKS = 3
# A number alone is read backwards only behind a word for it: some reversed numbers have
# valid check digits by chance.
_NUMBER_CUE = re.compile(
    r"card|tarjeta|karte|phone|tel|m[oó]vil|handy|mobil|ssn", re.IGNORECASE
)
_CUE_REACH = 60
_LETTER = re.compile(r"[^\W\d_]")
_REVERSIBLE = re.compile(r"(?<![^\s(])(?=[^\s()\d]{0,63}\d)[^\s()]{7,64}(?![^\s)])")
_BACKWARDS = re.compile(r"(?<!\S)[.!?][^\W\d_]{2}|[a-zà-ÿ]{2}[A-ZÀ-Þ](?!\w)")
_LONGEST_BACKWARDS = 20_000
_KEYISH = 8
# Digits as other signs write them.
_LIKE_DIGITS = re.compile(r"(?<![^\W_])[0-9OoQlIiSsBZ|]{4,24}(?![^\W_])")
_DIGIT_OF = str.maketrans("OoQlIi|SsBZ", "00011115582")


def marks(text: str) -> Iterator[Edit]:
    """Marks of Markdown and HTML, left out."""
    if not any(sign in text for sign in _MARK_SIGNS):
        return
    for match in _MARK.finditer(text):
        yield mapped_text.of_match(match, "")


def numbers(text: str) -> Iterator[Edit]:
    """What stands between the digits of a number, as one space."""
    for match in _SEPARATORS.finditer(text):
        if not _PLAIN_GAP.fullmatch(match.group()):
            yield mapped_text.of_match(match, " ")


def line_starts(text: str) -> Iterator[Edit]:
    """Signs of lists and quotations at the beginning of a line, left out."""
    for match in _LINE_START.finditer(text):
        yield mapped_text.of_match(match, "")


def letters(text: str) -> Iterator[Edit]:
    """What was written letter by letter (`a n a @ x . o r g`), as words."""
    for match in _LETTER_BY_LETTER.finditer(text):
        gap = match["gap"]
        joined = match.group()[:: len(gap) + 1]
        yield mapped_text.of_match(match, joined)


def broken_lines(text: str) -> Iterator[Edit]:
    """Line ends inside of addresses and keys, and hyphens at line ends, left out."""
    if "\n" not in text:
        return
    edits = [mapped_text.of_match(match, "") for match in _HYPHENATED.finditer(text)]
    taken = {edit.start for edit in edits}
    for match in _NEWLINE.finditer(text):
        start, end = match.span()
        if not taken.isdisjoint((start, start - 1)):
            continue
        before = text[max(0, start - _LONGEST_PART) : start].split()[-1]
        after = text[end : end + _LONGEST_PART].split(maxsplit=1)[0]
        if _goes_on(before, after):
            edits.append(Edit(start, end, ""))
    edits.sort(key=lambda edit: edit.start)
    yield from _apart(edits)


def _apart(edits: list[Edit]) -> Iterator[Edit]:
    """Those that begin behind the end of the one before."""
    end = -1
    for edit in edits:
        if edit.start >= end:
            yield edit
            end = edit.end


def _goes_on(before: str, after: str) -> bool:
    """Whether the word after a line end belongs to the one before it."""
    if "@" in before or "@" in after:
        return True
    if len(before) < _KEYISH:
        return False
    has_digit = any(char.isdigit() for char in before)
    return has_digit and not before.isdigit() and before[-1].isalnum()


def addresses(text: str) -> Iterator[Edit]:
    """Spaces and marks around `@`, and around the full stops of the same word."""
    if "@" not in text:
        return
    for match in _AROUND_AT.finditer(text):
        if not match["left"] and not match["right"]:
            continue
        if match["at"] == ".":
            near = text[max(0, match.start() - 70) : match.end() + 70]
            if "@" not in near:
                continue
            left = match["left"] or ""
            if not left.strip(_CLOSING):
                continue
        yield mapped_text.of_match(match, match["at"])


def seams(text: str) -> Iterator[Edit]:
    """Underscores, and where letters meet digits: `DNI12345678Z`, as in names of
    files.
    """
    for match in _SEAM.finditer(text):
        said = match.group()
        yield Edit(match.end() - 1, match.end(), " " if said == "_" else f"{said[-1]} ")


def cue_seams(text: str) -> Iterator[Edit]:
    """Where a word for a number is written together with it: `#NIEX1234567L`."""
    for match in _CUE_SEAM.finditer(text):
        last = text[match.end() - 1]
        yield Edit(match.end() - 1, match.end(), f"{last} ")


def chunks(text: str) -> Iterator[Edit]:
    """Pieces of one length with the same between them, put together: `ghp_|ikVO|RIut`."""
    return _chunks(text, _CHUNK)


def underscored_chunks(text: str) -> Iterator[Edit]:
    """The same with underscores between them."""
    return _chunks(text, _UNDERSCORED_CHUNK) if "_" in text else iter(())


def wide_gaps(text: str) -> Iterator[Edit]:
    """Some spaces in a row, as one."""
    for match in _WIDE_GAP.finditer(text):
        yield mapped_text.of_match(match, " ")


def _chunks(text: str, chunk: re.Pattern[str]) -> Iterator[Edit]:
    """Runs of pieces that are as long as their first, with the same between any two;
    the last may be shorter.
    """
    run: list[re.Match[str]] = []
    between = ""
    for piece in chunk.finditer(text):
        gap = ""
        size = 0
        if run:
            gap = text[run[-1].end() : piece.start()]
            size = len(run[0].group())
        goes_on = 0 < len(gap) <= _MOST_BETWEEN and not _ends_sentence(run, gap)
        if len(run) > 1 and gap != between:
            goes_on = False
        if goes_on and len(piece.group()) <= size:
            run.append(piece)
            between = gap
            if len(piece.group()) == size:
                continue
            yield from _joined(run)
            run = [piece]
            continue
        yield from _joined(run)
        run = [piece]
    yield from _joined(run)


def _ends_sentence(run: list[re.Match[str]], gap: str) -> bool:
    """Whether a line ends behind a full stop: what follows belongs to no value."""
    return "\n" in gap and run[-1].group().endswith(".")


def _joined(run: list[re.Match[str]]) -> Iterator[Edit]:
    """A run of pieces without what is between them; too few of them, or pieces of one
    letter, are no run. With digits fewer are enough.
    """
    if len(run) < _FEWEST_CHUNKS - 1:
        return
    first = run[0].group()
    if len(first) < 2:
        return
    has_digit = any(char.isdigit() for char in first)
    if len(run) < _FEWEST_CHUNKS and not has_digit:
        return
    if _is_prose(run):
        return
    for first, second in itertools.pairwise(run):
        yield Edit(first.end(), second.start(), "")


def _is_prose(run: list[re.Match[str]]) -> bool:
    """Whether pieces are words of a sentence that are as long as each other: small
    letters, but for the first of a word, with one space between.
    """
    text = run[0].string
    said = text[run[0].start() : run[-1].end()]
    return _PROSE.fullmatch(said) is not None


def backwards(text: str) -> Iterator[Edit]:
    """Words with digits read from their end; the whole text where it looks as if it
    were written so.
    """
    if len(text) <= _LONGEST_BACKWARDS and _BACKWARDS.search(text):
        yield mapped_text.reversal(text, 0, len(text))
        return
    for match in _REVERSIBLE.finditer(text):
        word = match.group().rstrip(".,;")
        if not _LETTER.search(word):
            before = text[max(0, match.start() - _CUE_REACH) : match.start()]
            if not _NUMBER_CUE.search(before):
                continue
        digits = sum(char.isdigit() for char in word)
        if digits * 2 >= len(word) or (digits and len(word) >= _LONG_KEY):
            end = match.start() + len(word)
            yield mapped_text.reversal(text, match.start(), end)


def like_digits(text: str) -> Iterator[Edit]:
    """Letters that stand for digits in a number: `4lll llll`."""
    for match in _LIKE_DIGITS.finditer(text):
        run = match.group()
        digits = sum(char.isdigit() for char in run)
        if 2 * digits >= len(run) > digits and not run[1:-1].isdigit():
            yield mapped_text.of_match(match, run.translate(_DIGIT_OF))
