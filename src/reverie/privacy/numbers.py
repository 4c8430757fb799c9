"""PII detection of digits: cards (Luhn), IBANs (mod 97) and phones in any spacing."""

import re
from collections.abc import Iterator, Set
from functools import lru_cache

import phonenumbers

from reverie.privacy import check_digits, digit_runs, spans

# Regions whose numbers are recognised without their country code.
_TRUNK_ZERO_REGIONS = ("GB", "DE", "AT", "CH", "FR", "IT")
_NINE_DIGIT_REGIONS = ("ES",)
_TEN_DIGIT_REGIONS = ("US", "IT")
_COUNTRY_CODES = ("34", "44", "49", "43", "41", "33", "39")

_RUN = re.compile(
    r"(?<![^\W_])(?<![\d][.,])\+? ?\(?\d(?:[ .\-/()]{0,3}\d){5,}(?:(?: ?x| ext\.? ?)\d{1,6})?(?![^\W_])"
)
# What these have before a digit, and between two.
_REACH = 12
_GROUP = re.compile(r"\d+")
_NOT_DIGITS = re.compile(r"\D")
_IBAN_START = re.compile(
    r"(?<![^\W_])[A-Za-z]{2}[ .\-]{0,3}\d[ .\-]{0,3}\d(?=[ .\-]{0,3}[A-Za-z0-9])"
)
_LETTER_AFTER = re.compile(r"[ .\-/]{0,2}[A-Za-z](?![A-Za-z])")
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DATE = re.compile(
    rf"(?:{_DAY}[./-]{_MONTH}|{_MONTH}[./-]{_DAY})[./-](?:\d{{4}}|\d{{2}})(?![./-]?\d)|\d{{4}}[./-]{_MONTH}[./-]{_DAY}(?!\d)"
)
_WORD = re.compile(r"[^\W\d_]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3})+")
_UNIT = re.compile(
    r" ?(?:EUR|USD|GBP|CHF|[€$£%]|k[mgB]|[mcM]?[mgB]b?|euros?|dollars?|bytes?|px|ms)\b|[€$£%]|\.\d|,\d"
)
_EXTENSION = re.compile(r"x|ext")
_INTERNATIONAL_PREFIX = re.compile(r"^\(?00")
_CARD_WORD = re.compile(
    r"\b(?:cards?|cc|credit|debit|visa|maestro|amex|tarjeta|cr[ée]dito|karte|kreditkarte)\b",
    re.IGNORECASE,
)
# Groups as cards are printed: American Express, Diners, Visa of old, Maestro.
_CARD_SHAPES = ((4, 6, 5), (4, 6, 4), (4, 7, 4), (6, 13))
# Card numbers without a word beside them; ISO/IEC 7812 allows 19 digits at most.
_CARD_DIGITS = range(13, 20)
_FEWEST_CARD_DIGITS_UNGROUPED = 14
_MOST_CARD_GROUPS = 6
_MOST_CARD_GROUPS_SPELLED = 20
# Digit by digit is a spelling only where the run is not much longer than a card.
_MOST_GROUPS_OF_SPELLED_RUN = 24

# Separators that an IBAN may have between two of its characters, in a row.
_MOST_IBAN_SEPARATORS = 3
_IBAN_SEPARATORS = " .-\n/"

# So many different candidates are asked about; in a text of more, all that look like a
# phone are taken for one.
_MOST_PHONES_PARSED = 4000
# E.164 has fifteen digits at most; an extension may add four.
_FEWEST_PHONE_DIGITS = 7
_MOST_PHONE_DIGITS = 15
_MOST_EXTENSION_DIGITS = 4
_MOST_DIGITS_OF_UNKNOWN_PHONE = 13
_MOST_DIGITS_OF_UNKNOWN_GROUP = 7
# ISBNs of thirteen digits begin so.
_ISBN_PREFIXES = ("978", "979")

# Set by hand on the sets of bench/privacy.py (docs/decisions/0013): with valid check
# digits, with a word beside the number, known to phonenumbers, shaped like a phone.
_IBAN_SCORE = 0.99
_CARD_SCORE = 0.97
_CARD_BESIDE_WORD_SCORE = 0.95
_PHONE_SCORE = 0.8
_PHONE_SHAPE_SCORE = 0.55


def find(text: str, order: Set[str]) -> Iterator[spans.FoldedSpan]:
    """IBANs, cards and phones of a folded text. `order` holds words (Order, Factura)
    before which digits are no phone.
    """
    yield from _ibans(text)
    candidates = 0
    speaks_of_cards: bool | None = None
    for run in digit_runs.matches(_RUN, text, _REACH):
        cards = list(_cards(text, run.start(), run.end()))
        if not cards:
            # Twelve or thirteen digits are a card only where the text speaks of one:
            # products are numbered like that.
            if speaks_of_cards is None:
                speaks_of_cards = _CARD_WORD.search(text) is not None
            cards = _card_of_run(run) if speaks_of_cards else []
        if cards:
            yield from cards
            continue
        candidates += 1
        parse = candidates <= _MOST_PHONES_PARSED
        phone = _phone(text, run, order, parse=parse)
        if phone is not None:
            yield phone


def _digits(text: str) -> str:
    """The digits of a text, one behind the other."""
    return _NOT_DIGITS.sub("", text)


def _first_sign(run: re.Match[str]) -> int:
    """Where a run begins, without white space."""
    raw = run.group()
    return run.start() + len(raw) - len(raw.lstrip())


def _ibans(text: str) -> Iterator[spans.FoldedSpan]:
    for match in digit_runs.matches(_IBAN_START, text, _REACH):
        start = match.start()
        length = check_digits.iban_length(text[start : start + 2].upper())
        if length is None:
            continue
        end = _iban_end(text, start, length)
        if end is not None and _is_iban(check_digits.compact(text[start:end])):
            yield spans.FoldedSpan(start, end, "iban", _IBAN_SCORE)


def _iban_end(text: str, start: int, length: int) -> int | None:
    """Where so many letters and digits end that begin here, with few separators between
    them and no more behind them.
    """
    seen = 0
    separators = 0
    at = start
    while at < len(text) and seen < length and separators <= _MOST_IBAN_SEPARATORS:
        char = text[at]
        if char.isascii() and char.isalnum():
            seen += 1
            separators = 0
        elif char in _IBAN_SEPARATORS:
            separators += 1
        else:
            return None
        at += 1
    goes_on = at < len(text) and text[at].isalnum()
    return at if seen == length and not goes_on else None


def _is_iban(compact: str) -> bool:
    """A word in ninety-seven fits by chance: an account has digits in its second half."""
    digits = sum(map(str.isdigit, compact))
    return digits * 2 >= len(compact) and check_digits.iban(compact)


def _card_of_run(run: re.Match[str]) -> list[spans.FoldedSpan]:
    """A whole run as a card, if its check digit is right."""
    if not check_digits.card(_digits(run.group())):
        return []
    start = _first_sign(run)
    return [spans.FoldedSpan(start, run.end(), "card", _CARD_BESIDE_WORD_SCORE)]


def _cards(text: str, start: int, end: int) -> Iterator[spans.FoldedSpan]:
    """Cards of whole groups of digits, the longest first."""
    groups = [match.span() for match in _GROUP.finditer(text, start, end)]
    spelled = len(groups) <= _MOST_GROUPS_OF_SPELLED_RUN
    most = _MOST_CARD_GROUPS_SPELLED if spelled else _MOST_CARD_GROUPS
    at = 0
    while at < len(groups):
        size = _card_size(text, groups[at : at + most])
        if size:
            last = groups[at + size - 1]
            yield spans.FoldedSpan(groups[at][0], last[1], "card", _CARD_SCORE)
        at += max(size, 1)


def _card_size(text: str, groups: list[tuple[int, int]]) -> int:
    """How many of the groups, from the first on, are a card; 0 if none are."""
    lengths = [end - start for start, end in groups]
    for size in range(len(groups), 0, -1):
        if sum(lengths[:size]) not in _CARD_DIGITS or not _card_shape(lengths[:size]):
            continue
        if check_digits.card("".join(text[start:end] for start, end in groups[:size])):
            return size
    return 0


def _card_shape(sizes: list[int]) -> bool:
    """Whether groups of these sizes are how people write cards."""
    if len(sizes) == 1:
        return sizes[0] >= _FEWEST_CARD_DIGITS_UNGROUPED
    if tuple(sizes) in _CARD_SHAPES or all(size == 1 for size in sizes):
        return True
    return all(size % 4 == 0 for size in sizes[:-1])


def _phone(
    text: str, run: re.Match[str], order: Set[str], *, parse: bool
) -> spans.FoldedSpan | None:
    """A run as a phone; with `parse` off, whatever could be one is."""
    raw = run.group()
    start = _first_sign(run)
    end = run.end()
    if not _has_phone_length(raw) or _is_code_or_date(text, start, end):
        return None
    if _has_open_bracket(raw):
        start += 1
    shown = text[start:end]
    international = shown.startswith(("+", "00", "(+", "(00"))
    if not international and ordered(text, start, order):
        return None
    if not parse or _is_valid_phone(shown, international=international):
        return spans.FoldedSpan(start, end, "phone", _PHONE_SCORE)
    if _is_grouped(shown) and not _is_amount(text, shown, end):
        return spans.FoldedSpan(start, end, "phone", _PHONE_SHAPE_SCORE)
    return None


def _has_open_bracket(raw: str) -> bool:
    return raw.startswith("(") and ")" not in raw


def _has_phone_length(raw: str) -> bool:
    most = _MOST_PHONE_DIGITS
    if "x" in raw:
        most += _MOST_EXTENSION_DIGITS
    digits = sum(map(str.isdigit, raw))
    return _FEWEST_PHONE_DIGITS <= digits <= most


def _is_code_or_date(text: str, start: int, end: int) -> bool:
    """`1234567 A`, `12/03/1980`: a number with a letter, or a day."""
    if _LETTER_AFTER.match(text, end):
        return True
    return _DATE.match(text, start) is not None


def _is_valid_phone(shown: str, *, international: bool) -> bool:
    return _is_possible(shown) if international else _is_national(shown)


def _is_grouped(shown: str) -> bool:
    """Digits in groups as people write phones, of a country that we do not know or
    mistyped.
    """
    groups = _GROUP.findall(_EXTENSION.split(shown)[0])
    digits = "".join(groups)
    if "." in shown and len(digits) < 8 and not shown.startswith("0"):
        return False
    if not _FEWEST_PHONE_DIGITS <= len(digits) <= _MOST_DIGITS_OF_UNKNOWN_PHONE:
        return False
    return not digits.startswith(_ISBN_PREFIXES) and _are_phone_groups(groups)


def _are_phone_groups(groups: list[str]) -> bool:
    """Two to six groups, at most one of them of one digit, and not a span of years."""
    if not 2 <= len(groups) <= 6:
        return False
    if max(map(len, groups)) > _MOST_DIGITS_OF_UNKNOWN_GROUP:
        return False
    if len(groups) == 2 and all(_is_year(group) for group in groups):
        return False
    return sum(len(group) >= 2 for group in groups) >= len(groups) - 1


def _is_year(group: str) -> bool:
    return len(group) == 4 and group[:2] in ("19", "20")


def _is_amount(text: str, shown: str, end: int) -> bool:
    """`1.234.567`, `12 345 678 EUR`: an amount or a measure."""
    return bool(_THOUSANDS.fullmatch(shown) or _UNIT.match(text, end))


def ordered(text: str, start: int, order: Set[str]) -> bool:
    """Whether one of the last three words says that this is the number of something
    else.
    """
    line = text[max(0, start - 30) : start].rpartition("\n")[2]
    words = _WORD.findall(line.lower())
    return any(word in order for word in words[-3:])


@lru_cache(maxsize=8192)
def _is_possible(shown: str) -> bool:
    """Whether a number with its country code has a length that the country has."""
    written = _INTERNATIONAL_PREFIX.sub("+", shown).replace("(0)", "")
    try:
        number = phonenumbers.parse(written, None)
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_possible_number(number)


@lru_cache(maxsize=8192)
def _is_national(shown: str) -> bool:
    """Whether the digits are a number of one of the regions; those without a leading
    zero are asked for more.
    """
    digits = _digits(shown.partition("x")[0])
    if _has_country_code(digits):
        grouped = len(_GROUP.findall(shown)) > 1
        return grouped and _is_possible("+" + digits)
    return any(_is_valid_in(digits, region) for region in _regions_of(digits))


def _has_country_code(digits: str) -> bool:
    return 11 <= len(digits) <= 13 and digits.startswith(_COUNTRY_CODES)


def _regions_of(digits: str) -> tuple[str, ...]:
    """The regions that write so many digits, with a zero first or without."""
    if digits.startswith("0"):
        return _TRUNK_ZERO_REGIONS
    if len(digits) == 9:
        return _NINE_DIGIT_REGIONS
    if len(digits) == 10 or (len(digits) == 11 and digits[0] == "1"):
        return _TEN_DIGIT_REGIONS
    return ()


def _is_valid_in(digits: str, region: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(digits, region))
    except phonenumbers.NumberParseException:
        return False
