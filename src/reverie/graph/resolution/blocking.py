"""Blocking (entity resolution): which pairs of profiles are worth comparing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from reverie.graph.resolution import parsing, profiles, transliteration
from reverie.vocabulary import given_names

Profile = profiles.Profile
Key = tuple[str, ...]

# The largest blocks: more profiles that share a word must share more than it.
MOST_OF_A_NAME = 10
MOST_OF_A_KEY = 120


def pairs(everybody: Sequence[Profile]) -> Iterable[tuple[int, int]]:
    """Pairs (i < j) that share an address, a number, a day, or enough of a name."""
    paired: set[tuple[int, int]] = set()
    for key, members in _blocks(everybody).items():
        if len(members) <= _most_members(key):
            paired.update(combinations(members, 2))
    return sorted(paired)


def _blocks(everybody: Sequence[Profile]) -> dict[Key, list[int]]:
    """The places of the profiles that have a key in common, by kind and key."""
    blocks: defaultdict[Key, list[int]] = defaultdict(list)
    for place, profile in enumerate(everybody):
        keys = set(_own_keys(profile))
        keys.update(_name_keys(profile))
        for key in keys:
            blocks[(profile.kind, *key)].append(place)
    return blocks


def _most_members(key: Key) -> int:
    """How many profiles a block may have, by its key, which begins with the kind."""
    _, criterion, *_ = key
    return MOST_OF_A_NAME if criterion == "word" else MOST_OF_A_KEY


def _own_keys(profile: Profile) -> Iterator[Key]:
    """Blocking keys of addresses, numbers and days."""
    for email in profiles.emails(profile):
        yield "email", email
    for phone in profiles.phones(profile):
        yield "phone", phone
    for number in profiles.identifiers(profile):
        yield "number", number
    if birthday := profiles.birthday(profile):
        yield "day", birthday
    if profile.address:
        address = transliteration.normalised(profile.address)
        yield from _place_key(address.split())


def _place_key(words: Sequence[str]) -> Iterator[Key]:
    """The first number of an address, and the beginning of its longest word."""
    numbers: list[str] = []
    others: list[str] = []
    for word in words:
        if word[0].isdigit():
            numbers.append(word)
        else:
            others.append(word)
    if numbers and others:
        longest = max(others, key=len)
        yield "place", min(numbers), longest[:5]


def _name_keys(profile: Profile) -> Iterator[Key]:
    """Blocking keys of all names: as they are, and by their words."""
    person = profile.kind == "person"
    parse = parsing.person if person else parsing.thing
    for name in profile.names:
        yield "name", transliteration.normalised(name)
        parsed = parse(name)
        words = _telling_words(parsed)
        yield _joined_key(words)
        yield from _word_keys(words)
        yield from _two_word_keys(words, person=person)
        if person and len(words) == 1:
            yield from _short_form_keys(words[0])
        if parsed.capitals:
            yield "letters", parsed.capitals
        elif len(words) > 1:
            yield _acronym_key(words)


def _telling_words(name: parsing.Name) -> list[str]:
    """The words of a name but for its particles."""
    return [word.text for word in name.words if word.weight > parsing.PARTICLE]


def _joined_key(words: Sequence[str]) -> Key:
    """The consonants of all words, whatever their order."""
    skeletons = map(transliteration.skeleton, sorted(words))
    return "joined", "".join(skeletons)


def _acronym_key(words: Sequence[str]) -> Key:
    """The first letters of the words."""
    letters = [word[0] for word in words]
    return "letters", "".join(letters)


def _short_form_keys(given_name: str) -> Iterator[Key]:
    """A given name alone, and every name that it may be short for."""
    yield "short", given_name
    for full_name in given_names.full_names(given_name):
        yield "short", full_name


def _word_keys(words: Sequence[str]) -> Iterator[Key]:
    """Each word by its sound and by its consonants (phonetic keys)."""
    for word in words:
        if len(word) > 1:
            yield "word", transliteration.sound(word)
            yield "word", transliteration.skeleton(word), "bones"


def _two_word_keys(words: Sequence[str], *, person: bool) -> Iterator[Key]:
    """A word by its sound with the first letters that another may have."""
    sounds = {word: transliteration.sound(word) for word in words}
    first_letters = {word: _first_letters(word, person) for word in words}
    spoken = set(sounds.values())
    spoken.discard("")
    for sound in spoken:
        for word in words:
            if sounds[word] == sound:
                continue
            for letter in first_letters[word]:
                yield "two", sound, letter


def _first_letters(word: str, person: bool) -> set[str]:
    """The first letters a word may have: its own, and of the names it is short for."""
    full_names = given_names.full_names(word) if person else ()
    return {transliteration.sound(name)[:1] for name in (word, *full_names)}
