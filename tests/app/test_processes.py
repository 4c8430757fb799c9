"""Computing in a process beside this one."""

import asyncio
import os
import signal
import time

import pytest

from reverie import processes

MUCH = 1_000_000


def number_of_process(_: int) -> int:
    return os.getpid()


def doubled(number: int) -> int:
    return 2 * number


def refused(number: int) -> int:
    if number == 70:
        raise ValueError("seventy")
    return number


async def test_much_is_computed_elsewhere_and_little_here() -> None:
    [elsewhere] = await processes.compute(number_of_process, [0], size=MUCH)
    [here] = await processes.compute(number_of_process, [0], size=10)
    assert here == os.getpid() != elsewhere


async def test_the_order_is_kept() -> None:
    numbers = list(range(200))
    answers = await processes.compute(doubled, numbers, size=MUCH)
    assert answers == [2 * number for number in numbers]
    assert await processes.compute(doubled, [], size=MUCH) == []


async def test_a_process_that_was_killed_is_replaced() -> None:
    [first] = await processes.compute(number_of_process, [0], size=MUCH)
    os.kill(first, signal.SIGKILL)
    [second] = await processes.compute(number_of_process, [0], size=MUCH)
    assert second not in (first, os.getpid())


def number_and_parent(_: int) -> tuple[int, int]:
    time.sleep(0.05)
    return os.getpid(), os.getppid()


async def test_further_processes_are_forked_from_the_first() -> None:
    """They share the memory of what it has loaded."""
    answers = await processes.compute(number_and_parent, list(range(100)), size=MUCH)
    parents = dict(answers)
    [first] = [number for number, parent in parents.items() if parent == os.getpid()]
    assert len(parents) == processes.AT_ONCE
    assert all(parent in (os.getpid(), first) for parent in parents.values())


async def test_when_the_first_is_killed_at_work_its_work_is_done_again() -> None:
    """Also when others were forked from it, which know nothing of its sockets."""
    answers = await processes.compute(number_and_parent, list(range(100)), size=MUCH)
    [first] = {number for number, parent in answers if parent == os.getpid()}
    working = asyncio.create_task(
        processes.compute(number_and_parent, list(range(100)), size=MUCH)
    )
    await asyncio.sleep(0.5)
    os.kill(first, signal.SIGKILL)
    again = await working
    assert len(again) == 100
    assert first not in dict(again)


async def test_what_a_function_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="seventy"):
        await processes.compute(refused, list(range(100)), size=MUCH)
    assert await processes.compute(refused, [1], size=MUCH) == [1]
