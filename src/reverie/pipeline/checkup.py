"""The health of what is derived: slots in trouble, changes put aside, texts without vectors, records out of search."""

from dataclasses import dataclass
from typing import Literal

from reverie import db, errors, llm
from reverie.access import callers
from reverie.pipeline import embed, slots, worker
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
    database: db.Database, embeddings: llm.Embeddings, caller: callers.Caller, *, retry: bool = False
) -> list[Finding]:
    """Look at everything that can be wrong without a word. With `retry`, what was put aside is due at once."""
    found: list[Finding] = []
    async with database.transaction(caller) as tx:
        if retry:
            await slots.again(tx, caller)
        found += [_of_slot(one) for one in await worker.standings(tx, caller)]
        counts = {d.name: int(await tx.value(db.compose(_LIVE, table=d.name), (caller.user_id,))) for d in _domains()}
        cards = int(await tx.value(_CARDS, (caller.user_id,)))
        coverage = await embed.coverage(tx, caller, embeddings.model)
        version = str(await tx.value(_VERSION))
    total = sum(counts.values())
    if cards != total:
        state = f"{total} records, but search knows {cards}"
        found.append(Finding("wrong", "search", state, "Run `reverie rebuild`."))
    held = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    found.append(
        Finding("ok", "records", f"{total} ({held})" if total else "none yet", "" if total else "reverie import")
    )
    if embeddings.model:
        found.append(_of_coverage(coverage))
    found.append(await _of_embedder(embeddings))
    found.append(Finding("ok", "server", version, ""))
    return found


def _domains() -> list[catalogue.AnyDomain]:
    return list(catalogue.DOMAINS.values())


def _of_slot(one: worker.Standing) -> Finding:
    about = f"slot {one.slot}"
    dead = [letter for letter in one.letters if letter.dead]
    if dead:
        state = f"{len(dead)} changes were put aside: {dead[-1].reason}"
        return Finding("wrong", about, state, "Mend the cause, then run `reverie doctor --retry`.")
    if one.trouble:
        return Finding("wrong", about, f"{one.behind} changes wait: {one.trouble}", "It goes on by itself once mended.")
    if one.waits_for:
        return Finding("ok", about, f"waits for {one.waits_for}, which is not built yet", "")
    if one.letters:
        return Finding("degraded", about, f"{len(one.letters)} changes are tried again: {one.letters[-1].reason}", "")
    if one.behind:
        return Finding("degraded", about, f"{one.behind} changes to follow", "`reverie up` follows them.")
    return Finding("ok", about, "up to date", "")


def _of_coverage(coverage: embed.Coverage) -> Finding:
    if coverage.vectors < coverage.texts:
        state = f"{coverage.vectors} of {coverage.texts} texts can be found by meaning, all by their words"
        return Finding("degraded", "vectors", state, "`reverie up` makes the rest.")
    return Finding("ok", "vectors", f"{coverage.vectors} texts can be found by meaning", "")


async def _of_embedder(embeddings: llm.Embeddings) -> Finding:
    if not embeddings.model:
        return Finding("ok", "embedder", "none, by configuration: search goes by words", "")
    try:
        await embeddings.query("ready?")
    except errors.EmbedderUnavailable as away:
        return Finding("wrong", "embedder", away.message, away.hint or "Until then search goes by words.")
    return Finding("ok", "embedder", embeddings.model, "")
