"""How sensitive a record or a field is: a level by domain, raised by what the text
holds. No model, no state.
"""

import enum
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, cast

from reverie.privacy import check_digits, folding, numbers, rules

Word = Literal["low", "normal", "high", "critical"]


class Level(enum.IntEnum):
    """The four levels, the strictest last."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3

    @property
    def word(self) -> Word:
        """As records, logs and people have it."""
        return cast("Word", self.name.lower())


_LOW, _NORMAL, _HIGH, _CRITICAL = Level
_DOMAINS: Mapping[str, Level] = {
    "event": _LOW,
    "bookmark": _LOW,
    "feed": _LOW,
    "feed_item": _LOW,
    "note": _NORMAL,
    "contact": _NORMAL,
    "file": _NORMAL,
    "diary": _NORMAL,
    "task": _NORMAL,
    "chat": _NORMAL,
    "email": _HIGH,
    "transaction": _HIGH,
    "run": _HIGH,
    "health": _CRITICAL,
}
# Fields that are above or below their record. What is not named has the level of its
# domain.
_FIELDS: Mapping[str, Mapping[str, Level]] = {
    "contact": {
        "emails": _HIGH,
        "phones": _HIGH,
        "address": _HIGH,
        "birthday": _HIGH,
        "notes": _NORMAL,
    },
    "email": {"date": _NORMAL, "folder": _LOW, "read": _LOW},
    "transaction": {"date": _NORMAL, "currency": _LOW},
    "event": {"attendees": _HIGH, "location": _NORMAL},
    "run": {"started_at": _LOW, "ended_at": _LOW},
}
# Kinds of findings whose presence makes a text high.
_CONTACT = frozenset(
    {"email", "phone", "card", "iban", "national_id", "passport"}
    | {"licence", "password", "secret", "medical_id", "account", "crypto"}
)
_WORD = re.compile(r"[^\W\d_]++(?:-[^\W\d_]++)*+")
_LONGEST_PHRASE = 4
_STEM_FROM = 6


def of_domain(domain: str) -> Level:
    """Where records of a domain start. An unknown domain is high: the stricter side."""
    return _DOMAINS.get(domain, _HIGH)


def named(word: str) -> Level:
    """The level that a record or a log has as a word."""
    return Level[word.upper()]


def highest(levels: Iterable[Level]) -> Level:
    """The strictest of some levels; low of none."""
    return max(levels, default=_LOW)


def of_text(text: str, *, with_rules: rules.Rules | None = None) -> Level:
    """What a text by itself asks for: critical for medical words, high for contact
    details and secrets, else low.
    """
    if not text.strip():
        return _LOW
    held = with_rules or rules.load()
    folded = folding.fold(text).text
    if _medical(folded, held.words.get("medical", frozenset())):
        return _CRITICAL
    return _HIGH if _detailed(folded, held) else _LOW


def of_fields(
    domain: str, fields: Mapping[str, object], *, with_rules: rules.Rules | None = None
) -> Mapping[str, Level]:
    """The level of each field of a record: its own or its domain's, raised by its
    content.
    """
    own = _FIELDS.get(domain, {})
    base = of_domain(domain)
    if base == _CRITICAL:
        return dict.fromkeys(fields, _CRITICAL)
    return {
        name: highest(
            [own.get(name, base), of_text(_as_text(value), with_rules=with_rules)]
        )
        for name, value in fields.items()
    }


def of_record(
    domain: str, fields: Mapping[str, object], *, with_rules: rules.Rules | None = None
) -> Level:
    """The level of a whole record: its domain's, or that of its strictest field.

    A contact is normal as a domain and high as soon as it holds a phone.
    """
    return highest(
        [
            of_domain(domain),
            *of_fields(
                domain, {n: v for n, v in fields.items() if v}, with_rules=with_rules
            ).values(),
        ]
    )


def decided(computed: Level, wanted: Level | None) -> Level:
    """What the owner's word makes of a level: raised at will, lowered to normal at
    most, and critical stays.
    """
    if wanted is None or computed == _CRITICAL:
        return computed
    if wanted >= computed:
        return wanted
    return highest([wanted, _NORMAL])


def followed(kept: Level, before: Level, now: Level) -> Level:
    """The level of a record whose content changed from one level to another.

    What the owner decided (`kept` is not what the content asked for) stays, unless the
    content asks for more now.
    """
    if kept == before:
        return now
    return max(kept, now) if now > before or now == _CRITICAL else kept


def _as_text(value: object) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return "\n".join(
            _as_text(one) for one in cast("Mapping[Any, object]", value).values()
        )
    if isinstance(value, (list, tuple, set, frozenset)):
        return "\n".join(_as_text(one) for one in cast("Iterable[object]", value))
    return str(value)


def _medical(text: str, words: frozenset[str]) -> bool:
    """Whether any word, its plural or a phrase of up to four words is in the list of
    medical words.
    """
    tokens = [folding.plain(word) for word in _WORD.findall(text)]
    firsts = _firsts(words)
    for at, token in enumerate(tokens):
        if token in words or _singular(token) in words or _begins(token, words):
            return True
        if token in firsts and any(
            " ".join(tokens[at : at + size]) in words
            for size in range(2, _LONGEST_PHRASE + 1)
        ):
            return True
    return False


@lru_cache(maxsize=4)
def _firsts(words: frozenset[str]) -> frozenset[str]:
    """The words that phrases begin with."""
    return frozenset(one.split()[0] for one in words if " " in one)


def _singular(word: str) -> str:
    for ending in ("es", "en", "s", "n", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return (
                word[: -len(ending)]
                if ending != "es" or word[:-1] == word
                else word[:-2]
            )
    return word


@lru_cache(maxsize=50_000)
def _begins(word: str, words: frozenset[str]) -> bool:
    """Entries that end in * are beginnings: `onkolog*`."""
    return any(word[:size] + "*" in words for size in range(4, min(len(word), 20) + 1))


def _detailed(text: str, held: rules.Rules) -> bool:
    lowered = folding.lower(text)
    for pattern in held.patterns:
        if pattern.kind not in _CONTACT or pattern.take:
            continue
        for match in pattern.match.finditer(lowered if pattern.lowered else text):
            start, end = (
                match.span("value")
                if "value" in pattern.match.groupindex
                else match.span()
            )
            value = text[start:end]
            if not pattern.check or check_digits.CHECKS[pattern.check](value):
                return True
    return any(True for _ in numbers.find(text, held.words["order"]))
