"""Entity resolution: matching of profiles by weighted evidence, and blocking of pairs.

A verdict is automatic only where nothing can be wrong: a common address or number of
their own with names that agree, or the same name where one of the two says nothing
else. All other likeness is a suggestion.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from reverie.graph.resolution import keys, parsing, transliteration
from reverie.graph.resolution import name_tables as tables

# The largest blocks: more profiles that share a word must share more than it.
MOST_OF_A_NAME = 10
MOST_OF_A_KEY = 120
_NO_YEAR = 4  # digits of a birthday without a year
_PHONE_END, _SHORTEST_PHONE = 9, 6  # digits
_LONG_NUMBER = 6  # signs, from which on a slip in an identifier can be seen
# Below this two whole names are of two people, who share an address: a couple, a
# family.
_TWO_PEOPLE = 0.15


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a node.

    The first of the names is the one its key is made of. An identifier is a number of
    its bearer's own; a slip may be in it.
    """

    kind: str
    names: tuple[str, ...]
    emails: tuple[str, ...] = ()
    phones: tuple[str, ...] = ()
    birthday: str = ""
    address: str = ""
    identifiers: tuple[str, ...] = ()

    @property
    def bare(self) -> bool:
        """Whether nothing but a name is known."""
        facts = (
            self.emails,
            self.phones,
            self.birthday,
            self.address,
            self.identifiers,
        )
        return not any(facts)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How likely two profiles are of one, whether they may be merged unasked, and why."""

    score: float
    automatic: bool
    reasons: tuple[str, ...]

    @property
    def suggested(self) -> bool:
        """Whether a merge is worth suggesting."""
        return self.score >= keys.SAME


NOTHING = Verdict(0.0, automatic=False, reasons=())


class MatchEvidence(NamedTuple):
    """What it adds to the likeness of the names, in log-odds, and the reason."""

    weight: float
    reason: str


# Weighed by hand with both FEBRL sets in view (docs/decisions/0015; bench/names.py).
_SAME_EMAIL = MatchEvidence(5.0, "same email")
_OFFICE_EMAIL = MatchEvidence(1.0, "same office address")
_OTHER_EMAIL = MatchEvidence(-2.0, "other email")
_SAME_PHONE = MatchEvidence(3.0, "same phone")
_SAME_IDENTIFIER = MatchEvidence(5.0, "same identifier")
_NEAR_IDENTIFIER = MatchEvidence(3.0, "identifier a slip apart")
_OTHER_IDENTIFIER = MatchEvidence(-3.0, "other identifier")
_SAME_BIRTHDAY = MatchEvidence(4.0, "same birthday")
_YEARLESS_BIRTHDAY = MatchEvidence(1.5, "same birthday without a year")
_NEAR_BIRTHDAY = MatchEvidence(1.5, "birthday a slip apart")
_OTHER_BIRTHDAY = MatchEvidence(-2.0, "other birthday")
_SAME_ADDRESS = MatchEvidence(2.5, "same address")
_NEAR_ADDRESS = MatchEvidence(1.0, "address alike")
_OTHER_ADDRESS = MatchEvidence(-1.5, "other address")
# The names count so much at most, for or against.
_MOST_OF_NAMES = 4.0
# Of rapidfuzz's token ratios, 0 to 100; words in another order cost 20.
_SAME_ADDRESS_RATIO, _NEAR_ADDRESS_RATIO, _ORDER_ALLOWANCE = 85, 65, 20


def compare(a: Profile, b: Profile) -> Verdict:
    """The verdict on two profiles; it does not matter which comes first."""
    return _verdict(a, b, list(_evidence(a, b))) if a.kind == b.kind else NOTHING


def _verdict(a: Profile, b: Profile, evidence: Sequence[MatchEvidence]) -> Verdict:
    """The verdict on two profiles of one kind: the log-odds of all evidence added up."""
    similarity, exact = _names(a, b)
    total = sum(weight for weight, _ in evidence)
    reasons = [reason for _, reason in evidence]
    if similarity is None:
        score = _probability(total - _MOST_OF_NAMES)
    else:
        score = similarity
        if evidence:
            odds = max(-_MOST_OF_NAMES, min(_MOST_OF_NAMES, _log_odds(similarity)))
            score = _probability(odds + total)
        reasons.insert(0, _name_reason(similarity, exact=exact))
    automatic = _automatic(a, b, similarity, exact=exact, evidence=evidence)
    return Verdict(round(score, 4), automatic, tuple(reasons))


def _name_reason(similarity: float, *, exact: bool) -> str:
    """What the names say, as the first of the reasons."""
    if exact:
        return "same name"
    return "names alike" if similarity >= keys.SAME else "names unlike"


def _names(a: Profile, b: Profile) -> tuple[float | None, bool]:
    """The similarity of the two most alike names, and whether the keys are the same.
    None: no name at all.
    """
    ours = [name for name in a.names if name.strip()]
    theirs = [name for name in b.names if name.strip()]
    if not ours or not theirs:
        return None, False
    our_forms = [transliteration.normalised(name) for name in ours]
    their_forms = [transliteration.normalised(name) for name in theirs]
    if not set(our_forms).isdisjoint(their_forms):
        return 1.0, our_forms[0] == their_forms[0]
    return max(keys.similarity(x, y, kind=a.kind) for x in ours for y in theirs), False


def _evidence(a: Profile, b: Profile) -> Iterator[MatchEvidence]:
    """What else speaks for or against."""
    if a.emails and b.emails:
        yield _compare_emails(_emails(a) & _emails(b))
    if _phones(a) & _phones(b):
        yield _SAME_PHONE
    ours, theirs = _identifiers(a), _identifiers(b)
    if ours and theirs:
        yield _compare_identifiers(ours, theirs)
    our_day, their_day = _birthday(a), _birthday(b)
    if our_day and their_day:
        yield _compare_birthdays(*sorted((our_day, their_day), key=len))
    if a.address and b.address:
        yield _compare_addresses(
            transliteration.normalised(a.address), transliteration.normalised(b.address)
        )


def _compare_emails(common: set[str]) -> MatchEvidence:
    """An address of one person, of an office, or none in common."""
    if not common:
        return _OTHER_EMAIL
    return _OFFICE_EMAIL if all(map(_of_an_office, common)) else _SAME_EMAIL


def _compare_addresses(a: str, b: str) -> MatchEvidence:
    """By rapidfuzz's token ratios, whatever the order of the words."""
    ratio = min(
        fuzz.token_set_ratio(a, b), fuzz.token_sort_ratio(a, b) + _ORDER_ALLOWANCE
    )
    if ratio >= _SAME_ADDRESS_RATIO:
        return _SAME_ADDRESS
    return _NEAR_ADDRESS if ratio >= _NEAR_ADDRESS_RATIO else _OTHER_ADDRESS


def _compare_birthdays(shorter: str, longer: str) -> MatchEvidence:
    """Two days as digits, the one without a year first."""
    if shorter == longer:
        return _SAME_BIRTHDAY
    if len(shorter) == _NO_YEAR and longer.endswith(shorter):
        return _YEARLESS_BIRTHDAY
    near = OSA.distance(shorter, longer) <= 1
    return _NEAR_BIRTHDAY if near else _OTHER_BIRTHDAY


def _compare_identifiers(ours: set[str], theirs: set[str]) -> MatchEvidence:
    """The best of all pairs: the same, a slip apart, other."""
    if not ours.isdisjoint(theirs):
        return _SAME_IDENTIFIER
    near = any(_a_slip_apart(x, y) for x in ours for y in theirs)
    return _NEAR_IDENTIFIER if near else _OTHER_IDENTIFIER


def _a_slip_apart(a: str, b: str) -> bool:
    """What is too short for a slip to be seen must be the same."""
    if min(len(a), len(b)) < _LONG_NUMBER:
        return False
    return OSA.distance(a, b, score_cutoff=1) <= 1


def _automatic(
    a: Profile,
    b: Profile,
    similarity: float | None,
    *,
    exact: bool,
    evidence: Sequence[MatchEvidence],
) -> bool:
    """Whether nothing can be wrong with a merge: the rules of docs/decisions/0015."""
    against = {item for item in evidence if item.weight < 0}
    if a.kind != "person":
        return exact and not against
    # Another address is no other person: people move.
    if _NEAR_BIRTHDAY in evidence or against - {_OTHER_ADDRESS}:
        return False
    return _automatic_person(a, b, similarity, exact=exact, evidence=evidence)


def _automatic_person(
    a: Profile,
    b: Profile,
    similarity: float | None,
    *,
    exact: bool,
    evidence: Sequence[MatchEvidence],
) -> bool:
    """Whether an address, an identifier or the name alone is enough for a person, where
    nothing is against it.
    """
    if _SAME_EMAIL in evidence:
        return not _two_people(a, b, similarity)
    if _SAME_IDENTIFIER in evidence:
        other_place = _OTHER_ADDRESS in evidence
        return exact and (_SAME_BIRTHDAY in evidence or not other_place)
    return exact and (a.bare or b.bare)


def _two_people(a: Profile, b: Profile, similarity: float | None) -> bool:
    """Whether the names are whole ones, of two people."""
    if similarity is None or similarity >= _TWO_PEOPLE:
        return False
    return _has_whole_name(a) and _has_whole_name(b)


def _has_whole_name(profile: Profile) -> bool:
    """Whether a person has a name of two words or more, and not only what somebody is
    called.
    """
    return any(len(parsing.person(name).words) > 1 for name in profile.names)


def _emails(profile: Profile) -> set[str]:
    """The addresses as they are compared."""
    return {transliteration.normalised(email) for email in profile.emails}


_OFFICES = tables.words("""
    info office contact hello mail admin support sales team help service noreply no-reply donotreply kontakt buero
    contacto oficina ventas billing invoices rechnung postmaster webmaster newsletter family familie familia
""")


def _of_an_office(email: str) -> bool:
    """Whether an address is of many: info@, office@."""
    return email.partition("@")[0] in _OFFICES


def _digits(text: str) -> str:
    """The digits of a text."""
    return re.sub(r"\D", "", text)


def _birthday(profile: Profile) -> str:
    """The digits of a day, with or without a year: 19800102, 0102."""
    return _digits(profile.birthday)[:8]


def _phones(profile: Profile) -> set[str]:
    """The ends of the numbers, so that a country code makes no difference."""
    numbers = map(_digits, profile.phones)
    return {
        digits[-_PHONE_END:] for digits in numbers if len(digits) >= _SHORTEST_PHONE
    }


def _identifiers(profile: Profile) -> set[str]:
    """The identifiers without their punctuation."""
    return {
        re.sub(r"[\W_]", "", transliteration.normalised(number))
        for number in profile.identifiers
    } - {""}


def _log_odds(share: float) -> float:
    """The logit of a share of 0..1."""
    share = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(share / (1 - share))


def _probability(log_odds: float) -> float:
    """The inverse of `_log_odds`: the logistic function."""
    return 1 / (1 + math.exp(-log_odds))


# ---------------------------------------------------------------------------- blocking


class Match(NamedTuple):
    """Two profiles by their places, i < j, and the verdict on them."""

    i: int
    j: int
    verdict: Verdict


def candidates(profiles: Sequence[Profile]) -> list[Match]:
    """The pairs that are automatic or suggested, the likeliest first; only profiles
    that share something.
    """
    matches: list[Match] = []
    for i, j in _pairs(profiles):
        evidence = list(_evidence(profiles[i], profiles[j]))
        if sum(weight for weight, _ in evidence) < -_MOST_OF_NAMES:
            continue  # no name could make it likely
        verdict = _verdict(profiles[i], profiles[j], evidence)
        if verdict.automatic or verdict.suggested:
            matches.append(Match(i, j, verdict))
    return sorted(
        _unambiguous(profiles, matches),
        key=lambda match: (
            -match.verdict.automatic,
            -match.verdict.score,
            match.i,
            match.j,
        ),
    )


def _unambiguous(
    profiles: Sequence[Profile], matches: Sequence[Match]
) -> Iterator[Match]:
    """A person of whom nothing but the name is known is merged unasked only if there is
    one of that name.
    """
    partners: dict[int, int] = defaultdict(int)
    for i, j, verdict in matches:
        if verdict.automatic:
            partners[i] += 1
            partners[j] += 1
    for match in matches:
        i, j, verdict = match
        several = any(
            partners[place] > 1 and _only_a_name(profiles[place]) for place in (i, j)
        )
        if not (verdict.automatic and several):
            yield match
            continue
        reasons = (*verdict.reasons, "several of that name")
        yield Match(i, j, replace(verdict, automatic=False, reasons=reasons))


def _only_a_name(profile: Profile) -> bool:
    """Whether a person is known by a name alone."""
    return profile.kind == "person" and profile.bare


def _pairs(profiles: Sequence[Profile]) -> Iterable[tuple[int, int]]:
    """Pairs that share an address, a number, a day, or enough of a name."""
    blocks: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, profile in enumerate(profiles):
        for key in {*_own_keys(profile), *_name_keys(profile)}:
            blocks[(profile.kind, *key)].append(place)
    pairs: set[tuple[int, int]] = set()
    for key, members in blocks.items():
        most = MOST_OF_A_NAME if key[1] == "word" else MOST_OF_A_KEY
        if len(members) <= most:
            pairs.update(combinations(members, 2))
    return sorted(pairs)


def _own_keys(profile: Profile) -> Iterator[tuple[str, ...]]:
    """Blocking keys of addresses, numbers and days."""
    yield from (("email", email) for email in _emails(profile))
    yield from (("phone", phone) for phone in _phones(profile))
    yield from (("number", number) for number in _identifiers(profile))
    if birthday := _birthday(profile):
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
                ("short", full) for full in (words[0], *tables.full_names(words[0]))
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
    full_names = tables.full_names(word) if person else ()
    return {transliteration.sound(name)[:1] for name in (word, *full_names)}
