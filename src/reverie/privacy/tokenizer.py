"""Tokeniser: words, numbers, signs and line ends of a text, with offsets."""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from reverie.privacy import folding

# Letters with apostrophes and hyphens inside, or letters mixed with digits, or one
# sign, or a line end.
_TOKEN = re.compile(r"[^\W\d_]++(?:['-][^\W\d_]++)*+(?![\d_])|\w+|[^\w\s]|\n")
_WORD = re.compile(r"[^\W_]+")
# After these a capital is that of a sentence and says nothing.
_SENTENCE_ENDS = frozenset('.!?:;\n"()[]{}*#>|•…')
# A text of fewer small words is too short to tell that it does without capitals.
LOWERCASE_FROM = 3


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number, a sign or the end of a line.

    `plain` is the text in lower case without accents, `capital` whether it begins with
    a capital, `first` whether it is the first word of its sentence.
    """

    start: int
    end: int
    text: str
    plain: str
    capital: bool
    first: bool


class TokenWord(NamedTuple):
    """A run of letters and digits with its place in a text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """A text cut into tokens, with what is known of its language and its capitals.

    `lower` is whether it does without capitals; `words` are the lists of folded words
    of rules.load(), with `function` those of the language.
    """

    text: str
    tokens: Sequence[Token]
    language: str
    lower: bool
    words: Mapping[str, Set[str]]

    def token_at(self, position: int) -> int:
        """The number of the first token that starts there or later."""
        low, high = 0, len(self.tokens)
        while low < high:
            middle = (low + high) // 2
            if self.tokens[middle].start < position:
                low = middle + 1
            else:
                high = middle
        return low

    def token_after(self, number: int) -> Token | None:
        """The token after one, if there is any."""
        following = number + 1
        return self.tokens[following] if following < len(self.tokens) else None

    def gap_before(self, number: int) -> str:
        """What stands between a token and the one before it: mostly one space."""
        return self.text[self.tokens[number - 1].end : self.tokens[number].start]


def tokenize(text: str, words: Mapping[str, Set[str]], language: str) -> TokenizedText:
    """The tokens of a folded text, and whether the text does without capitals."""
    function_words = words.get(f"function {language}")
    if function_words is not None:
        words = {**words, "function": function_words}
    tokens: list[Token] = []
    first = True
    for match in _TOKEN.finditer(text):
        word = match.group()
        tokens.append(
            Token(
                match.start(),
                match.end(),
                word,
                folding.plain(word),
                word[0].isupper(),
                word[0].isalpha() and first,
            )
        )
        # Signs such as a dash keep the beginning of a sentence; a comma does not.
        first = word in _SENTENCE_ENDS or (
            first and not word[0].isalnum() and word != ","
        )
    return TokenizedText(text, tokens, language, _without_capitals(tokens), words)


def _without_capitals(tokens: Sequence[Token]) -> bool:
    capitals = sum(token.capital for token in tokens)
    small = sum(token.text[0].islower() for token in tokens)
    return capitals == 0 and small >= LOWERCASE_FROM


def words_with_offsets(text: str) -> list[TokenWord]:
    """The runs of letters and digits of a text: no hyphens, no signs."""
    return [TokenWord(*match.span(), match.group()) for match in _WORD.finditer(text)]


def plain_words(text: str) -> tuple[str, ...]:
    """The runs of letters and digits of a folded text, in lower case without accents."""
    return tuple(folding.plain(word) for word in _WORD.findall(text))
