"""Time lexicon: words of months, days, numbers and units, and stop words of asking.

English, Spanish and German. All words are folded (lower case, no accents); the three languages share the tables,
since they hardly collide and a question is too short to tell which it is in.
"""

from collections.abc import Mapping
from typing import TypeVar

from reverie.records import terms
from reverie.vocabulary import calendar_words

_Meaning = TypeVar("_Meaning")


def words(text: str) -> frozenset[str]:
    """The words of a list that is written as a text."""
    return frozenset(text.split())


def _folded(numbers: Mapping[str, int]) -> dict[str, int]:
    """Words without accents, with their numbers."""
    return {terms.fold(word): number for word, number in numbers.items()}


def _by_word(lists: Mapping[_Meaning, str]) -> dict[str, _Meaning]:
    """Each word of some lists, with the meaning whose list it is in."""
    meanings: dict[str, _Meaning] = {}
    for meaning, listed in lists.items():
        meanings.update(dict.fromkeys(listed.split(), meaning))
    return meanings


MONTHS = _folded(calendar_words.MONTH_NUMBERS)
# Read only beside a day or a year: `mar`, `ago` and `set` are words too.
SHORT_MONTHS = _folded(calendar_words.SHORT_MONTH_NUMBERS)
# Months that are also given names, family names or verbs: alone they are no time.
NAMESAKES = words("may march april june august julio juli abril mai agosto")

# From Monday, which is 0 as in `datetime.date.weekday()`.
WEEKDAYS = {
    weekday: number - 1
    for weekday, number in _folded(calendar_words.WEEKDAY_NUMBERS).items()
}

_WORDS_FOR_DAYS: dict[str, int] = {  # days from today
    "the day before yesterday": -2, "day before yesterday": -2, "the day after tomorrow": 2, "day after tomorrow": 2,
    "last night": -1, "yesterday": -1, "tomorrow": 1, "today": 0, "tonight": 0,
    "earlier this morning": 0, "earlier in the morning": 0, "earlier today": 0,
    "this morning": 0, "this afternoon": 0, "this evening": 0,
    "vorvorgestern": -3, "vorgestern": -2, "gestern": -1, "heute": 0, "ubermorgen": 2, "morgen": 1,
    "heute fruh": 0, "heute morgen": 0, "heute abend": 0, "heute nacht": 0, "heute vormittag": 0, "heute nachmittag": 0,
    "gestern morgen": -1, "gestern abend": -1, "gestern fruh": -1, "gestern nacht": -1, "gestern nachmittag": -1,
    "antes de ayer": -2, "antier": -2, "anteayer": -2, "ayer": -1, "hoy": 0, "anoche": -1, "pasado manana": 2,
    "ayer por la manana": -1, "ayer por la tarde": -1, "ayer por la noche": -1, "esta manana": 0, "esta tarde": 0,
    "esta noche": 0, "hoy por la manana": 0, "hoy por la tarde": 0, "manana por la manana": 1, "manana": 1,
}  # fmt: skip

_PARTS_OF_DAY = {
    ("tomorrow", "today", "yesterday"): "morning afternoon evening night midday noon",
    (
        "morgen",
        "heute",
        "gestern",
        "ubermorgen",
        "vorgestern",
    ): "fruh morgen vormittag mittag nachmittag abend nacht",
}
_SPANISH_DAYS = ("manana", "hoy", "ayer", "pasado manana", "anteayer")
_SPANISH_PARTS = ("manana", "tarde", "noche")


def _parts_of_days() -> dict[str, int]:
    """`tomorrow evening`, `morgen Abend`, `mañana por la tarde`: the day that they are
    of.
    """
    days: dict[str, int] = {}
    for names, parts in _PARTS_OF_DAY.items():
        for name in names:
            day = _WORDS_FOR_DAYS[name]
            days |= {f"{name} {part}": day for part in parts.split()}
    for name in _SPANISH_DAYS:
        for part in _SPANISH_PARTS:
            days[f"{name} por la {part}"] = _WORDS_FOR_DAYS[name]
            days[f"{name} a la {part}"] = _WORDS_FOR_DAYS[name]
    return days


# As people write it in haste.
_HASTY = {"tmrw": 1, "tomorow": 1, "tommorow": 1, "tommorrow": 1, "later today": 0}
DAYS = _WORDS_FOR_DAYS | _parts_of_days() | _HASTY

SMALL = _by_word(
    {
        1: "a an one ein eine einem einer einen un una uno",
        2: "two couple zwei dos par",
        3: "three drei tres",
        4: "four vier cuatro",
        5: "five funf cinco",
        6: "six sechs seis",
        7: "seven sieben siete",
        8: "eight acht ocho",
        9: "nine neun nueve",
        10: "ten zehn diez",
        11: "eleven elf once",
        12: "twelve zwolf doce",
        13: "thirteen dreizehn trece",
        14: "fourteen vierzehn catorce",
        15: "fifteen funfzehn quince",
        20: "twenty zwanzig veinte",
        30: "thirty dreissig treinta",
        40: "forty vierzig cuarenta",
        50: "fifty funfzig cincuenta",
        60: "sixty sechzig sesenta",
        90: "ninety neunzig noventa",
        100: "hundred hundert cien",
    }
)
# Not exact: the range that is meant.
VAGUE = {
    "few": (2, 7),
    "several": (2, 7),
    "einigen": (2, 7),
    "paar": (2, 7),
    "unos": (2, 7),
    "unas": (2, 7),
}

UNITS = _by_word(
    {
        "day": "day days tag tage tagen dia dias",
        "week": "week weeks woche wochen semana semanas",
        "month": "month months monat monate monaten monats mes meses",
        "year": "year years jahr jahre jahren jahres ano anos",
        "quarter": "quarter quarters quartal quartale quartalen trimestre trimestres",
        "weekend": "weekend weekends wochenende wochenendes finde findes",
    }
)
UNITS["fin de semana"] = "weekend"
UNITS["fines de semana"] = "weekend"

_ENGLISH = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_SPANISH = (
    "primer segund tercer cuart quint sext septim octav noven decim undecim duodecim decimotercer decimocuart "
    "decimoquint decimosext decimoseptim decimoctav decimonoven vigesim"
)
_GERMAN = (
    "erst zweit dritt viert funft sechst siebt acht neunt zehnt elft zwolft dreizehnt vierzehnt funfzehnt sechzehnt "
    "siebzehnt achtzehnt neunzehnt zwanzigst"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}


_GERMAN_TENS = {"zwanzig": 20, "dreissig": 30}
_GERMAN_ONES = (
    "ein",
    "zwei",
    "drei",
    "vier",
    "funf",
    "sechs",
    "sieben",
    "acht",
    "neun",
)
_GERMAN_ENDINGS = ("en", "e", "er", "es", "em")


def _english_ordinals() -> dict[str, int]:
    """first to twentieth, thirtieth, twenty-first, twenty first."""
    units = _ENGLISH.split()
    ordinals = {word: number for number, word in enumerate(units, start=1)}
    for tens, base in _TENS.items():
        ordinals[f"{tens[:-1]}ieth"] = base
        for number, word in enumerate(units[:9], start=1):
            ordinals[f"{tens}-{word}"] = base + number
            ordinals[f"{tens} {word}"] = base + number
    return ordinals


def _spanish_ordinals() -> dict[str, int]:
    """primero, primera, primer; segundo, segunda."""
    ordinals: dict[str, int] = {}
    for number, stem in enumerate(_SPANISH.split(), start=1):
        ordinals[f"{stem}o"] = number
        ordinals[f"{stem}a"] = number
        if stem.endswith("er"):
            ordinals[stem] = number
    return ordinals


def _german_ordinals() -> dict[str, int]:
    """ersten, erste; zwanzigster; einundzwanzigsten."""
    ordinals: dict[str, int] = {}
    for number, stem in enumerate(_GERMAN.split(), start=1):
        for ending in _GERMAN_ENDINGS:
            ordinals[stem + ending] = number
    for tens, base in _GERMAN_TENS.items():
        for ending in _GERMAN_ENDINGS:
            ordinals[f"{tens}st{ending}"] = base
        for number, unit in enumerate(_GERMAN_ONES, start=1):
            for ending in _GERMAN_ENDINGS[:3]:
                ordinals[f"{unit}und{tens}st{ending}"] = base + number
    return ordinals


ORDINALS = _english_ordinals() | _spanish_ordinals() | _german_ordinals()

# By quarter, as the northern half of the world has them: winter begins in December of
# the year before.
SEASONS = _by_word(
    {
        0: "winter invierno",
        1: "spring fruhling fruhjahr primavera",
        2: "summer sommer verano",
        3: "autumn fall herbst otono",
    }
)

HOLIDAYS: dict[str, tuple[int, int, int]] = {  # month, day, how many days
    "christmas eve": (12, 24, 1), "heiligabend": (12, 24, 1), "nochebuena": (12, 24, 1),
    "christmas": (12, 24, 3), "xmas": (12, 24, 3), "weihnachten": (12, 24, 3), "navidad": (12, 24, 3),
    "navidades": (12, 24, 3), "christmas day": (12, 25, 1), "boxing day": (12, 26, 1),
    "new year's eve": (12, 31, 1), "new years eve": (12, 31, 1), "new year’s eve": (12, 31, 1),
    "silvester": (12, 31, 1),
    "nochevieja": (12, 31, 1), "new year's": (12, 31, 2), "new year’s": (12, 31, 2), "new year": (12, 31, 2),
    "new year's day": (1, 1, 1), "new year’s day": (1, 1, 1), "neujahr": (1, 1, 1), "ano nuevo": (1, 1, 1),
    "halloween": (10, 31, 1), "valentine's day": (2, 14, 1), "valentine’s day": (2, 14, 1), "valentinstag": (2, 14, 1),
    "san valentin": (2, 14, 1), "dia de reyes": (1, 6, 1), "easter": (0, -2, 4), "ostern": (0, -2, 4),
    "pascua": (0, -2, 4), "semana santa": (0, -7, 8), "karfreitag": (0, -2, 1),
}  # fmt: skip

DECADES = _by_word(
    {
        50: "fifties funfziger",
        60: "sixties sechziger",
        70: "seventies siebziger",
        80: "eighties achtziger",
        90: "nineties neunziger",
    }
)

LAST = words(
    "last past previous letzte letzten letzter letztes letztem vergangene vergangenen vergangener vergangenes "
    "vorige vorigen voriger voriges ultimo ultima ultimos ultimas pasado pasada pasados pasadas anterior"
)
THIS = words("this current diese diesen dieser dieses diesem este esta")
NEXT = words(
    "next coming upcoming nachste nachsten nachster nachstes nachstem kommende kommenden kommender kommendes "
    "proximo proxima proximos proximas"
)
STEPS = dict.fromkeys(LAST, -1) | dict.fromkeys(THIS, 0) | dict.fromkeys(NEXT, 1)

SESSIONS = words(
    "session sessions conversation conversations discussion discussions chat chats sitzung sitzungen gesprach "
    "gesprache gesprachen unterhaltung unterhaltungen sesion sesiones conversacion conversaciones charla charlas"
)

# Before a time these say that it is one: `in May`, but not `the May report`.
PLACING = words(
    "in on at during since until till before after from between over through throughout around within of by im am "
    "an vom seit bis vor nach ab wahrend zwischen zu zum um en desde hasta durante entre antes despues tras"
)
ARTICLES = words(
    "the a an my our your his her their der die das dem den des mein meine unser el la los las mi"
)

# Whoever uses these asks when something was said or written: the time is that of the
# record.
RECORDING = words(
    "write wrote written note notes noted email emails mail mails message messages diary journal entry entries "
    "log discuss discussed discussing talk talked talking chat chatted chats conversation conversations session "
    "sessions say said tell told send sent receive received save saved bookmark bookmarks bookmarked record "
    "recorded schrieb schrieben geschrieben schreiben notiz notizen notiert nachricht nachrichten tagebuch "
    "eintrag eintrage besprochen besprachen gesprochen sprachen geredet redeten unterhalten gesagt sagte erzahlt "
    "gesendet geschickt gespeichert lesezeichen gesprach gesprache escribi escribio escribimos escrito escribir "
    "nota notas anote correo correos mensaje mensajes diario entrada entradas hable hablo hablamos hablado hablar "
    "discutimos discutido charlamos dije dijo dijimos conte contaste envie enviado recibi recibido guarde "
    "guardado marcador marcadores sesion sesiones conversacion conversaciones charla charlas"
)
# What `I` and `we` do when they make a record, and the Spanish forms that need no
# pronoun.
SAYING = words(
    "write wrote written discuss discussed talk talked chat chatted say said tell told speak spoke note noted "
    "schrieb schrieben geschrieben besprochen besprachen gesprochen sprachen geredet redeten unterhalten gesagt "
    "erzahlt notiert"
)
SAYING_ALONE = words(
    "escribi escribimos hablamos hable discutimos charlamos dije dijimos anote conte comentamos"
)
# Kinds of records whose time is that of the thing itself: a time right behind them, or
# nothing else, says when.
KEPT = RECORDING | words(
    "document documents file files photo photos picture pictures meeting meetings appointment appointments events "
    "task tasks transaction transactions payment payments expenses spent spend pay paid mention mentioned event "
    "dokument dokumente datei dateien foto fotos bild bilder termin termine besprechung besprechungen aufgabe "
    "aufgaben zahlung zahlungen ausgegeben ausgaben bezahlt treffen veranstaltung documento documentos archivo "
    "archivos imagenes reunion reuniones cita citas evento eventos tarea tareas pago pagos gaste gastos gastado "
    "pague"
)
# `the event in February` is more often what is looked for than a kind of record.
LOOSE = words("event evento veranstaltung mention mentioned")

# Words of asking: without any other there is nothing to look for but the time.
ASKING = words(
    "what which did do does done doing was were we i me you us our my tell show list give find get summarize "
    "summarise summary about sorts sort kinds kind things thing stuff everything anything something all happen "
    "happened happening chat chatted discuss discussed discussing talk talked talking go going earlier back ago "
    "please let know recap review remember see look up the of over during within around between from since until "
    "before after spoke speak said say write wrote written record recorded through again time s haben habe hatten "
    "wir uns ich du ist sind passiert geschah gab los alles etwas zeig zeige mir sag besprochen besprachen "
    "gesprochen geredet unterhalten geschrieben schrieb gemacht machte machten tat getan worueber woruber uber "
    "fasse zusammen im am vom seit bis vor nach zwischen wahrend in an um es war waren denn que hice hicimos hizo "
    "hacer hacia paso pasaba hablamos hable hablado discutimos charlamos escribi escribimos escrito dime "
    "muestrame muestra todo cosas cosa sobre acerca de del la el las en durante desde hasta entre antes despues "
    "tengo tenemos hay have has got on steht stehen planned geplant "
    "resume resumen nuestra nuestro nuestras nuestros unsere unserer unserem unseren lo he hemos"
)

# Behind one of these, `3 may` is a day.
BEFORE_A_DAY = words("on by from to till until since before after between and of")
