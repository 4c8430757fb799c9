"""Vectors of what nodes of the graph say of themselves."""

import logging
from collections.abc import Mapping
from typing import Any

from reverie import errors
from reverie.graph import node_data
from reverie.llm import embedding
from reverie.pipeline import slots, vector_store

log = logging.getLogger(__name__)

_MISSING = """
SELECT DISTINCT ON (node.hash) node.hash, node.kind, node.name, node.description, node.properties FROM node
WHERE node.user_id = %(user)s AND node.hash IS NOT NULL AND node.deleted_at IS NULL AND NOT EXISTS (
    SELECT FROM embedding
    WHERE embedding.user_id = node.user_id AND embedding.model = %(model)s AND embedding.hash = node.hash
)
ORDER BY node.hash LIMIT %(most)s
"""


async def make(work: slots.Work) -> None:
    """Make the vectors that nodes of the graph lack, as far as the model goes: what is
    left is made the next time.

    What is said of somebody is as private as a mail.
    """
    model = work.embeddings.model
    origin = embedding.Origin(
        work.user, "embedding", level=embedding.Level.HIGH, lane="bulk"
    )
    values = {
        "user": work.user.user_id,
        "model": model,
        "most": work.embeddings.batch,
    }
    while model:
        async with work.database.transaction(work.user) as tx:
            missing = await tx.rows(_MISSING, values)
        if not missing:
            return
        texts = [_text_of(row) for row in missing]
        try:
            vectors = await work.embeddings.passages(texts, model, origin=origin)
        except (errors.Unavailable, errors.Invalid, errors.Confined) as away:
            log.info("%s nodes have no vector yet: %s", len(missing), away.message)
            return
        hashes = [row["hash"] for row in missing]
        async with work.database.transaction(work.user) as tx:
            await vector_store.keep(tx, work.user, model, hashes, vectors)


def _text_of(row: Mapping[str, Any]) -> str:
    return node_data.text_of(
        row["kind"], row["name"], row["description"], row["properties"]
    )
