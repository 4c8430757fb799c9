"""The scope of a search: its filters as one SQL condition with parameters."""

import re
from typing import Any, LiteralString

from reverie import db
from reverie.access import callers
from reverie.records import terms
from reverie.search import query as queries
from reverie.search.dates import days

# The cards of a scope, but for its days. The tiers are those of records/heat.py
# (TIER_CONDITIONS).
CARDS: LiteralString = """
(%(domains)s::text[] IS NULL OR card.domain = ANY(%(domains)s))
AND (%(tag)s::text IS NULL OR card.tags @> ARRAY[%(tag)s::text])
AND (%(records)s::uuid[] IS NULL OR card.record_id = ANY(%(records)s))
AND (%(person)s::text IS NULL OR EXISTS (SELECT FROM unnest(card.people) AS one WHERE one LIKE %(person)s))
AND (%(category)s::text IS NULL OR card.category = %(category)s)
AND (%(file)s::text IS NULL OR card.origin LIKE %(file)s)
AND (%(tier)s::text IS NULL OR (
    SELECT CASE %(tier)s WHEN 'hot' THEN warm.th > 0.7 WHEN 'warm' THEN warm.th > 0.2 ELSE warm.th <= 0.2 END
    FROM (SELECT coalesce((
        SELECT heat FROM heat WHERE heat.user_id = card.user_id AND heat.record_id = card.record_id
    ), 0)) AS warm (th)
))
"""
_PASSAGES = """
EXISTS (
    SELECT FROM card WHERE card.user_id = %(user)s AND card.record_id = passage.record_id AND {cards}
      AND ((%(first)s::date IS NULL AND %(last)s::date IS NULL)
           OR {day} BETWEEN coalesce(%(first)s, '-infinity'::date) AND coalesce(%(last)s, 'infinity'::date))
)
"""
EVERYWHERE: LiteralString = "true"


def condition(query: queries.Query) -> Any:
    """The condition of a query on passages, true where nothing narrows it."""
    if not query.narrowed:
        return db.text(EVERYWHERE)
    return db.compose(_PASSAGES, day=db.text(days.DAY), cards=db.text(CARDS))


def parameters(caller: callers.Caller, query: queries.Query) -> dict[str, object]:
    """What the SQL of a scope asks for."""
    return {
        "user": caller.user_id,
        "domains": list(query.domains) or None,
        "tag": query.tag,
        "first": query.first,
        "last": query.last,
        "records": list(query.records) or None,
        "person": _containing(query.person),
        "category": None if query.category is None else terms.fold(query.category),
        "file": _containing(query.file),
        "tier": query.tier,
        "zone": caller.timezone,
    }


def _containing(text: str | None) -> str | None:
    """A LIKE pattern for folded texts that contain this one."""
    if text is None:
        return None
    return "%" + re.sub(r"([\\%_])", r"\\\1", terms.fold(text)) + "%"
