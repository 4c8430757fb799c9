"""Patterns find the same near digits and signs as they would everywhere."""

import random
import re

from reverie.privacy import folding, pattern_scan, rules

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
    patterns = [each for each in rules.load().patterns if each.digit or each.signs]
    for seed in range(300):
        scanned = pattern_scan.of(folding.fold(_text(seed)).text)
        for pattern in patterns:
            read = scanned.lowered if pattern.lowered else scanned.text
            everywhere = [match.span() for match in pattern.match.finditer(read)]
            near = [match.span() for match in pattern_scan.matches(pattern, scanned)]
            assert near == everywhere, (pattern.name, scanned.text)
            found += len(near)
    assert found > 1_000


def test_signs_are_small_letters_and_stand_in_what_their_pattern_names() -> None:
    """A sign with a capital would never be found."""
    with_signs = [each for each in rules.load().patterns if each.signs]
    assert len(with_signs) >= _SECRETS_WITH_SIGNS
    for pattern in with_signs:
        assert all(sign == folding.lower(sign) for sign in pattern.signs), pattern.name
        assert all(re.search(r"\S", sign) for sign in pattern.signs), pattern.name
