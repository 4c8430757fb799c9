"""MCP tools that only read: search, get_record, list_changes."""

import json
import typing
import zoneinfo
from datetime import UTC, datetime, tzinfo
from typing import Annotated, Any
from uuid import UUID

import pydantic

from reverie import compact, db, errors
from reverie.access import callers, operations
from reverie.graph import warming
from reverie.records import base as records
from reverie.records import catalogue, changes, record_types
from reverie.search import query as queries
from reverie.search import results as search_results
from reverie.search import search as search_engine
from reverie.tools import base

# Characters of what a tool shows: set by hand, so that an answer stays small for a model.
PASSAGE = 300
PLACE = 60
TITLE = 80
LONGEST_FIELD = 12_000
_BEFORE_HIT = 80
_SIGNAL_WORDS = {"lexical": "words", "semantic": "meaning"}
_DOMAINS = ", ".join(catalogue.DOMAINS)
_DOMAIN_OF = "SELECT domain FROM card WHERE user_id = %s AND record_id = %s"


class Search(base.Arguments):
    query: Annotated[
        str,
        pydantic.Field(
            min_length=1, max_length=queries.LONGEST, description="what to look for"
        ),
    ]
    domains: Annotated[
        list[str] | None,
        pydantic.Field(description=f"only these kinds of record: {_DOMAINS}"),
    ] = None
    limit: Annotated[int, pydantic.Field(ge=1, le=20)] = 8
    include_cold: Annotated[
        bool, pydantic.Field(description="also what was opened once, long ago")
    ] = False
    words_only: Annotated[
        bool, pydantic.Field(description="quick: by words, not by meaning")
    ] = False


class GetRecord(base.Arguments):
    id: Annotated[
        UUID, pydantic.Field(description="the whole UUID, as search gives it")
    ]
    domain: Annotated[str | None, pydantic.Field(description="its kind, if known")] = (
        None
    )
    fields: Annotated[
        list[str] | None,
        pydantic.Field(
            description="only these fields; without it, all that are not empty"
        ),
    ] = None
    start: Annotated[
        int,
        pydantic.Field(
            ge=0, description="with one field: where to go on in it, as `cut` said"
        ),
    ] = 0


class ListChanges(base.Arguments):
    since: Annotated[
        pydantic.AwareDatetime,
        pydantic.Field(
            description="ISO time with its offset, or the last response_timestamp"
        ),
    ]
    domain: Annotated[
        str | None, pydantic.Field(description=f"only this kind: {_DOMAINS}")
    ] = None
    # From 2 on: the row at `since` comes again, so pages of one row would never go on.
    limit: Annotated[int, pydantic.Field(ge=2, le=200)] = 50


async def search(
    toolbox: base.Toolbox, caller: callers.Caller, arguments: Search
) -> str:
    """The hits as lines for a model, and what was not search_results."""
    question = queries.Query(
        text=arguments.query,
        domains=tuple(arguments.domains or ()),
        limit=arguments.limit,
        include_cold=arguments.include_cold,
        words_only=arguments.words_only,
    )
    results = await search_engine.search(
        toolbox.database, caller, toolbox.embeddings, question, settings=toolbox.search
    )
    zone = _timezone(caller)
    lines = [line for hit in results.hits for line in _hit_lines(hit, zone)]
    if not results.hits:
        lines.append(results.reason)
    lines.append(_remarks(results))
    if results.hidden_cold:
        lines.append(
            f"{results.hidden_cold} more went cold: include_cold=true shows them."
        )
    return "\n".join(line for line in lines if line)


async def get_record(
    toolbox: base.Toolbox, caller: callers.Caller, arguments: GetRecord
) -> dict[str, Any]:
    """One record, warmed by being opened. Raises NotFound alike for unknown, foreign
    and deleted ids.
    """
    if arguments.start and len(arguments.fields or ()) != 1:
        raise errors.Invalid(
            "`start` goes with exactly one field.", hint='Such as fields=["content"].'
        )
    async with toolbox.database.transaction(caller) as tx:
        domain = await _domain_of(tx, caller, arguments)
        _check_fields(domain, arguments.fields)
        record = await records.read(tx, caller, domain, arguments.id)
        await warming.opened(tx, caller, record.id)
    complete = record_types.as_json(domain, record)
    fields = _non_empty(complete)
    if arguments.fields:
        fields = {name: complete[name] for name in arguments.fields}
    answer: dict[str, Any] = {"domain": domain.name, "id": str(record.id)}
    return answer | _cut_to_limit(fields, arguments.start)


def _cut_to_limit(fields: dict[str, Any], start: int) -> dict[str, Any]:
    """The fields from `start` on, as much of each as an answer should hold; `cut` says
    of which there is more.
    """
    answer: dict[str, Any] = {}
    cut: dict[str, str] = {}
    for name, value in fields.items():
        answer[name], total = _within_limit(value, start)
        if total is not None:
            end = start + len(answer[name])
            unit = "characters" if isinstance(value, str) else "items"
            cut[name] = f"{start} to {end} of {total} {unit}"
            if end < total:
                cut[name] += f', go on with fields=["{name}"], start={end}'
    return answer | ({"cut": cut} if cut else {})


async def list_changes(
    toolbox: base.Toolbox, caller: callers.Caller, arguments: ListChanges
) -> str:
    """The last change of each record since a moment, oldest first; going on from the
    stamp misses nothing.
    """
    requested = [arguments.domain] if arguments.domain else None
    domains = catalogue.named_or_readable(caller, requested)
    only = domains[0] if requested else None
    async with toolbox.database.transaction(caller) as tx:
        changed = await changes.since(tx, caller, moment=arguments.since, domain=only)
    rows = sorted(
        (*changed.created, *changed.updated, *changed.deleted),
        key=lambda change: (change.at, change.seq),
    )
    rows = [change for change in rows if change.domain in domains]
    shown = rows[: arguments.limit]
    more = len(rows) - len(shown)
    stamp = changed.response_timestamp
    if more:
        stamp = min(stamp, shown[-1].at)
    lines = [_change_line(change) for change in shown] or ["Nothing changed."]
    if more:
        lines.append(f"{more} more: ask again with since=response_timestamp.")
    return "\n".join([*lines, f"response_timestamp: {_timestamp(stamp)}"])


def _timezone(caller: callers.Caller) -> tzinfo:
    try:
        return zoneinfo.ZoneInfo(caller.timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return UTC


def _hit_lines(hit: search_results.Hit, zone: tzinfo) -> list[str]:
    """Two lines at most: stored text cannot forge a third, since each is clipped to one
    line.
    """
    when = f" {hit.at.astimezone(zone).date()}" if hit.at else ""
    head = f"{compact.clip(hit.title, TITLE)} — {hit.domain} —{when} id:{hit.record_id}"
    if not hit.passages:
        return [head]
    best = hit.passages[0]
    place = compact.clip(hit.where(best), PLACE)
    if place:
        head += f" ({place})"
    excerpt = _excerpt(best)
    if not excerpt or excerpt == compact.clip(hit.title, PASSAGE):
        return [head]
    return [head, f"  > {excerpt}"]


def _excerpt(passage: search_results.FoundPassage) -> str:
    """The part of a passage around its first marked word."""
    first = passage.highlights[0][0] if passage.highlights else 0
    if len(passage.text) <= PASSAGE or first <= PASSAGE // 2:
        return compact.clip(passage.text, PASSAGE)
    start = passage.text.find(" ", first - _BEFORE_HIT, first) + 1 or first
    return "…" + compact.clip(passage.text[start:], PASSAGE - 1)


def _remarks(results: search_results.Results) -> str:
    """The time that was searched, and what had no part in this answer."""
    signals = dict(results.signals)
    time = signals.pop("time", "")
    signals.pop("phrases", "")
    remarks = search_results.remarks(results)
    if time.startswith("more of "):
        remarks.append(f"Time: {time}.")
    missing = [
        _missing(name, state) for name, state in signals.items() if state != "ok"
    ]
    if missing:
        remarks.append(f"Not searched by: {'; '.join(missing)}.")
    return " ".join(remarks)


def _missing(signal: str, state: str) -> str:
    """`meaning (the model is not there)`."""
    reason = state.removeprefix("left out: ").rstrip(".")
    return f"{_SIGNAL_WORDS.get(signal, signal)} ({reason})"


async def _domain_of(
    tx: db.Transaction, caller: callers.Caller, arguments: GetRecord
) -> record_types.Domain[Any]:
    if arguments.domain:
        domain = catalogue.domain(arguments.domain)
        caller.need(domain.plural, "read")
        return domain
    name = await tx.value(_DOMAIN_OF, (caller.user_id, arguments.id))
    if name is None or name not in catalogue.readable(caller):
        raise errors.NotFound(
            "There is no such record.",
            hint="It may have been deleted; search gives the ids there are.",
        )
    return catalogue.domain(str(name))


def _check_fields(domain: record_types.Domain[Any], fields: list[str] | None) -> None:
    available = domain.shown
    for name in fields or ():
        if name not in available:
            raise errors.Invalid(
                f"`fields`: a {domain.name} has no field `{compact.clip(name, 40)}`.",
                hint=f"Fields: {', '.join(available)}.",
            )


def _non_empty(complete: dict[str, Any]) -> dict[str, Any]:
    """What is not empty; of a body in two forms, the text."""
    fields = {
        name: value
        for name, value in complete.items()
        if name != "id" and value not in (None, "", [], {})
    }
    if "body_text" in fields:
        fields.pop("body_html", None)
    return fields


def _within_limit(value: Any, start: int) -> tuple[Any, int | None]:
    """As much of a long text or list as an answer should hold, and the whole length
    when that is not all.
    """
    if isinstance(value, str):
        part = value[start : start + LONGEST_FIELD]
    elif isinstance(value, list):
        part = list[Any]()
        size = 0
        for item in typing.cast(list[Any], value)[start:]:
            size += len(json.dumps(item, ensure_ascii=False))
            if part and size > LONGEST_FIELD:
                break
            part.append(item)
    else:
        return value, None
    return part, len(value) if len(part) < len(value) else None


def _change_line(change: changes.Change) -> str:
    what = compact.clip(change.summary, TITLE)
    return f"{change.action} {change.domain} {what} — {_timestamp(change.at)} by {change.caller} id:{change.record_id}"


def _timestamp(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


SEARCH = base.Tool(
    name="search",
    title="Search the memory",
    description="Find what the owner keeps (notes, events, mail, files, …) by words and by meaning.",
    arguments=Search,
    operation=operations.named("search"),
    destructive=False,
    run=search,
)
GET_RECORD = base.Tool(
    name="get_record",
    title="Open a record",
    description="Open one record whole, by the id that search or list_changes gave.",
    arguments=GetRecord,
    operation=operations.named("records.get"),
    destructive=False,
    run=get_record,
)
LIST_CHANGES = base.Tool(
    name="list_changes",
    title="What changed",
    description="What was created, updated or deleted since a time; response_timestamp is the next `since`.",
    arguments=ListChanges,
    operation=operations.named("changes"),
    destructive=False,
    run=list_changes,
)
