"""Heat: how relevant a record is right now, from 0 to 1, by exponential decay.

effective = accesses * max(0, 1 - hours_since_last_increment / 8766)
raw       = effective * exp(-ln 2 / 168 * hours_since_last_access)
n         = raw / 10
heat      = min(1, n if n <= 0.8 else 0.8 + (n - 0.8) * 0.5)
"""

import math
from collections.abc import Mapping
from typing import Literal, LiteralString
from uuid import UUID

from reverie import db

Source = Literal["user", "agent", "sleep", "sync", "import", "unknown"]
TIER_CONDITIONS: Mapping[str, LiteralString] = {
    "hot": "coalesce(heat.heat, 0) > 0.7",
    "warm": "coalesce(heat.heat, 0) > 0.2",
    "cold": "coalesce(heat.heat, 0) <= 0.2",
}
"""What a list that is joined with the table `heat` is narrowed by, by tier."""
YEAR_H, HALF_LIFE_H = 8766.0, 168.0

# How much one access counts. What a machine brings in by the thousand starts colder;
# sleep does not warm.
WEIGHT: dict[Source, float] = {
    "user": 1.0,
    "agent": 1.0,
    "sleep": 0.0,
    "sync": 0.25,
    "import": 0.25,
    "unknown": 1.0,
}

# The formula above, once, as SQL over (accesses, incremented_at, accessed_at) at the
# time now().
_TOUCH = """
INSERT INTO heat AS old (user_id, record_id, accesses, incremented_at, accessed_at, source, heat)
VALUES (%(user)s, %(record)s, %(weight)s, now(), now(), %(source)s, least(1, %(weight)s / 10.0))
ON CONFLICT (user_id, record_id) DO UPDATE SET
    accesses = old.accesses + %(weight)s,
    incremented_at = now(),
    accessed_at = now(),
    source = %(source)s,
    heat = CASE WHEN (old.accesses + %(weight)s) / 10 <= 0.8 THEN (old.accesses + %(weight)s) / 10
                ELSE least(1, 0.8 + ((old.accesses + %(weight)s) / 10 - 0.8) * 0.5) END
"""
_RECOMPUTE = """
UPDATE heat SET heat = CASE WHEN n <= 0.8 THEN n ELSE least(1, 0.8 + (n - 0.8) * 0.5) END
FROM (
    SELECT user_id AS owner, record_id AS record,
        accesses * greatest(0, 1 - extract(epoch FROM now() - incremented_at) / 3600 / 8766)
        * exp(-ln(2) / 168 * greatest(0, extract(epoch FROM now() - accessed_at) / 3600)) / 10 AS n
    FROM heat
) AS fresh
WHERE heat.user_id = owner AND heat.record_id = record
"""


def value(
    *, accesses: float, hours_since_increment: float, hours_since_access: float
) -> float:
    """The formula in Python, for explaining and testing."""
    effective = accesses * max(0.0, 1 - hours_since_increment / YEAR_H)
    n = effective * math.exp(-math.log(2) / HALF_LIFE_H * hours_since_access) / 10
    return min(1.0, n if n <= 0.8 else 0.8 + (n - 0.8) * 0.5)


async def touch(
    tx: db.Transaction, caller: db.HasUser, *, record_id: UUID, source: Source
) -> None:
    """Count one access: one upsert."""
    weight = WEIGHT[source]
    if weight:
        await tx.run(
            _TOUCH,
            {
                "user": caller.user_id,
                "record": record_id,
                "weight": weight,
                "source": source,
            },
        )


async def recompute(tx: db.Transaction) -> int:
    """Let all records of the transaction's user cool down to now, in one statement;
    returns how many rows.
    """
    return await tx.run(_RECOMPUTE)


def source_of(kind: str, source: str) -> Source:
    """How an access counts, from the caller's kind and the record's source."""
    if source == "import" or source.startswith("import:"):
        return "import"
    if source.startswith("sync"):
        return "sync"
    return "user" if kind == "user" else "agent" if kind == "agent" else "unknown"
