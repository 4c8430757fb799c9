"""Query intent: the kinds of record, people, phrases and nicknames in a question.

Hints move what fits up; they never leave anything out.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from reverie.records import terms
from reverie.search import weights
from reverie.search.dates import quotations
from reverie.search.dates import time_lexicon as tables
from reverie.vocabulary import calendar_words, given_names

_DOMAINS: Mapping[str, str] = {
    "email": "email emails e-mail e-mails mail mails correo correos",
    "note": "note notes notiz notizen nota notas apunte apuntes",
    "contact": "contact contacts kontakt kontakte contacto contactos phone telefonnummer telefono",
    "event": "event events meeting meetings appointment appointments calendar termin termine besprechung besprechungen "
    "kalender evento eventos cita citas reunion reuniones calendario",
    "diary": "diary diaries journal tagebuch tagebucher tagebucheintrag diario",
    "bookmark": "bookmark bookmarks link links lesezeichen marcador marcadores enlace enlaces",
    "task": "task tasks todo todos to-do to-dos aufgabe aufgaben tarea tareas pendiente pendientes",
    "file": "file files pdf pdfs document documents attachment attachments datei dateien dokument dokumente anhang "
    "archivo archivos fichero ficheros documento documentos adjunto adjuntos",
    "transaction": "transaction transactions payment payments invoice invoices receipt receipts zahlung zahlungen "
    "uberweisung rechnung rechnungen transaccion transacciones pago pagos factura facturas recibo recibos",
    "chat": "chat chats conversation conversations session sessions gesprach gesprache unterhaltung unterhaltungen "
    "sitzung sitzungen conversacion conversaciones charla charlas sesion sesiones",
    "feed_item": "article articles feed feeds artikel articulo articulos",
    "health": "weight sleep steps gewicht schlaf schritte peso sueno pasos",
    "run": "transcript transcripts",
}  # fmt: skip
_BY_WORD = {
    terms.fold(word): domain
    for domain, words in _DOMAINS.items()
    for word in words.split()
}
_TOKEN = re.compile(r"\w+(?:[-'’]\w+)*")
# Kinds that are also common words count only where the question speaks of them as a
# thing kept.
_COMMON = tables.words(
    "link links phone event events article articles artikel file files mail"
) | tables.words(
    "weight sleep steps gewicht schlaf schritte peso sueno pasos evento eventos cita citas meeting meetings"
)
_OWNING = tables.words(
    "my the an a from in which what our mein meine meiner meinem meinen der die das dem den von vom aus im eine "
    "ein mi mis el la los las un una del de en que welche welcher cual"
)
_FROM = tables.words("from by with von mit de del con")
_AND = tables.words("and und y e")
_NO_NAMES = tables.words(
    "i the a an my our der die das dem den mein meine el la los las mi christmas easter "
    "weihnachten ostern navidad"
).union(
    *(map(terms.fold, names) for names in calendar_words.MONTHS.values()),
    *(map(terms.fold, names) for names in calendar_words.WEEKDAYS.values()),
)
_ALONE = re.compile(f"([{terms.CJK}])")
_POSSESSIVE = re.compile(r"['’]s$")
# A name has at most so many words.
_NAME_WORDS = 3
_PHRASE_SIGNS = '"“„«»'


@dataclass(frozen=True, slots=True)
class Intent:
    """The domains spoken of, the words that say so (folded), the people named, and
    phrases to be found as they are.
    """

    domains: frozenset[str]
    words: frozenset[str]
    people: tuple[str, ...]
    phrases: tuple[str, ...]


def read(text: str) -> Intent:
    """What a question hints at, in English, Spanish and German. What stands in quotes
    hints at nothing else.
    """
    quoted = list(quotations.find(text, _PHRASE_SIGNS))
    tokens = _TOKEN.findall(_without(text, quoted))
    folded = [terms.fold(token) for token in tokens]
    domains = _domains(folded)
    return Intent(
        domains=frozenset(domains.values()),
        words=frozenset(domains),
        people=_people(tokens, folded),
        phrases=_phrases(text, quoted),
    )


def _without(text: str, quoted: Sequence[tuple[int, int]]) -> str:
    """A text with a space in place of what stands in quotes."""
    pieces: list[str] = []
    at = 0
    for start, end in quoted:
        pieces.append(text[at:start])
        at = end
    return " ".join([*pieces, text[at:]])


def _phrases(text: str, quoted: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """What stands in quotes, with single spaces."""
    phrases = (text[start + 1 : end - 1].split() for start, end in quoted)
    return tuple(" ".join(words) for words in phrases if words)


def _domains(folded: list[str]) -> dict[str, str]:
    """The words that name a kind of record, and their parts, each with its domain."""
    domains: dict[str, str] = {}
    for at, word in enumerate(folded):
        domain = _BY_WORD.get(word)
        if domain is None or not _is_kind(folded, at):
            continue
        for part in (word, *terms.words(word)):
            domains[part] = domain
    return domains


def _is_kind(folded: list[str], at: int) -> bool:
    """Whether a word stands for a kind of record, where it is a common word as well."""
    if folded[at] not in _COMMON:
        return True
    if at and folded[at - 1] in _OWNING:
        return True
    after = folded[at + 1 : at + 2]
    return bool(after) and after[0] in _FROM


def kind_of(word: str) -> str | None:
    """The domain that a folded word may name, be it a common word or not."""
    return _BY_WORD.get(word)


def holds(text: str, phrase: str) -> bool:
    """Whether a text has a phrase word by word; case and accents do not matter."""
    return f" {_spaced(phrase)} " in f" {_spaced(text)} "


def nicknames(word: str) -> tuple[str, ...]:
    """Other forms of a given name, folded: Bob -> bobby, rob, robert, ... None for a
    small word that may be a word.
    """
    name = terms.fold(word)
    if not name.isalpha():
        return ()
    is_name = word[0].isupper() or (len(name) > 2 and name not in _WORDS_TOO)
    return _forms(name) if is_name else ()


# Names that are words of one of the languages as well: written small they are no names.
_WORDS_TOO = tables.words(
    "al ally amber app april art ash august barb bea bill buck bud chad charity chase chat chip chuck cliff "
    "concha court curro dale daisy dawn day dean dick dolores don dot drew duty eve experience fair faith fall "
    "fate field fina flo frank gene ginger glen grace grant green gretel guy heath heather helm holly honor hop "
    "hope iris ivy jack jay jean jet joy june kiko kill lance lane lee left lei life lily little mark mat max may "
    "mel melody mercedes mercy mick miles mina mock nat nick norm olive one pat patience pearl peg penny pete "
    "pilar pink prudence ran randy ray red reed relief rich rick rob robin rock rod rosario rose ruby rusty sal "
    "sandy see serene silence sky star sue sunny tab tad temperance than tono tony trip van vic viola violet von "
    "wade ward west will win wood"
)


@lru_cache(maxsize=4096)
def _forms(name: str) -> tuple[str, ...]:
    forms = given_names.other_forms(name, most_full_names=weights.NICKNAME_NAMES)
    return tuple(sorted(forms))


def _people(tokens: list[str], folded: list[str]) -> tuple[str, ...]:
    """Capitalised words after from, by, with, or after such a name and `and`: one name
    each, of up to three words.
    """
    people: list[str] = []
    last = ""
    at = 1
    while at < len(tokens):
        goes_on = folded[at - 1] in _AND and at > 1 and last.endswith(tokens[at - 2])
        end = at
        if folded[at - 1] in _FROM or goes_on:
            end = _name_end(tokens, folded, at)
        if end > at:
            last = " ".join(_POSSESSIVE.sub("", token) for token in tokens[at:end])
            people.append(last)
        at = max(end, at + 1)
    return tuple(dict.fromkeys(people))


def _name_end(tokens: list[str], folded: list[str], at: int) -> int:
    """Where the name ends that begins at a word; there, where none does."""
    end = at
    longest = min(len(tokens), at + _NAME_WORDS)
    while end < longest and _is_name(tokens[end], folded[end]):
        end += 1
    return end


def _is_name(token: str, folded: str) -> bool:
    return (
        token[0].isupper()
        and folded not in _NO_NAMES
        and folded not in _BY_WORD
        and not token[-1].isdigit()
    )


def _spaced(text: str) -> str:
    """The words with a space between, and every character of a language that writes
    none.
    """
    return " ".join(
        _ALONE.sub(r" \1 ", " ".join(terms.words(terms.fold(text)))).split()
    )
