"""Names of time zones in calendars: IANA, Windows, what Exchange and Outlook show, Lotus,
and offsets.
"""

import re
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from icalendar.timezone import windows_to_olson

from reverie.records import terms

_IANA_NAME = re.compile(r"[A-Za-z0-9_+/-]{1,64}")
_OFFSET = re.compile(
    r"(?:GMT|UTC)?\s*([+−-])(\d{1,2})(?::?(\d{2}))?(?!\d)", re.IGNORECASE
)
# Such as: (UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna.
_DISPLAYED = re.compile(
    r"\(?\s*(?:GMT|UTC)\s*(?:([+−-])(\d{1,2})[:.]?(\d{2})?)?\s*\)?\s*[,;-]?\s*(\D+)",
    re.IGNORECASE,
)
_LONGEST = 200
_AREAS = (
    "Europe",
    "America",
    "Asia",
    "Africa",
    "Australia",
    "Pacific",
    "Atlantic",
    "Indian",
    "America/Argentina",
)
_UTC_NAMES = frozenset(
    {"utc", "z", "gmt", "etc/utc", "etc/gmt", "zulu", "coordinated universal time"}
)
# Folded words of names without a city of the IANA list, of Windows in other languages,
# and of programs that have names of their own.
_WORDS: tuple[tuple[str, str], ...] = (
    ("us eastern", "America/New_York"),
    ("us central", "America/Chicago"),
    ("us mountain", "America/Denver"),
    ("us pacific", "America/Los_Angeles"),
    ("indiana", "America/Indiana/Indianapolis"),
    ("central america", "America/Guatemala"),
    ("eastern time", "America/New_York"),
    ("central time", "America/Chicago"),
    ("mountain time", "America/Denver"),
    ("pacific time", "America/Los_Angeles"),
    ("hora del este", "America/New_York"),
    ("hora central", "America/Chicago"),
    ("hora de las montanas", "America/Denver"),
    ("hora del pacifico", "America/Los_Angeles"),
    ("ostkuste", "America/New_York"),
    ("westkuste", "America/Los_Angeles"),
    ("atlantic time", "America/Halifax"),
    ("newfoundland", "America/St_Johns"),
    ("saskatchewan", "America/Regina"),
    ("alaska", "America/Anchorage"),
    ("hawaii", "Pacific/Honolulu"),
    ("arizona", "America/Phoenix"),
    ("baja california", "America/Tijuana"),
    ("brasilia", "America/Sao_Paulo"),
    ("salvador", "America/Bahia"),
    ("greenland", "America/Nuuk"),
    ("azores", "Atlantic/Azores"),
    ("cabo verde", "Atlantic/Cape_Verde"),
    ("cape verde", "Atlantic/Cape_Verde"),
    ("edinburgh", "Europe/London"),
    ("greenwich mean time", "Europe/London"),
    ("bern", "Europe/Zurich"),
    ("rom", "Europe/Rome"),
    ("wien", "Europe/Vienna"),
    ("viena", "Europe/Vienna"),
    ("bruselas", "Europe/Brussels"),
    ("brussel", "Europe/Brussels"),
    ("kopenhagen", "Europe/Copenhagen"),
    ("mitteleuropaische", "Europe/Berlin"),
    ("westeuropaische", "Europe/Berlin"),
    ("romance", "Europe/Paris"),
    ("w. europe", "Europe/Berlin"),
    ("west central africa", "Africa/Lagos"),
    ("pretoria", "Africa/Johannesburg"),
    ("kyiv", "Europe/Kiev"),
    ("st. petersburg", "Europe/Moscow"),
    ("abu dhabi", "Asia/Dubai"),
    ("islamabad", "Asia/Karachi"),
    ("chennai", "Asia/Kolkata"),
    ("mumbai", "Asia/Kolkata"),
    ("new delhi", "Asia/Kolkata"),
    ("sri jayawardenepura", "Asia/Colombo"),
    ("samoa", "Pacific/Apia"),
    ("astana", "Asia/Almaty"),
    ("hanoi", "Asia/Bangkok"),
    ("beijing", "Asia/Shanghai"),
    ("pekin", "Asia/Shanghai"),
    ("peking", "Asia/Shanghai"),
    ("osaka", "Asia/Tokyo"),
    ("canberra", "Australia/Sydney"),
    ("wellington", "Pacific/Auckland"),
)
# Folded names as Lotus Notes and others write them, and abbreviations.
_WHOLE = {
    "eastern": "America/New_York",
    "central": "America/Chicago",
    "mountain": "America/Denver",
    "pacific": "America/Los_Angeles",
    "central europe": "Europe/Budapest",
    "central european": "Europe/Berlin",
    "edt": "America/New_York",
    "cst": "America/Chicago",
    "cdt": "America/Chicago",
    "mdt": "America/Denver",
    "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles",
    "bst": "Europe/London",
    "cest": "Europe/Berlin",
    "mez": "Europe/Berlin",
    "mesz": "Europe/Berlin",
    "ist": "Asia/Kolkata",
    "jst": "Asia/Tokyo",
    "aest": "Australia/Sydney",
    "aedt": "Australia/Sydney",
}


@lru_cache(maxsize=1000)
def zone(name: str) -> tzinfo | None:
    """The zone that a name means; None when nobody knows it."""
    name = " ".join(name.strip().strip('"').split())
    if not name or len(name) > _LONGEST:
        return None
    return iana(name) or _displayed(name) or _in_words(name) or fixed(name)


def iana(name: str) -> tzinfo | None:
    """The zone of an IANA name (also at the end of /mozilla.org/2005/Europe/Berlin) or
    a Windows name.
    """
    if name.rpartition("//")[2].rpartition("Microsoft/")[2].lower() in _UTC_NAMES:
        return UTC
    return next(filter(None, map(_zone, _iana_candidates(name))), None)


def _zone(name: str) -> tzinfo | None:
    """The IANA zone of exactly that name."""
    if not _IANA_NAME.fullmatch(name):
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    # OSError: the name of a folder, such as "America"
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _iana_candidates(name: str) -> list[str]:
    """The IANA name of a Windows name, or the last three and two words of a path."""
    windows = windows_to_olson.WINDOWS_TO_OLSON.get(name)
    if windows is None and name.endswith(" Daylight Time"):
        standard = name.removesuffix(" Daylight Time") + " Standard Time"
        windows = windows_to_olson.WINDOWS_TO_OLSON.get(standard)
    if windows:
        return [windows]
    words = name.strip("/").split("/")
    candidates: list[str] = []
    for count in (3, 2, len(words)):
        if count <= len(words):
            last_words = words[-count:]
            candidates.append("/".join(last_words))
    return candidates


def _displayed(name: str) -> tzinfo | None:
    """The zone of a name with an offset and cities; the offset is that of winter, and
    settles which city is meant.
    """
    match = _DISPLAYED.match(name)
    if match is None:
        return None
    sign, hours, minutes, places = match.groups()
    offset = _signed(sign or "+", hours or "0", minutes or "0")
    for candidate in _places(places):
        found = _zone(candidate)
        if found is not None and offset in _offsets(found):
            return found
    return None


def _places(places: str) -> Iterator[str]:
    """IANA names that the places of a displayed name may mean."""
    if "coordinated universal" in places.lower():
        yield "Etc/UTC"
    for city in re.split(r"[,;/&()]", places)[:10]:
        for area in _AREAS:
            yield f"{area}/{'_'.join(city.split())}"
    folded = terms.fold(places)
    for word, candidate in _WORDS:
        if word in folded:
            yield candidate


def _offsets(zone: tzinfo) -> set[timedelta | None]:
    """The offsets of a zone in winter and summer."""
    return {datetime(2025, month, 15, 12, tzinfo=zone).utcoffset() for month in (1, 7)}


def _in_words(name: str) -> tzinfo | None:
    """The zone of a name that says where it is, without an offset."""
    if re.search(r"\d", name):
        return None
    folded = terms.fold(name).removesuffix(" time").removesuffix(" standard")
    if folded in _WHOLE:
        return _zone(_WHOLE[folded])
    for word, candidate in _WORDS:
        if folded.startswith(word):
            return _zone(candidate)
    return None


def fixed(name: str) -> tzinfo | None:
    """The offset that a name such as "GMT+01:00" says."""
    match = _OFFSET.search(name)
    if match is None:
        return None
    offset = _signed(*match.groups("0"))
    return timezone(offset) if abs(offset) < timedelta(hours=24) else None


def _signed(sign: str, hours: str, minutes: str) -> timedelta:
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return offset if sign == "+" else -offset
