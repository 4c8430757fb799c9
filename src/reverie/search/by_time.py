"""Order by time: the newest records of a kind, and the next events with recurrences
(RRULE) and birthdays counted in.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from reverie import db
from reverie.access import callers
from reverie.records import catalogue, events, terms
from reverie.search import (
    candidates,
    fusion,
    question_frames,
    question_type,
    scope,
    weights,
)
from reverie.search import query as queries
from reverie.search.dates import timewords

_NEWEST = """
SELECT card.record_id, passage.ordinal, passage.id AS passage_id, 1.0::float8 AS score
FROM card JOIN passage ON passage.user_id = card.user_id AND passage.record_id = card.record_id AND passage.ordinal = 1
WHERE card.user_id = %(user)s AND {cards} AND card.at < %(ends)s
  AND (%(begins)s::timestamptz IS NULL OR card.at >= %(begins)s)
  AND (%(author)s::text[] IS NULL OR CASE WHEN card.domain = 'email' THEN card.people[1] LIKE ALL(%(author)s)
       ELSE EXISTS (SELECT FROM unnest(card.people) AS who WHERE who LIKE ALL(%(author)s)) END)
ORDER BY card.at DESC, card.record_id LIMIT %(most)s
"""
_FIRST_PASSAGES = """
SELECT card.record_id, passage.ordinal, passage.id AS passage_id, 1.0::float8 AS score
FROM card JOIN passage ON passage.user_id = card.user_id AND passage.record_id = card.record_id AND passage.ordinal = 1
WHERE card.user_id = %(user)s AND card.record_id = ANY(%(ids)s) AND {cards}
"""
_AHEAD = """
SELECT card.record_id, card.at FROM card
WHERE card.user_id = %(user)s AND card.domain = ANY(%(others)s) AND card.at >= %(begins)s AND card.at < %(ends)s
ORDER BY card.at LIMIT %(most)s
"""
_BIRTHDAYS = """
SELECT id, birthday FROM contact
WHERE user_id = %(user)s AND deleted_at IS NULL AND birthday IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class _Window:
    """The days that are looked at, both inclusive, and the moment before which nothing
    is ahead.
    """

    first: date
    last: date
    begins: datetime
    ends: datetime


def is_asked_for(understood: queries.Understood) -> bool:
    """Whether a question asks for an order of time at all: most do not."""
    return understood.question is not None and understood.question.order is not None


async def retrieve(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    understood: queries.Understood,
) -> list[candidates.PassageHit]:
    """The first passages of what is asked for in an order of time, in that order."""
    question = understood.question
    if question is None or question.order is None:
        return []
    if question.order == "next":
        return await _next(tx, caller, query, understood)
    domains = allowed(caller, query, question.domains)
    if question.domains and not domains:
        return []
    narrow = replace(query, domains=domains or query.domains)
    return await _newest(tx, caller, narrow, understood)


def allowed(
    caller: callers.Caller, query: queries.Query, domains: Sequence[str]
) -> tuple[str, ...]:
    """Those of some domains that the query and its caller may look into."""
    open_ = query.domains or tuple(catalogue.readable(caller))
    return tuple(domain for domain in domains if domain in open_)


def author_patterns(author: str) -> list[str]:
    """LIKE patterns that a folded name or address must match, each."""
    return [f"%{word}%" for word in terms.words(terms.fold(author))]


async def _newest(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    understood: queries.Understood,
) -> list[candidates.PassageHit]:
    when = understood.when if understood.when and understood.when.firm else None
    window = _window(caller, understood.now, when, ahead=False)
    author = understood.question.author if understood.question else ""
    parameters = scope.parameters(caller, query) | {
        "begins": window.begins if when and when.first else None,
        "ends": min(window.ends, understood.now) if when else understood.now,
        "author": author_patterns(author) or None,
        "most": weights.IN_ORDER,
    }
    statement = db.compose(_NEWEST, cards=db.text(scope.CARDS))
    return await tx.all(candidates.PassageHit, statement, parameters)


async def _next(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    understood: queries.Understood,
) -> list[candidates.PassageHit]:
    """Each record once, at the first time that it takes place."""
    window = _window(caller, understood.now, understood.when, ahead=True)
    if _asks_for_birthdays(understood):
        times = await _birthdays(tx, caller, window)
        wanted = allowed(caller, query, ("contact", "event"))
    else:
        times = await _ahead(tx, caller, window)
        wanted = allowed(caller, query, _domains_of(understood))
    if not wanted:
        return []
    narrow = replace(query, domains=wanted)
    ids = sorted(times, key=lambda record_id: (times[record_id], record_id))
    return await _first_passages(tx, caller, narrow, ids[: weights.IN_ORDER])


def _domains_of(understood: queries.Understood) -> Sequence[str]:
    return understood.question.domains if understood.question else ()


def _asks_for_birthdays(understood: queries.Understood) -> bool:
    question = understood.question
    return question is not None and not question_frames.BIRTHDAYS.isdisjoint(
        question.words
    )


async def _ahead(
    tx: db.Transaction, caller: callers.Caller, window: _Window
) -> dict[UUID, datetime]:
    """The events and the tasks of some days, each at its first time."""
    times: dict[UUID, datetime] = {}
    for occurrence in await events.agenda(
        tx, caller, first=window.first, last=window.last
    ):
        is_ahead = occurrence.end >= window.begins
        if is_ahead or (occurrence.event.all_day and occurrence.day >= window.first):
            times.setdefault(occurrence.event.id, occurrence.start)
    parameters = {
        "user": caller.user_id,
        "begins": window.begins,
        "ends": window.ends,
        "others": ["task"],
        "most": weights.IN_ORDER,
    }
    for row in await tx.rows(_AHEAD, parameters):
        times.setdefault(row["record_id"], row["at"])
    return times


async def _birthdays(
    tx: db.Transaction, caller: callers.Caller, window: _Window
) -> dict[UUID, datetime]:
    """The next birthdays within some days: of contacts, and in the calendar."""
    zone = ZoneInfo(caller.timezone)
    times: dict[UUID, datetime] = {}
    for occurrence in await events.agenda(
        tx, caller, first=window.first, last=window.last
    ):
        words = question_type.content(occurrence.event.title)
        if not question_frames.BIRTHDAYS.isdisjoint(words):
            times.setdefault(occurrence.event.id, occurrence.start)
    for row in await tx.rows(_BIRTHDAYS, {"user": caller.user_id}):
        day = next_birthday(row["birthday"], window.first)
        if day <= window.last:
            times[row["id"]] = datetime.combine(day, time(), zone)
    return times


def next_birthday(born: date, today: date) -> date:
    """The next time that a birthday comes, today included; of 29 February the 28th in a
    year that has none.
    """
    for year in (today.year, today.year + 1):
        try:
            day = born.replace(year=year)
        except ValueError:
            day = date(year, 2, 28)
        if day >= today:
            return day
    return today.replace(year=today.year + 1)


async def _first_passages(
    tx: db.Transaction,
    caller: callers.Caller,
    query: queries.Query,
    ids: Sequence[UUID],
) -> list[candidates.PassageHit]:
    """The first passages of some records that are in the scope, in the records' order."""
    statement = db.compose(_FIRST_PASSAGES, cards=db.text(scope.CARDS))
    parameters = scope.parameters(caller, query) | {"ids": list(ids)}
    hits = await tx.all(candidates.PassageHit, statement, parameters)
    place: Mapping[UUID, int] = {record_id: at for at, record_id in enumerate(ids)}
    return sorted(hits, key=lambda hit: place[hit.record_id])


def _window(
    caller: callers.Caller,
    now: datetime,
    when: timewords.When | None,
    *,
    ahead: bool,
) -> _Window:
    """The days that a question names; else, `ahead`, a year and a bit from today on."""
    zone = ZoneInfo(caller.timezone)
    today = now.astimezone(zone).date()
    has_days = when is not None and when.session is None
    first = (when.first if when and has_days else None) or today
    last = (when.last if when and has_days else None) or (
        today + timedelta(weights.DAYS_AHEAD) if ahead else today
    )
    last = max(first, last)
    begins = datetime.combine(first, time(), zone)
    if ahead and not has_days:
        begins = now
    ends = datetime.combine(last + timedelta(1), time(), zone)
    return _Window(first, last, begins, ends)


def looked_for(understood: queries.Understood) -> list[str]:
    """The words that are looked for beside the order and the time."""
    question = understood.question
    if question is None:
        return []
    return [
        word
        for word in _content(question.focus, understood)
        if word not in _said_by_kind(question)
    ]


def _said_by_kind(question: question_type.Question) -> Set[str]:
    """Words that say which kind of record is meant, and that none of it says."""
    kinds = question_frames.KINDS.keys() - question_frames.SPOKEN_OF
    return kinds | question_frames.BIRTHDAYS if question.order == "next" else kinds


def _content(text: str, understood: queries.Understood) -> list[str]:
    when = timewords.read(text, now=understood.now, timezone="UTC")
    return question_type.content(timewords.rest(text, when))


def ordered(
    ranking: Sequence[list[fusion.Fused]], hits: Sequence[candidates.PassageHit]
) -> list[list[fusion.Fused]]:
    """Those records of a ranking that are meant, in the order of some hits, before the
    rest.
    """
    if not ranking:
        return []
    place = {hit.record_id: at for at, hit in enumerate(hits)}
    least = weights.MEANT * ranking[0][0].score
    meant = [passages for passages in ranking if passages[0].score >= least]
    rest = [passages for passages in ranking if passages[0].score < least]
    return [
        *sorted(meant, key=lambda passages: place.get(passages[0].record_id, 0)),
        *rest,
    ]


def shown(understood: queries.Understood) -> dict[str, str]:
    """What the signal of time did, for people."""
    question = understood.question
    newest = question is not None and question.order == "newest"
    return {"time": "the newest first" if newest else "what is next first"}


def is_meant(
    ranking: Sequence[list[fusion.Fused]], understood: queries.Understood
) -> bool:
    """Whether a ranking in order answers the question: it has anything, and a word of
    the question where that names no kind of record (`next steps` are no events).
    """
    question = understood.question
    if not ranking or question is None:
        return False
    has_words = any("lexical" in passages[0].evidence for passages in ranking)
    return question.kind != "" or question.type == "agenda" or has_words


def missed(understood: queries.Understood) -> dict[str, str]:
    """What is to be said where an order was asked for and nothing fits it."""
    question = understood.question
    if question is None or question.order is None or not question.kind:
        return {}
    order = "ahead" if question.order == "next" else "of that kind"
    return {"time": f"nothing like this is {order}: searched everywhere"}
