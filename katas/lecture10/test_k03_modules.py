"""Tests of k03_modules: leaves, parameters, and what is put back."""

from __future__ import annotations

import operator
from collections import Counter
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch import fx
from torch import nn
from torch.nn import functional as F

from katas.lecture10 import k03_modules as kata
from katas.lecture10.k03_modules import trace
from plugins.kit import forbids
from plugins.kit import graph_text
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from katas.lecture10.conftest import Case


class Reference(fx.Tracer):
    """The tracer of FX, which treats buffers like parameters."""

    proxy_buffer_attributes = True


def rows(graph: Any) -> list[tuple[Any, ...]]:
    """Return op, target, args and kwargs of each node, with nodes written as their positions."""
    places = {node: f"%{place}" for place, node in enumerate(graph.nodes)}

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return ["list" if isinstance(value, list) else "tuple", *map(plain, value)]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, slice):
            return ["slice", plain(value.start), plain(value.stop), plain(value.step)]
        if isinstance(value, fx.Node):
            return places.get(value, f"a node {value.name} that is not in this graph, or not yet")
        return value

    return [(node.op, node.target, plain(node.args), plain(node.kwargs)) for node in graph.nodes]


def assert_read_once(graph: Any) -> None:
    """Check that no parameter or buffer has two nodes."""
    reads = Counter(str(node.target) for node in graph.nodes if node.op == "get_attr")
    again = [f"{count} for {name}" for name, count in reads.items() if count > 1]
    assert not again, f"expected one node for each tensor: your graph repeats {', '.join(again)}"


def assert_as_in_fx(root: Any) -> Any:
    """Compare the graph of `root` with that of FX, and return it."""
    with unchanged(root=root):
        graph = trace(root)
    assert_read_once(graph)
    expected, actual = rows(Reference().trace(root)), rows(graph)
    for place, (theirs, ours) in enumerate(zip(expected, actual, strict=False)):
        assert theirs == ours, f"node {place}: FX records {theirs}, you record {ours}"
    assert len(expected) == len(actual), (
        f"you record {len(actual)} nodes, FX records {len(expected)}"
    )
    return graph


class Scale(nn.Module):
    """Reads a parameter twice, a buffer and a missing bias."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.bias = nn.Parameter(torch.ones(3))
        # Not in the state_dict, but still a buffer.
        self.register_buffer("shift", torch.full((3,), 0.5), persistent=False)
        self.register_parameter("none", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a value computed from all of these tensors."""
        if self.none is not None:
            return x
        both = self.weight * 2 + self.bias
        return x * both * self.weight - self.shift


class Tower(nn.Module):
    """A module of your own, a Sequential, a list and a module that is used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = Scale()
        self.blocks = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.ReLU(), Scale()))
        self.layers = nn.ModuleList([nn.Tanh(), nn.Linear(3, 3)])

    def forward(self, x: torch.Tensor, power: float = 2.0) -> torch.Tensor:
        """Return (N, 3) for (N, 3)."""
        x = self.blocks(self.scale(x))
        for layer in self.layers:
            x = layer(input=x)
        return self.blocks[0](x) ** power


def test_parameters_and_buffers_are_read_by_the_graph() -> None:
    """One node for each tensor, at its first read, even where no input is involved."""
    graph = trace(Scale())
    actual = [row[:2] for row in rows(graph)]

    assert_read_once(graph)
    assert [
        ("placeholder", "x"),
        ("get_attr", "weight"),
        ("call_function", operator.mul),
        ("get_attr", "bias"),
        ("call_function", operator.add),
        ("call_function", operator.mul),
        ("call_function", operator.mul),
        ("get_attr", "shift"),
        ("call_function", operator.sub),
        ("output", "output"),
    ] == actual, "what a module reads must be a proxy, or it is computed while tracing"
    assert_as_in_fx(Scale())


def test_a_tensor_of_two_names_is_one_node() -> None:
    """Tied weights have one name, the first, whichever module reads them."""

    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Scale(), Scale()
            self.second.weight = self.first.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.first(self.second(x)) * self.second.weight

    assert_as_in_fx(Tied())


def test_the_graph_reads_like_the_program() -> None:
    """Leaves are calls; for your own modules and Sequentials only what they do is recorded."""
    assert_expected_inline(
        graph_text(trace(Tower())),
        """\
x = input
power = input(2.0)
scale_weight = self.scale.weight
mul = operator.mul(scale_weight, 2)
scale_bias = self.scale.bias
add = operator.add(mul, scale_bias)
mul_1 = operator.mul(x, add)
mul_2 = operator.mul(mul_1, scale_weight)
scale_shift = self.scale.shift
sub = operator.sub(mul_2, scale_shift)
blocks_0 = self.blocks.0(sub)
blocks_1_0 = self.blocks.1.0(blocks_0)
blocks_1_1_weight = self.blocks.1.1.weight
mul_3 = operator.mul(blocks_1_1_weight, 2)
blocks_1_1_bias = self.blocks.1.1.bias
add_1 = operator.add(mul_3, blocks_1_1_bias)
mul_4 = operator.mul(blocks_1_0, add_1)
mul_5 = operator.mul(mul_4, blocks_1_1_weight)
blocks_1_1_shift = self.blocks.1.1.shift
sub_1 = operator.sub(mul_5, blocks_1_1_shift)
layers_0 = self.layers.0(input=sub_1)
layers_1 = self.layers.1(input=layers_0)
blocks_0_1 = self.blocks.0(layers_1)
pow = operator.pow(blocks_0_1, power)
return pow""",
    )


def test_keyword_arguments_of_modules_arrive() -> None:
    """Keywords of a leaf are recorded; a module of your own is run with them."""

    class Mix(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, *, by: float = 2.0) -> torch.Tensor:
            return x * by - y

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix, self.relu = Mix(), nn.ReLU()
            self.pair, self.chain = nn.Bilinear(3, 3, 3), nn.Sequential(nn.Tanh())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.mix(x, y=self.relu(input=x), by=3.0)
            return self.chain(input=self.pair(input2=y, input1=self.mix(by=x, y=2, x=y)))

    assert_as_in_fx(Root())


def test_the_root_is_run_though_it_is_a_leaf() -> None:
    """Otherwise the graph of ``nn.Linear`` would only say: call nn.Linear."""
    graph = assert_as_in_fx(nn.Linear(3, 2))

    assert ["placeholder", "get_attr", "get_attr", "call_function", "output"] == [
        node.op for node in graph.nodes
    ], (
        f"you record {[node.op for node in graph.nodes]} for nn.Linear: run the root's own "
        f"forward, which reads its weight and bias and calls F.linear"
    )
    assert_as_in_fx(nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh())))


def test_a_subclass_of_a_leaf_is_run() -> None:
    """A module is a leaf only if ``torch.nn`` defines its class; nobody knows what yours does."""

    class Own(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).relu()

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.own = Own(3, 3)
            # Run as usual, hooks included.
            self.own.register_forward_hook(lambda module, args, result: result + 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.own(x)

    assert_as_in_fx(Root())


def test_a_graph_module_is_no_leaf() -> None:
    """A module whose class is PyTorch's but not in ``torch.nn`` is run."""

    class Root(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = fx.symbolic_trace(Scale())

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) + 1

    assert_as_in_fx(Root())


def test_control_flow_on_python_values_is_decided_while_tracing() -> None:
    """The graph of a module in eval mode has no dropout, and never will."""

    class Noisy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for step in range(2):
                x = x * step
            return F.dropout(x) if self.training else x.tanh()

    assert ["call_function", "call_function", "call_method"] == [
        node.op for node in assert_as_in_fx(Noisy().eval()).nodes
    ][1:-1], (
        "expected x * 0, x * 1 and x.tanh(): the loop and the test of self.training are decided "
        "while tracing"
    )
    assert_as_in_fx(Noisy())


def test_patches_are_taken_back() -> None:
    """The patches are undone whether the program finishes or not."""
    call, read = nn.Module.__call__, nn.Module.__getattr__

    class Broken(Scale):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise KeyError("an error of the program")

    trace(Tower())
    assert call is nn.Module.__call__, "put nn.Module.__call__ back"
    assert read is nn.Module.__getattr__, "put nn.Module.__getattr__ back"
    with pytest.raises(KeyError):
        trace(Broken())
    assert call is nn.Module.__call__, "put __call__ back after an error too"
    assert read is nn.Module.__getattr__, "put __getattr__ back after an error too"

    module = Tower()
    assert isinstance(module.scale.weight, nn.Parameter), (
        "a parameter of a module is no longer an nn.Parameter: put __getattr__ back"
    )
    assert isinstance(module(torch.ones(1, 3)), torch.Tensor), (
        "the module no longer returns a tensor: put __call__ back"
    )


@pytest.mark.parametrize("name", ["resnet", "unet"])
def test_models(name: str, zoo: Callable[[str], Case]) -> None:
    """FX makes the same graph of a model, and it computes what the model does."""
    model, inputs = zoo(name)
    graph = assert_as_in_fx(model)

    torch.testing.assert_close(fx.GraphModule(model, graph)(*inputs), model(*inputs))


def test_nothing_ready_made_is_called() -> None:
    """FX's tracer may not be called: you are writing it."""
    names = ("torch.fx.Tracer", "torch.fx.symbolic_trace", "torch.fx._symbolic_trace")
    with forbids(kata, *names, allow=("torch.fx",)) as fresh:
        graph = fresh.trace(nn.Sequential(nn.ReLU()))

    assert ["placeholder", "call_module", "output"] == [node.op for node in graph.nodes], (
        f"you record {[node.op for node in graph.nodes]}: the ReLU inside is a leaf, so it is "
        f"one call_module"
    )


def test_other_modules_are_refused() -> None:
    """A graph refers to modules by their path from the root: leaves or not, they need one."""

    class Root(nn.Module):
        def __init__(self, other: list[nn.Module]) -> None:
            super().__init__()
            self.other = other  # in a list, where nn.Module does not see it

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.other[0](x)

    for other in (nn.Linear(3, 3), Scale()):
        with pytest.raises(ValueError, match="submodule") as info:
            trace(Root([other]))
        name = type(other).__name__
        assert name in str(info.value), f"the message does not contain {name}: {info.value}"
