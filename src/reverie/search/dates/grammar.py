"""Grammar of date parsing: patterns that find time expressions, each with its reader.

Why not a library: `dateparser` (BSD) was the candidate. Its `search_dates` reads `Do`,
`car` and `100M` as dates (its issues 582 and 942), takes milliseconds, knows no ranges
and no sessions, and gives one moment where a question means a week, a month or a
season. A table of patterns is smaller than the guards that it would need
(docs/decisions/0012).
"""

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from functools import cache

from reverie.records import terms
from reverie.search.dates import day_readers as day
from reverie.search.dates import expressions
from reverie.search.dates import period_readers as period
from reverie.search.dates import session_readers as sessions
from reverie.search.dates import time_lexicon as tables
from reverie.search.dates.expressions import Match, TimeExpression

_Reader = Callable[[Match, date], TimeExpression | None]


def find(text: str, today: date) -> list[TimeExpression]:
    """The times in a folded text, in order; of those that overlap the longest."""
    readings = [
        _reading(read, match, today)
        for pattern, read in patterns()
        for match in pattern.finditer(text)
    ]
    longest = sorted(
        (expression for expression in readings if expression is not None),
        key=lambda expression: (expression.start - expression.end, expression.start),
    )
    kept: list[TimeExpression] = []
    covered = bytearray(len(text))
    for expression in longest:
        start, end = expression.start, expression.end
        if not any(covered[start:end]):
            covered[start:end] = b"\1" * (end - start)
            kept.append(expression)
    return sorted(kept, key=lambda expression: expression.start)


def _reading(read: _Reader, match: Match, today: date) -> TimeExpression | None:
    """What a match means, if it is a time."""
    try:
        expression = read(match, today)
    except (ValueError, OverflowError):
        return None  # 31 February, or a day before the year 1
    if expression is None or expression.first is None:
        return expression
    return expression if 1000 < expression.first.year < 9000 else None


def fold_word(word: str) -> str:
    """A word of a table as the folded text has it."""
    return terms.fold(word)


def length_before(text: str, end: int, reach: int) -> tuple[int, timedelta] | None:
    """A length of time right before a place in a folded text (`two weeks `): where it
    begins, no further away than `reach`, and how long it is at most.
    """
    match = _length_at_end().search(text, max(0, end - reach), end)
    if match is None:
        return None
    count = expressions.count_at_most(match["n"])
    unit = expressions.unit(match["u"])
    length = timedelta(period.DAYS_OF[unit] * count)
    return match.start(), length


# --------------------------------------------------------------------------------------------------------- patterns


def _any(words: Iterable[str]) -> str:
    longest = sorted(words, key=len, reverse=True)
    return (
        "(?:"
        + "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in longest)
        + ")"
    )


# Within an identifier, an address, a path or a version there is no time.
_B, _E = r"(?<![\w./:@#\\\-])", r"(?!\w|[@\\/:.\-]\w)"
_Y = r"(?P<y>(?:19|20)\d\d)"
_MONTH = _any(tables.MONTHS)
_M = f"(?P<m>{_any([*tables.MONTHS, *tables.SHORT_MONTHS])})" + r"\.?"
_D = (
    r"(?P<{}>\d{{1,2}}(?:st|nd|rd|th|\.|[oa])?|"
    + _any(tables.ORDINALS).replace("{", "{{")
    + ")"
)
_OF = r"(?:(?:of|de|del)\s+)?"
_YEAR = rf"(?:,?\s+{_OF}{_Y})?"
_TO = r"\s*(?:-|–|—|\b(?:to|through|thru|until|and|bis|und|al?|y|hasta)\b)\s*(?:(?:the|dem|zum|el|la)\s+)?"
_FEW = r"(?:(?:an?|ein|un)\s+)?(?:few|several|paar|(?:couple|par)(?:\s+(?:of|de))?)"
_N = rf"(?P<n>\d{{1,4}}|{_FEW}|{_any([*tables.SMALL, *tables.VAGUE])})"
_UNIT = f"(?P<u>{_any(tables.UNITS)})"
_STEP = f"(?P<s>{_any(tables.STEPS)})"
_AFTER = r"(?P<t>pasad[oa]s?|anterior(?:es)?|proxim[oa]s?|que\s+viene)"
_SESSION = _any(tables.SESSIONS)
_SOURCES: list[tuple[str, _Reader]] = [
    (rf"(?P<w>{_any(tables.DAYS)})", day.deictic),
    (rf"(?:the\s+)?{_D.format('d')}\s+{_OF}{_M}{_YEAR}", day.dated),
    (rf"{_M}\s+(?:the\s+)?{_D.format('d')}(?:,?\s+{_Y})?", day.dated),
    (
        rf"(?:the\s+)?{_D.format('d')}{_TO}{_D.format('d2')}\s+{_OF}{_M}{_YEAR}",
        day.dated,
    ),
    (rf"{_M}\s+{_D.format('d')}{_TO}{_D.format('d2')}(?:,?\s+{_Y})?", day.dated),
    (
        rf"{_M},?\s+{_OF}(?:{_Y}|(?P<rel>{_any(tables.STEPS)}\s+(?:year|jahr(?:es)?|ano)|(?:el\s+)?ano\s+(?:pasado|anterior)))",
        period.month_of_year,
    ),
    (rf"(?:{_STEP}\s+)(?P<m>{_MONTH})(?P<t>)", period.near_month),
    (rf"(?P<s>)(?P<m>{_MONTH})\s+{_AFTER}", period.near_month),
    (rf"(?P<m>{_MONTH})", period.month),
    (
        r"(?P<y>(?:19|20)\d\d)(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})",
        day.iso,
    ),
    (r"(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])", period.iso_month),
    (
        r"(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<y>(?:19|20)\d\d|\d\d)",
        day.numeric,
    ),
    (
        r"(?:am|vom|bis|seit|ab|zum|dem)\s+(?P<a>\d{1,2})\.(?P<b>\d{1,2})\.",
        day.german_day,
    ),
    (rf"(?:{_STEP}\s+)?(?P<w>{_any(tables.WEEKDAYS)})(?:\s+{_AFTER})?", day.weekday),
    (
        rf"(?P<roll>(?:(?:over|during|within|in)\s+(?:the|this|these)|this|the)\s+(?=last|past|previous))?{_STEP}\s+(?:{_N}\s+)?{_UNIT}(?!\s+(?:of|des|de)\s)",
        period.near_unit,
    ),
    (
        rf"(?:{_N}\s+)?{_UNIT}\s+(?P<s>pasad[oa]s?|anterior(?:es)?|proxim[oa]s?|que\s+viene)",
        period.near_unit,
    ),
    (
        rf"{_N}\s+(?P<u>{_any([*tables.UNITS, *tables.SESSIONS, 'times', 'time'])})\s+(?:ago|back)",
        period.ago,
    ),
    (
        rf"(?:vor|hace)\s+{_N}\s+(?P<u>{_any([*tables.UNITS, *tables.SESSIONS])})",
        period.ago,
    ),
    (rf"(?:in|en|dentro\s+de)\s+{_N}\s+{_UNIT}", period.ahead),
    (rf"(?P<named>(?:the\s+year|year|jahr|ano)\s+)?{_Y}", period.year),
    (rf"{_Y}\s*[-–]\s*(?P<z>(?:19|20)\d\d)", period.year),
    (
        rf"(?:q(?P<q>[1-4])|(?P<o>{_any(tables.ORDINALS)})\s+(?:quarter|quartal|trimestre))(?:[\s/]+{_OF}{_Y})?",
        period.quarter,
    ),
    (
        rf"(?:{_STEP}\s+|(?P<in>(?:in|im|en|during|durante)\s+(?:the\s+|el\s+|la\s+)?))?(?P<n>{_any(tables.SEASONS)})(?:\s+{_AFTER}|\s+{_OF}{_Y})?",
        period.season,
    ),
    (
        rf"(?P<d>(?:(?:19|20)?[1-9]0))(?:s|er)|anos\s+(?P<e>\d0)|(?P<w>{_any(tables.DECADES)})",
        period.decade,
    ),
    (
        rf"(?:{_STEP}\s+)?(?P<h>{_any(tables.HOLIDAYS)})(?:\s+{_AFTER}|\s+{_OF}{_Y})?",
        period.holiday,
    ),
    (
        rf"(?P<o>\d{{1,3}}(?:st|nd|rd|th|\.|[oa])|{_any(tables.ORDINALS)})\s+{_SESSION}",
        sessions.session,
    ),
    (rf"{_D.format('o')}{_TO}{_D.format('p')}\s+{_SESSION}", sessions.session),
    (
        rf"{_SESSION}\s+(?:(?:number|no\.?|nr\.?|nummer|numero)\s+|#)?(?P<o>\d{{1,3}})(?:{_TO}(?P<p>\d{{1,3}}))?",
        sessions.session,
    ),
    (
        rf"(?P<l>{_any(tables.LAST)})\s+(?:{_N}\s+)?{_SESSION}|{_SESSION}\s+(?P<k>pasad[oa]s?|anterior(?:es)?)",
        sessions.session,
    ),
    (
        (
            rf"(?P<penultimate>(?:(?:second|next)\s+to\s+last|penultimate|vorletzte[nrsm]?|penultim[oa])\s+{_SESSION}"
            rf"|{_SESSION}\s+before\s+(?:the\s+)?last(?:\s+(?:one|{_SESSION}))?"
            rf"|not\s+(?:the\s+)?last\s+{_SESSION},?\s+but\s+the\s+one\s+before(?:\s+(?:that|it))?)"
        ),
        sessions.session,
    ),
]


@cache
def patterns() -> list[tuple[re.Pattern[str], _Reader]]:
    """The patterns, compiled at first use: it takes .14 s, a fifth of the start of a
    command.
    """
    return [
        (re.compile(_B + "(?:" + source + ")" + _E), read) for source, read in _SOURCES
    ]


@cache
def _length_at_end() -> re.Pattern[str]:
    return re.compile(_B + rf"(?:the|die|der|la|el|{_N})\s+{_UNIT}\s+$")
