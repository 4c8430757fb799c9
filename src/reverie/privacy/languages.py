"""Language identification by script and function words: which language a word's
neighbours are of, and whether a text holds a passage in a language whose words of
special categories are not known.
"""

import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources

from reverie.privacy import folding, lists

# A word of prose: no part of an identifier, an address or a path.
_WORD = re.compile(
    r"(?<![\w@/\\#$&=_])(?<!\w[.:-])[^\W\d_]+(?:'[^\W\d_]+)*(?![\w@/\\=_(]|[.:-]\w)"
)
_SENTENCE_END = re.compile(r"[.!?…;:](?=\s|$)|[\n。！？؟।۔]")
_KNOWN_SCRIPTS = frozenset({"LATIN", "CYRILLIC", "CJK"})
# Scripts that put no spaces between words: how many letters are taken for one.
_LETTERS_A_WORD = {
    "HIRAGANA": 3,
    "KATAKANA": 6,
    "THAI": 4,
    "LAO": 4,
    "KHMER": 4,
    "MYANMAR": 4,
    "TIBETAN": 4,
}
# Cyrillic letters that Russian does not have.
_NOT_RUSSIAN = re.compile("[іїєґўјљњћђџќѓѕәғқңөұүһҳҷӣӯ]")
# Latin letters that no known language has.
_UNKNOWN_LETTERS = re.compile(
    "[åøřěůčšžýďťňľĺŕőűşţșțăğıđơưāēīōūķļņģėįųũðþħġċŝĉŭəẽỹ]|[\u1ea0-\u1ef9]"
)
# Measured by bench/special_categories.py: fewer words than these tell no language.
_FEWEST_HITS = 2
_FEWEST_WORDS = 6
_FEWEST_CYRILLIC = 7
_FOREIGN_AMONG_OTHERS = 3
_LONG_SENTENCE = 12
_LOWEST_SHARE = 0.1


@cache
def _function_words(table: str) -> Mapping[str, Sequence[str]]:
    """Function word -> the languages of a table (`known`, `other`) that have it."""
    data = resources.files("reverie.privacy").joinpath("data/function_words.toml")
    by_word: defaultdict[str, list[str]] = defaultdict(list)
    for language, words in tomllib.loads(data.read_text("utf-8"))[table].items():
        for word in set(words.split()):
            by_word[word].append(language)
    return dict(by_word)


def _hits(table: str, words: Iterable[str]) -> Counter[str]:
    """How many of some lower-case words are function words of each language."""
    languages = _function_words(table)
    hits = Counter[str]()
    for word in words:
        hits.update(languages.get(word, ()))
    return hits


def is_likely(language: str, nearby: Iterable[str], word: str) -> bool:
    """Whether a word is of a language: no other known one has twice its function words
    near it. Where there are none, an English word is taken for English.
    """
    hits = _hits("known", (neighbour.lower() for neighbour in nearby))
    most = max(hits.values(), default=0)
    if most:
        # Half: neighbours like Catalan and Spanish share many.
        return hits[language] * 2 >= most
    return language == "en" or not lists.english(folding.plain(word))


def unknown(text: str) -> str:
    """Why a text cannot be judged: the language or script of its first passage whose
    words of special categories are not known. "" if it is in known ones, or too short
    to tell.
    """
    folded = folding.fold(text).text
    if folded.isascii() and not folded.strip():
        return ""
    for sentence in _sentences(folded):
        language = _unknown(sentence)
        if language:
            return language
    return ""


def _sentences(text: str) -> Iterator[str]:
    """The sentences and lines of a text, and each paragraph of short ones as a whole."""
    for paragraph in text.split("\n\n"):
        for sentence in _SENTENCE_END.split(paragraph):
            if sentence.strip():
                yield sentence


def _unknown(sentence: str) -> str:
    words = _WORD.findall(sentence)
    if not words:
        return ""
    if not sentence.isascii():
        by_script = Counter[str]()
        for word in words:
            by_script[_script(word)] += _weight(word)
        strange = _strange_script(by_script)
        if strange:
            return strange
        cyrillic = [word.lower() for word in words if _script(word) == "CYRILLIC"]
        if cyrillic and (language := _cyrillic(cyrillic)):
            return language
        words = [word for word in words if _script(word) == "LATIN"]
    if not words:
        return ""
    return _latin(sentence, _prose(words))


def _script(word: str) -> str:
    """The script of a word; Japanese is told by any sign that is no Chinese one."""
    if word.isascii():
        return "LATIN"
    scripts = [unicodedata.name(letter, "?").split(" ")[0] for letter in word[:40]]
    for script in scripts:
        if script not in _KNOWN_SCRIPTS:
            return script
    return scripts[0]


def _weight(word: str) -> int:
    """For how many words a run of letters counts: names are left out where a script
    has capitals.
    """
    script = _script(word)
    if script not in _KNOWN_SCRIPTS and word[0].isupper():
        return 0
    return max(1, round(len(word) / _LETTERS_A_WORD.get(script, len(word))))


def _strange_script(by_script: Mapping[str, int]) -> str:
    count = 0
    strange: list[str] = []
    for script, weight in by_script.items():
        if script not in _KNOWN_SCRIPTS:
            strange.append(script)
            count += weight
    least = _FOREIGN_AMONG_OTHERS
    if len(strange) == len(by_script):
        least = _FEWEST_HITS
    return strange[0].capitalize() if count >= least else ""


def _cyrillic(words: Sequence[str]) -> str:
    known, other = _best("known", words), _best("other", words)
    if sum(bool(_NOT_RUSSIAN.search(word)) for word in words) >= _FEWEST_HITS:
        return other[1] or "Cyrillic"
    if other[0] >= _FEWEST_HITS and other[0] > known[0]:
        return other[1]
    if len(words) >= _FEWEST_CYRILLIC and not known[0]:
        return "Cyrillic"
    return ""


def _prose(words: Sequence[str]) -> list[str]:
    """The words in lower case, names left out: those with a capital, unless all have
    one.
    """
    if all(word.isupper() for word in words):
        return [word.lower() for word in words]
    small = [word for word in words[1:] if word[0].islower()]
    return [words[0].lower(), *small]


def _latin(sentence: str, words: Sequence[str]) -> str:
    parts = [part for word in words for part in word.split("'")]
    known, other = _best("known", parts), _best("other", parts)
    strange = sum(bool(_UNKNOWN_LETTERS.search(word)) for word in words)
    against = other[0] + strange
    if against >= _FEWEST_HITS and against > known[0]:
        return other[1] or "Latin"
    if "," in sentence:
        return ""
    count = len(words)
    none = count >= _FEWEST_WORDS and not known[0]
    few = count >= _LONG_SENTENCE and known[0] < _LOWEST_SHARE * count
    if (none or few) and not _is_listed(words):
        return "Latin"
    return ""


def _is_listed(words: Sequence[str]) -> bool:
    """Whether half of the words are in the dictionaries of English, Spanish, German."""
    return sum(_is_word(word) for word in words) * 2 >= len(words)


def _is_word(word: str) -> bool:
    if lists.english(folding.plain(word)):
        return True
    return lists.spanish(word) or lists.german(word)


def _best(table: str, words: Iterable[str]) -> tuple[int, str]:
    """The language of a table with most function words among some words."""
    hits = _hits(table, words)
    language = max(hits, key=lambda name: hits[name], default="")
    return hits[language], language
