"""Values that were taken apart (over lines, cells, marks, letter by letter), put
together again.
"""

import re
from collections.abc import Iterator

from reverie.privacy import anchored, digit_runs, equal_pieces, mapped_text

Edit = mapped_text.Edit

# Marks that stand inside of words in Markdown and HTML.
_MARK = re.compile(
    r"<!--[^\n]{0,200}?-->|<!--|-->|</?[A-Za-z][^<>\n]{0,200}>|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?![\w<])"
    r"|\*{1,3}|~~|''\n?|`{1,3}|\\(?=[^\w\s])|\|\||==(?=\w)|(?<=\w)=="
)
_MARK_SIGNS = "<*~`\\|=_'"  # folding makes a backtick an apostrophe
_MARK_START = re.compile(r"<|\*|~|`|\\|\||=|_|'(?=')|-(?=->)")
# What is between two digits, or a digit and a letter alone, of a number taken apart.
_GAP = (
    r"[^\w@]{1,16}"
    r"(?:(?:and|then|next|y|luego|und|dann|dot|dash|guion|punto|punkt|br)\b[^\w@]{1,8})?"
)
_SEPARATORS = re.compile(
    rf"(?<=[0-9]){_GAP}(?=\w)|(?<=[A-Za-z]){_GAP}(?=[0-9])"
    r"|(?<=[0-9])_{1,3}(?=[0-9A-Za-z])|(?<=[A-Za-z])_{1,3}(?=[0-9])"
)
# A gap with a word in it, and the sign that ends it.
_SEPARATOR_REACH = 32
# These are read as they stand.
_PLAIN_GAP = re.compile(r"[ .\-/()]{1,3}")
_LINE_START = re.compile(
    r"\n[ \t]*(?:(?:\d{1,2}[.)]|[-*+•>#|]{1,6}|\[[ x]\]|\(?[a-h\d]\)) +)+(?=\w)"
)
_LETTER_BY_LETTER = re.compile(
    r"(?<![^\W_])\w(?P<gap>[^\w\n]|_|\n|, |\. | - | \| |\*\*|\| )\w(?:(?P=gap)[\w@.+%/-]){1,200}(?![^\W_])"
)
# A line that ends inside of an address or a key.
_NEWLINE = re.compile(r"\n[ \t>|#*+-]*(?=\S)")
_BLANKS = " \t"
_HYPHENATED = re.compile(r"-(?<=[^\W\d_]-)[ \t]*\n[ \t>|#*]*(?=[^\W\d_])")
_AROUND_AT = re.compile(
    r"(?<=[\w.])(?P<left>[\s|*_~`>\"'()\[\]{}<]{1,12})?(?P<at>[@.])(?P<right>[\s|*_~`>\"'()\[\]{}<]{1,12})?(?=\w)"
)
_LONGEST_PART = 120
_CLOSING = ")]}\"'"
# Where a word of letters alone meets digits, or digits meet a word.
_SEAM = re.compile(
    r"_|(?<![^\W_])[^\W\d_]{2,30}(?=\d{4})|(?<![^\W_])\d{4,20}(?=[^\W\d_]{3})"
)
_SEAM_REACH, _SEAM_DIGITS = 32, 4
_CUE_SEAM = re.compile(
    r"(?<![^\W_])(?:iban|dni|nie|nif|ssn|pass(?:word|port)?|card|tarjeta|karte|tel|phone|telefon|tel[eé]fono|key"
    r"|apikey|mail|email|correo|reisepassnummer|passportnumber|n[uú]merodepasaporte|dateofbirth|birthday|geburtsdatum|fechadenacimiento)(?=[A-Za-z]{0,4}\d)",
    re.IGNORECASE,
)
_CUE_SEAM_REACH = 32
_CHUNK = re.compile(r"([^\s|>*~`,;]+)")
_UNDERSCORED_CHUNK = re.compile(r"([^\s|>*~`,;_]+)")
_WIDE_GAP = re.compile(r"(?<=\w) {2,5}(?=\w)")
_LONG_KEY = 20
# A number alone is read backwards only behind a word for it: some reversed numbers have
# valid check digits by chance.
_NUMBER_CUE = re.compile(
    r"card|tarjeta|karte|phone|tel|m[oó]vil|handy|mobil|ssn", re.IGNORECASE
)
_CUE_REACH = 60
_LETTER = re.compile(r"[^\W\d_]")
_REVERSIBLE = re.compile(r"(?<![^\s(])(?=[^\s()\d]{0,63}\d)[^\s()]{7,64}(?![^\s)])")
_REVERSIBLE_REACH = 66
# A sentence that begins with its full stop; a word that ends with its capital.
_SIGN_FIRST = re.compile(r"[.!?](?<!\S[.!?])[^\W\d_]{2}")
_CAPITAL_LAST = re.compile(r"[A-ZÀ-Þ](?<=[a-zà-ÿ]{2}[A-ZÀ-Þ])(?!\w)")
_LONGEST_BACKWARDS = 20_000
_KEYISH = 8
# Digits as other signs write them.
_LIKE_DIGITS = re.compile(r"(?<![^\W_])[0-9OoQlIiSsBZ|]{4,24}(?![^\W_])")
_LIKE_A_DIGIT = frozenset("OoQlIiSsBZ|")
_DIGIT_OF = str.maketrans("OoQlIi|SsBZ", "00011115582")


def marks(text: str) -> Iterator[Edit]:
    """Marks of Markdown and HTML, left out."""
    if not any(map(text.__contains__, _MARK_SIGNS)):
        return
    for match in anchored.matches(_MARK, _MARK_START, text):
        yield mapped_text.of_match(match, "")


def numbers(text: str) -> Iterator[Edit]:
    """What stands between the digits of a number, as one space."""
    for match in digit_runs.matches(_SEPARATORS, text, _SEPARATOR_REACH):
        if not _PLAIN_GAP.fullmatch(match.group()):
            yield mapped_text.of_match(match, " ")


def line_starts(text: str) -> Iterator[Edit]:
    """Signs of lists and quotations at the beginning of a line, left out."""
    for match in _LINE_START.finditer(text):
        yield Edit(match.start() + 1, match.end(), "")


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
    if "@" in text or not text.isascii() or digit_runs.of(text):
        taken = {edit.start for edit in edits}
        for start, end in _line_ends(text):
            if taken.isdisjoint((start, start - 1)) and _goes_on(text, start, end):
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


def _line_ends(text: str) -> Iterator[tuple[int, int]]:
    """Each line end between two signs that are seen, with the blanks before it (and a
    bar or a backslash behind these) and the signs of quotations behind it.
    """
    end = 0
    for match in _NEWLINE.finditer(text):
        newline = match.start()
        start = _without_blanks(text, newline)
        if start == newline and text[newline - 1 : newline] in ("\\", "|"):
            before = _without_blanks(text, newline - 1)
            if before < newline - 1 and _is_seen(text, before) and before >= end:
                start = before
        if _is_seen(text, start):
            end = match.end()
            yield start, end


def _without_blanks(text: str, at: int) -> int:
    """Where the blanks begin that end there."""
    while at and text[at - 1] in _BLANKS:
        at -= 1
    return at


def _is_seen(text: str, at: int) -> bool:
    """Whether the sign before a place is seen."""
    return at > 0 and not text[at - 1].isspace()


def _goes_on(text: str, start: int, end: int) -> bool:
    """Whether the word behind a line end belongs to the one before it."""
    before = text[max(0, start - _LONGEST_PART) : start].split()[-1]
    if "@" in before or _is_keyish(before):
        return True
    after = text[end : end + _LONGEST_PART].split(maxsplit=1)[0]
    return "@" in after


def _is_keyish(word: str) -> bool:
    """Whether a word is as long as a key, has digits and does not end with a sign."""
    if len(word) < _KEYISH or not word[-1].isalnum() or word.isdigit():
        return False
    return any(map(str.isdigit, word))


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
    near_digits = digit_runs.matches(_SEAM, text, _SEAM_REACH, fewest=_SEAM_DIGITS)
    for match in _SEAM.finditer(text) if "_" in text else near_digits:
        last = match.end() - 1
        said = text[last]
        yield Edit(last, last + 1, " " if said == "_" else f"{said} ")


def cue_seams(text: str) -> Iterator[Edit]:
    """Where a word for a number is written together with it: `#NIEX1234567L`."""
    before_digits = (text[start - 1 : start] for start, _ in digit_runs.of(text))
    if not any(map(str.isalpha, before_digits)):
        return
    for match in digit_runs.matches(_CUE_SEAM, text, _CUE_SEAM_REACH):
        last = match.end() - 1
        yield Edit(last, match.end(), f"{text[last]} ")


def chunks(text: str) -> Iterator[Edit]:
    """Pieces of one length with the same between them, put together: `ghp_|ikVO|RIut`."""
    return equal_pieces.joined(text, _CHUNK)


def underscored_chunks(text: str) -> Iterator[Edit]:
    """The same with underscores between them."""
    if "_" not in text:
        return iter(())
    return equal_pieces.joined(text, _UNDERSCORED_CHUNK)


def wide_gaps(text: str) -> Iterator[Edit]:
    """Some spaces in a row, as one."""
    if "  " not in text:
        return
    for match in _WIDE_GAP.finditer(text):
        yield mapped_text.of_match(match, " ")


def backwards(text: str) -> Iterator[Edit]:
    """Words with digits read from their end; the whole text where it looks as if it
    were written so.
    """
    if len(text) <= _LONGEST_BACKWARDS and _looks_backwards(text):
        yield mapped_text.reversal(text, 0, len(text))
        return
    for match in digit_runs.matches(_REVERSIBLE, text, _REVERSIBLE_REACH):
        word = match.group().rstrip(".,;")
        if not _LETTER.search(word):
            before = text[max(0, match.start() - _CUE_REACH) : match.start()]
            if not _NUMBER_CUE.search(before):
                continue
        digits = sum(map(str.isdigit, word))
        if digits * 2 >= len(word) or (digits and len(word) >= _LONG_KEY):
            end = match.start() + len(word)
            yield mapped_text.reversal(text, match.start(), end)


def _looks_backwards(text: str) -> bool:
    if _SIGN_FIRST.search(text):
        return True
    return _CAPITAL_LAST.search(text) is not None


def like_digits(text: str) -> Iterator[Edit]:
    """Letters that stand for digits in a number: `4lll llll`."""
    runs = digit_runs.of(text)
    beside = {text[end : end + 1] for _, end in runs}
    beside.update(text[start - 1 : start] for start, _ in runs)
    if _LIKE_A_DIGIT.isdisjoint(beside):
        return
    for match in _LIKE_DIGITS.finditer(text):
        run = match.group()
        digits = sum(map(str.isdigit, run))
        if 2 * digits >= len(run) > digits and not run[1:-1].isdigit():
            yield mapped_text.of_match(match, run.translate(_DIGIT_OF))
