"""What looks like a personal value and is none: eponyms, species, brands, headlines,
words of grammar; what a decoded view says is masked where it stands and no further.
"""

import pytest

from reverie.privacy import detect

READ_BY_WORDS = {"person", "organisation", "location", "family"}


def _values(text: str, *kinds: str) -> list[str]:
    return [found.value for found in detect.find(text) if found.kind in kinds]


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("La paciente tiene enfermedad de Crohn desde hace años.", "Crohn"),
        ("En la auscultación se oye el signo de Hamman.", "Hamman"),
        ("Al ingreso la escala de Glasgow era normal.", "Glasgow"),
        ("The doctors think that it is Hodgkin's lymphoma.", "Hodgkin"),
        ("En el cultivo creció Escherichia coli resistente.", "Escherichia"),
        ("Se añadió a la dieta un frasco de Addamel® al día.", "Addamel"),
        ("Recibió tratamiento con Ciprofloxacino y con agua.", "Ciprofloxacino"),
        ("La enviaron a la consulta de Oftalmologia por la vista.", "Oftalmologia"),
        ("La proteína C-reactiva era normal en la sangre.", "C-reactiva"),
        ("El valor de la T4l era muy bajo en la sangre.", "T4l"),
        ("El depósito era de IgA en la membrana del riñón.", "IgA"),
        ("Es alto. Así mismo se ve en la foto de la casa.", "Así"),
        ("Bryan: You saved my life! How can I ever repay you?", "ever"),
        ("It is against title vii of the law, he said.", "vii"),
        ("The best orchestra that is serving Southern Hungary.", "Southern"),
        ("You'll read of songs You're Supposed To Hate today.", "Supposed"),
        ('The song is called "Tube Snake Boogie" on the label.', "Boogie"),
    ],
)
def test_a_term_names_nobody(text: str, term: str) -> None:
    found = _values(text, *READ_BY_WORDS)
    assert [value for value in found if term in value] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("La enfermedad de María empezó en el mes de mayo.", "María"),
        ("El test de Gómez ha llegado y está en la mesa.", "Gómez"),
        ("Remitido por: Dra. Crohn. Vive en la casa de al lado.", "Crohn"),
        ("Un tornillo de Medartis®, Basel, que está en la boca.", "Medartis"),
        ("He met Kowalczyk at the hospital and they talked.", "Kowalczyk"),
    ],
)
def test_a_name_stays_one_beside_a_word_for_terms(text: str, name: str) -> None:
    assert any(name in value for value in _values(text, *READ_BY_WORDS))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "Responsable clínico: Dra. Nora Gómez Rodríguez Unidad de Reumatología.",
            "Nora Gómez Rodríguez",
        ),
        (
            "Signed, Dr. Nora Whitfield Department of Surgery, and that is all.",
            "Nora Whitfield",
        ),
        (
            "They were singing the verses from Maria Bulgakov's Cautionary Tales.",
            "Maria Bulgakov",
        ),
    ],
)
def test_a_name_ends_where_its_person_does(text: str, name: str) -> None:
    assert name in _values(text, "person")


def test_a_title_left_of_a_name_is_no_person() -> None:
    text = "Remitido por: Dra. Susana Seijo Ríos. Servicio de aquí."
    assert _values(text, "person") == ["Susana Seijo Ríos"]


def test_relatives_in_general_are_nobody() -> None:
    text = (
        "Paciente sin antecedentes familiares, lo dice su médico de familia tras la "
        "exploración; su madre tuvo la misma enfermedad."
    )
    assert _values(text, "family") == ["madre"]


def test_a_value_ends_with_its_sentence_at_the_end_of_a_line() -> None:
    text = "Datos del paciente.\nNHC: 2594890.\nNASS: 27 36748987 19.\nSexo: M."
    assert _values(text, "medical_id") == ["2594890"]


def test_a_label_written_together_with_a_date_is_no_phone() -> None:
    text = "Datos asistenciales.\nFecha de nacimiento:06/05/1970.\nPaís: España."
    assert _values(text, "phone") == []
    assert _values(text, "date") == ["06/05/1970"]


def test_a_text_that_may_be_backwards_is_not_masked_whole() -> None:
    """`lA` ends a word as the first letter of a reversed one does."""
    before = "El nivel de apolA era de dos. " + "La casa es muy bonita y el sol sale. "
    text = before * 3 + "Correo: jortegacar@gmail.com y nada más."
    assert "jortegacar@gmail.com" in _values(text, "email")
    assert all(len(found.value) < 40 for found in detect.find(text))


def test_a_reversed_value_is_masked_where_it_stands() -> None:
    sentence = "Please write to ines.okafor@mailbox.example.org about the house."
    text = sentence[::-1]
    value = "ines.okafor@mailbox.example.org"[::-1]
    assert value in _values(text, "email")
