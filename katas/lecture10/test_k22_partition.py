"""Tests of k22_partition: what each part holds, and what is saved."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import torch
from expecttest import assert_expected_inline
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch import fx
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.fx.experimental.proxy_tensor import make_fx

from katas.lecture10 import k22_partition as kata
from katas.lecture10.k22_partition import partition
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    Function = Callable[..., tuple[torch.Tensor, ...]]


class Scaled(torch.autograd.Function):
    """A product with 2 in forward, with the second input in backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        """Save an input that forward itself does not use."""
        ctx.save_for_backward(scale)
        return x * 2

    @staticmethod
    def backward(ctx: Any, tangent: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Multiply by the saved input."""
        return tangent * ctx.saved_tensors[0], None


class Fixed(Scaled):
    """The gradient is the second input, whatever arrives."""

    @staticmethod
    def backward(ctx: Any, tangent: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Return the saved value as it is."""
        return ctx.saved_tensors[0], None


def leaf(*sizes: int) -> torch.Tensor:
    """Return a float64 leaf that requires grad."""
    return torch.randn(sizes, dtype=torch.float64, requires_grad=True)


def layer(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return one output whose backward needs x, w and their product."""
    return (torch.mm(x, w).sin(),)


def text(module: fx.GraphModule) -> str:
    """Return the graph as text; whether it returns a tuple or a list is left out."""
    return re.sub(r"return [(\[](.*?),?[)\]]$", r"return \1", graph_text(module.graph))


def operators(module: fx.GraphModule) -> Counter[str]:
    """Return how often each operator occurs in a graph."""
    return Counter(str(node.target) for node in module.graph.nodes if node.op == "call_function")


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


def by_parts(
    parts: tuple[fx.GraphModule, fx.GraphModule], primals: tuple[torch.Tensor, ...], count: int
) -> tuple[Any, ...]:
    """Return outputs and gradients as forward and backward of a partition compute them."""
    results = flat(parts[0], *primals)
    outputs, saved = results[:count], results[count:]
    return (*outputs, *flat(parts[1], *saved, *tangents_for(outputs)))


def sizes(tensors: Iterable[torch.Tensor]) -> list[int]:
    """Return the bytes of each storage behind the tensors, counting a shared one once."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sorted({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def saved_by_autograd(function: Function, primals: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Return what eager autograd saves."""
    saved: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor)
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = function(*primals)
    del outputs
    return [tensor.detach() for tensor in saved]


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


def test_the_graph_is_cut_where_backward_begins() -> None:
    """Forward returns what backward needs: two primals and the product, not the sine."""
    forward, _ = partition(joint_graph(layer, (leaf(2, 3), leaf(3, 4))), 1)

    assert_expected_inline(
        text(forward),
        """\
primals_1 = input
primals_2 = input
mm = aten.mm.default(primals_1, primals_2)
sin = aten.sin.default(mm)
return sin, primals_1, primals_2, mm""",
    )


def test_backward_begins_with_what_was_saved() -> None:
    """Its inputs are the saved values and the tangent; nothing of forward is recomputed."""
    _, backward = partition(joint_graph(layer, (leaf(2, 3), leaf(3, 4))), 1)

    assert_expected_inline(
        text(backward),
        """\
primals_1 = input
primals_2 = input
mm = input
tangents_1 = input
cos = aten.cos.default(mm)
mul = aten.mul.Tensor(tangents_1, cos)
t = aten.t.default(primals_1)
mm_1 = aten.mm.default(t, mul)
t_1 = aten.t.default(primals_2)
mm_2 = aten.mm.default(mul, t_1)
return mm_2, mm_1""",
    )


def test_an_output_is_saved_if_backward_uses_it() -> None:
    """The derivative of exp is its value: one value is both output and saved."""
    x = leaf(3)
    joint = joint_graph(lambda x: (x.sin().exp(),), (x,))
    forward, backward = partition(joint, 1)
    output, *saved = flat(forward, x)

    assert ["primals_1", "exp", "tangents_1"] == placeholders(backward), (
        f"backward takes {placeholders(backward)}, expected ['primals_1', 'exp', "
        "'tangents_1']: what was saved, in the order of the joint graph, then the tangent"
    )
    assert [True] == [value is output for value in saved if value is not x], (
        f"besides x, forward saves {len([value for value in saved if value is not x])} values, "
        "expected one, the very tensor that is its output: the derivative of exp is its value"
    )


def test_a_primal_that_only_backward_uses_is_saved() -> None:
    """Backward has no other way to get it."""
    primals = leaf(3), leaf(3).detach()

    def function(x: torch.Tensor, scale: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (Scaled.apply(x, scale),)

    forward, backward = partition(joint_graph(function, primals), 1)

    assert ["primals_1", "primals_2"] == placeholders(forward), "forward should take all primals"
    assert ["primals_2", "tangents_1"] == placeholders(backward), (
        f"backward takes {placeholders(backward)}, expected ['primals_2', 'tangents_1']: "
        "only backward uses the scale, so it is saved, and what is saved comes before the tangents"
    )
    assert_same(expected_of(function, primals), by_parts((forward, backward), primals, 1))


def test_a_saved_value_may_be_a_gradient() -> None:
    """Then backward passes it on; no operator uses it."""
    primals = leaf(3), leaf(3).detach()

    def function(x: torch.Tensor, fixed: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (Fixed.apply(x, fixed),)

    forward, backward = partition(joint_graph(function, primals), 1)
    _, *saved = flat(forward, *primals)

    assert 1 == len(saved), (
        f"forward saves {len(saved)} values, expected one: primals_2, which is a gradient itself"
    )
    assert ["primals_2", "tangents_1"] == placeholders(backward), (
        f"backward takes {placeholders(backward)}, expected ['primals_2', 'tangents_1']: the "
        "gradient is saved, and the tangent is taken though nothing uses it"
    )
    torch.testing.assert_close(flat(backward, *saved, torch.ones(3))[0], primals[1])


def test_items_are_saved_instead_of_tuples() -> None:
    """With a dropout, forward uses the first item and backward the second, which is the mask."""
    x = torch.ones(1000, requires_grad=True)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.native_dropout(x, 0.5, True)[0],)  # noqa: FBT003 - as above

    forward, backward = partition(joint_graph(function, (x,)), 1)
    output, *saved = flat(forward, x)

    assert [torch.bool] == [getattr(value, "dtype", type(value)) for value in saved], (
        "save the mask, an item of what the operator returns; not the tuple, not the input"
    )
    (gradient,) = flat(backward, *saved, torch.ones(1000))
    assert torch.equal(output, gradient), "backward must use the mask that forward drew"


def test_values_are_saved_in_the_order_of_the_joint_graph() -> None:
    """A saved value may be a primal, an item, an output, or a value in between."""

    def function(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.native_dropout(x, 0.5, True)[0] * w  # noqa: FBT003 - as above
        return y, y.sin().sin()

    _, backward = partition(joint_graph(function, (leaf(3), leaf(3))), 2)
    expected = ["primals_2", "getitem", "getitem_1", "mul", "sin"]
    actual = placeholders(backward)[:-2]

    assert expected == actual, (
        f"you save {actual}, expected {expected}, in the order of the joint graph"
    )


def test_dead_code_is_in_neither_graph() -> None:
    """What no output and no gradient depends on is in neither graph, nor is an unused item."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        first, second = x.split(2)
        second.cos()
        return (x.topk(2)[0] * first.detach(),)

    x = leaf(4)
    forward, backward = partition(joint_graph(function, (x,)), 1)

    assert 0 == operators(forward)["aten.cos.default"], (
        "forward computes the cos, but no output or gradient needs it"
    )
    for module in (forward, backward):
        unused = [node.name for node in module.graph.nodes if not node.users]
        inputs = placeholders(module)
        assert ["output"] == [name for name in unused if name not in inputs], (
            f"{[name for name in unused if name not in inputs]} have no user, expected only the "
            f"output: what nothing uses, an item of a tuple too, belongs in neither graph"
        )
    idle = [node.name for node in backward.graph.nodes if not node.users][:-1]
    assert not idle, f"backward takes {idle}, which only dead code would use"


def test_the_last_inputs_are_the_tangents_whatever_their_names() -> None:
    """Another graph has other names; a primal that nothing depends on is an input of it too."""
    graph = fx.Graph()
    x, _, arriving = (graph.placeholder(name) for name in ("x", "idle", "arriving"))
    sine = graph.call_function(torch.ops.aten.sin.default, (x,))
    cosine = graph.call_function(torch.ops.aten.cos.default, (x,))
    slope = graph.call_function(torch.ops.aten.mul.Tensor, (arriving, cosine))
    graph.output((sine, slope, None))
    forward, backward = partition(fx.GraphModule({}, graph), 1)

    assert ["x", "idle"] == placeholders(forward), "forward should take all primals, used or not"
    assert ["x", "arriving"] == placeholders(backward), (
        "backward should take what is saved, then the tangents"
    )


def test_forward_holds_no_more_than_outputs_need() -> None:
    """The derivative is computed before the output here, but only backward uses it."""
    graph = fx.Graph()
    x, arriving = graph.placeholder("x"), graph.placeholder("arriving")
    cosine = graph.call_function(torch.ops.aten.cos.default, (x,))
    sine = graph.call_function(torch.ops.aten.sin.default, (x,))
    graph.output((sine, graph.call_function(torch.ops.aten.mul.Tensor, (arriving, cosine))))
    forward, backward = partition(fx.GraphModule({}, graph), 1)
    found = dict(operators(forward))

    assert {"aten.sin.default": 1} == found, f"forward holds {found}: no output needs a cosine"
    assert ["x", "arriving"] == placeholders(backward), (
        f"backward takes {placeholders(backward)}, expected ['x', 'arriving']: it computes "
        "the cosine itself"
    )


def test_inputs_have_the_names_of_nodes() -> None:
    """Callers know a placeholder by its target; its node may have a different name."""
    graph = fx.Graph()
    x, arriving = graph.placeholder("input"), graph.placeholder("tangent")
    sine = graph.call_function(torch.ops.aten.sin.default, (x,))
    graph.output((sine, graph.call_function(torch.ops.aten.mul.Tensor, (arriving, x))))
    forward, backward = partition(fx.GraphModule({}, graph), 1)

    assert [x.name] == placeholders(forward), (
        f"forward takes {placeholders(forward)}: use node.name"
    )
    assert [x.name, "tangent"] == placeholders(backward), (
        f"backward takes {placeholders(backward)}: use node.name"
    )


def test_a_value_is_saved_once() -> None:
    """Even if it is a gradient, an output, and used by an operator of backward."""
    graph = fx.Graph()
    x, _, arriving = (graph.placeholder(name) for name in ("x", "y", "arriving"))
    sine = graph.call_function(torch.ops.aten.sin.default, (x,))
    slope = graph.call_function(torch.ops.aten.mul.Tensor, (arriving, sine))
    graph.output((sine, sine, slope))
    _, backward = partition(fx.GraphModule({}, graph), 1)
    inputs = placeholders(backward)

    assert [sine.name, "arriving"] == inputs, (
        f"backward takes {inputs}, expected {[sine.name, 'arriving']}: the last placeholders, one "
        f"for each output, are the tangents"
    )


def test_partition_does_not_change_the_joint_graph() -> None:
    """Afterwards it can be cut again."""
    x, w = leaf(2, 3), leaf(3, 4)
    joint = joint_graph(layer, (x, w))
    with joint.graph.inserting_before(joint.graph.output_node()):
        joint.graph.call_function(torch.sin, (joint.graph.find_nodes(op="placeholder")[0],))
    joint.recompile()
    before, metas = text(joint), [dict(node.meta) for node in joint.graph.nodes]
    with unchanged(x=x, w=w):
        first, second = partition(joint, 1), partition(joint, 1)

    assert all(
        node.meta.keys() == meta.keys() for node, meta in zip(joint.graph.nodes, metas, strict=True)
    ), "the meta of nodes changed: keep records about nodes in dictionaries of your own"
    assert before == text(joint), "copy nodes; do not move or erase those of the joint graph"
    assert [text(module) for module in first] == [text(module) for module in second], (
        "cutting the joint graph a second time gives different parts: nothing may be left over "
        "from the first time"
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
    """PyTorch's partitioners may not be called: you are writing them."""
    primals = leaf(2, 3), leaf(3, 4)
    joint = joint_graph(layer, primals)
    with forbids(kata, *READY_MADE) as fresh:
        parts = fresh.partition(joint, 1)

    assert_same(expected_of(layer, primals), by_parts(parts, primals, 1))


@settings(max_examples=6)
@given(steps=st.lists(STEP, max_size=5), seed=st.integers(0, 1000))
def test_the_two_graphs_compute_what_autograd_computes(
    steps: list[tuple[int, int, int]], seed: int
) -> None:
    """Outputs and gradients of any program, even if a dropout draws a mask."""
    function, primals = program(steps), drawn(seed)
    state = torch.get_rng_state()
    joint = joint_graph(function, primals)
    forward, backward = partition(joint, 2)
    torch.set_rng_state(state)
    expected = expected_of(function, primals)
    torch.set_rng_state(state)

    assert_same(expected, by_parts((forward, backward), primals, 2))


@settings(max_examples=6)
@given(steps=st.lists(STEP, max_size=5), seed=st.integers(0, 1000))
def test_no_operator_runs_twice_and_eager_saves_as_much(
    steps: list[tuple[int, int, int]], seed: int
) -> None:
    """Each operator is in one of the two graphs, and no more is saved than by autograd's tape."""
    function, primals = program(steps), drawn(seed)
    joint = joint_graph(function, primals)
    forward, backward = partition(joint, 2)
    again = operators(forward) + operators(backward) - operators(joint)
    unused = [n.target for n in backward.graph.nodes if n.op == "placeholder" and not n.users]

    assert not again, f"backward recomputes these: {dict(again)}"
    assert not [name for name in unused if "tangents" not in name], (
        f"these are saved but not used: {unused}"
    )
    tape, ours = saved_by_autograd(function, primals), flat(forward, *primals)[2:]
    assert sizes(tape) == sizes(ours), (
        "the bytes of the saved storages differ from those of eager autograd"
    )


def joint_graph(
    function: Callable[..., tuple[torch.Tensor, ...]], primals: tuple[torch.Tensor, ...]
) -> fx.GraphModule:
    """Return the graph of ``(primals, tangents) -> (*outputs, *gradients)``."""

    def joint(primals: Any, tangents: Any) -> Any:
        outputs = function(*primals)
        wanted = [primal for primal in primals if primal.requires_grad]
        found = iter(torch.autograd.grad(outputs, wanted, tangents, allow_unused=True))
        return (*outputs, *(next(found) if x.requires_grad else None for x in primals))

    return make_fx(joint)(primals, tuple(torch.zeros_like(out) for out in function(*primals)))
