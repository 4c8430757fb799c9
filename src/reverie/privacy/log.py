"""Routing log: one row a call of a model, with where it went and nothing of its text.

The row is there before the call: what left this machine is in the log even if the
process was killed meanwhile.
"""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from reverie import db
from reverie.privacy import routing

Outcome = Literal["begun", "done", "failed", "stopped", "refused"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of a call. `feature` and `domain` are words of the program's, never
    of its user's.
    """

    feature: str
    domain: str
    record: UUID | None
    lane: str
    level: routing.Level
    action: routing.Action
    destination: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    outcome: Outcome = "begun"


@dataclass(frozen=True, slots=True)
class Metered:
    """What one model was asked."""

    model: str
    destination: str
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, slots=True)
class Summary:
    """How many calls there were, and what became of them."""

    days: int
    processed: int
    plain: int
    pseudonymised: int
    local: int
    blocked: int
    models: tuple[Metered, ...]

    @property
    def sentence(self) -> str:
        """As people read it."""
        since = {1: "today", 7: "this week"}.get(self.days, f"in {self.days} days")
        on_this_machine = f", {self.local:,} on this machine" if self.local else ""
        return (
            f"{since}: {self.processed:,} processed, {self.plain:,} plain, {self.pseudonymised:,} pseudonymised, "
            f"{self.blocked:,} blocked{on_this_machine}"
        )


_APPEND = """
INSERT INTO pii_routing_log (user_id, feature, domain, record_id, lane, level, action, destination, model, tokens_in,
    tokens_out, outcome)
VALUES (%(user)s, %(feature)s, %(domain)s, %(record)s, %(lane)s, %(level)s, %(action)s, %(destination)s, %(model)s,
    %(tokens_in)s, %(tokens_out)s, %(outcome)s)
RETURNING id
"""
_FINISH = """
UPDATE pii_routing_log SET tokens_in = %(tokens_in)s, tokens_out = %(tokens_out)s, outcome = %(outcome)s
WHERE user_id = %(user)s AND id = %(id)s
"""
_COUNTS = """
SELECT action, count(*) AS calls FROM pii_routing_log WHERE user_id = %s AND at >= %s GROUP BY action
"""
_MODELS = """
SELECT model, destination, count(*) AS calls, count(*) FILTER (WHERE outcome <> 'done') AS failed,
    sum(tokens_in)::bigint AS tokens_in, sum(tokens_out)::bigint AS tokens_out
FROM pii_routing_log WHERE user_id = %s AND at >= %s AND action <> 'blocked'
GROUP BY model, destination ORDER BY calls DESC, model
"""
# Days are the user's own: today, and as many before it as are asked for.
_SINCE = """
SELECT (date_trunc('day', now() AT TIME ZONE timezone) - make_interval(days => %s)) AT TIME ZONE timezone
FROM users WHERE user_id = %s
"""
_SPENT = """
SELECT coalesce(sum(tokens_in + tokens_out), 0)::bigint FROM pii_routing_log
WHERE user_id = %s AND lane = 'bulk' AND destination = 'cloud' AND action <> 'blocked' AND at >= %s
"""


async def append(tx: db.Transaction, caller: db.HasUser, entry: Entry) -> int:
    """Write one call down; returns what `finish` finds it by."""
    values = {
        "user": caller.user_id,
        "feature": entry.feature,
        "domain": entry.domain,
        "record": entry.record,
        "lane": entry.lane,
        "level": entry.level.word,
        "action": entry.action,
        "destination": entry.destination,
        "model": entry.model,
        "tokens_in": entry.tokens_in,
        "tokens_out": entry.tokens_out,
        "outcome": entry.outcome,
    }
    return int(await tx.value(_APPEND, values))


async def finish(
    tx: db.Transaction,
    caller: db.HasUser,
    number: int,
    *,
    outcome: Outcome,
    tokens_in: int,
    tokens_out: int,
) -> None:
    """What became of a call."""
    values = {"user": caller.user_id, "id": number, "outcome": outcome}
    await tx.run(_FINISH, values | {"tokens_in": tokens_in, "tokens_out": tokens_out})


async def spent_today(tx: db.Transaction, caller: db.HasUser) -> int:
    """The tokens that background work has sent to clouds, and got from them, since the
    user's midnight.
    """
    since = await tx.value(_SINCE, (0, caller.user_id))
    return int(await tx.value(_SPENT, (caller.user_id, since)))


async def summary(tx: db.Transaction, caller: db.HasUser, days: int) -> Summary:
    """What became of the calls of the last days, today included."""
    since = await tx.value(_SINCE, (days - 1, caller.user_id))
    counts = {
        row["action"]: int(row["calls"])
        for row in await tx.rows(_COUNTS, (caller.user_id, since))
    }
    return Summary(
        days=days,
        processed=sum(counts.values()),
        plain=counts.get("sent_plain", 0),
        pseudonymised=counts.get("sent_pseudonymised", 0),
        local=counts.get("local", 0),
        blocked=counts.get("blocked", 0),
        models=tuple(await tx.all(Metered, _MODELS, (caller.user_id, since))),
    )
