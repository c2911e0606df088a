"""Tests of k08_syncs: each request for a value, or for a size that depends on one, is counted."""

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


# Methods and functions that copy values to the CPU; on a CPU not all of them run an operator.
ASKS = {
    *("item", "tolist", "cpu", "numpy", "equal", "allclose"),
    *("__bool__", "__float__", "__int__", "__index__", "__contains__", "__array__", "__format__"),
    *("__repr__", "is_nonzero"),
}
# Operators that a wait runs on the CPU, in any thread.
READS = {"aten::_local_scalar_dense", "aten::nonzero"}
SIZES = {"nonzero", "masked_select", "unique", "_unique2"}


class Calls(TorchFunctionMode):
    """Lists the calls that ask for a value."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found
        # Tensors already copied to the CPU: reading them there does not wait.
        self.here: list[object] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function; calls made inside it do not count."""
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
    """Return the strings among the arguments and keywords."""
    return [each for each in (*args, *(kwargs or {}).values()) if isinstance(each, str)]


class Operators(TorchDispatchMode):
    """Lists the operators that read a value, or whose size depends on one."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self.found = found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator."""
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
    # Modes do not apply to other threads.
    return max(found, [name for name in every if name in READS], key=len)


def setting(count: int, spoilt: float = 0.0) -> tuple[nn.Module, list]:
    """Return a model and batches; outside the masks the targets are spoilt."""
    torch.manual_seed(5)
    model = nn.Linear(3, 4)
    batches = []
    for number in range(count):
        mask = torch.rand(6, 4) < 0.5
        mask[0, 0] = True
        # Some batches have their gradients clipped, others do not.
        targets = torch.randn(6, 4) * (10 if number % 2 else 0.1)
        batches.append((torch.randn(6, 3), targets.masked_fill(~mask, spoilt), mask))
    return model, batches


def expected(model: nn.Module, batches: list) -> tuple[list[float], list[torch.Tensor]]:
    """Train with PyTorch's SGD and clip_grad_norm_."""
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
    """The report contains Python floats, which keep no graph alive."""
    report = train(*setting(2), 0.1)
    kinds = {type(each) for each in (*report.losses, report.best)}
    assert kinds == {float}, f"your report contains {kinds}, expected floats"


@pytest.mark.given
@pytest.mark.parametrize("spoilt", [0.0, float("nan"), float("inf")], ids=["0", "nan", "inf"])
def test_losses_and_weights(spoilt: float) -> None:
    """Losses and weights are right, whatever values are outside the mask."""
    theirs, batches = setting(5, spoilt)
    losses, weights = expected(theirs, batches)
    yours, batches = setting(5, spoilt)
    with unchanged(batches=batches):
        report = train(yours, batches, 0.1)

    assert report.losses == pytest.approx(losses, rel=1e-5), (
        f"losses: yours {report.losses}, with PyTorch's clip_grad_norm_ and SGD {losses}"
    )
    assert report.best == pytest.approx(min(losses), rel=1e-5), (
        f"the best loss: yours {report.best}, but the smallest is {min(losses)}"
    )
    for weight, right in zip(yours.parameters(), weights, strict=True):
        torch.testing.assert_close(weight.detach(), right, msg="other weights\n".__add__)


@pytest.mark.given
def test_nan_within_the_mask() -> None:
    """NaN inside the mask means that training went wrong, and the report shows it."""
    model, batches = setting(3)
    batches[-1][1][0, 0] = float("nan")
    losses = train(model, batches, 0.1).losses
    assert isnan(losses[-1]), f"yours {losses}, expected NaN at the end"


@pytest.mark.parametrize("count", [1, 8])
def test_one_wait(count: int) -> None:
    """There is one wait, however many batches there are."""
    yours = waits(*setting(count))
    assert len(yours) <= 1, (
        f"{count} batches: your code waits {len(yours)} times, expected 1: {', '.join(yours)}."
        " _local_scalar_dense reads a value of a tensor; indexing with a mask asks for a size"
    )


def test_nothing_waits_within_the_loop() -> None:
    """Nothing has waited by the time the last batch is requested."""
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
    assert seen == [0] * 5, (
        f"waits counted at each batch and after the last: yours {seen}, expected 0 everywhere"
    )
