"""Tests of k10_adjoint: values, gradcheck through the whole world, and what is sent."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist
from torch.autograd.gradcheck import GradcheckError

from katas.lecture13 import k10_adjoint
from katas.lecture13.conftest import SOON
from katas.lecture13.conftest import close
from katas.lecture13.conftest import same
from katas.lecture13.k10_adjoint import Gather
from katas.lecture13.k10_adjoint import Sum
from katas.lecture13.k10_adjoint import Swap
from plugins.kit import Call
from plugins.kit import forbids


if TYPE_CHECKING:
    from plugins.kit import World


pytestmark = pytest.mark.backend("gloo")

KINDS: dict[str, Any] = {"Sum": Sum, "Gather": Gather, "Swap": Swap}


class Take(torch.autograd.Function):
    """Takes this rank's part of what all have: with `Join`, the world is one function."""

    @staticmethod
    def forward(ctx: Any, whole: torch.Tensor) -> torch.Tensor:
        """Return the part."""
        return whole[dist.get_rank()].clone()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return all parts' gradients, on each rank."""
        parts = [torch.empty(grad.shape, dtype=grad.dtype) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, grad.contiguous())
        return torch.stack(parts)


class Join(torch.autograd.Function):
    """All ranks' results, on each rank."""

    @staticmethod
    def forward(ctx: Any, part: torch.Tensor) -> torch.Tensor:
        """Return all parts."""
        parts = [torch.empty(part.shape, dtype=part.dtype) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, part.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Return the part's gradient."""
        return grad[dist.get_rank()]


def world_of(size: int, rows: int) -> torch.Tensor:
    """Return what all ranks have: ``whole[rank]`` is (rows, 2)."""
    return (torch.arange(size * rows * 2.0).double() + 2).sqrt().view(size, rows, 2)


def forward(name: str, rows: int) -> tuple[torch.Tensor, bool]:
    """Return a collective's result for this rank's part, and whether the part kept its value."""
    mine = world_of(dist.get_world_size(), rows)[dist.get_rank()]
    x = mine.t().contiguous().t()
    return KINDS[name].apply(x), torch.equal(x, mine)


def compare(world: World, name: str, size: int, expected: Any) -> None:
    """Compare the result of each rank, for a non-contiguous part with two columns."""
    __tracebackhide__ = True
    results = world(forward, size, name, 2 * size, timeout=SOON)
    for rank, (found, kept) in enumerate(results):
        close(found, expected(rank), f"{name}.forward on rank {rank} of {size}")
        assert kept, f"your {name}.forward writes to x on rank {rank}: others may use it"


def test_a_sum_is_the_same_on_each_rank(world: World) -> None:
    """Each of three ranks gets the same sum."""
    compare(world, "Sum", 3, lambda rank: world_of(3, 6).sum(0))


def test_a_gather_has_all_rows(world: World) -> None:
    """The rows are in the order of the ranks."""
    compare(world, "Gather", 3, lambda rank: world_of(3, 6).flatten(0, 1))


def test_a_swap_transposes_the_chunks(world: World) -> None:
    """Chunk k of rank r becomes chunk r of rank k."""
    chunks = world_of(3, 6).unflatten(1, (3, 2)).transpose(0, 1)
    compare(world, "Swap", 3, lambda rank: chunks[rank].flatten(0, 1))


def checked(name: str, rows: int) -> str:
    """Return what gradcheck says about the world as one function: nothing, if it agrees."""
    # One column, and no more: gradcheck calls the collectives twice for each number.
    whole = world_of(dist.get_world_size(), rows)[..., :1].clone().requires_grad_()

    def run(whole: torch.Tensor) -> torch.Tensor:
        # Squares, so that a gradient of 1 hides nothing.
        return Join.apply(KINDS[name].apply(Take.apply(whole)).square())

    try:
        torch.autograd.gradcheck(run, (whole,))
    except GradcheckError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", list(KINDS))
def test_gradcheck_goes_through_the_world(world: World, name: str) -> None:
    """All ranks nudge the same number of the same rank, and compare the effect with backward."""
    for rank, told in enumerate(world(checked, 2, name, 2, timeout=2 * SOON)):
        assert not told, (
            f"{name}.backward on rank {rank}: the losses of all ranks depend on this rank's x.\n"
            f"`analytical` is your gradient, `numerical` a finite difference:\n{told}"
        )


def back_and_forth(name: str) -> bool:
    """Go forward and backward once; return whether the incoming gradient keeps its value."""
    x = torch.ones(4, 2, dtype=torch.float64, requires_grad=True)
    y = KINDS[name].apply(x)
    grad = torch.arange(1.0 * y.numel()).double().view_as(y)
    y.backward(grad)
    return grad.flatten().tolist() == list(range(y.numel()))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Sum", (Call("all_reduce", 64), Call("all_reduce", 64))),
        ("Gather", (Call("all_gather", 64), Call("reduce_scatter", 128))),
        ("Swap", (Call("all_to_all_single", 64), Call("all_to_all_single", 64))),
    ],
)
def test_one_collective_each_way(world: World, name: str, expected: tuple[Call, ...]) -> None:
    """Each collective has this many bytes, on two ranks with eight float64."""
    results = world(back_and_forth, 2, name, timeout=SOON)
    same(results.calls[1], expected, f"what {name} calls, forward and backward")
    same(list(results), [True] * 2, "does the gradient that backward is given keep its value?")


def by_fresh_import() -> list[float]:
    """Return the gradient of a sum, with PyTorch's own functions forbidden."""
    names = ["nn", "nn.functional", "_functional_collectives"]
    with forbids(k10_adjoint, *(f"torch.distributed.{name}" for name in names)) as fresh:
        x = torch.ones(2, 2, requires_grad=True)
        for kind in (fresh.Sum, fresh.Gather, fresh.Swap):
            kind.apply(x).sum().backward()
    return x.grad.flatten().tolist()


def test_nothing_ready_made_is_called(world: World) -> None:
    """torch.distributed.nn is not called: its functions are built here."""
    results = world(partial(by_fresh_import), 2, timeout=SOON)
    same(list(results), [[2.0 + 2.0 + 1.0] * 4] * 2, "the gradients of all three, added up")
