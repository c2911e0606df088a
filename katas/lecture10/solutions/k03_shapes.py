"""Shapes and FLOPs: run a graph node by node, on tensors that have no memory."""

from __future__ import annotations

from math import prod
from typing import Any
from typing import NamedTuple

import torch
from torch import fx
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.fx.node import map_arg
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils._pytree import tree_map_only


class Row(NamedTuple):
    """What a node's value is made of, and what it costs. Given."""

    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[torch.dtype, ...]
    flops: int


def flops(operator: Any, args: tuple[Any, ...], result: Any) -> int:
    """Return the floating point operations of one ATen operator."""
    aten = torch.ops.aten
    packet = operator.overloadpacket
    if packet in (aten.mm, aten.bmm, aten.addmm, aten.baddbmm):
        # Each element of the first matrix meets each column of the second.
        first, second = args[:2] if packet in (aten.mm, aten.bmm) else args[1:3]
        return 2 * first.numel() * second.shape[-1]
    if packet is aten.convolution:
        # Each weight is used once for each place where the kernel is put: in the output, or,
        # if transposed, in the input. So neither stride nor groups need a case of their own.
        x, weight, transposed = args[0], args[1], args[6]
        places = (x if transposed else result).shape
        return 2 * weight.numel() * places[0] * prod(places[2:])
    if str(packet).startswith("aten._scaled_dot_product_"):
        q, k, v = args[:3]
        scores = prod(q.shape[:-1]) * k.shape[-2]
        return 2 * scores * (q.shape[-1] + v.shape[-1])
    return 0


class Interpreter:
    """Runs an FX graph, one node after another."""

    def __init__(self, module: fx.GraphModule) -> None:
        self.module = module

    def run(self, *inputs: Any) -> Any:
        """Return the value of the graph's output."""
        nodes = self.module.graph.nodes
        last_user = {used: node for node in nodes for used in node.all_input_nodes}
        left, values = list(inputs), {}
        for node in nodes:
            args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
            if node.op == "placeholder":
                args = (left.pop(0),) if left else args
                if not args:
                    raise TypeError(f"there is no input for {node.target}")
            values[node] = self.run_node(node, args, kwargs)
            if node.op == "output":
                break
            for known in (node, *node.all_input_nodes):
                if last_user.get(known, node) is node:
                    del values[known]
        if left:
            raise TypeError(f"{len(left)} inputs too many")
        return values[node]

    def run_node(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of one node, whose arguments are values."""
        match node.op:
            case "get_attr":
                path, _, name = node.target.rpartition(".")
                return getattr(self.module.get_submodule(path), name)
            case "call_function":
                return node.target(*args, **kwargs)
            case "call_method":
                return getattr(args[0], node.target)(*args[1:], **kwargs)
            case "call_module":
                return self.module.get_submodule(node.target)(*args, **kwargs)
            case _:  # a placeholder, or the output
                return args[0]


class _Counter(TorchDispatchMode):
    """Sums up the FLOPs of what runs inside it."""

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run the operator, then count: the shape of its result may matter."""
        result = func(*args, **(kwargs or {}))
        self.total += flops(func, args, result)
        return result


class _Profiler(Interpreter):
    """Makes a row for each node that it runs."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.rows: dict[fx.Node, Row] = {}

    def run_node(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the node, and count and measure."""
        with _Counter() as counter:
            value = super().run_node(node, args, kwargs)
        tensors = [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        self.rows[node] = Row(shapes, tuple(tensor.dtype for tensor in tensors), counter.total)
        return value


def profile(module: fx.GraphModule, *inputs: Any) -> dict[fx.Node, Row]:
    """Return shapes, dtypes and FLOPs of each node, without memory and without work."""
    profiler = _Profiler(module)
    # functional_call lends fake parameters and buffers to a module while its forward runs, here
    # the interpreter: without them an operator whose arguments are all real would run for real.
    runner = nn.Module()
    runner.module, runner.forward = module, profiler.run
    state = {**dict(runner.named_parameters()), **dict(runner.named_buffers())}
    with FakeTensorMode() as mode:
        fake = tree_map_only(torch.Tensor, mode.from_tensor, (state, inputs))
        functional_call(runner, *fake)
    return profiler.rows
