"""Nodes of the graph as plain data: their keys, and the hash of what is embedded."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from reverie import db
from reverie.graph import relations
from reverie.graph.resolution import keys

Kind = relations.Kind
By = Literal["user", "model", "system"]
_EMBEDDED: frozenset[Kind] = frozenset({"concept", "entity", "artifact"})


@dataclass(frozen=True, slots=True)
class Node:
    """A person, a concept, an entity, a source or an artifact. `hash` is of the text
    that its vector is made of.
    """

    id: UUID
    key: str
    kind: Kind
    name: str
    type: str
    description: str
    properties: dict[str, Any]
    is_owner: bool
    created_by: By
    domain: str | None
    record_id: UUID | None
    links: int
    salience: float
    touched_at: datetime
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NodeDraft:
    """A node to be made. `emails` are those of a person; `apart` makes another key for
    somebody of the same name.
    """

    kind: Kind
    name: str
    type: str = ""
    description: str = ""
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    emails: Sequence[str] = ()
    names: Sequence[str] = ()
    by: By = "system"
    apart: str = ""
    is_owner: bool = False


def key_of(user: db.HasUser, new: NodeDraft) -> str:
    """The key of a node: of its name, its kind (an entity's type is not in it, since
    readers differ) and its user.
    """
    name = f"{new.name} {new.apart}" if new.apart else new.name
    return keys.key(user.user_id, new.kind, name)


def tombstone(user: db.HasUser, kind: str, alias: str) -> str:
    """The key that is kept of a name or an address of something erased."""
    return keys.key(user.user_id, f"{kind} alias", alias)


def hash_of(
    kind: Kind, name: str, description: str, properties: Mapping[str, Any]
) -> bytes | None:
    """The hash of what a node's vector is made of, or None where it says no more than
    its name.
    """
    text = text_of(kind, name, description, properties)
    if not text:
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def text_of(
    kind: Kind, name: str, description: str, properties: Mapping[str, Any]
) -> str:
    """The text that a node's vector is made of: concepts and entities that say what
    they are.
    """
    notes = str(properties.get("notes") or "")
    about = " ".join(part for part in (description, notes) if part)
    return f"{name}: {about}" if about and kind in _EMBEDDED else ""
