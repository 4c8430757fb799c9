"""What is found in a text: each kind in each language, decoys, offsets, hostile texts,
the owner's own patterns.
"""

import itertools
import time
from pathlib import Path

import pytest

from reverie import errors
from reverie.privacy import detect, rules, spans

KINDS = [
    ("person", "Anna Kowalska", "I had lunch with Anna Kowalska yesterday."),
    ("person", "anna kowalska", "i had lunch with anna kowalska yesterday in the park"),
    (
        "person",
        "Carmen Ruiz Pérez",
        "Remitido por: Dra. Carmen Ruiz Pérez. Hospital de aquí.",
    ),
    ("person", "Müller", "Gestern hat Frau Müller angerufen."),
    ("organisation", "Acme Robotics", "She works for Acme Robotics since May."),
    (
        "organisation",
        "Talleres Gómez S.L.",
        "La factura es de Talleres Gómez S.L. de abril.",
    ),
    ("location", "New Zealand", "We will be in New Zealand for a month."),
    ("location", "Valladolid", "Mi hermano vive en Valladolid con su familia."),
    ("address", "221B Baker Street", "Send it to 221B Baker Street, please."),
    ("address", "P.O. Box 1234", "Write to P.O. Box 1234 if you must."),
    (
        "address",
        "Calle Mayor, 12, 3ºB",
        "Mi casa está en Calle Mayor, 12, 3ºB, al lado del bar.",
    ),
    ("address", "Hauptstraße 12", "Das Paket geht an die Hauptstraße 12 in der Stadt."),
    ("email", "ana.lopez@example.com", "Mail ana.lopez@example.com about it."),
    (
        "email",
        "ana [at] example [dot] com",
        "Mail ana [at] example [dot] com about it.",
    ),
    ("phone", "612 34 56 78", "Mi número: 612 34 56 78, por la tarde."),
    ("phone", "+49 151 23456789", "Ruf +49 151 23456789 an."),
    ("phone", "(212) 555-0147", "It is (212) 555-0147, ask for me."),
    ("phone", "020 7946 0958", "Ring 020 7946 0958 after six."),
    ("card", "4111 1111 1111 1111", "Use 4111 1111 1111 1111 for it."),
    (
        "iban",
        "ES91 2100 0418 4502 0005 1332",
        "A la cuenta ES91 2100 0418 4502 0005 1332, gracias.",
    ),
    ("iban", "de89370400440532013000", "an de89370400440532013000 bitte"),
    ("national_id", "12.345.678-Z", "con DNI 12.345.678-Z y domicilio aquí"),
    ("national_id", "X-1234567-L", "con NIE X-1234567-L"),
    ("national_id", "123-45-6789", "Her number is 123-45-6789, keep it."),
    ("national_id", "AB 12 34 56 C", "His NI is AB 12 34 56 C."),
    ("passport", "X1234567", "My passport number is X1234567."),
    ("licence", "S5309-40706", "My driver's license number is S5309-40706"),
    ("medical_id", "2569870", "NHC: 2569870."),
    ("date", "21/06/1971", "Fecha de nacimiento: 21/06/1971."),
    ("date", "3rd of May 1984", "She was born on 3rd of May 1984."),
    ("age", "53 años", "Varón de 53 años sin antecedentes."),
    ("age", "64", "This 64 year old came late."),
    ("url", "https://example.org/~ann/me", "See https://example.org/~ann/me for more."),
    ("ip", "192.168.7.42", "The box at 192.168.7.42 is down."),
    ("ip", "2001:db8:0:0:1:0:0:1", "The box at 2001:db8:0:0:1:0:0:1 is down."),
    ("mac", "00:1A:2B:3C:4D:5E", "Its card is 00:1A:2B:3C:4D:5E here."),
    (
        "crypto",
        "0x52908400098527886E0F7030069857D2E4169EE7",
        "Pay 0x52908400098527886E0F7030069857D2E4169EE7 soon.",
    ),
    ("password", "hunter2!x", "The password is hunter2!x"),
    ("secret", "ghp_" + "a1B2c3D4e5" * 4, "token ghp_" + "a1B2c3D4e5" * 4),
    ("secret", "wJalrXUtnFEMIK7MDENG", "api_key = wJalrXUtnFEMIK7MDENG"),
    ("zip", "SW1A 1AA", "The code SW1A 1AA is famous."),
    ("nationality", "Norwegian", "They opened a Norwegian place downtown."),
]


@pytest.mark.parametrize(("kind", "value", "text"), KINDS)
def test_each_kind_is_found_and_named(kind: str, value: str, text: str) -> None:
    found = detect.find(text)
    start = text.index(value)
    covering = [
        one
        for one in found
        if one.start <= start and one.end >= start + len(value.rstrip("."))
    ]
    assert covering, found
    assert covering[0].kind == kind, found


@pytest.mark.parametrize(
    "text",
    [
        "The order number is 612345678 as always.",
        "Su pedido 912345678 ha salido.",
        "Build 4.18.0-553 is out.",
        "It has a price of 1.234.567 EUR.",
        "We need 12 345 678 EUR.",
        "Use 4111 1111 1111 1112 as a test.",
        "ES92 2100 0418 4502 0005 1332 has a wrong check digit.",
        "the DNI 12345678A is wrong",
        "Could I change the payment due date of my card?",
        "the ISBN 978-3-16-148410-0",
        "we sat there for 20 minutes and it was good",
        "article 50 of the rules, page 12",
    ],
)
def test_decoys_are_left_alone(text: str) -> None:
    assert [
        one for one in detect.find(text) if any(c.isdigit() for c in one.value)
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "I think the weather is lovely today and we should go for a walk.",
        "Mañana tengo que comprar pan, leche y huevos.",
        "Wir haben gestern lange über das Wetter und das Essen geredet.",
        "Kubernetes and PostgreSQL run on Linux.",
    ],
)
def test_ordinary_sentences_hold_nothing(text: str) -> None:
    assert detect.find(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            "IBAN ES91\u00a02100\u00a00418\u00a04502\u00a00005\u00a01332.",
            "ES91\u00a02100\u00a00418\u00a04502\u00a00005\u00a01332",
        ),
        ("DNI １２３４５６７８Ｚ ok", "１２３４５６７８Ｚ"),
        (
            "card 4111\u200b1111\u200b1111\u200b1111 ok",
            "4111\u200b1111\u200b1111\u200b1111",
        ),
        ("mail ana\u200b@\u200bexample.com ok", "ana\u200b@\u200bexample.com"),
        ("😀 call 612\u201134\u201156\u201178 ok", "612\u201134\u201156\u201178"),
        ("Here Jose\u0301 Garci\u0301a came", "Jose\u0301 Garci\u0301a"),
    ],
)
def test_offsets_lead_back_to_the_original(text: str, value: str) -> None:
    found = {one.value: one for one in detect.find(text)}
    assert value in found, found
    one = found[value]
    assert text[one.start : one.end] == value


def test_findings_do_not_overlap_and_are_the_same_each_time() -> None:
    text = " ".join(text for _, _, text in KINDS) * 3
    first = detect.find(text)
    assert first == detect.find(text)
    assert all(a.end <= b.start for a, b in itertools.pairwise(first))
    assert all(text[one.start : one.end] == one.value for one in first)


KNOWN = [
    spans.KnownValue("María-José García López", "person"),
    spans.KnownValue("Tom Wood", "person"),
    spans.KnownValue("Panadería Sol", "organisation"),
    spans.KnownValue("+34 612 345 678", "phone"),
]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ask maria-jose garcia lopez now", "maria-jose garcia lopez"),
        ("ask GARCÍA LÓPEZ, MARÍA-JOSÉ now", "GARCÍA LÓPEZ, MARÍA-JOSÉ"),
        ("ask M. García now", "M. García"),
        ("Tom Wood's car", "Tom Wood"),
        ("wood, tom is here", "wood, tom"),
        ("tom wrote", "tom"),
        ("at panaderia sol we ate", "panaderia sol"),
        ("call 0034612345678 ok", "0034612345678"),
        ("call 612-345-678 ok", "612-345-678"),
    ],
)
def test_known_values_are_found_in_any_spelling(text: str, value: str) -> None:
    found = detect.find(text, known=KNOWN)
    assert (value, 1.0) in {(one.value, one.score) for one in found}, found


def test_a_part_that_is_a_word_wants_its_capital() -> None:
    assert not [
        one for one in detect.find("the wood is dry", known=KNOWN) if one.score == 1.0
    ]
    assert [
        one for one in detect.find("we met Wood there", known=KNOWN) if one.score == 1.0
    ]


@pytest.mark.parametrize("after", ["", " kommt.", "'s Haus"])
def test_a_name_with_a_sharp_s_is_found_again_to_its_last_letter(after: str) -> None:
    text = f"Herr Anton Weiß ist da. Heute war Weiß{after}"
    spans_found = [span for span in detect.find(text) if span.kind == "person"]
    assert [span.value for span in spans_found][-1] == "Weiß"


HOSTILE = [
    "a",
    "1 ",
    "a.",
    "a@",
    "A ",
    "-",
    "1.",
    "sk-",
    "Calle A ",
    "://a:",
    "Dr. ",
    "\u200b",
    "password ",
]


def _processor_time(text: str) -> float:
    """Seconds of this process for one text, the best of two: others use the machine."""
    times: list[float] = []
    for _ in range(2):
        started = time.process_time()
        detect.find(text)
        times.append(time.process_time() - started)
    return min(times)


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_take_time_in_proportion(piece: str) -> None:
    """A text eight times as long takes eight times as long, and not sixty-four times,
    as it would with a pattern that looks back over all that was read.
    """
    short = (piece * 12_500)[:12_500]
    long = (piece * 100_000)[:100_000]
    detect.find("warm Anna up")
    least = 0.01  # below that the clock says little
    growth = _processor_time(long) / max(_processor_time(short), least)
    assert growth < 8 * 3


def test_the_owners_patterns_come_on_top(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "[[pattern]]\nname = 'badge'\nkind = 'badge'\nmatch = 'BDG-\\d{4}'\n[words]\nallowed = ['zyxel']\n"
    )
    held = rules.load([file])
    assert [
        (one.kind, one.value)
        for one in detect.find("my BDG-1234 here", with_rules=held)
    ] == [("badge", "BDG-1234")]
    assert detect.find("the new Zyxel is fast")
    assert not detect.find("the new Zyxel is fast", with_rules=held)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            "[[pattern]]\nname = 'a'\nkind = 'x'\nmatch = 'ok'\n\n[[pattern]]\nname = 'b'\nkind = 'x'\nmatch = '('\n",
            ":6: pattern b",
        ),
        (
            "[[pattern]]\nname = 'b'\nkind = 'x'\nmatch = '(a+)+'\n",
            "repeat inside a repeat",
        ),
        ("[[pattern]]\nname = 'b'\nkind = 'x'\nmatch = 'a*'\n", "matches nothing"),
        ("[[pattern]]\nname = 'b'\nmatch = 'a'\n", "kind is missing"),
        (
            "[[pattern]]\nname = 'b'\nkind = 'x'\nmatch = 'a'\ncheck = 'nope'\n",
            "no check is called nope",
        ),
        (
            "[[pattern]]\nname = 'b'\nkind = 'x'\nmatch = 'a'\nunbroken = 8\n",
            "unbroken is 15 or more",
        ),
        ("[[pattern]\n", "line 1"),
        ("[other]\n", "unknown key other"),
    ],
)
def test_a_bad_pattern_is_named_with_its_line(
    tmp_path: Path, content: str, says: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(content)
    with pytest.raises(errors.Misconfigured, match=says):
        rules.load([file])
