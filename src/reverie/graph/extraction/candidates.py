"""Cuts a text into runs of words that may be a name: capitals in a row, without titles,
genitives and compounds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reverie.graph.extraction import lexicon
from reverie.privacy import folding, lists, names

_MOST = 6
_SHORT = 3
_TITLE = 4
_STRIPPED_FROM = 5
_USUAL = 3
_EVERYWHERE = 20
_MANY = 10
_FORMS = ("ed", "ing", "ly")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Words that may be a name, tokens `at` to `end`; and what was cut off: a title, a
    genitive, a compound's end.
    """

    at: int
    end: int
    words: tuple[str, ...]
    start: int
    stop: int
    title: str = ""
    owning: bool = False
    tail: str = ""


@dataclass(frozen=True, slots=True)
class AnalysedText:
    """A text as it was read, and the words of its language."""

    reading: names.TokenizedText
    lexicon: lexicon.EntityLexicon
    language: str

    def ordinary(self, word: str) -> bool:
        """Whether a word is in a dictionary. Three letters are in one by chance."""
        if len(word) <= _SHORT and not self.lexicon.heads.get(folding.plain(word)):
            return False
        return self.common(word)

    def common(self, word: str) -> bool:
        """The same without that doubt: what matters where a word has the capital of its
        sentence.
        """
        parts = [part for part in word.split("-") if len(part) > 1]
        return bool(parts) and all(self._known(part) for part in parts)

    def _known(self, word: str) -> bool:
        plain = folding.plain(word)
        if lists.given(plain) >= _EVERYWHERE:
            return False
        if self.language == "de":
            return lexicon.german(word) or lists.english(plain)
        return lists.english(plain) or (
            self.language == "es" and lists.spanish(word.lower())
        )

    def role(self, word: str) -> bool:
        """Whether a folded word says what somebody is: `maintainer`, `grunderin`,
        `freiwilligenkoordinatorin`.
        """
        roles = self.lexicon.words["roles"]
        if word in roles or (
            word.endswith("s") and self.language == "en" and word[:-1] in roles
        ):
            return True
        bare = word.removesuffix("in")
        return self.language == "de" and any(
            bare.endswith(role) for role in roles if len(role) >= _STRIPPED_FROM
        )

    def function(self, word: str) -> bool:
        """Whether a folded word is none that can be a name's."""
        words = self.reading.words
        return word in words["function"] or self.lexicon.has("determiners", word)

    def never(self, word: str) -> bool:
        """Whether a folded word is capitalised without being a name."""
        return (
            self.lexicon.has("not_names", word)
            or word in self.reading.words["nationality"]
            or (
                word in self.reading.words["not_names"]
                and not self.lexicon.heads.get(word)
                and not _usual(word)
            )
        )


def _usual(word: str) -> bool:
    """`Grace` and `Mark`, and not `Jan.`, which is a month more often."""
    return len(word) > _SHORT and lists.given(word) >= _MANY


def cut(page: AnalysedText) -> Iterator[Candidate]:
    """Every run of a text, by place."""
    tokens = page.reading.tokens
    at = 0
    while at < len(tokens):
        if not _begins(tokens[at]) or _inside(page.reading, tokens[at]):
            at += 1
            continue
        end = _reach(page, at)
        run = _trimmed(page, at, end)
        if run:
            yield run
        at = end


def _begins(token: names.Token) -> bool:
    return (
        token.capital
        and token.text[0].isalpha()
        and (len(token.text) > 1 or not token.first)
    )


def _inside(reading: names.TokenizedText, token: names.Token) -> bool:
    """Whether a token is a piece of an address or a handle: `example.Org/About`,
    `@Ada`.
    """
    before = reading.text[token.start - 1 : token.start]
    return before in ("@", "/", "_", "\\", "=", "&", "#") or (
        before == "."
        and token.start > 1
        and reading.text[token.start - 2].isalnum()
        and len(token.text) > 1
    )


def _reach(page: AnalysedText, at: int) -> int:
    """The token after the run: capitals with one space between, `of` after
    `University`, `&` between two.
    """
    tokens, text = page.reading.tokens, page.reading.text
    end = at + 1
    while end < len(tokens) and end - at < _MOST:
        last, token = tokens[end - 1], tokens[end]
        dotted = _dotted(page, end)
        if dotted:
            end = dotted
            continue
        if text[last.end : token.start] not in (" ", "\u00a0") or last.text.endswith(
            "'s"
        ):
            break
        if _begins(token):
            if page.language == "de" and _genitive(page, last, token):
                break
            end += 1
            continue
        joined = _joint(page, end)
        if joined is None:
            break
        end = joined
    return end


def _dotted(page: AnalysedText, end: int) -> int | None:
    """Past the full stop of an initial or of a short title: `Ursula K. Le Guin`, `Dr.
    Osei`.
    """
    tokens, text = page.reading.tokens, page.reading.text
    last = tokens[end - 1]
    short = len(last.text) == 1 or (len(last.text) <= _TITLE and page.role(last.plain))
    if tokens[end].text != "." or not short or end + 1 >= len(tokens):
        return None
    if not tokens[end + 1].capital or page.function(tokens[end + 1].plain):
        return None
    return (
        end + 2 if text[tokens[end].end : tokens[end + 1].start] in ("", " ") else None
    )


def _joint(page: AnalysedText, end: int) -> int | None:
    """Past `of the` or `&` to the capital that follows."""
    tokens = page.reading.tokens
    following = end + 1
    if tokens[end].text != "&":
        if tokens[end].plain not in ("of", "de", "del") or not page.lexicon.has(
            "joins", tokens[end - 1].plain
        ):
            return None
        if following < len(tokens) and tokens[following].plain in ("the", "la", "los"):
            following += 1
    return (
        following + 1
        if following < len(tokens) and _begins(tokens[following])
        else None
    )


def _genitive(page: AnalysedText, token: names.Token, following: names.Token) -> bool:
    """`Annas Haus`: a name that is no German word, with an s, before a word that is
    one.
    """
    word = token.text
    if lists.given(token.plain) > lists.given(token.plain[:-1]):
        return False
    if (
        not word.endswith("s")
        or page.lexicon.heads.get(token.plain)
        or lists.english(token.plain)
    ):
        return (
            word.endswith("s")
            and token.first
            and _noun(following)
            and not page.lexicon.heads.get(token.plain)
        )
    noun = (
        following.capital
        and len(following.text) >= _STRIPPED_FROM
        and lexicon.german(following.text)
    )
    if (
        noun
        and not lexicon.german(word)
        and not page.lexicon.heads.get(following.plain)
    ):
        return True
    ours = not lexicon.german(word) or lists.given(token.plain[:-1]) > 0
    return ours and (_noun(following) or following.text.isupper())


def _noun(token: names.Token) -> bool:
    first = token.text.split("-")[-1]
    return (
        token.capital
        and len(first) >= _STRIPPED_FROM
        and lexicon.german(first)
        and not lists.english(token.plain)
    )


def _trimmed(page: AnalysedText, at: int, end: int) -> Candidate | None:
    """A run without the words at its ends that belong to no name."""
    tokens = page.reading.tokens
    tail = ""
    if page.language == "de":
        end, tail = _compound(page, at, end)
    title = ""
    while at < end and (not tail or at < end - 1):
        token = tokens[at]
        titled = page.role(token.plain) or _opener(page, at, end)
        announced = (
            at + 1 < end
            and token.plain in page.lexicon.before
            and page.language != "es"
        )
        announced = announced and not page.lexicon.has("joins", token.plain)
        if token.text == "." or (
            not titled and (page.function(token.plain) or page.never(token.plain))
        ):
            at += 1
        elif titled or announced:
            title, at = token.plain, at + 1
        else:
            break
    while end > at + 1 and _closes(page, at, end, tail):
        end, tail = end - 1, ""
    if at >= end:
        return None
    return _made(page, at, end, title, tail)


def _closes(page: AnalysedText, at: int, end: int, tail: str) -> bool:
    """Whether a last word is left out: an abbreviation that is no name, or a German
    noun after a foreign name.
    """
    token = page.reading.tokens[end - 1]
    if page.never(token.plain):
        months = page.reading.words["not_names"]
        following = (
            page.reading.tokens[end].text if end < len(page.reading.tokens) else ""
        )
        name = (
            token.plain in months
            and not token.text.isupper()
            and not following.isdigit()
        )
        return not (
            name
            and end - at == 2
            and not page.ordinary(page.reading.tokens[end - 2].text)
        )
    if (
        page.language != "de"
        or tail
        or not _noun(token)
        or lists.given(token.plain)
        or lists.family(token.plain)
    ):
        return False
    return end - at > 2 or all(
        lists.english(one.plain) for one in page.reading.tokens[at : end - 1]
    )


def _opener(page: AnalysedText, at: int, end: int) -> bool:
    """Whether a first word is one of the sentence and not of the name after it."""
    tokens = page.reading.tokens
    token = tokens[at]
    if (
        at + 1 >= end
        or page.lexicon.has("joins", token.plain)
        or lists.given(token.plain) >= (1 if page.language == "de" else _USUAL)
    ):
        return False
    if (
        token.first
        and page.language != "de"
        and page.lexicon.has("openers", token.plain)
    ):
        return not page.lexicon.heads.get(tokens[end - 1].plain)
    if page.language == "de":
        if page.lexicon.heads.get(tokens[end - 1].plain) and lexicon.german(
            tokens[at + 1].text
        ):
            return False
        german = lexicon.german(token.text) and not lists.english(token.plain)
        after = tokens[at + 1].plain.split("-")[0]
        if (
            end - at == 2
            and lists.english(after)
            and not lists.given(after)
            and not token.first
        ):
            return False
        return _noun(token) or (token.first and len(token.text) > _SHORT and german)
    if (
        not token.first
        or not page.ordinary(token.text)
        or page.lexicon.has("starts_place", token.plain)
    ):
        return False
    following = tokens[at + 1]
    if (
        page.ordinary(following.text.removesuffix("'s"))
        and lists.given(following.plain) < _USUAL
    ):
        return token.plain.endswith(_FORMS) and end - at > 2
    return (
        end - at > 2
        or token.plain.endswith(_FORMS)
        or page.lexicon.has("openers", token.plain)
    )


def _compound(page: AnalysedText, at: int, end: int) -> tuple[int, str]:
    """A German compound ends the name that begins it: `Aurora-Projekt`, `Green
    Roof-Regeln`.
    """
    tokens = page.reading.tokens
    for number in range(at, end):
        parts = tokens[number].text.split("-")
        kept = len(parts)
        double = (
            number > at
            and lists.given(tokens[at].plain)
            and lists.family(folding.plain(parts[-1]))
        )
        while (
            not double
            and kept > 1
            and _german_part(parts[kept - 1], last=kept == len(parts))
        ):
            kept -= 1
        first = folding.plain(parts[0])
        cue = (
            page.lexicon.after.get(first) in ("project", "technology")
            and first not in page.lexicon.heads
        )
        if number > at and kept == 1 and len(parts) > 1 and cue:
            return number, "-".join(parts)
        if kept < len(parts):
            return number + 1, "-".join(parts[kept:])
    return end, ""


def _german_part(part: str, *, last: bool) -> bool:
    german = len(part) > _SHORT and part[0].isupper() and lexicon.german(part)
    return german and (last or not lists.english(folding.plain(part)))


def _made(
    page: AnalysedText, at: int, end: int, title: str, tail: str
) -> Candidate | None:
    tokens = page.reading.tokens
    words = [
        token.text
        for token in tokens[at:end]
        if token.text[0].isalnum() or token.text == "&"
    ]
    stop = tokens[end - 1].end
    owning = words[-1].endswith("'s") or (
        end < len(tokens) and tokens[end].text == "'" and words[-1][-1] in "sh"
    )
    if words[-1].endswith("'s"):
        words[-1], stop = words[-1][:-2], stop - 2
    if tail:
        cut_off = len(tail) + 1 if words[-1].endswith("-" + tail) else 0
        words[-1], stop = words[-1][: len(words[-1]) - cut_off], stop - cut_off
    elif (
        page.language == "de"
        and end < len(tokens)
        and _genitive(page, tokens[end - 1], tokens[end])
    ):
        words[-1], stop, owning = _bare(page, words[-1], stop)
    never = (
        len(words) == 1
        and "-" in words[0]
        and page.never(folding.plain(words[0].split("-")[0]))
    )
    if never or len("".join(words)) < 2:
        return None
    return Candidate(at, end, tuple(words), tokens[at].start, stop, title, owning, tail)


def _bare(page: AnalysedText, word: str, stop: int) -> tuple[str, int, bool]:
    """Without the s of the genitive, unless the text has the word with it elsewhere and
    never without.
    """
    others: Sequence[str] = [token.text for token in page.reading.tokens]
    if word[:-1] not in others and others.count(word) > 1:
        return word, stop, False
    return word[:-1], stop - 1, True
