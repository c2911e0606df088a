"""Tests of k21_joint: what the graph holds and computes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from typing import Any

import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn

from katas.lecture10 import k21_joint as kata
from katas.lecture10.k21_joint import joint_graph
from plugins.kit import forbids
from plugins.kit import graph_text


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    Function = Callable[..., tuple[torch.Tensor, ...]]


def leaf(*sizes: int) -> torch.Tensor:
    """Return a float64 leaf that requires grad."""
    return torch.randn(sizes, dtype=torch.float64, requires_grad=True)


def layer(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return one output whose backward needs x, w and their product."""
    return (torch.mm(x, w).sin(),)


def text(module: fx.GraphModule) -> str:
    """Return the graph as text; whether it returns a tuple or a list is left out."""
    return re.sub(r"return [(\[](.*?),?[)\]]$", r"return \1", graph_text(module.graph))


def placeholders(module: fx.GraphModule) -> list[str]:
    """Return the names of a graph's inputs."""
    return [str(node.target) for node in module.graph.nodes if node.op == "placeholder"]


def flat(module: fx.GraphModule, *values: torch.Tensor) -> tuple[Any, ...]:
    """Run a graph node by node, on flat arguments and without autograd."""
    with torch.no_grad():
        return tuple(fx.Interpreter(module).run(*values, enable_io_processing=False))


def tangents_for(outputs: Iterable[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Return a tangent for each output, none of them all ones."""
    return tuple(
        torch.linspace(-1, 2, output.numel(), dtype=output.dtype).reshape(output.shape)
        for output in outputs
    )


def expected_of(function: Function, primals: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
    """Return outputs and gradients as eager autograd computes them."""
    outputs = function(*primals)
    wanted = [primal for primal in primals if primal.requires_grad]
    found = iter(torch.autograd.grad(outputs, wanted, tangents_for(outputs), allow_unused=True))
    gradients = (next(found) if primal.requires_grad else None for primal in primals)
    return (*(output.detach() for output in outputs), *gradients)


def sizes(tensors: Iterable[torch.Tensor]) -> list[int]:
    """Return the bytes of each storage behind the tensors, counting a shared one once."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sorted({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def assert_same(expected: tuple[Any, ...], actual: tuple[Any, ...]) -> None:
    """Compare outputs and gradients, None with None."""
    assert len(expected) == len(actual), (
        f"you return {len(actual)} results, expected {len(expected)}: the outputs and one gradient "
        f"for each primal"
    )
    for place, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if one is None:
            assert other is None, f"result {place} is a tensor, expected None: it has no gradient"
        else:
            assert other is not None, f"result {place} is None, expected a tensor"
            torch.testing.assert_close(
                other, one, msg=lambda text, place=place: f"result {place} of eager: {text}"
            )


UNARY: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    torch.sin,
    torch.exp,
    torch.relu,
    lambda x: torch.softmax(x, -1),
    lambda x: nn.functional.layer_norm(x, (3,)),
    lambda x: x.t(),
    lambda x: x.chunk(3)[1] + x,
    lambda x: x.max(0)[0] * x,
    lambda x: torch.native_dropout(x, 0.5, True)[0],  # noqa: FBT003 - has no names in Python
)


BINARY = (torch.add, torch.mul, torch.mm)


STEP = st.tuples(st.integers(0, len(UNARY) + len(BINARY) - 1), st.integers(0, 9), st.integers(0, 9))


def program(steps: list[tuple[int, int, int]]) -> Function:
    """Return a function of two primals that require grad and one that does not."""

    def function(*primals: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values = list(primals)
        for operator, first, second in steps:
            x, y = values[first % len(values)], values[second % len(values)]
            if operator < len(UNARY):
                values.append(UNARY[operator](x))
            else:
                values.append(BINARY[operator - len(UNARY)](x, y))
        # The second output depends on every value, so that nothing drawn is dead code.
        return values[-1] * primals[0], sum(values, primals[1])

    return function


def drawn(seed: int) -> tuple[torch.Tensor, ...]:
    """Return primals for a program."""
    torch.manual_seed(seed)
    return leaf(3, 3), leaf(3, 3), leaf(3, 3).detach()


def test_the_joint_graph_holds_forward_and_backward() -> None:
    """For a product and a sine: what backward computes comes after what forward computes."""
    x, w = leaf(2, 3), leaf(3, 4)

    assert_expected_inline(
        text(joint_graph(layer, (x, w))),
        """\
primals_1 = input
primals_2 = input
tangents_1 = input
mm = aten.mm.default(primals_1, primals_2)
sin = aten.sin.default(mm)
cos = aten.cos.default(mm)
mul = aten.mul.Tensor(tangents_1, cos)
t = aten.t.default(primals_1)
mm_1 = aten.mm.default(t, mul)
t_1 = aten.t.default(primals_2)
mm_2 = aten.mm.default(mul, t_1)
return sin, mm_2, mm_1""",
    )


def test_the_joint_graph_computes_outputs_and_gradients() -> None:
    """For tangents that are not ones, and for values different from those it was traced with."""
    joint = joint_graph(layer, (leaf(2, 3), leaf(3, 4)))
    primals = leaf(2, 3), leaf(3, 4)
    tangents = tangents_for(layer(*primals))

    assert_same(expected_of(layer, primals), flat(joint, *primals, *tangents))


def test_every_output_has_a_tangent() -> None:
    """Tangents have the order and the shapes of the outputs."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.sum(), x * x, x[0].sin()

    x = leaf(2, 3)
    joint = joint_graph(function, (x,))

    assert ["primals_1", "tangents_1", "tangents_2", "tangents_3"] == placeholders(joint), (
        f"your graph takes {placeholders(joint)}: expected the primal, then a tangent for each of "
        f"three outputs"
    )
    assert_same(expected_of(function, (x,)), flat(joint, x, *tangents_for(function(x))))


def test_a_gradient_that_is_not_there_is_none() -> None:
    """For a primal that requires no grad, and for one that no output depends on."""

    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (z * y.detach() * 3,)

    primals = leaf(3).detach(), leaf(3), leaf(3)
    joint = joint_graph(function, primals)
    results = flat(joint, *primals, torch.ones(3, dtype=torch.float64))

    assert 4 == len(results), "expected 4 results: one output, three gradients"
    assert results[1] is None, "expected None for the first primal, which requires no grad"
    assert results[2] is None, (
        "expected None as second gradient: no output depends on the second primal in the autograd "
        "graph"
    )
    torch.testing.assert_close(results[3], primals[1].detach() * 3)


def test_a_primal_need_not_be_a_leaf() -> None:
    """A primal that requires grad has a gradient, whatever it was computed from."""
    primals = leaf(2, 3) * 1, leaf(3, 4)
    joint = joint_graph(layer, primals)
    results = flat(joint, *primals, torch.ones(2, 4, dtype=torch.float64))

    assert all(each is not None for each in results), (
        f"gradients are {[type(each).__name__ for each in results[1:]]}: both primals require grad"
    )


def test_tracing_leaves_the_primals_alone() -> None:
    """Nothing is accumulated into .grad, and what required grad still does."""
    x, w, constant = leaf(2, 3), leaf(3, 4), leaf(2, 4).detach()
    joint_graph(lambda x, w, c: (torch.mm(x, w) * c,), (x, w, constant))

    assert x.grad is None, (
        "your code wrote x.grad: get gradients from autograd.grad, not from backward"
    )
    assert w.grad is None, (
        "your code wrote w.grad: get gradients from autograd.grad, not from backward"
    )
    assert [True, True, False] == [t.requires_grad for t in (x, w, constant)], (
        f"x, w and c have requires_grad {[t.requires_grad for t in (x, w, constant)]} "
        "afterwards, expected [True, True, False] as before"
    )


READY_MADE = (
    "functorch",
    "functorch.compile",
    "torch._functorch",
    "torch._functorch.aot_autograd",
    "torch._functorch.partitioners",
    "torch.compile",
)


def test_nothing_ready_made_is_called() -> None:
    """AOTAutograd may not be called: you are writing it."""
    primals = leaf(2, 3), leaf(3, 4)
    with forbids(kata, *READY_MADE) as fresh:
        joint = fresh.joint_graph(layer, primals)

    expected = expected_of(layer, primals)
    assert_same(expected, flat(joint, *primals, *tangents_for(expected[:1])))


@settings(max_examples=6)
@given(steps=st.lists(STEP, max_size=5), seed=st.integers(0, 1000))
def test_any_program(steps: list[tuple[int, int, int]], seed: int) -> None:
    """Outputs and gradients are those of eager autograd, even if a dropout draws a mask."""
    function, primals = program(steps), drawn(seed)
    state = torch.get_rng_state()
    joint = joint_graph(function, primals)
    torch.set_rng_state(state)
    expected = expected_of(function, primals)
    torch.set_rng_state(state)

    assert_same(expected, flat(joint, *primals, *tangents_for(expected[:2])))
