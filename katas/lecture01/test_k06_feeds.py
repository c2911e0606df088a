"""Tests of k06_feeds: the same program on tensors is the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given

from katas.lecture01 import k06_feeds as kata
from katas.lecture01.k06_feeds import Node
from katas.lecture01.k06_feeds import placeholder
from plugins.kit import forbids
from plugins.kit import tensors
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


def numbers(*values: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


X, Y = numbers(0.3, -1.7), numbers(2.1, 0.0)
PROGRAMS: dict[str, Callable[..., Any]] = {
    "one operator": lambda x, y: x.sin() + y * y,
    "used twice": lambda x, y: x * x + x + y,
    "paths meet": lambda x, y: (x + y).sin() * (x + y).cos(),
    "many uses": lambda x, y: (x * y) * (x * y) + x * x * x,
}


def close(yours: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Compare two values."""
    assert isinstance(yours, torch.Tensor), f"{what}: you return {yours!r}, expected a tensor"
    says = f"{what}: yours is not that of eager mode\n".__add__
    torch.testing.assert_close(yours, expected, rtol=1e-12, atol=1e-12, equal_nan=True, msg=says)


def test_a_placeholder() -> None:
    """The value of a placeholder is the one in `feeds`."""
    x = placeholder("x")

    close(kata.run(x, {x: X}), X, "a placeholder")


@pytest.mark.parametrize("name", PROGRAMS)
def test_run(name: str) -> None:
    """Built once, run with two pairs of numbers."""
    x, y = placeholder("x"), placeholder("y")
    result = PROGRAMS[name](x, y)
    for first, second in ((X, Y), (Y, X)):
        feeds = {x: first, y: second}
        with unchanged(first=first, second=second):
            yours = kata.run(result, feeds)
        assert {x, y} == set(feeds), "feeds belongs to the caller, but your function added to it"
        close(yours, PROGRAMS[name](first, second), name)


def operators(node: Node, feeds: dict[Node, torch.Tensor]) -> list[str]:
    """Return the operators that run during the call."""
    with watched_operators() as names:
        kata.run(node, feeds)
    return sorted(name for name in names if name in {"aten::mul", "aten::sin", "aten::add"})


def test_each_node_runs_one_time() -> None:
    """Forty squares have 2 ** 40 paths, but only forty products."""
    node = x = placeholder("x")
    for _ in range(40):
        node = node * node
    found = operators(node, {x: numbers(1.0)})

    assert ["aten::mul"] * 40 == found, f"your run calls {len(found)} operators, expected 40"


def test_a_feed_that_was_written_to() -> None:
    """Each run computes again: the same tensor may hold different numbers."""
    x, value = placeholder("x"), X.clone()
    node = x.sin()
    close(kata.run(node, {x: value}), X.sin(), "the first run")
    value.copy_(Y)

    close(kata.run(node, {x: value}), Y.sin(), "the same tensor, with other numbers")


def test_what_is_not_needed_does_not_run() -> None:
    """A graph may contain nodes that y does not need, even placeholders without a value."""
    x, y = placeholder("x"), placeholder("y")
    wanted = x.sin()
    (x * y).sin()
    found = operators(wanted, {x: X})

    assert ["aten::sin"] == found, f"your run calls {found}, expected one sine"


def test_a_missing_feed() -> None:
    """The error names the placeholder."""
    x, weight = placeholder("x"), placeholder("weight")
    with pytest.raises(KeyError, match="weight"):
        kata.run(x * weight, {x: X})


def test_a_drawing_of_thousands() -> None:
    """Deeper than Python's recursion limit."""
    node = x = placeholder("x")
    expected = X
    for _ in range(3000):
        node, expected = node.sin(), expected.sin()

    close(kata.run(node, {x: X}), expected, "three thousand sines")


def eager_gradients(
    program: Callable[..., Any], values: Sequence[torch.Tensor]
) -> Sequence[torch.Tensor]:
    """Return autograd's gradients."""
    leaves = [value.clone().requires_grad_() for value in values]
    return torch.autograd.grad(program(*leaves).sum(), leaves)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name: str) -> None:
    """The gradients are nodes, and running them gives autograd's values."""
    x, y = placeholder("x"), placeholder("y")
    drawn = kata.gradients(PROGRAMS[name](x, y), [x, y])
    wanted = eager_gradients(PROGRAMS[name], [X, Y])

    assert all(isinstance(each, Node) for each in drawn), f"you return {drawn}, expected nodes"
    for what, node, expected in zip("xy", drawn, wanted, strict=True):
        close(kata.run(node, {x: X, y: Y}), expected, f"{name}: the gradient by {what}")


def test_what_y_does_not_depend_on() -> None:
    """The gradient of such an x is zeros of its shape."""
    x, other = placeholder("x"), placeholder("other")
    by_other, by_x = kata.gradients(x.sin(), [other, x])

    close(
        kata.run(by_other, {other: numbers(1, 2, 3)}),
        numbers(0, 0, 0),
        "by another node",
    )
    close(kata.run(by_x, {x: X}), X.cos(), "xs in another order")


def test_by_a_node_in_the_middle() -> None:
    """An x need not be a placeholder, and it may be y itself."""
    x = placeholder("x")
    middle = x.sin()
    y = middle * middle
    by_middle, by_y = kata.gradients(y, [middle, y])
    twice = kata.gradients(y, [x, x])

    assert len(twice) == 2, (
        f"return one node for each x, even if an x is listed twice; you return {twice}"
    )
    close(kata.run(by_middle, {x: X}), 2 * X.sin(), "by the sine")
    close(kata.run(by_y, {x: X}), torch.ones_like(X), "by itself")


def test_the_gradient_of_a_gradient() -> None:
    """A gradient is a graph like any other: differentiate it again, four times."""
    x = placeholder("x")
    node = x.sin() * x
    leaf = X.clone().requires_grad_()
    expected = leaf.sin() * leaf
    for count in range(1, 5):
        (node,) = kata.gradients(node, [x])
        (expected,) = torch.autograd.grad(expected.sum(), leaf, create_graph=True)
        close(kata.run(node, {x: X}), expected.detach(), f"derivative {count}")


def test_drawing_computes_nothing() -> None:
    """Building gradients runs no operator and leaves the nodes of y alone."""
    x = placeholder("x")
    y = x * x + x.sin()
    before = [(node, node.op, node.inputs) for node in kata.order(y)]
    with watched_operators() as names:
        kata.gradients(y, [x])

    assert [] == names, f"building gradients ran {names}, expected no operator"
    assert before == [(node, node.op, node.inputs) for node in kata.order(y)], "your code changed y"


@given(x=tensors([torch.float64], max_dims=2))
def test_values_that_bite(x: torch.Tensor) -> None:
    """Infinities, NaN, zeros and empty tensors, in any layout."""
    node = placeholder("x")
    result = node * node.sin() + node
    with unchanged(x=x):
        close(kata.run(result, {node: x}), x * x.sin() + x, f"for {x.tolist()}")


@pytest.mark.given
def test_an_if_has_no_answer() -> None:
    """Python cannot branch on a value that does not exist yet."""
    with pytest.raises(TypeError, match="no value"):
        bool(placeholder("x"))


def test_autograd_is_not_asked() -> None:
    """Build nodes; do not call autograd."""
    with forbids(kata, "torch.autograd", "torch.func", "torch.fx", "torch.Tensor.backward") as new:
        x = new.placeholder("x")
        (by_x,) = new.gradients(x * x, [x])
        close(new.run(by_x, {x: X}), 2 * X, "the gradient of a square")
