"""PII detection: known values, patterns, check digits, names and addresses in a text.

No model is needed (docs/decisions/0013); spaCy's, if installed, adds to what the rules
find when `model` is asked for. `bench/privacy.py` measures it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set

from reverie.privacy import (
    addresses,
    check_digits,
    cued_names,
    decoding,
    details,
    folding,
    known_values,
    mapped_text,
    names,
    ner,
    numbers,
    pattern_scan,
    rules,
    spans,
    tokenizer,
)

# A cue stands in so many characters before its value.
_CUE_REACH = 60
# A pattern with `when` is read where so many words of that list stand.
_WHEN_FROM = 2
_WORD = re.compile(r"[^\W\d_]+")
# The language is told from so many characters.
_LANGUAGE_SAMPLE = 4000
_SIGNS_BEFORE = " \n.,;:!?\"'"
_SIGNS_BEHIND = " \n,;:"
# Pieces of these kinds that touch are one value.
_MERGED_KINDS = frozenset({"person", "address"})
# Capitalised names of people seen once are looked for in the rest of the text when they
# are at least so sure.
_REPEATED_FROM = 0.7
# Set by hand (docs/decisions/0013). Below 0.5 a finding is context more than identity: a
# bare year, a weekday, a nationality, a job.
_NATIONALITY_SCORE = 0.35
_REPEATED_SCORE = 0.6
_HIDDEN_SCORE = 0.5


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
    ruleset = with_rules or rules.load()
    if language is None:
        language = tell_language(folded.text)
    candidates = list(_candidates(folded.text, ruleset, known, language))
    if model:
        candidates += ner.find(folded.text, language)
    settled = spans.settle(_trim(folded.text, candidates))
    found = [
        _original(text, folded, span) for span in _merge_touching(folded.text, settled)
    ]
    views = decoding.views(text, folded)
    hidden = list(_hidden(views, ruleset, known, language))
    return _together(text, found, hidden) if hidden else found


def _hidden(
    views: Iterable[mapped_text.MappedText],
    ruleset: rules.Rules,
    known: Sequence[spans.KnownValue],
    language: str,
) -> Iterator[spans.FoldedSpan]:
    """Values that stand in a text decoded, put together or spelled otherwise; their
    places are those of what says them.
    """
    for view in views:
        if view.strict:
            candidates = details.find(view.text, ruleset)
            if known:
                entries = known_values.index(known)
                candidates = [*candidates, *known_values.find(view.text, entries)]
        else:
            candidates = _candidates(view.text, ruleset, known, language)
        for span in _trim(view.text, candidates):
            if span.score < _HIDDEN_SCORE:
                continue
            if span.kind in details.SECRETS or view.is_changed(span.start, span.end):
                start, end = view.back(span.start, span.end)
                yield spans.FoldedSpan(start, end, span.kind, span.score)


def _together(
    text: str, found: Sequence[spans.Span], hidden: Sequence[spans.FoldedSpan]
) -> list[spans.Span]:
    plain = [
        spans.FoldedSpan(span.start, span.end, span.kind, span.score) for span in found
    ]
    settled = _trim(text, spans.settle([*plain, *hidden]))
    return [
        spans.Span(
            span.start, span.end, span.kind, span.score, text[span.start : span.end]
        )
        for span in settled
    ]


def _original(text: str, folded: folding.Folded, span: spans.FoldedSpan) -> spans.Span:
    start, end = folded.back(span.start, span.end)
    return spans.Span(start, end, span.kind, span.score, text[start:end])


def tell_language(text: str) -> str:
    """Language detection: en, es or de by the function words of a text's beginning; ""
    when they do not tell.
    """
    words = [folding.plain(word) for word in _WORD.findall(text[:_LANGUAGE_SAMPLE])]
    counts = [
        (sum(word in function_words for word in words), language)
        for language, function_words in _FUNCTION_WORDS.items()
    ]
    (best, language), (second, _), *_rest = sorted(counts, reverse=True)
    return language if best > second else ""


_FUNCTION_WORDS = {
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


def _candidates(
    text: str,
    ruleset: rules.Rules,
    known: Sequence[spans.KnownValue],
    language: str,
) -> Iterator[spans.FoldedSpan]:
    """What each reader finds in a folded text; candidates may overlap."""
    reading = tokenizer.tokenize(text, ruleset.words, language)
    if known:
        yield from known_values.find(text, known_values.index(known))
    yield from _find_patterns(text, ruleset, reading)
    yield from _find_nationalities(reading)
    yield from numbers.find(text, ruleset.words["order"])
    yield from addresses.find(reading)
    named = list(names.find(reading))
    yield from named
    yield from _find_repeated(reading, named)


def _find_patterns(
    text: str, ruleset: rules.Rules, reading: tokenizer.TokenizedText
) -> Iterator[spans.FoldedSpan]:
    seen = {token.plain for token in reading.tokens}
    scanned = pattern_scan.of(text)
    order = ruleset.words["order"]
    for pattern in ruleset.patterns:
        conditional = pattern.only or pattern.when
        if conditional and not _applies(pattern, ruleset, reading.language, seen):
            continue
        for match in pattern_scan.matches(pattern, scanned):
            extent = _extent(pattern, match, reading)
            if extent is None or not _is_confirmed(pattern, text, extent, order):
                continue
            yield spans.FoldedSpan(*extent, pattern.kind, pattern.score)


def _applies(
    pattern: rules.Pattern, ruleset: rules.Rules, language: str, seen: Set[str]
) -> bool:
    """Whether a pattern is for a text of this language with these words."""
    if pattern.only and language not in ("", pattern.only):
        return False
    if not pattern.when:
        return True
    expected = ruleset.words.get(pattern.when, frozenset())
    return len(expected & seen) >= _WHEN_FROM


def _is_confirmed(
    pattern: rules.Pattern, text: str, extent: tuple[int, int], order: Set[str]
) -> bool:
    """Whether a match is not empty, has its check digits and its cue, and is no number
    of an order.
    """
    start, end = extent
    if end <= start:
        return False
    if pattern.check and not check_digits.CHECKS[pattern.check](text[start:end]):
        return False
    if pattern.cue and not pattern.cue.search(text, max(0, start - _CUE_REACH), start):
        return False
    return pattern.kind != "phone" or not numbers.ordered(text, start, order)


def _find_nationalities(reading: tokenizer.TokenizedText) -> Iterator[spans.FoldedSpan]:
    """Words that are findings by themselves: nationalities and religions."""
    nationalities = reading.words["nationality"]
    for token in reading.tokens:
        if token.plain in nationalities:
            yield spans.FoldedSpan(
                token.start, token.end, "nationality", _NATIONALITY_SCORE
            )


def _extent(
    pattern: rules.Pattern, match: re.Match[str], reading: tokenizer.TokenizedText
) -> tuple[int, int] | None:
    """Where the value of a match lies: its group `value`, the match, or what follows."""
    if pattern.take == "address":
        return addresses.take(reading, match.end())
    if pattern.take:
        if _cuts_word(reading.text, match.end()):
            return None
        return cued_names.CUTTERS[pattern.take](reading, match.end())
    if "value" in pattern.match.groupindex:
        return match.span("value")
    return match.span()


def _cuts_word(text: str, end: int) -> bool:
    """Whether a cue ends inside a word."""
    return end < len(text) and text[end - 1].isalnum() and text[end].isalnum()


def _find_repeated(
    reading: tokenizer.TokenizedText, named: Iterable[spans.FoldedSpan]
) -> Iterator[spans.FoldedSpan]:
    """Parts of a name that was found in full, wherever else they stand with a capital."""
    parts = _name_parts(reading, named)
    if not parts:
        return
    for token in reading.tokens:
        word = token.plain.removesuffix("'s")
        if token.capital and word in parts:
            # Counted from the end: a folded word may be longer (ß becomes ss).
            end = token.end - (len(token.plain) - len(word))
            yield spans.FoldedSpan(token.start, end, "person", _REPEATED_SCORE)


def _name_parts(
    reading: tokenizer.TokenizedText, named: Iterable[spans.FoldedSpan]
) -> set[str]:
    parts: set[str] = set()
    for span in named:
        if span.kind == "person" and span.score >= _REPEATED_FROM:
            words = _WORD.findall(reading.text[span.start : span.end])
            parts.update(folding.plain(word) for word in words if len(word) > 2)
    for category in ("particles", "function", "not_names"):
        parts -= reading.words[category]
    return parts


def _trim(
    text: str, candidates: Iterable[spans.FoldedSpan]
) -> Iterator[spans.FoldedSpan]:
    """Candidates without spaces and signs at their edges; nothing of those that hold
    nothing else.
    """
    for span in candidates:
        start, end = span.start, span.end
        while start < end and text[start] in _SIGNS_BEFORE:
            start += 1
        while end > start and text[end - 1] in _SIGNS_BEHIND:
            end -= 1
        if end > start:
            yield spans.FoldedSpan(start, end, span.kind, span.score)


def _merge_touching(
    text: str, settled: Sequence[spans.FoldedSpan]
) -> Iterator[spans.FoldedSpan]:
    """Without leftovers that are only signs; pieces of one kind that touch become one."""
    last: spans.FoldedSpan | None = None
    for span in _trim(text, settled):
        if not any(map(str.isalnum, text[span.start : span.end])):
            continue
        if last is None:
            last = span
        elif _is_continued(text, last, span):
            score = max(last.score, span.score)
            last = spans.FoldedSpan(last.start, span.end, span.kind, score)
        else:
            yield last
            last = span
    if last is not None:
        yield last


def _is_continued(text: str, first: spans.FoldedSpan, second: spans.FoldedSpan) -> bool:
    if first.kind != second.kind or first.kind not in _MERGED_KINDS:
        return False
    return text[first.end : second.start] in ("", " ")
