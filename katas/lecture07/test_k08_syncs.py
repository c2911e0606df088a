"""Tests of k08_syncs: whoever asks for a value, or for a size that depends on one, is counted."""

from __future__ import annotations

from math import isnan
from typing import Any

import pytest
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture07.k08_syncs import train
from plugins.kit import unchanged
from plugins.kit import watched_operators


# Methods and functions that bring values to the CPU; on the CPU not all of them run an operator.
ASKS = {
    *("item", "tolist", "cpu", "numpy", "equal", "allclose"),
    *("__bool__", "__float__", "__int__", "__index__", "__contains__", "__array__", "__format__"),
    *("__repr__", "is_nonzero"),
}
# What a wait runs on the CPU, in whatever thread.
READS = {"aten::_local_scalar_dense", "aten::nonzero"}
SIZES = {"nonzero", "masked_select", "unique", "_unique2"}


class Calls(TorchFunctionMode):
    """Lists the calls that ask for a value."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found
        # What has been copied to the CPU: to read it there is no wait.
        self.here: list[object] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run it; what it does inside is its own."""
        name = getattr(func, "__name__", "")
        copies = name == "cpu" or (name == "to" and "cpu" in words(args[1:], kwargs))
        before = len(self.found)
        try:
            result = func(*args, **(kwargs or {}))
        finally:
            if copies or name in ASKS:
                known = any(x is each for x in args[:1] for each in self.here)
                self.found[before:] = [] if known else [name]
        if copies:
            self.here.append(result)
        return result


def words(args: Any, kwargs: Any) -> list[str]:
    """Return the strings among arguments and keywords."""
    return [each for each in (*args, *(kwargs or {}).values()) if isinstance(each, str)]


class Operators(TorchDispatchMode):
    """Lists the operators that read a value, or whose size depends on one."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run it."""
        name = func.__name__.partition(".")[0]
        by_mask = name in {"index", "index_put", "index_put_"} and any(
            x is not None and x.dtype == torch.bool for x in args[1]
        )
        if name in SIZES | {"_local_scalar_dense"} or by_mask:
            self.found.append(name)
        return func(*args, **(kwargs or {}))


def waits(model: nn.Module, batches: list) -> list[str]:
    """Train, and return what waited."""
    found: list[str] = []
    with watched_operators() as every, Calls(found), Operators(found):
        train(model, batches, 0.1)
    # A thread has no modes.
    return max(found, [name for name in every if name in READS], key=len)


def setting(count: int, spoilt: float = 0.0) -> tuple[nn.Module, list]:
    """Return a model and batches; outside of the masks the targets are spoilt."""
    torch.manual_seed(5)
    model = nn.Linear(3, 4)
    batches = []
    for number in range(count):
        mask = torch.rand(6, 4) < 0.5
        mask[0, 0] = True
        # The gradients of some batches are clipped, those of others are not.
        targets = torch.randn(6, 4) * (10 if number % 2 else 0.1)
        batches.append((torch.randn(6, 3), targets.masked_fill(~mask, spoilt), mask))
    return model, batches


def expected(model: nn.Module, batches: list) -> tuple[list[float], list[torch.Tensor]]:
    """Train as SGD and clip_grad_norm_ of PyTorch do."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for inputs, targets, mask in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs)[mask], targets[mask])
        loss.backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm().item()
        for p in model.parameters():
            p.grad /= max(norm, 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach() for p in model.parameters()]


@pytest.mark.given
def test_the_report_holds_numbers() -> None:
    """Floats of Python, which keep no graph alive."""
    report = train(*setting(2), 0.1)
    kinds = {type(each) for each in (*report.losses, report.best)}
    assert kinds == {float}, f"yours has {kinds} in its report, expected floats"


@pytest.mark.given
@pytest.mark.parametrize("spoilt", [0.0, float("nan"), float("inf")], ids=["0", "nan", "inf"])
def test_losses_and_weights(spoilt: float) -> None:
    """They are right, and stay so, whatever stands outside of the mask."""
    theirs, batches = setting(5, spoilt)
    losses, weights = expected(theirs, batches)
    yours, batches = setting(5, spoilt)
    with unchanged(batches=batches):
        report = train(yours, batches, 0.1)

    assert report.losses == pytest.approx(losses, rel=1e-5), (
        f"losses: yours {report.losses}, with clip_grad_norm_ and SGD of PyTorch {losses}"
    )
    assert report.best == pytest.approx(min(losses), rel=1e-5), (
        f"the best loss: yours {report.best}, the smallest of them is {min(losses)}"
    )
    for weight, right in zip(yours.parameters(), weights, strict=True):
        torch.testing.assert_close(weight.detach(), right, msg="other weights\n".__add__)


@pytest.mark.given
def test_nan_within_the_mask() -> None:
    """That is a training gone wrong, and the report says so."""
    model, batches = setting(3)
    batches[-1][1][0, 0] = float("nan")
    losses = train(model, batches, 0.1).losses
    assert isnan(losses[-1]), f"yours {losses}, expected NaN at the end"


@pytest.mark.parametrize("count", [1, 8])
def test_one_wait(count: int) -> None:
    """However many batches there are."""
    yours = waits(*setting(count))
    assert len(yours) <= 1, (
        f"{count} batches: yours waits {len(yours)} times, bar 1: {', '.join(yours)}."
        " _local_scalar_dense reads a value of a tensor; index with a mask asks for a size"
    )


def test_nothing_waits_within_the_loop() -> None:
    """When the last batch is asked for, nothing has waited yet."""
    model, batches = setting(4)
    found: list[str] = []
    seen: list[int] = []

    def watched() -> Any:
        for batch in batches:
            seen.append(len(found))
            yield batch
        seen.append(len(found))

    with Calls(found), Operators(found):
        train(model, watched(), 0.1)
    assert seen == [0] * 5, f"waits before each batch, and after the last: yours {seen}, expected 0"
