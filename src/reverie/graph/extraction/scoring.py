"""What speaks for a run of words being a person, a place, an organisation, a project:
points by type.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reverie.graph.extraction import candidates, lexicon
from reverie.privacy import folding, lists, names

ORGANISATIONS = frozenset({"company", "institution", "group"})
_TITLED_MOST, _NAME_MOST = 4, 3
_USUAL = 3
_COMMON = 10
_BY_NAME = (("technology", "technology"), ("companies", "company"))
_ODD = 1.6
_AT = (
    "at",
    "from",
    "for",
    "with",
    "by",
    "bei",
    "von",
    "fur",
    "mit",
    "en",
    "para",
    "con",
)
_CONTRACTED = ("im", "vom", "beim", "zum")
_SIGNS = (",", "-", "(", ":")
Points = defaultdict[str, float]


def points(known: Mapping[str, float] | None = None) -> Points:
    """No points, or some to begin with."""
    return defaultdict(float, known or {})


def weigh(page: candidates.AnalysedText, run: candidates.Candidate) -> Points:
    """Points by type. Under `ENOUGH` a run is no mention."""
    found = points()
    place = _around(page, run)
    _by_cues(page, run, place, found)
    if len(run.words) > 1 or _hyphenated(page, run):
        _several(page, run, place, found)
    else:
        _alone(page, run, place, found)
    _as_person(page, run, place, found)
    return found


@dataclass(frozen=True, slots=True)
class _Around:
    """What stands beside a run, folded.

    `before` is the word before it and its article, `determined` whether there is one,
    `introduced` the word before the sign before it, `following` what comes after it.
    """

    before: str
    introduced: str
    determined: bool
    first: bool
    sign: str
    following: Sequence[names.Token]


def _around(page: candidates.AnalysedText, run: candidates.Candidate) -> _Around:
    tokens, words = page.reading.tokens, page.lexicon
    at = run.at - 1
    if run.title:
        at = next((n for n in range(at, -1, -1) if tokens[n].plain == run.title), 0) - 1
    article = at >= 0 and words.has("determiners", tokens[at].plain)
    # `im`, `vom`: an article that is a preposition as well.
    both = article and (
        words.has("in_place", tokens[at].plain) or tokens[at].plain in _CONTRACTED
    )
    before = at - 1 if article and not both else at
    word = tokens[before].plain if before >= 0 and not tokens[at + 1].first else ""
    if run.title and not page.role(run.title) and run.title not in words.before:
        word, article = run.title, False
    ends = page.reading.text[run.stop : run.stop + 1] == "\n"
    return _Around(
        before=word,
        introduced=tokens[run.at - 2].plain if run.at > 1 else "",
        determined=article,
        first=tokens[run.at].first,
        sign=tokens[run.at - 1].text if run.at else "",
        following=() if ends else tokens[run.end : run.end + 6],
    )


def _by_cues(
    page: candidates.AnalysedText,
    run: candidates.Candidate,
    place: _Around,
    found: Points,
) -> None:
    """The noun before (`project X`) and after (`X district`), and the preposition."""
    words = page.lexicon
    for cue in dict.fromkeys((run.title, place.before)):
        if cue in words.before:
            found[words.before[cue]] += 2
    if run.tail:
        found[_tail(page, run.tail)] += 2
    elif not run.owning:
        for distance, cue in enumerate(_nouns(page, place.following)):
            if cue in words.after:
                found[words.after[cue]] += 2 if distance == 0 else 1.5
                break
    if words.has("in_place", place.before) and not run.tail:
        modifier = bool(_nouns(page, place.following)) and page.language == "en"
        found["place"] += 1.0 if modifier or len(run.words) > 1 else 2.0
    elif words.has("to_place", place.before):
        found["place"] += 0.8


def _tail(page: candidates.AnalysedText, tail: str) -> str:
    """What the rest of a German compound tells: `-Zyklus`, `-Client-Bibliothek`."""
    cues = page.lexicon.after
    parts = [folding.plain(part) for part in tail.split("-")]
    told = next((cues[part] for part in parts if part in cues), "")
    return told or next(
        (
            kind
            for cue, kind in cues.items()
            if len(cue) > 3 and parts[-1].endswith(cue)
        ),
        "",
    )


def _nouns(
    page: candidates.AnalysedText, following: Iterable[names.Token]
) -> list[str]:
    """Up to three small words that follow at once, as in `X compute cluster`."""
    found: list[str] = []
    for token in following:
        if not token.text[0].islower() or len(found) == 3 or page.function(token.plain):
            break
        found.append(token.plain.removesuffix("'s"))
    return found


def _several(
    page: candidates.AnalysedText,
    run: candidates.Candidate,
    place: _Around,
    found: Points,
) -> None:
    """Several words: what the last one says, towns of several words, and how they look
    together.
    """
    plain = [folding.plain(word) for word in run.words]
    heads = page.lexicon.heads
    head = heads.get(plain[-1]) or (
        heads.get(plain[0], "") if page.lexicon.has("joins", plain[0]) else ""
    )
    if lists.place(" ".join(plain)):
        found["place"] += 3
    if page.lexicon.has("starts_place", plain[0]):
        found["place"] += 2
    if page.language == "es" and plain[0] in page.lexicon.before:
        found[page.lexicon.before[plain[0]]] += 3
    if head:
        surname = (
            lists.given(plain[0]) > 0
            and lists.family(plain[-1]) > 0
            and len(plain) == 2
        )
        found[head] += 2 if surname else 3
    if page.lexicon.has("starts_company", plain[0]) or "&" in run.words:
        found["company"] += 2.5
    kind, weight = _look(page, run.words, plain, head)
    if (
        kind == "project"
        and weight == _ODD
        and place.before in _AT
        and not place.determined
    ):
        kind = "company"
    found[kind] += weight


def _look(
    page: candidates.AnalysedText, words: Sequence[str], plain: Sequence[str], head: str
) -> tuple[str, float]:
    """What words look like together: a listed name, a title of ordinary words, a name
    before ordinary words.
    """
    given, family = lists.given(plain[0]), lists.family(plain[-1])
    ordinary = [page.ordinary(word) for word in words]
    pair = len(plain) == 2 and not head
    if (given >= _USUAL or (given and family)) and len(plain) <= _TITLED_MOST:
        return "person", 2.5
    if all(ordinary):
        if page.language == "de" and not lists.english(plain[-1].split("-")[-1]):
            return "project", -1
        return "project", (0.5 if head else 1.7) - (
            1 if len(plain) > _TITLED_MOST else 0
        )
    if pair and not ordinary[0] and (given or (family and ordinary[1])):
        return "person", 2
    if not ordinary[0] and all(ordinary[1:]):
        return "project" if plain[-1].endswith("s") and not head else "company", _ODD
    return "person", 1.7 if len(plain) <= _NAME_MOST else 0


def _hyphenated(page: candidates.AnalysedText, run: candidates.Candidate) -> bool:
    """`Slow-Cooking` inside a sentence: a title of two words."""
    parts = run.words[0].split("-")
    capitals = len(parts) > 1 and all(
        part[:1].isupper() and len(part) > 1 for part in parts
    )
    return (
        capitals
        and page.ordinary(run.words[0])
        and not page.reading.tokens[run.at].first
    )


def _alone(
    page: candidates.AnalysedText,
    run: candidates.Candidate,
    place: _Around,
    found: Points,
) -> None:
    word, plain = run.words[0], folding.plain(run.words[0])
    ordinary = page.ordinary(word) or (place.first and page.common(word))
    camel = word[1:] != word[1:].lower() and not word.isupper() and "-" not in word
    if word.isupper() and not camel:
        found["technology"] += 0.5
        found["person"] -= 2
    elif (
        camel
        or page.lexicon.has("technology", plain)
        or plain in page.reading.words["allowed"]
    ):
        found["technology"] += 2
        found["person"] -= 2
    if page.lexicon.has("companies", plain):
        found["company"] += 2.5
    known = lists.country(plain) or page.lexicon.has("places", plain)
    if known and not (ordinary and place.first):
        found["place"] += 3.5
    elif lists.place(plain) and (
        not ordinary or (not place.first and page.language != "de")
    ):
        moving = page.lexicon.has("in_place", place.before) or page.lexicon.has(
            "to_place", place.before
        )
        found["place"] += 3 if ordinary and moving else 2
    if place.determined and word.endswith("s") and not ordinary:
        found["place"] += 0.6 if _nouns(page, place.following) else 1.6
    if ordinary:
        # An ordinary word with a capital: only what stands beside it can make it a
        # name.
        sure = {
            kind
            for group, kind in _BY_NAME
            if page.lexicon.has(group, plain) and not place.first
        }
        for kind in (
            "place",
            "work",
            "people",
            "species",
            "technology",
            "institution",
            "company",
            "group",
        ):
            found[kind] -= 0 if kind in sure else 1.5


def _as_person(
    page: candidates.AnalysedText,
    run: candidates.Candidate,
    place: _Around,
    found: Points,
) -> None:
    """What makes somebody of a run: a role, a greeting, a deed, and the lists of names."""
    words = page.lexicon
    alone = len(run.words) == 1
    if page.role(run.title) or page.role(place.before) or _presented(page, place):
        found["person"] += 2
    asked = (
        run.title == place.before
        and page.language == "en"
        and place.before.endswith("ed")
    )
    if (words.has("to_person", place.before) or asked) and not place.determined:
        found["person"] += 0.9 if alone else 0.5
    if place.determined and not run.title:
        found["person"] -= 2 if alone else 0.6
    if alone:
        _first_name(page, run, place, found)
    elif (
        place.following
        and words.has("person_after", place.following[0].plain)
        and not run.owning
    ):
        found["person"] += 0.7


def _first_name(
    page: candidates.AnalysedText,
    run: candidates.Candidate,
    place: _Around,
    found: Points,
) -> None:
    """A single word: how usual it is as a name and as a word, and what it does."""
    word, plain = run.words[0], folding.plain(run.words[0])
    given = lists.given(plain)
    ordinary = page.ordinary(word)
    if page.language != "de" and place.first and page.common(word) and given < _COMMON:
        ordinary = True
    elif page.language == "de":
        german = lexicon.german(word)
        named = page.role(run.title) or (given >= _USUAL and len(plain) > _USUAL)
        found["person"] -= 3 if german and not named else 0
        ordinary = ordinary and german
    if not ordinary:
        found["person"] += 0 if place.determined else 0.6
        found["person"] += 2 if given >= _USUAL else 1.5 if given else 0
    elif given >= _USUAL:
        found["person"] += 1.6 if given >= _COMMON and not place.first else 1
    if place.before and page.lexicon.has("greetings", place.before):
        found["person"] += 2
    if not run.tail:
        found["person"] += _acting(page, run, place, ordinary)
    if ordinary and place.first and _also_small(page, run):
        found["person"] -= 3


def _acting(
    page: candidates.AnalysedText,
    run: candidates.Candidate,
    place: _Around,
    ordinary: bool,
) -> float:
    """A single word that does what people do, owns something, or is spoken to."""
    if run.owning:
        return (
            0
            if place.determined
            else 2
            if place.first and not page.function(folding.plain(run.words[0]))
            else 1.2
        )
    following = place.following[0] if place.following else None
    if following is None or (ordinary and _form_of_verb(run.words[0])):
        return 0
    gap = page.reading.text[run.stop : following.start]
    if page.lexicon.has("person_after", following.plain) and gap == " ":
        weak = page.function(following.plain)
        joined = following.plain in ("and", "und") and run.at == 0
        if ordinary and weak and not joined:
            return 0.7
        return 2.0 if place.first or not weak else 1.2
    if following.text == "," and run.at == 0 and not run.words[0].endswith("ly"):
        return 1.0 if ordinary else 1.7
    return 0


def _form_of_verb(word: str) -> bool:
    """Whether an ordinary word is a verb or an adverb by its end, so that what follows
    is no deed of it.
    """
    return word.endswith(("ed", "ing", "ly"))


def _presented(page: candidates.AnalysedText, place: _Around) -> bool:
    """`, the maintainer`, `(no relation)`, `the user, X,`: who it is stands beside the
    name.
    """
    after = place.following
    if place.sign == "," and page.role(place.introduced):
        return True
    if after and after[0].text in _SIGNS:
        for token in after[1:5]:
            if token.text in ".;:)" or token.plain == "and":
                break
            if page.role(token.plain):
                return True
    return False


def _also_small(page: candidates.AnalysedText, run: candidates.Candidate) -> bool:
    """Whether the text has the same word in small letters: then it is a word there."""
    small = run.words[0].lower()
    return any(token.text == small for token in page.reading.tokens)


ENOUGH = 1.5
