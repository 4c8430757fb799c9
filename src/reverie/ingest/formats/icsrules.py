"""Recurrence of iCalendar (RRULE, EXRULE, RDATE, EXDATE; RFC 5545, 3.8.5): what of it
can be kept, and what is set aside.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, time
from itertools import islice

from dateutil import rrule

from reverie.ingest.formats import contentlines, icstimes, icszones

_GOOGLE_DATE = re.compile(r"\d{8}Z")  # it writes dates with the Z of times
_LONGEST_MONTHS = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}
# Of a series that has a count and an end, to see which comes first; set by hand.
_COUNTED = 1000
# What dateutil raises for what is no rule.
_BROKEN = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError)
_DAY = re.compile(r"([+-]?[1-9]\d?)?(MO|TU|WE|TH|FR|SA|SU)")


def _within(
    lowest: int, highest: int, *, signed: bool = False
) -> Callable[[str], bool]:
    """Whether a text is a number of these; counted from the end as well if `signed`."""
    pattern = re.compile(r"[+-]?\d{1,3}" if signed else r"\d{1,3}")

    def fits(text: str) -> bool:
        if not pattern.fullmatch(text):
            return False
        number = int(text)
        if signed:
            number = abs(number)
        return lowest <= number <= highest

    return fits


# Part -> whether one of its values is one (RFC 5545, 3.3.10).
_VALUES: Mapping[str, Callable[[str], bool]] = {
    "BYSECOND": _within(0, 59),
    "BYMINUTE": _within(0, 59),
    "BYHOUR": _within(0, 23),
    "BYDAY": lambda text: bool(_DAY.fullmatch(text)),
    "BYMONTHDAY": _within(1, 31, signed=True),
    "BYYEARDAY": _within(1, 366, signed=True),
    "BYWEEKNO": _within(1, 53, signed=True),
    "BYMONTH": _within(1, 12),
    "BYSETPOS": _within(1, 366, signed=True),
}
# Parts with a single value.
_SINGLE: Mapping[str, re.Pattern[str]] = {
    "FREQ": re.compile("YEARLY|MONTHLY|WEEKLY|DAILY|HOURLY"),
    "INTERVAL": re.compile(r"0*[1-9]\d{0,4}"),
    "COUNT": re.compile(r"0*[1-9]\d{0,6}"),
    "WKST": re.compile("MO|TU|WE|TH|FR|SA|SU"),
}


def recurrence(
    line: contentlines.ContentLine, start: icstimes.Moment, zones: icszones.Zones
) -> tuple[list[str], list[str]]:
    """The lines to keep for one line, and what of it is broken; periods lose their
    length.
    """
    if line.name in {"RRULE", "EXRULE"}:
        rule, broken = _rule(line.value, start, zones)
        if not rule:
            return [], broken
        return [f"{line.name}:{rule}"], broken
    lines: list[str] = []
    broken: list[str] = []
    values = map(str.strip, line.value.split(","))
    for value in filter(None, values):
        first = value.partition("/")[0]
        if _GOOGLE_DATE.fullmatch(first):
            first = first[:8]
        try:
            moment = icstimes.moment_of(first, line.param("TZID"), zones)
            lines.append(f"{line.name}:{icstimes.written(moment, start)}")
        except (ValueError, OverflowError):
            broken.append(f"{line.name}:{value[:80]}")
    return lines, broken


def _rule(
    value: str, start: icstimes.Moment, zones: icszones.Zones
) -> tuple[str, list[str]]:
    """The rule in capitals, of the parts that can be read, and the other parts; "" and
    the whole of it without a frequency that is known.
    """
    parts: dict[str, str] = {}
    broken: list[str] = []
    for part in value.strip().strip(";").split(";"):
        name, _, setting = part.strip().partition("=")
        name = name.strip().upper()
        kept, wrong = _part(name, setting.strip(), start, zones)
        if name in parts or wrong:
            broken.append(part.strip()[:80])
        if kept:
            parts.setdefault(name, kept)
    if "FREQ" not in parts:
        return "", [value[:200]]
    if {"COUNT", "UNTIL"} <= parts.keys():
        broken.append(_later_end(parts, start))
    rule = ";".join(f"{name}={setting}" for name, setting in parts.items())
    if not _comes_again(parts, start) or _built(rule, start) is None:
        return "", [value[:200]]
    return rule, broken


def _part(
    name: str, setting: str, start: icstimes.Moment, zones: icszones.Zones
) -> tuple[str, bool]:
    """What can be kept of a part of a rule, and whether something could not."""
    if name == "UNTIL":
        try:
            return _until(setting, start, zones), False
        except (ValueError, OverflowError):
            return "", True
    setting = setting.upper()
    if name in _SINGLE:
        if _SINGLE[name].fullmatch(setting):
            return setting, False
        return "", True
    if name not in _VALUES:
        return "", True
    values = [text.strip() for text in setting.split(",")]
    kept = [text for text in values if _VALUES[name](text)]
    return ",".join(kept), len(kept) < len(values)


def _until(text: str, start: icstimes.Moment, zones: icszones.Zones) -> str:
    """UNTIL as it must be written beside this start (RFC 5545, 3.3.10)."""
    until = icstimes.moment_of(text, "", zones)
    # A date against a timed event, which the RFC forbids: the last day counts whole.
    if isinstance(start, datetime) and not isinstance(until, datetime):
        last_second = time(23, 59, 59)
        until = datetime.combine(until, last_second, start.tzinfo)
    return icstimes.written(until, start)


def _later_end(parts: dict[str, str], start: icstimes.Moment) -> str:
    """Take out the later of a count and an end, of which RFC 5545 allows one, and say
    it.
    """
    counted = {name: setting for name, setting in parts.items() if name != "UNTIL"}
    rule = ";".join(f"{name}={setting}" for name, setting in counted.items())
    series = _built(rule, start)
    until = _stamp(parts["UNTIL"], start)
    later = "UNTIL"
    if series is not None:
        last = max(islice(series, _COUNTED), default=until)
        if last > until:
            later = "COUNT"
    return f"{later}={parts.pop(later)}"


def _stamp(written: str, start: icstimes.Moment) -> datetime:
    """UNTIL as a time of the same kind as the start."""
    if "T" not in written:
        return datetime.strptime(written, "%Y%m%d")  # noqa: DTZ007 - a day
    if written.endswith("Z"):
        return datetime.strptime(written, "%Y%m%dT%H%M%S%z")
    return datetime.strptime(written, "%Y%m%dT%H%M%S")  # noqa: DTZ007 - it floats


def _comes_again(parts: Mapping[str, str], start: icstimes.Moment) -> bool:
    """Whether a rule gives any time: it does not end before it begins, and has no day
    that no month has.
    """
    if "UNTIL" in parts and _stamp(parts["UNTIL"], start) < _first(start):
        return False
    if "BYMONTH" not in parts or "BYMONTHDAY" not in parts:
        return True
    months = [int(month) for month in parts["BYMONTH"].split(",")]
    longest = max(_LONGEST_MONTHS.get(month, 31) for month in months)
    days = parts["BYMONTHDAY"].split(",")
    return any(abs(int(day)) <= longest for day in days)


def _first(start: icstimes.Moment) -> datetime:
    """The start as dateutil wants it: aware only when it has a zone."""
    if isinstance(start, datetime):
        return start
    return datetime.combine(start, time())


def _built(rule: str, start: icstimes.Moment) -> rrule.rrule | None:
    """The rule as the library reads it; None when it cannot, which must be known now
    and not when a calendar is shown.
    """
    try:
        built = rrule.rrulestr("RRULE:" + rule, dtstart=_first(start))
    except _BROKEN:
        return None
    return built if isinstance(built, rrule.rrule) else None
