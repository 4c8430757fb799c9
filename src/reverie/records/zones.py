"""Time zones by IANA name, by fixed offset, or by a POSIX TZ rule.

A rule such as `<+01>-1<+02>-2,M3.5.0/2,M10.5.0/3` (POSIX.1-2017, 8.3) is for zones that
a calendar defines itself and that no IANA zone equals.
"""

import io
import re
import struct
import zoneinfo
from datetime import timedelta, timezone, tzinfo
from functools import lru_cache

from reverie import errors

_POSIX_NAME = r"(?:[A-Za-z]{3,10}|<[A-Za-z0-9+-]{3,10}>)"
_POSIX_TIME = r"[+-]?\d{1,3}(?::\d{2}){0,2}"
_POSIX_DATE = rf"(?:M\d{{1,2}}\.\d\.\d|J?\d{{1,3}})(?:/{_POSIX_TIME})?"
POSIX_RULE = re.compile(
    f"{_POSIX_NAME}{_POSIX_TIME}{_POSIX_NAME}(?:{_POSIX_TIME})?,{_POSIX_DATE},{_POSIX_DATE}"
)
# The head of a TZif file (RFC 9636): no transitions, and one type of local time.
_TZIF_COUNTS = struct.pack(">6l", 0, 0, 0, 0, 1, 4)
_TZIF_BLOCK = b"TZif2" + bytes(15) + _TZIF_COUNTS + struct.pack(">lbb", 0, 0, 0)


def zone(name: str) -> tzinfo:
    """The time zone of that name. Raises Invalid."""
    try:
        if name[:1] in ("+", "-"):
            return _fixed(name)
        if POSIX_RULE.fullmatch(name):
            return posix(name)
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise errors.Invalid(
            f"{name} is not a time zone.",
            hint="Use a name such as Europe/Madrid, or +08:00.",
        ) from None


def _fixed(name: str) -> tzinfo:
    """The zone of an offset. Raises ValueError."""
    hours, _, minutes = name[1:].partition(":")
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return timezone(-offset if name[0] == "-" else offset)


@lru_cache(maxsize=100)
def posix(rule: str) -> zoneinfo.ZoneInfo:
    """The zone of a POSIX TZ rule, which is its key. Raises ValueError."""
    block = _TZIF_BLOCK + b"UTC\x00"
    file = io.BytesIO(block + block + b"\n" + rule.encode("ascii") + b"\n")
    return zoneinfo.ZoneInfo.from_file(file, key=rule)
