"""Secret detection: private keys, keys of known form, tokens of ours and passwords, in
a text as it stands and decoded. They make it critical, and no index gets them.

The forms are data (patterns/secrets.toml); a placeholder (`your-key-here`) is none.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from reverie.privacy import (
    check_digits,
    decoding,
    folding,
    lists,
    pattern_scan,
    rules,
    spans,
)

SHOWN = "[secret]"
"""What stands in an index in place of a secret."""

_KINDS = frozenset({"secret", "password"})
_MOST_RULES = 8
_BITS = 2.3
_FEWEST = 4
# A number alone is a PIN or a code that was sent: private, but no key.
_LONGEST_CODE = 8
_LONG_PASSWORD = 8
_PLACEHOLDER = re.compile(
    r"(?:(.)\1{2,}+|<.*+|\$[\w({].*+|%\w+%?|\{\{.*+|\[.*+|(?:your|my|tu|dein|ihr)[-_ ].*+"
    r"|.*(?:changeme|change[-_]me|placeholder|redacted|[-_](?:here|aqui|hier)\b|your[-_]|insert[-_]|replace[-_]).*+"
    r"|none|null|nil|true|false|required|optional|string|str|secret|password|passwd|pass|token|value|env|unset|empty"
    r"|example|test|todo|tbd|xxx+|\*+|•+|\.+|-+)[.,;)]*",
    re.IGNORECASE,
)
# A private key or a key of a vendor says what it is by itself.
_ASSIGNED = re.compile(r"[:=]\s?[\"']?\Z|=>\s?[\"']?\Z")
_MIXED = re.compile(r"(?=.*[^\W\d_])(?=.*[\d\W_])")


def find(text: str, *, with_rules: rules.Rules | None = None) -> list[tuple[int, int]]:
    """Where the secrets of a text stand, in order and apart."""
    ruleset = with_rules or rules.load()
    folded = folding.fold(text)
    found = [
        folded.back(span.start, span.end) for span in _in_folded(folded.text, ruleset)
    ]
    for view in decoding.views(text, folded):
        found += [
            view.back(span.start, span.end) for span in _in_folded(view.text, ruleset)
        ]
    return _merged(found)


def has(scanned: pattern_scan.ScannedText, ruleset: rules.Rules) -> bool:
    """Whether a folded text, or what its decoded views say, holds a secret."""
    return any(True for _ in _in_scanned(scanned, ruleset))


def redacted(text: str) -> str:
    """The text without its secrets."""
    return _without(text, find(text)) if text else text


def redacted_parts(texts: Sequence[str]) -> list[str]:
    """The same for the parts of one text: a secret may begin in one and end in
    another.
    """
    whole = "\n".join(texts)
    found = find(whole)
    if not found:
        return list(texts)
    parts: list[str] = []
    start = 0
    for text in texts:
        end = start + len(text)
        inside = [
            (max(first, start) - start, min(last, end) - start)
            for first, last in found
            if first < end and last > start
        ]
        parts.append(_without(text, inside))
        start = end + 1
    return parts


def keyed(value: Mapping[str, object]) -> str:
    """The lines `name: value` of a mapping, read together as a form is: `password`
    says what its value is.
    """
    lines = [
        f"{name}: {entry}" for name, entry in value.items() if isinstance(entry, str)
    ]
    return "\n".join(lines)


def _without(text: str, extents: Sequence[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in extents:
        pieces += (text[at:start], SHOWN)
        at = end
    return "".join([*pieces, text[at:]])


def _merged(extents: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(extents):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif end > start:
            merged.append((start, end))
    return merged


def _in_folded(text: str, ruleset: rules.Rules) -> Iterator[spans.FoldedSpan]:
    return _in_scanned(pattern_scan.of(text), ruleset)


@lru_cache(maxsize=_MOST_RULES)
def _patterns(ruleset: rules.Rules) -> pattern_scan.PatternSet:
    return pattern_scan.PatternSet(
        pattern for pattern in ruleset.patterns if pattern.kind in _KINDS
    )


def _in_scanned(
    scanned: pattern_scan.ScannedText, ruleset: rules.Rules
) -> Iterator[spans.FoldedSpan]:
    text = scanned.text
    for pattern in _patterns(ruleset).possible(scanned):
        for match in pattern_scan.matches(pattern, scanned):
            group = "value" if "value" in pattern.match.groupindex else 0
            start, end = match.span(group)
            value = text[start:end]
            if pattern.check and not check_digits.CHECKS[pattern.check](value):
                continue
            before = text[match.start() : start]
            if _is_real(value, before, is_password=pattern.kind == "password"):
                yield spans.FoldedSpan(start, end, pattern.kind)


def _is_real(value: str, before: str, *, is_password: bool) -> bool:
    """No placeholder, no number alone, and no word after `password is`."""
    if len(value) < _FEWEST or _PLACEHOLDER.fullmatch(value):
        return False
    if value.isdigit() and len(value) <= _LONGEST_CODE:
        return False
    if not is_password:
        return _bits(value) >= _BITS
    if _MIXED.match(value.rstrip(".,;!?)")):
        return True
    if not _ASSIGNED.search(before):
        return False
    if before.rstrip("\"' ").endswith("="):
        return True
    return len(value) >= _LONG_PASSWORD and not lists.english(folding.plain(value))


def _bits(value: str) -> float:
    """Shannon's entropy of a character."""
    size = len(value)
    return -sum(
        count / size * math.log2(count / size) for count in Counter(value).values()
    )
