"""Tests of k08_averages: clip_grad_norm_, AveragedModel and update_bn are the oracles."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.optim.swa_utils import get_ema_multi_avg_fn
from torch.optim.swa_utils import update_bn

from katas.lecture12 import k08_averages as kata
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


FORBIDDEN = "torch.nn.utils", "torch.optim.swa_utils"
CLIP = "see clip_grad_norm_ in torch/nn/utils/clip_grad.py"
SWA = "see update_parameters in torch/optim/swa_utils.py"
BN = "see update_bn in torch/optim/swa_utils.py"


def with_grads(*grads: list[float] | None) -> list[nn.Parameter]:
    """Return parameters with these gradients."""
    found = [nn.Parameter(torch.zeros(len(grad or "a"), dtype=torch.float64)) for grad in grads]
    for parameter, grad in zip(found, grads, strict=True):
        if grad is not None:
            parameter.grad = torch.tensor(grad, dtype=torch.float64)
    return found


def grads_of(parameters: list[nn.Parameter]) -> list[list[float] | None]:
    """Return the gradients as numbers."""
    return [None if each.grad is None else each.grad.tolist() for each in parameters]


def network(momentum: float | None = 0.3) -> nn.Sequential:
    """Return a float64 model with two BatchNorms and new random weights."""
    layers = nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=momentum), nn.ReLU(), nn.BatchNorm1d(4)
    model = nn.Sequential(*layers).double()
    model(torch.randn(5, 3, dtype=torch.float64))
    return model


def alike(yours: nn.Module, theirs: nn.Module, said: str) -> None:
    """Compare parameters and buffers."""
    __tracebackhide__ = True
    expected = theirs.state_dict()
    for name, x in yours.state_dict().items():
        torch.testing.assert_close(
            x,
            expected[name],
            rtol=1e-12,
            atol=1e-12,
            msg=lambda text, name=name, x=x: (  # type: ignore[misc]
                f"{name}: yours {x.flatten()[:4].tolist()}, PyTorch's"
                f" {expected[name].flatten()[:4].tolist()}; {said}\n{text}"
            ),
        )


ROOTS = [math.sqrt(2), -math.sqrt(3)]


@pytest.mark.parametrize("max_norm", [0.5, 1.0, 100.0])
@pytest.mark.parametrize(
    "grads",
    [([3.0, 4.0],), (ROOTS, None, [math.sqrt(5)]), ([0.0], [0.0, 0.0])],
    ids=["one", "three", "zero"],
)
def test_clip(grads: tuple[Any, ...], max_norm: float) -> None:
    """One factor for all gradients, and the norm before; small gradients do not change."""
    yours, theirs = with_grads(*grads), with_grads(*grads)
    norm = kata.clip(yours, max_norm)
    right = nn.utils.clip_grad_norm_(theirs, max_norm, foreach=False)

    where = f"gradients {grads}, max_norm {max_norm}"
    assert math.isclose(norm, right, rel_tol=1e-12), f"{where}: yours {norm}, PyTorch's {right}"
    for mine, other in zip(grads_of(yours), grads_of(theirs), strict=True):
        assert mine == (other and pytest.approx(other, rel=1e-12)), (
            f"{where}: yours {mine}, PyTorch's {other}; {CLIP}"
        )


def test_clip_takes_an_iterator_and_writes_in_place() -> None:
    """``model.parameters()`` can be read once; a gradient may be a view of a larger buffer."""
    parameters = with_grads(ROOTS, None)
    before = parameters[0].grad
    assert before is not None
    bucket = before.view(1, 2)
    with unchanged(weights=[each.detach() for each in parameters]):
        kata.clip(iter(parameters), 0.1)
    assert before is parameters[0].grad, "your code replaces the gradient with a new tensor"
    assert before.norm().item() == pytest.approx(0.1, rel=1e-5), (
        f"your clipped gradient has norm {before.norm()}, expected 0.1"
    )
    norm = bucket.norm().item()
    assert norm == pytest.approx(0.1, rel=1e-5), (
        f"a view of the gradient has norm {norm}, expected 0.1: your code replaced the memory of"
        " the gradient, as assigning .data does; use an operator that ends in _"
    )
    assert parameters[1].grad is None, (
        f"a parameter without a gradient now has one: {parameters[1].grad}"
    )


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_clip_with_a_bad_gradient(bad: float) -> None:
    """One infinite gradient makes the finite ones 0; one NaN makes all of them NaN."""
    yours, theirs = with_grads([1.0, bad], [2.0]), with_grads([1.0, bad], [2.0])
    kata.clip(yours, 1.0)
    nn.utils.clip_grad_norm_(theirs, 1.0)
    assert repr(grads_of(theirs)) == repr(grads_of(yours)), (
        f"gradients [1, {bad}] and [2]: yours {grads_of(yours)}, PyTorch's {grads_of(theirs)}"
    )


def test_clip_reads_no_value() -> None:
    """On a GPU, reading the norm in Python waits for everything launched before."""
    parameters = with_grads(ROOTS, ROOTS)
    with watched_operators() as names:
        kata.clip(parameters, 0.5)
    reads = [name for name in names if name == "aten::_local_scalar_dense"]
    assert not reads, (
        f"your code reads {len(reads)} values from tensors, expected none: clamp the factor"
    )


@pytest.mark.parametrize("decay", [None, 0.9, 0.25, 0.0])
def test_averages(decay: float | None) -> None:
    """Four models: SWA without a decay, EMA with one."""
    theirs = AveragedModel(
        network(), multi_avg_fn=None if decay is None else get_ema_multi_avg_fn(decay)
    )
    yours = network()
    for count in range(4):
        model = network()
        kata.update(yours, model, count, decay)
        theirs.update_parameters(model)
        alike(yours, theirs.module, f"after {count + 1} models, decay={decay}; {SWA}")


def test_buffers_are_those_of_the_last_model() -> None:
    """Including the batch counter, which must stay an integer."""
    yours, model = network(), network()
    for _ in range(3):
        model(torch.randn(4, 3, dtype=torch.float64))
    kata.update(yours, model, 1)
    for (name, mine), (_, right) in zip(yours.named_buffers(), model.named_buffers(), strict=True):
        assert mine.dtype == right.dtype, f"your {name} is {mine.dtype}, expected {right.dtype}"
        assert torch.equal(mine, right), f"{name}: yours {mine}, expected {right}; {SWA}"


def test_update_writes_to_the_average_alone() -> None:
    """In place and without a graph; the model itself does not change."""
    yours, model = network(), network()
    before = [*yours.parameters(), *yours.buffers()]
    memory = [each.data_ptr() for each in before]
    with unchanged(model=model):
        kata.update(yours, model, 2, 0.5)
    after = [*yours.parameters(), *yours.buffers()]
    same = all(old is new for old, new in zip(before, after, strict=True))
    same &= memory == [each.data_ptr() for each in after]
    assert same, "your code replaces parameters or buffers, or moves them to other memory"
    assert all(each.is_leaf and each.requires_grad for each in yours.parameters()), (
        "a parameter is now the result of an operation and no longer a leaf"
    )
    model(torch.randn(4, 3, dtype=torch.float64))
    assert not any(
        mine.data_ptr() == theirs.data_ptr()
        for mine, theirs in zip(yours.buffers(), model.buffers(), strict=True)
    ), "the average shares buffers with the model"


@pytest.mark.parametrize("training", [True, False])
def test_refresh(*, training: bool) -> None:
    """As update_bn does: the mean over batches, all weighted equally, in both layers."""
    batches = [torch.randn(size, 3, dtype=torch.float64) + size for size in (4, 7, 2)]
    yours = network().train(training)
    theirs = copy.deepcopy(yours)
    kata.refresh(yours, iter(batches))
    update_bn(batches, theirs)
    alike(yours, theirs, f"three batches; {BN}")


@pytest.mark.parametrize("training", [True, False])
def test_refresh_puts_things_back(*, training: bool) -> None:
    """Modes, even of a frozen layer, and each layer's momentum; no parameter gets a gradient."""
    model = network().train(training)
    model[3].eval()
    before = {name: layer.training for name, layer in model.named_modules()}
    buffers = {name: x.data_ptr() for name, x in model.named_buffers()}
    seen: list[bool] = []
    model.register_forward_hook(lambda *_: seen.append(torch.is_grad_enabled()))
    batches = [torch.randn(4, 3, dtype=torch.float64)] * 2
    with unchanged(weights=list(model.parameters()), batches=batches):
        kata.refresh(model, batches)
    momenta = [layer.momentum for layer in kata.norms(model)]
    assert [0.3, 0.1] == momenta, f"momenta afterwards: yours {momenta}, expected [0.3, 0.1]"
    modes = {name: layer.training for name, layer in model.named_modules()}
    assert before == modes, (
        f"training flag of each module: yours {modes} afterwards, expected {before} as before"
    )
    moved = [name for name, x in model.named_buffers() if x.data_ptr() != buffers[name]]
    assert not moved, f"your code moves {moved} to other memory: write in place"
    assert [False, False] == seen, (
        f"grad mode during your two batches is {seen}, expected False for both: grad mode builds a "
        "graph"
    )


def test_they_are_written_here() -> None:
    """Without the functions of torch.nn.utils and torch.optim.swa_utils."""
    with forbids(kata, *FORBIDDEN) as fresh:
        parameters = with_grads(ROOTS)
        fresh.clip(parameters, 0.1)
        averaged = network()
        fresh.update(averaged, network(), 0)
        fresh.refresh(averaged, [torch.randn(4, 3, dtype=torch.float64)])
