"""Run a graph node by node.

The code that FX generates is fast, but nobody can look inside. An interpreter runs the same graph
one node after another, and a subclass that overrides one method sees every value on its way: shape
propagation, profilers and exporters are written this way.

    node          args in the graph     args that run_node gets
    x             ()                    (tensor,)           the next input
    add           (x, 1)                (tensor, 1)         values in place of nodes
    output        (add,)                (tensor,)

Write `Interpreter`, about 25 lines. A value dies right after its last user has run, as in a plain
program: otherwise a model of a hundred layers keeps a hundred activations.

Begin by finding the last user of each node: go over the graph once, before anything runs.
Afterwards read ``torch/fx/interpreter.py`` in site-packages, which is your class with better
errors.
"""

from __future__ import annotations

from typing import Any

from torch import fx
from torch.fx.node import map_arg


class Interpreter:
    """Runs an FX graph, one node after another."""

    def __init__(self, module: fx.GraphModule) -> None:
        self.module = module

    def bind(self, inputs: tuple[Any, ...]) -> dict[fx.Node, Any]:
        """Return the value of each placeholder: an input, or its default. Given."""
        left, bound = list(inputs), {}
        for node in self.module.graph.find_nodes(op="placeholder"):
            if not (left or node.args):
                raise TypeError(f"there is no input for {node.target}")
            bound[node] = left.pop(0) if left else node.args[0]
        if left:
            raise TypeError(f"{len(left)} inputs too many")
        return bound

    def run(self, *inputs: Any) -> Any:
        """Return the value of the graph's output.

        Call `run_node` once for each node, in the order of the graph, output included.
        ``torch.fx.node.map_arg`` finds nodes in lists, dicts and slices too. For a placeholder,
        `args` is ``(value,)``, from `bind`. Drop a value without a user right away. `run` may be
        called again.
        """
        # TODO: keep a dict of values, and drop each after its last user.
        raise NotImplementedError("run")

    def run_node(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of one node, given the values of its arguments.

        For a placeholder and the output, return ``args[0]``; the `target` of a get_attr and of a
        call_module is a dotted path in `module`.
        """
        # TODO: a case for each op.
        raise NotImplementedError("run_node")
