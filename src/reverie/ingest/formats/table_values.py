"""CSV cells: numbers, their signs and currencies, read by the habits of the whole file."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

# Signs that mean one currency; "kr" is that of five countries.
CURRENCIES = {
    "€": "EUR",
    "US$": "USD",
    "A$": "AUD",
    "C$": "CAD",
    "CA$": "CAD",
    "NZ$": "NZD",
    "HK$": "HKD",
    "S$": "SGD",
    "R$": "BRL",
    "$": "USD",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "Rs.": "INR",
    "zł": "PLN",
    "Kč": "CZK",
    "Ft": "HUF",
    "₺": "TRY",
    "₽": "RUB",
    "₴": "UAH",
    "₩": "KRW",
    "₪": "ILS",
    "₫": "VND",
    "฿": "THB",
    "₱": "PHP",
    "₦": "NGN",
    "Fr.": "CHF",
    "SFr.": "CHF",
}
# ISO 4217: three capitals alone may be anything.
CODES = frozenset((
    "AED", "AFN", "ALL", "AMD", "ANG", "AOA", "ARS", "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BGN", "BHD",
    "BIF", "BMD", "BND", "BOB", "BRL", "BSD", "BTN", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CLP", "CNY",
    "COP", "CRC", "CUP", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP", "ERN", "ETB", "EUR", "FJD", "FKP",
    "GBP", "GEL", "GHS", "GIP", "GMD", "GNF", "GTQ", "GYD", "HKD", "HNL", "HTG", "HUF", "IDR", "ILS", "INR",
    "IQD", "IRR", "ISK", "JMD", "JOD", "JPY", "KES", "KGS", "KHR", "KMF", "KPW", "KRW", "KWD", "KYD", "KZT",
    "LAK", "LBP", "LKR", "LRD", "LSL", "LYD", "MAD", "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MRU", "MUR",
    "MVR", "MWK", "MXN", "MYR", "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN", "PGK",
    "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD", "SCR", "SDG", "SEK", "SGD",
    "SHP", "SLE", "SOS", "SRD", "SSP", "STN", "SVC", "SYP", "SZL", "THB", "TJS", "TMT", "TND", "TOP", "TRY",
    "TTD", "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "UZS", "VES", "VND", "VUV", "WST", "XAF", "XCD", "XOF",
    "XPF", "YER", "ZAR", "ZMW", "ZWL", "HRK", "DEM", "ESP", "FRF", "ITL", "BTC", "ETH", "XAU",
))  # fmt: skip
_CODE = re.compile(r"(?<![^\W\d_])([A-Z]{3})(?![^\W\d_])")
_SIGN = re.compile(
    "|".join(re.escape(sign) for sign in sorted(CURRENCIES, key=len, reverse=True))
)
_MINUS = re.compile(r"[-\u2212\u2010-\u2014\ufe63\uff0d]")
# Digits with their marks; a white space or an apostrophe parts thousands.
_DIGITS = re.compile(r"\d(?:[\d.,'’´`\u066b\u066c \u00a0\u2009\u202f]*\d)?|[.,]\d+")
_PARTED = re.compile(r"['’´`]\d{3}(?!\d)")
# "5.00 DR" and "5.00 S" (German: Soll) are money out, "CR" and "H" (Haben) money in.
_OUT = re.compile(
    r"\d\)?\s*(?:DR?|DB|S|Soll)\.?\s*$|^\s*(?:DR|DB)\.?\s*\W?\d", re.IGNORECASE
)
_IN = re.compile(r"\d\)?\s*(?:CR?|H|Haben)\.?\s*$|^\s*CR\.?\s*\W?\d", re.IGNORECASE)
_LONGEST = 60


def decimal_mark(values: Iterable[str], presumed: str = ".") -> str:
    """Whether a file writes 12,50 or 12.50; presumed, when none of its numbers tells."""
    marks = Counter(mark for value in values if (mark := _decimal_mark_of(value)))
    if marks[","] == marks["."]:
        return presumed
    return "," if marks[","] > marks["."] else "."


def _decimal_mark_of(value: str) -> str:
    """The decimal mark that a number shows; "" when it may be either, as in 1.234."""
    match = _DIGITS.search(value[:_LONGEST])
    if match is None:
        return ""
    return _mark_in(_plain(match.group()))


def _mark_in(digits: str) -> str:
    """The decimal mark of digits with points and commas."""
    marks = re.findall(r"[.,]", digits)
    if not marks:
        return ""
    last = marks[-1]
    if len(set(marks)) == 2:
        return last
    # 1.234.567: the mark that repeats parts thousands
    if len(marks) > 1:
        return "," if last == "." else "."
    whole, _, fraction = digits.partition(last)
    # No thousands are parted in 0.125 and 1234.567.
    if len(fraction) == 3 and whole.strip("0") and len(whole) < 4:
        return ""
    return last


def _plain(digits: str) -> str:
    """Digits as ASCII, with points and commas only."""
    if not digits.isascii():
        digits = unicodedata.normalize("NFKC", digits).replace("\u066b", ".")
        digits = "".join(str(unicodedata.decimal(letter, letter)) for letter in digits)
    # Behind an apostrophe come three digits, and behind these a decimal mark.
    if _PARTED.search(digits):
        digits = re.sub(r"['’´`]", "", digits)
    return re.sub(r"[^\d.,]", "", digits)


def money(text: str, mark: str) -> Decimal | None:
    """An amount of money: a number that may be followed by DR or CR, S or H."""
    amount = number(text, mark)
    if amount is None:
        return None
    if _OUT.search(text):
        return -abs(amount)
    return abs(amount) if _IN.search(text) else amount


def number(text: str, mark: str) -> Decimal | None:
    """The number, with (12.50) and 12.50- below zero and --12.50 above it; signs of
    currency and units around it are let be.
    """
    text = text[:_LONGEST]
    match = _DIGITS.search(text)
    if match is None:
        return None
    digits = _plain(match.group())
    # What a number shows itself counts more than the habit of the file.
    own = _mark_in(digits)
    mark = own or mark
    grouping = "." if mark == "," else ","
    try:
        value = Decimal(digits.replace(grouping, "").replace(",", "."))
    except InvalidOperation:
        return None
    return -value if _is_negative(text, match) else value


def _is_negative(text: str, digits: re.Match[str]) -> bool:
    """Whether the signs around a number leave it below zero: each minus turns it, and
    brackets do.
    """
    before = text[: digits.start()]
    after = text[digits.end() :]
    # A range or a name in front of a number is no sign: "item-5".
    before = re.split(r"[^\W\d_]{4,}", before)[-1]
    turns = len(_MINUS.findall(before))
    turns += bool(_MINUS.match(after.strip()[:1]) and not re.search(r"\d", after))
    turns += "(" in before and ")" in after
    return turns % 2 == 1


def has_sign(text: str) -> bool:
    """Whether a cell says itself that money goes out or comes in."""
    match = _DIGITS.search(text[:_LONGEST])
    if match is None:
        return False
    if _OUT.search(text) or _IN.search(text) or "+" in text:
        return True
    return bool(_MINUS.search(text)) or ("(" in text and ")" in text)


def currency(*texts: str) -> str | None:
    """The currency that the first of some cells or headers names."""
    for text in texts:
        for code in _CODE.findall(text):
            if code in CODES:
                return code
        if match := _SIGN.search(text):
            return CURRENCIES[match.group()]
    return None


def shared_currency(cells: Iterable[str]) -> str | None:
    """The currency of a column, when all its cells that name one name the same."""
    named = {code for text in cells if text and (code := currency(text))}
    return named.pop() if len(named) == 1 else None
