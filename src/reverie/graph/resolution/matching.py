"""Whether two nodes are of one: their names beside addresses, numbers and days; and
which pairs are worth comparing.

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

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from reverie.graph.resolution import keys, parsing, transliteration
from reverie.graph.resolution import name_tables as tables

MOST_OF_A_NAME = (
    10  # profiles that share a word of a name; more than that and they must share more
)
MOST_OF_A_KEY = 120
_SAME_EMAIL, _OTHER_ADDRESS, _OTHER_DAY = (
    "same email",
    "other address",
    "birthday a slip apart",
)
_NO_YEAR, _PHONE_END, _SHORT_PHONE, _LONG_NUMBER = 4, 9, 6, 6
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
        return not (
            self.emails
            or self.phones
            or self.birthday
            or self.address
            or self.identifiers
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """How likely two profiles are of one, whether they may be merged unasked, and why."""

    score: float
    automatic: bool
    reasons: tuple[str, ...]

    @property
    def suggested(self) -> bool:
        return self.score >= keys.SAME


NOTHING = Verdict(0.0, automatic=False, reasons=())


# Evidence in log-odds: what it adds to the likeness of the names.
_FOR_NAME = 4.0  # at most, for or against
_EMAIL, _EMAIL_OFFICE, _EMAIL_OTHER = 5.0, 1.0, -2.0
_PHONE = 3.0
_DAY, _DAY_NEAR, _DAY_OTHER = 4.0, 1.5, -2.0
_IDENTIFIER = (
    (5.0, "same identifier"),
    (3.0, "identifier a slip apart"),
    (-3.0, "other identifier"),
)
_PLACE, _PLACE_NEAR, _PLACE_OTHER = 2.5, 1.0, -1.5


def compare(a: Profile, b: Profile) -> Verdict:
    """The verdict on two profiles; it does not matter which comes first."""
    return _verdict(a, b, list(_evidence(a, b))) if a.kind == b.kind else NOTHING


def _verdict(a: Profile, b: Profile, evidence: Sequence[tuple[float, str]]) -> Verdict:
    alike, exact = _names(a, b)
    total = sum(weight for weight, _ in evidence)
    reasons = [why for _, why in evidence]
    if alike is None:
        score = _odds(total - _FOR_NAME)
    else:
        score = (
            _odds(max(-_FOR_NAME, min(_FOR_NAME, _log_odds(alike))) + total)
            if evidence
            else alike
        )
        reasons.insert(
            0,
            "same name"
            if exact
            else "names alike"
            if alike >= keys.SAME
            else "names unlike",
        )
    automatic = _automatic(a, b, alike, exact=exact, evidence=evidence)
    return Verdict(round(score, 4), automatic, tuple(reasons))


def _names(a: Profile, b: Profile) -> tuple[float | None, bool]:
    """The likeness of the two most alike names, and whether the keys are the same.
    None: no name at all.
    """
    ours, theirs = ([name for name in one.names if name.strip()] for one in (a, b))
    if not ours or not theirs:
        return None, False
    if {transliteration.normalised(name) for name in ours} & {
        transliteration.normalised(name) for name in theirs
    }:
        return 1.0, transliteration.normalised(ours[0]) == transliteration.normalised(
            theirs[0]
        )
    return max(keys.similarity(x, y, kind=a.kind) for x in ours for y in theirs), False


def _evidence(a: Profile, b: Profile) -> Iterator[tuple[float, str]]:
    """What else speaks for or against, in log-odds, and its reason."""
    if a.emails and b.emails:
        yield _emails_alike(_emails(a) & _emails(b))
    if _phones(a) & _phones(b):
        yield _PHONE, "same phone"
    ours, theirs = _numbers(a), _numbers(b)
    if ours and theirs:
        yield _IDENTIFIER[min(_apart(x, y) for x in ours for y in theirs)]
    if _day(a) and _day(b):
        yield _birthdays(*sorted((_day(a), _day(b)), key=len))
    if a.address and b.address:
        yield _places(
            transliteration.normalised(a.address), transliteration.normalised(b.address)
        )


def _emails_alike(common: set[str]) -> tuple[float, str]:
    if not common:
        return _EMAIL_OTHER, "other email"
    return (
        (_EMAIL_OFFICE, "same office address")
        if all(_of_an_office(one) for one in common)
        else (_EMAIL, _SAME_EMAIL)
    )


def _places(a: str, b: str) -> tuple[float, str]:
    share = min(fuzz.token_set_ratio(a, b), fuzz.token_sort_ratio(a, b) + 20)
    if share >= 85:
        return _PLACE, "same address"
    return (
        (_PLACE_NEAR, "address alike")
        if share >= 65
        else (_PLACE_OTHER, _OTHER_ADDRESS)
    )


def _birthdays(shorter: str, longer: str) -> tuple[float, str]:
    if shorter == longer:
        return _DAY, "same birthday"
    if len(shorter) == _NO_YEAR and longer.endswith(shorter):
        return _DAY_NEAR, "same birthday without a year"
    near = OSA.distance(shorter, longer) <= 1
    return (_DAY_NEAR, _OTHER_DAY) if near else (_DAY_OTHER, "other birthday")


def _automatic(
    a: Profile,
    b: Profile,
    alike: float | None,
    *,
    exact: bool,
    evidence: Sequence[tuple[float, str]],
) -> bool:
    """Whether nothing can be wrong with a merge."""
    found = {why for _, why in evidence}
    against = {why for weight, why in evidence if weight < 0}
    if a.kind != "person":
        return exact and not against
    if _OTHER_DAY in found or against - {_OTHER_ADDRESS}:
        return False
    if _SAME_EMAIL in found:
        return alike is None or alike >= _TWO_PEOPLE or not (_whole(a) and _whole(b))
    if "same identifier" in found:
        return exact and ("same birthday" in found or _OTHER_ADDRESS not in found)
    return exact and (a.bare or b.bare)


def _whole(one: Profile) -> bool:
    """Whether a person has a name of two words or more, and not only what somebody is
    called.
    """
    return any(len(parsing.person(name).words) > 1 for name in one.names)


def _emails(one: Profile) -> set[str]:
    return {transliteration.normalised(email) for email in one.emails}


_OFFICES = tables.words("""
    info office contact hello mail admin support sales team help service noreply no-reply donotreply kontakt buero
    contacto oficina ventas billing invoices rechnung postmaster webmaster newsletter family familie familia
""")


def _of_an_office(email: str) -> bool:
    """Whether an address is of many: info@, office@."""
    return email.partition("@")[0] in _OFFICES


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _day(one: Profile) -> str:
    return _digits(one.birthday)[:8]


def _phones(one: Profile) -> set[str]:
    """The ends of the numbers, so that a country code makes no difference."""
    found = (_digits(phone) for phone in one.phones)
    return {digits[-_PHONE_END:] for digits in found if len(digits) >= _SHORT_PHONE}


def _numbers(one: Profile) -> set[str]:
    """The identifiers without their punctuation."""
    return {
        re.sub(r"[\W_]", "", transliteration.normalised(number))
        for number in one.identifiers
    } - {""}


def _apart(a: str, b: str) -> int:
    """0 the same, 1 a slip apart, 2 other. What is too short for a slip to be seen must
    be the same.
    """
    if a == b:
        return 0
    return (
        1
        if min(len(a), len(b)) >= _LONG_NUMBER
        and OSA.distance(a, b, score_cutoff=1) <= 1
        else 2
    )


def _log_odds(share: float) -> float:
    share = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(share / (1 - share))


def _odds(total: float) -> float:
    return 1 / (1 + math.exp(-total))


# ------------------------------------------------------------------------------------------------------ worth comparing


def candidates(profiles: Sequence[Profile]) -> list[tuple[int, int, Verdict]]:
    """The pairs (i < j) that are automatic or suggested, the likeliest first; only
    profiles that share something.
    """
    kept: list[tuple[int, int, Verdict]] = []
    for i, j in _pairs(profiles):
        evidence = list(_evidence(profiles[i], profiles[j]))
        if sum(weight for weight, _ in evidence) < -_FOR_NAME:
            continue  # no name could make it likely
        verdict = _verdict(profiles[i], profiles[j], evidence)
        if verdict.automatic or verdict.suggested:
            kept.append((i, j, verdict))
    return sorted(
        _unambiguous(profiles, kept),
        key=lambda one: (-one[2].automatic, -one[2].score, one[0], one[1]),
    )


def _unambiguous(
    profiles: Sequence[Profile], found: Sequence[tuple[int, int, Verdict]]
) -> Iterator[tuple[int, int, Verdict]]:
    """A person of whom nothing but the name is known is merged unasked only if there is
    one of that name.
    """
    partners: dict[int, int] = defaultdict(int)
    for i, j, verdict in found:
        if verdict.automatic:
            partners[i] += 1
            partners[j] += 1
    for i, j, verdict in found:
        nameless = [
            one
            for one in (i, j)
            if profiles[one].kind == "person" and profiles[one].bare
        ]
        if verdict.automatic and any(partners[one] > 1 for one in nameless):
            verdict = replace(
                verdict,
                automatic=False,
                reasons=(*verdict.reasons, "several of that name"),
            )
        yield i, j, verdict


def _pairs(profiles: Sequence[Profile]) -> Iterable[tuple[int, int]]:
    """Pairs that share an address, a number, a day, or enough of a name."""
    blocks: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for at, profile in enumerate(profiles):
        for key in {*_own_keys(profile), *_name_keys(profile)}:
            blocks[(profile.kind, *key)].append(at)
    found: set[tuple[int, int]] = set()
    for key, members in blocks.items():
        if len(members) <= (MOST_OF_A_NAME if key[1] == "word" else MOST_OF_A_KEY):
            found.update(combinations(members, 2))
    return sorted(found)


def _own_keys(profile: Profile) -> Iterator[tuple[str, ...]]:
    yield from (("email", email) for email in _emails(profile))
    yield from (("phone", phone) for phone in _phones(profile))
    yield from (("number", number) for number in _numbers(profile))
    if _day(profile):
        yield "day", _day(profile)
    words = transliteration.normalised(profile.address).split()
    digits = sorted(word for word in words if word[0].isdigit())
    longest = max(
        (word for word in words if not word[0].isdigit()), key=len, default=""
    )
    if digits and longest:
        yield "place", digits[0], longest[:5]


def _name_keys(profile: Profile) -> Iterator[tuple[str, ...]]:
    """Words by sound and by consonants; two of them together; the full forms of a short
    name; the name as it is.
    """
    for name in profile.names:
        yield "name", transliteration.normalised(name)
        read = parsing.person(name) if profile.kind == "person" else parsing.thing(name)
        told = [word.text for word in read.words if word.weight > parsing.PARTICLE]
        sounds = sorted({transliteration.sound(word) for word in told} - {""})
        yield "joined", "".join(transliteration.skeleton(word) for word in sorted(told))
        for word in told:
            if len(word) > 1:
                yield "word", transliteration.sound(word)
                yield "word", transliteration.skeleton(word), "bones"
            if profile.kind == "person" and len(told) == 1:
                yield from (
                    ("short", full) for full in (word, *tables.full_names(word))
                )
        for x in sounds:
            yield from (
                ("two", x, letter)
                for y in told
                if transliteration.sound(y) != x
                for letter in _letters(y, profile.kind)
            )
        if read.capitals or len(told) > 1:
            yield "letters", read.capitals or "".join(word[0] for word in told)


def _letters(word: str, kind: str) -> set[str]:
    """The first letters a word may have: its own, and of the names it is short for."""
    full = tables.full_names(word) if kind == "person" else ()
    return {transliteration.sound(one)[:1] for one in (word, *full)}
