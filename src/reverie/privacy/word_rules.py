"""Word rules: entries of word lists compiled into one lookup per token (a dictionary
of words and stems, phrases as sequences, pairs within a window).

An entry is a word or a phrase; `*` stands for any letters before or behind a word, and
a leading `-` makes it an exception: what it covers is not read. Chinese has no spaces,
so its entries are found anywhere in a run of its signs.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from reverie.privacy import folding

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_TOKEN = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+|[.!?](?=\s|$)")
_ASCII_TOKEN = re.compile(r"[A-Za-z0-9]+|[.!?](?=\s|$)")
_HAN_SIGN = re.compile(f"[{_HAN}]")
_SENTENCE_END = re.compile(r"[.!?]")
# What may stand between the two halves of a pair, in words (in Chinese: signs).
_WINDOW = 10
# Endings of plurals (English, Spanish, German), and how much of a word must remain.
_PLURAL_ENDINGS = ("es", "en", "s", "n", "e")
_SHORTEST_STEM = 5
# Different words that are remembered, and pairs of their forms; texts repeat theirs.
_MOST_REMEMBERED = 100_000
_MOST_PAIRS_REMEMBERED = 20_000


class WordMatch(NamedTuple):
    """An entry that stands in a text: from its first word up to behind its last."""

    start: int
    end: int
    list: str


@dataclass(frozen=True, slots=True)
class WordForms:
    """A text as its words: of each, the forms of entries that it has."""

    tokens: Sequence[str]
    forms: Sequence[frozenset[str]]

    def text(self, match: WordMatch) -> str:
        """What matched."""
        return " ".join(self.tokens[match.start : match.end])

    def between(self, first: WordMatch, second: WordMatch) -> Sequence[str]:
        """The words between two matches, whichever is the first."""
        start, end = sorted((first, second))
        return self.tokens[start.end : end.start]

    def around(self, match: WordMatch, reach: int) -> Sequence[str]:
        """The words near a match, itself left out."""
        start = max(0, match.start - reach)
        end = match.end + reach
        before = self.tokens[start : match.start]
        after = self.tokens[match.end : end]
        return [*before, *after]


class _Forms(dict[str, frozenset[str]]):
    """Token -> the forms of entries that it has, computed at the first look-up."""

    def __init__(self, forms: Iterable[str]) -> None:
        super().__init__()
        self._exact: set[str] = set()
        self._stems: set[str] = set()
        self._endings: set[str] = set()
        self._insides: set[str] = set()
        for form in forms:
            self._keep(form)
        self._stem_lengths = sorted({len(stem) for stem in self._stems})
        self._ending_lengths = sorted({len(ending) for ending in self._endings})

    def _keep(self, form: str) -> None:
        bare = form.strip("*")
        if form == bare:
            self._exact.add(bare)
        elif not form.startswith("*"):
            self._stems.add(bare)
        elif not form.endswith("*"):
            self._endings.add(bare)
        else:
            self._insides.add(bare)

    def __missing__(self, token: str) -> frozenset[str]:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        forms = frozenset(self._of(folding.plain(token)))
        self[token] = forms
        return forms

    def _of(self, word: str) -> Iterator[str]:
        yield from {word, _singular(word)} & self._exact
        for length in self._stem_lengths:
            if length > len(word):
                break
            stem = word[:length]
            if stem in self._stems:
                yield f"{stem}*"
        for length in self._ending_lengths:
            if length > len(word):
                break
            ending = word[-length:]
            if ending in self._endings:
                yield f"*{ending}"
        for inside in self._insides:
            if inside in word:
                yield f"*{inside}*"


class _Entry(NamedTuple):
    """The forms of an entry, and its list, or "" for an exception."""

    phrase: tuple[str, ...]
    label: str

    def may_follow(self, forms: Set[str]) -> bool:
        """Whether its second form stands in a word with these, if it has one that
        stands right behind the first.
        """
        if len(self.phrase) == 1 or _step(self.phrase[0]) > 1:
            return True
        return self.phrase[1] in forms


class _Entries(dict[tuple[frozenset[str], frozenset[str]], Sequence[_Entry]]):
    """The forms of a word and of the word behind it -> the entries that may begin
    there, found at the first look-up.
    """

    def __init__(self) -> None:
        super().__init__()
        self._by_first: defaultdict[str, list[_Entry]] = defaultdict(list)

    def keep(self, entry: _Entry) -> None:
        """One more entry."""
        self._by_first[entry.phrase[0]].append(entry)

    def __missing__(
        self, words: tuple[frozenset[str], frozenset[str]]
    ) -> Sequence[_Entry]:
        if len(self) >= _MOST_PAIRS_REMEMBERED:
            self.clear()
        forms, behind = words
        entries = [
            entry
            for first in forms
            for entry in self._by_first.get(first, ())
            if entry.may_follow(behind)
        ]
        self[words] = entries
        return entries


class WordRules:
    """Lists of entries, compiled: reads a text in time linear in its length."""

    def __init__(self, lists: Mapping[str, Iterable[str]]) -> None:
        self._entries = _Entries()
        self._han: defaultdict[str, set[str]] = defaultdict(set)
        every_form: set[str] = set()
        for name, entries in lists.items():
            for entry in entries:
                forms = _forms_of(entry)
                if not forms:
                    continue
                label = "" if entry.startswith("-") else name
                self._entries.keep(_Entry(forms, label))
                every_form.update(forms)
        for form in every_form:
            if _HAN_SIGN.match(form):
                self._han[form[0]].add(form)
        self._forms = _Forms(every_form)

    def words(self, folded: str) -> WordForms:
        """The words of a folded text."""
        if folded.isascii():
            tokens = _ASCII_TOKEN.findall(folded)
        elif _HAN_SIGN.search(folded):
            return self._with_han(_TOKEN.findall(folded))
        else:
            tokens = _TOKEN.findall(folded)
        return WordForms(tokens, list(map(self._forms.__getitem__, tokens)))

    def matches(self, words: WordForms) -> list[WordMatch]:
        """What stands in a text, without what an exception covers."""
        found: list[WordMatch] = []
        excepted: list[WordMatch] = []
        forms = words.forms
        pairs = itertools.pairwise([*forms, frozenset[str]()])
        for at, pair in itertools.compress(enumerate(pairs), forms):
            for phrase, label in self._entries[pair]:
                end = _end(forms, at, phrase)
                if end:
                    (found if label else excepted).append(WordMatch(at, end, label))
        if excepted:
            covered: set[int] = set()
            for match in excepted:
                covered.update(range(match.start, match.end))
            return [match for match in found if not _is_covered(match, covered)]
        return found

    def _with_han(self, tokens: Iterable[str]) -> WordForms:
        """Runs of Chinese signs are taken apart: one word a sign, with the entries that
        begin there.
        """
        signs: list[str] = []
        forms: list[frozenset[str]] = []
        for token in tokens:
            if not _HAN_SIGN.match(token):
                signs.append(token)
                forms.append(self._forms[token])
                continue
            for at, sign in enumerate(token):
                signs.append(sign)
                forms.append(self._beginning(token, at))
        return WordForms(signs, forms)

    def _beginning(self, token: str, at: int) -> frozenset[str]:
        """The entries that begin at a sign of a run."""
        entries = self._han.get(token[at], ())
        return frozenset(form for form in entries if token.startswith(form, at))


def near(words: WordForms, first: WordMatch, second: WordMatch) -> bool:
    """Whether two matches stand in one sentence, with few words between them."""
    start, end = sorted((first, second))
    if end.start - start.end > _WINDOW:
        return False
    return not any(map(_SENTENCE_END.match, words.between(first, second)))


def _forms_of(entry: str) -> tuple[str, ...]:
    """The forms of the words of an entry: `x-ray` has two."""
    forms: list[str] = []
    for part in re.split(r"[\s'-]+", entry.strip("- ")):
        forms += re.findall(rf"[{_HAN}]+|\*?[^\W_{_HAN}]+\*?", part)
    return tuple(forms)


def _end(text: Sequence[frozenset[str]], at: int, phrase: Sequence[str]) -> int | None:
    """Where a phrase ends that begins at a word, or None if it does not stand there."""
    for form in phrase:
        if at >= len(text):
            return None
        if form not in text[at]:
            return None
        at += _step(form)
    return at


@cache
def _step(form: str) -> int:
    """How many words of a text a form takes: in Chinese each sign is one."""
    return len(form) if _HAN_SIGN.match(form) else 1


def _is_covered(match: WordMatch, places: Set[int]) -> bool:
    own_places = range(match.start, match.end)
    return all(at in places for at in own_places)


def _singular(word: str) -> str:
    """A word without the ending of a plural, if enough of it remains."""
    for ending in _PLURAL_ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word
