"""What would this model cost? Find out before you allocate memory."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import torch
from torch import fx
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils._pytree import tree_map_only


if TYPE_CHECKING:
    from collections.abc import Callable


class Row(NamedTuple):
    """The shapes and dtypes of a node's value, and what it costs. Given."""

    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[torch.dtype, ...]
    flops: int


def flops(operator: Any, args: tuple[Any, ...], result: Any) -> int:
    """Return the floating point operations of one ATen operator."""
    aten = torch.ops.aten
    packet = operator.overloadpacket
    if packet in (aten.mm, aten.bmm, aten.addmm, aten.baddbmm):
        # Each element of the first matrix is used for each column of the second.
        first, second = args[:2] if packet in (aten.mm, aten.bmm) else args[1:3]
        return 2 * first.numel() * second.shape[-1]
    if packet is aten.convolution:
        # Each weight is used once for each position of the kernel: in the output, or, if
        # transposed, in the input. So neither stride nor groups need a special case.
        x, weight, transposed = args[0], args[1], args[6]
        places = (x if transposed else result).shape
        return 2 * weight.numel() * places[0] * prod(places[2:])
    if str(packet).startswith("aten._scaled_dot_product_"):
        q, k, v = args[:3]
        scores = prod(q.shape[:-1]) * k.shape[-2]
        return 2 * scores * (q.shape[-1] + v.shape[-1])
    return 0


class Counter(TorchDispatchMode):
    """Adds up the FLOPs of the operators that run inside it. Given."""

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


def on_fakes(module: fx.GraphModule, run: Callable[..., Any], inputs: tuple[Any, ...]) -> Any:
    """Call ``run(*inputs)`` with fakes in place of inputs, parameters and buffers. Given."""
    runner = nn.Module()
    runner.module, runner.forward = module, run
    state = {**dict(runner.named_parameters()), **dict(runner.named_buffers())}
    with FakeTensorMode() as mode:
        fake = mode.from_tensor
        state, inputs = tree_map_only(torch.Tensor, fake, (state, inputs))
        # It replaces a module's tensors while forward runs, and always puts the old ones back.
        return functional_call(runner, state, inputs)


class Profiler(fx.Interpreter):
    """Records a row for each node that it runs."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.rows: dict[fx.Node, Row] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run the node; count its FLOPs and keep its shapes."""
        with Counter() as counter:
            value = super().run_node(n)
        tensors = [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]
        shapes = tuple(tuple(tensor.shape) for tensor in tensors)
        self.rows[n] = Row(shapes, tuple(tensor.dtype for tensor in tensors), counter.total)
        return value


def profile(module: fx.GraphModule, *inputs: Any) -> dict[fx.Node, Row]:
    """Return a row for each node, in the order of the graph; no real kernel runs. Given."""
    profiler = Profiler(module)
    on_fakes(module, profiler.run, inputs)
    return profiler.rows
