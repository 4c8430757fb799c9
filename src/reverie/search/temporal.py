"""The signal of time: passages of the days, or of the sessions, that a question is
about.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from typing import LiteralString
from uuid import UUID
from zoneinfo import ZoneInfo

from reverie import db
from reverie.access import callers
from reverie.records import terms
from reverie.search import fusion, lexical
from reverie.search import query as queries
from reverie.search.dates import days, timewords

# The records that may hold such a passage (a chat may have begun before and gone on),
# no more than passages are wanted; then their passages: the beginnings of all records
# before the middle of any, so that a long one does not hide others. That a chat's last
# turn is told by the text of its time first spares a look at the time of every chat.
_OF_DAYS = """
WITH record AS MATERIALIZED (
    SELECT card.record_id, card.at FROM card
    WHERE card.user_id = %(user)s AND card.at IS NOT NULL AND {records}
      AND (%(ends)s::timestamptz IS NULL OR card.at < %(ends)s)
      AND (%(begins)s::timestamptz IS NULL OR card.at >= %(begins)s OR card.domain = 'chat' AND (
          SELECT passage.place->>'at' >= (%(first)s::date - 1)::text FROM passage
          WHERE passage.user_id = %(user)s AND passage.record_id = card.record_id
          ORDER BY passage.ordinal DESC LIMIT 1
      ))
    ORDER BY CASE WHEN %(begins)s::timestamptz IS NULL THEN %(ends)s - card.at ELSE card.at - %(begins)s END
    LIMIT %(depth)s
), of_time AS (
    SELECT passage.id, passage.record_id, passage.ordinal, card.at
    FROM record AS card JOIN passage ON passage.user_id = %(user)s AND passage.record_id = card.record_id
    WHERE {of_days}
    ORDER BY passage.ordinal, card.at LIMIT %(depth)s
)
{scored}
"""
_AMONG = """
WITH of_time AS (
    SELECT passage.id, passage.record_id, passage.ordinal, card.at
    FROM passage JOIN card ON card.user_id = %(user)s AND card.record_id = passage.record_id
    WHERE passage.user_id = %(user)s AND passage.id = ANY(%(within)s)
      AND (%(records)s::uuid[] IS NULL OR card.record_id = ANY(%(records)s)) AND {of_days}
    ORDER BY card.at LIMIT %(depth)s
)
{scored}
"""
_DAYS = """
((%(first)s::date IS NULL AND %(last)s::date IS NULL)
 OR {day} BETWEEN coalesce(%(first)s, '-infinity'::date) AND coalesce(%(last)s, 'infinity'::date))
"""
_SCORED: LiteralString = """
SELECT record_id, ordinal, id AS passage_id, 1 - 0.5 * (row_number() OVER (ORDER BY at, record_id, ordinal) - 1)
    / greatest(count(*) OVER (), 1)::float8 AS score
FROM of_time ORDER BY score DESC
"""
# Every chat in order of its beginning, with its title and who speaks at its start.
_CHATS = """
SELECT card.record_id, card.title, (
        SELECT coalesce(string_agg(DISTINCT passage.place->>'speaker', ' '), '') FROM passage
        WHERE %(named)s AND passage.user_id = %(user)s AND passage.record_id = card.record_id AND passage.ordinal <= 2
    ) AS speakers
FROM card WHERE card.user_id = %(user)s AND card.domain = 'chat' AND card.at IS NOT NULL AND {records}
ORDER BY card.at, card.record_id
"""

# Records to look at for whether anything is of that time: a chat that went on may have
# been silent then.
_A_FEW = 20


@dataclass(frozen=True, slots=True)
class StatedTime:
    """The query within the time that it states, the passages of that time, and what is
    told of it. Else empty.
    """

    scoped: queries.Query | None = None
    found: Sequence[lexical.PassageHit] = ()
    told: Mapping[str, str] = field(default_factory=dict[str, str])


async def stated(
    database: db.Database,
    caller: callers.Caller,
    query: queries.Query,
    when: timewords.When | None,
) -> StatedTime:
    """What the time words of a query leave to search in, if they state when a record
    was and anything is of then.
    """
    if when is None:
        return StatedTime()
    if when.session is not None:
        said = f"session {when.session}" + (
            f" to {when.until_session}" if when.until_session else ""
        )
    else:
        said = f"{when.first or '...'} to {when.last or '...'}"
    if when.strength != "filter":
        # Which session is only certain where the question states it.
        return StatedTime(
            told={} if when.session is not None else {"time": f"more of {said}"}
        )
    async with database.snapshot(caller) as tx:
        scoped = await narrowed(tx, caller, query, when)
        if scoped is None:
            return StatedTime(
                told={"time": f"nothing is of {said}: searched everywhere"}
            )
        return StatedTime(
            scoped, await find(tx, caller, query, when), {"time": f"only {said}"}
        )


async def only(
    tx: db.Transaction,
    caller: callers.Caller,
    scoped: queries.Query,
    when: timewords.When,
    fused: Sequence[fusion.Fused],
) -> list[fusion.Fused]:
    """Those of some passages that are of that time."""
    ids = [one.passage_id for one in fused]
    then = {
        one.passage_id
        for one in await find(tx, caller, scoped, when, depth=len(ids), within=ids)
    }
    return [one for one in fused if one.passage_id in then]


async def find(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    when: timewords.When,
    *,
    depth: int = 100,
    within: Collection[int] | None = None,
) -> list[lexical.PassageHit]:
    """Passages of that time, earliest first (1 down to 0.5); `within`: only among these
    passages.
    """
    if when.session is not None:
        narrow = await narrowed(tx, caller, query, when)
        return await _of(tx, caller, narrow, depth, within) if narrow else []
    for narrow in _by_days(query, when):
        if found := await _of(tx, caller, narrow, depth, within):
            return found
    return []


async def narrowed(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    when: timewords.When,
) -> queries.Query | None:
    """The query within that time: its days, or the chats that are these sessions; None
    where nothing is of then.
    """
    if when.session is not None:
        chats = await sessions(tx, caller, query, when)
        return replace(query, records=tuple(chats)) if chats else None
    for narrow in _by_days(query, when):
        if await _of(tx, caller, narrow, _A_FEW, None):
            return narrow
    return None


async def sessions(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    when: timewords.When,
) -> list[UUID]:
    """The chats that are the sessions asked for, counted among those with the people
    whom the question names.
    """
    words = [word for word in _names(query.text, when) if word]
    parameters = lexical.parameters(caller, query) | {"named": bool(words)}
    chats = await tx.rows(
        db.compose(_CHATS, records=db.text(lexical.RECORDS)), parameters
    )
    if words:
        asked = {word.lower() for word in words}
        titled = {word.lower() for word in words if word[0].isupper()}
        shared = [
            len(asked & _folded(chat["speakers"]))
            or len(titled & _folded(chat["title"]))
            for chat in chats
        ]
        most = max(shared, default=0)
        chats = (
            [chat for chat, count in zip(chats, shared, strict=True) if count == most]
            if most
            else chats
        )
    ids = [chat["record_id"] for chat in chats]
    number = when.session or 1
    first, last = (
        _place(number, len(ids)),
        _place(when.until_session or number, len(ids)),
    )
    return ids[max(first, 0) : last + 1] if last >= 0 else []


def _place(number: int, count: int) -> int:
    return number - 1 if number > 0 else count + number


def _names(text: str, when: timewords.When) -> list[str]:
    """The words of the question, folded but with their first letter's case: names are
    told by it.
    """
    kept = set(timewords.content(text, when))
    plain = [
        (terms.fold(word), word)
        for word in timewords.rest(text, when).replace("'", " ").split()
    ]
    return [
        folded.capitalize() if word[0].isupper() else folded
        for whole, word in plain
        for folded in terms.words(whole)
        if folded in kept
    ]


def _folded(text: str) -> set[str]:
    return set(terms.words(terms.fold(text)))


def _by_days(query: queries.Query, when: timewords.When) -> list[queries.Query]:
    """The query on the days of the question, within those of its own filter; then on
    the days around that count too.
    """
    made: list[queries.Query] = []
    for slack in sorted({0, when.slack}):
        around = timedelta(slack)
        firsts = [
            day for day in (query.first, when.first and when.first - around) if day
        ]
        lasts = [day for day in (query.last, when.last and when.last + around) if day]
        made.append(
            replace(
                query, first=max(firsts, default=None), last=min(lasts, default=None)
            )
        )
    return made


async def _of(
    tx: db.Transaction,
    caller: callers.Caller,
    narrow: queries.Query,
    depth: int,
    within: Collection[int] | None,
) -> list[lexical.PassageHit]:
    zone = ZoneInfo(caller.timezone)
    parameters = lexical.parameters(caller, narrow) | {
        "depth": depth,
        "within": None if within is None else list(within),
        "begins": narrow.first and datetime.combine(narrow.first, time(), zone),
        "ends": narrow.last
        and datetime.combine(narrow.last + timedelta(1), time(), zone),
    }
    of_days = db.compose(_DAYS, day=db.text(days.DAY))
    parts = {
        "of_days": of_days,
        "scored": db.text(_SCORED),
        "records": db.text(lexical.RECORDS),
    }
    statement = db.compose(_OF_DAYS if within is None else _AMONG, **parts)
    return await tx.all(lexical.PassageHit, statement, parameters)
