"""Searches over HTTP, one at a time and many at once, asked by a process beside.

`python -m speed.over_http` is that process: it reads what to ask as JSON and prints the
milliseconds of each answer.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from reverie.access import tokens
from reverie.web import server
from speed import corpus, home, measure

AT_ONCE = 16
_PATH = "/api/v1/search"


async def measured(
    life: home.Home, questions: Sequence[corpus.Question]
) -> Mapping[str, Any]:
    """p50 and p95 of searches over HTTP, and how much the p95 grows with many at once."""
    token = await tokens.mint(
        life.life.database, life.owner.caller.user_id, name=f"bench {os.getpid()}"
    )
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    running = asyncio.create_task(
        server.serve(life.life, port=0, ready=port.set_result, stop=stop)
    )
    try:
        asked = {
            "url": f"http://127.0.0.1:{await port}{_PATH}",
            "token": token,
            "texts": [question.text for question in questions],
        }
        taken = await _beside(asked)
    finally:
        stop.set()
        await running
    single = measure.percentiles(taken["single"])
    at_once = measure.percentiles(taken["at_once"])
    return {
        "single_ms": single,
        "at_once_ms": at_once,
        "p95_over_single": round(at_once[1] / single[1], 2),
    }


async def _beside(asked: Mapping[str, Any]) -> Mapping[str, list[float]]:
    """The milliseconds that a process of its own measured."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "speed.over_http",
        cwd=Path(__file__).parent.parent,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await process.communicate(json.dumps(asked).encode())
    if process.returncode:
        raise SystemExit("The process that asks over HTTP failed.")
    return json.loads(said)


async def _asked(asked: Mapping[str, Any]) -> Mapping[str, list[float]]:
    """Each question once to warm up, once by itself, and once among others."""
    headers = {"Authorization": f"Bearer {asked['token']}"}
    limits = httpx.Limits(max_connections=AT_ONCE)
    texts: list[str] = asked["texts"]
    async with httpx.AsyncClient(headers=headers, limits=limits, timeout=60) as client:

        async def ask(text: str) -> float:
            began = time.perf_counter()
            answer = await client.get(asked["url"], params={"q": text})
            answer.raise_for_status()
            return 1000 * (time.perf_counter() - began)

        await asyncio.gather(*(ask(text) for text in texts[:AT_ONCE]))
        _ = [await ask(text) for text in texts]
        single = [await ask(text) for text in texts]
        waiting = iter(texts)

        async def lane() -> list[float]:
            return [await ask(text) for text in waiting]

        lanes = await asyncio.gather(*(lane() for _ in range(AT_ONCE)))
    return {"single": single, "at_once": [one for some in lanes for one in some]}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_asked(json.load(sys.stdin)))))
