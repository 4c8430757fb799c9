"""The short forms that models and terminals read: relative times, sizes, one line of text, token estimates."""

import re
from datetime import datetime, timedelta


def ago(then: datetime, now: datetime) -> str:
    """How long ago, in one unit: `now`, `5m ago`, `3h ago`, `2d ago`, `2w ago`, `7mo ago`, `3y ago`."""
    seconds = (now - then).total_seconds()
    if seconds < 60:
        return "now"
    for limit, size, unit in (
        (3600, 60, "m"),
        (86400, 3600, "h"),
        (14 * 86400, 86400, "d"),
        (60 * 86400, 7 * 86400, "w"),
        (730 * 86400, 30.44 * 86400, "mo"),
    ):
        if seconds < limit:
            return f"{int(seconds // size)}{unit} ago"
    return f"{int(seconds // (365.25 * 86400))}y ago"


def size(count: int) -> str:
    """A number of bytes: `812B`, `2.3MB`."""
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            return f"{count}B" if unit == "B" else f"{amount:.1f}{unit}"
        amount /= 1024
    return f"{count}B"


def clip(text: str, limit: int) -> str:
    """One line of at most `limit` characters, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    cut = line.rfind(" ", limit // 2, limit - 1)
    return line[: cut if cut > 0 else limit - 1].rstrip(" ,;:") + "…"


def clock(moment: datetime) -> str:
    """`09:00`."""
    return moment.strftime("%H:%M")


def day_before(moment: datetime) -> datetime:
    """A day earlier: the end of an all-day event is exclusive."""
    return moment - timedelta(days=1)


_PIECE = re.compile(r"[A-Za-z]+|\d+|\s+|[^\sA-Za-z\d]")


def tokens(text: str) -> int:
    """About how many tokens a language model sees in a text."""
    total = 0.0
    for match in _PIECE.finditer(text):
        piece = match.group()
        if piece.isspace():
            total += 0.0 if piece == " " else 0.5
        elif piece.isdigit():
            total += len(piece) / 3
        elif piece.isalpha() and piece.isascii():
            total += 1 if len(piece) <= 7 else len(piece) / 5
        else:
            total += 0.7
    return max(1, round(total))
