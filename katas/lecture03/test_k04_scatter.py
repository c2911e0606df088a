"""Tests of k04_scatter: a loop of assignments is the definition."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture03 import k04_scatter as kata
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    """Run each test in deterministic mode."""
    torch.use_deterministic_algorithms(mode=True)
    yield
    torch.use_deterministic_algorithms(mode=False)


def compare(target: torch.Tensor, index: list[int], device: str = "cpu") -> None:
    """Compare with writing one value after the other."""
    # The values go up and down, so that neither the largest nor the smallest comes last.
    values = (torch.arange(1.0, len(index) + 1, dtype=target.dtype) * 2).sqrt()
    values[1::2] *= -1
    expected = target.clone()
    for place, value in zip(index, values, strict=True):
        expected[place] = value
    inputs = [target.to(device), torch.tensor(index, device=device), values.to(device)]
    with unchanged(target=inputs[0], index=inputs[1], values=inputs[2]):
        yours = kata.last_wins(*inputs)

    says = f"target {target.tolist()}, index {index}: yours is not what a loop makes\n".__add__
    torch.testing.assert_close(yours.cpu(), expected, rtol=0, atol=0, equal_nan=True, msg=says)


def test_each_place_once(device: str) -> None:
    """Values land where the index says; other elements keep what they had."""
    compare(torch.tensor([0.5, -0.5, 7.0, 9.0]), [2, 0], device)


def test_the_last_write_wins(device: str) -> None:
    """The result is neither the first value nor the sum."""
    compare(torch.zeros(3), [0, 0], device)
    compare(torch.zeros(3), [0, 2, 0, 2, 2], device)


def test_a_write_is_not_an_addition() -> None:
    """The old value is overwritten, even if it was an infinity or a NaN."""
    compare(torch.tensor([torch.inf, torch.nan, torch.nan]), [1, 0, 1])


@given(data=st.data())
def test_any_index(data: st.DataObject) -> None:
    """The last write wins for any index, in float32 and float64."""
    size = data.draw(st.integers(1, 5))
    index = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=9))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64]))
    compare(torch.arange(size, dtype=dtype).sqrt(), index)


def test_only_the_last_write_has_a_gradient() -> None:
    """An overwritten value or target element gets gradient 0."""
    target = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    values = torch.ones(4, dtype=torch.float64, requires_grad=True)
    result = kata.last_wins(target, torch.tensor([0, 2, 0, 2]), values)
    grad = torch.tensor([10.0, 20.0, 30.0], dtype=torch.float64)
    by_target, by_values = torch.autograd.grad(result, (target, values), grad)

    expected = [[0.0, 20.0, 0.0], [0.0, 0.0, 10.0, 30.0]]
    assert expected == [by_target.tolist(), by_values.tolist()], (
        f"index [0, 2, 0, 2]: your gradients are {by_target.tolist()} for target and"
        f" {by_values.tolist()} for values, expected {expected}: the last write gets the whole "
        "gradient"
    )


def test_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million writes take a few operator calls, and no index becomes a Python number."""
    index = torch.arange(1_000_000) % 1000
    values = torch.arange(1_000_000.0)
    taken: list[str] = []
    for name in ("tolist", "__iter__"):
        plain = getattr(torch.Tensor, name)
        monkeypatch.setattr(
            torch.Tensor, name, lambda x, plain=plain, name=name: taken.append(name) or plain(x)
        )
    start = time.process_time()
    with watched_operators() as names:
        yours = kata.last_wins(torch.zeros(1000), index, values)
    monkeypatch.undo()

    torch.testing.assert_close(
        yours, values[-1000:], msg="yours did not keep the last thousand".__add__
    )
    seconds = time.process_time() - start
    assert seconds < 5, f"a million writes took {seconds:.1f} s, expected far below 1"
    assert [] == taken, f"your code loops over a tensor with {taken}"
    assert len(names) < 100, f"your code calls {len(names)} operators, expected a handful"


def test_deterministic_mode_stays_on() -> None:
    """Do not switch deterministic mode off, or let it only warn: that would hide the problem."""
    names = ("use_deterministic_algorithms", "set_deterministic_debug_mode")
    with forbids(kata, *(f"torch.{name}" for name in names)) as fresh:
        fresh.last_wins(torch.zeros(3), torch.tensor([0, 0]), torch.ones(2))


@pytest.mark.given
def test_what_deterministic_mode_says() -> None:
    """Adding is accepted on the CPU; overwriting in any order is not."""
    index = torch.tensor([0, 0])
    torch.zeros(3).scatter_add_(0, index, torch.ones(2))
    with pytest.raises(RuntimeError, match="does not have a deterministic implementation"):
        torch.zeros(3).put_(index, torch.ones(2))
