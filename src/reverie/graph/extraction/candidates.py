"""Named entity candidates: runs of capitalised words, without titles and genitives.

What may be a name is cut out here; scoring.py says what it names, if anything.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reverie.graph.extraction import analysis
from reverie.privacy import folding, lists, tokenizer

# A candidate has at most so many words.
_MOST_WORDS = 6
# A title with a full stop has at most so many letters: `Prof.`
_LONGEST_ABBREVIATION = 4
# Shorter German nouns are foreign words, too: `Rat`, `Gift`.
_SHORTEST_NOUN = 5
# A given name of so many countries is usual.
_USUAL = 3
_SPACES = (" ", "\u00a0")
# Before a piece of an address, a path or a handle.
_ADDRESS_SIGNS = ("@", "/", "_", "\\", "=", "&", "#")
# Forms of verbs and adverbs.
_WORD_FORMS = ("ed", "ing", "ly")
# What a German compound may follow: `Aurora Projekt-Dashboard`.
_COMPOUND_TYPES = ("project", "technology")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Words that may be a name, tokens `at` to `end`; and what was cut off.

    `start` and `stop` are offsets in the folded text. Cut off are a `title` (folded),
    the s of a genitive (`owning`), the `tail` of a German compound.
    """

    at: int
    end: int
    words: tuple[str, ...]
    start: int
    stop: int
    title: str = ""
    owning: bool = False
    tail: str = ""


def find(text: analysis.AnalysedText) -> Iterator[Candidate]:
    """Every candidate of a text, by place."""
    tokens = text.tokenized.tokens
    at = 0
    while at < len(tokens):
        if not _begins(tokens[at]) or _inside_address(text.tokenized, tokens[at]):
            at += 1
            continue
        end = _run_end(text, at)
        candidate = _trimmed(text, at, end)
        if candidate:
            yield candidate
        at = end


def _begins(token: tokenizer.Token) -> bool:
    if not token.capital or not token.text[0].isalpha():
        return False
    return len(token.text) > 1 or not token.first


def _inside_address(tokenized: tokenizer.TokenizedText, token: tokenizer.Token) -> bool:
    """Whether a token is a piece of an address or a handle: `example.Org/About`,
    `@Ada`.
    """
    before = tokenized.text[token.start - 1 : token.start]
    if before != ".":
        return before in _ADDRESS_SIGNS
    if token.start < 2 or len(token.text) < 2:
        return False
    return tokenized.text[token.start - 2].isalnum()


def _run_end(text: analysis.AnalysedText, at: int) -> int:
    """The token after the run: capitals with one space between, `of` after
    `University`, `&` between two.
    """
    tokens = text.tokenized.tokens
    end = at + 1
    while end < len(tokens) and end - at < _MOST_WORDS:
        longer = _past_full_stop(text, end) or _past_word(text, end)
        if longer is None:
            break
        end = longer
    return end


def _past_full_stop(text: analysis.AnalysedText, end: int) -> int | None:
    """Past the full stop of an initial or of a short title, and the word after it:
    `Ursula K. Le Guin`, `Dr. Osei`.
    """
    tokens = text.tokenized.tokens
    if tokens[end].text != "." or end + 1 >= len(tokens):
        return None
    last, following = tokens[end - 1], tokens[end + 1]
    title = len(last.text) <= _LONGEST_ABBREVIATION and text.is_role(last.plain)
    if len(last.text) != 1 and not title:
        return None
    if not following.capital or text.is_function_word(following.plain):
        return None
    return end + 2 if text.tokenized.gap_before(end + 1) in ("", " ") else None


def _past_word(text: analysis.AnalysedText, end: int) -> int | None:
    """Past the next word of a run, and the small words before it; None after the last."""
    last, token = text.tokenized.tokens[end - 1], text.tokenized.tokens[end]
    if text.tokenized.gap_before(end) not in _SPACES or last.text.endswith("'s"):
        return None
    if not _begins(token):
        return _past_joint(text, end)
    if text.language == "de" and _german_genitive(text, last, token):
        return None
    return end + 1


def _past_joint(text: analysis.AnalysedText, end: int) -> int | None:
    """Past `of the` or `&` and the capital that follows."""
    tokens = text.tokenized.tokens
    following = end + 1
    if tokens[end].text != "&":
        if tokens[end].plain not in ("of", "de", "del"):
            return None
        if not text.lexicon.has("joins", tokens[end - 1].plain):
            return None
        article = following < len(tokens) and tokens[following].plain in (
            "the",
            "la",
            "los",
        )
        following += article
    if following < len(tokens) and _begins(tokens[following]):
        return following + 1
    return None


def _german_genitive(
    text: analysis.AnalysedText, token: tokenizer.Token, following: tokenizer.Token
) -> bool:
    """`Annas Haus`: a name that is no German word, with an s, before a word that is
    one.
    """
    if not token.text.endswith("s") or text.lexicon.heads.get(token.plain):
        return False
    bare = token.plain[:-1]
    if lists.given(token.plain) > lists.given(bare):
        return False
    if lists.english(token.plain):
        return token.first and _german_noun(following)
    foreign = not lists.german(token.text)
    if foreign and _is_plain_noun(text, following):
        return True
    owner = foreign or lists.given(bare) > 0
    return owner and _noun_or_acronym(following)


def _noun_or_acronym(token: tokenizer.Token) -> bool:
    return _german_noun(token) or token.text.isupper()


def _is_plain_noun(text: analysis.AnalysedText, token: tokenizer.Token) -> bool:
    """A German noun that does not end the name of an organisation or a place."""
    return (
        token.capital
        and len(token.text) >= _SHORTEST_NOUN
        and lists.german(token.text)
        and not text.lexicon.heads.get(token.plain)
    )


def _german_noun(token: tokenizer.Token) -> bool:
    """A German noun that is no English word, by its last part."""
    last_part = token.text.split("-")[-1]
    return (
        token.capital
        and len(last_part) >= _SHORTEST_NOUN
        and lists.german(last_part)
        and not lists.english(token.plain)
    )


def _trimmed(text: analysis.AnalysedText, at: int, end: int) -> Candidate | None:
    """A run without the words at its ends that belong to no name."""
    tail = ""
    if text.language == "de":
        end, tail = _without_compound(text, at, end)
    at, title = _without_beginning(text, at, end, tail)
    while end > at + 1 and _left_out_at_end(text, at, end, tail):
        end, tail = end - 1, ""
    return _candidate(text, at, end, title, tail) if at < end else None


def _without_beginning(
    text: analysis.AnalysedText, at: int, end: int, tail: str
) -> tuple[int, str]:
    """Where a name begins after articles and titles, and the last of the titles."""
    tokens = text.tokenized.tokens
    title = ""
    # The word that a compound ends stays.
    stop = end - 1 if tail else end
    while at < stop:
        token = tokens[at]
        titled = text.is_role(token.plain) or _opens_sentence(text, at, end)
        if token.text == "." or (not titled and _no_name(text, token)):
            at += 1
        elif titled or _announces(text, at, end):
            title, at = token.plain, at + 1
        else:
            break
    return at, title


def _no_name(text: analysis.AnalysedText, token: tokenizer.Token) -> bool:
    return text.is_function_word(token.plain) or text.is_never_name(token.plain)


def _announces(text: analysis.AnalysedText, at: int, end: int) -> bool:
    """Whether a word says what the name after it is: `Project X`. In Spanish it is part
    of the name: `Calle Mayor`.
    """
    plain = text.tokenized.tokens[at].plain
    if at + 1 >= end or text.language == "es":
        return False
    return plain in text.lexicon.before and not text.lexicon.has("joins", plain)


def _left_out_at_end(text: analysis.AnalysedText, at: int, end: int, tail: str) -> bool:
    """Whether a last word is left out: an abbreviation that is no name, or a German
    noun after a foreign name.
    """
    tokens = text.tokenized.tokens
    token = tokens[end - 1]
    if text.is_never_name(token.plain):
        return not _month_as_name(text, at, end)
    if text.language != "de" or tail or not _german_noun(token):
        return False
    if lists.given(token.plain) or lists.family(token.plain):
        return False
    return end - at > 2 or all(lists.english(t.plain) for t in tokens[at : end - 1])


def _month_as_name(text: analysis.AnalysedText, at: int, end: int) -> bool:
    """Whether a month after one word that is none is a name: `Quenby May`."""
    tokens = text.tokenized.tokens
    token = tokens[end - 1]
    if end - at != 2 or token.text.isupper():
        return False
    if token.plain not in text.tokenized.words["not_names"]:
        return False
    if end < len(tokens) and tokens[end].text.isdigit():
        return False
    return not text.is_ordinary(tokens[end - 2].text)


def _opens_sentence(text: analysis.AnalysedText, at: int, end: int) -> bool:
    """Whether a first word is one of the sentence and not of the name after it."""
    token = text.tokenized.tokens[at]
    german = text.language == "de"
    if at + 1 >= end or text.lexicon.has("joins", token.plain):
        return False
    if lists.given(token.plain) >= (1 if german else _USUAL):
        return False
    if german:
        return _opens_german_sentence(text, at, end)
    if not token.first:
        return False
    if text.lexicon.has("openers", token.plain):
        return not _head_type(text, end)
    return _ordinary_opening(text, at, end)


def _head_type(text: analysis.AnalysedText, end: int) -> str | None:
    """The type that the last word of a run tells: `… Ltd`, `… Street`."""
    return text.lexicon.heads.get(text.tokenized.tokens[end - 1].plain)


def _opens_german_sentence(text: analysis.AnalysedText, at: int, end: int) -> bool:
    token, following = text.tokenized.tokens[at : at + 2]
    if _head_type(text, end) and lists.german(following.text):
        return False
    if end - at == 2 and not token.first and _begins_english(following):
        return False
    return _german_noun(token) or (token.first and _german_word(token))


def _begins_english(token: tokenizer.Token) -> bool:
    """Whether the first part of a word is English and no given name."""
    part = token.plain.split("-")[0]
    return lists.english(part) and not lists.given(part)


def _german_word(token: tokenizer.Token) -> bool:
    """A German word that is no English one."""
    if len(token.text) <= analysis.SHORT:
        return False
    return lists.german(token.text) and not lists.english(token.plain)


def _ordinary_opening(text: analysis.AnalysedText, at: int, end: int) -> bool:
    """Whether an ordinary word opens a sentence before a name: `Yesterday Quenby`."""
    token, following = text.tokenized.tokens[at : at + 2]
    if not text.is_ordinary(token.text):
        return False
    if text.lexicon.has("starts_place", token.plain):
        return False
    several = end - at > 2
    word_form = token.plain.endswith(_WORD_FORMS)
    ordinary = text.is_ordinary(following.text.removesuffix("'s"))
    if ordinary and lists.given(following.plain) < _USUAL:
        return word_form and several
    return several or word_form


def _without_compound(
    text: analysis.AnalysedText, at: int, end: int
) -> tuple[int, str]:
    """A German compound ends the name that begins it: `Aurora-Projekt`,
    `Green Roof-Regeln`. The end of the name, and the rest of the compound.
    """
    for number in range(at, end):
        parts = text.tokenized.tokens[number].text.split("-")
        if len(parts) == 1:
            continue
        kept = _foreign_parts(text, at, number, parts)
        if number > at and kept == 1 and _is_compound_cue(text, parts[0]):
            return number, "-".join(parts)
        if kept < len(parts):
            return number + 1, "-".join(parts[kept:])
    return end, ""


def _foreign_parts(
    text: analysis.AnalysedText, at: int, number: int, parts: Sequence[str]
) -> int:
    """How many parts of a hyphenated word are left without the German ones at its end;
    all of a double family name.
    """
    after_given_name = number > at and lists.given(text.tokenized.tokens[at].plain)
    if after_given_name and lists.family(folding.plain(parts[-1])):
        return len(parts)
    kept = len(parts)
    while kept > 1 and _german_part(parts[kept - 1], last=kept == len(parts)):
        kept -= 1
    return kept


def _is_compound_cue(text: analysis.AnalysedText, part: str) -> bool:
    plain = folding.plain(part)
    if plain in text.lexicon.heads:
        return False
    return text.lexicon.after.get(plain) in _COMPOUND_TYPES


def _german_part(part: str, *, last: bool) -> bool:
    if len(part) <= analysis.SHORT or not part[0].isupper():
        return False
    return lists.german(part) and (last or not lists.english(folding.plain(part)))


def _candidate(
    text: analysis.AnalysedText, at: int, end: int, title: str, tail: str
) -> Candidate | None:
    """A candidate without its genitive and its compound; None for what is no name."""
    tokens = text.tokenized.tokens
    words = [
        token.text
        for token in tokens[at:end]
        if token.text[0].isalnum() or token.text == "&"
    ]
    stop = tokens[end - 1].end
    owning = _owns(text, words[-1], end)
    if words[-1].endswith("'s"):
        words[-1], stop = words[-1][:-2], stop - 2
    if words[-1].endswith("-" + tail) and tail:
        length = len(tail) + 1
        words[-1], stop = words[-1][:-length], stop - length
    elif not tail and _is_genitive(text, end):
        words[-1], stop, owning = _without_genitive(text, words[-1], stop)
    if len("".join(words)) < 2 or _begins_with_no_name(text, words):
        return None
    return Candidate(at, end, tuple(words), tokens[at].start, stop, title, owning, tail)


def _owns(text: analysis.AnalysedText, last: str, end: int) -> bool:
    """Whether a run ends in an English genitive: `Ada's`, `the Grahams'`."""
    if last.endswith("'s"):
        return True
    tokens = text.tokenized.tokens
    return end < len(tokens) and tokens[end].text == "'" and last[-1] in "sh"


def _is_genitive(text: analysis.AnalysedText, end: int) -> bool:
    """Whether a run ends in a German genitive before the noun that it belongs to."""
    tokens = text.tokenized.tokens
    if text.language != "de" or end >= len(tokens):
        return False
    return _german_genitive(text, tokens[end - 1], tokens[end])


def _begins_with_no_name(text: analysis.AnalysedText, words: Sequence[str]) -> bool:
    """A single compound such as `Mai-Feier`."""
    if len(words) != 1 or "-" not in words[0]:
        return False
    return text.is_never_name(folding.plain(words[0].split("-")[0]))


def _without_genitive(
    text: analysis.AnalysedText, word: str, stop: int
) -> tuple[str, int, bool]:
    """Without the s of the genitive, unless the text has the word with it elsewhere and
    never without. And whether it is one.
    """
    if word[:-1] not in text.times and text.times.get(word, 0) > 1:
        return word, stop, False
    return word[:-1], stop - 1, True
