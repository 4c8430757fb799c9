"""Unmasking of pseudonyms: values in place of their tokens, in a text or a stream.

A reply is read once from left to right. At each word that may begin a token the reader
decides: a token that may be restored, none, or, in a stream, not yet known; what is not
known yet is held back. Models change tokens, so case, Markdown, line breaks and the
language of the word before the core do not matter; each character of the core does.
Text for programs (JSON, calls of tools) is parsed first and restored value by value: a
name may hold a quote.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from reverie.privacy import forms

_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_IN_WORD: Final = frozenset(" \t\r\n\u00a0\u202f" + _INVISIBLE)
_IN_CORE: Final = _IN_WORD | frozenset("_-\u2010\u2011\\*`~")
_IN_TAIL: Final = _IN_WORD | frozenset("\\")
# How many signs a model may put inside a word, a core or a tail. Set by hand; they
# bound what a stream holds back to some hundred characters (docs/decisions/0014).
_WORD_GAPS: Final = 4
_CORE_GAPS: Final = 16
_TAIL_GAPS: Final = 8
# The first letters of a core that are compared while it is read.
_HEAD: Final = 4
_READ_AS = forms.READ_AS.get
# Behind a core, at most: `U`, three digits, three letters of an ending, and one more
# that tells that it is another token.
_MOST_BEHIND: Final = 9
_BEHIND = re.compile(rf"[0-9A-Za-z]{{0,{_MOST_BEHIND}}}")
_SPELLING_AND_ENDING = re.compile(r"(?:[uU](\d{1,3}))?[A-Za-z]{0,3}")
_MOST_ENDING: Final = 3

Undecided = Literal["no", "more"]
"""No token begins here, or that is not yet known."""


@dataclass(frozen=True, slots=True)
class TokenIndex:
    """The tokens that may be restored: values by core and spelling, and what tells
    early that there is none.

    `heads` are the first one to four letters of the cores, `cut` the first thirteen of
    those that are longer, `tailed` the cores of addresses.
    """

    values: Mapping[str, Mapping[str, str]]
    heads: frozenset[str]
    cut: frozenset[str]
    tailed: frozenset[str]

    def value(self, core: str, spelling: str) -> str:
        """The value of a core in this spelling, or in the first that there is."""
        spellings = self.values[core]
        written = spellings.get(spelling) or spellings.get("")
        return written or next(iter(spellings.values()))


@dataclass(frozen=True, slots=True)
class _Match:
    """A token in a text, and what it stands for."""

    start: int
    end: int
    value: str


class Stream:
    """Restores a text that comes in pieces: what `feed` and `close` return is `restore`
    of the whole.
    """

    def __init__(self, tokens: Mapping[str, str] | TokenIndex) -> None:
        self._index = index(tokens)
        self._pending = ""

    def feed(self, chunk: str) -> str:
        """The next piece, as far as it is certain; what may be the beginning of a token
        waits.
        """
        ready, self._pending = _restored(
            self._index, self._pending + chunk, final=False
        )
        return ready

    def close(self) -> str:
        """What waited, now that nothing follows."""
        ready, _ = _restored(self._index, self._pending, final=True)
        self._pending = ""
        return ready

    @property
    def pending_length(self) -> int:
        """How many characters wait."""
        return len(self._pending)


def restore(text: str, tokens: Mapping[str, str] | TokenIndex) -> str:
    """The text with the given tokens, and no others, replaced by their values. What a
    value holds is not read again.
    """
    return _restored(index(tokens), text, final=True)[0]


def token_spans(
    text: str, tokens: Mapping[str, str] | TokenIndex
) -> list[tuple[int, int]]:
    """Where `restore` would put a value."""
    matches = _matches(index(tokens), text, final=True)
    return [(match.start, match.end) for match in matches if isinstance(match, _Match)]


def index(tokens: Mapping[str, str] | TokenIndex) -> TokenIndex:
    """Tokens, ready to be looked for in many texts. What is no token of ours
    is left out.
    """
    if isinstance(tokens, TokenIndex):
        return tokens
    values: dict[str, dict[str, str]] = {}
    tailed: set[str] = set()
    for token, value in tokens.items():
        parts = forms.core_of(token)
        if parts is None:
            continue
        core, spelling = parts
        values.setdefault(core, {})[spelling] = value
        if token.endswith(forms.TAIL):
            tailed.add(core)
    lengths = range(1, _HEAD + 1)
    heads = frozenset(core[:length] for core in values for length in lengths)
    short = forms.LENGTHS[0]
    cut = frozenset(core[:short] for core in values if len(core) > short)
    return TokenIndex(values, heads, cut, frozenset(tailed))


def cores(text: str) -> set[str]:
    """Every core that some set of tokens could make `restore` find in this text."""
    possible: set[str] = set()
    for start in _starts(text):
        ends, _ = _word_ends(text, start)
        for end in ends:
            possible.update(_possible_cores(text, end))
    return possible


def _restored(tokens: TokenIndex, text: str, *, final: bool) -> tuple[str, str]:
    """What is certain, restored, and what must wait."""
    if not tokens.values or _scan().search(text) is None:
        return text, ""
    pieces: list[str] = []
    done = 0
    for match in _matches(tokens, text, final=final):
        if isinstance(match, int):
            pieces.append(text[done:match])
            return "".join(pieces), text[match:]
        pieces += (text[done : match.start], match.value)
        done = match.end
    pieces.append(text[done:])
    return "".join(pieces), ""


def _matches(tokens: TokenIndex, text: str, *, final: bool) -> Iterator[_Match | int]:
    """The tokens in a text, and at last the place from which on nothing is certain, if
    there is one.
    """
    at = 0
    while (begun := _scan().search(text, at)) is not None:
        start = begun.start()
        match = _read(tokens, text, start, final=final)
        if match == "more":
            yield start
            return
        if match == "no":
            at = start + 1
        else:
            yield match
            at = match.end


def _read(
    tokens: TokenIndex, text: str, start: int, *, final: bool
) -> _Match | Undecided:
    """The token that begins here, by the longest word that makes one."""
    ends, cut = _word_ends(text, start)
    if cut and not final:
        return "more"
    for end in ends:
        match = _read_core(tokens, text, start, end, final=final)
        if match != "no":
            return match
    return "no"


def _word_ends(text: str, start: int) -> tuple[list[int], bool]:
    """Where words that stand before cores end, if they begin here, longest first; and
    whether the text ends in one.
    """
    node = _trie()
    at = start
    gaps = 0
    ends: list[int] = []
    while at < len(text):
        below = node.below.get(text[at].lower())
        if below is not None:
            node = below
            if node.word:
                ends.insert(0, at + 1)
            if not node.below:
                return ends, False
        elif at > start and text[at] in _IN_WORD and gaps < _WORD_GAPS:
            gaps += 1
        else:
            return ends, False
        at += 1
    return ends, True


def _read_core(
    tokens: TokenIndex, text: str, start: int, begin: int, *, final: bool
) -> _Match | Undecided:
    """The token that begins at `start` and whose core is read from `begin` on: the
    longest core that is one.
    """
    core = ""
    gaps = 0
    length = 0
    best: _Match | Undecided = "no"
    for at in range(begin, len(text)):
        letter = _READ_AS(text[at])
        if letter is None:
            gaps += 1
            if gaps > _CORE_GAPS or text[at] not in _IN_CORE:
                return best
            continue
        core += letter
        length += 1
        if length <= _HEAD:
            if core not in tokens.heads:
                return best
        elif length in forms.LENGTHS:
            if core in tokens.values:
                best = _read_behind(tokens, text, start, at + 1, core, final=final)
            if best == "more" or core not in tokens.cut:
                return best
    return best if final else "more"


def _read_behind(
    tokens: TokenIndex, text: str, start: int, at: int, core: str, *, final: bool
) -> _Match | Undecided:
    """Behind a core: the number of a spelling, the tail of an address, an ending; more
    letters are another token.
    """
    behind = _letters_behind(text, at)
    if not final and _may_go_on(text, at, behind):
        return "more"
    parts = _SPELLING_AND_ENDING.fullmatch(behind)
    if parts is None:
        return "no"
    spelling = f"U{parts[1]}" if parts[1] else ""
    end: int | None = at + len(spelling)
    if core in tokens.tailed and len(behind) == len(spelling):
        end = _end_with_tail(text, at + len(spelling), final=final)
        if end is None:
            return "more"
    return _Match(start, end, tokens.value(core, spelling))


def _letters_behind(text: str, at: int) -> str:
    letters = _BEHIND.match(text, at)
    return letters.group() if letters else ""


def _may_go_on(text: str, at: int, letters: str) -> bool:
    """Whether a text ends in these letters, so that more of them may follow."""
    return at + len(letters) == len(text) and len(letters) < _MOST_BEHIND


def _end_with_tail(text: str, at: int, *, final: bool) -> int | None:
    """Where an address ends whose tail may begin here: `at` without one, None if that
    is not yet known.
    """
    tail = _tail_end(text, at)
    if tail is None:
        return at if final else None
    if tail == 0:
        return at
    behind = _letters_behind(text, tail)
    if not final and _may_go_on(text, tail, behind):
        return None
    return tail if _is_ending(behind) else at


def _is_ending(letters: str) -> bool:
    """A word's ending, and not more of a name of a domain."""
    return len(letters) <= _MOST_ENDING and not any(c.isdigit() for c in letters)


def _tail_end(text: str, at: int) -> int | None:
    """Where the tail that begins here ends, 0 if none does, None if the text ends in
    it.
    """
    gaps = 0
    read = 0
    while at < len(text):
        if text[at].lower() == forms.TAIL[read]:
            read += 1
            if read == len(forms.TAIL):
                return at + 1
        elif text[at] in _IN_TAIL and gaps < _TAIL_GAPS:
            gaps += 1
        else:
            return 0
        at += 1
    return None


def _possible_cores(text: str, at: int) -> Iterator[str]:
    """The cores that may be read from here on, whoever has them."""
    core = ""
    gaps = 0
    while at < len(text) and len(core) < forms.LENGTHS[-1]:
        letter = forms.READ_AS.get(text[at])
        if letter is not None:
            core += letter
            if len(core) in forms.LENGTHS and not forms.SURE_DIGITS.isdisjoint(core):
                yield core
        elif text[at] in _IN_CORE and gaps < _CORE_GAPS:
            gaps += 1
        else:
            return
        at += 1


def _starts(text: str) -> Iterator[int]:
    at = 0
    while (begun := _scan().search(text, at)) is not None:
        yield begun.start()
        at = begun.start() + 1


class _Node:
    """A node in the trie of the words that stand before cores."""

    __slots__ = ("below", "word")

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.word = False


@cache
def _trie() -> _Node:
    root = _Node()
    for word in forms.WORDS:
        node = root
        for letter in word:
            node = node.below.setdefault(letter, _Node())
        node.word = True
    return root


def _pattern(node: _Node) -> str:
    """A pattern for the words below a node, or for their beginnings at the end of the
    text.
    """
    gap = "[" + "".join(re.escape(c) for c in sorted(_IN_WORD)) + f"]{{0,{_WORD_GAPS}}}"
    branches: list[str] = []
    for letter, below in sorted(node.below.items()):
        branch = _any_case(letter)
        if not below.word:
            branch += rf"{gap}(?:\Z|{_pattern(below)})"
        branches.append(branch)
    return "|".join(branches)


def _any_case(letter: str) -> str:
    if letter.lower() == letter.upper():
        return re.escape(letter)
    return f"[{letter}{letter.upper()}]"


@cache
def _scan() -> re.Pattern[str]:
    return re.compile(_pattern(_trie()))
