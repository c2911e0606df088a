"""Shrink a graph that fails: delta debugging.

A backend crashes on a graph of 400 nodes, of which two matter. Finding them by hand takes an
evening; delta debugging removes half of the nodes and tests whether the rest still fails, then
quarters, eighths, single nodes:

    a b c d e f g h     fails
    . . . . e f g h     passes
    a b c d . . . .     fails         <- continue with these
    . . c d . . . .     fails
    . . . d . . . .     passes
    . . c . . . . .     passes        c d is the answer

1. `extract`: build a graph of some of the nodes; other operands become inputs, with their values
   from the whole graph.
2. `ddmin`: the search, over any list.

`minify`, which combines the two, is given. About 20 lines.

Begin with `ddmin` on paper: of eight items, only the second and the seventh matter.
Afterwards read `minifier` in ``torch/_functorch/fx_minifier.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

import torch
from torch import fx


if TYPE_CHECKING:
    from collections.abc import Callable


T = TypeVar("T")


class Recorder(fx.Interpreter):  # type: ignore[misc, unused-ignore]
    """Runs a graph and keeps a copy of each node's result. Given."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[fx.Node, torch.Tensor] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run a node and copy its result, which later nodes may write to."""
        result = super().run_node(n)
        if isinstance(result, torch.Tensor):
            self.values[n] = result.clone()
        return result


def extract(
    values: dict[fx.Node, torch.Tensor], kept: list[fx.Node]
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """Return a graph of the nodes `kept`, and a tensor for each of its inputs.

    Placeholders come first, in the order in which they are read, named after the nodes they
    replace. The output is the last of `kept`, in a tuple. Copy the inputs: the graph may write to
    them, and `values` is needed again. Every node returns a tensor.
    """
    # TODO: graph.placeholder, graph.node_copy(node, old_to_new), graph.output.
    raise NotImplementedError("extract")


def ddmin(items: list[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """Return a sublist of `items`, in order, that fails but passes without any one of its items.

    `items` itself fails; do not change it. You may call `fails` with an empty list.
    """
    # TODO: a removed chunk stays removed. Halve the size after each pass over the list.
    raise NotImplementedError("ddmin")


def minify(
    module: fx.GraphModule,
    inputs: list[torch.Tensor],
    fails: Callable[[fx.GraphModule, list[torch.Tensor]], bool],
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """Return the smallest graph found that fails, and its inputs. Given."""
    recorder = Recorder(module)
    recorder.run(*inputs)
    nodes = [node for node in module.graph.nodes if node.op.startswith("call_")]

    def ask(kept: list[fx.Node]) -> bool:
        return bool(kept) and fails(*extract(recorder.values, kept))

    return extract(recorder.values, ddmin(nodes, ask))
