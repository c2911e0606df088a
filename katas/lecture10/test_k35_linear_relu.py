"""Tests of k35_linear_relu: which chains are replaced, and what stays."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import fx
from torch._subclasses import FakeTensor
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Function = Callable[..., Any]

# Inductor gives this warning itself, when it builds its own patterns.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated")


aten = torch.ops.aten


FUSED = aten._addmm_activation.default  # noqa: SLF001 - its only name


def kata() -> ModuleType:
    """Return the exercise. It imports Inductor, which collecting the tests should not wait for."""
    return import_module("katas.lecture10.k35_linear_relu")


def fuse(*args: Any) -> int:
    """Run the handwritten pass."""
    return kata().fuse(*args)


WAYS = [pytest.param(fuse, id="by_hand")]


def inputs(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    """Return x, w and a bias for ``x @ w + bias``, of shape (4, 6)."""
    return tuple(torch.randn(*s).to(dtype) for s in ((4, 5), (5, 6), (6,)))


def traced(function: Function, *args: torch.Tensor) -> fx.GraphModule:
    """Return a graph of ATen's operators, with fake tensors on its nodes."""
    return make_fx(function, tracing_mode="fake")(*args)


def check(way: Function, function: Function, *args: torch.Tensor, found: int) -> fx.GraphModule:
    """Run a pass on the graph of a function; compare the count, the results and the graph."""
    gm = traced(function, *args)
    before, metas = graph_text(gm), {node: dict(node.meta) for node in gm.graph.nodes}
    with unchanged(args=args):
        actual = way(gm.graph)
    text = f"\n\nbefore:\n{before}\n\nafter:\n{graph_text(gm)}"
    calls = [node for node in gm.graph.nodes if node.target is FUSED]

    assert found == actual, f"{actual} chains were replaced, expected {found}{text}"
    assert found == len(calls), (
        f"the graph calls the new operator {len(calls)} times, expected {found}{text}"
    )
    if not found:
        assert before == graph_text(gm), f"leave the chain as it was{text}"
    for node in gm.graph.nodes:
        changed = [k for k, old in metas.get(node, {}).items() if node.meta.get(k) is not old]
        assert [] == changed, f"the meta of {node} now has a different {', '.join(changed)}{text}"
    gm.graph.lint()
    gm.recompile()
    expected, result = function(*(x.clone() for x in args)), gm(*(x.clone() for x in args))
    torch.testing.assert_close(result, expected, msg=lambda m: f"{m}{text}")
    return gm


def dense(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """One ATen node for product and sum, then the ReLU."""
    return torch.addmm(b, x, w).relu()


def summed(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Two nodes for product and sum."""
    return (x @ w + b).relu()


def summed_to(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Pass the bias as the first argument."""
    return (b + x @ w).relu()


CHAINS = [dense, summed, summed_to]


def test_an_addmm_and_a_relu_become_one_operator() -> None:
    """The smallest chain: its arguments are those of addmm."""
    gm = check(fuse, dense, *inputs(), found=1)

    assert_expected_inline(
        graph_text(gm),
        """\
x_1 = input
w_1 = input
b_1 = input
_addmm_activation = aten._addmm_activation.default(b_1, x_1, w_1)
return _addmm_activation""",
    )


@pytest.mark.parametrize("function", [summed, summed_to])
def test_a_product_and_a_sum_are_an_addmm(function: Function) -> None:
    """On either side of the sum; three nodes become one."""
    gm = check(fuse, function, *inputs(), found=1)

    assert_expected_inline(
        graph_text(gm),
        """\
x_1 = input
w_1 = input
b_1 = input
_addmm_activation = aten._addmm_activation.default(b_1, x_1, w_1)
return _addmm_activation""",
    )


def test_a_product_without_a_bias_stays() -> None:
    """A sum without a ReLU, a ReLU without a product, and a sum of other things stay too."""
    check(fuse, lambda x, w, b: (x @ w).relu(), *inputs(), found=0)
    check(fuse, lambda x, w, b: torch.addmm(b, x, w), *inputs(), found=0)
    check(fuse, lambda x, w, b: b.relu(), *inputs(), found=0)
    check(fuse, lambda x, w, b: (b + 1).relu(), *inputs(), found=0)
    check(fuse, lambda x, w, b: (x @ w - b).relu(), *inputs(), found=0)
    check(fuse, lambda x, w, b: (x @ w + b).sigmoid(), *inputs(), found=0)


@pytest.mark.parametrize(
    ("function", "factors"),
    [
        (lambda x, w, b: torch.addmm(b, x, w, alpha=2).relu(), {"alpha": 2}),
        (lambda x, w, b: torch.addmm(b, x, w, beta=3, alpha=-1).relu(), {"beta": 3, "alpha": -1}),
        (lambda x, w, b: torch.add(x @ w, b, alpha=2).relu(), {"beta": 2}),
        (lambda x, w, b: torch.add(b, x @ w, alpha=2).relu(), {"alpha": 2}),
        (lambda x, w, b: torch.add(x @ w, b, alpha=-1).relu(), {"beta": -1}),
        (lambda x, w, b: torch.addmm(b, x, w, beta=0).relu(), {"beta": 0}),
    ],
    ids=["addmm", "addmm_both", "of_the_bias", "of_the_product", "minus", "addmm_zero"],
)
def test_factors_stay(function: Function, factors: dict[str, float]) -> None:
    """The alpha of a sum multiplies its second argument, whether bias or product."""
    gm = check(fuse, function, *inputs(), found=1)
    (node,) = (node for node in gm.graph.nodes if node.target is FUSED)

    assert factors == dict(node.kwargs), (
        f"the new node has the keywords {dict(node.kwargs)}, expected those of the chain, {factors}"
    )


def test_a_sum_with_a_factor_of_zero_stays() -> None:
    """Zero times NaN is NaN in a sum, but addmm does not even read what has a factor of 0."""
    check(fuse, lambda x, w, b: torch.add(x @ w, b, alpha=0).relu(), *inputs(), found=0)
    check(fuse, lambda x, w, b: torch.add(b, x @ w, alpha=0).relu(), *inputs(), found=0)


@pytest.mark.parametrize("way", WAYS)
def test_what_others_need_is_not_computed_twice(way: Function) -> None:
    """Here an inner value is an output, is used by another node, or is added to itself."""

    def uses_product(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        product = x @ w
        return (product + b).relu(), product.sin()

    def returns_sum(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        total = x @ w + b
        return total.relu(), total

    def uses_addmm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        total = torch.addmm(b, x, w)
        return total.relu() + total

    def doubles(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        product = x @ w
        return (product + product).relu()

    def two_relus(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        total = x @ w + b
        return total.relu(), total.relu()

    for function in (uses_product, returns_sum, uses_addmm, doubles, two_relus):
        check(way, function, *inputs(), found=0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", CHAINS)
def test_a_result_may_have_many_users(function: Function, way: Function) -> None:
    """Each user gets the new value, in place of the ReLU's."""

    def several(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        y = function(x, w, b)
        return y.sin(), [y, y * y]

    gm = check(way, several, *inputs(), found=1)
    targets = [str(node.target) for node in gm.graph.nodes if node.op == "call_function"]
    expected = ["aten._addmm_activation.default", "aten.sin.default", "aten.mul.Tensor"]
    assert expected == targets, "product, sum and ReLU should be removed, and nothing else"


@pytest.mark.parametrize("way", WAYS)
def test_of_two_products_one_is_the_bias(way: Function) -> None:
    """Only one product is fused; the other one, its bias, is computed before."""
    gm = check(way, lambda x, w, b: (x @ w + x.sin() @ w).relu(), *inputs(), found=1)

    targets = [str(node.target) for node in gm.graph.nodes if node.op == "call_function"]
    assert ["aten.mm.default", "aten._addmm_activation.default"] == sorted(
        set(targets) - {"aten.sin.default"}, reverse=True
    ), (
        f"your graph calls {targets}: one product is fused, the other one is its bias and is "
        "computed before"
    )

    def first_is_used(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> Any:
        product = x @ w
        return (product + x.sin() @ w).relu(), product.sin()

    # Then the second reading is allowed.
    check(way, first_is_used, *inputs(), found=1)


@pytest.mark.parametrize("way", WAYS)
def test_a_bias_is_a_tensor(way: Function) -> None:
    """A number may be added, but cannot be an argument of the new operator."""
    check(way, lambda x, w, b: (x @ w + 2.5).relu(), *inputs(), found=0)


@pytest.mark.parametrize("way", WAYS)
def test_a_bias_has_the_dtype_of_the_product(way: Function) -> None:
    """A wider bias is refused, even a tensor without dims, which does not widen the sum."""
    # Whole numbers: no rounding between product and sum.
    x, w, b = (value.round().bfloat16() for value in inputs())

    check(way, summed, x, w, b, found=1)
    check(way, summed, x, w, b.float(), found=0)
    check(way, summed_to, x, w, b.float(), found=0)
    check(way, summed, x, w, torch.tensor(2.0, dtype=torch.float64), found=0)


@pytest.mark.parametrize("way", WAYS)
def test_a_bias_is_where_the_product_is(way: Function) -> None:
    """``add`` takes a product on a GPU and a number on the CPU; the new operator does not."""
    with FakeTensorMode():  # a fake tensor on a GPU needs no GPU
        x, w = torch.empty(4, 5, device="cuda:0"), torch.empty(5, 6, device="cuda:0")
        number, bias = torch.empty(()), torch.empty((), device="cuda:0")

    assert 0 == way(make_fx(summed)(x, w, number).graph), (
        "expected 0 replacements: the bias is on the CPU, x and w are not"
    )
    assert 1 == way(make_fx(summed)(x, w, bias).graph), (
        "expected 1 replacement: all three are on the same device"
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_bias_is_not_larger_than_the_product(way: Function) -> None:
    """The bias is expanded to the product, never the other way round."""
    x, w, b = inputs()

    for small in (b[0], b[:1], b, torch.randn(4, 1), torch.randn(4, 6)):
        check(way, summed, x, w, small, found=1)
    check(way, summed, x, w, torch.randn(2, 4, 6), found=0)
    check(way, summed, x, w, torch.randn(1, 4, 6), found=0)
    check(way, summed, x[:1], w, torch.randn(4, 6), found=0)


@pytest.mark.parametrize("way", WAYS)
def test_strides_stay(way: Function) -> None:
    """A sum has the strides of its first argument; the new operator's result is contiguous."""
    x, w, _ = inputs()
    across = torch.randn(6, 4).t()

    check(way, summed_to, x, w, across, found=0)
    gm = check(way, summed, x, w, across, found=1)
    assert (6, 1) == gm(x, w, across).stride(), (
        "the product comes first in the sum, so the result should have its strides"
    )


def writes_to_operand(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Change an operand between product and sum."""
    product = x @ w
    x.mul_(2)
    return (product + b).relu()


def writes_to_bias(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Change the bias between sum and ReLU."""
    total = x @ w + b
    b.zero_()
    return total.relu()


def writes_to_addmm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Change an operand between addmm and ReLU."""
    total = torch.addmm(b, x, w)
    w.zero_()
    return total.relu()


def writes_to_product(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Let the sum itself write."""
    return (x @ w).add_(b).relu()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "function", [writes_to_operand, writes_to_bias, writes_to_addmm, writes_to_product]
)
def test_no_product_moves_past_a_write(function: Function, way: Function) -> None:
    """The new node comes later than the product did, and would read what was written."""
    check(way, function, *inputs(), found=0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", CHAINS)
def test_the_new_node_has_the_meta_of_the_relu(function: Function, way: Function) -> None:
    """Later passes read the value, people read the stack trace."""
    gm = traced(function, *inputs())
    (relu,) = gm.graph.find_nodes(op="call_function", target=aten.relu.default)
    old, value = relu.meta, relu.meta["val"]
    old["stack_trace"] = "File model.py, line 7"
    way(gm.graph)
    (node,) = (node for node in gm.graph.nodes if node.target is FUSED)

    assert "val" in node.meta, "the new node has no meta['val']: the next pass would fail"
    assert isinstance(node.meta["val"], FakeTensor), (
        f"meta['val'] is a {type(node.meta['val']).__name__}, expected the fake tensor of the ReLU"
    )
    assert (value.shape, value.stride(), value.dtype) == (
        node.meta["val"].shape,
        node.meta["val"].stride(),
        node.meta["val"].dtype,
    ), (
        "meta['val'] has shape, strides and dtype "
        f"{(node.meta['val'].shape, node.meta['val'].stride(), node.meta['val'].dtype)}, the "
        f"ReLU's {(value.shape, value.stride(), value.dtype)}"
    )
    assert "File model.py, line 7" == node.meta.get("stack_trace"), (
        "keep the ReLU's stack trace: errors show it"
    )
    assert old is not node.meta, "the new node shares the ReLU's meta: give it a copy"


def test_small_results_may_be_left() -> None:
    """The size is the number of elements of the result, here 24."""
    for smallest, found in ((0, 1), (24, 1), (25, 0)):
        assert found == fuse(traced(dense, *inputs()).graph, smallest), (
            f"with smallest={smallest}, a result of 24 elements: expected {found} replacements; "
            "a result is too small if it has fewer than `smallest` elements"
        )
    x, w, b = inputs()
    assert 1 == fuse(traced(dense, x[:0], w, b).graph), (
        "by default no result is too small: expected 1 replacement"
    )
