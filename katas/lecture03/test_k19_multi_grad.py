"""Tests of k19_multi_grad: what the tools record is compared with what the engine does."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from katas.lecture03.k19_multi_grad import inspect_module
from katas.lecture03.k19_multi_grad import log_norms
from plugins.kit import unchanged


def branches() -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Return an irrational leaf and three results computed from it."""
    leaf = torch.tensor([2.0, 3.0], dtype=torch.float64).sqrt().requires_grad_()
    return leaf, [leaf.exp(), leaf.sin(), leaf * 3]


def test_one_norm_for_all_tensors() -> None:
    """One number per backward, in whatever order the gradients arrive."""
    leaf, tensors = branches()
    log = log_norms(iter(tensors))
    noted: list[int] = []
    leaf.register_hook(lambda _: noted.append(len(log.norms)))
    a, b, c = tensors
    with unchanged(leaf=leaf, tensors=tensors, but=("grad",)):
        (a * b + c).sum().backward()
    # The gradient of a is b, that of b is a, that of c is 1.
    expected = torch.cat([b, a, torch.ones_like(c)]).norm().item()

    assert log.norms == pytest.approx([expected], rel=1e-12), (
        f"yours {log.norms}, expected {[expected]}: one norm over three gradients"
    )
    assert [1] == noted, "all three gradients arrive before the leaf's; your norm comes later"


def test_what_is_not_reached_counts_as_zero() -> None:
    """The next backward goes through only one branch: do not wait for the others."""
    leaf, tensors = branches()
    log = log_norms(tensors)
    (tensors[0] * 7).sum().backward(retain_graph=True)
    expected = 7 * 2**0.5

    assert log.norms == pytest.approx([expected], rel=1e-12), (
        f"yours {log.norms}, expected {[expected]}: two of three tensors are not in this graph"
    )
    assert leaf.grad is not None, "backward reached the leaf, but it has no gradient"


def test_every_backward_has_its_number() -> None:
    """Each backward adds a norm until the log is removed, for leaves too."""
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    log = log_norms([x, y])
    for factor in (1.0, 2.0):
        (factor * (x + y)).sum().backward()
    assert log.norms == pytest.approx([2.0, 4.0]), (
        f"two backwards: yours {log.norms}, expected [2, 4], without the old .grad"
    )
    log.remove()
    (x + y).sum().backward()

    assert len(log.norms) == 2, (
        f"after log.remove() your log still got {log.norms[2:]}: remove() removes the hooks "
        "whose handles are in log.handles"
    )
    assert [4.0, 4.0] == x.grad.tolist(), (
        f"hooks must not change gradients, but x.grad is {x.grad.tolist()}"
    )


def test_shapes_at_a_module(device: str) -> None:
    """One pair per call: first the gradient of the module's input, then that of its output."""
    layer = nn.Linear(3, 4).to(device)
    log = inspect_module(layer)
    x = torch.randn(5, 3, device=device, requires_grad=True)
    layer(layer(x)[:, :3]).sum().backward()

    expected = (((5, 3),), ((5, 4),))
    assert [expected, expected] == log.shapes, (
        f"yours {log.shapes}\nexpected {[expected, expected]}: inputs and outputs of each call"
    )


class Two(nn.Module):
    """A module with two inputs, one of them a number, and two outputs."""

    def forward(self, x: torch.Tensor, factor: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a multiple and a sum."""
        return x * factor, x.sum()


def test_absent_gradients_are_none() -> None:
    """An input that is not a tensor and an output that is not used have None."""
    module = Two()
    log = inspect_module(module)
    product, _ = module(torch.ones(2, requires_grad=True), 3.0)
    product.sum().backward()

    expected = [(((2,), None), ((2,), None))]
    assert expected == log.shapes, f"yours {log.shapes}, expected {expected}"


def test_module_hooks_are_removed() -> None:
    """While module hooks are registered, gradients pass through unchanged."""
    layer = nn.Tanh()
    log = inspect_module(layer)
    x = torch.linspace(-1, 1, 5, requires_grad=True)
    layer(x).sum().backward()
    says = "with your hook on, the gradient of tanh is another one\n".__add__
    torch.testing.assert_close(x.grad, 1 - x.detach().tanh().square(), msg=says)
    log.remove()
    layer(x).sum().backward()

    assert 1 == len(log.shapes), (
        f"one backward, then log.remove(), then another: yours {log.shapes}, expected only "
        "the first; remove() removes the hooks whose handles are in log.handles"
    )
