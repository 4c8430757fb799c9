"""Named entity extraction by a language model (LLM), grounded in the text.

It is asked what a text is about; of its answer stays what the text bears out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Any, Literal, cast
from uuid import UUID

import pydantic

from reverie import db, errors
from reverie.graph.extraction import mentions, text_relations
from reverie.llm import chat

LONGEST = 24_000
MOST_CONCEPTS = 3
MOST_ITEMS = 60
_MAX_TOKENS = 2048
# How sure a model's relation is, set by hand.
_CONFIDENCE = 0.7
_ENTITY_TYPES = (
    "company place project product object group institution technology event work".split()  # noqa: SIM905
)
# What models say instead: kinds and types that are ours by another name.
_KINDS: Mapping[str, tuple[str, str]] = {
    "people": ("person", ""),
    "per": ("person", ""),
    "human": ("person", ""),
    "org": ("entity", "company"),
    "organization": ("entity", "company"),
    "organisation": ("entity", "company"),
    "location": ("entity", "place"),
    "city": ("entity", "place"),
    "country": ("entity", "place"),
    "tool": ("entity", "technology"),
    "software": ("entity", "technology"),
    "topic": ("concept", ""),
    "idea": ("concept", ""),
    "theme": ("concept", ""),
}
_DATE = re.compile(r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?")
_NOT_SNAKE = re.compile(r"[^a-z0-9]+")

# What models call the owner, and what is nobody's name.
_OWNERS = ("owner", "i", "me", "user", "the user", "the owner")
_NOBODY = frozenset(
    "i me you he she we they us them the user owner ich du er sie wir yo tu el ella".split()  # noqa: SIM905
) | {"the user", "the owner"}


def _text(value: Any) -> Any:
    """Nothing for null; a number as text; anything else as it is."""
    if value is None:
        return ""
    return str(value).strip() if isinstance(value, str | int | float) else value


Words = Annotated[
    str, pydantic.BeforeValidator(_text), pydantic.StringConstraints(max_length=2000)
]


class Tie(pydantic.BaseModel):
    """A relation of an item to another thing of the text, or to the owner."""

    relation: Annotated[
        str,
        pydantic.BeforeValidator(_text),
        pydantic.StringConstraints(min_length=1, max_length=80),
    ]
    to: Annotated[
        str,
        pydantic.BeforeValidator(_text),
        pydantic.StringConstraints(min_length=1, max_length=200),
    ]
    since: Words = ""


class EntityItem(pydantic.BaseModel):
    """One thing that a model finds in a text."""

    kind: Literal["person", "entity", "concept"]
    name: Annotated[
        str,
        pydantic.BeforeValidator(_text),
        pydantic.StringConstraints(min_length=1, max_length=200),
    ]
    type: Words = ""
    description: Words = ""
    relations: list[Tie] = []

    @pydantic.model_validator(mode="before")
    @classmethod
    def forgiving(cls, value: Any) -> Any:
        """Kinds under other names, and relations that are null, one, or in part
        unusable.
        """
        if not isinstance(value, dict):
            return value
        fields = dict(cast(Mapping[str, Any], value))
        kind, type_ = _kind_and_type(str(fields.get("kind") or ""))
        fields["kind"] = kind
        fields["type"] = fields.get("type") or type_
        relations: Any = fields.get("relations")
        if not isinstance(relations, list):
            relations = [relations]
        fields["relations"] = [
            row for row in cast(list[Any], relations) if _usable(row)
        ]
        return fields


def _kind_and_type(word: str) -> tuple[str, str]:
    """The kind that a model means, and the type if it says one in its place."""
    kind = word.strip().lower()
    if kind in _KINDS:
        return _KINDS[kind]
    return ("entity", kind) if kind in _ENTITY_TYPES else (kind, "")


def _usable(row: Any) -> bool:
    try:
        Tie.model_validate(row)
    except pydantic.ValidationError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class ExtractedEntities:
    """What a model found that the text bears out. `refused` counts what was dropped;
    `failed` tells of a failure.
    """

    items: tuple[EntityItem, ...]
    relations: tuple[text_relations.StatedRelation, ...] = ()
    refused: int = 0
    failed: str = ""
    model: str = ""


async def ask(
    models: chat.Models,
    caller: db.HasUser,
    text: str,
    *,
    domain: str,
    record_id: UUID | None,
    level: chat.Level,
    lane: chat.Lane = "bulk",
) -> ExtractedEntities:
    """What a text is about. A bad answer is marked and never raised.

    Raises ModelUnavailable, Confined and BudgetSpent: then nothing was asked, and it
    may be asked again later.
    """
    framed = f"<record>\n{_harmless(text[:LONGEST])}\n</record>"
    request = chat.ChatRequest(
        (chat.Message("system", prompt()), chat.Message("user", framed)),
        "extraction",
        domain=domain,
        record=record_id,
        level=level,
        lane=lane,
        max_tokens=_MAX_TOKENS,
        schema=EntityItem,
    )
    try:
        answered = await models.items(caller, request, EntityItem)
    except errors.Invalid as refusal:
        return ExtractedEntities(
            (), failed=str(refusal) or "The model refused the question."
        )
    kept, dropped = borne_out(text, answered.items)
    refused = answered.refused + dropped
    failed = (
        ""
        if kept or not refused
        else "The model's answer held nothing that the text bears out."
    )
    return ExtractedEntities(
        kept, relations_of(text, kept), refused, failed, answered.answer.model
    )


@cache
def prompt() -> str:
    """What a model is told."""
    return (
        resources.files("reverie.graph.extraction")
        .joinpath("prompts", "extract.md")
        .read_text("utf-8")
    )


def _harmless(text: str) -> str:
    """A text cannot end its own frame."""
    return re.sub(r"<(/?)record>", r"(\1record)", text, flags=re.IGNORECASE)


def borne_out(
    text: str, items: Iterable[EntityItem]
) -> tuple[tuple[EntityItem, ...], int]:
    """The items whose name is in the text, each once, with the text's own spelling; and
    how many were dropped.
    """
    kept: dict[tuple[str, str], EntityItem] = {}
    dropped = concepts = 0
    for item in items:
        name = _name_in_text(text, item)
        if not name or len(kept) >= MOST_ITEMS:
            dropped += 1
            continue
        key = (mentions.plain_name(name), item.kind)
        if key in kept:
            kept[key] = _joined(kept[key], item)
            continue
        concepts += item.kind == "concept"
        if item.kind == "concept" and concepts > MOST_CONCEPTS:
            dropped += 1
            continue
        kept[key] = item.model_copy(update={"name": name, "type": _type(item)})
    return tuple(kept.values()), dropped


def _name_in_text(text: str, item: EntityItem) -> str:
    """The name as the text writes it; nothing if it is not there or nobody's."""
    name = written(text, item.name)
    if name and item.kind == "person" and not _somebody(text, name):
        return ""
    return name


def _type(item: EntityItem) -> str:
    if item.kind != "entity":
        return ""
    named = item.type.strip().lower()
    return _KINDS.get(named, ("", named))[1] if named else "object"


def _joined(first: EntityItem, again: EntityItem) -> EntityItem:
    return first.model_copy(
        update={
            "description": first.description or again.description,
            "relations": [*first.relations, *again.relations],
        }
    )


def written(text: str, name: str) -> str:
    """A name as the text writes it, whatever the case and the spaces of the model;
    nothing if it is not there.
    """
    words = name.strip().strip("\"'`").split()
    if not words:
        return ""
    pattern = r"(?<!\w)" + r"\s+".join(re.escape(word) for word in words) + r"(?!\w)"
    match = re.search(pattern, text) or re.search(pattern, text, re.IGNORECASE)
    return " ".join(match.group().split()) if match else ""


def _somebody(text: str, name: str) -> bool:
    """Whether it can be a person's name: `four people` is nobody in a text that knows
    capitals.
    """
    if not any(letter.isalpha() for letter in name):
        return False
    if mentions.plain_name(name) in _NOBODY:
        return False
    last = name.split()[-1]
    if last[:1].isupper() or not last[:1].isalpha():
        return True
    return not any(letter.isupper() for letter in text)


def relations_of(
    text: str, items: Sequence[EntityItem]
) -> tuple[text_relations.StatedRelation, ...]:
    """The relations of items to things that the text names, or to the owner, with where
    the first of them stands.
    """
    stated: dict[tuple[str, str, str], text_relations.StatedRelation] = {}
    for item in items:
        for tie in item.relations:
            object_ = _object(text, tie)
            relation = _NOT_SNAKE.sub("_", tie.relation.lower()).strip("_")
            if not object_ or not relation or object_ == item.name:
                continue
            key = (item.name, relation, object_)
            since = tie.since if _DATE.fullmatch(tie.since) else ""
            stated.setdefault(
                key,
                text_relations.StatedRelation(
                    *key, *_extent(text, item.name), since, _CONFIDENCE
                ),
            )
    return tuple(stated.values())


def _object(text: str, tie: Tie) -> str:
    """The owner, or what a relation leads to as the text writes it."""
    if tie.to.strip().lower() in _OWNERS:
        return text_relations.OWNER
    return written(text, tie.to)


def _extent(text: str, name: str) -> tuple[int, int]:
    """Where a name stands first; all of the text if it is written otherwise."""
    start = text.find(name)
    return (start, start + len(name)) if start >= 0 else (0, len(text))
