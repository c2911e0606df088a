"""Tests of k10_batch_norm: PyTorch's BatchNorm1d gets the same batches and the same state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from katas.lecture05 import k10_batch_norm as kata
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Sequence


CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def pair(size: int = 3, **options: float | None) -> tuple[kata.BatchNorm, nn.BatchNorm1d]:
    """Return yours and PyTorch's, in float64, with equal weights."""
    mine, real = kata.BatchNorm(size, **options).double(), nn.BatchNorm1d(size, **options).double()
    with torch.no_grad():
        for module in (mine, real):
            module.weight.copy_(torch.arange(1, size + 1).sqrt())
            module.bias.copy_(torch.arange(size).sqrt())
    return mine, real


def batch(*sizes: int, seed: int = 0) -> torch.Tensor:
    """Return a batch in float64, far from mean 0 and variance 1."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sizes, generator=generator, dtype=torch.float64) * 3 + 5


def same_state(mine: nn.Module, real: nn.Module, why: str) -> None:
    """Compare the state dicts."""
    yours, theirs = mine.state_dict(), real.state_dict()
    assert [*theirs] == [*yours], f"your state dict has {[*yours]}, PyTorch's has {[*theirs]}"
    for key, x in theirs.items():
        says = f"{key}: yours is not PyTorch's: {why}\n".__add__
        torch.testing.assert_close(yours[key], x, **CLOSE, msg=says)


def compare(mine: nn.Module, real: nn.Module, batches: Sequence[torch.Tensor], why: str) -> None:
    """Call both with each batch; compare results, then states."""
    for number, x in enumerate(batches, 1):
        with unchanged(x):
            yours = mine(x)
        says = f"batch {number}: yours is not PyTorch's: {why}\n".__add__
        torch.testing.assert_close(yours, real(x), **CLOSE, msg=says)
    same_state(mine, real, why)


def test_what_it_has() -> None:
    """A BatchNorm has two parameters and three buffers, with PyTorch's names, values and dtypes."""
    mine, real = kata.BatchNorm(3), nn.BatchNorm1d(3)
    same_state(mine, real, "a new one")
    names = [name for name, _ in mine.named_parameters()]

    assert names == ["weight", "bias"], f"your parameters are {names}, expected weight and bias"


def test_a_batch_is_normalised() -> None:
    """A batch is normalised with its own mean and variance, for each channel separately."""
    mine, real = pair()
    x = batch(4, 3)
    torch.testing.assert_close(
        mine(x), real(x), **CLOSE, msg="divide by n here, not by n - 1\n".__add__
    )


def test_what_is_remembered_after_a_batch() -> None:
    """The running values move a tenth of the way, with the other variance."""
    compare(
        *pair(), [batch(4, 3)], "the running variance divides by n - 1, momentum is new's share"
    )


@pytest.mark.parametrize("momentum", [0.1, 0.7, 0.0, None])
def test_what_is_remembered_after_three(momentum: float | None) -> None:
    """Batches of different sizes count equally; with momentum=None it is their mean."""
    batches = [batch(n, 3, seed=n) for n in (2, 5, 3)]

    compare(*pair(momentum=momentum), batches, f"momentum={momentum}")


@pytest.mark.parametrize("sizes", [(4, 3, 5), (2, 3, 1), (1, 3, 2), (6, 3)])
def test_channels_stand_in_the_second_dim(sizes: tuple[int, ...]) -> None:
    """All dims but the second belong to the batch."""
    compare(*pair(), [batch(*sizes)], f"x has the shape {sizes}")
    n, size, *rest = sizes
    compare(*pair(size + 2), [batch(n, size + 2, *rest)], f"{size + 2} channels")


@pytest.mark.parametrize("eps", [1e-5, 0.5])
def test_evaluation(eps: float) -> None:
    """Evaluation uses the running values, even for a single row, and writes nothing."""
    mine, real = pair(eps=eps)
    compare(mine, real, [batch(4, 3)], f"training, eps={eps}")
    mine.eval()
    real.eval()
    with unchanged(mine):
        mine(batch(5, 3))
    compare(mine, real, [batch(1, 3), batch(7, 3, seed=1), batch(2, 3, 4)], f"eval, eps={eps}")


def test_training_again() -> None:
    """Training continues where it stopped."""
    mine, real = pair(momentum=None)
    for mode in (True, False, True):
        mine.train(mode)
        real.train(mode)
        compare(mine, real, [batch(3, 3, seed=7)], f"training={mode}, the third time around")


@pytest.mark.parametrize("momentum", [0.1, None])
def test_states_go_both_ways(momentum: float | None) -> None:
    """Your state loads into PyTorch's module and vice versa, including the batch count."""
    mine, real = pair(momentum=momentum)
    mine(batch(4, 3))
    real.load_state_dict(mine.state_dict())
    same_state(mine, real, "loaded into PyTorch's")
    real(batch(5, 3, seed=1))
    mine.load_state_dict(real.state_dict())
    compare(mine, real, [batch(6, 3, seed=2)], "loaded from PyTorch's")


def test_a_batch_far_from_zero() -> None:
    """Subtract the mean first: squares of large numbers leave no digits for the variance."""
    mine, real = pair()
    x = batch(4, 3) + 1e7
    yours, theirs = mine(x), real(x)
    says = "a batch around 10 million: yours is not PyTorch's; square x - mean, not x\n".__add__
    torch.testing.assert_close(yours, theirs, rtol=1e-6, atol=1e-6, msg=says)
    for name in ("running_mean", "running_var"):
        says = f"{name} after a batch around 10 million: yours is not PyTorch's\n".__add__
        pairs = (getattr(mine, name), getattr(real, name))
        torch.testing.assert_close(*pairs, rtol=1e-6, atol=1e-6, msg=says)


@pytest.mark.parametrize("mode", [True, False])
def test_gradients(mode: bool) -> None:  # noqa: FBT001
    """In training gradients go through mean and variance, as finite differences show."""
    mine, real = pair()
    mine.train(mode)
    real.train(mode)
    x, weights = batch(3, 3).requires_grad_(), batch(3, 3, seed=1)
    pairs = [
        torch.autograd.grad((module(x) * weights).sum(), [x, module.weight, module.bias])
        for module in (mine, real)
    ]
    for what, yours, theirs in zip(("x", "weight", "bias"), *pairs, strict=True):
        says = f"training={mode}: the gradient by {what}: yours is not PyTorch's\n".__add__
        torch.testing.assert_close(yours, theirs, **CLOSE, msg=says)
    assert gradcheck(mine, x), "your gradients differ from finite differences"


def test_buffers_stay_the_same_tensors() -> None:
    """Buffers are written in place, without history, so a graph is freed with its batch."""
    mine, _ = pair()
    before, state = dict(mine.named_buffers()), mine.state_dict()
    mine(batch(4, 3).requires_grad_())
    for name, x in mine.named_buffers():
        says = (
            f"{name}: a state dict that was taken before the call does not see it; write to the"
            " buffer's memory, and give it no other one\n"
        ).__add__
        torch.testing.assert_close(state[name], x, rtol=0, atol=0, msg=says)
        assert x is before[name], f"{name} is a new tensor, but DDP holds the old one"
        assert not x.requires_grad, f"{name} requires a gradient: it keeps the graph alive"


def test_it_is_your_own() -> None:
    """PyTorch's own batch norm must not run."""
    with forbids(
        kata,
        *("torch.nn.functional", "torch.nn.BatchNorm1d", "torch.batch_norm"),
        *("torch.native_batch_norm", "torch.nn.modules", "torch.nn.SyncBatchNorm"),
        operators=("aten::batch_norm", "aten::native_batch_norm"),
    ) as fresh:
        module = fresh.BatchNorm(3)
        module(torch.randn(4, 3))
        module.eval()(torch.randn(4, 3))
