"""Health check of what is derived: slots, dead letters, embeddings, search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from reverie import compact, db, errors
from reverie.access import callers
from reverie.llm import chat, embedding
from reverie.pipeline import dead_letters, models, progress, vector_store, worker
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
    findings: list[Finding] = []
    async with database.transaction(caller) as tx:
        if retry:
            await dead_letters.retry_now(tx, caller)
        standings = await worker.standings(tx, caller, language)
        findings += [_of_slot(standing) for standing in standings]
        counts: dict[str, int] = {}
        for name in catalogue.DOMAINS:
            live = db.compose(_LIVE, table=name)
            counts[name] = int(await tx.value(live, (caller.user_id,)))
        cards = int(await tx.value(_CARDS, (caller.user_id,)))
        coverage = await vector_store.coverage(tx, caller, embeddings.model)
        left = await progress.seconds_left(tx, caller, embeddings.model)
        known_models = await models.of_user(tx, caller)
        version = str(await tx.value(_VERSION))
    total = sum(counts.values())
    if cards != total:
        state = f"{total} records, but search knows {cards}"
        findings.append(Finding("wrong", "search", state, "Run `reverie rebuild`."))
    by_kind = ", ".join(
        f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count
    )
    findings.append(
        Finding(
            "ok",
            "records",
            f"{total} ({by_kind})" if total else "none yet",
            "" if total else "reverie import",
        )
    )
    if embeddings.model:
        findings += _of_vectors(embeddings, coverage, known_models, left)
    findings.append(await _of_embedder(embeddings, caller))
    if embeddings.reranks:
        findings.append(await _of_reranker(embeddings, caller))
    findings.append(Finding("ok", "server", version, ""))
    return findings


def _of_slot(standing: worker.Standing) -> Finding:
    about = f"slot {standing.slot}"
    dead = [letter for letter in standing.letters if letter.dead]
    if dead:
        state = f"{len(dead)} changes were put aside: {dead[-1].reason}"
        return Finding(
            "wrong", about, state, "Mend the cause, then run `reverie doctor --retry`."
        )
    if standing.trouble:
        return Finding(
            "wrong",
            about,
            f"{standing.behind} changes wait: {standing.trouble}",
            "It goes on by itself once mended.",
        )
    if standing.waits_for:
        return Finding("ok", about, f"waits for {standing.waits_for}", "")
    if standing.letters:
        return Finding(
            "degraded",
            about,
            f"{len(standing.letters)} changes are tried again: {standing.letters[-1].reason}",
            "",
        )
    if standing.behind:
        return Finding(
            "degraded",
            about,
            f"{standing.behind} changes to follow",
            "`reverie up` follows them.",
        )
    return Finding("ok", about, "up to date", "")


def _of_vectors(
    embeddings: embedding.Embeddings,
    coverage: vector_store.Coverage,
    standing: Sequence[models.KnownModel],
    seconds_left: int | None,
) -> list[Finding]:
    """How far the present model is, and what becomes of the others' vectors until then."""
    used = models.used(embeddings, standing)
    previous = [
        model for model in standing if model.name != embeddings.model and model.vectors
    ]
    new = embeddings.model if previous else ""
    findings = [_of_coverage(coverage, seconds_left, new=new)]
    for model in previous:
        in_use = model.name == used
        findings.append(_of_previous(embeddings, coverage, model, in_use=in_use))
    for model in standing:
        if model.name == embeddings.model:
            findings += _of_calibration(embeddings, model)
    return findings


def _of_previous(
    embeddings: embedding.Embeddings,
    coverage: vector_store.Coverage,
    model: models.KnownModel,
    *,
    in_use: bool,
) -> Finding:
    about = "previous model"
    state = f"the previous model {model.name} has {model.vectors:,} vectors"
    if in_use:
        state = f"{state}, used until the new one covers more"
        return Finding("degraded", about, state, "")
    if model.name not in embeddings.models and coverage.vectors < coverage.texts:
        remedy = "Name it under [embedding.previous], and they are used until then."
        return Finding("degraded", about, f"{state}, which nobody can ask", remedy)
    return Finding("ok", about, state, "")


def _of_calibration(
    embeddings: embedding.Embeddings, present: models.KnownModel
) -> list[Finding]:
    if present.measured_at or embeddings.shipped(present.name):
        return []
    state = f"{present.name} has not been measured yet: a rough floor is used"
    return [Finding("degraded", "similarities", state, "`reverie up` measures it.")]


def _of_coverage(
    coverage: vector_store.Coverage, seconds_left: int | None, *, new: str
) -> Finding:
    by = f" by the new model {new}" if new else ""
    if coverage.vectors < coverage.texts:
        state = f"{coverage.vectors:,} of {coverage.texts:,} texts can be found by meaning{by}, all by their words"
        rest = "the rest"
        if seconds_left is not None:
            rest = f"the rest in about {compact.duration(seconds_left)} of work"
        return Finding("degraded", "vectors", state, f"`reverie up` makes {rest}.")
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
