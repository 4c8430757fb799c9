"""The health of what is derived: slots in trouble, changes put aside, texts without
vectors, records out of search.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reverie import db, errors
from reverie.access import callers
from reverie.llm import chat, embedding
from reverie.pipeline import dead_letters, embed, models, worker
from reverie.records import catalogue


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: how it is, and what to do about it."""

    level: Literal["wrong", "degraded", "ok"]
    about: str
    state: str
    remedy: str


_LIVE = "SELECT count(*) FROM {table} WHERE user_id = %s AND deleted_at IS NULL"
_CARDS = "SELECT count(*) FROM card WHERE user_id = %s"
_VERSION = "SELECT split_part(version(), ' on ', 1)"


async def examine(
    database: db.Database,
    embeddings: embedding.Embeddings,
    caller: callers.Caller,
    *,
    language: chat.Models | None = None,
    retry: bool = False,
) -> list[Finding]:
    """Look at everything that can be wrong without a word. With `retry`, what was put
    aside is due at once.
    """
    found: list[Finding] = []
    async with database.transaction(caller) as tx:
        if retry:
            await dead_letters.retry_now(tx, caller)
        found += [_of_slot(one) for one in await worker.standings(tx, caller, language)]
        counts = {
            d.name: int(
                await tx.value(db.compose(_LIVE, table=d.name), (caller.user_id,))
            )
            for d in _domains()
        }
        cards = int(await tx.value(_CARDS, (caller.user_id,)))
        coverage = await embed.coverage(tx, caller, embeddings.model)
        standing = await models.known(tx, caller)
        version = str(await tx.value(_VERSION))
    total = sum(counts.values())
    if cards != total:
        state = f"{total} records, but search knows {cards}"
        found.append(Finding("wrong", "search", state, "Run `reverie rebuild`."))
    held = ", ".join(
        f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count
    )
    found.append(
        Finding(
            "ok",
            "records",
            f"{total} ({held})" if total else "none yet",
            "" if total else "reverie import",
        )
    )
    if embeddings.model:
        found += _of_vectors(embeddings, coverage, standing)
    found.append(await _of_embedder(embeddings, caller))
    if embeddings.reranks:
        found.append(await _of_reranker(embeddings, caller))
    found.append(Finding("ok", "server", version, ""))
    return found


def _domains() -> list[catalogue.AnyDomain]:
    return list(catalogue.DOMAINS.values())


def _of_slot(one: worker.Standing) -> Finding:
    about = f"slot {one.slot}"
    dead = [letter for letter in one.letters if letter.dead]
    if dead:
        state = f"{len(dead)} changes were put aside: {dead[-1].reason}"
        return Finding(
            "wrong", about, state, "Mend the cause, then run `reverie doctor --retry`."
        )
    if one.trouble:
        return Finding(
            "wrong",
            about,
            f"{one.behind} changes wait: {one.trouble}",
            "It goes on by itself once mended.",
        )
    if one.waits_for:
        return Finding("ok", about, f"waits for {one.waits_for}", "")
    if one.letters:
        return Finding(
            "degraded",
            about,
            f"{len(one.letters)} changes are tried again: {one.letters[-1].reason}",
            "",
        )
    if one.behind:
        return Finding(
            "degraded",
            about,
            f"{one.behind} changes to follow",
            "`reverie up` follows them.",
        )
    return Finding("ok", about, "up to date", "")


def _of_vectors(
    embeddings: embedding.Embeddings,
    coverage: embed.Coverage,
    standing: Sequence[models.KnownModel],
) -> list[Finding]:
    """How far the present model is, and what becomes of the others' vectors until then."""
    used = models.used(embeddings, standing)
    others = [one for one in standing if one.name != embeddings.model and one.vectors]
    found = [_of_coverage(coverage, new=embeddings.model if others else "")]
    for one in others:
        state = f"the previous model {one.name} has {one.vectors:,} vectors"
        if one.name == used:
            found.append(
                Finding(
                    "degraded",
                    "previous model",
                    f"{state}, used until the new one covers more",
                    "",
                )
            )
        elif one.name not in embeddings.models and coverage.vectors < coverage.texts:
            remedy = "Name it under [embedding.previous], and they are used until then."
            found.append(
                Finding(
                    "degraded",
                    "previous model",
                    f"{state}, which nobody can ask",
                    remedy,
                )
            )
        else:
            found.append(Finding("ok", "previous model", state, ""))
    present = next((one for one in standing if one.name == embeddings.model), None)
    if present and not present.measured_at and not embeddings.shipped(present.name):
        state = f"{present.name} has not been measured yet: a rough floor is used"
        found.append(
            Finding("degraded", "similarities", state, "`reverie up` measures it.")
        )
    return found


def _of_coverage(coverage: embed.Coverage, *, new: str) -> Finding:
    by = f" by the new model {new}" if new else ""
    if coverage.vectors < coverage.texts:
        state = f"{coverage.vectors:,} of {coverage.texts:,} texts can be found by meaning{by}, all by their words"
        return Finding("degraded", "vectors", state, "`reverie up` makes the rest.")
    return Finding(
        "ok", "vectors", f"{coverage.vectors:,} texts can be found by meaning", ""
    )


async def _of_embedder(
    embeddings: embedding.Embeddings, caller: callers.Caller
) -> Finding:
    if not embeddings.model:
        return Finding(
            "ok", "embedder", "none, by configuration: search goes by words", ""
        )
    try:
        await embeddings.query(
            "ready?",
            origin=embedding.Origin(caller, "doctor", level=embedding.Level.LOW),
        )
    except errors.EmbedderUnavailable as away:
        return Finding(
            "wrong",
            "embedder",
            away.message,
            away.hint or "Until then search goes by words.",
        )
    return Finding("ok", "embedder", embeddings.model, "")


async def _of_reranker(
    embeddings: embedding.Embeddings, caller: callers.Caller
) -> Finding:
    try:
        await embeddings.rerank(
            "ready?",
            ["Ready."],
            origin=embedding.Origin(caller, "doctor", level=embedding.Level.LOW),
        )
    except errors.RerankerUnavailable as away:
        remedy = (
            away.hint or "Until then results stay in the order that search gives them."
        )
        return Finding("wrong", "reranker", away.message, remedy)
    return Finding(
        "ok", "reranker", f"sorts the best {embeddings.top} passages again", ""
    )
