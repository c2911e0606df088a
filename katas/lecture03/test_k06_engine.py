"""Tests of k06_engine: the graphs are real, and PyTorch's own engine is the oracle."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture03 import k06_engine as kata
from katas.lecture03.k06_engine import count_dependencies
from katas.lecture03.k06_engine import run_backward
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.autograd.graph import Node


def leaf(*values: float, device: str = "cpu") -> torch.Tensor:
    """Return a leaf that needs a gradient."""
    return torch.tensor(values, device=device, requires_grad=True)


def edges(*tensors: torch.Tensor) -> list[tuple[Node, int]]:
    """Return the edges where the backward of these tensors begins."""
    found = [torch.autograd.graph.get_gradient_edge(tensor) for tensor in tensors]
    return [(edge.node, edge.output_nr) for edge in found]


def run(*tensors: torch.Tensor) -> list[Node]:
    """Run the kata's engine with ones as gradients."""
    return run_backward(edges(*tensors), [torch.ones_like(tensor) for tensor in tensors])


def names(nodes: Sequence[Node]) -> list[str]:
    """Return the names of the nodes."""
    return [node.name().rpartition("::")[2] for node in nodes]


def executed(*tensors: torch.Tensor) -> list[Node]:
    """Return the nodes in the order in which PyTorch's engine runs them."""
    order: list[Node] = []
    nodes, stack = set(), [node for node, _ in edges(*tensors)]
    while stack:
        if (node := stack.pop()) is not None and node not in nodes:
            nodes.add(node)
            stack.extend(following for following, _ in node.next_functions)
    handles = [node.register_prehook(lambda _, node=node: order.append(node)) for node in nodes]
    torch.autograd.backward(tensors, [torch.ones_like(t) for t in tensors], retain_graph=True)
    for handle in handles:
        handle.remove()
    return order


def in_turns(nodes: Sequence[Node]) -> list[set[Node]]:
    """Return the order; neighbours of equal sequence number, which may swap, form a set."""
    return [set(run) for _, run in groupby(nodes, key=lambda node: node._sequence_nr())]  # noqa: SLF001


@pytest.mark.step(1, "count the edges")
def test_a_chain_has_one_edge_to_each_node() -> None:
    """One edge, the root, leads to exp, and one leads from exp to the node of the leaf."""
    y = leaf(1.0).exp()
    dependencies = count_dependencies(edges(y))

    yours = dict(zip(names(list(dependencies)), dependencies.values(), strict=True))
    assert yours == {"ExpBackward0": 1, "AccumulateGrad": 1}, (
        f"x.exp(): yours {yours}, expected one edge to each node; the root is an edge"
    )


@pytest.mark.step(1, "count the edges")
def test_every_edge_counts() -> None:
    """``x * x`` sends two gradients to x, and a root is an edge too."""
    x = leaf(2.0)
    y = x * x
    roots = edges(y, y.exp(), y)
    kept = list(roots)
    dependencies = count_dependencies(roots)
    product = y.grad_fn

    to_product, to_leaf = dependencies[product], dependencies[product.next_functions[0][0]]
    assert 3 == to_product, f"yours {to_product}, expected 3: two roots and exp lead to x * x"
    assert 2 == to_leaf, f"yours {to_leaf}, expected 2: both factors of x * x are x"
    assert 3 == len(dependencies), f"yours has {names(list(dependencies))}, expected 3 nodes"
    assert kept == roots, (
        f"your code left {len(roots)} of the caller's 3 roots: use a list of your own"
    )


@pytest.mark.step(1, "count the edges")
def test_inputs_without_gradient_have_no_node() -> None:
    """The edge of an input that needs no gradient leads nowhere."""
    y = leaf(2.0) * torch.tensor([3.0])

    yours = names(list(count_dependencies(edges(y))))
    assert ["MulBackward0", "AccumulateGrad"] == yours, (
        f"yours {yours}: skip (None, 0), the edge of an input without gradient"
    )


@pytest.mark.step(2, "buffers and counts")
def test_one_gradient_arrives_at_a_leaf(device: str) -> None:
    """The engine runs every node in order, down to the leaf."""
    x = leaf(1.0, 2.0, device=device)
    order = run((x * 3).sin().sum())

    expected = ["SumBackward0", "SinBackward0", "MulBackward0", "AccumulateGrad"]
    assert expected == names(order), f"your code ran {names(order)}, expected {expected}"
    says = "(3 * x).sin().sum(): yours is not 3 * cos(3 * x)\n".__add__
    torch.testing.assert_close(x.grad, 3 * torch.cos(3 * x.detach()), msg=says)


@pytest.mark.step(2, "buffers and counts")
def test_gradients_of_one_tensor_are_added(device: str) -> None:
    """Three uses give three gradients."""
    x = leaf(2.0, device=device)
    run(x * x + x)

    assert [5.0] == x.grad.tolist(), (
        f"your gradient of x is {x.grad}, expected 5, the slope of x * x + x at 2"
    )


@pytest.mark.step(2, "buffers and counts")
def test_a_leaf_keeps_what_it_had(device: str) -> None:
    """A second backward adds to the first."""
    x = leaf(2.0, device=device)
    y = x * 3
    run(y)
    run(y)

    assert [6.0] == x.grad.tolist(), f"yours {x.grad}, expected 3 + 3: AccumulateGrad adds"


@pytest.mark.step(2, "buffers and counts")
def test_a_node_waits_for_all_of_its_gradients() -> None:
    """In a diamond both branches run first, then the shared node, once."""
    x = leaf(0.5)
    shared = x.exp()
    order = run(shared.sin() * shared)

    assert 1 == order.count(shared.grad_fn), (
        "your code runs a node twice: run it once, with the sum of its gradients"
    )
    assert "ExpBackward0" == names(order)[-2], f"ran {names(order)}: exp must wait for both"
    e = x.detach().exp()
    says = "sin(e) * e with e = exp(x): yours is not e * (e * cos(e) + sin(e))\n".__add__
    torch.testing.assert_close(x.grad, e * (e.cos() * e + e.sin()), msg=says)


@pytest.mark.step(2, "buffers and counts")
def test_a_node_may_take_several_gradients() -> None:
    """The three results of unbind send their gradients to the inputs with their numbers."""
    x = leaf(1.0, 2.0, 3.0)
    first, second, third = x.unbind()
    run(first * 10 + second * 20 + third * 30)

    assert [10.0, 20.0, 30.0] == x.grad.tolist(), (
        f"yours {x.grad.tolist()}, expected [10, 20, 30]: an edge names the input to send to"
    )


@pytest.mark.step(2, "buffers and counts")
def test_no_gradient_is_none() -> None:
    """An unused result sends None, which the node treats as zeros."""
    x = leaf(1.0, 2.0, 3.0)
    run(x.unbind()[1] * 5)

    assert [0.0, 5.0, 0.0] == x.grad.tolist(), f"yours {x.grad.tolist()}, expected [0, 5, 0]"


@pytest.mark.step(2, "buffers and counts")
def test_none_along_an_edge_counts_as_followed() -> None:
    """A node that sends None still lets the next one run."""
    x = leaf(1.0, 2.0)
    undefined = torch._C._functions.UndefinedGrad()(x.exp())  # noqa: SLF001
    order = run(undefined)

    assert 3 == len(order), f"your code ran {names(order)}: follow an edge with None too"
    assert x.grad is None, f"only None reaches the leaf, but its .grad is {x.grad}"
    x.grad = None
    run(undefined + x)
    assert [1.0, 1.0] == x.grad.tolist(), (
        f"yours {x.grad.tolist()}, expected [1, 1]: None adds nothing"
    )


@pytest.mark.step(2, "buffers and counts")
def test_a_gradient_of_zeros_is_sent() -> None:
    """Zero is a value; None means that nothing arrived."""
    x = leaf(2.0)
    run(x * torch.tensor([0.0]))

    assert x.grad is not None, (
        "expected a gradient of 0 for x, as in PyTorch; your engine leaves .grad None"
    )
    assert x.grad.tolist() == [0.0], (
        f"expected a gradient of 0 for x, as in PyTorch; yours is {x.grad.tolist()}"
    )


@pytest.mark.step(2, "buffers and counts")
def test_roots_may_be_leaves_and_each_other() -> None:
    """A root inside another root's graph waits for the gradient from there."""
    x = leaf(2.0)
    y = x * 3
    run(y, y.square(), x)

    assert [3.0 + 36.0 + 1.0] == x.grad.tolist(), f"yours {x.grad}, expected 3 + 36 + 1"
    x = leaf(1.0, 2.0, 3.0)
    second = x.unbind()[1]
    run(second, second)
    assert [0.0, 2.0, 0.0] == x.grad.tolist(), (
        f"x.unbind()[1] is a root twice: yours {x.grad.tolist()}, expected [0, 2, 0]: add the "
        "gradient of each root to the input that the root names"
    )


@pytest.mark.step(2, "buffers and counts")
def test_a_gradient_is_never_written_to() -> None:
    """An addition passes one tensor to both sides: an in-place sum on one changes the other."""
    x, w = leaf(0.0), leaf(0.0)
    late = w.exp()
    later = x.exp()
    seeds = [torch.ones(1), torch.ones(1)]
    run_backward(edges(x + late, later), seeds)

    assert [2.0] == x.grad.tolist(), f"yours {x.grad.tolist()} for x, expected 2"
    assert [1.0] == w.grad.tolist(), (
        f"yours {w.grad.tolist()} for w, expected 1: x and exp(w) got the same tensor"
    )
    kept = [seed.tolist() for seed in seeds]
    assert [[1.0], [1.0]] == kept, f"your code wrote to the caller's gradients: {kept}"


@pytest.mark.step(2, "buffers and counts")
def test_a_deep_graph_is_no_recursion() -> None:
    """The graph has ten thousand nodes in a row."""
    x = leaf(1.0)
    y = x
    for _ in range(10_000):
        y = y + 1
    run(y)

    assert [1.0] == x.grad.tolist(), f"yours {x.grad}, expected 1"


@pytest.mark.step(3, "the last of forward first")
def test_last_in_forward_is_first_in_backward() -> None:
    """Of two ready branches, the one created later runs first, on either side."""
    x = leaf(0.5)
    first, second = x.sin(), x.cos()
    expected = ["AddBackward0", "CosBackward0", "SinBackward0", "AccumulateGrad"]

    for y in (first + second, second + first):
        yours = names(run(y))
        assert expected == yours, (
            f"yours {yours}\nexpected {expected}: cos was created after sin, so it runs first"
        )


@pytest.mark.step(3, "the last of forward first")
def test_a_leaf_is_served_as_soon_as_it_may_be() -> None:
    """A leaf has the largest sequence number, so that its gradients are freed early."""
    x, w = leaf(0.5), leaf(2.0)
    order = run(x.sin() * w)

    expected = ["MulBackward0", "AccumulateGrad", "SinBackward0", "AccumulateGrad"]
    assert expected == names(order), (
        f"yours {names(order)}\nexpected {expected}: a leaf has the highest sequence number"
    )


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, int, int]]:
    """Draw a program: each step applies an operator to two earlier values."""
    steps = draw(st.integers(1, 12))
    return [
        (
            draw(st.sampled_from(["add", "mul", "sin", "exp", "unbind", "stack", "detach"])),
            draw(st.integers(0, 100)),
            draw(st.integers(0, 100)),
        )
        for _ in range(steps)
    ]


def build(program: list[tuple[str, int, int]]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Return the leaves and the last results of a program."""
    leaves = [leaf(0.1, 0.2), leaf(0.3, 0.4)]
    values = [*leaves, torch.tensor([0.5, 0.6])]
    for name, first, second in program:
        a, b = values[first % len(values)], values[second % len(values)]
        if name == "unbind":
            values.extend(part.expand(2) * b for part in a.unbind())
        elif name == "stack":
            values.append(torch.stack([a, b, a]).mean(0))
        elif name in {"add", "mul"}:
            values.append(getattr(torch, name)(a, b))
        else:
            values.append(getattr(a, name)())
    return leaves, [value for value in values[-3:] if value.requires_grad]


@pytest.mark.step(3, "the last of forward first")
@given(program=programs())
def test_order_and_gradients_are_those_of_pytorch(program: list[tuple[str, int, int]]) -> None:
    """Run any graph as PyTorch would: several roots, shared parts, parts that need no gradient."""
    leaves, roots = build(program)
    expected = executed(*roots)
    theirs = [x.grad for x in leaves]
    for x in leaves:
        x.grad = None

    yours = run(*roots)

    assert in_turns(expected) == in_turns(yours), (
        f"yours      {names(yours)}\nPyTorch's  {names(expected)}\nfor the program {program}"
    )
    says = f"yours is not PyTorch's gradient of the leaves, for {program}\n".__add__
    torch.testing.assert_close([x.grad for x in leaves], theirs, msg=says)


@pytest.mark.step(4, "leave everything as it was")
def test_grad_mode_is_off() -> None:
    """The gradients are plain tensors without history: an optimizer will write to them."""
    x = leaf(2.0)
    y = x * x
    run(y)

    assert not x.grad.requires_grad, (
        "your gradient has a graph: switch grad mode off while nodes run"
    )
    assert torch.is_grad_enabled(), "your code left grad mode off: restore it"
    assert not x.grad.is_inference(), (
        "your gradient is an inference tensor, which cannot be written to"
    )
    with torch.no_grad():
        run(y)
        assert not torch.is_grad_enabled(), "grad mode was off before, and your code switched it on"


@pytest.mark.step(4, "leave everything as it was")
def test_what_the_caller_has_stays() -> None:
    """Do not change incoming gradients, results, or tensors that two branches share."""
    x = leaf(2**0.5)
    y, z = x.exp(), x * 3
    grads = [torch.tensor([3**0.5]), torch.tensor([5**0.5])]
    kept = [grad.clone() for grad in grads]
    with unchanged(grads=grads, y=y, z=z), unchanged(x=x, but=("grad",)):
        run_backward(edges(y, z), grads)
        first = x.grad
    with unchanged(grads=grads, first=first.clone()):
        run_backward(edges(x * 2, x * 2), grads)

    total = kept[0] * x.detach().exp() + 3 * kept[1] + 2 * (kept[0] + kept[1])
    torch.testing.assert_close(
        x.grad, total, msg="yours differs from the sum of all runs\n".__add__
    )


@pytest.mark.step(4, "leave everything as it was")
def test_pytorch_is_not_asked() -> None:
    """You are the engine."""
    engine = ("autograd.grad", "autograd.backward", "autograd.Variable", "func", "Tensor.backward")
    names = (*engine, "autograd.graph._engine_run_backward")
    with forbids(kata, *(f"torch.{name}" for name in names)) as fresh:
        fresh.run_backward(edges(leaf(1.0).exp()), [torch.ones(1)])
