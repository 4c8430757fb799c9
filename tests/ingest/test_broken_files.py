"""Broken and hostile files through the product's own worker pool: each ends with a
reason, within its limits.
"""

import time
from collections.abc import AsyncIterator
from pathlib import PurePosixPath

import pytest
import pytest_asyncio

from reverie.ingest import drafts
from reverie.ingest.documents import units
from reverie.ingest.sandbox import limits, pool, wire
from tests.ingest import broken

MB = 1024 * 1024
# What takes seconds to make is left to `make soak`; of the rest, three a format here,
# other ones for each format.
COSTLY = {"bomb", "long_line", "recursive"}
QUICK = [defect for defect in broken.DEFECTS if defect not in COSTLY]
ALL = list(broken.variants())
SOME = [
    variant
    for place, kind in enumerate(broken.BASES)
    for variant in ALL
    if variant.kind == kind
    and variant.defect in {QUICK[(place * 3 + step) % len(QUICK)] for step in range(3)}
]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def opened() -> AsyncIterator[pool.WorkerPool]:
    """A worker pool as the product has it."""
    async with pool.WorkerPool() as one:
        yield one


async def ends(
    opened: pool.WorkerPool, variant: broken.Variant, seconds: float
) -> None:
    """Read it and see that it ends as it should."""
    job = pool.ReadJob(
        variant.make(),
        PurePosixPath(variant.name),
        allowed=limits.SandboxLimits(seconds=seconds),
    )
    last: wire.Message | None = None
    wait, before = 0.0, time.monotonic()
    async for message in opened.read(job):
        now = time.monotonic()
        last, wait, before = message, max(wait, now - before), now
    assert isinstance(last, wire.Done | wire.Broken | wire.Unread), variant.name
    assert isinstance(last, wire.Done) or last.reason, variant.name
    assert not isinstance(last, wire.Broken) or last.cause != "stopped", variant.name
    assert isinstance(last, wire.Unread) or last.peak <= 512 * MB, variant.name
    assert wait < seconds + 5, variant.name
    assert opened.starts == 1


@pytest.mark.parametrize("variant", SOME, ids=lambda variant: variant.name)
async def test_a_broken_file_ends_with_a_reason(
    opened: pool.WorkerPool, variant: broken.Variant
) -> None:
    await ends(opened, variant, seconds=10)


@pytest.mark.soak
@pytest.mark.parametrize("variant", ALL, ids=lambda variant: variant.name)
async def test_every_broken_file_ends_with_a_reason(
    opened: pool.WorkerPool, variant: broken.Variant
) -> None:
    await ends(opened, variant, seconds=30)


@pytest.mark.parametrize(
    "kind", [kind for kind in broken.BASES if kind not in {"jpg", "tiff"}]
)  # png is as slow
async def test_what_they_are_made_from_is_sound(
    opened: pool.WorkerPool, kind: str
) -> None:
    job = pool.ReadJob(broken.BASES[kind](), PurePosixPath(f"sound.{kind}"))
    *items, last = [message async for message in opened.read(job)]
    assert isinstance(last, wire.Done), last
    assert any(isinstance(item, units.Unit | drafts.Draft) for item in items)


def test_there_are_three_hundred_of_them_and_a_seed_gives_the_same_again() -> None:
    assert len(ALL) >= 300
    assert len(SOME) >= 60
    chosen = [
        variant
        for variant in ALL
        if variant.defect in {"flipped", "encrypted", "wrong_type"}
    ]
    assert [variant.make() for variant in chosen] == [
        variant.make() for variant in chosen
    ]
    other = {
        variant.name: variant.make()
        for variant in broken.variants(8)
        if variant.defect == "flipped"
    }
    assert all(
        other[variant.name] != variant.make()
        for variant in chosen
        if variant.defect == "flipped"
    )
