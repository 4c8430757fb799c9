"""vCard files, versions 2.1, 3.0 and 4.0, any number of cards a file."""

import hashlib
import re
from collections.abc import Iterator
from datetime import date

from reverie import errors
from reverie.ingest import drafts
from reverie.ingest.formats import contentlines

FULL_DATE = re.compile(r"^(\d{4})-?(\d{2})-?(\d{2})(?:[T ].*)?$")
NO_YEAR = re.compile(r"^--(\d{2})-?(\d{2})(?:T.*)?$")
LABEL = re.compile(r"^_\$!<(.*)>!\$_$")  # Apple wraps its standard labels
# Kinds of numbers and addresses worth telling apart; INTERNET, PREF, VOICE say nothing.
TYPES = ("home", "work", "cell", "mobile", "fax", "pager", "main", "iphone", "other")
MESSENGERS = {
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
KEPT = (
    "ROLE", "GENDER", "LANG", "TZ", "KIND", "ANNIVERSARY", "X-ANNIVERSARY", "RELATED", "X-SPOUSE",
    "X-MANAGER", "X-ASSISTANT",
    "DEATHDATE", "BIRTHPLACE", "X-PHONETIC-FIRST-NAME", "X-PHONETIC-LAST-NAME", "SORT-STRING", "CLASS",
)  # fmt: skip


def read(source: drafts.SourceFile) -> Iterator[drafts.Draft | drafts.Skip]:
    """One contact for each card."""
    seen: dict[str, drafts.Draft | drafts.Skip] = {}
    found = False
    for root in contentlines.components(source.data):
        for card in root.walk():
            if card.name != "VCARD":
                continue
            found = True
            item = _contact(card)
            if seen.get(item.key) == item:
                yield drafts.Skip(item.key, "the same card is in the file twice")
                continue
            if item.key in seen and isinstance(
                item, drafts.Draft
            ):  # two people of one name: neither may be lost
                item = drafts.Draft(
                    item.domain, f"{item.key}|{_digest(card)}", item.fields
                )
            seen[item.key] = item
            yield item
    if not found:
        raise errors.Unreadable("no card was found in the file")


def _digest(card: contentlines.Component) -> str:
    text = "\n".join(
        sorted(f"{line.name}:{line.value}" for line in card.lines if line.name != "REV")
    )
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _contact(card: contentlines.Component) -> drafts.Draft | drafts.Skip:
    kind = (card.text("KIND") or card.text("X-ADDRESSBOOKSERVER-KIND") or "").lower()
    emails = _preferred(card, "EMAIL")
    phones = [
        re.sub(r"^tel:", "", phone, flags=re.IGNORECASE)
        for phone in _preferred(card, "TEL")
    ]
    name = _name_parts(card)
    company = _company(card)
    display = _display_name(card, name, company, emails, phones)
    uid = card.text("UID")
    key = (
        f"uid:{uid}"
        if uid
        else f"name:{display}|{emails[0] if emails else phones[0] if phones else ''}"
    )
    if not display:
        return drafts.Skip(key, "a card without a name, an address or a number")
    if kind == "group":
        return drafts.Skip(key, f"a group of contacts, not a person: {display}")
    addresses = [address for line in card.every("ADR") if (address := _address(line))]
    addresses = addresses or [_one_line(line.text) for line in card.every("LABEL")]
    birthday, custom = _birthday(card)
    custom |= _custom(card, name, addresses)
    fields: dict[str, object] = {
        "display_name": display,
        "given": name[1] or None,
        "family": name[0] or None,
        "emails": emails or None,
        "phones": contentlines.unique(phones) or None,
        "company": company,
        "job_title": card.text("TITLE") or card.text("ROLE"),
        "address": addresses[0] if addresses else None,
        "notes": "\n\n".join(
            line.text.strip() for line in card.every("NOTE") if line.text.strip()
        )
        or None,
        "birthday": birthday,
        "custom": custom,
    }
    return drafts.Draft("contact", key, fields)


def _name_parts(card: contentlines.Component) -> list[str]:
    """Family, given, middle, prefix, suffix."""
    line = card.first("N")
    parts = contentlines.split(line.value, ";") if line else []
    return [
        _one_line(part).replace(",", " ") if at == 2 else _one_line(part)
        for at, part in enumerate((parts + [""] * 5)[:5])
    ]


def _display_name(
    card: contentlines.Component,
    name: list[str],
    company: str | None,
    emails: list[str],
    phones: list[str],
) -> str:
    family, given, middle, prefix, suffix = name
    spoken = " ".join(part for part in (prefix, given, middle, family, suffix) if part)
    nickname = card.text("NICKNAME")
    for candidate in (
        card.text("FN"),
        spoken,
        nickname,
        company,
        *emails[:1],
        *phones[:1],
    ):
        if candidate and candidate.strip():
            return _one_line(candidate)
    return ""


def _company(card: contentlines.Component) -> str | None:
    line = card.first("ORG")
    return (
        next((part for part in contentlines.split(line.value, ";") if part), None)
        if line
        else None
    )


def _preferred(card: contentlines.Component, name: str) -> list[str]:
    lines = sorted(card.every(name), key=_preference)
    return contentlines.unique(
        re.sub(r"^mailto:", "", line.text.strip(), flags=re.IGNORECASE)
        for line in lines
    )


def _preference(line: contentlines.ContentLine) -> int:
    if "pref" in _types(line):
        return 0
    rank = line.param("PREF")
    return int(rank) if rank.isdecimal() and len(rank) < 4 else 101


def _types(line: contentlines.ContentLine) -> list[str]:
    return [
        word.strip().lower()
        for value in line.params.get("TYPE", [])
        for word in value.split(",")
    ]


def _address(line: contentlines.ContentLine) -> str:
    parts = contentlines.split(line.value, ";")
    box, extra, street, city, region, code, country = (
        _one_line(part) for part in (parts + [""] * 7)[:7]
    )
    town = " ".join(part for part in (code, city) if part)
    return ", ".join(
        part for part in (street, extra, box, town, region, country) if part
    )


def _one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", ", ", text.strip()).strip()


def _birthday(card: contentlines.Component) -> tuple[date | None, dict[str, object]]:
    line = card.first("BDAY")
    raw = line.text.strip() if line else ""
    if line is None or not raw:
        return None, {}
    if match := NO_YEAR.match(raw):
        return None, {"birthday": f"--{match.group(1)}-{match.group(2)}"}
    if match := FULL_DATE.match(raw):
        year, month, day = match.groups()
        if year in {line.param("X-APPLE-OMIT-YEAR"), "0000"} or (
            year == "1604" and "X-APPLE-OMIT-YEAR" in line.params
        ):
            return None, {"birthday": f"--{month}-{day}"}
        try:
            return date(int(year), int(month), int(day)), {}
        except ValueError:
            pass  # the 31st of February stays as it is written
    return None, {"birthday": raw}


def _custom(
    card: contentlines.Component, name: list[str], addresses: list[str]
) -> dict[str, object]:
    custom: dict[str, object] = {
        "uid": card.text("UID"),
        "middle": name[2],
        "prefix": name[3],
        "suffix": name[4],
        "nicknames": _words(card, "NICKNAME") or _words(card, "X-NICKNAME"),
        "categories": _words(card, "CATEGORIES"),
        "addresses": addresses[1:],
        "urls": contentlines.unique(line.text for line in card.every("URL")),
        "departments": [
            part
            for line in card.every("ORG")[:1]
            for part in contentlines.split(line.value, ";")[1:]
            if part
        ],
        "labels": _labels(card),
        "modified": card.text("REV"),
        "broken_lines": card.broken,
    }
    messengers = {
        line.name.lower().removeprefix("x-"): line.text.strip()
        for line in card.lines
        if line.name in MESSENGERS
    }
    custom["messengers"] = {
        label: value for label, value in messengers.items() if value
    }
    for label in KEPT:
        values = contentlines.unique(
            line.text.replace(";", " ").strip() for line in card.every(label)
        )
        custom[label.lower().removeprefix("x-").replace("-", "_")] = (
            values[0] if len(values) == 1 else values
        )
    if geo := card.first("GEO"):
        custom["geo"] = geo.text.removeprefix("geo:").replace(";", ",")
    if photo := card.first("PHOTO"):
        custom["photo"] = _photo(photo)
    return custom


def _words(card: contentlines.Component, name: str) -> list[str]:
    return contentlines.unique(
        word
        for line in card.every(name)
        for word in contentlines.split(line.value, ",")
    )


def _labels(card: contentlines.Component) -> dict[str, str]:
    """What each number and address is for: its own label where it has one, else its
    types.
    """
    given = {
        line.group: LABEL.sub(r"\1", line.text.strip())
        for line in card.every("X-ABLABEL")
        if line.group
    }
    labels: dict[str, str] = {}
    for line in card.lines:
        if line.name not in {"TEL", "EMAIL", "URL", "X-ABDATE", "X-ABRELATEDNAMES"}:
            continue
        types = [word for word in _types(line) if word in TYPES]
        label = given.get(line.group) or " ".join(types)
        if label:
            labels[
                re.sub(r"^(tel|mailto):", "", line.text.strip(), flags=re.IGNORECASE)
            ] = label
    return labels


def _photo(line: contentlines.ContentLine) -> dict[str, object]:
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
