"""Tests of k25_memory: storages are counted while forward and backward run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
import torch
from torch.multiprocessing.reductions import StorageWeakRef

from katas.lecture03.k25_memory import chain
from katas.lecture03.k25_memory import run
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Blocks:
    """Blocks that count how many results are alive at once, and how often each block ran."""

    def __init__(self, count: int) -> None:
        self.made: list[StorageWeakRef] = []
        self.peak = 0
        self.runs: Counter[int] = Counter()
        self.blocks = [self.block(number) for number in range(count)]

    def block(self, number: int) -> Callable[[torch.Tensor], torch.Tensor]:
        """Return a block with a factor of its own, whose node saves its result."""

        def forward(x: torch.Tensor) -> torch.Tensor:
            y = (x * (1 + number / 100)).tanh()
            self.runs[number] += 1
            self.made.append(StorageWeakRef(y.untyped_storage()))
            self.peak = max(self.peak, sum(not each.expired() for each in self.made))
            return y

        return forward


def leaf() -> torch.Tensor:
    """Return a leaf that requires a gradient."""
    return (torch.tensor([2.0, 3.0], dtype=torch.float64).sqrt() / 3).requires_grad_()


def trained(how: Callable, count: int) -> Blocks:
    """Run blocks forward and backward, and return them with their counts."""
    blocks = Blocks(count)
    how(blocks.blocks, leaf()).sum().backward()
    return blocks


@pytest.mark.parametrize("count", [1, 2, 5, 16, 17])
def test_values_and_gradients_are_those_of_the_chain(count: int) -> None:
    """Run any number of blocks, each with a factor of its own; the list of blocks is unchanged."""
    blocks = Blocks(count).blocks
    given = list(blocks)
    x = leaf()
    expected = chain(blocks, x)
    with unchanged(x=x):
        yours = run(blocks, x)
    (theirs,) = torch.autograd.grad(expected.sum(), x)
    (mine,) = torch.autograd.grad(yours.sum(), x)

    for what, pair, why in [
        ("value", (yours, expected), "each block runs, in order; the last segment may be shorter"),
        (
            "gradient",
            (mine, theirs),
            "backward runs the blocks again: which, when the loop is over?",
        ),
    ]:
        says = f"{count} blocks, {what}: yours is not that of the chain; {why}\n".__add__
        torch.testing.assert_close(*pair, rtol=1e-12, atol=1e-12, msg=says)
    assert given == blocks, f"{count} blocks: your code left {len(blocks)} in the caller's list"


def test_random_blocks_draw_again_what_they_drew() -> None:
    """Where dropout has dropped an element, the gradient is 0."""
    x = torch.ones(100, requires_grad=True)
    result = run([torch.nn.Dropout(0.3)] * 4, x)
    torch.rand(3)
    result.sum().backward()

    wrong = int((x.grad != result.detach()).sum())
    assert wrong == 0, f"your code drops {wrong} of 100 elements differently the second time"


def test_no_blocks() -> None:
    """Without blocks, the result is x."""
    x = leaf()
    yours = run([], x)
    torch.testing.assert_close(yours, x, msg="no blocks: yours differs from x\n".__add__)


@pytest.mark.parametrize("count", [16, 100, 625])
def test_few_results_are_alive_at_a_time(count: int) -> None:
    """An input for each segment is alive, plus the results inside one segment."""
    plain = trained(chain, count).peak
    yours = trained(run, count).peak
    bar = round(2.5 * count**0.5) + 2

    assert yours <= bar, (
        f"{count} blocks, results alive at a time: yours {yours}, expected at most {bar}, without"
        f" checkpoints {plain}. You hold an input for each segment, plus the results inside one"
        " segment: balance the two"
    )


def test_each_block_runs_twice_at_most() -> None:
    """A block runs once in forward and once in backward: saving memory costs a third more time."""
    runs = trained(run, 16).runs

    assert max(runs.values()) <= 2, f"runs of each block: yours {dict(runs)}, expected at most 2"
    assert sum(runs.values()) >= 20, (
        f"runs of each block: yours {dict(runs)}. If your code recomputes nothing, it keeps copies"
    )
