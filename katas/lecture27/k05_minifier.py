"""Shrink a graph that fails: delta debugging.

A backend crashes on a graph of 400 nodes. Two of them matter. By hand that takes an evening;
delta debugging takes out half of the nodes, and asks whether what is left still fails. Then
quarters, eighths, single nodes:

    a b c d e f g h     fails
    . . . . e f g h     passes
    a b c d . . . .     fails         <- go on with these
    . . c d . . . .     fails
    . . . d . . . .     passes
    . . c . . . . .     passes        c d is the answer

1. `extract`: the graph of some nodes; whatever else they read becomes an input, with the value it
   had in the whole graph.
2. `ddmin`: the search, over any list.

`minify` puts them together, and is given. About 20 lines.

Begin with `ddmin` on paper: eight items, of which the second and the seventh matter.
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
    """Runs a graph, and keeps a copy of what each node returned. Given."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__(module)
        self.values: dict[fx.Node, torch.Tensor] = {}

    def run_node(self, n: fx.Node) -> Any:
        """Run a node; later ones may write to its result."""
        result = super().run_node(n)
        if isinstance(result, torch.Tensor):
            self.values[n] = result.clone()
        return result


def extract(
    values: dict[fx.Node, torch.Tensor], kept: list[fx.Node]
) -> tuple[fx.GraphModule, list[torch.Tensor]]:
    """Return a graph of the nodes `kept`, and a tensor for each of its inputs.

    Placeholders come first, in the order in which they are read, with the names of the nodes they
    stand for. The output is the last of `kept`, in a tuple. Inputs are copies: the graph may write
    to them, and `values` serves for the next question. Every node returns a tensor.
    """
    # TODO: graph.placeholder, graph.node_copy(node, old_to_new), graph.output.
    raise NotImplementedError("extract")


def ddmin(items: list[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """Return a part of `items`, in their order, that fails; without any one item it passes.

    `items` itself fails, and is left alone. `fails` may be asked of an empty list.
    """
    # TODO: a chunk that can go is gone for good. Halve the size after each pass over the list.
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
