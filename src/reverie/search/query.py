"""Query understanding: a search's words, scope, filters, and what the words imply."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from reverie import errors
from reverie.access import callers
from reverie.records import catalogue, record_types, terms
from reverie.search import query_intent, question_frames, question_type
from reverie.search.dates import time_lexicon, timewords

LONGEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search. No domains and no records mean all.

    `first` and `last` are days (inclusive) of a turn's or record's own date; `person`
    is a part of a name or an address of somebody who took part, `category` a folder,
    board or calendar, `file` a part of the path of the file that a record came from.
    `now` is when it is asked: `yesterday` counts from there. `words_only` is for
    results as one types: no model is asked, and nothing is looked up in the graph.
    """

    text: str
    domains: tuple[str, ...] = ()
    limit: int = 10
    include_cold: bool = False
    tier: record_types.Tier | None = None
    tag: str | None = None
    first: date | None = None
    last: date | None = None
    person: str | None = None
    category: str | None = None
    file: str | None = None
    records: tuple[UUID, ...] = ()
    now: datetime | None = None
    words_only: bool = False

    @property
    def narrowed(self) -> bool:
        """Whether a filter leaves out a part of what is kept."""
        narrow = (
            self.domains,
            self.tag,
            self.first,
            self.last,
            self.tier,
            self.person,
            self.category,
            self.file,
        )
        return any((*narrow, self.records))


def checked(caller: callers.Caller, query: Query) -> Query:
    """The query with its text trimmed and its domains by name: those asked for, or all
    that the caller may read.

    Every search passes here, so nothing is found, counted or ranked of a domain that is
    closed. Raises Invalid, Forbidden.
    """
    text = " ".join(query.text.replace("\x00", " ").split())
    if not text:
        raise errors.Invalid("There is nothing to search for.", hint="Give some words.")
    if len(text) > LONGEST:
        raise errors.Invalid(
            f"A search has at most {LONGEST} characters.", hint="Ask for less at once."
        )
    if not 1 <= query.limit <= 50:
        raise errors.Invalid("`limit` must be from 1 to 50.")
    domains = catalogue.named_or_readable(caller, query.domains)
    everything = len(domains) == len(catalogue.DOMAINS)
    return replace(
        query,
        text=text.encode("utf-8", "replace").decode(),
        domains=() if everything else domains,
    )


@dataclass(frozen=True, slots=True)
class Understood:
    """What a query says of the time, the kinds of record, the people and the very words
    that it wants; which type of question it is; and when it is asked.
    """

    when: timewords.When | None
    intent: query_intent.Intent
    question: question_type.Question | None
    now: datetime

    @property
    def phrases(self) -> tuple[str, ...]:
        """What is to be found word by word: what stands in quotes, and the very words
        of a question for the number of something (passport number).
        """
        if self.question is None or self.question.type != "number":
            return self.intent.phrases
        return (*self.intent.phrases, self.question.text)

    def as_json(self) -> dict[str, Any]:
        """What was understood, for whoever asks why."""
        understood = _time_as_json(self.when) if self.when else {}
        understood |= {
            "domains": sorted(self.intent.domains),
            "phrases": list(self.intent.phrases),
        }
        if self.question is not None:
            understood["question"] = self.question.type
        return {name: value for name, value in understood.items() if value}


def _time_as_json(when: timewords.When) -> dict[str, Any]:
    if when.session is not None:
        return {"session": [when.session, when.until_session or when.session]}
    days = (when.first, when.last)
    return {"days": [day.isoformat() if day else None for day in days]}


def understand(query: Query, *, timezone: str) -> Understood:
    """Read the time words, the intent and the type of a query."""
    now = query.now or datetime.now(UTC)
    if now.tzinfo is None:
        now = now.replace(tzinfo=UTC)
    when = timewords.read(query.text, now=now, timezone=timezone)
    today = now.astimezone(ZoneInfo(timezone)).date()
    if when is not None and _asks_for_plans(query.text):
        when = _ahead(query.text, when, today)
    question = question_type.read(query.text) or _agenda(query.text, when, today)
    if when is not None and question is not None and question.order == "next":
        when = _coming(query.text, when, today)
    return Understood(when, query_intent.read(query.text), question, now)


def _asks_for_plans(text: str) -> bool:
    """Whether a question asks for what is ahead: `what is on Saturday`."""
    words = " ".join(terms.words(terms.fold(text)))
    return question_frames.AHEAD.match(words) is not None


def _coming(text: str, when: timewords.When, today: date) -> timewords.When:
    """The day of the week that is ahead, where what takes place is asked for and no word
    says that it is over: `appointments on Friday`.
    """
    words = set(terms.words(terms.fold(text)))
    if words & question_frames.PAST:
        return when
    return _ahead(text, when, today)


def _ahead(text: str, when: timewords.When, today: date) -> timewords.When:
    """A week later, if a day of the week is meant and it was one of the last seven
    days.
    """
    day = when.first
    if day is None or day != when.last:
        return when
    words = terms.words(terms.fold(text))
    if not any(word in time_lexicon.WEEKDAYS for word in words):
        return when
    if not today - timedelta(7) <= day < today:
        return when
    day += timedelta(7)
    return replace(when, first=day, last=day)


def _agenda(
    text: str, when: timewords.When | None, today: date
) -> question_type.Question | None:
    """The question for what takes place at a time: `events tomorrow`, `Termine am
    Freitag`, `what do I have tomorrow`, `birthdays in May`.
    """
    if when is None or when.session is not None:
        return None
    words = timewords.content(text, when)
    kinds = [query_intent.kind_of(word) for word in words]
    is_ahead = when.firm and when.first is not None and when.first > today
    if set(words) <= question_frames.BIRTHDAYS | {"whose", "who"} and words:
        return question_type.Question(
            "agenda", ("contact", "event"), " ".join(words), order="next"
        )
    if None in kinds or ("event" not in kinds and (words or not is_ahead)):
        return None
    return question_type.Question("agenda", ("event", "task"), "", order="next")
