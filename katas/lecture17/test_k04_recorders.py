"""Tests of k04_recorders: small networks with known outputs, and what the hooks leave behind."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any
from weakref import WeakSet

import torch
from torch import nn

from katas.lecture17.conftest import close
from katas.lecture17.conftest import numbers
from katas.lecture17.k04_recorders import before_relu
from katas.lecture17.k04_recorders import by_name
from katas.lecture17.k04_recorders import every_call
from katas.lecture17.k04_recorders import history
from katas.lecture17.k04_recorders import norms
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator


X = numbers(5, 3)


def network(*, inplace: bool = False) -> Any:
    """Return a network of two linear layers, in float64."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=inplace), nn.Linear(4, 2)).double()


class Twice(nn.Module):
    """Runs one layer twice."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.layer = nn.Linear(3, 3).double()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the layer applied to its own output."""
        y: torch.Tensor = self.layer(self.layer(x).tanh_())
        return y


@contextmanager
def hooks_removed(layer: Any) -> Iterator[None]:
    """Check that what runs in the ``with`` removes the hooks that it puts on a layer."""
    handles, register = list[Any](), layer.register_forward_hook

    def counted(hook: Any) -> Any:
        handles.append(register(hook))
        return handles[-1]

    layer.register_forward_hook = counted
    yield
    del layer.register_forward_hook
    left = [handle for handle in handles if handle.id in (handle.hooks_dict_ref() or {})]
    assert not left, "the recorder has returned, but its hook is still on the layer"


def test_before_relu_shows_negative_units() -> None:
    """A ReLU that writes to its input comes after the layer, and after the hook."""
    for inplace in (False, True):
        model = network(inplace=inplace)
        with unchanged(model, x=X), hooks_removed(model[0]), torch.no_grad():
            yours = before_relu(model, model[0], X)
        expected = X @ model[0].weight.t() + model[0].bias
        close(yours, expected.detach(), f"the first layer, before nn.ReLU(inplace={inplace})")


class Kept:
    """A tensor that a graph saved for its backward."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


@contextmanager
def graphs(model: nn.Module) -> Iterator[list[int]]:
    """Yield for each call of a model from the third on how many tensors older graphs keep."""
    saved, living = [WeakSet[Kept]()], list[int]()

    def pack(tensor: torch.Tensor) -> Kept:
        kept = Kept(tensor.detach())  # an output would keep its own graph
        saved[-1].add(kept)
        return kept

    def before(_model: nn.Module, _inputs: object) -> None:
        # A variable may still hold the last result.
        living.append(sum(map(len, saved[:-1])))
        saved.append(WeakSet[Kept]())

    handle = model.register_forward_pre_hook(before)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept.tensor):
        yield living
    handle.remove()


def test_history_keeps_means_alone() -> None:
    """Keep one mean for each batch, without a graph, which would keep the batch and more."""
    model, batches = network(), [X, X[:2] * 2, -X]
    with hooks_removed(model[0]), graphs(model) as living:
        yours = history(model, model[0], batches)

    assert len(yours) == 3, (
        f"your code returns {len(yours)} means, expected one for each of 3 batches"
    )
    for mean, batch in zip(yours, batches, strict=True):
        close(mean.detach(), model[0](batch).mean(0).detach(), "the mean of the layer's output")
    assert not any(mean.requires_grad for mean in yours), (
        "a mean has a grad_fn, which keeps the batch and the activations of its graph"
    )
    assert not any(living), (
        f"when each batch began, graphs of earlier batches held {living} saved tensors, expected"
        " 0: a mean that is detached after the loop keeps its graph until then"
    )
    # A mean over no batch dim, or a view, would keep the output itself.
    sizes = [mean.untyped_storage().nbytes() for mean in yours]
    assert sizes == [4 * 8] * 3, f"bytes kept for each batch: {sizes}, expected 4 float64 values"


def test_every_call_is_there() -> None:
    """Two calls in one forward are two records."""
    model = Twice()
    with hooks_removed(model.layer):
        yours = every_call(model, model.layer, X)
    first = model.layer(X).detach()

    assert len(yours) == 2, f"your code made {len(yours)} records of a layer that runs twice"
    close(yours[0], first, "the first call: a copy, of what it was before tanh_ wrote there")
    close(yours[1], model(X).detach(), "the second call")
    other = nn.Linear(3, 3)
    assert every_call(model, other, X) == [], "expected no record for a layer that does not run"


def test_each_layer_has_its_name() -> None:
    """Each record has its own layer's name, also if an in-place ReLU comes after it."""
    model = network(inplace=True)
    layers = {"first": model[0], "bent": model[1], "last": model[2]}
    with hooks_removed(model[0]), hooks_removed(model[1]), hooks_removed(model[2]):
        yours = by_name(model, layers, X)

    assert sorted(yours) == ["bent", "first", "last"], f"yours has the names {sorted(yours)}"
    why = "first: a copy, of what it was before nn.ReLU(inplace=True) wrote there"
    close(yours["first"], model[0](X).detach(), why)
    close(yours["bent"], model[:2](X).detach(), "bent")
    close(yours["last"], model(X).detach(), "last")


def test_a_watched_model_learns() -> None:
    """The hook looks, and changes nothing: the first layer's gradient is the same as without it."""
    model, watched = network(), network()
    model(X).sum().backward()
    with norms(watched[0]) as yours:
        watched(X).sum().backward()
        watched[0](2 * X)

    assert watched[0].weight.grad is not None, "no gradient reached the watched layer"
    close(watched[0].weight.grad, model[0].weight.grad, "the gradient of the watched layer")
    expected = [model[0](x).norm().item() for x in (X, 2 * X)]
    close(yours, expected, "the norm of the output, for each call")


def test_no_hook_stays() -> None:
    """The hook is removed after the with, and after an error in it, which propagates."""
    model = network()
    with norms(model[0]) as before:
        model(X)
    model(X)
    assert len(before) == 1, (
        f"one call in the with, one after it: your code recorded {len(before)}, expected 1"
    )
    try:
        with norms(model[0]) as yours:
            model(X[:, :2])
    except RuntimeError:
        pass
    else:
        raise AssertionError("the model's error, two columns instead of three, must propagate")
    model(X)
    assert yours == [], f"the model raised in the with; a call after it was recorded: {yours}"
