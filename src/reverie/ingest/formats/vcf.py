"""vCard files (RFC 6350, and versions 2.1 and 3.0), any number of cards a file."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.formats import contentlines

FULL_DATE = re.compile(r"^(\d{4})-?(\d{2})-?(\d{2})(?:[T ].*)?$")
NO_YEAR = re.compile(r"^--(\d{2})-?(\d{2})(?:T.*)?$")
LABEL = re.compile(r"^_\$!<(.*)>!\$_$")  # Apple wraps its standard labels
# Kinds of numbers and addresses worth telling apart; INTERNET, PREF, VOICE say nothing.
_SHOWN = 120
_MOST_SHOWN = 5
TYPES = ("home", "work", "cell", "mobile", "fax", "pager", "main", "iphone", "other")
MESSENGERS = frozenset(
    {
        "IMPP",
        "X-JABBER",
        "X-SKYPE",
        "X-SKYPE-USERNAME",
        "X-ICQ",
        "X-AIM",
        "X-MSN",
        "X-YAHOO",
        "X-GTALK",
        "X-TWITTER",
    }
)
LABELLED = frozenset({"TEL", "EMAIL", "URL", "X-ABDATE", "X-ABRELATEDNAMES"})
MAILTO = re.compile(r"^mailto:", re.IGNORECASE)
TEL = re.compile(r"^tel:", re.IGNORECASE)
MAILTO_OR_TEL = re.compile(r"^(tel|mailto):", re.IGNORECASE)
KEPT = (
    "ROLE",
    "GENDER",
    "LANG",
    "TZ",
    "KIND",
    "ANNIVERSARY",
    "X-ANNIVERSARY",
    "RELATED",
    "X-SPOUSE",
    "X-MANAGER",
    "X-ASSISTANT",
    "DEATHDATE",
    "BIRTHPLACE",
    "X-PHONETIC-FIRST-NAME",
    "X-PHONETIC-LAST-NAME",
    "SORT-STRING",
    "CLASS",
)


@dataclass(frozen=True, slots=True)
class _Name:
    """The parts of N, in its order (RFC 6350, 6.2.2)."""

    family: str | None = None
    given: str | None = None
    middle: str = ""
    prefix: str = ""
    suffix: str = ""

    @property
    def spoken(self) -> str:
        """The name as it is spoken: prefix, given, middle, family, suffix."""
        parts = (self.prefix, self.given, self.middle, self.family, self.suffix)
        return " ".join(filter(None, parts))


def read(source: drafts.SourceFile) -> Iterator[drafts.DraftOrSkip]:
    """One contact for each card."""
    seen: dict[str, drafts.DraftOrSkip] = {}
    for card in _cards(source.data):
        item = _contact(card)
        if seen.get(item.key) == item:
            yield drafts.Skip(item.key, "the same card is in the file twice")
            continue
        # Two people of one name: neither may be lost.
        if item.key in seen and isinstance(item, drafts.Draft):
            digest = _digest(card)
            key = f"{item.key}|{digest}"
            item = drafts.Draft(item.domain, key, item.fields)
        seen[item.key] = item
        yield item
        if isinstance(item, drafts.Draft):
            yield from _remarks(item, card)
    if not seen:
        raise errors.Unreadable("no card was found in the file")


def _remarks(
    contact: drafts.Draft, card: contentlines.Component
) -> Iterator[drafts.Remark]:
    """What of a card was set aside, for the report."""
    name = str(contact.fields["display_name"])[:_SHOWN]
    line = card.first("BDAY")
    birthday = line.text.strip() if line else ""
    # A birthday in words is one (RFC 6350, 6.2.5); a day that no month has is none.
    if FULL_DATE.match(birthday) and _birthday(card)[1] == {"birthday": birthday}:
        text = f"{name}: set aside, birthday: {birthday[:_SHOWN]}"
        yield drafts.Remark(contact.key, text)
    if card.broken:
        lines = ", ".join(card.broken[:_MOST_SHOWN])
        yield drafts.Remark(contact.key, f"{name}: set aside, lines: {lines}")


def _cards(data: bytes) -> Iterator[contentlines.Component]:
    """Every VCARD of a file, also one inside another block."""
    for root in contentlines.components(data):
        for component in root.walk():
            if component.name == "VCARD":
                yield component


def _digest(card: contentlines.Component) -> str:
    """A part of the key for the second of two people of one name."""
    lines = [f"{line.name}:{line.value}" for line in card.lines if line.name != "REV"]
    content = "\n".join(sorted(lines)).encode("utf-8", "replace")
    return hashlib.sha256(content).hexdigest()[:16]


def _contact(card: contentlines.Component) -> drafts.DraftOrSkip:
    """The record of a card, or why it makes none."""
    emails = _preferred(card, "EMAIL")
    phones = _phones(card)
    name = _name(card)
    company = _company(card)
    numbers = emails or phones or [""]
    reached = numbers[0]
    display = _display_name(card, name, company, reached)
    key = _key(card, display, reached)
    if not display:
        return drafts.Skip(key, "a card without a name, an address or a number")
    if _is_group(card):
        return drafts.Skip(key, f"a group of contacts, not a person: {display}")
    addresses = _addresses(card)
    birthday, birthday_text = _birthday(card)
    fields: drafts.Fields = {
        "display_name": display,
        "given": name.given,
        "family": name.family,
        "emails": emails or None,
        "phones": contentlines.unique(phones) or None,
        "company": company,
        "job_title": card.text("TITLE") or card.text("ROLE"),
        "address": addresses[0] if addresses else None,
        "notes": _notes(card) or None,
        "birthday": birthday,
        "custom": birthday_text | _custom(card, name, addresses),
    }
    return drafts.Draft("contact", key, fields)


def _key(card: contentlines.Component, display: str, reached: str) -> str:
    """The identity of a card: its UID, or its name and an address."""
    uid = card.text("UID")
    if uid:
        return f"uid:{uid}"
    return f"name:{display}|{reached}"


def _phones(card: contentlines.Component) -> list[str]:
    """Numbers without the scheme of RFC 3966, preferred ones first."""
    return [TEL.sub("", phone) for phone in _preferred(card, "TEL")]


def _is_group(card: contentlines.Component) -> bool:
    """Whether a card is a group, by KIND or by Apple's own."""
    kind = card.text("KIND") or card.text("X-ADDRESSBOOKSERVER-KIND") or ""
    return kind.lower() == "group"


def _name(card: contentlines.Component) -> _Name:
    """The parts of N; a part that is missing is empty."""
    line = card.first("N")
    if line is None:
        return _Name()
    parts = contentlines.split(line.value, ";")
    name = _Name(*map(_one_line, parts[:5]))
    return replace(
        name,
        family=name.family or None,
        given=name.given or None,
        # Several middle names are a list in N; the others keep their commas.
        middle=name.middle.replace(",", " "),
    )


def _display_name(
    card: contentlines.Component, name: _Name, company: str | None, reached: str
) -> str:
    """What a contact is called, or how it can be reached."""
    candidates = (
        card.text("FN"),
        name.spoken,
        card.text("NICKNAME"),
        company,
        reached,
    )
    for candidate in candidates:
        if candidate and candidate.strip():
            return _one_line(candidate)
    return ""


def _company(card: contentlines.Component) -> str | None:
    """The organization; its departments come behind it."""
    return next(filter(None, _organization(card)), None)


def _organization(card: contentlines.Component) -> list[str]:
    """The parts of ORG: the organization, then its units."""
    line = card.first("ORG")
    return contentlines.split(line.value, ";") if line else []


def _notes(card: contentlines.Component) -> str:
    """All NOTE properties, one under the other."""
    notes = (line.text.strip() for line in card.every("NOTE"))
    return "\n\n".join(filter(None, notes))


def _addresses(card: contentlines.Component) -> list[str]:
    """Postal addresses on a line each; LABEL is that of vCard 3.0."""
    addresses = [*filter(None, map(_address, card.every("ADR")))]
    return addresses or [_one_line(line.text) for line in card.every("LABEL")]


def _preferred(card: contentlines.Component, name: str) -> list[str]:
    """The values of a property, once each, preferred ones first."""
    lines = sorted(card.every(name), key=_preference)
    return contentlines.unique(MAILTO.sub("", line.text.strip()) for line in lines)


def _preference(line: contentlines.ContentLine) -> int:
    """The first comes first: TYPE=pref of 3.0, then PREF=1 to 100 of 4.0 (5.3)."""
    if "pref" in _types(line):
        return 0
    rank = line.param("PREF")
    if rank.isdecimal() and len(rank) < 4:
        return int(rank)
    return 101


def _types(line: contentlines.ContentLine) -> list[str]:
    """The values of TYPE in lower case."""
    types: list[str] = []
    for value in line.params.get("TYPE", []):
        words = value.split(",")
        types += [word.strip().lower() for word in words]
    return types


def _address(line: contentlines.ContentLine) -> str:
    """An ADR on one line (RFC 6350, 6.3.1)."""
    parts = [_one_line(part) for part in contentlines.split(line.value, ";")]
    missing = [""] * (7 - len(parts))
    box, extra, street, city, region, code, country = [*parts, *missing][:7]
    town = " ".join(filter(None, (code, city)))
    return ", ".join(filter(None, (street, extra, box, town, region, country)))


def _one_line(text: str) -> str:
    """A text with commas in place of its line feeds."""
    return re.sub(r"\s*\n\s*", ", ", text.strip()).strip()


def _birthday(card: contentlines.Component) -> tuple[date | None, drafts.Fields]:
    """The date, or the text to keep where it is none or has no year."""
    line = card.first("BDAY")
    raw = line.text.strip() if line else ""
    if line is None or not raw:
        return None, {}
    if match := NO_YEAR.match(raw):
        month, day = match.groups()
        return None, {"birthday": f"--{month}-{day}"}
    if match := FULL_DATE.match(raw):
        year, month, day = match.groups()
        if _is_no_year(line, year):
            return None, {"birthday": f"--{month}-{day}"}
        try:
            return date(int(year), int(month), int(day)), {}
        except ValueError:
            pass  # the 31st of February stays as it is written
    return None, {"birthday": raw}


def _is_no_year(line: contentlines.ContentLine, year: str) -> bool:
    """Apple writes a year that stands for none, mostly 1604, and says which it is."""
    if year in {line.param("X-APPLE-OMIT-YEAR"), "0000"}:
        return True
    return year == "1604" and "X-APPLE-OMIT-YEAR" in line.params


def _custom(
    card: contentlines.Component, name: _Name, addresses: list[str]
) -> drafts.Fields:
    """What a contact has no field for."""
    custom: drafts.Fields = {
        "uid": card.text("UID"),
        "middle": name.middle,
        "prefix": name.prefix,
        "suffix": name.suffix,
        "nicknames": _words(card, "NICKNAME") or _words(card, "X-NICKNAME"),
        "categories": _words(card, "CATEGORIES"),
        "addresses": addresses[1:],
        "urls": contentlines.unique(line.text for line in card.every("URL")),
        "departments": _departments(card),
        "labels": _labels(card),
        "modified": card.text("REV"),
        "broken_lines": card.broken,
        "messengers": _messengers(card),
    }
    custom |= _kept(card)
    if geo := card.first("GEO"):
        custom["geo"] = geo.text.removeprefix("geo:").replace(";", ",")
    if photo := card.first("PHOTO"):
        custom["photo"] = _photo(photo)
    return custom


def _departments(card: contentlines.Component) -> list[str]:
    """The units of an organization."""
    departments = _organization(card)[1:]
    return [*filter(None, departments)]


def _messengers(card: contentlines.Component) -> dict[str, str]:
    """Messenger -> account."""
    accounts: dict[str, str] = {}
    for line in card.lines:
        if line.name in MESSENGERS:
            messenger = line.name.lower().removeprefix("x-")
            accounts[messenger] = line.text.strip()
    return {messenger: account for messenger, account in accounts.items() if account}


def _kept(card: contentlines.Component) -> drafts.Fields:
    """Properties that a contact has no field for, as they stand."""
    kept: drafts.Fields = {}
    for name in KEPT:
        values = contentlines.unique(
            line.text.replace(";", " ") for line in card.every(name)
        )
        label = name.lower().removeprefix("x-").replace("-", "_")
        kept[label] = values[0] if len(values) == 1 else values
    return kept


def _words(card: contentlines.Component, name: str) -> list[str]:
    """All words of a list property, once each."""
    words: list[str] = []
    for line in card.every(name):
        words += contentlines.split(line.value, ",")
    return contentlines.unique(words)


def _labels(card: contentlines.Component) -> dict[str, str]:
    """What each number and address is for: its own label where it has one, else its
    types.
    """
    own_labels = {
        line.group: LABEL.sub(r"\1", line.text.strip())
        for line in card.every("X-ABLABEL")
        if line.group
    }
    labels: dict[str, str] = {}
    for line in card.lines:
        if line.name not in LABELLED:
            continue
        types = [word for word in _types(line) if word in TYPES]
        label = own_labels.get(line.group) or " ".join(types)
        if label:
            value = MAILTO_OR_TEL.sub("", line.text.strip())
            labels[value] = label
    return labels


def _photo(line: contentlines.ContentLine) -> drafts.Fields:
    """What a picture is; its bytes stay in the file."""
    # The picture stays in the file, whose bytes are kept; a record is no place for
    # megabytes of base64.
    data = contentlines.binary(line)
    if data is None:
        return {"url": line.text.strip()[:2000]}
    return {
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "mime": next(iter(_types(line)), ""),
    }
