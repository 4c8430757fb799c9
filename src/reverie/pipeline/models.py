"""The embedding models of a user: which is chosen, vectors each, calibration."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from reverie import db, errors
from reverie.llm import embedding
from reverie.pipeline import slots


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model and its standing. Not measured yet, its similarities are read with a
    rough floor.
    """

    name: str
    dimensions: int | None
    vectors: int
    chosen_at: datetime
    measured_at: datetime | None


@dataclass(frozen=True, slots=True)
class Pace:
    """So many characters were embedded in so many seconds of work."""

    letters: int
    seconds: float


NO_PACE = Pace(0, 0.0)
# Seconds of work after which the pace of before counts half.
_PACE_S = 90

_OF_USER = """
SELECT name, dimensions, vectors, chosen_at, measured_at FROM model WHERE user_id = %s ORDER BY chosen_at DESC, name
"""
# Choosing what is chosen already leaves the time as it is.
_CHOOSE = """
INSERT INTO model AS old (user_id, name) VALUES (%(user)s, %(model)s)
ON CONFLICT (user_id, name) DO UPDATE SET chosen_at = excluded.chosen_at
    WHERE old.chosen_at < (SELECT max(chosen_at) FROM model WHERE model.user_id = %(user)s)
"""
_COUNT = """
INSERT INTO model AS old (user_id, name, dimensions, vectors, pace_letters, pace_seconds)
VALUES (%(user)s, %(model)s, %(dimensions)s, greatest(%(more)s, 0), %(letters)s, %(seconds)s)
ON CONFLICT (user_id, name) DO UPDATE SET
    dimensions = coalesce(excluded.dimensions, old.dimensions), vectors = greatest(old.vectors + %(more)s, 0),
    pace_letters = old.pace_letters / CASE WHEN old.pace_seconds > %(long)s THEN 2 ELSE 1 END + %(letters)s,
    pace_seconds = old.pace_seconds / CASE WHEN old.pace_seconds > %(long)s THEN 2 ELSE 1 END + %(seconds)s
"""
_SECONDS = """
SELECT pace_seconds / nullif(pace_letters, 0) FROM model WHERE user_id = %s AND name = %s
"""
_MEASURED = """
INSERT INTO model (user_id, name, dimensions, floor, scale, spread, means, measured_at)
VALUES (%(user)s, %(model)s, %(dimensions)s, %(floor)s, %(scale)s, %(spread)s, %(means)s::real[], now())
ON CONFLICT (user_id, name) DO UPDATE SET dimensions = excluded.dimensions, floor = excluded.floor,
    scale = excluded.scale, spread = excluded.spread, means = excluded.means, measured_at = excluded.measured_at
"""
_DISMISS = "DELETE FROM model WHERE user_id = %s AND name = %s"
_FORGET = "DELETE FROM model WHERE user_id = %s"


async def of_user(tx: db.Transaction, user: db.HasUser) -> list[KnownModel]:
    """Every model of the user, the one chosen last first."""
    return await tx.all(KnownModel, _OF_USER, (user.user_id,))


async def choose(tx: db.Transaction, user: db.HasUser, model: str) -> None:
    """A process has started that keeps vectors of this model."""
    await tx.run(_CHOOSE, {"user": user.user_id, "model": model})


async def count(
    tx: db.Transaction,
    user: db.HasUser,
    model: str,
    more: int,
    *,
    dimensions: int | None = None,
    pace: Pace = NO_PACE,
) -> None:
    """So many more vectors, or fewer, in the transaction that keeps or drops them; and
    how long they took.
    """
    values = {
        "user": user.user_id,
        "model": model,
        "more": more,
        "dimensions": dimensions,
        "letters": pace.letters,
        "seconds": pace.seconds,
        "long": _PACE_S,
    }
    await tx.run(_COUNT, values)


async def seconds_for(
    tx: db.Transaction, user: db.HasUser, model: str, letters: int
) -> int | None:
    """How long the model will take for so many characters, at the pace of the last
    minutes of work; None while nothing is known of it.
    """
    seconds = await tx.value(_SECONDS, (user.user_id, model))
    return None if seconds is None else round(seconds * letters)


async def dismiss(tx: db.Transaction, user: db.HasUser, model: str) -> None:
    """Its last vector is gone."""
    await tx.run(_DISMISS, (user.user_id, model))


async def forget(tx: db.Transaction, user: db.HasUser) -> None:
    """All vectors are gone: everything is found out again."""
    await tx.run(_FORGET, (user.user_id,))


def used(embeddings: embedding.Embeddings, models: Sequence[KnownModel]) -> str:
    """The model that search asks first."""
    return next(
        iter(embeddings.by_coverage({model.name: model.vectors for model in models})),
        "",
    )


async def calibrate(work: slots.Work, names: Sequence[str]) -> None:
    """Measure, once each, those of these models whose similarities nobody knows. Raises
    EmbedderUnavailable.

    A model that refuses our sentences goes on with the rough floor; of a previous one
    that is away, too.
    """
    unknown = [name for name in names if not work.embeddings.shipped(name)]
    if not unknown:
        return
    async with work.database.transaction(work.user) as tx:
        standing = {model.name: model for model in await of_user(tx, work.user)}
    for name in unknown:
        present = name == work.embeddings.model
        stored = standing.get(name)
        if (stored and stored.measured_at) or not (stored or present):
            continue
        try:
            await _measure(work, name)
        except errors.EmbedderUnavailable:
            if present:
                raise


async def _measure(work: slots.Work, name: str) -> None:
    measured = await work.embeddings.measure(
        name,
        origin=embedding.Origin(
            work.user, "calibration", level=embedding.Level.LOW, lane="realtime"
        ),
    )
    if measured is None:
        return
    meant = measured.calibration
    values = {
        "user": work.user.user_id,
        "model": name,
        "dimensions": measured.dimensions,
        "floor": meant.floor,
        "scale": meant.scale,
        "spread": meant.spread,
        "means": None if meant.means is None else meant.means.means.tolist(),
    }
    async with work.database.transaction(work.user) as tx:
        await tx.run(_MEASURED, values)
