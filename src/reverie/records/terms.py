"""Tokenisation for full-text search: words, stems and other terms of texts, queries.

The one place where writing and asking must agree.

A word gives its folded form (case, accents and width do not matter) and, marked with
`~`, the stem of its language. A chunk such as `INV-2024-0017`, `ana@example.org` or
`§3` gives itself beside its parts; two neighbours of which one holds a digit give a
pair (`absatz 2`); Chinese, Japanese and Korean give pairs of characters.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from reverie.records import language
from reverie.vocabulary import letters

TITLE_WEIGHT = 2.5
STEM_WEIGHT = 0.8
_LONGEST = 120
# No stem of a longer word is short enough to be a term.
_LONGEST_STEMMED = 2 * _LONGEST

_CHUNK = re.compile(r"\S+")
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
_INNER = re.compile(r"[^\w\s]|_")
_EDGE = "\"'`.,;:!?()[]{}<>«»„“”‘’…*_~|¿¡"
_PLAIN_INNER = re.compile(r"^[^\W\d_]+(?:['’-][^\W\d_]+)*$")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one text with their weights, and its length in words."""

    weights: dict[str, float]
    length: int


def fold(text: str) -> str:
    """Lower case, without accents, full width made plain: García -> garcia, ＡＢＣ -> abc,
    Straße -> strasse, Łódź -> lodz.
    """
    if text.isascii():
        return text.lower()
    # Made plain before the case as well: 𝗔 has none until it is an A.
    parts = unicodedata.normalize(
        "NFKD", unicodedata.normalize("NFKD", text).casefold()
    )
    bare = "".join(c for c in parts if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", letters.plain(bare))


def words(text: str) -> list[str]:
    """The lower-case words of a text, accents kept."""
    return [
        match.group()
        for match in _WORD.finditer(_lower(unicodedata.normalize("NFKC", text)))
    ]


def _lower(text: str) -> str:
    """Lower case. Of the Turkish İ Python makes an i and an accent that is no letter:
    the word would end there.
    """
    return text.replace("İ", "i").lower()


def of_text(title: str, text: str, keywords: str = "") -> Terms:
    """The terms of a passage: its own text, its record's title (which weighs more) and
    its keywords.
    """
    spoken = language.detect(words(f"{title} {text}"))
    known = (spoken,) if spoken else ()
    # The title of a record too short to tell its language is looked for by the stems of
    # all: a payment to "Nimbo Sofas" is one for a sofa.
    of_title = known or language.LANGUAGES
    weights: dict[str, float] = {}
    length = 0
    for part, weight, counts, languages in (
        (title, TITLE_WEIGHT, False, of_title),
        (text, 1.0, True, known),
        (keywords, 1.0, False, known),
    ):
        for term, is_word in _scan(part, languages):
            weights[term] = weights.get(term, 0.0) + weight
            length += is_word and counts
    return Terms(
        {term: weight for term, weight in weights.items() if len(term) <= _LONGEST},
        max(length, 1),
    )


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One term to look for. Of the terms of a group (a word and its stems) only the
    best counts.
    """

    term: str
    group: int
    weight: float
    exact: bool


def of_query(text: str) -> list[QueryTerm]:
    """The terms to look for. Function words are left out unless there is nothing else.

    The stem is tried in every language, since a question is too short to tell which it
    is in.
    """
    spoken = words(text)
    stop_words = _stop_words(spoken)
    if len(stop_words) == len(set(spoken)):
        return list(_grouped(text, frozenset()).values())
    by_term = _grouped(text, {fold(word) for word in stop_words})
    # A stem goes with its word: of a group whose word was left out, nothing stays.
    groups = {term.group for term in by_term.values() if not _is_stem(term.term)}
    return [term for term in by_term.values() if term.group in groups]


def _stop_words(spoken: Sequence[str]) -> set[str]:
    """The function words of a text, in its language or else in any."""
    detected = language.detect(spoken)
    if detected:
        function_words = language.FUNCTION_WORDS[detected]
    else:
        function_words = frozenset[str]().union(*language.FUNCTION_WORDS.values())
    return {word for word in spoken if word in function_words}


def _grouped(text: str, without: Collection[str]) -> dict[str, QueryTerm]:
    """Each term once, with the group of its word; but for the words of `without`."""
    by_term: dict[str, QueryTerm] = {}
    group = 0
    for term, is_word in _scan(text, language.LANGUAGES):
        stem = _is_stem(term)
        group += is_word or not stem
        if len(term) > _LONGEST or term in by_term:
            continue
        if is_word and term in without:
            continue
        weight = STEM_WEIGHT if stem else 1.0
        by_term[term] = QueryTerm(term, group, weight, exact=not is_word and not stem)
    return by_term


def _is_stem(term: str) -> bool:
    return term.startswith("~")


def plain(text: str) -> list[str]:
    """The plain forms of all words of a text, function words too: each once, in order."""
    return list(dict.fromkeys(term for term, is_word in _scan(text, ()) if is_word))


def _scan(text: str, languages: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    """(term, whether it is a word that counts for the length), in order."""
    before = ""
    for match in _CHUNK.finditer(unicodedata.normalize("NFKC", text)):
        chunk = match.group().strip(_EDGE)
        whole = fold(chunk)
        if not whole:
            continue
        parts = _WORD.findall(_lower(chunk))
        for word in parts:
            yield from _of_word(word, languages)
        if whole not in parts and _is_compound(chunk, parts):
            yield whole, False
        if before and (_has_digit(before) or _has_digit(whole)):
            yield f"{before} {whole}", False
        before = whole


@lru_cache(maxsize=language.WORDS_KEPT)
def _of_word(word: str, languages: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    return tuple(_word(word, languages))


def _is_compound(chunk: str, parts: Sequence[str]) -> bool:
    """Whether a chunk such as `INV-2024-0017` is a term beside its parts."""
    if _INNER.search(chunk) is None or _PLAIN_INNER.match(chunk):
        return False
    return len(parts) > 1 or not chunk.isalnum()


def _word(word: str, languages: tuple[str, ...]) -> Iterator[tuple[str, bool]]:
    if _is_cjk(word[0]):
        for i in range(max(1, len(word) - 1)):
            yield word[i : i + 2], True
        return
    yield fold(word), True
    if 3 < len(word) <= _LONGEST_STEMMED and not _has_digit(word):
        for stem in {fold(language.stem(word, name)) for name in languages}:
            yield f"~{stem}", False


def _is_cjk(character: str) -> bool:
    return (
        "\u3040" <= character <= "\u30ff"
        or "\u3400" <= character <= "\u9fff"
        or "\uac00" <= character <= "\ud7af"
    )


def _has_digit(text: str) -> bool:
    return not text.isalpha() and any(map(str.isdigit, text))


@lru_cache(maxsize=language.WORDS_KEPT)
def forms(word: str) -> frozenset[str]:
    """Every term that a single word of a text can be found by."""
    return frozenset(
        term for part in words(word) for term, _ in _word(part, language.LANGUAGES)
    )
