"""What would this model cost? Find out before you allocate memory.

Fake tensors have shape, dtype, strides and device, but no data. Run a graph on them and you know
the size of every value, and the floating point operations behind it, before anything is computed.

    node      op              shapes              flops
    fc        call_module     (3, 6)              144        nn.Linear(4, 6): 2 * 3 * 4 * 6
    chunk     call_method     (3, 3) (3, 3)       0
    matmul    call_function   (3, 3)              54

1. Write `flops`: the rule for one operator, from nothing but shapes.
2. Write ``Profiler.run_node``: a row for each node, in a subclass of ``torch.fx.Interpreter``.

Begin on paper: how often is each weight of a convolution used?
Afterwards compare with ``torch/utils/flop_counter.py``. Real life differs: its counter also knows
backward passes, and in torch 2.13 it reports 0 for attention on a CPU.
"""

from __future__ import annotations

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
    """Return the floating point operations of one ATen operator; a multiply and an add are two.

    `operator` is an overload such as ``aten.mm.default``, `args` its positional arguments.

    - ``mm``, ``bmm``, ``addmm``, ``baddbmm``: two for each term of each sum. Do not count the
      tensor that the last two add.
    - ``convolution(x, weight, bias, stride, padding, dilation, transposed, ...)``: without the
      bias, with the padding. An ordinary weight is (out, in / groups, ...), a transposed one
      (in, out / groups, ...).
    - Attention, any ``aten._scaled_dot_product_*``, whose arguments begin with q, k, v: two
      products for each head of q, q with k and the weights with v.
    - Everything else, and every operator that is not ATen's: 0.
    """
    # TODO: ask operator.overloadpacket which one it is.
    raise NotImplementedError("flops")


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
        """Return the node's value, and keep its `Row`: all tensors in the value, in order.

        One node may run many operators: ``nn.Linear`` is a ``t`` and an ``addmm``.
        """
        # TODO: put a Counter around the call of super.
        raise NotImplementedError("run_node")


def profile(module: fx.GraphModule, *inputs: Any) -> dict[fx.Node, Row]:
    """Return a row for each node, in the order of the graph; no real kernel runs. Given."""
    profiler = Profiler(module)
    on_fakes(module, profiler.run, inputs)
    return profiler.rows
