"""Tests of k12_zero_bubble: gradients compared with autograd's, and idle slots with PyTorch's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from katas.lecture14 import conftest as pipes
from katas.lecture14 import k12_zero_bubble as kata
from katas.lecture14.k12_zero_bubble import LaterWeight
from katas.lecture14.k12_zero_bubble import order
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

TIMES = {"F": 1, "I": 1, "W": 1, "B": 2}
SIZES = [(2, 4), (1, 3), (2, 2), (3, 3), (4, 8), (4, 5), (6, 12)]


def values(*size: int, start: int) -> torch.Tensor:
    """Return irrational float64 values, some of them negative."""
    count = torch.Size(size).numel()
    return torch.arange(start, start + count).double().sqrt().sin().reshape(size)


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Return an input and a weight that both require gradients."""
    return values(5, 3, start=2).requires_grad_(), values(4, 3, start=40).requires_grad_()


def linear(x: torch.Tensor, weight: torch.Tensor, later: list[Callable[[], None]]) -> torch.Tensor:
    """Call your function."""
    product: torch.Tensor = LaterWeight.apply(x, weight, later)  # type: ignore[no-untyped-call, unused-ignore]
    return product


def close(yours: torch.Tensor | None, right: torch.Tensor | None, what: str) -> None:
    """Compare a tensor with PyTorch's."""
    __tracebackhide__ = True
    assert right is not None
    assert yours is not None, f"{what}: yours is None, expected a tensor"
    assert yours.shape == right.shape, f"{what}: yours is {yours.shape}, PyTorch's {right.shape}"
    assert torch.allclose(yours, right, rtol=1e-12), f"{what}:\nyours {yours}\nPyTorch's {right}"


def test_forward_is_linear() -> None:
    """The product of `torch.nn.functional.linear`; nothing is appended yet."""
    x, weight = inputs()
    later: list[Callable[[], None]] = []
    with unchanged(x=x, weight=weight):
        yours = linear(x, weight, later)
    close(yours, torch.nn.functional.linear(x, weight), "the output")
    assert not later, (
        "your code appends in forward; append in backward, where the gradient is known"
    )


def test_the_input_comes_first() -> None:
    """After backward the input has its gradient; the weight gets its own from the function."""
    x, weight = inputs()
    later: list[Callable[[], None]] = []
    grad = values(5, 4, start=90)
    linear(x, weight, later).backward(grad)
    a, b = inputs()
    torch.nn.functional.linear(a, b).backward(grad)

    close(x.grad, a.grad, "the gradient of x")
    assert weight.grad is None, "weight.grad is set after backward; expected None until later[0]()"
    assert len(later) == 1, f"your code appended {len(later)} functions, expected 1"
    later[0]()
    close(weight.grad, b.grad, "the gradient of the weight, after later[0]()")


def test_gradients_add_up() -> None:
    """Two micro-batches in flight, functions called in any order, and an existing .grad."""
    x, weight = inputs()
    weight.grad = values(4, 3, start=7)
    b = weight.detach().clone().requires_grad_()
    b.grad = weight.grad.clone()
    lists: dict[int, list[Callable[[], None]]] = {2: [], 30: []}
    outputs = {start: linear(x * start, weight, later) for start, later in lists.items()}
    for start, later in lists.items():
        grad = values(5, 4, start=start)
        outputs[start].backward(grad)
        torch.nn.functional.linear(x.detach() * start, b).backward(grad)
        assert len(later) == 1, (
            f"the backward of a micro-batch: your code appended {len(later)} functions to the list "
            "passed to its forward, expected 1"
        )
    for later in reversed(lists.values()):
        later[0]()
    close(weight.grad, b.grad, "weight.grad after two micro-batches")
    assert not weight.grad.requires_grad, (
        "your weight.grad has a graph, expected none: outside backward, autograd records again"
    )


def test_half_of_the_work_is_later() -> None:
    """One product in backward and one later: the FLOPs are equal."""
    x, weight = inputs()
    later: list[Callable[[], None]] = []
    y = linear(x, weight, later)
    with FlopCounterMode(display=False) as now:
        y.sum().backward()
    with FlopCounterMode(display=False) as after:
        later[0]()
    counts = now.get_total_flops(), after.get_total_flops()
    assert counts == (2 * 5 * 4 * 3,) * 2, (
        f"your code computes {counts[0]} FLOPs in backward and {counts[1]} later, expected 120 and"
        " 120"
    )


def test_the_last_rank_of_two() -> None:
    """F0 I0 F1: the first W comes after the second I, and each micro-batch has all three."""
    yours = order(1, 2, 4)
    text = " ".join(f"{kind}{number}" for kind, _, number in yours)
    at = {(kind, number): place for place, (kind, _, number) in enumerate(yours)}
    assert all((kind, n) in at for kind in "FIW" for n in range(4)), (
        f"your order lacks an action: {text}"
    )
    assert at["I", 1] < at["W", 0], (
        f"yours: {text}\nrank 0 waits for I1 and nothing waits for W0; expected I1 before W0"
    )


@pytest.mark.parametrize(("ranks", "count"), SIZES)
def test_each_action_once(ranks: int, count: int) -> None:
    """F, I and W of each micro-batch once, without a deadlock."""
    orders = [order(rank, ranks, count) for rank in range(ranks)]
    for rank, mine in enumerate(orders):
        expected = Counter((kind, rank, n) for kind in "FIW" for n in range(count))
        assert Counter(mine) == expected, f"rank {rank}: yours {mine}; expected each action once"
    pipes.played(orders, TIMES)


@pytest.mark.parametrize(("ranks", "count"), SIZES)
def test_no_more_is_stored(ranks: int, count: int) -> None:
    """From F to W, a rank stores at most as many micro-batches as there are ranks."""
    for rank in range(ranks):
        mine = order(rank, ranks, count)
        assert pipes.peak(mine) <= ranks, (
            f"rank {rank} of {ranks}: your code stores {pipes.peak(mine)} micro-batches, expected"
            f" at most {ranks}. W frees what it used:\n{mine}"
        )


@pytest.mark.parametrize(("ranks", "count"), SIZES)
def test_as_few_slots_as_pytorch(ranks: int, count: int) -> None:
    """The idle slots of a rank, against PyTorch's zero bubble and its 1F1B."""
    with forbids(kata, "torch.distributed.pipelining", "katas") as mine:
        orders = [mine.order(rank, ranks, count) for rank in range(ranks)]
    yours = sum(pipes.idle(orders, TIMES))
    bar = sum(pipes.idle(pipes.theirs("InterleavedZeroBubble", ranks, 1, ranks), TIMES))
    naive = sum(pipes.idle(pipes.theirs("1F1B", ranks, 1, count), TIMES))
    assert yours <= bar, (
        f"{ranks} ranks, {count} micro-batches, idle slots of all ranks: yours {yours}, PyTorch's "
        f"{bar}, 1F1B {naive}. Which I comes after a W that could wait?"
    )


def test_differences_agree() -> None:
    """The part of backward that does not wait is the whole gradient of the input."""
    x, weight = inputs()

    assert torch.autograd.gradcheck(lambda x: linear(x, weight.detach(), []), (x,)), (
        "finite differences disagree with your gradient of x"
    )
