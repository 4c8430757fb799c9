"""What a question waits for while background work is queued at the built-in model.

    .venv/bin/python bench/lanes.py

Prints the time of a question when nothing else happens and with 100 calls of bulk work
queued, the longest call in flight, passages a second with the old way (16 texts a call)
and through the lanes, and background work beside the engine's own best. No database is
needed.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence

from reverie import config
from reverie.llm import embedding
from reverie.providers import base, builtin

QUESTIONS = (
    "where did I put the notes about the garden",
    "when is the dentist",
    "who told me about the lake house in the north",
    "wie heisst der neue Kollege",
)
TEXT = """The heron stood in the river until evening. Ana asked whether the meeting about the budget could move to
Tuesday, because the children have their concert in the week before. The report says that the water under the house came
from the neighbour's garden, and that the invoice of 1,240 euros was paid twice. Machine learning models answer
questions from notebooks that nobody has opened since the office moved to the second floor of the old post office. """


def passages(count: int, letters: int) -> list[str]:
    """Texts of about so many letters, always the same."""
    chance = random.Random(letters)
    long = " ".join((TEXT * 4).split())
    return [
        long[(start := chance.randrange(len(TEXT))) : start + letters]
        for _ in range(count)
    ]


async def asking(
    embeddings: embedding.Embeddings, count: int, pause: float
) -> list[float]:
    """Milliseconds of questions, one after another."""
    taken: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        await embeddings.query(QUESTIONS[number % len(QUESTIONS)])
        taken.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(pause)
    return taken


def shown(taken: Sequence[float]) -> str:
    """p50, p95 and the longest."""
    p95 = statistics.quantiles(taken, n=20, method="inclusive")[-1]
    return f"p50 {statistics.median(taken):.0f} ms, p95 {p95:.0f} ms, longest {max(taken):.0f} ms"


async def rate(count: int, call: Callable[[], Awaitable[object]]) -> float:
    """Texts a second."""
    began = time.perf_counter()
    await call()
    return count / (time.perf_counter() - began)


async def throughput(
    embeddings: embedding.Embeddings, model: base.Embedder, texts: Sequence[str]
) -> str:
    """Passages a second in calls of 16, as it was, and in bits; each twice, in turn,
    the better one.
    """

    async def whole() -> None:
        for start in range(0, len(texts), 16):
            await asyncio.to_thread(model.passages, texts[start : start + 16])

    async def bits() -> None:
        for start in range(0, len(texts), 16):
            await embeddings.passages(texts[start : start + 16])

    before, after = [], []
    for _ in range(2):
        before.append(await rate(len(texts), whole))
        after.append(await rate(len(texts), bits))
    return f"passages/s in calls of 16 {max(before):.1f}, through the lanes {max(after):.1f}"


async def background(
    embeddings: embedding.Embeddings, model: base.Embedder, rounds: int
) -> str:
    """Texts a second of background work, as the worker asks for them, beside the best
    that the engine does with all of them at once; in turn, the median of the ratios.
    """
    chance = random.Random(1)
    texts = [text for size in (60, 120, 200, 280, 300) for text in passages(26, size)]
    chance.shuffle(texts)
    of_like_length = sorted(texts, key=len)

    async def at_best() -> None:
        await asyncio.to_thread(model.passages, texts)

    async def behind() -> None:
        start = 0
        while start < len(texts):
            count = embeddings.at_once(len(of_like_length[start]))
            await embeddings.passages(of_like_length[start : start + count])
            start += count

    best: list[float] = []
    work: list[float] = []
    for _ in range(rounds):
        best.append(await rate(len(texts), at_best))
        work.append(await rate(len(texts), behind))
    ratio = statistics.median(b / a for a, b in zip(best, work, strict=True))
    return (
        f"passages/s at the engine's best {statistics.median(best):.1f}, as background work"
        f" {statistics.median(work):.1f}, ratio {ratio:.2f} (wanted .95)"
    )


async def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--letters",
        type=int,
        nargs="*",
        default=[300, 1000],
        help="lengths of passages",
    )
    options.add_argument("--questions", type=int, default=40)
    options.add_argument("--rounds", type=int, default=5, help="of background work")
    given = options.parse_args()
    embeddings, model = embedding.Embeddings(config.Embedding()), builtin.Builtin()
    model.passages(["warm"])
    await embeddings.passages(["warm"])
    await asking(embeddings, 5, 0)
    print(await background(embeddings, model, given.rounds), flush=True)
    for letters in given.letters:
        texts = passages(48, letters)
        print(f"{letters} letters: {await throughput(embeddings, model, texts)}")
        longest = []
        for bit in embedding.bits(texts[:16], model.letters):
            began = time.perf_counter()
            model.passages(bit)
            longest.append((time.perf_counter() - began) * 1000)
        print(
            f"{letters} letters: longest call in flight {max(longest):.0f} ms, median {statistics.median(longest):.0f}"
        )
        idle = await asking(embeddings, given.questions, 0.1)
        queued = [
            asyncio.create_task(embeddings.passages(texts[:16])) for _ in range(100)
        ]
        await asyncio.sleep(0.3)
        busy = await asking(embeddings, given.questions, 0.1)
        for one in queued:
            one.cancel()
        await asyncio.gather(*queued, return_exceptions=True)
        print(f"{letters} letters: question alone {shown(idle)}")
        print(f"{letters} letters: question with 100 bulk calls queued {shown(busy)}")
        print(
            f"{letters} letters: ratio {statistics.median(busy) / statistics.median(idle):.1f} (p50)",
            flush=True,
        )
    embeddings.close()


if __name__ == "__main__":
    asyncio.run(main())
