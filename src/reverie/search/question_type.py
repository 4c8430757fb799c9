"""Question classification: the expected answer type of an ordinary question.

A birthday is asked of a contact or the calendar, a price of the payments, "next
appointment" of the days to come. Of a frame (`question_frames.py`) that fits, what is
left is the focus: what to look for. Whoever asks otherwise is of no type, and nothing
changes.
"""

import re
from dataclasses import dataclass

from reverie.records import language
from reverie.search import question_frames
from reverie.search.dates import folding

_WORD = re.compile(r"[^\W_]+")
_GENITIVE = re.compile(r"['’]s\b")
_SIGNS = re.compile(r"[?¿!¡,;:\"“”„«»]")
# What is longer is no ordinary question.
_LONGEST = 200
# Of more words nobody has a name.
_NAME_WORDS = 4


@dataclass(frozen=True, slots=True)
class Question:
    """The type of a question, the domains that answer it, and its focus.

    `replaces`: only the focus is looked for. `named`: a contact whose name is the focus
    answers it. `author` is whoever said what is asked for, `order` the order in time
    that is asked for, `kind` the word for a kind of record, if there is one, and `text`
    the whole question without signs.
    """

    type: str
    domains: tuple[str, ...]
    focus: str
    replaces: bool = False
    named: bool = False
    author: str = ""
    order: question_frames.Order | None = None
    text: str = ""
    kind: str = ""

    @property
    def words(self) -> list[str]:
        """The folded words of the focus that say what is looked for."""
        return content(self.focus)


def read(text: str) -> Question | None:
    """The type of a question by the first frame that fits, or None."""
    if len(text) > _LONGEST:
        return None
    folded = folding.folded(text)
    for frame in question_frames.FRAMES:
        match = frame.pattern.search(folded.folded)
        question = None if match is None else _question(frame, match, folded)
        if question is not None:
            return question
    return None


def content(text: str) -> list[str]:
    """The folded words of a text that are neither function words nor words of asking."""
    words = _WORD.findall(folding.folded(_GENITIVE.sub("", text)).folded)
    return [word for word in words if word not in _IDLE]


_IDLE = question_frames.ASKING | {
    folding.folded(word).folded
    for words in language.FUNCTION_WORDS.values()
    for word in words
}


def _question(
    frame: question_frames.Frame, match: re.Match[str], text: folding.FoldedText
) -> Question | None:
    """What a frame reads in a question, unless there are too many words beside."""
    kind = match.groupdict().get("kind") or ""
    focus = _focus(match, text)
    if kind in question_frames.SPOKEN_OF:
        focus = f"{kind} {focus}".strip()
    words = content(focus)
    author = _group(match, "who", text)
    is_name = len(content(author)) <= _NAME_WORDS
    if len(words) > frame.most_words or not is_name:
        return None
    return Question(
        type=frame.type,
        domains=question_frames.KINDS.get(kind, frame.domains),
        focus=focus,
        replaces=frame.replaces and bool(words),
        named=frame.named and bool(words),
        author=author,
        order=frame.order,
        kind=kind,
        text=" ".join(_SIGNS.sub(" ", text.original).split()),
    )


def _focus(match: re.Match[str], text: folding.FoldedText) -> str:
    """The group `focus`, or what is left without the words that frames ask with."""
    if "focus" in match.re.groupindex:
        return _group(match, "focus", text)
    words = _SIGNS.sub(" ", _GENITIVE.sub("", text.original)).split()
    asked_with = _IDLE | question_frames.OF_FRAMES
    return " ".join(
        word for word in words if folding.folded(word).folded not in asked_with
    )


def _group(match: re.Match[str], name: str, text: folding.FoldedText) -> str:
    """The original text of a group, or ""."""
    if match.groupdict().get(name) is None:
        return ""
    start, end = match.span(name)
    if end <= start:
        return ""
    original = text.original[text.places[start] : text.place_of_end(end)]
    bare = _GENITIVE.sub("", original)
    return " ".join(_SIGNS.sub(" ", bare).split())
