"""Tests of k13_overhead: bits, bytes and time are compared with Python's loop."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.profiler import profile

from plugins.kit import tensors
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

RATE = 3.7
BAR = 1.15
BOTH = pytest.mark.parametrize("name", ["plain", "lean"])
DTYPES = [torch.float64, torch.float32]
COSTS = (
    "A number, or a tensor of another dtype, is converted first; and not every _out is free: some"
    " compute a new tensor and copy it, rsub_out and mul_out with a number among them"
)


def python(x: torch.Tensor, rate: float, steps: int) -> torch.Tensor:
    """Take the steps in Python."""
    x = x.clone()
    for _ in range(steps):
        x = rate * x * (1 - x)
    return x


def values(n: int = 4, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """Return numbers between 0 and 1."""
    return torch.linspace(0.1, 0.9, n, dtype=torch.float64).sqrt().to(dtype)


def compare(loop: Any, x: torch.Tensor, rate: float, steps: int) -> None:
    """Compare with Python's loop, bit for bit."""
    __tracebackhide__ = True
    with unchanged(x=x):
        yours = loop(x, rate, steps)
    case = f"{steps} steps, rate {rate}, {x.dtype} {tuple(x.shape)}, strides {x.stride()}"
    why = "rate * x first, then times 1 - x: another order rounds differently\n"
    torch.testing.assert_close(
        yours,
        python(x, rate, steps),
        rtol=0,
        atol=0,
        equal_nan=True,
        msg=f"{case}: yours against Python's; {why}".__add__,
    )


def operators(loop: Callable[..., object], dtype: torch.dtype = torch.float64) -> Counter[str]:
    """Return how often each operator runs in ten more steps."""
    found = []
    for steps in (2, 12):
        with watched_operators() as names:
            loop(values(dtype=dtype), RATE, steps)
        found.append(Counter(names))
    return found[1] - found[0]


def allocated(loop: Callable[..., object], dtype: torch.dtype) -> Counter[str]:
    """Return the bytes each operator allocates in ten more steps, as the profiler counts them."""
    x = values(1000, dtype)
    found = []
    for steps in (10, 20):
        bytes_of: Counter[str] = Counter()
        with profile(profile_memory=True) as profiler:
            loop(x, RATE, steps)
        for event in profiler.events():
            bytes_of[str(event.name)] += max(event.self_cpu_memory_usage, 0)
        found.append(bytes_of)
    return found[1] - found[0]


def fastest(loops: dict[str, Any], steps: int = 200) -> dict[str, float]:
    """Return each loop's shortest time in nanoseconds per step, interleaved."""
    x = values()
    found = dict.fromkeys(loops, float("inf"))
    for _ in range(25):
        for name, loop in loops.items():
            begin = time.perf_counter_ns()
            loop(x, RATE, steps)
            found[name] = min(found[name], (time.perf_counter_ns() - begin) / steps)
    return found


@BOTH
@pytest.mark.parametrize("steps", [1, 2, 0])
def test_the_first_steps(extension: Extension, name: str, steps: int) -> None:
    """Your results equal Python's bit for bit, and zero steps give a copy."""
    loop, x = extension.op(name), values()
    compare(loop, x, RATE, steps)
    yours = loop(x, RATE, steps)
    assert yours.data_ptr() != x.data_ptr(), (
        f"{steps} steps: your result has the memory of x, expected a new tensor"
    )


@BOTH
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_hundred_steps(extension: Extension, name: str, dtype: torch.dtype) -> None:
    """The map is chaotic, so the smallest difference shows after many steps."""
    compare(extension.op(name), values(9, dtype), RATE, 100)


@BOTH
@given(x=tensors(DTYPES, max_dims=2), rate=st.floats(-4, 4), steps=st.integers(0, 4))
def test_any_tensor(
    extension: Extension, name: str, x: torch.Tensor, rate: float, steps: int
) -> None:
    """Views, NaN, infinities and empty tensors give Python's result."""
    compare(extension.op(name), x, rate, steps)


@BOTH
def test_called_again(extension: Extension, name: str) -> None:
    """A call with a different rate and dtype is not affected by an earlier one."""
    loop = extension.op(name)
    earlier = loop(values(), RATE, 3)
    with unchanged(earlier=earlier):
        compare(loop, values(), 2.5, 3)
        compare(loop, values(5, torch.float32), 2.5, 3)


def test_plain_runs_operators_in_each_step(extension: Extension) -> None:
    """The loop runs operators, as in Python."""
    extra = operators(extension.op("plain")).total()
    assert extra >= 30, (
        f"10 more steps: your loop runs {extra} more operators, expected at least 30, 3 per step"
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lean_runs_three_operators_in_each_step(extension: Extension, dtype: torch.dtype) -> None:
    """A step is one subtraction and two multiplications, with no copies."""
    extra = operators(extension.op("lean"), dtype)
    count = extra.total()
    assert count == 30, (
        f"{dtype}, 10 more steps: your loop runs {dict(extra)}, {count} operators, expected 30."
        f" {COSTS}"
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lean_allocates_before_the_loop(extension: Extension, dtype: torch.dtype) -> None:
    """Ten more steps allocate no more bytes."""
    extra, theirs = allocated(extension.op("lean"), dtype), allocated(python, dtype)
    assert not extra, (
        f"1000 elements of {dtype}, 10 more steps: your loop allocates {dict(extra)} bytes,"
        f" expected none; Python's {dict(theirs)}. {COSTS}"
    )


@pytest.mark.parametrize(("slow", "fast"), [("python", "plain"), ("plain", "lean")])
def test_a_step_takes_less_time(extension: Extension, slow: str, fast: str) -> None:
    """Compare the shortest of 25 interleaved runs, in the best of three tries."""
    loops = {"python": python, "plain": extension.op("plain"), "lean": extension.op("lean")}
    tries = []
    for _ in range(3):
        found = fastest({name: loops[name] for name in (slow, fast)})
        tries.append(found)
        if found[slow] >= BAR * found[fast]:
            break
    assert found[slow] >= BAR * found[fast], (
        f"your {fast} against {slow}, ns per step, in three tries: {tries}; expected at least"
        f" {BAR} times as fast"
    )
