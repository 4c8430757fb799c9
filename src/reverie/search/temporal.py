"""Temporal retriever: passages of the days, or the sessions, that a query is about."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from typing import Any, LiteralString
from uuid import UUID
from zoneinfo import ZoneInfo

from reverie import db
from reverie.access import callers
from reverie.records import terms
from reverie.search import candidates, fusion, scope, weights
from reverie.search import query as queries
from reverie.search.dates import days, timewords

# The records that may hold such a passage (a chat may have begun before and gone on),
# no more than passages are wanted; then their passages: the beginnings of all records
# before the middle of any, so that a long one does not hide others. That a chat's last
# turn is told by the text of its time first spares a look at the time of every chat.
_OF_DAYS = """
WITH record AS MATERIALIZED (
    SELECT card.record_id, card.at FROM card
    WHERE card.user_id = %(user)s AND card.at IS NOT NULL AND {cards}
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
    WHERE {is_of_days}
    ORDER BY passage.ordinal, card.at LIMIT %(depth)s
)
{scored}
"""
_AMONG = """
WITH of_time AS (
    SELECT passage.id, passage.record_id, passage.ordinal, card.at
    FROM passage JOIN card ON card.user_id = %(user)s AND card.record_id = passage.record_id
    WHERE passage.user_id = %(user)s AND passage.id = ANY(%(within)s)
      AND (%(records)s::uuid[] IS NULL OR card.record_id = ANY(%(records)s)) AND {is_of_days}
    ORDER BY card.at LIMIT %(depth)s
)
{scored}
"""
_IS_OF_DAYS = """
((%(first)s::date IS NULL AND %(last)s::date IS NULL)
 OR {day} BETWEEN coalesce(%(first)s, '-infinity'::date) AND coalesce(%(last)s, 'infinity'::date))
"""
# From 1 for the earliest down to 0.5 for the last (weights.py); typed as SQL has it.
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
FROM card WHERE card.user_id = %(user)s AND card.domain = 'chat' AND card.at IS NOT NULL AND {cards}
ORDER BY card.at, card.record_id
"""


@dataclass(frozen=True, slots=True)
class StatedTime:
    """The query within the time that it states, the passages of that time, and what the
    signal of time did. Else empty.
    """

    scoped: queries.Query | None = None
    hits: Sequence[candidates.PassageHit] = ()
    statuses: Mapping[str, str] = field(default_factory=dict[str, str])


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
    days_or_sessions = _shown(when)
    if when.strength != "filter":
        # Which session is only certain where the question states it.
        if when.session is not None:
            return StatedTime()
        return StatedTime(statuses={"time": f"more of {days_or_sessions}"})
    async with database.snapshot(caller) as tx:
        scoped = await narrowed(tx, caller, query, when)
        if scoped is None:
            nothing = f"nothing is of {days_or_sessions}: searched everywhere"
            return StatedTime(statuses={"time": nothing})
        hits = await retrieve(tx, caller, query, when)
        return StatedTime(scoped, hits, {"time": f"only {days_or_sessions}"})


def _shown(when: timewords.When) -> str:
    """The time for people: `session 2 to 4`, `2026-05-01 to 2026-05-31`."""
    if when.session is None:
        return f"{when.first or '...'} to {when.last or '...'}"
    until = f" to {when.until_session}" if when.until_session else ""
    return f"session {when.session}{until}"


async def only(
    tx: db.Transaction,
    caller: callers.Caller,
    scoped: queries.Query,
    fused: Sequence[fusion.Fused],
) -> list[fusion.Fused]:
    """Those of some passages that are of the time which a query was narrowed to."""
    ids = [passage.passage_id for passage in fused]
    hits = await _of_days(tx, caller, scoped, len(ids), ids)
    of_time = {hit.passage_id for hit in hits}
    return [passage for passage in fused if passage.passage_id in of_time]


async def retrieve(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    when: timewords.When,
    *,
    depth: int = 100,
    within: Collection[int] | None = None,
) -> list[candidates.PassageHit]:
    """Passages of that time, earliest first (1 down to 0.5); `within`: only among these
    passages.
    """
    if when.session is not None:
        narrow = await narrowed(tx, caller, query, when)
        if narrow is None:
            return []
        return await _of_days(tx, caller, narrow, depth, within)
    for narrow in _by_days(query, when):
        hits = await _of_days(tx, caller, narrow, depth, within)
        if hits:
            return hits
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
        if await _of_days(tx, caller, narrow, weights.TIME_PROBE, None):
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
    words = [word for word in _content_words(query.text, when) if word]
    chats = await tx.rows(
        db.compose(_CHATS, cards=db.text(scope.CARDS)),
        scope.parameters(caller, query) | {"named": bool(words)},
    )
    if words:
        chats = _with_named(chats, words)
    ids = [chat["record_id"] for chat in chats]
    number = when.session or 1
    first = _place(number, len(ids))
    last = _place(when.until_session or number, len(ids))
    return ids[max(first, 0) : last + 1] if last >= 0 else []


def _with_named(
    chats: Sequence[Mapping[str, Any]], words: Sequence[str]
) -> Sequence[Mapping[str, Any]]:
    """The chats that share most words with a question, as names of who speaks or, of
    words with a capital, in their title; all of them where none shares any.
    """
    lower = {word.lower() for word in words}
    capitalised = {word.lower() for word in words if word[0].isupper()}
    shared = [
        len(lower & _folded(chat["speakers"]))
        or len(capitalised & _folded(chat["title"]))
        for chat in chats
    ]
    most = max(shared, default=0)
    if not most:
        return chats
    return [chat for chat, count in zip(chats, shared, strict=True) if count == most]


def _place(number: int, count: int) -> int:
    """Where a session stands that is counted from 1, or from the end from -1."""
    return number - 1 if number > 0 else count + number


def _content_words(text: str, when: timewords.When) -> list[str]:
    """The words of the question, folded but with their first letter's case: names are
    told by it.
    """
    content = set(timewords.content(text, when))
    return [
        folded.capitalize() if word[0].isupper() else folded
        for word in timewords.rest(text, when).replace("'", " ").split()
        for folded in terms.words(terms.fold(word))
        if folded in content
    ]


def _folded(text: str) -> set[str]:
    return set(terms.words(terms.fold(text)))


def _by_days(query: queries.Query, when: timewords.When) -> list[queries.Query]:
    """The query on the days of the question, within those of its own filter; then on
    the days around that count too.
    """
    return [
        _within_days(query, when, timedelta(slack)) for slack in sorted({0, when.slack})
    ]


def _within_days(
    query: queries.Query, when: timewords.When, slack: timedelta
) -> queries.Query:
    firsts = [query.first, when.first and when.first - slack]
    lasts = [query.last, when.last and when.last + slack]
    return replace(
        query,
        first=max((day for day in firsts if day), default=None),
        last=min((day for day in lasts if day), default=None),
    )


async def _of_days(
    tx: db.Transaction,
    caller: callers.Caller,
    narrow: queries.Query,
    depth: int,
    within: Collection[int] | None,
) -> list[candidates.PassageHit]:
    """The passages of a query's days, at most `depth`; `within`: only among these."""
    zone = ZoneInfo(caller.timezone)
    begins = narrow.first and datetime.combine(narrow.first, time(), zone)
    after = narrow.last and narrow.last + timedelta(1)
    parameters = scope.parameters(caller, narrow) | {
        "depth": depth,
        "within": None if within is None else list(within),
        "begins": begins,
        "ends": after and datetime.combine(after, time(), zone),
    }
    statement = db.compose(
        _OF_DAYS if within is None else _AMONG,
        is_of_days=db.compose(_IS_OF_DAYS, day=db.text(days.DAY)),
        scored=db.text(_SCORED),
        cards=db.text(scope.CARDS),
    )
    return await tx.all(candidates.PassageHit, statement, parameters)
