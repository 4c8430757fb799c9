"""Entity resolution: matching of profiles by weighted evidence.

A verdict is certain only where nothing can be wrong: a common address or number of
their own with names that agree, or the same name where one of the two says nothing
else. All other likeness is a suggestion.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from reverie.graph.resolution import blocking, keys, parsing, profiles, transliteration
from reverie.graph.resolution import name_tables as tables

Profile = profiles.Profile

_NO_YEAR = 4  # digits of a birthday without a year
_LONG_NUMBER = 6  # signs, from which on a slip in an identifier can be seen
# Below this two whole names are of two people, who share an address: a couple, a
# family.
_TWO_PEOPLE = 0.15


@dataclass(frozen=True, slots=True)
class Verdict:
    """How likely two profiles are of one, whether that is certain, and why. Nothing is
    merged unasked all the same.
    """

    score: float
    certain: bool
    reasons: tuple[str, ...]

    @property
    def suggested(self) -> bool:
        """Whether a merge is worth suggesting."""
        return self.score >= keys.SAME


NOTHING = Verdict(0.0, certain=False, reasons=())


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
    if a.kind != b.kind:
        return NOTHING
    evidence = list(_evidence(a, b))
    return _verdict(a, b, evidence)


def _verdict(a: Profile, b: Profile, evidence: Sequence[MatchEvidence]) -> Verdict:
    """The verdict on two profiles of one kind: the log-odds of all evidence added up."""
    similarity, exact = _names(a, b)
    score = _score(similarity, evidence)
    reasons = [reason for _, reason in evidence]
    if similarity is not None:
        reasons.insert(0, _name_reason(similarity, exact=exact))
    certain = _is_certain(a, b, similarity, exact=exact, evidence=evidence)
    return Verdict(round(score, 4), certain, tuple(reasons))


def _score(similarity: float | None, evidence: Sequence[MatchEvidence]) -> float:
    """The probability of names and evidence together."""
    total = sum(weight for weight, _ in evidence)
    if similarity is None:
        return _probability(total - _MOST_OF_NAMES)
    if not evidence:
        return similarity
    odds = _log_odds(similarity)
    odds = max(-_MOST_OF_NAMES, min(_MOST_OF_NAMES, odds))
    return _probability(odds + total)


def _name_reason(similarity: float, *, exact: bool) -> str:
    """What the names say, as the first of the reasons."""
    if exact:
        return "same name"
    return "names alike" if similarity >= keys.SAME else "names unlike"


def _names(a: Profile, b: Profile) -> tuple[float | None, bool]:
    """The similarity of the two most alike names, and whether the keys are the same.
    None: no name at all.
    """
    ours = _written_names(a)
    theirs = _written_names(b)
    if not ours or not theirs:
        return None, False
    our_forms = list(map(transliteration.normalised, ours))
    their_forms = list(map(transliteration.normalised, theirs))
    if not set(our_forms).isdisjoint(their_forms):
        return 1.0, our_forms[0] == their_forms[0]
    best = max(keys.similarity(x, y, kind=a.kind) for x in ours for y in theirs)
    return best, False


def _written_names(profile: Profile) -> list[str]:
    """The names that are not empty."""
    return [name for name in profile.names if name.strip()]


def _evidence(a: Profile, b: Profile) -> Iterator[MatchEvidence]:
    """What else speaks for or against."""
    if a.emails and b.emails:
        common = profiles.emails(a) & profiles.emails(b)
        yield _compare_emails(common)
    if not profiles.phones(a).isdisjoint(profiles.phones(b)):
        yield _SAME_PHONE
    ours = profiles.identifiers(a)
    theirs = profiles.identifiers(b)
    if ours and theirs:
        yield _compare_identifiers(ours, theirs)
    our_day = profiles.birthday(a)
    their_day = profiles.birthday(b)
    if our_day and their_day:
        shorter, longer = sorted((our_day, their_day), key=len)
        yield _compare_birthdays(shorter, longer)
    if a.address and b.address:
        our_address = transliteration.normalised(a.address)
        their_address = transliteration.normalised(b.address)
        yield _compare_addresses(our_address, their_address)


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


def _is_certain(
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
    return _is_certain_person(a, b, similarity, exact=exact, evidence=evidence)


def _is_certain_person(
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


_OFFICES = tables.words("""
    info office contact hello mail admin support sales team help service noreply no-reply donotreply kontakt buero
    contacto oficina ventas billing invoices rechnung postmaster webmaster newsletter family familie familia
""")


def _of_an_office(email: str) -> bool:
    """Whether an address is of many: info@, office@."""
    return email.partition("@")[0] in _OFFICES


def _log_odds(share: float) -> float:
    """The logit of a share of 0..1."""
    share = min(max(share, 1e-6), 1 - 1e-6)
    return math.log(share / (1 - share))


def _probability(log_odds: float) -> float:
    """The inverse of `_log_odds`: the logistic function."""
    return 1 / (1 + math.exp(-log_odds))


class Match(NamedTuple):
    """Two profiles by their places, i < j, and the verdict on them."""

    i: int
    j: int
    verdict: Verdict


def candidates(everybody: Sequence[Profile]) -> list[Match]:
    """The pairs that are certain or suggested, the likeliest first; only profiles
    that share something.
    """
    matches: list[Match] = []
    for i, j in blocking.pairs(everybody):
        evidence = list(_evidence(everybody[i], everybody[j]))
        if sum(weight for weight, _ in evidence) < -_MOST_OF_NAMES:
            continue  # no name could make it likely
        verdict = _verdict(everybody[i], everybody[j], evidence)
        if verdict.certain or verdict.suggested:
            matches.append(Match(i, j, verdict))
    return sorted(
        _unambiguous(everybody, matches),
        key=lambda match: (
            -match.verdict.certain,
            -match.verdict.score,
            match.i,
            match.j,
        ),
    )


def _unambiguous(
    everybody: Sequence[Profile], matches: Sequence[Match]
) -> Iterator[Match]:
    """A person of whom nothing but the name is known is merged unasked only if there is
    one of that name.
    """
    partners: dict[int, int] = defaultdict(int)
    for i, j, verdict in matches:
        if verdict.certain:
            partners[i] += 1
            partners[j] += 1
    for match in matches:
        i, j, verdict = match
        several = any(
            partners[place] > 1 and _only_a_name(everybody[place]) for place in (i, j)
        )
        if not (verdict.certain and several):
            yield match
            continue
        reasons = (*verdict.reasons, "several of that name")
        yield Match(i, j, replace(verdict, certain=False, reasons=reasons))


def _only_a_name(profile: Profile) -> bool:
    """Whether a person is known by a name alone."""
    return profile.kind == "person" and profile.bare
