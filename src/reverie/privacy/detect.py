"""Finds personal values in a text: known ones, patterns, digits with check digits,
names and addresses.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from reverie.privacy import (
    addresses,
    check_digits,
    cued_names,
    folding,
    known_values,
    names,
    ner,
    numbers,
    rules,
    spans,
    tokenizer,
)

Known = spans.KnownValue
Span = spans.Span
_CUE_REACH = 60
_CLINICAL_FROM = 2
_FUNCTION_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 4000
_BARE = " \n.,;:!?\"'"
# Capitalised names of people seen once are looked for in the rest of the text when they
# are at least so sure.
_REPEATED_FROM = 0.7


def find(
    text: str,
    *,
    known: Sequence[spans.KnownValue] = (),
    language: str | None = None,
    with_rules: rules.Rules | None = None,
    model: bool = False,
) -> list[spans.Span]:
    """Every personal value, none overlapping, by place. `language` is en, es, de or
    None: then the text tells.

    `with_rules` are those of rules.load(…) with the owner's file; `model` asks for the
    optional NER model too.
    """
    folded = folding.fold(text)
    held = with_rules or rules.load()
    spoken = language if language is not None else tell_language(folded.text)
    found = list(_all(folded.text, held, known, spoken))
    if model:
        found += ner.find(folded.text, spoken)
    return [
        spans.Span(start, end, one.kind, one.score, text[start:end])
        for one in _joined(folded.text, spans.settle(_tidy(folded.text, found)))
        for start, end in [folded.back(one.start, one.end)]
    ]


def tell_language(text: str) -> str:
    """en, es or de by the function words of its beginning; "" when they do not tell."""
    words = [folding.plain(word) for word in _FUNCTION_WORD.findall(text[:_SAMPLE])]
    counts = sorted(
        (
            (sum(word in known for word in words), name)
            for name, known in _FUNCTION.items()
        ),
        reverse=True,
    )
    (best, name), (second, _) = counts[0], counts[1]
    return name if best >= second + 1 and best else ""


_FUNCTION = {
    language: frozenset(words.split())
    for language, words in {
        "en": """
            the of and to is in that it for my was on with i you he she this are at be have not your what who
            how where from his her their they we our please did does would could an has had been by about there
            said can i'm it's don't
        """,
        "es": """
            el la de que y en los las un una por con para se del al su lo mi como mas pero ha fue esta muy sin
            sobre tengo
        """,
        "de": """
            der die das und ist ich nicht ein eine zu mit den von auf im dem fur sie wir bei am hat bitte wurde
            auch mein meine
        """,
    }.items()
}


def _all(
    text: str, held: rules.Rules, personal: Sequence[spans.KnownValue], language: str
) -> Iterator[spans.FoldedSpan]:
    reading = tokenizer.tokenize(text, held.words, language)
    if personal:
        yield from known_values.find(text, known_values.index(personal))
    yield from _patterns(text, held, reading)
    yield from _listed(reading)
    yield from numbers.find(text, held.words["order"])
    yield from addresses.find(reading)
    people = list(names.find(reading))
    yield from people
    yield from _again(reading, people)


def _patterns(
    text: str, held: rules.Rules, reading: tokenizer.TokenizedText
) -> Iterator[spans.FoldedSpan]:
    seen = {token.plain for token in reading.tokens}
    lowered = folding.lower(text)
    for pattern in held.patterns:
        if pattern.only and reading.language not in ("", pattern.only):
            continue
        if (
            pattern.when
            and len(held.words.get(pattern.when, frozenset()) & seen) < _CLINICAL_FROM
        ):
            continue
        for match in pattern.match.finditer(lowered if pattern.lowered else text):
            extent = _extent(pattern, match, reading)
            if extent is None or extent[1] <= extent[0]:
                continue
            start, end = extent
            if pattern.check and not check_digits.CHECKS[pattern.check](
                text[start:end]
            ):
                continue
            if pattern.cue and not pattern.cue.search(
                text, max(0, start - _CUE_REACH), start
            ):
                continue
            if pattern.kind == "phone" and numbers.ordered(
                text, start, held.words["order"]
            ):
                continue
            yield spans.FoldedSpan(start, end, pattern.kind, pattern.score)


def _listed(reading: tokenizer.TokenizedText) -> Iterator[spans.FoldedSpan]:
    """Words that are findings by themselves: nationalities and religions."""
    for token in reading.tokens:
        if token.plain in reading.words["nationality"]:
            yield spans.FoldedSpan(token.start, token.end, "nationality", 0.35)


def _extent(
    pattern: rules.Pattern, match: re.Match[str], reading: tokenizer.TokenizedText
) -> tuple[int, int] | None:
    if pattern.take == "address":
        return addresses.take(reading, match.end())
    if pattern.take:
        if (
            match.end() < len(reading.text)
            and reading.text[match.end() - 1].isalnum()
            and (reading.text[match.end()].isalnum())
        ):
            return None
        return cued_names.CUTTERS[pattern.take](reading, match.end())
    if "value" in pattern.match.groupindex:
        return match.span("value")
    return match.span()


def _again(
    reading: tokenizer.TokenizedText, people: Iterable[spans.FoldedSpan]
) -> Iterator[spans.FoldedSpan]:
    """Parts of a name that was found in full, wherever else they stand with a capital."""
    parts: set[str] = set()
    for one in people:
        if one.kind == "person" and one.score >= _REPEATED_FROM:
            words = _FUNCTION_WORD.findall(reading.text[one.start : one.end])
            parts |= {folding.plain(word) for word in words if len(word) > 2}
    parts -= (
        reading.words["particles"]
        | reading.words["function"]
        | reading.words["not_names"]
    )
    if parts:
        for token in reading.tokens:
            word = token.plain.removesuffix("'s")
            if token.capital and word in parts:
                yield spans.FoldedSpan(
                    token.start, token.start + len(word), "person", 0.6
                )


def _tidy(text: str, found: Iterable[spans.FoldedSpan]) -> Iterator[spans.FoldedSpan]:
    for one in found:
        start, end = one.start, one.end
        while start < end and text[start] in _BARE:
            start += 1
        while end > start and text[end - 1] in " \n,;:":
            end -= 1
        if end > start:
            yield spans.FoldedSpan(start, end, one.kind, one.score)


def _joined(
    text: str, settled: Sequence[spans.FoldedSpan]
) -> Iterator[spans.FoldedSpan]:
    """Without leftovers that are only signs; pieces of one kind that touch become one."""
    last: spans.FoldedSpan | None = None
    for one in _tidy(text, settled):
        if not any(char.isalnum() for char in text[one.start : one.end]):
            continue
        gap = text[last.end : one.start] if last else "\n"
        if (
            last
            and last.kind == one.kind
            and gap.strip(" ") == ""
            and len(gap) <= 1
            and one.kind in ("person", "address")
        ):
            last = spans.FoldedSpan(
                last.start, one.end, one.kind, max(last.score, one.score)
            )
            continue
        if last:
            yield last
        last = one
    if last:
        yield last
