"""Computing in a process beside this one."""

import os
import signal

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


async def test_what_a_function_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="seventy"):
        await processes.compute(refused, list(range(100)), size=MUCH)
    assert await processes.compute(refused, [1], size=MUCH) == [1]
