"""What is asked: the words, the scope and the filters of one search."""

from dataclasses import dataclass, replace
from datetime import date

from reverie import errors
from reverie.records import base, catalogue

LONGEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One search. `first` and `last` are days (inclusive) of the record's own date; no domains means all."""

    text: str
    domains: tuple[str, ...] = ()
    limit: int = 10
    include_cold: bool = False
    tier: base.Tier | None = None
    tag: str | None = None
    first: date | None = None
    last: date | None = None

    @property
    def narrowed(self) -> bool:
        """Whether a filter leaves out a part of what is kept."""
        return any((self.domains, self.tag, self.first, self.last, self.tier))


def checked(query: Query) -> Query:
    """The query with its text trimmed and its domains by name. Raises Invalid."""
    text = " ".join(query.text.replace("\x00", " ").split())
    if not text:
        raise errors.Invalid("There is nothing to search for.", hint="Give some words.")
    if len(text) > LONGEST:
        raise errors.Invalid(f"A search has at most {LONGEST} characters.", hint="Ask for less at once.")
    if not 1 <= query.limit <= 50:
        raise errors.Invalid("`limit` must be from 1 to 50.")
    domains = tuple(catalogue.domain(name).name for name in query.domains)
    return replace(query, text=text.encode("utf-8", "replace").decode(), domains=domains)
