"""Information extraction from a record by rules: its entities, relations and links."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reverie.graph.extraction import (
    gazetteer,
    mentions,
    readable_records,
    record_fields,
    text_relations,
    update,
)
from reverie.privacy import folding, lists
from reverie.records import record_types

FOREIGN_DOMAINS = frozenset(
    {"feed", "feed_item", "bookmark", "transaction", "health", "run"}
)
"""Others have written it, and by the thousand: there, only what is known already is
looked for.
"""

# From this confidence on an unlisted name is a person's; set by hand.
_SURE = 0.7
# What statements in a text are called in the graph; any other is a relationship of that
# type.
_GRAPH_RELATIONS: Mapping[str, str] = {
    "lives_in": "located_in",
    "moved_to": "located_in",
    "works_at": "works_at",
}
_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,80})")


@dataclass(frozen=True, slots=True)
class RecordEntities:
    """What was extracted from a record, and the titles that it links to."""

    extraction: update.Extraction
    linked_titles: Sequence[str]


def extract(
    source: readable_records.ReadableRecord, known_nodes: gazetteer.Gazetteer
) -> RecordEntities:
    """Fields, names and plain statements of one record; and the titles that it links
    to.
    """
    named: list[update.NamedEntity] = []
    linked: list[str] = []
    facts: list[update.StatedFact] = []
    for number, text in _texts(source):
        ordinal = number or None
        recognised = mentions.find(text, known=known_nodes)
        linked += [match.group(1).strip() for match in _LINK.finditer(text)]
        if source.domain in FOREIGN_DOMAINS:
            chosen = [mention for mention in recognised if mention.key]
        else:
            relations = text_relations.find(text, recognised)
            facts += stated_facts(relations, ordinal)
            chosen = _chosen(recognised, relations)
        named += [_entity(mention, ordinal) for mention in chosen]
    extraction = update.Extraction(
        source.domain,
        source.record.id,
        source.title,
        source.at,
        fields=record_fields.of(record_types.fields_without_secrets(source.record)),
        named=named,
        stated=facts,
        undated=source.undated,
    )
    return RecordEntities(extraction, list(dict.fromkeys(linked)))


def _texts(source: readable_records.ReadableRecord) -> Iterator[tuple[int, str]]:
    """(ordinal, text): the title as 0, and the passages."""
    # The title of a card is its name, which the fields tell better.
    if source.domain != "contact":
        yield 0, source.title
    yield from source.passages


def _chosen(
    recognised: Sequence[mentions.Mention],
    relations: Sequence[text_relations.StatedRelation],
) -> list[mentions.Mention]:
    """The mentions that become nodes."""
    related = text_relations.related_names(relations) | {
        name for relation in relations for name in (relation.subject, relation.object)
    }
    return [
        mention
        for mention in mentions.salient(recognised, related=related)
        if mention.key or mention.name in related or _believable(mention)
    ]


def _believable(mention: mentions.Mention) -> bool:
    """Whether a new name may become a node: of a person, if its first part is a given
    name somewhere, or it is sure.
    """
    if mention.kind != "person" or mention.score >= _SURE:
        return True
    return lists.given(folding.plain(mention.name.split()[0])) > 0


def _entity(mention: mentions.Mention, ordinal: int | None) -> update.NamedEntity:
    # How it is marked in a text is no type, and a person is a person.
    untyped = mention.kind == "person" or mention.type in ("tag", "link")
    return update.NamedEntity(
        mention.kind,
        mention.name,
        "" if untyped else mention.type,
        key=mention.key,
        confidence=mention.score,
        ordinal=ordinal,
        written=mention.text if mention.key else "",
    )


def stated_facts(
    relations: Iterable[text_relations.StatedRelation], ordinal: int | None = None
) -> list[update.StatedFact]:
    """What a text states, as the graph takes it. `ordinal` is that of its passage."""
    return [
        update.StatedFact(
            _end(relation.subject),
            _GRAPH_RELATIONS.get(relation.relation, relation.relation),
            _end(relation.object),
            confidence=relation.confidence,
            valid_from=_beginning(relation.valid_from),
            ordinal=ordinal,
        )
        for relation in relations
    ]


def _end(name: str) -> str:
    return update.OWNER if name == text_relations.OWNER else name


def _beginning(date: str) -> datetime | None:
    """The beginning of `2026`, `2026-05` or `2026-05-03`; None for nothing, and for a
    day that there is not.
    """
    if not date:
        return None
    year, month, day = [*map(int, date.split("-")), 1, 1][:3]
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None
