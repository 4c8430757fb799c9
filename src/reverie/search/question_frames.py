"""Question frames: how ordinary questions are asked in English, Spanish and German.

Patterns over folded text (lower case, no accents), tried in order. Groups: `kind` is
the word for a kind of record, `who` whoever said it, `focus` what is looked for.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reverie.search.dates import time_lexicon as tables

Order = Literal["newest", "next"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A way of asking, and the domains that answer it.

    `replaces`: no answer holds the words of the frame, only the focus is looked for.
    `named`: a contact whose name is the focus answers it. `most_words`: with more words
    of content beside, the question is about something else.
    """

    type: str
    pattern: re.Pattern[str]
    domains: tuple[str, ...] = ()
    replaces: bool = False
    named: bool = False
    order: Order | None = None
    most_words: int = 50


_KINDS: dict[tuple[str, ...], str] = {
    ("email",): "email emails e-mail e-mails mail mails correo correos carta brief",
    ("email", "chat", "run"): "message messages nachricht nachrichten mensaje mensajes",
    ("event",): "appointment appointments meeting meetings event events termin termine treffen cita citas reunion "
    "reuniones evento eventos",
    ("event", "task"): "plan plans plane planes deadline deadlines frist fristen plazo plazos",
    ("transaction",): "payment payments expense expenses purchase purchases transfer transfers transaction "
    "transactions zahlung zahlungen ausgabe ausgaben kauf uberweisung pago pagos gasto gastos compra compras "
    "transferencia transferencias",
    ("transaction", "email", "file"): "invoice invoices bill bills receipt receipts rechnung rechnungen quittung "
    "factura facturas recibo recibos",
    ("note",): "note notes notiz notizen nota notas apunte apuntes",
    ("diary",): "diary journal entry entries tagebuch tagebucheintrag tagebucheintrage eintrag eintrage entrada "
    "entradas",
    ("email", "chat", "run", "feed_item"): "news neues neuigkeiten neuigkeit noticia noticias",
    ("task",): "task tasks todo todos aufgabe aufgaben tarea tareas",
    ("bookmark",): "bookmark bookmarks lesezeichen marcador marcadores enlace enlaces",
    ("feed_item",): "article articles artikel articulo articulos",
    ("file",): "file files document documents datei dateien dokument dokumente archivo archivos documento documentos",
    ("chat",): "chat chats conversation conversations gesprach gesprache conversacion conversaciones",
}  # fmt: skip
SPOKEN_OF = tables.words(
    "invoice invoices bill bills receipt receipts rechnung rechnungen quittung factura facturas recibo recibos "
    "deadline deadlines frist fristen plazo plazos"
)
"""Words for a kind that a record of it says itself: they are looked for as well."""

KINDS: dict[str, tuple[str, ...]] = {
    word: domains for domains, words in _KINDS.items() for word in words.split()
}
"""A word for a kind of record -> the domains that hold such."""

ASKING = tables.words(
    "when what who which where how much many old whose tell me show find list give us my our the is are was were "
    "did does do have has had there any for cuando que quien cual cuanto cuanta cuantos donde es son fue era tiene "
    "tengo dia fecha mi mis wann was wer welche welcher wo wie viel ist sind war waren hat hatte habe haben mein "
    "meine meiner meinen day date tag datum en el la"
)
"""Words of asking that say nothing of what is looked for."""


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


def _frames(
    type_: str,
    sources: Sequence[str],
    domains: tuple[str, ...] = (),
    *,
    replaces: bool = False,
    named: bool = False,
    order: Order | None = None,
    most_words: int = 50,
) -> list[Frame]:
    """A frame for each of some patterns."""
    return [
        Frame(
            type_,
            re.compile(source),
            domains,
            replaces=replaces,
            named=named,
            order=order,
            most_words=most_words,
        )
        for source in sources
    ]


# How questions and wishes begin, before what they are about.
_BEGINNINGS = _any(
    "what what's whats when when's which where where's show find open list give do i have is are was were there "
    "any read me us the my our in cual cuales es fue son era cuando que muestra muestrame ensename busca dame tengo "
    "hay donde esta mi mis el la los las lo nuestro nuestra wann wo welche welcher welches zeig zeige mir such suche "
    "gib ist war sind habe ich der die das den dem mein meine meiner meinen meines unser unsere unserer"
)
_BEGIN = rf"^\W*(?:{_BEGINNINGS}\s+)*"
_END = r"\W*$"
_OF = _any("of for de del von vom der des zu")
_FROM = _any("from by de del von vom")
_ABOUT = r"(?:about|on|regarding|concerning|of|sobre|acerca\s+de|uber|zu|zum|zur|wegen)"
_KIND = rf"(?P<kind>{'|'.join(sorted(map(re.escape, KINDS), key=len, reverse=True))})"
_FOCUS = r"(?P<focus>.+?)"

# When somebody was born
_BORN = _any(
    "birthday birthdays bday b-day birthdate born cumpleanos cumple nacio nacida nacido nacimiento geburtstag "
    "geburtstage geboren geburtsdatum"
)
_AGE = (
    r"(?:how\s+old\s+(?:is|are|was|will|am)|(?:que|cual\s+es\s+la)\s+edad(?:\s+(?:tiene|de))?"
    r"|cuantos\s+anos\s+(?:tiene|tienen|cumple|cumplen)|wie\s+alt(?:\s+(?:ist|wird|war))?)"
)
_WHEN = r"^\W*(?:when|what\s+day|cuando|que\s+dia|wann)\b"

# What is known of somebody
_DETAIL = (
    r"(?:(?:tele)?phone(?:\s+number)?|mobile(?:\s+number)?|cell(?:\s+number)?|e-?mail(?:\s+address)?|address|job"
    r"|employer|surname|numero\s+de\s+(?:telefono|movil)|telefono|movil|correo(?:\s+electronico)?|direccion|apellido"
    r"|telefonnummer|handynummer|e-?mail-?adresse|mailadresse|adresse|anschrift)"
)

# What something cost
_HOW_MUCH = r"(?:how\s+much|cuanto|wie\s*viel)"
_PAID = _any(
    "pay paid cost costs spend spent charge charged pague pagamos pagado pago costo costaron cuesta cuestan gaste "
    "gastamos gastado valio vale bezahlt bezahlte bezahlten gezahlt gekostet kostete kosteten kostet kosten "
    "ausgegeben zahlte give gave transfer transferred"
)

# Who said what
_SAID = _any(
    "say said write written wrote tell told think answer answered reply replied ask asked mention mentioned suggest "
    "suggested promise promised recommend recommended propose proposed explain explained"
)
_SAID_ES = (
    r"(?:me\s+|nos\s+)?(?:dijo|dice|escribio|escribe|conto|comento|respondio|contesto|pidio|opina|pregunto|propuso"
    r"|recomendo|explico|ha\s+dicho|ha\s+escrito)"
)
_SAID_DE = _any("hat sagte sagt schrieb schreibt meinte meint erzahlte antwortete")
_SAID_DE_END = _any(
    "gesagt geschrieben gemeint erzahlt geantwortet gefragt empfohlen versprochen"
)
_WHO = r"(?P<who>[^?]+?)"
_OPTIONAL_TOPIC = rf"(?:\s+(?:{_ABOUT}|that|to)\s+{_FOCUS})?"

# What is last or next. Before a length of time such a word is a part of the time, and
# `last name`, `next to` are something else.
_NEWEST = _any(
    "latest newest recent most\\s+recent ultimo ultima ultimos ultimas neueste neuester neuestes neuesten neuste "
    "neuster neusten jungste jungster jungsten aktuellste aktuellster aktuellsten"
)
_LAST = _any("last letzte letzter letztes letzten")
_NEXT = _any(
    "next upcoming coming proximo proxima proximos proximas siguiente siguientes nachste nachster nachstes nachsten "
    "kommende kommender kommendes kommenden bevorstehende bevorstehenden bevorstehender anstehende anstehenden "
    "anstehender"
)
_LATEST = rf"(?:{_NEWEST}|{_LAST})"
_NO_TIME = (
    rf"(?!(?:{'|'.join(map(re.escape, [*tables.UNITS, *tables.SESSIONS, *tables.MONTHS, *tables.WEEKDAYS]))}"
    r"|nights?|mornings?|times?|nacht|mal|vez|noches?|names?|to|of|de|del|\d+|few|couple|spring|summer|autumn|winter"
    r"|verano|invierno|sommer)\b)"
)

BIRTHDAYS = tables.words(
    "birthday birthdays bday cumpleanos cumple geburtstag geburtstage"
)
"""Words for a birthday, of which a calendar and the contacts tell the next."""

PAST = tables.words(
    "did was were had last happened hatte hatten war waren gab letzten letzter letztes hubo tuve tuvimos fue fueron "
    "habia pasado pasada"
)
"""Words by which a question for a day of the week means the last one."""

AHEAD = re.compile(
    r"what (?:(?:is|s|are) )?(?:on|planned|happening)\b|whats on\b"
    r"|what (?:do|have) (?:i|we) (?:have|got)\b|(?:do|have) (?:i|we) (?:have|got) anything\b"
    r"|que (?:planes |citas |cosas )?(?:tengo|tenemos|hay)\b(?! que)"
    r"|was (?:habe ich|haben wir|steht|gibt es)\b(?!.* (?:ge\w+(?:t|en)|passiert)$)"
)
"""Folded words by which a question asks for what is planned."""

OF_FRAMES = tables.words(
    "birthday birthdays bday b-day birthdate born cumpleanos cumple nacio nacida nacido nacimiento geburtstag "
    "geburtstage geboren geburtsdatum old edad anos alt pay paid cost costs spend spent charge charged pague pagamos "
    "pagado pago costo costaron cuesta cuestan gaste gastamos gastado valio vale bezahlt bezahlte bezahlten gezahlt "
    "gekostet kostete kosteten kostet kosten ausgegeben zahlte price precio coste preis cuanto viel much give gave di "
    "dimos transfer transferred"
)
"""Words that frames without a group `focus` ask with."""

FRAMES: Sequence[Frame] = (
    *_frames(
        "newest",
        (
            rf"{_BEGIN}{_LATEST}\s+{_KIND}(?:\s+i\s+(?:got|received))?\s+{_FROM}\s+{_WHO}{_OPTIONAL_TOPIC}{_END}",
            rf"{_BEGIN}{_LATEST}\s+{_KIND}\b(?P<focus>.*)$",
            rf"{_BEGIN}{_KIND}\s+mas\s+recientes?\s+{_FROM}\s+{_WHO}{_END}",
            rf"{_BEGIN}{_KIND}\s+{_FROM}\s+(?P<who>\w+(?:\s+\w+){{0,2}}){_END}",
            rf"{_BEGIN}{_KIND}\s+mas\s+recientes?\b(?P<focus>.*)$",
            rf"{_BEGIN}{_NEWEST}\s+{_NO_TIME}(?P<focus>\w.*)$",
            r"^\W*when\s+(?:did|have)\s+(?:i|we)\s+last\s+(?P<focus>.+)$",
            r"^\W*cuando\s+fue\s+la\s+ultima\s+vez\s+que\s+(?P<focus>.+)$",
            r"^\W*wann\s+(?:habe|haben|war|bin)\s+(?:ich|wir)\s+(?:zuletzt|das\s+letzte\s+mal)\s+(?P<focus>.+)$",
        ),
        order="newest",
    ),
    *_frames(
        "next",
        (
            rf"{_BEGIN}{_NEXT}\s+{_NO_TIME}{_KIND}\b(?P<focus>.*)$",
            rf"{_BEGIN}{_NEXT}\s+{_NO_TIME}(?P<focus>\w.*)$",
            r"^\W*when\s+(?:do|will|am|are)\s+(?:i|we)\s+(?P<focus>.*)\bnext\b\W*$",
            r"^\W*when\s+(?:do|will|am|are)\s+(?:i|we)\s+next\s+(?P<focus>.+)$",
            r"^\W*(?:what(?:['’]?s|\s+is)\s+(?:next|coming\s+up)|was\s+steht\s+an|que\s+viene\s+ahora)\b(?P<focus>.*)$",
        ),
        ("event", "task"),
        order="next",
    ),
    *_frames(
        "birthday",
        (
            rf"{_WHEN}.*\b{_BORN}\b",
            rf"\b{_AGE}\b",
        ),
        ("contact", "event"),
        named=True,
        most_words=3,
    ),
    *_frames(
        "birthday",
        (
            rf"{_BEGIN}{_BORN}\s+{_OF}\s+{_FOCUS}{_END}",
            rf"{_BEGIN}{_FOCUS}['’]?s?\s+{_BORN}{_END}",
        ),
        ("contact", "event"),
        named=True,
        most_words=2,
    ),
    *_frames(
        "person",
        (
            rf"^\W*who(?:['’]?s|\s+(?:is|was|are|were))\s+{_FOCUS}{_END}",
            rf"^\W*quien(?:es)?\s+(?:es|era|son|eran|fue)\s+{_FOCUS}{_END}",
            rf"^\W*wer\s+(?:ist|war|sind|waren)\s+{_FOCUS}{_END}",
        ),
        ("contact",),
        named=True,
        most_words=3,
    ),
    *_frames(
        "detail",
        (
            rf"{_BEGIN}{_DETAIL}\s+{_OF}\s+{_FOCUS}{_END}",
            rf"{_BEGIN}{_FOCUS}['’]?s\s+{_DETAIL}{_END}",
            rf"^\W*how\s+(?:can|do)\s+i\s+(?:reach|call|contact|phone)\s+{_FOCUS}{_END}",
            rf"^\W*where\s+does\s+{_FOCUS}\s+(?:work|live){_END}",
            rf"^\W*donde\s+(?:trabaja|vive)\s+{_FOCUS}{_END}",
            rf"^\W*wo\s+(?:arbeitet|wohnt|lebt)\s+{_FOCUS}{_END}",
        ),
        named=True,
        most_words=3,
    ),
    *_frames(
        "number",
        (
            rf"{_BEGIN}{_FOCUS}\s+(?:number|code|id){_END}",
            rf"{_BEGIN}(?:number|code|numero|codigo|nummer)\s+{_OF}\s+{_FOCUS}{_END}",
            rf"{_BEGIN}(?P<focus>\w{{4,}}?)nummer{_END}",
        ),
        replaces=True,
        most_words=2,
    ),
    *_frames(
        "amount",
        (
            rf"\b{_HOW_MUCH}\b.*\b{_PAID}\b",
            rf"^\W*{_HOW_MUCH}\s+(?:was|were|is|are|fue|era|es|war|waren|ist)\b",
            rf"^\W*what\s+(?:did|does|do)\b.*\b{_PAID}\b",
            rf"^\W*was\s+(?:hat|haben|habe)\b.*\b{_PAID}\b",
            rf"{_BEGIN}(?:price|cost|precio|coste|preis|kosten)\s+{_OF}\b",
        ),
        ("transaction",),
        replaces=True,
    ),
    *_frames(
        "said",
        (
            rf"^\W*what\s+(?:did|does|has|had)\s+{_WHO}\s+{_SAID}(?:\s+(?:to\s+)?(?:me|us))?{_OPTIONAL_TOPIC}{_END}",
            rf"^\W*que\s+{_SAID_ES}\s+{_WHO}(?:\s+(?:sobre|acerca\s+de|del?)\s+{_FOCUS})?{_END}",
            rf"^\W*was\s+{_SAID_DE}\s+{_WHO}\s+(?:mir\s+|uns\s+)?{_ABOUT}\s+{_FOCUS}(?:\s+{_SAID_DE_END})?{_END}",
            rf"{_BEGIN}{_KIND}\s+{_FROM}\s+{_WHO}{_OPTIONAL_TOPIC}{_END}",
        ),
    ),
)  # fmt: skip
