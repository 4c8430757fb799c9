"""Restoring: the values in place of their tokens, in a whole text or in a stream of
pieces.

A reply is read once from left to right. At each word that may begin a token the reader
decides: a token that was given, none, or, in a stream, not yet known; what is not known
yet is held back. Models change tokens, so case, Markdown, line breaks and the language
of the word before the core do not matter; each character of the core does. Text for
programs (JSON, calls of tools) is parsed first and restored value by value: a name may
hold a quote.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from reverie.privacy import forms

_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
_IN_WORD: Final = frozenset(" \t\r\n\u00a0\u202f" + _INVISIBLE)
_IN_CORE: Final = _IN_WORD | frozenset("_-\u2010\u2011\\*`~")
_IN_TAIL: Final = _IN_WORD | frozenset("\\")
_WORD_GAPS: Final = 4
_CORE_GAPS: Final = 16
_TAIL_GAPS: Final = 8
_HEAD: Final = 4
_READ_AS = forms.READ_AS.get
_RUN = re.compile(r"[0-9A-Za-z]{0,9}")
_BEHIND = re.compile(r"(?:[uU](\d{1,3}))?[A-Za-z]{0,3}")

Undecided = Literal["no", "more"]


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
        return (
            spellings.get(spelling)
            or spellings.get("")
            or next(iter(spellings.values()))
        )


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    value: str


class Stream:
    """Restores a text that comes in pieces: what `feed` and `close` return is `restore`
    of the whole.
    """

    def __init__(self, tokens: Mapping[str, str] | TokenIndex) -> None:
        self._index = index(tokens)
        self._held = ""

    def feed(self, chunk: str) -> str:
        """The next piece, as far as it is certain; what may be the beginning of a token
        waits.
        """
        ready, self._held = _restored(self._index, self._held + chunk, final=False)
        return ready

    def close(self) -> str:
        """What waited, now that nothing follows."""
        ready, _ = _restored(self._index, self._held, final=True)
        self._held = ""
        return ready

    @property
    def held(self) -> int:
        """How many characters wait."""
        return len(self._held)


def restore(text: str, tokens: Mapping[str, str] | TokenIndex) -> str:
    """The text with the given tokens, and no others, replaced by their values. What a
    value holds is not read again.
    """
    return _restored(index(tokens), text, final=True)[0]


def places(text: str, tokens: Mapping[str, str] | TokenIndex) -> list[tuple[int, int]]:
    """Where `restore` would put a value."""
    return [
        (one.start, one.end)
        for one in _tokens(index(tokens), text, final=True)
        if isinstance(one, _Found)
    ]


def index(tokens: Mapping[str, str] | TokenIndex) -> TokenIndex:
    """The given tokens, ready to be looked for in many texts. What is no token of ours
    is left out.
    """
    if isinstance(tokens, TokenIndex):
        return tokens
    values: dict[str, dict[str, str]] = {}
    tailed: set[str] = set()
    for token, value in tokens.items():
        found = forms.core_of(token)
        if found is not None:
            core, spelling = found
            values.setdefault(core, {})[spelling] = value
            if token.endswith(forms.TAIL):
                tailed.add(core)
    heads = frozenset(
        core[:length] for core in values for length in range(1, _HEAD + 1)
    )
    short = forms.LENGTHS[0]
    cut = frozenset(core[:short] for core in values if len(core) > short)
    return TokenIndex(values, heads, cut, frozenset(tailed))


def cores(text: str) -> set[str]:
    """Every core that some set of tokens could make `restore` find in this text."""
    found: set[str] = set()
    for start in _starts(text):
        for end in _word_ends(text, start)[0]:
            found.update(_possible(text, end))
    return found


def _restored(given: TokenIndex, text: str, *, final: bool) -> tuple[str, str]:
    """What is certain, restored, and what must wait."""
    if not given.values or _SCAN.search(text) is None:
        return text, ""
    pieces: list[str] = []
    done = 0
    for one in _tokens(given, text, final=final):
        if isinstance(one, int):
            pieces.append(text[done:one])
            return "".join(pieces), text[one:]
        pieces += (text[done : one.start], one.value)
        done = one.end
    pieces.append(text[done:])
    return "".join(pieces), ""


def _tokens(given: TokenIndex, text: str, *, final: bool) -> Iterator[_Found | int]:
    """The given tokens in a text, and at last the place from which on nothing is
    certain, if there is one.
    """
    at = 0
    while (begun := _SCAN.search(text, at)) is not None:
        start = begun.start()
        one = _read(given, text, start, final=final)
        if one == "more":
            yield start
            return
        if one == "no":
            at = start + 1
        else:
            yield one
            at = one.end


def _read(
    given: TokenIndex, text: str, start: int, *, final: bool
) -> _Found | Undecided:
    """The token that begins here, by the longest word that makes one."""
    ends, cut = _word_ends(text, start)
    if cut and not final:
        return "more"
    for end in ends:
        one = _read_core(given, text, start, end, final=final)
        if one != "no":
            return one
    return "no"


def _word_ends(text: str, start: int) -> tuple[list[int], bool]:
    """Where words that stand before cores end, if they begin here, longest first; and
    whether the text ends in one.
    """
    node, at, gaps = _TRIE, start, 0
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
    given: TokenIndex, text: str, start: int, begin: int, *, final: bool
) -> _Found | Undecided:
    core, gaps, length = "", 0, 0
    best: _Found | Undecided = "no"
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
            if core not in given.heads:
                return best
        elif length in forms.LENGTHS:
            if core in given.values:
                best = _read_rest(given, text, start, at + 1, core, final=final)
                if best == "more":
                    return best
            if core not in given.cut:
                return best
    return best if final else "more"


def _read_rest(
    given: TokenIndex, text: str, start: int, at: int, core: str, *, final: bool
) -> _Found | Undecided:
    """Behind a core: the number of a spelling, the tail of an address, an ending; more
    letters are another token.
    """
    run = _run(text, at)
    if at + len(run) == len(text) and len(run) < 9 and not final:
        return "more"
    fits = _BEHIND.fullmatch(run)
    if fits is None:
        return "no"
    spelling = f"U{fits[1]}" if fits[1] else ""
    end = at + len(spelling)
    if core in given.tailed and len(run) == len(spelling):
        tail = _tail_end(text, end)
        if tail is None and not final:
            return "more"
        if tail:
            behind = _run(text, tail)
            if tail + len(behind) == len(text) and len(behind) < 9 and not final:
                return "more"
            end = (
                tail
                if len(behind) <= 3 and not any(c.isdigit() for c in behind)
                else end
            )
    return _Found(start, end, given.value(core, spelling))


def _run(text: str, at: int) -> str:
    found = _RUN.match(text, at)
    return found.group() if found else ""


def _tail_end(text: str, at: int) -> int | None:
    """Where the tail that begins here ends, 0 if none does, None if the text ends in
    it.
    """
    gaps, read = 0, 0
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


def _possible(text: str, at: int) -> Iterator[str]:
    """The cores that may be read from here on, whoever has them."""
    core, gaps = "", 0
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
    while (begun := _SCAN.search(text, at)) is not None:
        yield begun.start()
        at = begun.start() + 1


class _Node:
    """A place in the tree of the words that stand before cores."""

    __slots__ = ("below", "word")

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.word = False


def _tree() -> _Node:
    root = _Node()
    for word in forms.WORDS:
        node = root
        for letter in word:
            node = node.below.setdefault(letter, _Node())
        node.word = True
    return root


def _pattern(node: _Node) -> str:
    """A pattern for the words below a place, or for their beginnings at the end of the
    text.
    """
    gap = "[" + "".join(re.escape(c) for c in sorted(_IN_WORD)) + f"]{{0,{_WORD_GAPS}}}"
    ways: list[str] = []
    for letter, below in sorted(node.below.items()):
        either = (
            re.escape(letter)
            if letter.lower() == letter.upper()
            else f"[{letter}{letter.upper()}]"
        )
        ways.append(either if below.word else rf"{either}{gap}(?:\Z|{_pattern(below)})")
    return "|".join(ways)


_TRIE = _tree()
_SCAN = re.compile(_pattern(_TRIE))
