"""Compile a model from end to end.

You have every piece: a graph of the program, a joint graph of forward and backward, a cut, passes,
code. Now they become a compiler of training steps, which ``torch.compile`` calls for you:

    Dynamo -> graph -> AOTAutograd -> joint graph -> your cut -> forward   -> your passes -> code
                       (no writes)                            -> backward  -> your passes -> code

``aot_autograd`` of ``torch._dynamo.backends.common`` joins them. You write a class, about 35
lines, in four steps; each turns a group of tests green.

1. ``optimize``: merge what is the same, drop what is dead. Reuse your own passes.
2. ``partition``: of PyTorch's two partitioners, take the one that saves fewer bytes.
3. ``compile_graph``: passes, then a callable for the graph.
4. ``__call__``: the backend.

Begin with a backend that prints the graphs that ``fw_compiler`` and ``bw_compiler`` get.
Real life differs: Inductor turns each graph into loops, then C++ or Triton; your backend runs the
code that FX generates. Afterwards read ``torch/_dynamo/backends/common.py``: your compiler is its
``AotAutograd``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx
from torch._dynamo.backends.common import aot_autograd


if TYPE_CHECKING:
    from collections.abc import Callable


class Compiler:
    """A backend for ``torch.compile``, for training too."""

    def __init__(self) -> None:
        """Begin without graphs. Given."""
        self.graphs: list[fx.GraphModule] = []  # what was compiled, after the passes
        self.saved: list[int] = []  # the bytes that each joint graph's forward saves

    def optimize(self, gm: fx.GraphModule) -> None:
        """Merge equal nodes and drop dead ones, in place; recompile.

        Nodes are equal if target, arguments and keyword arguments are: literals by type and value
        (1 is not 1.0). A node that writes (``_schema.is_mutable``) or draws random numbers
        (``Tag.nondeterministic_seeded``) is equal to no other; do not merge anything after a
        graph's first write. Call ``Graph.eliminate_dead_code``.
        """
        # TODO: find a key for each node; the first node of each key stays.
        raise NotImplementedError("optimize")

    def partition(self, joint: fx.GraphModule, inputs: Any, **options: Any) -> Any:
        """Return forward and backward from the partitioner whose forward saves fewer bytes.

        The two are `default_partition` and `min_cut_rematerialization_partition` of
        ``functorch.compile``. Call each on a ``copy.deepcopy`` of `joint`, with `inputs` and
        `options`. Forward returns what it saves after its ``options["num_fwd_outputs"]`` outputs:
        add up the `price` of each. Append the bytes to `saved`.
        """
        # TODO: call both, compare their prices, and return the cheaper one.
        raise NotImplementedError("partition")

    def compile_graph(self, gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        """Optimize a graph, append it to `graphs`, and return a function that runs it.

        That function takes one list of the inputs: `make_boxed_func` of ``functorch.compile`` makes
        it from ``gm.forward``.
        """
        # TODO: three lines.
        raise NotImplementedError("compile_graph")

    def __call__(self, gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        """Return a function that runs a graph from Dynamo, with gradients: use `aot_autograd`."""
        # TODO: pass fw_compiler, bw_compiler and partition_fn.
        raise NotImplementedError("__call__")


def price(node: Any) -> int:
    """Return the bytes of a saved value: an input costs nothing, nor does a symbol. Given."""
    value = node.meta.get("val")
    free = node.op == "placeholder" or not isinstance(value, torch.Tensor)
    return 0 if free else value.numel() * value.element_size()
