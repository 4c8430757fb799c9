"""The grammar of time words: each pattern finds a way to say when, and turns it into
days. Pure.

Why not a library: `dateparser` (BSD) was the candidate. Its `search_dates` reads `Do`,
`car` and `100M` as dates (its issues 582 and 942), takes milliseconds, knows no ranges
and no sessions, and gives one moment where a question means a week, a month or a
season. A table of patterns is smaller than the guards that it would need.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Literal

from dateutil import easter

from reverie.records import terms
from reverie.search.dates import days
from reverie.search.dates import time_lexicon as tables

Kind = Literal["said", "date", "month", "year", "weekday", "week", "season", "session"]


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """One time found in a folded text: its days (or its sessions), and whether its form
    leaves no doubt.

    `said` is a time counted from today (yesterday, last week); `yearless`: the year was
    guessed. `slack`: by how many days the count may be wrong.
    """

    start: int
    end: int
    kind: Kind
    first: date | None = None
    last: date | None = None
    firm: bool = True
    yearless: bool = False
    sessions: tuple[int, int] | None = None
    slack: int = 0


_Read = Callable[[re.Match[str], date], TimeExpression | None]


def find(text: str, today: date) -> list[TimeExpression]:
    """The times in a folded text, in order; of those that overlap the longest."""
    found: list[TimeExpression] = []
    for pattern, read in _PATTERNS:
        for match in pattern.finditer(text):
            try:
                piece = read(match, today)
            except (ValueError, OverflowError):
                continue  # 31 February, or a day before the year 1
            if piece is not None and (
                piece.first is None or 1000 < piece.first.year < 9000
            ):
                found.append(piece)
    kept: list[TimeExpression] = []
    for piece in sorted(found, key=lambda one: (one.start - one.end, one.start)):
        if all(piece.end <= other.start or other.end <= piece.start for other in kept):
            kept.append(piece)
    return sorted(kept, key=lambda one: one.start)


def in_year(piece: TimeExpression, year: int) -> TimeExpression:
    """A piece whose year was guessed, in the year that it belongs to."""
    if piece.first is None or piece.last is None:
        return piece
    shift = 12 * (year - piece.first.year)
    month_end = piece.last == days.span_of(piece.last, "month")[1]
    last = days.months_later(piece.last, shift)
    return replace(
        piece,
        first=days.months_later(piece.first, shift),
        last=days.span_of(last, "month")[1] if month_end else last,
    )


def fold_word(word: str) -> str:
    """A word of a table as the folded text has it."""
    return terms.fold(word)


# ---------------------------------------------------------------------------------------------------------- reading


def _whole(
    match: re.Match[str], kind: Kind, first: date, last: date, *, firm: bool = True
) -> TimeExpression:
    return TimeExpression(match.start(), match.end(), kind, first, last, firm)


def _word(text: str) -> str:
    return " ".join(text.split())


def _number(said: str) -> tuple[int, int]:
    """How many, as a range: `a few` is from 2 to 7."""
    words = said.split()
    if words[-1] in ("of", "de"):
        words.pop()
    last = words[-1]
    if last in tables.VAGUE:
        return tables.VAGUE[last]
    number = int(last) if last.isdigit() else tables.SMALL[last]
    return (2, 3) if last in ("couple", "par") else (number, number)


def _day_number(said: str) -> int:
    digits = re.match(r"\d+", said)
    return int(digits.group()) if digits else tables.ORDINALS[re.sub(r"\s+", " ", said)]


def _month_number(said: str) -> int:
    return tables.MONTHS.get(said) or tables.SHORT_MONTHS[said]


def _deictic(match: re.Match[str], today: date) -> TimeExpression | None:
    said = _word(match.group("w"))
    before = match.string[: match.start()].split()[-1:]
    if said == "manana" and before and before[0] in ("la", "las", "esta", "de"):
        return None  # in the morning
    if (
        said == "morgen"
        and before
        and before[0] in ("guten", "am", "jeden", "der", "den")
    ):
        return None
    day = today + timedelta(tables.DAYS[said])
    return _whole(match, "said", day, day)


def _dated(match: re.Match[str], today: date) -> TimeExpression | None:
    said, month = match.group("d"), _month_number(match.group("m"))
    told = (
        match.group("y")
        or set(match.string[: match.start()].split()[-1:]) & tables.BEFORE_A_DAY
    )
    if (
        match.group("m") in ("may", "mar")
        and said.isdigit()
        and match.group(0)[0].isdigit()
        and not told
    ):
        return None  # `5 may be enough`
    first = _day_number(said)
    last = _day_number(match.group("d2")) if "d2" in match.groupdict() else first
    if last < first:
        return None
    if match.group("y"):
        year = int(match.group("y"))
        return _whole(match, "date", date(year, month, first), date(year, month, last))
    day = days.latest(month, first, today)
    return replace(
        _whole(match, "date", day, day + timedelta(last - first)), yearless=True
    )


def _month_of_year(match: re.Match[str], today: date) -> TimeExpression:
    said = match.group("y")
    year = int(said) if said else today.year + _step(match.group("rel"))
    first, last = days.span_of(date(year, _month_number(match.group("m")), 1), "month")
    return _whole(match, "month", first, last)


def _step(said: str) -> int:
    if "que viene" in _word(said):
        return 1
    return next(
        (tables.STEPS[word] for word in said.split() if word in tables.STEPS), 0
    )


def _near_month(match: re.Match[str], today: date) -> TimeExpression:
    """`last March`, `marzo pasado`: the one before this month."""
    number = _month_number(match.group("m"))
    step = _step(match.group("s") or match.group("t"))
    year = today.year
    if step < 0 and number >= today.month:
        year -= 1
    elif step > 0 and number <= today.month:
        year += 1
    first, last = days.span_of(date(year, number, 1), "month")
    return _whole(match, "said", first, last)


def _month(match: re.Match[str], today: date) -> TimeExpression:
    first, last = days.span_of(
        days.latest(_month_number(match.group("m")), 1, today), "month"
    )
    return replace(_whole(match, "month", first, last, firm=False), yearless=True)


def _iso(match: re.Match[str], today: date) -> TimeExpression:
    year, month, day = (int(match.group(name)) for name in ("y", "m", "d"))
    return _whole(match, "date", date(year, month, day), date(year, month, day))


def _iso_month(match: re.Match[str], today: date) -> TimeExpression:
    first, last = days.span_of(
        date(int(match.group("y")), int(match.group("m")), 1), "month"
    )
    return _whole(match, "month", first, last, firm=False)


def _numeric(match: re.Match[str], today: date) -> TimeExpression | None:
    """`15.01.2024`, `05/13/2023`: days before months with dots; with slashes only where
    no other reading is.
    """
    one, two, year = int(match.group("a")), int(match.group("b")), int(match.group("y"))
    year += 2000 if year < 100 else 0
    if match.group("sep") == "/" and two > 12:
        one, two = two, one
    elif match.group("sep") != "." and one <= 12 and one != two:
        return None
    return _whole(match, "date", date(year, two, one), date(year, two, one))


def _german_day(match: re.Match[str], today: date) -> TimeExpression:
    day = days.latest(int(match.group("b")), int(match.group("a")), today)
    return replace(_whole(match, "date", day, day), yearless=True)


def _weekday(match: re.Match[str], today: date) -> TimeExpression | None:
    number = tables.WEEKDAYS[match.group("w")]
    said = match.group("s") or match.group("t") or ""
    before = match.string[: match.start()].split()[-1:]
    if before and before[0] in (
        "good",
        "black",
        "cyber",
        "ash",
        "palm",
        "super",
        "bloody",
    ):
        return None
    back = (today.weekday() - number) % 7
    if not said:
        day = today - timedelta(back)
    elif _step(said) > 0:
        day = today + timedelta((number - today.weekday()) % 7 or 7)
    elif _step(said) < 0:
        day = today - timedelta(back or 7)
    else:
        day = today - timedelta(today.weekday()) + timedelta(number)
    return replace(
        _whole(match, "said" if said else "weekday", day, day, firm=bool(said))
    )


def _near_unit(match: re.Match[str], today: date) -> TimeExpression | None:
    """`last week` is the week before this one; `the last three weeks` are the days up
    to today.
    """
    groups = match.groupdict()
    said, unit = match.group("s"), tables.UNITS[_word(match.group("u"))]
    step, told = _step(said), groups.get("n")
    if told is None and not groups.get("roll") and said.strip() != "past":
        if unit == "day":
            return None  # `the next day` is another day's
        first, last = days.beside(today, unit, step)
        return _whole(match, "week" if unit == "week" else "said", first, last)
    count = _number(told)[1] if told else 1
    if unit in ("weekend", "quarter"):
        first, last = days.beside(today, unit, step)
    elif unit in ("day", "week"):
        length = timedelta(count * (7 if unit == "week" else 1))
        first, last = (today, today + length) if step > 0 else (today - length, today)
    else:
        months = count * (12 if unit == "year" else 1)
        first, last = (
            (today, days.months_later(today, months))
            if step > 0
            else (days.months_later(today, -months), today)
        )
    return _whole(match, "said", first, last)


def _ago(match: re.Match[str], today: date) -> TimeExpression | None:
    """As exact as it is said: `167 days ago` is a day, `3 weeks ago` a week around it,
    `5 months ago` a month.
    """
    least, most = _number(match.group("n"))
    said = _word(match.group("u"))
    if said in tables.SESSIONS or said in ("times", "time"):
        return TimeExpression(
            match.start(), match.end(), "session", sessions=(-most, -least)
        )
    unit = tables.UNITS[said]
    if unit == "day":
        # Nobody counts 167 days without an error of one, and hours make one too.
        slack = 1 if least >= 14 else 0
        return replace(
            _whole(match, "said", today - timedelta(most), today - timedelta(least)),
            slack=slack,
        )
    if unit in ("week", "weekend"):
        middle = timedelta(3)
        return _whole(
            match,
            "said",
            today - timedelta(7 * most) - middle,
            today - timedelta(7 * least) + middle,
        )
    months = {"month": 1, "quarter": 3, "year": 12}[unit]
    first, _ = days.span_of(days.months_later(today, -months * most), unit)
    _, last = days.span_of(days.months_later(today, -months * least), unit)
    return _whole(match, "said", first, last)


_DAYS_OF = {"day": 1, "week": 7, "month": 31, "year": 366, "quarter": 92, "weekend": 7}


def _ahead(match: re.Match[str], today: date) -> TimeExpression:
    least, most = _number(match.group("n"))
    unit = timedelta(_DAYS_OF[tables.UNITS[_word(match.group("u"))]])
    return _whole(match, "said", today + unit * least, today + unit * most, firm=False)


def _year(match: re.Match[str], today: date) -> TimeExpression | None:
    year = int(match.group("y"))
    before = match.string[: match.start()].split()[-1:]
    if (
        year > today.year + 3
        or (before and before[0] in _NUMBERED)
        or _COUNTED.match(match.string, match.end())
    ):
        return None
    last = int(match.groupdict().get("z") or year)
    if last < year:
        return None
    return _whole(
        match,
        "year",
        date(year, 1, 1),
        date(last, 12, 31),
        firm=bool(match.groupdict().get("named")),
    )


_COUNTED = re.compile(
    r"\s*(?:%|[€$£]|(?:tokens?|words|euros?|dollars?|people|personas|personen|users|steps|schritte|pasos|words|worter|"
    r"palabras|kilometers?|kilometros|miles|meters?|metros|meter|pounds|bytes|lines|rows|items|pages|km|kg|mb|gb)\b)"
)
_NUMBERED = tables.words(
    "windows office version iso din rfc room page seite pagina zimmer model modell modelo release build nr no "
    "number nummer numero article artikel articulo § area agenda anno"
)


def _quarter(match: re.Match[str], today: date) -> TimeExpression:
    number = (
        int(match.group("q")) if match.group("q") else tables.ORDINALS[match.group("o")]
    )
    if not 1 <= number <= 4:
        raise ValueError(number)
    year = match.group("y")
    first = (
        date(int(year), 3 * number - 2, 1)
        if year
        else days.latest(3 * number - 2, 1, today)
    )
    return _whole(match, "season", *days.span_of(first, "quarter"), firm=bool(year))


def _season(match: re.Match[str], today: date) -> TimeExpression | None:
    number = tables.SEASONS[match.group("n")]
    said, year = match.group("s") or match.group("t"), match.group("y")
    if not (said or year or match.group("in")):
        return None  # a name, a verb, a framework

    def of(year: int) -> tuple[date, date]:
        first = days.months_later(date(year, 1, 1), 3 * number - 1)
        return first, days.months_later(first, 3) - timedelta(1)

    if year:
        return _whole(match, "season", *of(int(year)))
    step = _step(said or "")
    begun = max(
        y for y in (today.year - 1, today.year, today.year + 1) if of(y)[0] <= today
    )
    if number == 0 and said is None and match.group("in") is None:
        return None
    running = of(begun)[1] >= today
    chosen = begun + step + (0 if running or step >= 0 else 1)
    chosen = chosen + 1 if step == 0 and said and not running else chosen
    return _whole(match, "season", *of(chosen), firm=bool(said or match.group("in")))


def _decade(match: re.Match[str], today: date) -> TimeExpression:
    said = match.group("d") or match.group("e")
    number = (
        int(said)
        if said and said.isdigit()
        else tables.DECADES[said or match.group("w")]
    )
    if number < 100:
        number += 1900 if number >= 30 else 2000
    return _whole(
        match, "season", date(number, 1, 1), date(number + 9, 12, 31), firm=False
    )


def _holiday(match: re.Match[str], today: date) -> TimeExpression:
    month, day, length = tables.HOLIDAYS[_word(match.group("h"))]

    def of(year: int) -> date:
        return date(year, month, day) if month else easter.easter(year) + timedelta(day)

    said, year = match.group("s") or match.group("t"), match.group("y")
    if year:
        first = of(int(year))
    else:
        step = _step(said or "last")
        first = max(of(y) for y in (today.year, today.year - 1) if of(y) <= today)
        if step > 0 or (said and step == 0 and first.year < today.year):
            first = min(of(y) for y in (today.year, today.year + 1) if of(y) > today)
    return _whole(
        match,
        "season",
        first,
        first + timedelta(length - 1),
        firm=bool(said or year) and month > 0,
    )


def _session(match: re.Match[str], today: date) -> TimeExpression | None:
    groups = match.groupdict()
    if groups.get("penultimate"):
        sessions = (-2, -2)
    elif groups.get("l") or groups.get("k"):
        sessions = (-_number(groups["n"])[1], -1) if groups.get("n") else (-1, -1)
    else:
        first = _day_number(match.group("o"))
        sessions = (first, _day_number(groups["p"]) if groups.get("p") else first)
        if not 1 <= sessions[0] <= sessions[1]:
            return None
    return TimeExpression(match.start(), match.end(), "session", sessions=sessions)


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
_SOURCES: list[tuple[str, _Read]] = [
    (rf"(?P<w>{_any(tables.DAYS)})", _deictic),
    (rf"(?:the\s+)?{_D.format('d')}\s+{_OF}{_M}{_YEAR}", _dated),
    (rf"{_M}\s+(?:the\s+)?{_D.format('d')}(?:,?\s+{_Y})?", _dated),
    (rf"(?:the\s+)?{_D.format('d')}{_TO}{_D.format('d2')}\s+{_OF}{_M}{_YEAR}", _dated),
    (rf"{_M}\s+{_D.format('d')}{_TO}{_D.format('d2')}(?:,?\s+{_Y})?", _dated),
    (
        rf"{_M},?\s+{_OF}(?:{_Y}|(?P<rel>{_any(tables.STEPS)}\s+(?:year|jahr(?:es)?|ano)|(?:el\s+)?ano\s+(?:pasado|anterior)))",
        _month_of_year,
    ),
    (rf"(?:{_STEP}\s+)(?P<m>{_MONTH})(?P<t>)", _near_month),
    (rf"(?P<s>)(?P<m>{_MONTH})\s+{_AFTER}", _near_month),
    (rf"(?P<m>{_MONTH})", _month),
    (r"(?P<y>(?:19|20)\d\d)(?P<sep>[-/.])(?P<m>\d{1,2})(?P=sep)(?P<d>\d{1,2})", _iso),
    (r"(?P<y>(?:19|20)\d\d)-(?P<m>0[1-9]|1[0-2])", _iso_month),
    (
        r"(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<y>(?:19|20)\d\d|\d\d)",
        _numeric,
    ),
    (r"(?:am|vom|bis|seit|ab|zum|dem)\s+(?P<a>\d{1,2})\.(?P<b>\d{1,2})\.", _german_day),
    (rf"(?:{_STEP}\s+)?(?P<w>{_any(tables.WEEKDAYS)})(?:\s+{_AFTER})?", _weekday),
    (
        rf"(?P<roll>(?:(?:over|during|within|in)\s+(?:the|this|these)|this|the)\s+(?=last|past|previous))?{_STEP}\s+(?:{_N}\s+)?{_UNIT}(?!\s+(?:of|des|de)\s)",
        _near_unit,
    ),
    (
        rf"(?:{_N}\s+)?{_UNIT}\s+(?P<s>pasad[oa]s?|anterior(?:es)?|proxim[oa]s?|que\s+viene)",
        _near_unit,
    ),
    (
        rf"{_N}\s+(?P<u>{_any([*tables.UNITS, *tables.SESSIONS, 'times', 'time'])})\s+(?:ago|back)",
        _ago,
    ),
    (rf"(?:vor|hace)\s+{_N}\s+(?P<u>{_any([*tables.UNITS, *tables.SESSIONS])})", _ago),
    (rf"(?:in|en|dentro\s+de)\s+{_N}\s+{_UNIT}", _ahead),
    (rf"(?P<named>(?:the\s+year|year|jahr|ano)\s+)?{_Y}", _year),
    (rf"{_Y}\s*[-–]\s*(?P<z>(?:19|20)\d\d)", _year),
    (
        rf"(?:q(?P<q>[1-4])|(?P<o>{_any(tables.ORDINALS)})\s+(?:quarter|quartal|trimestre))(?:[\s/]+{_OF}{_Y})?",
        _quarter,
    ),
    (
        rf"(?:{_STEP}\s+|(?P<in>(?:in|im|en|during|durante)\s+(?:the\s+|el\s+|la\s+)?))?(?P<n>{_any(tables.SEASONS)})(?:\s+{_AFTER}|\s+{_OF}{_Y})?",
        _season,
    ),
    (
        rf"(?P<d>(?:(?:19|20)?[1-9]0))(?:s|er)|anos\s+(?P<e>\d0)|(?P<w>{_any(tables.DECADES)})",
        _decade,
    ),
    (
        rf"(?:{_STEP}\s+)?(?P<h>{_any(tables.HOLIDAYS)})(?:\s+{_AFTER}|\s+{_OF}{_Y})?",
        _holiday,
    ),
    (
        rf"(?P<o>\d{{1,3}}(?:st|nd|rd|th|\.|[oa])|{_any(tables.ORDINALS)})\s+{_SESSION}",
        _session,
    ),
    (rf"{_D.format('o')}{_TO}{_D.format('p')}\s+{_SESSION}", _session),
    (
        rf"{_SESSION}\s+(?:(?:number|no\.?|nr\.?|nummer|numero)\s+|#)?(?P<o>\d{{1,3}})(?:{_TO}(?P<p>\d{{1,3}}))?",
        _session,
    ),
    (
        rf"(?P<l>{_any(tables.LAST)})\s+(?:{_N}\s+)?{_SESSION}|{_SESSION}\s+(?P<k>pasad[oa]s?|anterior(?:es)?)",
        _session,
    ),
    (
        (
            rf"(?P<penultimate>(?:(?:second|next)\s+to\s+last|penultimate|vorletzte[nrsm]?|penultim[oa])\s+{_SESSION}"
            rf"|{_SESSION}\s+before\s+(?:the\s+)?last(?:\s+(?:one|{_SESSION}))?"
            rf"|not\s+(?:the\s+)?last\s+{_SESSION},?\s+but\s+the\s+one\s+before(?:\s+(?:that|it))?)"
        ),
        _session,
    ),
]
_PATTERNS = [
    (re.compile(_B + "(?:" + source + ")" + _E), read) for source, read in _SOURCES
]
_STRETCH = re.compile(_B + rf"(?:the|die|der|la|el|{_N})\s+{_UNIT}\s+$")


def stretch(text: str) -> tuple[int, timedelta] | None:
    """A length of time at the end of a folded text (`two weeks `): where it begins, and
    how long it is at most.
    """
    match = _STRETCH.search(text)
    if match is None:
        return None
    count = _number(match.group("n"))[1] if match.group("n") else 1
    return match.start(), timedelta(
        _DAYS_OF[tables.UNITS[_word(match.group("u"))]] * count
    )
