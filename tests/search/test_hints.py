"""What questions hint at: kinds of records, people, phrases; and the other forms of
names.
"""

import pytest

from reverie.search import query_intent

HINTS = [
    ("email from Ana about the roof", {"email"}, ("Ana",)),
    ("correo de María José sobre la casa", {"email"}, ("María José",)),
    ("E-Mail von Hans Müller", {"email"}, ("Hans Müller",)),
    ("what did the mail from Bob say", {"email"}, ("Bob",)),
    ("my note about pgvector", {"note"}, ()),
    ("meine Notizen zum Dach", {"note"}, ()),
    ("mis apuntes de álgebra", {"note"}, ()),
    ("Termin mit Dr. Weber", {"event"}, ("Dr Weber",)),
    ("the meeting with Bob and Alice Smith yesterday", {"event"}, ("Bob", "Alice Smith")),
    ("mi cita con Lola", {"event"}, ("Lola",)),
    ("diary of August", {"diary"}, ()),
    ("Tagebuch vom Montag", {"diary"}, ()),
    ("diario de agosto", {"diary"}, ()),
    ("bookmark by Simon Willison", {"bookmark"}, ("Simon Willison",)),
    ("Lesezeichen über Gärten", {"bookmark"}, ()),
    ("to-do for Friday", {"task"}, ()),
    ("offene Aufgaben", {"task"}, ()),
    ("tareas pendientes", {"task"}, ()),
    ("PDF del contrato", {"file"}, ()),
    ("document from the notary", {"file"}, ()),
    ("payment to Vodafone", {"transaction"}, ()),
    ("Überweisung an Vodafone", {"transaction"}, ()),
    ("la conversación con Nacho", {"chat"}, ("Nacho",)),
    ("contact Sarah", {"contact"}, ()),
    ("a note in the email from Bob's sister", {"note", "email"}, ("Bob",)),
    # not a hint
    ("link between sleep and mood", set(), ()),
    ("how steps are counted", set(), ()),
    ("trip from Berlin in May", set(), ("Berlin",)),
    ("letters from Monday", set(), ()),
    ("the song \"my note\"", set(), ()),
    ("", set(), ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "domains", "people"), HINTS, ids=[row[0] for row in HINTS]
)
def test_hints(text: str, domains: set[str], people: tuple[str, ...]) -> None:
    found = query_intent.read(text)
    assert (found.domains, found.people) == (domains, people)


def test_the_words_of_a_domain() -> None:
    assert query_intent.read("E-Mails von Ana").words >= {"e-mails", "mails"}


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('he said "to be or not"', ("to be or not",)),
        ("„Guten  Tag“ und „Servus”", ("Guten Tag", "Servus")),
        ("«hasta luego» y “adiós”", ("hasta luego", "adiós")),
        ("»Grüß Gott«", ("Grüß Gott",)),
        ('an empty "" and "  " say nothing', ()),
        ('5" pipe', ()),
    ],
)
def test_phrases(text: str, phrases: tuple[str, ...]) -> None:
    assert query_intent.read(text).phrases == phrases


def test_a_phrase_stands_word_by_word() -> None:
    assert query_intent.holds("Er sagte: Grüß Gott, alle!", "grüß gott")
    assert query_intent.holds("El CAFÉ con leche.", "cafe con")
    assert not query_intent.holds("to be, perhaps, or not", "to be or")
    assert not query_intent.holds("a carpet", "car")


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("Bob", {"robert", "rob", "bobby"}),
        ("bob", {"robert"}),
        ("Liz", {"elizabeth"}),
        ("Pepe", {"jose"}),
        ("José", {"pepe"}),
        ("paco", {"francisco"}),
        ("pilar", set()),  # also a word in Spanish
        ("Paco", {"francisco"}),
        ("Hans", {"johannes"}),
        ("Sepp", {"josef", "joseph"}),
        ("Josef", {"sepp"}),
    ],
)
def test_nicknames(word: str, others: set[str]) -> None:
    found = query_intent.nicknames(word)
    assert others <= set(found)
    assert bool(others) == bool(found)
    assert word.lower() not in found


@pytest.mark.parametrize(
    "word", ["will", "mark", "may", "Table", "rob", "404B", "", "ana@example.org"]
)
def test_no_nicknames(word: str) -> None:
    assert query_intent.nicknames(word) == ()
