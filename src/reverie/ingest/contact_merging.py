"""Merging of contacts from several sources (record linkage): the second one adds, and
takes nothing away.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import cast

Fields = Mapping[str, object]

_SCALARS = ("given", "family", "company", "job_title", "address", "birthday")
_OWN = frozenset({"imported_from", "merged_from", "other"})
_NO_DIGIT = re.compile(r"\D+")


def is_safe(known: Fields, new: Fields) -> bool:
    """Whether two contacts of one name are plainly one person: they share an address or
    a number, and neither a date of birth nor a UID speaks against it.
    """
    if _differ(_date(known), _date(new)) or _differ(_uid(known), _uid(new)):
        return False
    return bool(_reached(known) & _reached(new))


def _differ(one: object, other: object) -> bool:
    return bool(one and other and one != other)


def _date(fields: Fields) -> str:
    """The birthday as text, "" when there is none."""
    birthday = fields.get("birthday")
    if isinstance(birthday, date):
        return birthday.isoformat()
    return str(birthday or "")


def _uid(fields: Fields) -> str:
    """The UID of the card that a contact came from, "" of a row of a table."""
    custom = _mapping(fields.get("custom"))
    return str(custom.get("uid") or "")


def _reached(fields: Fields) -> set[str]:
    """The addresses and numbers by which somebody is reached, each in one spelling."""
    emails = {_email(email) for email in _texts(fields.get("emails"))}
    phones = {_phone(phone) for phone in _texts(fields.get("phones"))}
    return (emails | phones) - {""}


def _email(email: str) -> str:
    return email.strip().lower()


def _phone(phone: str) -> str:
    """The digits of a number, those of an extension too; +49 and 0049 are one."""
    digits = _NO_DIGIT.sub("", phone)
    return digits.removeprefix("00")


def merged(known: Fields, new: Fields, *, newer: bool = False) -> dict[str, object]:
    """The fields of a contact that change when another source of the same person is
    added. Where both say something, the known value stays and the other one is kept
    under `custom.other`; with `newer`, the new one is taken.
    """
    changes = _joined_lists(known, new)
    other: dict[str, list[object]] = {}
    for name in _SCALARS:
        before = known.get(name)
        after = new.get(name)
        if not after or _said(before) == _said(after):
            continue
        if not before or newer:
            changes[name] = after
        else:
            other.setdefault(name, []).append(_jsonable(after))
    before_notes = str(known.get("notes") or "")
    notes = _notes(before_notes, str(new.get("notes") or ""))
    if notes != before_notes:
        changes["notes"] = notes
    before_custom = _mapping(known.get("custom"))
    custom = _custom(before_custom, _mapping(new.get("custom")), other, newer=newer)
    if custom != before_custom:
        changes["custom"] = custom
    return changes


def _joined_lists(known: Fields, new: Fields) -> dict[str, object]:
    """The addresses and numbers of both, where the second source has more."""
    changes: dict[str, object] = {}
    for name, key in (("emails", _email), ("phones", _phone)):
        before = _texts(known.get(name))
        both = _union(before, _texts(new.get(name)), key)
        if both != before:
            changes[name] = both
    return changes


def _custom(
    known: Fields, new: Fields, other: dict[str, list[object]], *, newer: bool
) -> dict[str, object]:
    """What a contact has no field for, of both."""
    custom = dict(known)
    for name, value in new.items():
        if name in _OWN or not value or custom.get(name) == value:
            continue
        before = custom.get(name)
        if not before:
            custom[name] = value
        elif isinstance(before, list) and isinstance(value, list):
            custom[name] = _both(cast("list[object]", before), value)
        elif isinstance(before, Mapping) and isinstance(value, Mapping):
            custom[name] = _entries(
                cast("Fields", before), cast("Fields", value), newer=newer
            )
        elif newer:
            custom[name] = value
        else:
            other.setdefault(name, []).append(value)
    kept = dict(_mapping(custom.get("other")))
    for name, values in other.items():
        kept[name] = _both(_list(kept.get(name)), values)
    if kept:
        custom["other"] = kept
    return custom


def _entries(known: Fields, new: Fields, *, newer: bool) -> dict[str, object]:
    """The entries of two mappings; of what both have, the known one or the newer."""
    if newer:
        return {**known, **new}
    return {**new, **known}


def _both(known: Sequence[object], new: Sequence[object]) -> list[object]:
    """Known ones first, and of the new those that are no known ones."""
    return [*known, *(value for value in new if value not in known)]


def _union(
    known: Sequence[str], new: Sequence[str], key: Callable[[str], str]
) -> list[str]:
    """Known ones first, each once by its key."""
    both = list(known)
    keys = {key(value) for value in known}
    for value in new:
        if key(value) not in keys:
            keys.add(key(value))
            both.append(value)
    return both


def _notes(known: str, new: str) -> str:
    """The notes of both, unless the known ones hold the new."""
    if not new.strip() or new.strip() in known:
        return known
    return f"{known}\n\n{new}" if known.strip() else new


def _said(value: object) -> str:
    """A value as it is compared: without case, and white space once."""
    return " ".join(str(value or "").lower().split())


def _jsonable(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value


def _mapping(value: object) -> Fields:
    return cast("Fields", value) if isinstance(value, Mapping) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _texts(value: object) -> list[str]:
    return [str(item) for item in _list(value)]
