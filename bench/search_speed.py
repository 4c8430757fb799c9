"""How fast search is on a large life, beside its peers on the same texts, vectors and
questions, in the same run.

    python bench/search_speed.py [--passages 100000 1000000] [--peers] [--tenants] [--updates] [--keep HOME] [--json]

The life goes through the product's own writes and worker; the vectors are given
(bench/speed/corpus.py), so the time of a model is in none of the figures. Peers need
packages of their own: `pip install` as the message says.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import spine
from speed import corpus, home, measure, over_http, peers, updates

from reverie import errors

_RECALL, _TENANT_RECALL = 50, 10
_SLOW_QUESTIONS = 40


@dataclass(frozen=True, slots=True)
class Target:
    """A number to reach, beside the one reached."""

    passages: int
    what: str
    reached: float
    wanted: float
    at_most: bool = True

    @property
    def ok(self) -> bool:
        return (
            self.reached <= self.wanted if self.at_most else self.reached >= self.wanted
        )


async def measured(
    folder: Path, size: int, given: argparse.Namespace
) -> dict[str, Any]:
    """Everything at one size."""
    async with home.opened(folder, size, tenants=given.tenants) as life:
        questions = life.owner.plan.questions(given.queries, life.owner.known)
        life.given.prepare(questions)
        parts = measure.product(life)
        home.tell("asking over HTTP, one at a time and 16 at once")
        at_once = await over_http.measured(life, questions)
        # Before the peers and the exact nearest: what the product takes.
        memory = spine.memory(life.life)
        figures: dict[str, Any] = {"passages": size, "built": dict(life.built)}
        figures |= {"at_once": at_once, "memory": memory}
        others: list[peers.Peer] = []
        if given.peers:
            others = peers.opened(
                life.owner,
                folder,
                questions,
                index=given.lance_index,
                only=given.only,
            )
        home.tell(f"asking {len(questions)} questions, all systems in turn")
        taken = await measure.timed(
            {"search": parts["search"]} | _asks(others, slow=False), questions
        )
        slow = await measure.timed(
            _asks(others, slow=True), questions[:_SLOW_QUESTIONS]
        )
        home.tell("asking the product alone")
        alone = await measure.timed(parts, questions)
        figures["ms"] = {
            name: measure.percentiles(some) for name, some in (taken | slow).items()
        }
        figures["alone_ms"] = {
            name: measure.percentiles(some) for name, some in alone.items()
        }
        for shipped in ("", peers.AS_SHIPPED):
            if {"tantivy", "usearch"} <= taken.keys():
                both = zip(taken["tantivy"], taken["usearch" + shipped], strict=True)
                figures["ms"][f"tantivy + usearch{shipped}"] = measure.percentiles(
                    [a + b for a, b in both]
                )
        figures["over_peers"] = _ratios(figures["ms"])
        figures |= await measure.outside(parts["search"], questions)
        home.tell("comparing with the exact nearest")
        figures["recall"] = await _recalls(life, others, questions)
        if life.tenant:
            recall = await measure.recall(life, life.tenant, questions, _TENANT_RECALL)
            figures["tenant"] = {"passages": life.tenant.plan.size, "recall@10": recall}
        figures["sizes_mb"] = _sizes(life, others)
        figures["peers"] = {one.name: one.what for one in others}
        if given.updates:
            home.tell("asking while records change")
            figures["updates"] = await updates.measured(life, questions)
        return figures


def _ratios(ms: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The product's p50 over that of each peer, and its p95 over theirs."""
    p50, p95 = ms["search"]
    return {
        name: (round(p50 / some[0], 2), round(p95 / some[1], 2))
        for name, some in ms.items()
        if name != "search"
    }


def _asks(others: Sequence[peers.Peer], *, slow: bool) -> dict[str, measure.Ask]:
    """The peers as the clock takes them; the slow ones have a round of their own with
    fewer questions.
    """

    def of(one: peers.Peer) -> Callable[[corpus.Question], Awaitable[object]]:
        async def ask(question: corpus.Question) -> object:
            return one.ask(question)

        return ask

    return {one.name: of(one) for one in others if (one.name in peers.SLOW) == slow}


async def _recalls(
    life: home.Home, others: Sequence[peers.Peer], questions: Sequence[corpus.Question]
) -> dict[str, float]:
    """The share of the exact 50 nearest in the first 50 of each vector signal."""
    found = {"reverie": await measure.recall(life, life.owner, questions, _RECALL)}
    exact = measure.exact(life.owner, questions, _RECALL)
    for one in others:
        if one.meant and one.name not in peers.SLOW:
            found[one.name] = measure.share(
                exact, [one.meant(question) for question in questions]
            )
    return found


def _sizes(
    life: home.Home, others: Sequence[peers.Peer]
) -> dict[str, dict[str, float]]:
    def mb(value: int) -> float:
        return round(value / 2**20, 1)

    found = home.sizes(life.life)
    return {
        kind: {one["name"]: mb(one["bytes"]) for one in some}
        for kind, some in found.items()
    } | {"peers": {one.name: mb(one.size) for one in others}}


def targets_of(rows: Sequence[Mapping[str, Any]]) -> list[Target]:
    """What the spec and the issue ask: at 100,000 and below the first line, above it
    the second.
    """
    found: list[Target] = []
    for row in rows:
        size, ms = row["passages"], row["ms"]
        small = size <= 100_000
        p50, p95 = ms["search"]
        if "lancedb" in ms:
            lance50, lance95 = ms["lancedb"]
            found.append(
                Target(
                    size,
                    "p50 / LanceDB hybrid at equal recall",
                    round(p50 / lance50, 2),
                    0.35 if small else 0.5,
                )
            )
            if small:
                over = round(p95 / lance95, 2)
                what = "p95 / LanceDB hybrid at equal recall"
                found.append(Target(size, what, over, 0.4))
        if "tantivy + usearch" in ms:
            found.append(
                Target(
                    size,
                    "p50 / (tantivy + usearch) at equal recall",
                    round(p50 / ms["tantivy + usearch"][0], 2),
                    3 if small else 4,
                )
            )
        if small:
            typing = row["alone_ms"]["as you type"][0]
            found.append(Target(size, "as you type, p50 ms", typing, 10))
            memory = row["memory"]["memory_process_mb"]
            found.append(Target(size, "memory of the process, MB", memory, 700))
        over = row["at_once"]["p95_over_single"]
        what = "16 at once over HTTP, p95 / one at a time"
        found.append(Target(size, what, over, 4))
        wanted = 0.97 if small else 0.95
        found.append(
            Target(
                size,
                "recall@50 of the vectors",
                row["recall"]["reverie"],
                wanted,
                at_most=False,
            )
        )
        found.append(
            Target(size, "time outside the database", row["outside_share"], 0.3)
        )
        if "tenant" in row:
            what = f"recall@10 of a user with {row['tenant']['passages']:,} passages"
            found.append(
                Target(size, what, row["tenant"]["recall@10"], 0.95, at_most=False)
            )
        if "updates" in row:
            quiet, busy = row["updates"]["quiet_ms"][1], row["updates"]["busy_ms"][1]
            found.append(
                Target(size, "p95 under updates / quiet", round(busy / quiet, 2), 2)
            )
    first = {row["passages"]: row["ms"]["search"][0] for row in rows}
    if len(first) > 1:
        low, high = min(first), max(first)
        found.append(
            Target(high, f"p50 / p50 at {low:,}", round(first[high] / first[low], 2), 3)
        )
    return found


def table(rows: Sequence[Mapping[str, Any]], targets: Sequence[Target]) -> str:
    """Everything for people."""
    lines = [line for row in rows for line in _row(row)]
    lines += ["", f"{'to reach':<60}{'reached':>9}{'wanted':>9}"]
    for one in targets:
        wanted, mark = (
            f"{'<=' if one.at_most else '>='} {one.wanted:g}",
            "yes" if one.ok else "NO",
        )
        lines.append(
            f"{f'{one.passages:,}: {one.what}':<60}{one.reached:9}{wanted:>9}  {mark}"
        )
    return "\n".join(lines)


def _row(row: Mapping[str, Any]) -> list[str]:
    heads = "".join(
        f"{head:>10}"
        for head in ("p50 ms", "p95 ms", "recall@50", "p50 over", "p95 over")
    )
    lines = [f"{row['passages']:,} passages", f"  {'asked in turn':<58}{heads}"]
    for name, (p50, p95) in row["ms"].items():
        recall = row["recall"].get("reverie" if name == "search" else name, "")
        over = "".join(f"{one:10}" for one in row["over_peers"].get(name, ()))
        what = f"{name}: {row['peers'][name]}" if name in row["peers"] else name
        what += f" ({_SLOW_QUESTIONS} questions)" if name in peers.SLOW else ""
        lines.append(
            f"  {'reverie search()' if name == 'search' else what:<58}{p50:10}{p95:10}{recall:>10}{over}"
        )
    lines += [
        f"  {'reverie alone: ' + name:<58}{p50:10}{p95:10}"
        for name, (p50, p95) in row["alone_ms"].items()
    ]
    lines += [
        f"  {name:<58}{p50:10}{p95:10}"
        for name, (p50, p95) in (
            ("over HTTP, one at a time", row["at_once"]["single_ms"]),
            ("over HTTP, 16 at once", row["at_once"]["at_once_ms"]),
        )
    ]
    part = f"{row['database_p50_ms']} ms with a statement in flight, {row['outside_p50_ms']} ms without"
    lines.append(f"  search: {part} (p50)")
    if built := row["built"]:
        rates = f"{built['write_passages_s']} written, {built['embed_passages_s']} embedded and indexed"
        lines.append(f"  passages a second: {rates}")
    for kind, some in row["sizes_mb"].items():
        lines.append(
            f"  {kind}, MB: {', '.join(f'{name} {mb}' for name, mb in some.items())}"
        )
    lines.append(
        f"  memory: {', '.join(f'{name} {mb}' for name, mb in row['memory'].items())}"
    )
    return lines + (_updates(row["updates"]) if "updates" in row else [])


def _updates(found: Mapping[str, Any]) -> list[str]:
    quiet, busy = found["quiet_ms"], found["busy_ms"]
    pace = f"{found['updates']:,} updates, {found['updates_a_minute']:,} a minute"
    late = f"{found['updates_late_s']} s late, the worker {found['worker_behind_s']} s behind at the end"
    lines = [
        f"  updates: quiet p50 {quiet[0]} p95 {quiet[1]}, busy p50 {busy[0]} p95 {busy[1]} ms; {pace}, {late}"
    ]
    for one in found["tables"]:
        dead = f"dead {one['dead_before']:,} -> {one['dead_after']:,} of {one['live']:,} live"
        size = f"{one['mb_before']} -> {one['mb_after']} MB"
        lines.append(
            f"    {one['name']:<12} {size}, {dead}, {one['vacuumed']} autovacuums"
        )
    return lines


def surroundings() -> dict[str, str]:
    """Where and with what this ran."""
    found = spine.surroundings()
    there = [
        f"{name} {metadata.version(name)}"
        for name in peers.PACKAGES
        if not _lacks(name)
    ]
    return found | {"peers": " ".join(there)}


def _lacks(name: str) -> bool:
    return any(one.startswith(f"{name}==") for one in peers.missing())


def options() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--passages",
        type=int,
        nargs="+",
        default=[100_000],
        metavar="N",
        help="one or more sizes",
    )
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument(
        "--peers",
        action="store_true",
        help="LanceDB, SQLite, tantivy and usearch beside the product",
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="PEER", help="of the peers only these"
    )
    parser.add_argument(
        "--lance-index", default="IVF_PQ", choices=["IVF_PQ", "IVF_HNSW_SQ", "IVF_FLAT"]
    )
    parser.add_argument(
        "--tenants",
        action="store_true",
        help="a second user with a thousandth of the passages",
    )
    parser.add_argument(
        "--updates",
        action="store_true",
        help="1,000 updates a minute beside the questions, for 60 s",
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="HOME",
        help="keep and reuse what was built, a folder a size",
    )
    parser.add_argument("--json", action="store_true")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit code says that it ran, not that all was reached."""
    parser = options()
    given = parser.parse_args(arguments)
    if given.peers and (lacking := peers.missing()):
        parser.error(
            f"--peers needs packages that are not here: {sys.executable} -m pip install {' '.join(lacking)}"
        )
    began, where = time.perf_counter(), surroundings()
    root = (
        given.keep.absolute()
        if given.keep
        else Path(tempfile.mkdtemp(prefix="rev-speed-", dir="/tmp"))
    )
    rows: list[dict[str, Any]] = []
    try:
        root.mkdir(exist_ok=True)
        root.chmod(0o711)
        rows += [
            asyncio.run(measured(root / str(size), size, given))
            for size in sorted(given.passages)
        ]
    except KeyboardInterrupt:
        home.tell("stopped")
        return 130
    except errors.ReverieError as failure:
        home.tell(f"{failure.message} {failure.hint}")
        return 1
    finally:
        if not given.keep:
            shutil.rmtree(root, ignore_errors=True)
    targets = targets_of(rows)
    if given.json:
        checks = [asdict(one) | {"ok": one.ok} for one in targets]
        print(
            json.dumps(
                {"surroundings": where, "rows": rows, "targets": checks}, indent=2
            )
        )
    else:
        print(f"{where}\n{table(rows, targets)}")
    home.tell(f"{time.perf_counter() - began:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
