"""Compile a model from end to end."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING
from typing import Any

import torch
from functorch.compile import default_partition
from functorch.compile import make_boxed_func
from functorch.compile import min_cut_rematerialization_partition
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
        """Merge equal nodes and drop dead ones, in place; recompile."""
        first: dict[Any, fx.Node] = {}
        for node in gm.graph.nodes:
            schema = getattr(node.target, "_schema", None)
            if schema is not None and schema.is_mutable:
                break
            if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
                continue
            # Its arguments are first nodes already: any duplicates came before it. The repr of a
            # node is its name, and that of a literal distinguishes 1 from True, and 0.0 from -0.0.
            key = (node.target, repr(node.args), repr(sorted(node.kwargs.items())))
            same = first.setdefault(key, node)
            if same is not node:
                node.replace_all_uses_with(same)
        gm.graph.eliminate_dead_code()
        gm.recompile()

    def partition(self, joint: fx.GraphModule, inputs: Any, **options: Any) -> Any:
        """Return forward and backward from the partitioner whose forward saves fewer bytes."""
        found = []
        for partitioner in (default_partition, min_cut_rematerialization_partition):
            parts = partitioner(copy.deepcopy(joint), inputs, **options)
            (results,) = parts[0].graph.output_node().args
            found.append((sum(map(price, results[options["num_fwd_outputs"] :])), parts))
        cost, parts = min(found, key=lambda pair: pair[0])
        self.saved.append(cost)
        return parts

    def compile_graph(self, gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        """Optimize a graph, append it to `graphs`, and return a function that runs it."""
        self.optimize(gm)
        self.graphs.append(gm)
        return make_boxed_func(gm.forward)

    def __call__(self, gm: fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        """Return a function that runs a graph from Dynamo, with gradients: use `aot_autograd`."""
        compiler = self.compile_graph
        backend = aot_autograd(
            fw_compiler=compiler, bw_compiler=compiler, partition_fn=self.partition
        )
        return backend(gm, inputs)


def price(node: Any) -> int:
    """Return the bytes of a saved value: an input costs nothing, nor does a symbol. Given."""
    value = node.meta.get("val")
    free = node.op == "placeholder" or not isinstance(value, torch.Tensor)
    return 0 if free else value.numel() * value.element_size()
