"""Session references: the third session, last conversation, sessions 2 to 4. Pure."""

from datetime import date

from reverie.search.dates import expressions as reading
from reverie.search.dates.expressions import Match, TimeExpression


def session(match: Match, today: date) -> TimeExpression | None:
    """Sessions counted from 1, or from the end from -1."""
    groups = match.groupdict()
    if groups.get("penultimate"):
        return reading.of_sessions(match, -2, -2)
    if groups.get("l") or groups.get("k"):
        count = reading.count_at_most(groups.get("n"))
        return reading.of_sessions(match, -count, -1)
    first = reading.ordinal(match["o"])
    last = reading.ordinal(groups.get("p") or match["o"])
    if not 1 <= first <= last:
        return None
    return reading.of_sessions(match, first, last)
