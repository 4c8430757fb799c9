"""Blocking (entity resolution): which pairs of profiles are worth comparing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from reverie.graph.resolution import parsing, profiles, transliteration
from reverie.vocabulary import given_names

Profile = profiles.Profile

# The largest blocks: more profiles that share a word must share more than it.
MOST_OF_A_NAME = 10
MOST_OF_A_KEY = 120


def pairs(everybody: Sequence[Profile]) -> Iterable[tuple[int, int]]:
    """Pairs (i < j) that share an address, a number, a day, or enough of a name."""
    blocks: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, profile in enumerate(everybody):
        for key in {*_own_keys(profile), *_name_keys(profile)}:
            blocks[(profile.kind, *key)].append(place)
    pairs_: set[tuple[int, int]] = set()
    for key, members in blocks.items():
        most = MOST_OF_A_NAME if key[1] == "word" else MOST_OF_A_KEY
        if len(members) <= most:
            pairs_.update(combinations(members, 2))
    return sorted(pairs_)


def _own_keys(profile: Profile) -> Iterator[tuple[str, ...]]:
    """Blocking keys of addresses, numbers and days."""
    yield from (("email", email) for email in profiles.emails(profile))
    yield from (("phone", phone) for phone in profiles.phones(profile))
    yield from (("number", number) for number in profiles.identifiers(profile))
    if birthday := profiles.birthday(profile):
        yield "day", birthday
    if profile.address:
        yield from _place_key(transliteration.normalised(profile.address).split())


def _place_key(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The first number of an address, and the beginning of its longest word."""
    numbers = [word for word in words if word[0].isdigit()]
    others = [word for word in words if not word[0].isdigit()]
    if numbers and others:
        yield "place", min(numbers), max(others, key=len)[:5]


def _name_keys(profile: Profile) -> Iterator[tuple[str, ...]]:
    """Blocking keys of names: as it is; the consonants of all words; and of its words."""
    person = profile.kind == "person"
    for name in profile.names:
        yield "name", transliteration.normalised(name)
        parsed = parsing.person(name) if person else parsing.thing(name)
        words = _telling_words(parsed)
        yield "joined", "".join(map(transliteration.skeleton, sorted(words)))
        yield from _word_keys(words)
        if person and len(words) == 1:
            yield from (
                ("short", full)
                for full in (words[0], *given_names.full_names(words[0]))
            )
        yield from _two_word_keys(words, person=person)
        if parsed.capitals or len(words) > 1:
            yield "letters", parsed.capitals or "".join(word[0] for word in words)


def _telling_words(name: parsing.Name) -> list[str]:
    """The words of a name but for its particles."""
    return [word.text for word in name.words if word.weight > parsing.PARTICLE]


def _word_keys(words: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each word by its sound and by its consonants (phonetic keys)."""
    for word in words:
        if len(word) > 1:
            yield "word", transliteration.sound(word)
            yield "word", transliteration.skeleton(word), "bones"


def _two_word_keys(words: Sequence[str], *, person: bool) -> Iterator[tuple[str, ...]]:
    """A word by its sound with the first letters that another may have."""
    sounds = {word: transliteration.sound(word) for word in words}
    for sound in {*sounds.values()} - {""}:
        for word in words:
            if sounds[word] != sound:
                yield from (
                    ("two", sound, letter) for letter in _first_letters(word, person)
                )


def _first_letters(word: str, person: bool) -> set[str]:
    """The first letters a word may have: its own, and of the names it is short for."""
    full_names = given_names.full_names(word) if person else ()
    return {transliteration.sound(name)[:1] for name in (word, *full_names)}
