"""Contact details, numbers and secrets: the values that have a form of their own, found
without reading names.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from reverie.privacy import (
    check_digits,
    decoding,
    mapped_text,
    numbers,
    pattern_scan,
    rules,
    spans,
)

SECRETS = frozenset({"secret", "password"})
"""Kinds whose word may be in disguise where the value is not."""

_KINDS = frozenset(
    {"email", "phone", "card", "iban", "national_id", "passport"}
    | {"licence", "password", "secret", "medical_id", "account", "crypto"}
)
_MOST_RULES = 8
# Without check digits or a cue these are too short to be believed once they were put
# together.
_DOUBTFUL_KINDS = frozenset({"licence"})
_CUE_REACH = 60
_PHONE_CUE = re.compile(
    r"(?:phone|tel|fon|call|ring|mobile|cell|m[oó]vil|handy|fax|whatsapp|sms|signal|ll[aá]ma|ruf|number|n[uú]mero|nummer)",
    re.IGNORECASE,
)
# phonenumbers knows it.
_SURE_PHONE = 0.8
_BEFORE_PHONE = re.compile(r"\d[ .\-/]{1,3}\Z")
_BEHIND_PHONE = re.compile(r"[ .\-/]{1,3}\d")


def has(scanned: pattern_scan.ScannedText, ruleset: rules.Rules) -> bool:
    """Whether a folded text holds any."""
    return any(True for _ in _all(scanned, ruleset))


def in_views(views: Sequence[mapped_text.MappedText], ruleset: rules.Rules) -> bool:
    """Whether the decoded views of a text hold any."""
    strict = decoding.together(view for view in views if view.strict)
    others = decoding.together(view for view in views if not view.strict)
    if others and has(pattern_scan.of(others), ruleset):
        return True
    return bool(strict) and any(True for _ in find(strict, ruleset))


def find(text: str, ruleset: rules.Rules) -> Iterator[spans.FoldedSpan]:
    """Each in a text that was put together from parts: phones only where they are sure."""
    for span in _all(pattern_scan.of(text), ruleset):
        if span.kind in _DOUBTFUL_KINDS:
            continue
        if span.kind != "phone" or _is_phone(text, span):
            yield span


def _all(
    scanned: pattern_scan.ScannedText, ruleset: rules.Rules
) -> Iterator[spans.FoldedSpan]:
    """What the patterns of these kinds find, the doubtful included, and numbers with
    check digits.
    """
    for pattern in _patterns(ruleset).possible(scanned):
        yield from _of_pattern(pattern, scanned)
    yield from numbers.find(scanned.text, ruleset.words["order"])


@lru_cache(maxsize=_MOST_RULES)
def _patterns(ruleset: rules.Rules) -> pattern_scan.PatternSet:
    return pattern_scan.PatternSet(
        pattern
        for pattern in ruleset.patterns
        if not pattern.take and (pattern.kind in _KINDS or pattern.raises)
    )


def _of_pattern(
    pattern: rules.Pattern, scanned: pattern_scan.ScannedText
) -> Iterator[spans.FoldedSpan]:
    """What one pattern finds, and its check and its cue confirm."""
    group = 0
    if "value" in pattern.match.groupindex:
        group = "value"
    for match in pattern_scan.matches(pattern, scanned):
        start, end = match.span(group)
        if _is_confirmed(pattern, scanned.text, start, end):
            yield spans.FoldedSpan(start, end, pattern.kind, pattern.score)


def _is_confirmed(pattern: rules.Pattern, text: str, start: int, end: int) -> bool:
    """Whether a value has the right check digits, and the cue that it needs stands
    before it.
    """
    if pattern.check:
        is_valid = check_digits.CHECKS[pattern.check]
        if not is_valid(text[start:end]):
            return False
    return pattern.cue is None or _is_cued(pattern.cue, text, start)


def _is_cued(cue: re.Pattern[str], text: str, start: int) -> bool:
    first = max(0, start - _CUE_REACH)
    return cue.search(text, first, start) is not None


def _is_phone(text: str, span: spans.FoldedSpan) -> bool:
    """With its country code, beside a word for it, or known and no part of a longer row
    of numbers.
    """
    if text[span.start] == "+":
        return True
    if _is_cued(_PHONE_CUE, text, span.start):
        return True
    if span.score < _SURE_PHONE:
        return False
    before = text[max(0, span.start - 5) : span.start]
    return not _BEFORE_PHONE.search(before) and not _BEHIND_PHONE.match(text, span.end)
