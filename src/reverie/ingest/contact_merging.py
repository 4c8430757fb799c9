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
    birthday = fields.get("birthday")
    return birthday.isoformat() if isinstance(birthday, date) else str(birthday or "")


def _uid(fields: Fields) -> str:
    return str(_mapping(fields.get("custom")).get("uid") or "")


def _reached(fields: Fields) -> set[str]:
    emails = {_email(email) for email in _texts(fields.get("emails"))}
    phones = {_phone(phone) for phone in _texts(fields.get("phones"))}
    return (emails | phones) - {""}


def _email(email: str) -> str:
    return email.strip().lower()


def _phone(phone: str) -> str:
    """The digits of a number, those of an extension too; +49 and 0049 are one."""
    digits = _NO_DIGIT.sub("", phone)
    return digits.removeprefix("00") if digits.startswith("00") else digits


def merged(known: Fields, new: Fields, *, newer: bool = False) -> dict[str, object]:
    """The fields of a contact that change when another source of the same person is
    added. Where both say something, the known value stays and the other one is kept
    under `custom.other`; with `newer`, the new one is taken.
    """
    changes: dict[str, object] = {}
    other: dict[str, list[object]] = {}
    for name, key in (("emails", _email), ("phones", _phone)):
        both = _union(_texts(known.get(name)), _texts(new.get(name)), key)
        if both != _texts(known.get(name)):
            changes[name] = both
    for name in _SCALARS:
        before, after = known.get(name), new.get(name)
        if not after or _said(before) == _said(after):
            continue
        if not before or newer:
            changes[name] = after
        else:
            other.setdefault(name, []).append(_jsonable(after))
    notes = _notes(str(known.get("notes") or ""), str(new.get("notes") or ""))
    if notes != str(known.get("notes") or ""):
        changes["notes"] = notes
    before = _mapping(known.get("custom"))
    custom = _custom(before, _mapping(new.get("custom")), other, newer=newer)
    if custom != before:
        changes["custom"] = custom
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
    kept = {**_mapping(custom.get("other"))}
    for name, values in other.items():
        kept[name] = _both(_list(kept.get(name)), values)
    return {**custom, "other": kept} if kept else custom


def _entries(known: Fields, new: Fields, *, newer: bool) -> dict[str, object]:
    return {**known, **new} if newer else {**new, **known}


def _both(known: Sequence[object], new: Sequence[object]) -> list[object]:
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
