"""Special categories of personal data (GDPR, article 9): whether a text states health,
religion, political opinion, trade union membership, sex life, ethnic origin, biometric
or genetic data of somebody.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from reverie.privacy import languages, word_rules

CATEGORIES = (
    "medical",
    "religion",
    "politics",
    "union",
    "sex_life",
    "ethnicity",
    "biometric",
    "genetic",
)
# A list of this ending is read only where the text is of the list's own language:
# `pain` is bread in French.
OWN = "_own"
# So are words of so many letters: there are not enough of them for all languages.
_SHORT = 4
# How many words on each side tell the language of a word.
_REACH = 12


@dataclass(frozen=True, slots=True)
class WordPair:
    """Words that mean a category only near certain others: `church` and `every sunday`."""

    about: str
    words: frozenset[str]
    near: frozenset[str]


class SpecialWords:
    """The words of all categories in all languages, compiled."""

    def __init__(
        self, lists: Mapping[str, frozenset[str]], pairs: Sequence[WordPair]
    ) -> None:
        entries = {name: lists[name] for name in filter(_is_special, lists)}
        self._about: dict[str, str] = {}
        for number, pair in enumerate(pairs):
            self._about[f"pair{number}"] = pair.about
            entries[f"pair{number} words"] = pair.words
            entries[f"pair{number} near"] = pair.near
        self._rules = word_rules.WordRules(entries)

    def category(self, folded: str) -> str:
        """The first category that a folded text states, or ""."""
        words = self._rules.words(folded)
        matches = self._rules.matches(words)
        return next(self._stated(words, matches), "") if matches else ""

    def _stated(
        self, words: word_rules.WordForms, matches: Sequence[word_rules.WordMatch]
    ) -> Iterator[str]:
        seen: dict[str, word_rules.WordMatch] = {}
        for match in matches:
            name, _, detail = match.list.partition(" ")
            if name in self._about:
                if _has_other_half(words, match, name, detail, seen):
                    yield self._about[name]
            elif not detail:
                yield name
            else:
                word = words.text(match)
                nearby = words.around(match, _REACH)
                if languages.is_likely(detail, nearby, word):
                    yield name.removesuffix(OWN)


def keep_short_words_apart(lists: dict[str, frozenset[str]], language: str) -> None:
    """Move what is read in its own language only to lists that name it."""
    for category in CATEGORIES:
        words = lists.pop(category, frozenset())
        short = frozenset(filter(_is_short, words))
        own = lists.pop(category + OWN, frozenset()) | short
        lists[category] = words - short
        lists[f"{category}{OWN} {language}"] = own


def _is_short(entry: str) -> bool:
    word = entry.strip("*")
    return len(word) <= _SHORT and word.isalpha() and word < "\u3400"


def _is_special(name: str) -> bool:
    base, _, language = name.partition(" ")
    category = base.removesuffix(OWN)
    if category not in CATEGORIES:
        return False
    return bool(language) == base.endswith(OWN)


def _has_other_half(
    words: word_rules.WordForms,
    match: word_rules.WordMatch,
    pair: str,
    half: str,
    seen: dict[str, word_rules.WordMatch],
) -> bool:
    """Whether the other half of a pair stood just before, in the same sentence.

    Only the last one of each half is remembered, so that long texts stay linear.
    """
    other = seen.get(f"{pair} {'near' if half == 'words' else 'words'}")
    seen[f"{pair} {half}"] = match
    if other is None or other[:2] == match[:2]:
        return False
    return word_rules.near(words, other, match)
