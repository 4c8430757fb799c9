"""Digits: cards, IBANs and phones in any spacing, found in runs of digits and told
apart by their check digits.
"""

import re
from collections.abc import Iterator, Set
from functools import lru_cache

import phonenumbers

from reverie.privacy import check_digits, spans

# Regions whose numbers are recognised without their country code.
REGIONS = ("ES", "US", "GB", "DE", "AT", "CH", "FR", "IT")
_RUN = re.compile(
    r"(?<![^\W_])(?<![\d][.,])\+? ?\(?\d(?:[ .\-/()]{0,3}\d){5,}(?:(?: ?x| ext\.? ?)\d{1,6})?(?![^\W_])"
)
_GROUP = re.compile(r"\d+")
_IBAN_START = re.compile(
    r"(?<![^\W_])[A-Za-z]{2}[ .\-]{0,3}\d[ .\-]{0,3}\d(?=[ .\-]{0,3}[A-Za-z0-9])"
)
_LETTER_AFTER = re.compile(r"[ .\-/]{0,2}[A-Za-z](?![A-Za-z])")
_DAY, _MONTH = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
_DATE = re.compile(
    rf"(?:{_DAY}[./-]{_MONTH}|{_MONTH}[./-]{_DAY})[./-](?:\d{{4}}|\d{{2}})(?![./-]?\d)|\d{{4}}[./-]{_MONTH}[./-]{_DAY}(?!\d)"
)
_WORD = re.compile(r"[^\W\d_]+")
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3})+")
_UNIT = re.compile(
    r" ?(?:EUR|USD|GBP|CHF|[€$£%]|k[mgB]|[mcM]?[mgB]b?|euros?|dollars?|bytes?|px|ms)\b|[€$£%]|\.\d|,\d"
)
_CARD_WORD = re.compile(
    r"\b(?:cards?|cc|credit|debit|visa|maestro|amex|tarjeta|cr[ée]dito|karte|kreditkarte)\b",
    re.IGNORECASE,
)
_CARD_SHAPES = ((4, 6, 5), (4, 6, 4), (4, 7, 4), (6, 13))
# So many different candidates are asked about; in a text of more, all that look like a
# phone are taken for one.
_ASKED = 4000
_SINGLE_DIGITS = 24
_SHORTEST, _LONGEST = 7, 15


def find(text: str, order: Set[str]) -> Iterator[spans.FoldedSpan]:
    """`order` holds words (Order, Factura) before which digits are no phone."""
    yield from _ibans(text)
    asked = 0
    # Twelve or thirteen digits are a card only where the text speaks of one: products
    # are numbered like that.
    spoken = _CARD_WORD.search(text) is not None
    for run in _RUN.finditer(text):
        cards = list(_cards(text, run.start(), run.end()))
        yield from cards
        if not cards and spoken and check_digits.card(re.sub(r"\D", "", run.group())):
            cards = [
                spans.FoldedSpan(
                    run.start() + len(run.group()) - len(run.group().lstrip()),
                    run.end(),
                    "card",
                    0.95,
                )
            ]
            yield from cards
        if cards:
            continue
        asked += 1
        yield from _phones(text, run, order, ask=asked <= _ASKED)


def _ibans(text: str) -> Iterator[spans.FoldedSpan]:
    for start in _IBAN_START.finditer(text):
        country = text[start.start() : start.start() + 2].upper()
        wanted = check_digits.IBAN_LENGTHS.get(country)
        if wanted is None:
            continue
        at, seen, gap = start.start(), 0, 0
        while at < len(text) and seen < wanted and gap <= 3:
            plain = text[at].isascii() and text[at].isalnum()
            if not plain and text[at] not in " .-\n/":
                break
            seen, gap = (seen + 1, 0) if plain else (seen, gap + 1)
            at += 1
        follows = at < len(text) and text[at].isalnum()
        if (
            seen == wanted
            and not follows
            and _iban(check_digits.compact(text[start.start() : at]))
        ):
            yield spans.FoldedSpan(start.start(), at, "iban", 0.99)


def _iban(compact: str) -> bool:
    """A word in ninety-seven fits by chance: an account has digits in its second half."""
    return sum(char.isdigit() for char in compact) * 2 >= len(
        compact
    ) and check_digits.iban(compact)


def _cards(text: str, start: int, end: int) -> Iterator[spans.FoldedSpan]:
    groups = [(m.start(), m.end()) for m in _GROUP.finditer(text, start, end)]
    # Digit by digit is a spelling only where the run is not much longer than a card.
    apart = len(groups) <= _SINGLE_DIGITS
    at = 0
    while at < len(groups):
        for size in range(min(20 if apart else 6, len(groups) - at), 0, -1):
            part = groups[at : at + size]
            sizes = [b - a for a, b in part]
            if not 13 <= sum(sizes) <= 19 or not _card_shape(sizes):
                continue
            if check_digits.card("".join(text[a:b] for a, b in part)):
                yield spans.FoldedSpan(part[0][0], part[-1][1], "card", 0.97)
                at += size - 1
                break
        at += 1


def _card_shape(sizes: list[int]) -> bool:
    if len(sizes) == 1:
        return sizes[0] >= 14
    if tuple(sizes) in _CARD_SHAPES or all(size == 1 for size in sizes):
        return True
    return len(sizes) >= 2 and all(size % 4 == 0 for size in sizes[:-1])


def _phones(
    text: str, run: re.Match[str], order: Set[str], *, ask: bool
) -> Iterator[spans.FoldedSpan]:
    raw = run.group()
    start = run.start() + len(raw) - len(raw.lstrip())
    digits = sum(char.isdigit() for char in raw)
    if (
        digits < _SHORTEST
        or _LETTER_AFTER.match(text, run.end())
        or _DATE.match(text, start)
    ):
        return
    if raw.startswith("(") and ")" not in raw:
        start += 1
    shown = text[start : run.end()]
    plus = shown.startswith(("+", "00", "(+", "(00"))
    if digits > _LONGEST + 4 * ("x" in shown) or (
        not plus and ordered(text, start, order)
    ):
        return
    if not ask or (_plus(shown) if plus else _national(shown)):
        yield spans.FoldedSpan(start, run.end(), "phone", 0.8)
    elif not _amount(text, shown, run.end()) and _grouped(shown):
        yield spans.FoldedSpan(start, run.end(), "phone", 0.55)


def _grouped(shown: str) -> bool:
    """Digits in groups as people write phones, of a country that we do not know or
    mistyped.
    """
    groups = _GROUP.findall(re.split(r"x|ext", shown)[0])
    digits = "".join(groups)
    if "." in shown and len(digits) < 8 and not shown.startswith("0"):
        return False
    if (
        not 2 <= len(groups) <= 6
        or not 7 <= len(digits) <= 13
        or digits.startswith(("978", "979"))
    ):
        return False
    if any(len(group) > 7 for group in groups) or (
        len(groups) == 2 and all(_year(group) for group in groups)
    ):
        return False
    return sum(len(group) >= 2 for group in groups) >= len(groups) - 1


def _year(group: str) -> bool:
    return len(group) == 4 and group[:2] in ("19", "20")


def _amount(text: str, shown: str, end: int) -> bool:
    """`1.234.567`, `12 345 678 EUR`: an amount or a measure."""
    return bool(_THOUSANDS.fullmatch(shown) or _UNIT.match(text, end))


def ordered(text: str, start: int, order: Set[str]) -> bool:
    """Whether one of the last three words says that this is the number of something
    else.
    """
    words = _WORD.findall(text[max(0, start - 30) : start].rpartition("\n")[2].lower())
    return any(word in order for word in words[-3:])


@lru_cache(maxsize=8192)
def _plus(shown: str) -> bool:
    try:
        number = phonenumbers.parse(
            re.sub(r"^\(?00", "+", shown).replace("(0)", ""), None
        )
    except phonenumbers.NumberParseException:
        return False
    return phonenumbers.is_possible_number(number)


@lru_cache(maxsize=8192)
def _national(shown: str) -> bool:
    """Whether the digits are a number of one of the regions; those without a leading
    zero are asked for more.
    """
    digits = re.sub(r"\D", "", shown.partition("x")[0])
    grouped = len(_GROUP.findall(shown)) > 1
    if digits.startswith("0"):
        regions: tuple[str, ...] = ("GB", "DE", "AT", "CH", "FR", "IT")
    elif len(digits) == 9:
        regions = ("ES",)
    elif len(digits) == 10 or (len(digits) == 11 and digits[0] == "1"):
        regions = ("US", "IT")
    elif 11 <= len(digits) <= 13 and digits.startswith(
        ("34", "44", "49", "43", "41", "33", "39")
    ):
        return grouped and _plus("+" + digits)
    else:
        return False
    return any(_valid(digits, region) for region in regions)


def _valid(digits: str, region: str) -> bool:
    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(digits, region))
    except phonenumbers.NumberParseException:
        return False
