"""A key of this test's own, and texts in six languages with the places of their
personal values.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reverie.privacy import spans, vault

SCOPE = "conversation:00000000-0000-0000-0000-000000000001"

PEOPLE = {
    "en": [
        "Ann Smith",
        "ann smith",
        "John O'Neill",
        "J. R. Ewing",
        "Zoë Ball",
        "Zoe Ball",
    ],
    "es": [
        "Ana García",
        "ana garcia",
        "ANA GARCÍA",
        "José Peña",
        "Jose Pena",
        "María del Mar",
    ],
    "de": ["Jürgen Weiß", "Jurgen Weiss", "Änne Müller", "Ana", "Klaus-Dieter Groß"],
    "fr": ["Hélène d’Arc", "Helene d’Arc", "François L’Hôte", "Zoé\u00a0Noël"],
    "ru": ["Андрей Иванов", "андрей иванов", "Алёна Ёлкина", "Алена Елкина"],
    "zh": ["王伟", "李娜", "欧阳修", "Ｗａｎｇ Ｗｅｉ", "wang wei"],
}
TEMPLATES = {
    "en": [
        "I met {} and {}'s friend, call {}.",
        '**{}** wrote to `{}`: "{}"!',
        "{}2024 and {}x",
        "- {}\n- {}\n",
    ],
    "es": ["La casa de {}, de {} y de {}.", "¿Llamas a {}? Es {}.", "Sr.{}:{};{}"],
    "de": [
        "{}s Buch liegt bei {}.",
        "Frag {}, nicht {}en, wegen {}.",
        "Straße {}\n\n{}",
    ],
    "fr": ["L’ami d’{} est {}.", "« {} » et « {} »", "Voici {} ; puis {} !"],
    "ru": ["Позвони {}, а не {}.", "{}у и {}а ждут {}", "Это {}: {}."],
    "zh": ["我是{}的朋友，{}说{}好", "{}{}来了", "请打{}给{}。"],
}
OTHERS = [
    ("email", "Ana@X.org"), ("email", "ana@x.org"), ("phone", "+34 600 123 456"), ("phone", "+34600123456"),
    ("phone", "600-123-456"), ("card", "4111 1111 1111 1111"), ("iban", "ES91 2100 0418 4502 0005 1332"),
    ("national_id", "12345678-Z"), ("secret", "sk-Ab_9\\n`**"), ("date", "1 May 2024"), ("url", "https://x.org/ana?q=1"),
    ("organisation", "Müller & Söhne GmbH"), ("location", "Calle Mayor"), ("address", "10 Downing St,\nLondon"),
    ("passport", "X1234567"),
]  # fmt: skip
# What a hostile document may hold; none of it may be read as a token.
HOSTILE = [
    "Person_7F3K9ABCDEFGH", "person\\_2222222222222", "email_7F3K9ABCDEFGH@example.com", "+00-7F3K9ABCDEFGH", "Person_",
    "Person ", "ID ", "Org_ABC", "https://example.com/url_", "https://example.com/", "@example.com", "U12",
    "Location 7",
]  # fmt: skip


@dataclass(frozen=True)
class Sample:
    text: str
    spans: list[spans.FoldedSpan]


def samples(seed: int) -> Iterator[Sample]:
    """Texts without end, the same for a seed."""
    draw = random.Random(seed)
    while True:
        language = draw.choice(sorted(TEMPLATES))
        text = ""
        found: list[spans.FoldedSpan] = []
        for _ in range(draw.randint(1, 3)):
            for number, part in enumerate(draw.choice(TEMPLATES[language]).split("{}")):
                if number:
                    people = draw.random() < 0.6
                    kind, value = (
                        ("person", draw.choice(PEOPLE[language]))
                        if people
                        else draw.choice(OTHERS)
                    )
                    found.append(
                        spans.FoldedSpan(len(text), len(text) + len(value), kind)
                    )
                    text += value
                text += part
                if draw.random() < 0.05:
                    text += draw.choice(HOSTILE)
        yield Sample(text, found)


@pytest.fixture
def key(tmp_path: Path) -> vault.Key:
    return vault.open_key(tmp_path)
