"""Tests of k17_hooks: what the tools record is compared with what the engine does."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture03.k17_hooks import clip_gradient
from katas.lecture03.k17_hooks import log_nodes
from plugins.kit import freed
from plugins.kit import unchanged


@pytest.mark.given
def test_the_documented_order_of_hooks(device: str) -> None:
    """Tensor hooks run before a node's pre-hooks and hooks, a leaf's before .grad is written."""
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
    assert [*ours, "leaf's hook", "accumulated"] == order, (
        f"expected the order of the notes on autograd, found {order}"
    )


def test_a_chain_is_logged_in_the_order_it_runs(device: str) -> None:
    """Log from the root to the leaf: sin, exp, the product with a constant, accumulation."""
    x = torch.ones(3, device=device, requires_grad=True)
    root = (x * 2).exp().sin()
    log = log_nodes(root)
    assert [] == log.names, f"no backward has run yet, but yours has {log.names}"
    root.backward(torch.ones_like(root))

    expected = ["SinBackward0", "ExpBackward0", "MulBackward0", "torch::autograd::AccumulateGrad"]
    assert expected == log.names, f"yours {log.names}\nexpected {expected}"


def test_a_node_runs_once_however_many_paths_lead_to_it() -> None:
    """The engine waits for all gradients of a node; visiting it twice would log it twice."""
    x = torch.ones(3, requires_grad=True)
    shared = x.exp()
    root = (shared * shared + shared).sum()
    log = log_nodes(root)
    root.backward()

    assert 1 == log.names.count("ExpBackward0"), f"exp runs once, but your log is {log.names}"
    assert 5 == len(log.names), f"expected sum, add, mul, exp and the leaf; yours {log.names}"


def test_every_backward_is_logged() -> None:
    """A second backward runs every node again, with the same gradients."""
    x = torch.ones(3, requires_grad=True)
    root = x.exp().sum()
    log = log_nodes(root)
    root.backward(retain_graph=True)
    first = list(log.names)
    root.backward()

    assert first * 2 == log.names, f"two backwards: yours {log.names}, expected {first} twice"
    says = "two backwards make twice the gradient; yours is not\n".__add__
    torch.testing.assert_close(x.grad, 2 * x.exp().detach(), msg=says)


def test_a_node_is_logged_after_it_ran() -> None:
    """A node's pre-hooks run before the node is in the log."""
    x = torch.ones(3, requires_grad=True)
    root = x.exp().sum()
    log = log_nodes(root)
    before: list[list[str]] = []
    root.grad_fn.register_prehook(lambda _: before.append(list(log.names)))
    root.backward()

    assert before == [[]], f"before the first node has run, your log already has {before}"


def test_only_nodes_that_run_are_logged() -> None:
    """Asking for one input's gradient leaves the other branch out."""
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    root = (x.exp() + y.sin()).sum()
    log = log_nodes(root)
    torch.autograd.grad(root, x)

    assert "ExpBackward0" in log.names, f"exp ran, but your log is {log.names}"
    assert "SinBackward0" not in log.names, (
        f"sin did not run, because x is not behind it, but your log is {log.names}"
    )


def test_deep_graphs_are_walked() -> None:
    """Ten thousand nodes exceed Python's recursion limit."""
    x = torch.ones((), requires_grad=True)
    root = x
    for _ in range(10_000):
        root = root + 1
    log = log_nodes(root)
    root.backward()

    assert 10_001 == len(log.names), f"yours has {len(log.names)} names, expected 10001"


class Bystander:
    """An object that lives as long as the node that holds it."""


def test_a_log_owns_no_graph() -> None:
    """Hooks that were not removed die with their nodes, by reference counting; the log stays."""
    logs = []

    def made() -> Bystander:
        bystander = Bystander()
        y = (torch.ones(2, requires_grad=True) * 2).sum()
        with unchanged(y=y):
            logs.append(log_nodes(y))
        y.grad_fn.metadata["bystander"] = bystander
        return bystander

    freed(made, "A hook that names its node is owned by it, and owns it: name what you note.")


def test_a_log_is_removed() -> None:
    """Only that log is removed: another log on the same graph keeps recording."""
    x = torch.ones(3, requires_grad=True)
    root = x.exp().sum()
    log, other = log_nodes(root), log_nodes(root)
    log.remove()
    log.remove()
    root.backward()

    assert [] == log.names, f"the log's hooks were removed, but yours has {log.names}"
    assert 3 == len(other.names), f"the other log must go on recording, but it is {other.names}"


@given(edges=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_any_graph_is_logged_as_profiled(edges: list[tuple[int, int]]) -> None:
    """In random graphs, the log has every node that the profiler sees, in the same order."""
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

    assert ran == log.names, f"yours     {log.names}\nprofiled  {ran}"


@pytest.mark.parametrize("kind", ["leaf", "not a leaf"])
def test_a_gradient_is_clipped_before_it_goes_on(device: str, kind: str) -> None:
    """A leaf's gradient is clipped before it reaches .grad, others before they reach their node."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], device=device, requires_grad=True)
    middle = x if kind == "leaf" else x * 10
    clip_gradient(middle, 2.5)
    weights = torch.tensor([-9.0, -1.0, 2.0, 5.0], device=device)
    (middle * weights).sum().backward()
    factor = 1 if kind == "leaf" else 10

    expected = [value * factor for value in (-2.5, -1.0, 2.0, 2.5)]
    assert expected == x.grad.tolist(), f"{kind}: yours {x.grad.tolist()}, expected {expected}"


def test_another_result_of_the_node_is_not_clipped() -> None:
    """A node may have several results, each with a gradient: only that of `tensor` is clipped."""
    x = torch.ones(2, 2, requires_grad=True)
    other, middle = x.unbind()
    clip_gradient(middle, 2.5)
    (other * 4 + middle * 3).sum().backward()

    expected = [[4.0, 4.0], [2.5, 2.5]]
    assert expected == x.grad.tolist(), (
        f"yours {x.grad.tolist()}, expected {expected}: only the second row is clipped"
    )


def test_other_users_of_the_gradient_see_all_of_it() -> None:
    """The sum passes the same gradient to both terms: clipping must not write to it."""
    x = torch.ones(2, requires_grad=True)
    y = torch.ones(2, requires_grad=True)
    clip_gradient(x, 1.0)
    gradient = torch.tensor([5.0, -7.0])
    (x + y).backward(gradient)

    assert [1.0, -1.0] == x.grad.tolist(), (
        f"the gradient of x must be clipped to 1 and -1, yours is {x.grad.tolist()}"
    )
    assert [5.0, -7.0] == y.grad.tolist(), (
        f"the gradient of y must not be clipped, yours is {y.grad.tolist()}"
    )
    assert [5.0, -7.0] == gradient.tolist(), (
        f"your code wrote to the gradient passed to backward: {gradient}"
    )


def test_clipping_comes_to_an_end() -> None:
    """The handle removes the hook; later hooks see the clipped gradient."""
    x = torch.ones(2, requires_grad=True)
    handle = clip_gradient(x, 1.0)
    seen = []
    x.register_hook(lambda grad: seen.append(grad.tolist()))
    (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()

    assert [[1.0, 1.0], [3.0, 3.0]] == seen, (
        f"expected 1 (clipped), then 3 (hook removed): a later hook saw {seen}"
    )
    assert [4.0, 4.0] == x.grad.tolist(), (
        f"expected 1 (clipped) and 3 (not clipped); yours {x.grad.tolist()}"
    )
