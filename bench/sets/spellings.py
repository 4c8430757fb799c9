"""Personal numbers and emails with valid check digits in eight spellings, and decoys
that look like them. Seeded.
"""

import itertools
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SPELLINGS = (
    "plain",
    "spaced",
    "dotted",
    "dashed",
    "lower",
    "nbsp",
    "full_width",
    "zero_width",
)
KINDS = (
    "card",
    "iban",
    "dni",
    "nie",
    "phone_es",
    "phone_us",
    "phone_de",
    "phone_uk",
    "email",
)
_DNI = "TRWAGMYFPDXBNJZSQVHLCKE"
_SENTENCES = {
    "en": (
        "Please note: {}.",
        "I wrote {} on the form",
        "{} is what they gave me",
        "Here it is ({}) as you asked.",
    ),
    "es": (
        "Apunta esto: {}.",
        "He puesto {} en el formulario",
        "{} es lo que me dieron",
        "Aquí lo tienes ({}).",
    ),
    "de": (
        "Bitte notieren: {}.",
        "Im Formular steht {}",
        "{} haben sie mir gegeben",
        "Hier ist es ({}).",
    ),
}
_CUED = {
    "card": ("My card is {}", "Tarjeta: {}"),
    "iban": ("IBAN: {}", "Páguelo a {} por favor"),
    "dni": ("DNI {}", "con DNI: {}, vecino de aquí"),
    "nie": ("NIE {}", "con NIE: {}"),
    "phone_es": ("Llámame al {}", "Tel. {}"),
    "phone_us": ("Call me at {}", "Phone: {}"),
    "phone_de": ("Ruf mich an: {}", "Tel.: {}"),
    "phone_uk": ("Call me on {}", "Mobile: {}"),
    "email": ("Mail me: {}", "Correo: {}"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A text with one planted value (or decoy: kind `decoy`)."""

    text: str
    start: int
    end: int
    kind: str
    spelling: str


def cases(seed: int, each: int) -> Iterator[Case]:
    """`each` values of every kind in every spelling, half of them after a word that
    says what they are.
    """
    chance = random.Random(seed)
    for kind in KINDS:
        for number in range(each):
            value = _MAKE[kind](chance)
            for spelling in SPELLINGS:
                sentences = (
                    _CUED[kind]
                    if number % 2
                    else _SENTENCES[chance.choice(("en", "es", "de"))]
                )
                yield _case(
                    chance.choice(sentences),
                    spell(kind, value, spelling),
                    kind,
                    spelling,
                )
    for value in decoys(chance, each * 4):
        yield _case(
            chance.choice(_SENTENCES[chance.choice(("en", "es", "de"))]),
            value,
            "decoy",
            "plain",
        )


def _case(sentence: str, value: str, kind: str, spelling: str) -> Case:
    start = sentence.index("{}")
    return Case(
        sentence.replace("{}", value), start, start + len(value), kind, spelling
    )


def spell(kind: str, value: list[str], spelling: str) -> str:
    """Groups put together in one of the spellings."""
    if kind == "email":
        return _email(value, spelling)
    plain = "".join(value)
    made: dict[str, Callable[[], str]] = {
        "plain": lambda: plain,
        "spaced": lambda: " ".join(value),
        "dotted": lambda: ".".join(value),
        "dashed": lambda: "-".join(value),
        "lower": plain.lower,
        "nbsp": lambda: "\u00a0".join(value),
        "full_width": lambda: "".join(
            chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in plain
        ),
        "zero_width": lambda: "\u200b".join(value),
    }
    return made[spelling]()


def _email(value: list[str], spelling: str) -> str:
    user, domain = value
    plain = f"{user}@{domain}"
    made = {
        "plain": plain,
        "spaced": f"{user} @ {domain}",
        "dotted": f"{user[0]}.{user}@{domain}",
        "dashed": f"{user}-{user[0]}@{domain}",
        "lower": plain.lower(),
        "nbsp": f"{user}\u00a0@\u00a0{domain}",
        "full_width": "".join(chr(ord(c) + 0xFEE0) for c in plain),
        "zero_width": f"{user}\u200b@\u200b{domain}",
    }
    return made[spelling]


def _luhn(digits: str) -> str:
    total = sum(
        sum(divmod(int(d) * (2 - n % 2), 10)) for n, d in enumerate(reversed(digits))
    )
    return digits + str(-total % 10)


def _digits(chance: random.Random, count: int) -> str:
    return "".join(chance.choice(string.digits) for _ in range(count))


def _card(chance: random.Random) -> list[str]:
    head = chance.choice(("4", "51", "52", "53", "54", "55", "6011", "65", "37"))
    size = 15 if head == "37" else 16
    number = _luhn(head + _digits(chance, size - 1 - len(head)))
    cuts = (0, 4, 10, 15) if size == 15 else (0, 4, 8, 12, 16)
    return [number[a:b] for a, b in itertools.pairwise(cuts)]


_BBAN = {
    "ES": "d20",
    "DE": "d18",
    "GB": "a4d14",
    "FR": "d20",
    "IT": "a1d22",
    "NL": "a4d10",
    "AT": "d16",
    "CH": "d17",
}


def _iban(chance: random.Random) -> list[str]:
    country = chance.choice(sorted(_BBAN))
    bban = ""
    for part in _BBAN[country].replace("d", " d").replace("a", " a").split():
        letters = string.ascii_uppercase if part[0] == "a" else string.digits
        bban += "".join(chance.choice(letters) for _ in range(int(part[1:])))
    if country == "FR":
        bban += _digits(chance, 3)
    number = "".join(str(int(c, 36)) for c in bban + country + "00")
    whole = f"{country}{98 - int(number) % 97:02d}{bban}"
    return [whole[n : n + 4] for n in range(0, len(whole), 4)]


def _dni(chance: random.Random) -> list[str]:
    digits = _digits(chance, 8)
    return [digits[:2], digits[2:5], digits[5:], _DNI[int(digits) % 23]]


def _nie(chance: random.Random) -> list[str]:
    head, digits = chance.randrange(3), _digits(chance, 7)
    return ["XYZ"[head], digits, _DNI[int(f"{head}{digits}") % 23]]


def _phone_es(chance: random.Random) -> list[str]:
    head = chance.choice(("6", "6", "71", "91", "93", "95", "96"))
    number = head + _digits(chance, 9 - len(head))
    if head == "6":
        number = "6" + chance.choice("0123456789") + number[2:]
    if number.startswith("95"):
        number = "952" + number[3:]
    return [
        *(["+34"] if chance.random() < 0.3 else []),
        number[:3],
        number[3:5],
        number[5:7],
        number[7:],
    ]


def _phone_us(chance: random.Random) -> list[str]:
    area = chance.choice(
        ("212", "415", "617", "312", "206", "305", "718", "702", "512", "303")
    )
    return [
        *(["+1"] if chance.random() < 0.3 else []),
        area,
        chance.choice("23456789") + "5" + _digits(chance, 1),
        _digits(chance, 4),
    ]


def _phone_de(chance: random.Random) -> list[str]:
    area, size = chance.choice(
        (
            ("30", 8),
            ("89", 8),
            ("40", 7),
            ("151", 8),
            ("171", 7),
            ("160", 7),
            ("221", 7),
        )
    )
    rest = chance.choice("23456789") + _digits(chance, size - 1)
    head = ["+49", area] if chance.random() < 0.4 else ["0" + area]
    return [*head, rest[: size // 2], rest[size // 2 :]]


def _phone_uk(chance: random.Random) -> list[str]:
    if chance.random() < 0.5:
        head, rest = (
            "7" + chance.choice(("400", "700", "911", "800", "533")),
            _digits(chance, 6),
        )
    else:
        head, rest = "20", chance.choice("78") + "9" + _digits(chance, 6)
    start = ["+44", head] if chance.random() < 0.4 else ["0" + head]
    return [*start, rest[: len(rest) // 2], rest[len(rest) // 2 :]]


def _email_value(chance: random.Random) -> list[str]:
    user = (
        chance.choice(("Ana", "Jo", "Max", "Lena", "Pablo"))
        + chance.choice((".", "_", ""))
        + chance.choice(("Ruiz", "Berg", "Smith"))
    )
    return [
        user,
        chance.choice(
            ("Example.com", "mail.Example.org", "correo.Ejemplo.es", "beispiel-post.de")
        ),
    ]


_MAKE: dict[str, Callable[[random.Random], list[str]]] = {
    "card": _card,
    "iban": _iban,
    "dni": _dni,
    "nie": _nie,
    "phone_es": _phone_es,
    "phone_us": _phone_us,
    "phone_de": _phone_de,
    "phone_uk": _phone_uk,
    "email": _email_value,
}


def decoys(chance: random.Random, count: int) -> Iterator[str]:
    """Numbers with a wrong check digit, orders, versions, amounts, hashes, ISBNs,
    measures.
    """
    for number in range(count):
        yield _DECOYS[number % len(_DECOYS)](chance)


def _wrong_card(chance: random.Random) -> str:
    card = "".join(_card(chance))
    return card[:-1] + str((int(card[-1]) + chance.randrange(1, 9)) % 10)


def _wrong_iban(chance: random.Random) -> str:
    iban = "".join(_iban(chance))
    return (
        iban[:2] + f"{(int(iban[2:4]) + chance.randrange(1, 90)) % 100:02d}" + iban[4:]
    )


def _wrong_dni(chance: random.Random) -> str:
    dni = "".join(_dni(chance))
    return dni[:-1] + chance.choice([c for c in _DNI if c != dni[-1]])


def _size(chance: random.Random) -> str:
    return " x ".join(str(chance.randrange(10, 60)) for _ in range(3)) + " cm"


_DECOYS: tuple[Callable[[random.Random], str], ...] = (
    _wrong_card,
    _wrong_iban,
    _wrong_dni,
    lambda chance: (
        f"order {_digits(chance, 9)}"
        if chance.random() < 0.5
        else f"pedido {_digits(chance, 10)}"
    ),
    lambda chance: (
        f"{chance.randrange(30)}.{chance.randrange(90)}.{chance.randrange(400, 999)}"
    ),
    lambda chance: f"{chance.randrange(10, 9000)}.{_digits(chance, 2)} EUR",
    lambda chance: "".join(chance.choice("0123456789abcdef") for _ in range(12)) + "a1",
    lambda chance: f"978{_digits(chance, 10)}",
    _size,
    lambda chance: (
        f"{chance.randrange(10, 99)} {chance.choice(('km', 'kg', 'pages', 'Seiten', 'min'))}"
    ),
)
