"""Run a graph node by node."""

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
        """Return the value of the graph's output."""
        nodes, bound = self.module.graph.nodes, self.bind(inputs)
        last_user = {used: node for node in nodes for used in node.all_input_nodes}
        values: dict[fx.Node, Any] = {}
        for node in nodes:
            args, kwargs = map_arg((node.args, node.kwargs), values.__getitem__)
            if node.op == "placeholder":
                args = (bound.pop(node),)
            result = values[node] = self.run_node(node, args, kwargs)
            for known in (node, *node.all_input_nodes):
                if last_user.get(known, node) is node:
                    del values[known]
        return result

    def run_node(self, node: fx.Node, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the value of one node, given the values of its arguments."""
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
