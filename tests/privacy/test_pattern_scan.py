"""Patterns find the same near digits and signs as they would everywhere."""

import random
import re
from collections.abc import Iterable

import pytest

from reverie.privacy import folding, pattern_scan, rules, sensitivity
from tests import hostile

_VALUES = (
    "+34 612 345 678", "4111 1111 1111 1111", "ana@example.org", "ana at example dot org",
    "12345678Z", "X1234567L", "078-05-1120", "AB 12 34 56 C", "12 Elm Tree street",
    "calle de la Luna, 14", "Lindenstraße 5", "born on 3 May 1981", "passport: X1234567",
    "Pass ist C01X00T47", "Kennzeichen ist B AB C", "driving licence is MORGA 657054",
    "password: hunter2!x", "contraseña: s3creta!", "AKIAIOSFODNN7EXAMPLE",
    "https://ana:s3cret!pw@example.org", "Bearer abcdefgh12345678ijkl", "api_key=Zx81kQp09aLm",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "0x52908400098527886e0f7030069857d2e4169ee7",
    "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "1 2 3 4 5 6 7 8 9", "call me at (212) 555 0100",
)  # fmt: skip
_WORDS = "and the letter of my aunt lay under seven old maps for a long while".split()  # noqa: SIM905
_SECRETS_WITH_SIGNS = 15
SOMEWHERE = [
    pattern
    for pattern in rules.load().patterns
    if pattern.digit or pattern.signs or pattern.unbroken
]
"""Patterns that are not looked for everywhere."""
SAMPLES = 900
"""Enough to have each alternative of the longest pattern."""
# Longer than what is read around digits, and without any.
_FAR = "and the letter of my aunt lay under old maps " * 7
# Their samples do not have the digit that the pattern looks back at.
_SELDOM_SAMPLED = {"segundo teléfono"}


def _text(seed: int) -> str:
    """Values with words between them: few to many, so that some stand alone."""
    generator = random.Random(seed)
    parts: list[str] = []
    for _ in range(generator.randint(1, 8)):
        parts += generator.choices(_WORDS, k=generator.choice((0, 3, 40, 90)))
        parts.append(generator.choice(_VALUES))
    return generator.choice((" ", "\n")).join(parts)


def test_a_pattern_finds_near_its_signs_what_it_finds_everywhere() -> None:
    found = 0
    for seed in range(300):
        scanned = pattern_scan.of(folding.fold(_text(seed)).text)
        found += sum(_found(pattern, scanned) for pattern in SOMEWHERE)
    assert found > 1_000


@pytest.mark.parametrize("pattern", SOMEWHERE, ids=lambda pattern: pattern.name)
def test_a_pattern_finds_its_own_samples_wherever_they_stand(
    pattern: rules.Pattern,
) -> None:
    """The longest too, in any case, behind their cue, far from all other digits."""
    found = 0
    cues = [""] * SAMPLES
    if pattern.cue:
        cues = list(hostile.samples(pattern.cue, SAMPLES))
    for sample, cue in zip(hostile.samples(pattern.match, SAMPLES), cues, strict=True):
        for said in (sample, sample.upper(), sample.lower()):
            text = f"{_FAR} {cue} {said} {_FAR} {cue}, {said}\n{_FAR}"
            found += _found(pattern, pattern_scan.of(folding.fold(text).text))
    assert found or pattern.name in _SELDOM_SAMPLED


def _found(pattern: rules.Pattern, scanned: pattern_scan.ScannedText) -> int:
    """How often a pattern is found: just as often as if it were looked for
    everywhere.
    """
    read = scanned.lowered if pattern.lowered else scanned.text
    everywhere = _cued(pattern, scanned, pattern.match.finditer(read))
    near = _cued(pattern, scanned, pattern_scan.matches(pattern, scanned))
    assert near == everywhere, (pattern.name, scanned.text)
    return len(near)


def _cued(
    pattern: rules.Pattern,
    scanned: pattern_scan.ScannedText,
    matches: Iterable[re.Match[str]],
) -> list[tuple[int, int]]:
    """Where matches stand; of a pattern with a cue, those behind it."""
    extents = [match.span() for match in matches]
    if pattern.cue is None:
        return extents
    return [
        (start, end)
        for start, end in extents
        if pattern.cue.search(scanned.text, max(0, start - 60), start)
    ]


def test_letters_that_only_regular_expressions_take_for_others_are_no_way_out() -> None:
    """`İ`, `ı` and `ſ` match i and s where case does not count."""
    for text in (
        "DATE OF BİRTH 3 May 1981",
        "date of bırth 3 May 1981",
        "pa&#x17F;sport X1234567",
    ):
        assert sensitivity.of_text(text) == sensitivity.Level.HIGH


def test_a_pattern_set_leaves_out_nothing_that_a_text_may_have() -> None:
    every = rules.load().patterns
    some = pattern_scan.PatternSet(every)
    for seed in range(100):
        scanned = pattern_scan.of(folding.fold(_text(seed)).text)
        possible = {pattern.name for pattern in some.possible(scanned)}
        for pattern in every:
            if any(True for _ in pattern_scan.matches(pattern, scanned)):
                assert pattern.name in possible


def test_signs_are_small_letters_and_stand_in_what_their_pattern_names() -> None:
    """A sign with a capital would never be found."""
    with_signs = [each for each in rules.load().patterns if each.signs]
    assert len(with_signs) >= _SECRETS_WITH_SIGNS
    for pattern in with_signs:
        assert all(sign == folding.lower(sign) for sign in pattern.signs), pattern.name
        assert all(re.search(r"\S", sign) for sign in pattern.signs), pattern.name
