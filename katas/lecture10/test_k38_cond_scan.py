"""Tests of k38_cond_scan: choices and loops, run and recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import strategies as st
from torch import fx

import katas.lecture10.k38_cond_scan as kata
from katas.lecture10.k38_cond_scan import cond
from katas.lecture10.k38_cond_scan import scan
from katas.lecture10.levels import trace
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def vector(*values: float) -> torch.Tensor:
    """Return a float64 tensor."""
    return torch.tensor(values, dtype=torch.float64)


def find(module: fx.GraphModule, function: Any) -> list[fx.Node]:
    """Return the nodes that call a function."""
    return [node for node in module.graph.nodes if node.target is function]


def check(function: Callable[..., Any], *inputs: torch.Tensor) -> fx.GraphModule:
    """Compare a traced function with itself, for the inputs and for their negatives."""
    with unchanged(inputs=inputs):
        module = trace(function)
    for sign in (1, -1):
        signed = [sign * x for x in inputs]
        with unchanged(signed=signed):
            expected, actual = function(*signed), module(*signed)
        assert torch.equal(expected, actual), (
            f"your graph returns {actual}, without tracing it is {expected}\n\n{graph_text(module)}"
        )
    return module


def test_a_choice_that_is_known_is_made() -> None:
    """With a tensor there is no tracing: one function is called, the other is not."""
    calls = []

    def true(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        calls.append("true")
        return x - y

    def false(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        calls.append("false")
        return y - x

    x, y = vector(1, 2), vector(5, 7)
    torch.testing.assert_close(cond(x.sum() > 0, true, false, (x, y)), x - y, rtol=0, atol=0)
    torch.testing.assert_close(cond(x.sum() < 0, true, false, (x, y)), y - x, rtol=0, atol=0)
    torch.testing.assert_close(cond(False, true, false, (x, y)), y - x, rtol=0, atol=0)  # noqa: FBT003 - a plain bool
    assert ["true", "false", "false"] == calls, (
        f"your cond calls {calls}, expected true, false, false: call only the function that is "
        f"chosen"
    )


def test_a_loop_goes_through_the_rows() -> None:
    """In running sums the carry is the last sum."""

    def step(carry: Any, row: Any, factor: Any) -> tuple[Any, Any]:
        return carry + row * factor, carry * 2 + row

    xs, init, factor = vector(1, 2, 3, 4, 5, 6).reshape(3, 2), vector(10, 20), vector(1, -1)
    pair = scan(step, init, xs, (factor,))
    carry, results = pair

    assert isinstance(pair, tuple), f"scan returned a {type(pair).__name__}, expected a tuple"
    torch.testing.assert_close(carry, init + xs.sum(0) * factor, rtol=0, atol=0)
    expected = [init * 2 + xs[0], (init + xs[0] * factor) * 2 + xs[1]]
    torch.testing.assert_close(results[:2], torch.stack(expected), rtol=0, atol=0)
    assert (3, 2) == results.shape, (
        f"the results have shape {tuple(results.shape)}, expected (3, 2): a row for each step"
    )


def test_both_branches_are_recorded() -> None:
    """The example of the brief: y is closed over, and both branches get it."""

    def function(x: Any, y: Any) -> Any:
        def double(z: Any) -> Any:
            return z * y

        def negate(z: Any) -> Any:
            return -z

        return cond(x.sum() > 0, double, negate, (x,))

    assert_expected_inline(
        graph_text(check(function, vector(1, 2), vector(3, 4))),
        """\
x = input
y = input
sum = x.sum()
gt = operator.gt(sum, 0)
true_graph_0 = self.true_graph_0
false_graph_0 = self.false_graph_0
cond = cond(gt, true_graph_0, false_graph_0, (x, y))
return cond
true_graph_0:
    arg_0 = input
    arg_1 = input
    mul = operator.mul(arg_0, arg_1)
    return mul
false_graph_0:
    arg_0 = input
    arg_1 = input
    neg = operator.neg(arg_0)
    return neg""",
    )


READY_MADE = (
    "torch._higher_order_ops",
    "torch._higher_order_ops.cond",
    "torch._higher_order_ops.scan",
    "torch.cond",
    "torch.ops",
    "torch.while_loop",
)


def test_nothing_ready_made_is_called() -> None:
    """PyTorch's operators may not be called: you are writing them."""
    x = vector(1, 2)

    def function(x: Any) -> Any:
        return fresh.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))

    names = ("katas.lecture10.branches", *READY_MADE)
    with forbids(kata, *names) as fresh:
        module = trace(function)
        chosen = function(x), module(x)

    for found in chosen:
        torch.testing.assert_close(found, x + 1, rtol=0, atol=0)


def test_one_list_of_operands_serves_both_branches() -> None:
    """What true lifts, in its order, then what only false lifts."""

    def function(x: Any, y: Any, z: Any, w: Any) -> Any:
        return cond(x.sum() > 0, lambda a: a * z + x, lambda a: a * w - z * y, (y,))

    module = check(function, vector(1), vector(2), vector(3), vector(4))
    (node,) = find(module, cond)
    names = [operand.name for operand in node.args[3]]

    assert ["y", "z", "x", "w", "y"] == names, (
        f"the operands are {names}, expected the operand y, then z and x for true, then w and the "
        f"y that false closes over"
    )
    for branch in (module.true_graph_0, module.false_graph_0):
        inputs = [n.target for n in branch.graph.nodes if n.op == "placeholder"]
        assert ["arg_0", "arg_1", "arg_2", "arg_3", "arg_4"] == inputs, (
            f"a branch takes {inputs}, expected arg_0 to arg_4: both branches take all operands, "
            f"even those that only the other one uses"
        )


def test_a_tuple_comes_back_as_a_tuple() -> None:
    """The tuple holds proxies, can be unpacked and has a length."""

    def function(x: Any, y: Any) -> Any:
        pair = cond(x.sum() > 0, lambda a: (a + 1, a * y), lambda a: (y * 1, a - 1), (x,))
        assert isinstance(pair, tuple), (
            f"cond of two tuples returned a {type(pair).__name__}, expected a tuple of proxies"
        )
        first, second = pair
        alone = cond(y.sum() > 0, lambda a: (a + 1,), lambda a: (a - 1,), (first,))
        assert isinstance(alone, tuple), (
            f"cond of two tuples of one returned a {type(alone).__name__}, expected a tuple"
        )
        (single,) = alone
        return second * 10 + single

    module = check(function, vector(1, 2), vector(3, 4))
    assert "false_graph_1" in dict(module.named_children()), (
        "expected graphs for the second cond, such as false_graph_1"
    )


def test_a_branch_is_recorded_once() -> None:
    """Recorded twice, a branch would run four times in a nested cond, then eight times."""
    calls = []

    def function(x: Any, y: Any) -> Any:
        def note(name: str, result: Any) -> Any:
            calls.append(name)
            return result

        return cond(
            x.sum() > 0,
            lambda: note("true", x * 2),
            lambda: cond(y.sum() > 0, lambda: note("inner", y + x), lambda: note("false", -y), ()),
            (),
        )

    trace(function)

    assert ["true", "inner", "false"] == calls, (
        f"expected one call of each branch, true first: {calls}"
    )


DISAGREE: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "a tensor and a tuple of one": (lambda a: a + 1, lambda a: (a + 1,)),
    "two and one": (lambda a: (a + 1, a + 2), lambda a: (a + 1,)),
    "none and a tensor": (lambda a: (), lambda a: a + 1),
}


@pytest.mark.parametrize("name", DISAGREE)
def test_branches_return_the_same_number_of_tensors(name: str) -> None:
    """One node has one structure of results."""
    true, false = DISAGREE[name]
    with pytest.raises(ValueError, match="branches return"):
        trace(lambda x: cond(x.sum() > 0, true, false, (x,)))


def test_a_step_is_recorded_once() -> None:
    """The graph is the same for any number of rows."""
    calls, kinds = [], []

    def function(init: Any, xs: Any, factor: Any) -> Any:
        def step(carry: Any, row: Any) -> tuple[Any, Any]:
            calls.append(row)
            carry = carry + row * factor
            return carry, carry * 2

        pair = scan(step, init, xs)
        kinds.append(type(pair))
        return pair[1] + pair[0]

    module = trace(function)
    assert [tuple] == kinds, "scan should return a tuple of proxy[0] and proxy[1]"
    assert 1 == len(calls), f"step was called {len(calls)} times while tracing, expected once"
    for rows in (1, 2, 5):
        inputs = vector(3), torch.arange(float(rows)).reshape(rows, 1), vector(2)
        assert torch.equal(function(*inputs), module(*inputs)), (
            f"with {rows} rows your graph's result differs from the plain loop's"
        )
    assert_expected_inline(
        graph_text(module),
        """\
init = input
xs = input
factor = input
step_graph_0 = self.step_graph_0
scan = scan(step_graph_0, init, xs, (factor,))
getitem = operator.getitem(scan, 0)
getitem_1 = operator.getitem(scan, 1)
add = operator.add(getitem_1, getitem)
return add
step_graph_0:
    arg_0 = input
    arg_1 = input
    arg_2 = input
    mul = operator.mul(arg_1, arg_2)
    add = operator.add(arg_0, mul)
    mul_1 = operator.mul(add, 2)
    return (add, mul_1)""",
    )


def test_a_step_has_operands_too() -> None:
    """Operands come between the row and what is lifted."""

    def function(xs: Any, y: Any, z: Any) -> Any:
        def step(carry: Any, row: Any, a: Any, b: Any) -> tuple[Any, Any]:
            return carry * a - b, (row - a) / z

        last, results = scan(step, y, xs, (z, y))
        return last - results

    module = check(function, vector(1, 2, 3, 4).reshape(2, 2), vector(5, 6), vector(7, 8))
    (node,) = find(module, scan)
    assert ["z", "y", "z"] == [operand.name for operand in node.args[3]], (
        "expected the operands first, then what the step closes over"
    )


def test_the_first_carry_is_not_the_carry() -> None:
    """A step that closes over `init` uses the first carry in every step."""

    def function(init: Any, xs: Any) -> Any:
        def step(carry: Any, row: Any) -> tuple[Any, Any]:
            return carry * 2 + init, carry + xs.sum(0) * row

        return scan(step, init, xs)[1]

    check(function, vector(1, 2), vector(1, 2, 3, 4, 5, 6).reshape(3, 2))


def test_one_proxy_of_the_two_is_enough() -> None:
    """Here a loop over a constant starts with a proxy, and the other way round."""
    constant = vector(1, 2, 3, 4).reshape(2, 2)

    def function(x: Any) -> Any:
        def step(carry: Any, row: Any) -> tuple[Any, Any]:
            return carry + row, carry * row

        a, b = scan(step, x[0], constant)
        c, d = scan(step, constant[1], x)
        return torch.cat([a, c, (b - d).flatten()])

    module = check(function, vector(5, 6, 7, 8).reshape(2, 2))
    assert 2 == len(find(module, scan)), (
        f"your graph has {len(find(module, scan))} scans, expected 2: one has a proxy as its "
        "rows, the other as its start, and neither is unrolled"
    )


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_step_returns_a_pair(count: int) -> None:
    """A tensor alone (0), one in a tuple, or three are not a carry and a result."""

    def step(carry: Any, row: Any) -> Any:
        return carry + row if count == 0 else (carry,) * count

    with pytest.raises(ValueError, match="step returns a pair"):
        trace(lambda init, xs: scan(step, init, xs)[0])
    # The carry has two rows, and could be unpacked.
    with pytest.raises(ValueError, match="step returns a pair"):
        scan(step, vector(1, 2), vector(1, 2, 3, 4).reshape(2, 2))


def test_each_step_returns_a_pair() -> None:
    """The middle step, which returns a tensor of two rows, must return a pair too."""
    calls = []

    def step(carry: Any, row: Any) -> Any:
        calls.append(row)
        return carry + row if len(calls) == 2 else (carry + row, row)

    with pytest.raises(ValueError, match="step returns a pair"):
        scan(step, vector(1, 2), vector(1, 2, 3, 4, 5, 6).reshape(3, 2))


OPS: tuple[Callable[..., Any], ...] = (torch.sub, torch.mul, torch.maximum)


BODIES = st.recursive(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.integers(0, 9)), max_size=3),
    lambda inner: st.lists(
        st.tuples(st.sampled_from(["cond", "scan"]), st.integers(0, 9), inner, inner), max_size=2
    ),
    max_leaves=6,
)


def run(body: list[Any], values: list[Any], choose: Any, loop: Any) -> Any:
    """Run a random program, in which each function can use all values around it."""
    values = [*values]
    for what, first, *rest in body:
        x = values[first % len(values)]
        if what == "cond":
            branches = [
                lambda a, inner=inner, seen=values: run(inner, [*seen, a], choose, loop) + 0.5
                for inner in rest
            ]
            values.append(choose(x.sum() > 0, *branches, (values[-1],)))
        elif what == "scan":
            rows = torch.stack([x, values[-1], x * 2])

            def step(carry: Any, row: Any, inner: Any = rest[0], seen: Any = values) -> Any:
                return run(inner, [*seen, carry, row], choose, loop) * 0.5, carry - row

            carry, results = loop(step, x, rows)
            values += [results.sum(0), carry]
        else:
            values.append(OPS[what](x, values[rest[0] % len(values)]).clamp(-3, 3))
    return values[-1]


def plain_cond(pred: Any, true: Any, false: Any, operands: Any) -> Any:
    """Return what Python's ``if`` chooses."""
    return true(*operands) if pred else false(*operands)


def plain_scan(step: Any, init: Any, xs: Any) -> Any:
    """Return what Python's ``for`` computes."""
    results = []
    for row in xs:
        init, result = step(init, row)
        results.append(result)
    return init, torch.stack(results)


@given(body=BODIES, seed=st.integers(0, 99))
def test_any_program(body: list[Any], seed: int) -> None:
    """Nested branches and loops, against Python's own."""
    module = trace(lambda x, y: run(body, [x, y], cond, scan))
    generator = torch.Generator().manual_seed(seed)
    for _ in range(3):
        x, y = torch.randn(2, 2, generator=generator, dtype=torch.float64)
        expected = run(body, [x, y], plain_cond, plain_scan)

        assert torch.equal(expected, module(x, y)), (
            f"your graph returns {module(x, y)}, without tracing it is "
            f"{expected}\n\n{graph_text(module)}"
        )


def test_pytorch_can_run_the_node() -> None:
    """PyTorch's own operator takes the same graphs and operands, and makes the same choice."""

    def function(x: Any, y: Any) -> Any:
        return cond(x.sum() > 0, lambda a: (a * y, a + y), lambda a: (a - x, a * x), (y,))[1]

    module = check(function, vector(1, 2), vector(3, 4))
    (node,) = find(module, cond)
    # The operator under torch.cond, which gets its graphs from Dynamo.
    node.target = torch.ops.higher_order.cond
    module.recompile()

    for x in (vector(1, 2), vector(-1, -2)):
        torch.testing.assert_close(
            module(x, vector(3, 4)), function(x, vector(3, 4)), rtol=0, atol=0
        )
