"""CSV column mapping: names of columns in English, Spanish and German, what they mean."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from reverie.vocabulary import letters

# Field -> the names banks give it, as `plain` writes them. Earlier names win when two
# columns mean the same.
TRANSACTION: dict[str, tuple[str, ...]] = {
    "date": (
        "booking date", "transaction date", "posting date", "posted date", "completed date",
        "date completed", "trade date", "date",
        "buchungstag", "buchungsdatum", "buchung", "belegdatum", "datum", "wertstellung", "valutadatum",
        "valuta", "wertstellungsdatum",
        "fecha operacion", "fecha de operacion", "fecha contable", "f operacion", "fecha movimiento",
        "fecha", "fecha valor", "f valor",
        "txn date", "tran date", "post date", "effective date", "transaction posted", "date of transaction",
        "date operation", "date de l operation", "date comptable", "boekdatum", "data operazione", "data contabile",
        "data", "data operacji", "data movimento",
        "value date", "value dt", "started date",
    ),
    "amount": (
        "amount", "transaction amount", "amount eur", "amount usd", "amount gbp", "betrag", "betrag eur",
        "betrag in eur", "umsatz",
        "umsatz in eur", "betrag chf", "importe", "importe eur", "cantidad", "monto", "importe euros",
        "amount account currency", "txn amount", "amt", "montant", "bedrag", "importo", "montante", "kwota",
        "summe",
        "valor",
    ),
    "debit": (
        "debit", "debits", "dr", "debit amt", "withdrawal amt", "withdrawals dr", "withdrawal dr", "money spent",
        "debit amount", "paid out", "out", "outgoing", "debits out", "sortie", "uscite", "uscita", "dare",
        "addebiti", "money out", "withdrawal", "withdrawals", "withdrawal amount",
        "soll", "belastung",
        "ausgabe", "ausgaben", "lastschrift", "cargo", "cargos", "debe", "gasto", "gastos", "debito",
    ),
    "credit": (
        "credit", "credits", "cr", "credit amt", "deposit amt", "deposits cr", "deposit cr", "money received", "in",
        "incoming", "entrate", "entrata", "avere", "accrediti",
        "credit amount", "paid in", "money in", "deposit", "deposits", "deposit amount", "haben",
        "gutschrift", "einnahme",
        "einnahmen", "abono", "abonos", "haber", "ingreso", "ingresos", "credito",
    ),
    "counterparty": (
        "counterparty", "counterparty name", "payee", "merchant", "merchant name", "recipient",
        "partner name", "name", "payer",
        "beguenstigter zahlungspflichtiger", "begunstigter zahlungspflichtiger", "auftraggeber empfanger",
        "auftraggeber empfaenger",
        "name zahlungsbeteiligter", "zahlungsempfanger in", "zahlungsempfanger", "zahlungspflichtige r",
        "empfanger", "empfaenger",
        "auftraggeber", "auftraggeber begunstigter", "zahlungsempfanger", "beneficiario", "ordenante",
        "comercio", "destinatario",
        "beneficiario ordenante", "emisor",
    ),
    "text": (
        "description", "transaction description", "narration", "particulars", "transaction", "transaction remarks",
        "libelle", "descrizione", "descricao", "omschrijving", "naam omschrijving", "mededelingen", "opis",
        "narrative", "memo", "details", "transaction details",
        "payment reference", "reference", "text", "texto",
        "notes", "verwendungszweck", "buchungstext", "buchungsdetails", "vorgang verwendungszweck",
        "beschreibung", "zahlungsgrund",
        "concepto", "descripcion", "detalle", "observaciones", "movimiento", "mas datos", "referencia",
    ),
    "currency": ("currency", "wahrung", "waehrung", "divisa", "moneda", "currency code"),
    "category": (
        "category", "kategorie", "categoria", "subcategoria", "type", "transaction type", "umsatztyp",
        "umsatzart", "tipo",
    ),
    "balance": (
        "balance", "closing balance", "available balance", "solde", "saldo na transakcji",
        "running balance", "account balance", "saldo", "kontostand", "saldo nach buchung",
        "saldo disponible",
    ),
    "iban": (
        "iban", "kontonummer iban", "iban zahlungsbeteiligter", "account number", "kontonummer",
        "partner iban", "cuenta",
    ),
}  # fmt: skip
CONTACT_NAMES: dict[str, str] = {
    "display_name": r"name|full name|display name|anzeigename|vollstandiger name|nombre completo|file as",
    "given": r"given name|first name|forename|vorname|nombre|nombre de pila",
    "middle": r"middle name|additional name|weitere vornamen|zweiter vorname|segundo nombre",
    "family": r"family name|last name|surname|nachname|familienname|apellidos?",
    "prefix": r"name prefix|title|anrede|titel|tratamiento",
    "emails": (
        r"e ?mail( \d)?( value| address| adresse)?( \d)?|(primary|secondary|home|work) e ?mail( address)?"
        r"|(direccion de )?correo( electronico)?( \d)?|(private|geschaftliche) e ?mail( adresse)?"
    ),
    "phones": (
        r"phone \d value|(\w+ ){0,2}(phone|telephone|mobile|cell)( number)?( \d)?"
        r"|(\w+ ){0,2}(telefon|telefonnummer|mobiltelefon|handy|rufnummer)( \w+)?"
        r"|(telefono|movil|celular)( \w+){0,2}"
    ),
    "company": (
        r"organization( \d)?( name)?|company|firma|unternehmen|organisation|empresa|organizacion|compania"
    ),
    "job_title": r"organization (\d )?title|job title|position|berufsbezeichnung|beruf|puesto|cargo",
    "address": (
        r"address \d formatted|(home )?address|adresse|anschrift|direccion|domicilio"
        r"|((home|business) street|(privat|geschaftlich )?strasse|calle)( privat| geschaftlich| particular)?"
    ),
    "city": r"((home|business) )?(city|town)|(wohn)?ort( privat| geschaftlich)?|ciudad( particular)?|stadt",
    "postcode": (
        r"((home|business) )?(postal code|zip|postcode|zip code)|plz|postleitzahl( privat)?"
        r"|codigo postal( particular)?"
    ),
    "country": r"((home|business) )?country( region)?|land( region)?( privat)?|pais( particular)?",
    "birthday": r"birthday|date of birth|geburtstag|geburtsdatum|cumpleanos|fecha de nacimiento",
    "notes": r"notes?|comments?|notizen|bemerkung(en)?|notas?|comentarios",
    "nickname": r"nickname|spitzname|apodo|alias",
    "labels": r"labels|group membership|categories|kategorien|gruppen|categorias|etiquetas",
    "url": r"website( \d)?( value)?|web page|webseite|internetseite|pagina web",
}
CONTACT = {field: re.compile(names) for field, names in CONTACT_NAMES.items()}


@dataclass(frozen=True, slots=True)
class HealthMeasure:
    """A measured kind: the names of a column that holds it, and the unit when the
    header names none.
    """

    names: re.Pattern[str]
    unit: str


_HEALTH_NAMES: dict[str, tuple[str, str]] = {
    "weight": (r"(body )?weight|(korper)?gewicht|peso( corporal)?|body mass", "kg"),
    "height": (r"height|(korper)?grosse|altura|estatura", "cm"),
    "bmi": (r"bmi|body mass index|imc", ""),
    "body_fat": (
        r"(body )?fat( percentage)?|korperfett(anteil)?|grasa( corporal)?",
        "%",
    ),
    "heart_rate": (
        (
            r"(avg |average |resting )?(heart rate|pulse|hr|bpm)|(ruhe)?puls|herzfrequenz|pulso"
            r"|frecuencia cardiaca|pulsaciones"
        ),
        "bpm",
    ),
    "systolic": (
        (
            r"systolic( blood pressure| pressure)?|sys|systolisch(er blutdruck)?|systole|(presion )?sistolica"
            r"|tension alta"
        ),
        "mmHg",
    ),
    "diastolic": (
        (
            r"diastolic( blood pressure| pressure)?|dia|diastolisch(er blutdruck)?|diastole"
            r"|(presion )?diastolica|tension baja"
        ),
        "mmHg",
    ),
    "steps": (r"steps?( count)?|schritte|schrittzahl|pasos", "steps"),
    "sleep": (
        r"(hours of |time )?sleep( duration| hours)?|asleep|schlaf(dauer)?|sueno|horas de sueno",
        "h",
    ),
    "temperature": (
        r"(body )?temperature|(korper)?temperatur|temperatura( corporal)?|fieber|fiebre",
        "°C",
    ),
    "glucose": (
        r"(blood )?(glucose|sugar)( level)?|blutzucker|glukose|glucosa|glucemia|azucar en sangre",
        "mg/dL",
    ),
    "oxygen": (
        r"spo2|(blood )?oxygen( saturation)?|sauerstoff(sattigung)?|oxigeno|saturacion( de oxigeno)?",
        "%",
    ),
    "energy": (
        r"(active |burned )?(calories|energy)( burned)?|kalorien(verbrauch)?|calorias",
        "kcal",
    ),
    "distance": (r"distance|distanz|strecke|distancia", "km"),
    "water": (r"water( intake)?|wasser|trinkmenge|agua", "l"),
}
HEALTH: dict[str, HealthMeasure] = {
    kind: HealthMeasure(re.compile(names), unit)
    for kind, (names, unit) in _HEALTH_NAMES.items()
}
WHEN = re.compile(
    r"date( time)?|time|timestamp|start( date| time)?|day|measured at|recorded at|measurement date"
    r"|datum( uhrzeit)?|zeit|zeitpunkt|messzeitpunkt|messdatum|tag|fecha( y)?( hora)?|momento|dia"
)
CLOCK = re.compile(r"time|uhrzeit|zeit|hora")
KIND = re.compile(
    r"type|kind|metric|measure|measurement|category|typ|art|messwert|messgrosse|tipo|medida|metrica"
)
VALUE = re.compile(r"value|wert|valor|quantity|result|ergebnis|resultado")
UNIT = re.compile(r"units?|einheit|unidad|unidades")
REMARK = re.compile(
    r"notes?|comments?|text|notizen?|bemerkung(en)?|kommentar|notas?|comentarios?|texto"
)
# In this order: the first that fits a header names its column.
_HEALTH_COLUMNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("at", WHEN),
    ("unit", UNIT),
    ("text", REMARK),
    ("kind", KIND),
    ("value", VALUE),
)
# What Google and Outlook write beside a value ("E-mail 1 - Type"): no value itself.
_NO_CONTACT_VALUE = re.compile(
    r"\b(label|type|yomi|phonetic|display name|typ|etiqueta|tipo)$"
)
_UNIT_IN_BRACKETS = re.compile(r"^(.*?)\s*[\[(]([^\])]{1,12})[\])]\s*$")
_CURRENCY_AT_END = re.compile(r" (?:in )?(?:eur|euro|usd|gbp|chf|inr|cad|aud|pln|sek)$")
# Without one of these beside a date and an amount, it may be a table of anything.
_STATEMENT_CONTEXT = frozenset({"counterparty", "text", "currency", "balance", "iban"})


def plain(header: str) -> str:
    """A header in lower case without accents and signs: "Größe/Weite" -> "grosse
    weite".
    """
    decomposed = unicodedata.normalize("NFKD", letters.plain(header))
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return re.sub(r"[^a-z0-9]+", " ", bare.lower()).strip()


def without_unit(header: str) -> tuple[str, str]:
    """The plain header and the unit it names in brackets: "Weight (kg)" -> ("weight",
    "kg").
    """
    match = _UNIT_IN_BRACKETS.match(header.strip())
    if match is None:
        return plain(header), ""
    return plain(match.group(1)), match.group(2).strip()


def transaction(headers: list[str]) -> dict[str, int]:
    """Field -> column, or nothing when these are not the columns of a bank statement."""
    names = [_variants(header) for header in headers]
    columns: dict[str, int] = {}
    for field, field_names in TRANSACTION.items():
        best = _best_column(names, field_names)
        if best is not None and best not in columns.values():
            columns[field] = best
    has_money = "amount" in columns or columns.keys() >= {"debit", "credit"}
    has_context = bool(_STATEMENT_CONTEXT & columns.keys())
    is_statement = "date" in columns and has_money and has_context
    return columns if is_statement else {}


def _variants(header: str) -> tuple[str, ...]:
    """A header as its plain name, with and without the unit or the currency in it."""
    name, _ = without_unit(header)
    whole = plain(header)
    bare = _CURRENCY_AT_END.sub("", whole)
    return whole, name, bare


def _best_column(
    names: Sequence[tuple[str, ...]], field_names: Sequence[str]
) -> int | None:
    """The column with the earliest of a field's names; the leftmost of the same name."""
    ranked = [
        (field_names.index(name), at)
        for at, variants in enumerate(names)
        for name in variants
        if name in field_names
    ]
    return min(ranked)[1] if ranked else None


def contact(headers: list[str]) -> dict[str, list[int]]:
    """Field -> columns, or nothing when these are not the columns of an address book."""
    columns: dict[str, list[int]] = {}
    for at, header in enumerate(headers):
        field = _contact_field(plain(header))
        if field:
            columns.setdefault(field, []).append(at)
    has_name = columns.keys() & {"display_name", "given", "family"}
    is_reachable = columns.keys() & {"emails", "phones"}
    return columns if has_name and is_reachable else {}


def _contact_field(name: str) -> str | None:
    """The field of a contact that a column holds."""
    if name != "display name" and _NO_CONTACT_VALUE.search(name):
        return None
    for field, pattern in CONTACT.items():
        if pattern.fullmatch(name):
            return field
    return None


def health(headers: list[str]) -> dict[str, int]:
    """Measured kind -> column, with "at" for the time, "kind" and "value" in long
    tables; or nothing.
    """
    columns: dict[str, int] = {}
    for at, header in enumerate(headers):
        name, _ = without_unit(header)
        if "at" in columns and CLOCK.fullmatch(name):
            columns.setdefault("clock", at)
        elif field := _health_field(name):
            columns.setdefault(field, at)
    measured = columns.keys() & HEALTH.keys()
    is_long = columns.keys() >= {"kind", "value"}
    return columns if "at" in columns and (measured or is_long) else {}


def _health_field(name: str) -> str | None:
    """The field or the measured kind that a column holds."""
    for field, pattern in _HEALTH_COLUMNS:
        if pattern.fullmatch(name):
            return field
    return kind_of(name)


def kind_of(name: str) -> str | None:
    """The measured kind a plain name stands for."""
    for kind, measure in HEALTH.items():
        if measure.names.fullmatch(name):
            return kind
    return None
