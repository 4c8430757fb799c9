"""Lexical features of a text's words: ordinary, role, function word, never a name."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from reverie.graph.extraction import lexicon
from reverie.privacy import folding, lists, tokenizer

SHORT = 3
"""A word of so few letters is in a dictionary by chance."""

# A given name of so many countries is no ordinary word, whatever a dictionary says; one
# of so many is a name, although it may be a month.
_EVERYWHERE, _MANY = 20, 10
# Shorter words for roles end other words, too.
_SHORTEST_ROLE = 5


@dataclass(frozen=True, slots=True)
class AnalysedText:
    """A text in tokens, and the words of its language: en, de or es. `times`: how often
    each token is written so.
    """

    tokenized: tokenizer.TokenizedText
    lexicon: lexicon.EntityLexicon
    language: str
    times: Mapping[str, int]

    def is_ordinary(self, word: str) -> bool:
        """Whether a word is in a dictionary. Three letters are in one by chance."""
        if len(word) <= SHORT and not self.lexicon.heads.get(folding.plain(word)):
            return False
        return self.is_common(word)

    def is_common(self, word: str) -> bool:
        """The same without that doubt: what matters where a word has the capital of its
        sentence.
        """
        parts = [part for part in word.split("-") if len(part) > 1]
        return bool(parts) and all(self._in_dictionary(part) for part in parts)

    def _in_dictionary(self, word: str) -> bool:
        plain = folding.plain(word)
        if lists.given(plain) >= _EVERYWHERE:
            return False
        if self.language == "de" and lists.german(word):
            return True
        # English words stand in texts of every language.
        if lists.english(plain):
            return True
        return self.language == "es" and lists.spanish(word.lower())

    def is_role(self, word: str) -> bool:
        """Whether a folded word says what somebody is: `maintainer`, `grunderin`,
        `freiwilligenkoordinatorin`.
        """
        roles = self.lexicon.words["roles"]
        if word in roles:
            return True
        if self.language == "en":
            return word.endswith("s") and word[:-1] in roles
        if self.language != "de":
            return False
        masculine = word.removesuffix("in")
        return any(
            masculine.endswith(role) for role in roles if len(role) >= _SHORTEST_ROLE
        )

    def is_function_word(self, word: str) -> bool:
        """Whether a folded word is none that can be a name's."""
        if word in self.tokenized.words["function"]:
            return True
        return self.lexicon.has("determiners", word)

    def is_never_name(self, word: str) -> bool:
        """Whether a folded word is capitalised without being a name."""
        words = self.tokenized.words
        if self.lexicon.has("not_names", word) or word in words["nationality"]:
            return True
        if word not in words["not_names"]:
            return False
        return not self.lexicon.heads.get(word) and not _usual_name(word)


def of(
    tokenized: tokenizer.TokenizedText, words: lexicon.EntityLexicon, language: str
) -> AnalysedText:
    """A text ready for features."""
    times = Counter(token.text for token in tokenized.tokens)
    return AnalysedText(tokenized, words, language, times)


def _usual_name(word: str) -> bool:
    """`Grace` and `Mark`, and not `Jan.`, which is a month more often."""
    return len(word) > SHORT and lists.given(word) >= _MANY
