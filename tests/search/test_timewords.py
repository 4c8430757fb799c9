"""Time words in three languages, and what only looks like one."""

import time
from datetime import UTC, date, datetime

import pytest

from reverie.search.dates import timewords

# A Wednesday.
NOW = datetime(2026, 9, 16, 10, 30, tzinfo=UTC)
MADRID = "Europe/Madrid"

D = date

# The question, the first and the last day, and whether it leaves no doubt that the
# record is of then.
DAYS = [
    # counted from today
    ("what did I write yesterday", D(2026, 9, 15), D(2026, 9, 15), "filter"),
    ("was habe ich gestern geschrieben", D(2026, 9, 15), D(2026, 9, 15), "filter"),
    ("qué escribí ayer", D(2026, 9, 15), D(2026, 9, 15), "filter"),
    ("notes from today", D(2026, 9, 16), D(2026, 9, 16), "filter"),
    ("Notizen von heute", D(2026, 9, 16), D(2026, 9, 16), "filter"),
    ("notas de hoy", D(2026, 9, 16), D(2026, 9, 16), "filter"),
    (
        "What did we discuss earlier this morning?",
        D(2026, 9, 16),
        D(2026, 9, 16),
        "filter",
    ),
    ("the day before yesterday", D(2026, 9, 14), D(2026, 9, 14), "filter"),
    ("was haben wir vorgestern besprochen?", D(2026, 9, 14), D(2026, 9, 14), "filter"),
    ("de qué hablamos anteayer", D(2026, 9, 14), D(2026, 9, 14), "filter"),
    ("antes de ayer", D(2026, 9, 14), D(2026, 9, 14), "filter"),
    ("meetings tomorrow", D(2026, 9, 17), D(2026, 9, 17), "filter"),
    ("Termine morgen", D(2026, 9, 17), D(2026, 9, 17), "filter"),
    ("reuniones mañana por la mañana", D(2026, 9, 17), D(2026, 9, 17), "filter"),
    ("Termine übermorgen", D(2026, 9, 18), D(2026, 9, 18), "filter"),
    ("citas pasado mañana", D(2026, 9, 18), D(2026, 9, 18), "filter"),
    (
        "was haben wir gestern Abend besprochen",
        D(2026, 9, 15),
        D(2026, 9, 15),
        "filter",
    ),
    ("What did we discuss 167 days ago?", D(2026, 4, 2), D(2026, 4, 2), "filter"),
    ("vor 167 Tagen", D(2026, 4, 2), D(2026, 4, 2), "filter"),
    ("hace 167 días", D(2026, 4, 2), D(2026, 4, 2), "filter"),
    ("emails a week ago", D(2026, 9, 6), D(2026, 9, 12), "filter"),
    ("Mails vor 3 Wochen", D(2026, 8, 23), D(2026, 8, 29), "filter"),
    ("vor dreißig Tagen", D(2026, 8, 17), D(2026, 8, 17), "filter"),
    ("correos de hace dos meses", D(2026, 7, 1), D(2026, 7, 31), "filter"),
    ("What did we talk about 5 months ago?", D(2026, 4, 1), D(2026, 4, 30), "filter"),
    ("what did I write two years ago", D(2024, 1, 1), D(2024, 12, 31), "filter"),
    ("vor einem Jahr", D(2025, 1, 1), D(2025, 12, 31), "filter"),
    ("a few days ago", D(2026, 9, 9), D(2026, 9, 14), "filter"),
    ("vor ein paar Tagen", D(2026, 9, 9), D(2026, 9, 14), "filter"),
    ("a couple of weeks ago", D(2026, 8, 23), D(2026, 9, 5), "filter"),
    # weeks, months, years
    ("emails from last week", D(2026, 9, 7), D(2026, 9, 13), "filter"),
    ("E-Mails von letzter Woche", D(2026, 9, 7), D(2026, 9, 13), "filter"),
    ("correos de la semana pasada", D(2026, 9, 7), D(2026, 9, 13), "filter"),
    ("what did I write this week", D(2026, 9, 14), D(2026, 9, 20), "filter"),
    ("Termine diese Woche", D(2026, 9, 14), D(2026, 9, 20), "filter"),
    ("eventos de esta semana", D(2026, 9, 14), D(2026, 9, 20), "filter"),
    ("appointments next week", D(2026, 9, 21), D(2026, 9, 27), "filter"),
    ("Termine nächste Woche", D(2026, 9, 21), D(2026, 9, 27), "filter"),
    ("reuniones la próxima semana", D(2026, 9, 21), D(2026, 9, 27), "filter"),
    ("citas de la semana que viene", D(2026, 9, 21), D(2026, 9, 27), "filter"),
    ("notes from last month", D(2026, 8, 1), D(2026, 8, 31), "filter"),
    (
        "was habe ich im letzten Monat geschrieben",
        D(2026, 8, 1),
        D(2026, 8, 31),
        "filter",
    ),
    ("notas del mes pasado", D(2026, 8, 1), D(2026, 8, 31), "filter"),
    ("What did we talk about this month?", D(2026, 9, 1), D(2026, 9, 30), "filter"),
    ("what did I write last year", D(2025, 1, 1), D(2025, 12, 31), "filter"),
    ("Tagebuch letztes Jahr", D(2025, 1, 1), D(2025, 12, 31), "filter"),
    ("qué escribí el año pasado", D(2025, 1, 1), D(2025, 12, 31), "filter"),
    (
        "What did we chat about over the last 3 days?",
        D(2026, 9, 13),
        D(2026, 9, 16),
        "filter",
    ),
    (
        "was haben wir in den letzten drei Tagen besprochen",
        D(2026, 9, 13),
        D(2026, 9, 16),
        "filter",
    ),
    ("notas de los últimos 3 meses", D(2026, 6, 16), D(2026, 9, 16), "filter"),
    (
        "What was talked about over this previous week?",
        D(2026, 9, 9),
        D(2026, 9, 16),
        "filter",
    ),
    (
        "Summarize what we discussed over the last week.",
        D(2026, 9, 9),
        D(2026, 9, 16),
        "filter",
    ),
    ("what did I do last weekend", D(2026, 9, 12), D(2026, 9, 13), "filter"),
    ("letztes Wochenende", D(2026, 9, 12), D(2026, 9, 13), "filter"),
    ("el fin de semana pasado", D(2026, 9, 12), D(2026, 9, 13), "filter"),
    ("payments last quarter", D(2026, 4, 1), D(2026, 6, 30), "filter"),
    # days of the week
    ("What did we discuss last Monday?", D(2026, 9, 14), D(2026, 9, 14), "filter"),
    (
        "was haben wir letzten Montag besprochen",
        D(2026, 9, 14),
        D(2026, 9, 14),
        "filter",
    ),
    ("de qué hablamos el lunes pasado", D(2026, 9, 14), D(2026, 9, 14), "filter"),
    ("last Wednesday", D(2026, 9, 9), D(2026, 9, 9), "filter"),
    ("Termine nächsten Freitag", D(2026, 9, 18), D(2026, 9, 18), "filter"),
    ("What did we discuss on Friday?", D(2026, 9, 11), D(2026, 9, 11), "filter"),
    ("was haben wir am Sonntag besprochen", D(2026, 9, 13), D(2026, 9, 13), "filter"),
    ("notas del miércoles", D(2026, 9, 16), D(2026, 9, 16), "boost"),
    ("what did I write on Monday last week", D(2026, 9, 7), D(2026, 9, 7), "filter"),
    ("Monday report", D(2026, 9, 14), D(2026, 9, 14), "boost"),
    # months
    ("what did I write last March", D(2026, 3, 1), D(2026, 3, 31), "filter"),
    (
        "was habe ich letzten Dezember geschrieben",
        D(2025, 12, 1),
        D(2025, 12, 31),
        "filter",
    ),
    ("qué escribí en marzo pasado", D(2026, 3, 1), D(2026, 3, 31), "filter"),
    ("What did we discuss in May?", D(2026, 5, 1), D(2026, 5, 31), "filter"),
    ("what did we discuss in may", D(2026, 5, 1), D(2026, 5, 31), "filter"),
    ("what did I write in May 2023", D(2023, 5, 1), D(2023, 5, 31), "filter"),
    ("was haben wir im März besprochen", D(2026, 3, 1), D(2026, 3, 31), "filter"),
    ("was haben wir im Ma\u0308rz besprochen", D(2026, 3, 1), D(2026, 3, 31), "filter"),
    ("qué escribí en marzo de 2022", D(2022, 3, 1), D(2022, 3, 31), "filter"),
    ("notas de enero", D(2026, 1, 1), D(2026, 1, 31), "filter"),
    ("Notizen vom Oktober", D(2025, 10, 1), D(2025, 10, 31), "filter"),
    ("im März letzten Jahres", D(2025, 3, 1), D(2025, 3, 31), "filter"),
    ("en marzo del año pasado", D(2025, 3, 1), D(2025, 3, 31), "filter"),
    ("Dec 2023", D(2023, 12, 1), D(2023, 12, 31), "filter"),
    ("meetings between 3 May and 10 May", D(2026, 5, 3), D(2026, 5, 10), "filter"),
    ("the March report", D(2026, 3, 1), D(2026, 3, 31), "boost"),
    ("the may report", D(2026, 5, 1), D(2026, 5, 31), "boost"),
    ("When did Melanie go camping in June?", D(2026, 6, 1), D(2026, 6, 30), "boost"),
    ("emails from May", D(2026, 5, 1), D(2026, 5, 31), "boost"),  # or from a person
    # dates
    ("what did I do on 2026-06-10", D(2026, 6, 10), D(2026, 6, 10), "filter"),
    ("2024/01/15", D(2024, 1, 15), D(2024, 1, 15), "filter"),
    ("5 May 2023", D(2023, 5, 5), D(2023, 5, 5), "filter"),
    ("What did we chat about on May 5th?", D(2026, 5, 5), D(2026, 5, 5), "filter"),
    (
        "Tell me what we discussed May twenty-fifth.",
        D(2026, 5, 25),
        D(2026, 5, 25),
        "filter",
    ),
    (
        "what was talked about on December 17th",
        D(2025, 12, 17),
        D(2025, 12, 17),
        "filter",
    ),
    ("Jan 5, 2021", D(2021, 1, 5), D(2021, 1, 5), "filter"),
    ("the fifth of May", D(2026, 5, 5), D(2026, 5, 5), "filter"),
    ("Besprechung am 3. März 2025", D(2025, 3, 3), D(2025, 3, 3), "filter"),
    ("Notizen vom 5. Mai 2023", D(2023, 5, 5), D(2023, 5, 5), "filter"),
    ("Notizen vom dritten Mai", D(2026, 5, 3), D(2026, 5, 3), "filter"),
    ("Notizen vom 5.3.2023", D(2023, 3, 5), D(2023, 3, 5), "filter"),
    ("was war am 5.3.?", D(2026, 3, 5), D(2026, 3, 5), "filter"),
    ("notas del 5 de mayo", D(2026, 5, 5), D(2026, 5, 5), "filter"),
    ("reunión del 10 de julio de 2026", D(2026, 7, 10), D(2026, 7, 10), "filter"),
    ("el 1º de mayo de 2020", D(2020, 5, 1), D(2020, 5, 1), "filter"),
    ("01/15/2024", D(2024, 1, 15), D(2024, 1, 15), "filter"),
    ("25/03/2023", D(2023, 3, 25), D(2023, 3, 25), "filter"),
    ("04/04/2023", D(2023, 4, 4), D(2023, 4, 4), "filter"),
    ("Friday, 8 May 2026", D(2026, 5, 8), D(2026, 5, 8), "filter"),
    ("29 February", D(2024, 2, 29), D(2024, 2, 29), "filter"),
    # from one to another
    (
        "What did we chat about between May 8th and June 9th?",
        D(2026, 5, 8),
        D(2026, 6, 9),
        "filter",
    ),
    (
        "What was talked about from May eighth to June ninth?",
        D(2026, 5, 8),
        D(2026, 6, 9),
        "filter",
    ),
    (
        "Tell me what we discussed over May 8th through June 9th.",
        D(2026, 5, 8),
        D(2026, 6, 9),
        "filter",
    ),
    ("between December 17th and January 1st", D(2025, 12, 17), D(2026, 1, 1), "filter"),
    ("between 2020-01-01 and 2020-12-31", D(2020, 1, 1), D(2020, 12, 31), "filter"),
    ("notes from March to May 2023", D(2023, 3, 1), D(2023, 5, 31), "filter"),
    ("zwischen dem 3. und 9. Mai 2024", D(2024, 5, 3), D(2024, 5, 9), "filter"),
    ("vom 5. bis 9. Mai", D(2026, 5, 5), D(2026, 5, 9), "filter"),
    ("von März bis Mai 2023", D(2023, 3, 1), D(2023, 5, 31), "filter"),
    ("entre marzo y mayo de 2023", D(2023, 3, 1), D(2023, 5, 31), "filter"),
    ("del 5 al 9 de mayo", D(2026, 5, 5), D(2026, 5, 9), "filter"),
    ("desde enero hasta marzo", D(2026, 1, 1), D(2026, 3, 31), "filter"),
    ("between 2019 and 2021", D(2019, 1, 1), D(2021, 12, 31), "filter"),
    ("May 5-9, 2023", D(2023, 5, 5), D(2023, 5, 9), "filter"),
    # with one end
    ("emails since March", D(2026, 3, 1), None, "filter"),
    ("E-Mails seit letzter Woche", D(2026, 9, 7), None, "filter"),
    ("correos desde el lunes pasado", D(2026, 9, 14), None, "filter"),
    ("notes before 2021", None, D(2020, 12, 31), "filter"),
    ("Notizen vor dem 5. Mai 2023", None, D(2023, 5, 4), "filter"),
    ("notas antes de mayo de 2023", None, D(2023, 4, 30), "filter"),
    ("notes after 5 May 2023", D(2023, 5, 6), None, "filter"),
    ("Notizen bis März 2023", None, D(2023, 3, 31), "filter"),
    ("notas después del 5 de mayo de 2023", D(2023, 5, 6), None, "filter"),
    (
        "What puppy did she get two weeks before August 11, 2023?",
        D(2023, 7, 28),
        D(2023, 8, 10),
        "boost",
    ),
    # years, decades, quarters, seasons, holidays
    ("what did I write in 2021", D(2021, 1, 1), D(2021, 12, 31), "filter"),
    ("was habe ich im Jahr 2021 geschrieben", D(2021, 1, 1), D(2021, 12, 31), "filter"),
    ("qué escribí en 2021", D(2021, 1, 1), D(2021, 12, 31), "filter"),
    ("notas de 2021", D(2021, 1, 1), D(2021, 12, 31), "filter"),
    ("2021", D(2021, 1, 1), D(2021, 12, 31), "boost"),
    ("1984", D(1984, 1, 1), D(1984, 12, 31), "boost"),
    ("budget 2024", D(2024, 1, 1), D(2024, 12, 31), "boost"),
    ("the 90s", D(1990, 1, 1), D(1999, 12, 31), "boost"),
    ("Musik der 80er Jahre", D(1980, 1, 1), D(1989, 12, 31), "boost"),
    ("música de los años 90", D(1990, 1, 1), D(1999, 12, 31), "boost"),
    ("Q3 2023 results", D(2023, 7, 1), D(2023, 9, 30), "boost"),
    ("the first quarter of 2024", D(2024, 1, 1), D(2024, 3, 31), "filter"),
    ("erstes Quartal 2024", D(2024, 1, 1), D(2024, 3, 31), "filter"),
    ("primer trimestre de 2024", D(2024, 1, 1), D(2024, 3, 31), "filter"),
    ("what did I write last summer", D(2026, 6, 1), D(2026, 8, 31), "filter"),
    ("was habe ich im Sommer geschrieben", D(2026, 6, 1), D(2026, 8, 31), "filter"),
    ("verano de 2022", D(2022, 6, 1), D(2022, 8, 31), "filter"),
    ("el verano pasado", D(2026, 6, 1), D(2026, 8, 31), "filter"),
    ("Winter 2023", D(2022, 12, 1), D(2023, 2, 28), "filter"),
    ("Christmas presents for Ana", D(2025, 12, 24), D(2025, 12, 26), "boost"),
    ("what did I write last Christmas", D(2025, 12, 24), D(2025, 12, 26), "filter"),
    ("Silvester 2024", D(2024, 12, 31), D(2024, 12, 31), "filter"),
    ("fotos de Nochevieja", D(2025, 12, 31), D(2025, 12, 31), "boost"),
    ("Ostern 2024", D(2024, 3, 29), D(2024, 4, 1), "boost"),
    ("Easter", D(2026, 4, 3), D(2026, 4, 6), "boost"),
    (
        "what did we say about the roof in 2021",
        D(2021, 1, 1),
        D(2021, 12, 31),
        "filter",
    ),
    (
        "was haben wir 2021 über das Dach gesagt",
        D(2021, 1, 1),
        D(2021, 12, 31),
        "boost",
    ),
    ("qué dijimos del tejado en mayo", D(2026, 5, 1), D(2026, 5, 31), "filter"),
    # said of something else than the record
    ("What did Anna cook last March?", D(2026, 3, 1), D(2026, 3, 31), "boost"),
    (
        "Where did Caroline move from 4 years ago?",
        D(2022, 1, 1),
        D(2022, 12, 31),
        "boost",
    ),
    ("the shelter event in February 2023", D(2023, 2, 1), D(2023, 2, 28), "boost"),
]


@pytest.mark.parametrize(
    ("text", "first", "last", "strength"), DAYS, ids=[row[0] for row in DAYS]
)
def test_days(text: str, first: date | None, last: date | None, strength: str) -> None:
    when = timewords.read(text, now=NOW, timezone=MADRID)
    assert when is not None
    assert (when.first, when.last, when.strength, when.session) == (
        first,
        last,
        strength,
        None,
    )


SESSIONS = [
    ("What did we discuss in our third session?", 3, None, "filter"),
    ("in our 21st session", 21, None, "filter"),
    ("twenty-first session", 21, None, "filter"),
    ("Tell me what we talked about in our 2nd discussion.", 2, None, "filter"),
    ("was haben wir in unserer dritten Sitzung besprochen", 3, None, "filter"),
    ("unser erstes Gespräch", 1, None, "filter"),
    ("de qué hablamos en nuestra tercera sesión", 3, None, "filter"),
    ("nuestra primera conversación", 1, None, "filter"),
    ("the first conversation", 1, None, "filter"),
    ("session 12", 12, None, "filter"),
    ("last session", -1, None, "filter"),
    ("die letzte Sitzung", -1, None, "filter"),
    ("la última sesión", -1, None, "filter"),
    ("What did we talk about last time?", -1, None, "filter"),
    ("Worüber haben wir letztes Mal gesprochen?", -1, None, "filter"),
    ("our penultimate session", -2, None, "filter"),
    ("vorletzte Sitzung", -2, None, "filter"),
    ("What did we discuss the session before last?", -2, None, "filter"),
    ("What did we discuss 20 sessions ago?", -20, None, "filter"),
    ("vor 3 Sitzungen", -3, None, "filter"),
    ("hace tres sesiones", -3, None, "filter"),
    ("What did we discuss over sessions 2 through 4?", 2, 4, "filter"),
    ("from the first through third sessions", 1, 3, "filter"),
    ("Sitzungen 1 bis 3", 1, 3, "filter"),
    ("the last three sessions", -3, -1, "filter"),
    ("what we said about Rome in our third session", 3, None, "filter"),
    ("my first session with the physiotherapist", 1, None, "boost"),
]


@pytest.mark.parametrize(
    ("text", "session", "until", "strength"), SESSIONS, ids=[row[0] for row in SESSIONS]
)
def test_sessions(text: str, session: int, until: int | None, strength: str) -> None:
    when = timewords.read(text, now=NOW, timezone=MADRID)
    assert when is not None
    assert (when.session, when.until_session, when.strength) == (
        session,
        until,
        strength,
    )
    assert when.first is when.last is None


NOT_A_TIME = [
    "May said that she would come",
    "she may have been right",
    "what may I ask",
    "5 may be enough",
    "may",
    "June and April are friends",
    "where does August live",
    "Julio Iglesias",
    "wait a second",
    "the second note about pgvector",
    "march to the office",
    "sol y playa",
    "Frau Sommer",
    "Herr Winter und Frau Herbst",
    "Spring Boot",
    "fall damage",
    "Plácido Domingo",
    "domingo de playa",
    "der Freitag",
    "INV-2024-0017",
    "ISO 8601",
    "ISO 2019",
    "Windows 2000",
    "v2023.1.2",
    "/home/berta/plano-2024_v3.pdf",
    "E-4417/2024-B",
    "https://example.org/2023/05/04/post",
    "ana2023@example.org",
    "5e1d9c40-2023-4f63-9a18-c04d7e82b6f1",
    "notes-2023-05-04.md",
    "2000 tokens",
    "3:30pm",
    "99999999999",
    "2020-13-45",
    "05/03/2023",  # the fifth of March, or of May 3rd
    "§3 Absatz 2",
    "404B",
    "1.2.3",
    "guten Morgen",
    "café de la mañana",
    'the song "Yesterday"',
    "„Gestern“ von den Beatles",
    "USA Today article",
    "Good Friday Agreement",
    "when was the last time I saw Ana",
    "the next day",
    "last year of university",
    "quarterly review of the weekend house",
    "ein Jahr in Berlin",
    "the best day of the week",
    "mars mission",
    "Martes trece",
    "",
    "   ",
    "?!",
    "🧠",
]


@pytest.mark.parametrize("text", NOT_A_TIME)
def test_not_a_time(text: str) -> None:
    assert timewords.read(text, now=NOW, timezone=MADRID) is None


def test_spans_and_rest() -> None:
    text = "What did I write about the Börse last March, und warum?"
    when = timewords.read(text, now=NOW, timezone=MADRID)
    assert when is not None
    assert [text[start:end] for start, end in when.spans] == ["last March"]
    assert timewords.rest(text, when) == "What did I write about the Börse , und warum?"
    assert "borse" in timewords.content(text, when)
    assert timewords.rest("a  b", None) == "a b"


@pytest.mark.parametrize(
    "text",
    ["Straße im Ma\u0308rz 2024 ß", "ﬁne in März 2024 ﬁ", "ＩＮ ＭＡＹ ２０２４"],
)
def test_spans_stand_in_the_original(text: str) -> None:
    when = timewords.read(text, now=NOW, timezone=MADRID)
    assert when is not None
    ((start, end),) = when.spans
    assert text[start:end].endswith(("2024", "２０２４"))
    assert len(text[start:end].split()) == 3


def test_only_the_time_is_asked() -> None:
    text = "What did we talk about 167 days ago?"
    assert timewords.content(text, timewords.read(text, now=NOW, timezone=MADRID)) == []


def test_days_are_those_of_the_users_zone() -> None:
    late = datetime(
        2026, 9, 16, 22, 30, tzinfo=UTC
    )  # already the 17th in Madrid, still the 16th in UTC
    for zone, day in ((MADRID, D(2026, 9, 17)), ("UTC", D(2026, 9, 16))):
        when = timewords.read("today", now=late, timezone=zone)
        assert when is not None
        assert when.first == day


def test_long_counts_may_be_a_day_off() -> None:
    counted = [
        timewords.read(f"{n} days ago", now=NOW, timezone=MADRID) for n in (3, 167)
    ]
    assert [when.slack for when in counted if when] == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "999999999 days ago",
        "9999 years ago",
        "in 9999 years",
        "December 0001",
        "31 February",
    ],
)
def test_impossible_days_do_no_harm(text: str) -> None:
    timewords.read(text, now=NOW, timezone=MADRID)


def test_fast() -> None:
    texts = [row[0] for row in DAYS] + NOT_A_TIME
    for text in texts:
        timewords.read(text, now=NOW, timezone=MADRID)
    began = time.process_time()
    for text in texts:
        timewords.read(text, now=NOW, timezone=MADRID)
    assert (time.process_time() - began) / len(texts) < 0.001
