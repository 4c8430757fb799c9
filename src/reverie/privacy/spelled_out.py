"""Numbers and signs in words (`seis uno dos`, `ana at example dot org`) as digits and
signs, in English, Spanish and German.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from reverie.privacy import folding, mapped_text

Edit = mapped_text.Edit

_UNITS = {
    "en": "zero one two three four five six seven eight nine",
    "es": "cero uno dos tres cuatro cinco seis siete ocho nueve",
    "de": "null eins zwei drei vier funf sechs sieben acht neun",
}
_TEENS = {
    "en": "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
    "es": "diez once doce trece catorce quince dieciseis diecisiete dieciocho diecinueve",
    "de": "zehn elf zwolf dreizehn vierzehn funfzehn sechzehn siebzehn achtzehn neunzehn",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
    "de": "zwanzig dreissig vierzig funfzig sechzig siebzig achtzig neunzig",
}
_HUNDREDS_ES = "cien doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos"
_OTHERS = {
    "oh": "0",
    "o": "0",
    "nought": "0",
    "una": "1",
    "un": "1",
    "ein": "1",
    "zwo": "2",
    "fuenf": "5",
    "zwoelf": "12",
    "dreizig": "30",
    "fuenfzig": "50",
    "fuenfzehn": "15",
    "ciento": "100",
    "hundert": "100",
    "einhundert": "100",
}
_ALPHABET = (
    "alfa alpha bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar "
    "papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu"
)
# Letters as they are named or spelled by telephone; they count beside digits alone.
_LETTERS = {
    "zeta": "Z",
    "zett": "Z",
    "zed": "Z",
    "zee": "Z",
    "equis": "X",
    "ix": "X",
    **{word: word[0].upper() for word in _ALPHABET.split()},
}
_SIGNS = {
    "plus": "+",
    "mas": "+",
    "dash": "-",
    "hyphen": "-",
    "minus": "-",
    "guion": "-",
    "bindestrich": "-",
    "slash": "/",
    "barra": "/",
    "schragstrich": "/",
    "space": " ",
    "espacio": " ",
    "leerzeichen": " ",
}
_TIMES = {
    "double": 2,
    "doble": 2,
    "doppel": 2,
    "triple": 3,
    "treble": 3,
    "dreifach": 3,
}
_JOINTS = frozenset({"and", "y", "und", "then", "luego", "dann"})
# A hundred in English stands behind its number.
_HUNDRED = "hundred"
_FEWEST_WORDS = 3
_FEWEST_NUMBERS = 2
# The letters of an IBAN between its digits.
_LONGEST_LETTERS = 4
_LABELS = frozenset({"IBAN", "DNI", "NIE", "NIF", "SSN", "TEL", "BIC", "ID"})
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(r"[^\W\d_]+")
_ASCII_WORD = re.compile("[a-z]+")
# Between two words of a number.
_GAP = re.compile(r"[\s,.;:/|*_~`'\"()\[\]{}<>+=–-]{0,12}")


def _tables() -> Mapping[str, str]:
    """Each word that says a number below a thousand, and its digits."""
    table: dict[str, str] = dict(_OTHERS)
    for language in _UNITS:
        units = _UNITS[language].split()
        table.update({word: str(number) for number, word in enumerate(units)})
        teens = _TEENS[language].split()
        table.update({word: str(number) for number, word in enumerate(teens, 10)})
        tens = _TENS[language].split()
        table.update({word: f"{number}0" for number, word in enumerate(tens, 2)})
    for number, word in enumerate(_HUNDREDS_ES.split(), 1):
        table[word] = f"{number}00"
    for number, word in enumerate(_UNITS["es"].split()):
        table[f"veinti{word}"] = f"2{number}"
    table.update(_german())
    return table


def _german() -> Mapping[str, str]:
    """The numbers that German writes as one word: `zweihunderteinundzwanzig`."""
    units = _UNITS["de"].split()
    below: dict[str, str] = {}
    for number, word in enumerate([*units, *_TEENS["de"].split()]):
        below[word] = str(number)
    for ten, word in enumerate(_TENS["de"].split(), 2):
        below[word] = f"{ten}0"
        for number, unit in enumerate(units[1:], 1):
            below[f"{'ein' if number == 1 else unit}und{word}"] = f"{ten}{number}"
    hundreds: dict[str, str] = {}
    for number, unit in enumerate(units[1:], 1):
        first = f"{'ein' if number == 1 else unit}hundert"
        hundreds[first] = f"{number}00"
        hundreds |= {
            f"{first}{word}": f"{number}{int(digits):02}"
            for word, digits in below.items()
        }
    return {**below, **hundreds}


_NUMBERS = _tables()


def find(text: str) -> Iterator[Edit]:
    """Runs of at least three numbers, digits or signs in words, as what they say."""
    if not _may_hold_run(text):
        return
    run: list[re.Match[str]] = []
    for token in _TOKEN.finditer(text):
        if not _says(token.group()):
            yield from _edit(run)
            run = []
            continue
        if run and not _GAP.fullmatch(text, run[-1].end(), token.start()):
            yield from _edit(run)
            run = []
        run.append(token)
    yield from _edit(run)


def _may_hold_run(text: str) -> bool:
    """Whether two words for numbers have nothing between them that says something
    else.
    """
    if text.isascii():
        lowered = _ASCII_WORD.findall(text.lower())
        if sum(map(_NUMBERS.__contains__, lowered)) < _FEWEST_NUMBERS:
            return False
    words = _WORD.findall(text)
    places = [at for at, word in enumerate(words) if _is_number(word)]
    # Digits say something wherever they stand.
    return any(
        all(map(_says, words[first + 1 : second]))
        for first, second in itertools.pairwise(places)
    )


_WORDS = frozenset({*_NUMBERS, *_SIGNS, *_TIMES, *_JOINTS, *_LETTERS, _HUNDRED})


@lru_cache(maxsize=8192)
def _is_number(word: str) -> bool:
    return folding.plain(word) in _NUMBERS


@lru_cache(maxsize=8192)
def _says(word: str) -> bool:
    """Whether a word says a number, a sign or a letter, or is a letter or digits, or
    the few capitals that numbers of accounts have.
    """
    plain = folding.plain(word)
    if plain in _WORDS or plain.isdigit() or len(plain) == 1:
        return True
    if not word.isupper() or len(word) > _LONGEST_LETTERS:
        return False
    return word not in _LABELS


def _edit(run: Sequence[re.Match[str]]) -> Iterator[Edit]:
    """A run as what it says, without joints at its ends, if enough of it are words for
    numbers.
    """
    while run and folding.plain(run[0].group()) in _JOINTS:
        run = run[1:]
    while run and folding.plain(run[-1].group()) in _JOINTS:
        run = run[:-1]
    words = list(_with_slashes(run))
    spelled = sum(word in _NUMBERS for word in words)
    if len(words) < _FEWEST_WORDS or spelled < _FEWEST_NUMBERS:
        return
    yield Edit(run[0].start(), run[-1].end(), _digits(words))


def _with_slashes(run: Sequence[re.Match[str]]) -> Iterator[str]:
    """The words of a run, and the slashes that stand between them in a date."""
    end = run[0].start() if run else 0
    for token in run:
        if "/" in token.string[end : token.start()]:
            yield "slash"
        yield folding.plain(token.group())
        end = token.end()


def _digits(words: Sequence[str]) -> str:
    """What a run says, its numbers one behind the other."""
    said: list[str] = []
    times = 1
    for at, word in enumerate(words):
        if word in _TIMES:
            times = _TIMES[word]
            continue
        if word in _JOINTS:
            continue
        if word == _HUNDRED:
            if said:
                said[-1] += "00"
            continue
        piece = _NUMBERS.get(word) or _SIGNS.get(word) or _LETTERS.get(word)
        piece = (piece or word.upper()) * times
        times = 1
        if said and _completes(said[-1], piece, words[at - 1]):
            said[-1] = said[-1][: -len(piece)] + piece
        else:
            said.append(piece)
    return "".join(said)


def _completes(before: str, piece: str, word: str) -> bool:
    """Whether a number adds to the one before it: `twenty` and `one`, `seiscientos` and
    `doce`.
    """
    if not piece.isdigit() or not before.isdigit():
        return False
    if word.isdigit() or piece.startswith("0"):
        return False
    zeros = len(before) - len(before.rstrip("0"))
    return len(before) > 1 and 0 < len(piece) <= zeros and len(before) <= 3
