"""Tests of k17_hooks: what the tools see is compared with what the engine says."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from katas.lecture03.k17_hooks import clip_gradient
from katas.lecture03.k17_hooks import inspect_module
from katas.lecture03.k17_hooks import log_nodes
from katas.lecture03.k17_hooks import step_in_backward
from plugins.kit import freed
from plugins.kit import unchanged


@pytest.mark.given
def test_the_documented_order_of_hooks(device: str) -> None:
    """Tensor hooks, pre-hooks of the node, the node, its hooks; for a leaf, .grad in between."""
    order = []
    leaf = torch.ones(2, device=device, requires_grad=True)
    middle = leaf * 2
    middle.grad_fn.register_hook(lambda *_: order.append("node hook"))
    middle.grad_fn.register_prehook(lambda *_: order.append("node pre-hook"))
    middle.register_hook(lambda _: order.append("tensor hook"))
    leaf.register_post_accumulate_grad_hook(lambda leaf: order.append("accumulated"))
    leaf.register_hook(lambda _: order.append("leaf's hook"))
    middle.sum().backward()

    ours = ["tensor hook", "node pre-hook", "node hook"]
    assert [*ours, "leaf's hook", "accumulated"] == order, "as the notes on autograd say"


def test_a_chain_is_logged_in_the_order_it_runs(device: str) -> None:
    """From the root to the leaf: sin, exp, the product by a constant, and the accumulation."""
    x = torch.ones(3, device=device, requires_grad=True)
    root = (x * 2).exp().sin()
    log = log_nodes(root)
    assert [] == log.names, "nothing has run yet"
    root.backward(torch.ones_like(root))

    expected = ["SinBackward0", "ExpBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    assert expected == log.names, f"you logged {log.names}"


def test_a_node_runs_once_however_many_paths_lead_to_it() -> None:
    """The engine waits for all gradients of a node; a walk that visits it twice logs it twice."""
    x = torch.ones(3, requires_grad=True)
    shared = x.exp()
    root = (shared * shared + shared).sum()
    log = log_nodes(root)
    root.backward()

    assert 1 == log.names.count("ExpBackward0"), f"you logged {log.names}"
    assert 5 == len(log.names), "sum, add, mul, exp and the leaf"


def test_every_backward_is_logged() -> None:
    """A second run of the same graph runs every node again; gradients are what they were."""
    x = torch.ones(3, requires_grad=True)
    root = x.exp().sum()
    log = log_nodes(root)
    root.backward(retain_graph=True)
    first = list(log.names)
    root.backward()

    assert first * 2 == log.names
    torch.testing.assert_close(x.grad, 2 * x.exp().detach())


def test_a_node_is_logged_after_it_ran() -> None:
    """Its pre-hooks find it not yet in the log."""
    x = torch.ones(3, requires_grad=True)
    root = x.exp().sum()
    log = log_nodes(root)
    before: list[list[str]] = []
    root.grad_fn.register_prehook(lambda _: before.append(list(log.names)))
    root.backward()

    assert before == [[]], f"before the first node has run, your log has {before}"


def test_only_nodes_that_run_are_logged() -> None:
    """A gradient for one input alone leaves the other branch out."""
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    root = (x.exp() + y.sin()).sum()
    log = log_nodes(root)
    torch.autograd.grad(root, x)

    assert "ExpBackward0" in log.names
    assert "SinBackward0" not in log.names, "sin was not needed for the gradient of x"


def test_deep_graphs_are_walked() -> None:
    """Ten thousand nodes are more than Python's recursion takes."""
    x = torch.ones((), requires_grad=True)
    root = x
    for _ in range(10_000):
        root = root + 1
    log = log_nodes(root)
    root.backward()

    assert 10_001 == len(log.names), "each addition and the leaf"


class Bystander:
    """Something whose life shows the life of the node that holds it."""


def test_a_log_owns_no_graph() -> None:
    """Hooks that nobody has taken off go with their nodes, by counted references."""

    def made() -> Bystander:
        bystander = Bystander()
        y = (torch.ones(2, requires_grad=True) * 2).sum()
        with unchanged(y=y):
            log_nodes(y)
        y.grad_fn.metadata["bystander"] = bystander
        return bystander

    freed(made, "A hook that names its node is owned by it, and owns it: name what you note.")


def test_a_log_is_removed() -> None:
    """And only that one: another log on the same graph goes on."""
    x = torch.ones(3, requires_grad=True)
    root = x.exp().sum()
    log, other = log_nodes(root), log_nodes(root)
    log.remove()
    log.remove()
    root.backward()

    assert [] == log.names, "its hooks were taken off"
    assert 3 == len(other.names), "the other log's hooks were not"


@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_any_graph_is_logged_as_profiled(edges: list[tuple[int, int]]) -> None:
    """Sums and products of earlier values: every node the profiler sees, in its order."""
    x = torch.ones(2, requires_grad=True)
    values = [x.sin()]
    for place, (one, other) in enumerate(edges):
        left, right = values[one % len(values)], values[other % len(values)]
        values.append(left * right if place % 2 else left + right)
    root = values[-1]
    log = log_nodes(root)
    with torch.autograd.profiler.profile() as profile:
        root.backward(torch.ones_like(root))
    prefix = "autograd::engine::evaluate_function: "
    events = sorted(profile.function_events, key=lambda event: event.time_range.start)
    ran = [event.name.removeprefix(prefix) for event in events if event.name.startswith(prefix)]

    assert ran == log.names


@pytest.mark.parametrize("kind", ["leaf", "not a leaf"])
def test_a_gradient_is_clipped_before_it_goes_on(device: str, kind: str) -> None:
    """On both sides, for a leaf before it is added to .grad, for others before their node."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], device=device, requires_grad=True)
    middle = x if kind == "leaf" else x * 10
    clip_gradient(middle, 2.5)
    weights = torch.tensor([-9.0, -1.0, 2.0, 5.0], device=device)
    (middle * weights).sum().backward()
    factor = 1 if kind == "leaf" else 10

    assert [value * factor for value in (-2.5, -1.0, 2.0, 2.5)] == x.grad.tolist()


def test_other_users_of_the_gradient_see_all_of_it() -> None:
    """The sum hands one and the same gradient to both terms: clipping must not write to it."""
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    clip_gradient(x, 1.0)
    gradient = torch.tensor([5.0, -7.0])
    (x + y).backward(gradient)

    assert [1.0, -1.0] == x.grad.tolist()
    assert [5.0, -7.0] == y.grad.tolist(), "y is not clipped"
    assert [5.0, -7.0] == gradient.tolist(), "nor is the tensor that backward was given"


def test_clipping_comes_to_an_end() -> None:
    """The handle removes the hook; hooks later in line see what is clipped."""
    x = torch.ones(2, requires_grad=True)
    handle = clip_gradient(x, 1.0)
    seen = []
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()

    assert [[1.0, 1.0], [3.0, 3.0]] == seen
    assert [4.0, 4.0] == x.grad.tolist()


def model_and_data(device: str) -> tuple[nn.Module, torch.Tensor]:
    """Return a small model with two layers and a batch."""
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).to(device)
    return model, torch.randn(5, 3, device=device)


def test_parameters_step_in_backward(device: str) -> None:
    """As torch.optim.SGD would after it, and in place."""
    model, batch = model_and_data(device)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    grads = torch.autograd.grad(model(batch).square().mean(), list(model.parameters()))
    places = [parameter.data_ptr() for parameter in model.parameters()]
    # An iterator can be walked once only.
    step_in_backward(model.parameters(), 0.5)
    model(batch).square().mean().backward()

    for parameter, old, grad in zip(model.parameters(), before, grads, strict=True):
        torch.testing.assert_close(parameter.detach(), old - 0.5 * grad)
    assert places == [parameter.data_ptr() for parameter in model.parameters()]
    assert all(p.is_leaf and p.requires_grad for p in model.parameters())


def test_gradients_are_freed_one_by_one(device: str) -> None:
    """When a later gradient is accumulated, the earlier ones are gone already."""
    model, batch = model_and_data(device)
    step_in_backward(model.parameters(), 0.5)
    alive = []
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(
            lambda _: alive.append(sum(p.grad is not None for p in model.parameters()))
        )
    model(batch).sum().backward()

    assert [0, 0, 0, 0] == alive, "no gradient outlives its step"


def test_a_gradient_of_several_uses_is_stepped_once() -> None:
    """Not once per use: a post-accumulate hook sees the sum."""
    weight = torch.tensor([1.0], requires_grad=True)
    log = step_in_backward([weight], 0.25)
    (weight * 2 + weight * 3).backward()
    assert [1 - 0.25 * 5] == weight.tolist()
    log.remove()
    (weight * 2).backward()

    assert [1 - 0.25 * 5] == weight.tolist(), "removed, so no step"
    assert [2.0] == weight.grad.tolist(), "and the gradient stays"


@pytest.mark.filterwarnings("ignore:Using backward.. with create_graph")
def test_steps_are_not_recorded() -> None:
    """Not even where backward records itself, which leaves grad mode on in its hooks."""
    weight = torch.tensor([1.0], requires_grad=True)
    step_in_backward([weight], 0.25)
    try:
        weight.square().sum().backward(create_graph=True)
    except RuntimeError as error:
        raise AssertionError(f"with create_graph=True: {error}") from error

    assert [1 - 0.25 * 2] == weight.tolist()
    assert weight.is_leaf, "a recorded step would make it a result"


def test_shapes_at_a_module(device: str) -> None:
    """The gradient of the module's input first, that of its output second, per call."""
    layer = nn.Linear(3, 4).to(device)
    log = inspect_module(layer)
    x = torch.randn(5, 3, device=device, requires_grad=True)
    layer(layer(x)[:, :3]).sum().backward()

    expected = (((5, 3),), ((5, 4),))
    assert [expected, expected] == log.shapes, "not the weight's: inputs and outputs of the call"


class Two(nn.Module):
    """A module with two inputs, one of them a number, and two outputs."""

    def forward(self, x: torch.Tensor, factor: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a multiple and a sum."""
        return x * factor, x.sum()


def test_absent_gradients_are_none() -> None:
    """An input that is no tensor, and an output that is not used."""
    module = Two()
    log = inspect_module(module)
    product, _ = module(torch.ones(2, requires_grad=True), 3.0)
    product.sum().backward()

    assert [(((2,), None), ((2,), None))] == log.shapes


def test_module_hooks_are_removed() -> None:
    """And a gradient passes through unchanged as long as they are there."""
    layer = nn.Tanh()
    log = inspect_module(layer)
    x = torch.linspace(-1, 1, 5, requires_grad=True)
    layer(x).sum().backward()
    torch.testing.assert_close(x.grad, 1 - x.detach().tanh().square())
    log.remove()
    layer(x).sum().backward()

    assert 1 == len(log.shapes)
