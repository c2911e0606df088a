"""Given to the katas on control flow: graphs that are recorded inside graphs.

`Level`, `lift` and `Tracer` are what k37 asks for; `count` is for k38.
"""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import field
from operator import attrgetter
from typing import TYPE_CHECKING
from typing import Any

from torch import fx
from torch.fx.node import map_arg


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    from torch import nn


@dataclass
class Level:
    """A graph that is being recorded."""

    graph: fx.Graph
    parent: Level | None = None  # the level around this one; None at the outermost
    inputs: list[fx.Node] = field(default_factory=list)  # the placeholders of an inner graph
    lifted: dict[fx.Node, fx.Node] = field(default_factory=dict)  # a node of the parent: its input
    graphs: dict[str, fx.GraphModule] = field(default_factory=dict)  # the graphs in it, by name

    def add_input(self) -> fx.Node:
        """Return a new placeholder, after the existing ones."""
        graph = self.graph
        # Without an argument: before everything else.
        point = graph.inserting_after(self.inputs[-1]) if self.inputs else graph.inserting_before()
        with point:
            self.inputs.append(graph.placeholder(f"arg_{len(self.inputs)}"))
        return self.inputs[-1]


def lift(level: Level, node: fx.Node) -> fx.Node:
    """Return the node of this level's graph for a node of any level."""
    if node.graph is level.graph:
        return node
    if level.parent is None:
        raise ValueError(f"{node} is used outside of the function that made it")
    # From level to level: what is far outside becomes an input of every graph on the way.
    outer = lift(level.parent, node)
    if outer not in level.lifted:
        level.lifted[outer] = level.add_input()
    return level.lifted[outer]


class Tracer(fx.Tracer):
    """Records a function, and the functions in it, each in a level of its own."""

    level: Level

    @property
    def graph(self) -> fx.Graph:
        """The graph that nodes are added to."""
        return self.level.graph

    @graph.setter
    def graph(self, graph: fx.Graph) -> None:
        """Begin with a graph: fx.Tracer.trace does this once."""
        self.level = Level(graph)
        self.attributes: dict[Any, fx.Node] = {}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Trace into all modules, so that their parameters are seen."""
        return False

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, *others: Any, **more: Any
    ) -> fx.Node:
        """Add a node, with all its arguments lifted into this level."""
        if kind != "get_attr":
            args, kwargs = map_arg((args, kwargs), lambda node: lift(self.level, node))
            return super().create_node(kind, target, args, kwargs, *others, **more)
        # A parameter is read in the outermost graph, once; inner graphs get it as an input.
        if target not in self.attributes:
            inner = self.level
            while self.level.parent is not None:
                self.level = self.level.parent
            self.attributes[target] = super().create_node(kind, target, args, kwargs)
            self.level = inner
        return self.attributes[target]

    def add_graph(self, name: str, level: Level) -> fx.Proxy:
        """Make a recorded level an attribute of this one: ``name_0``, ``name_1``, ..."""
        number = sum(other.startswith(name) for other in self.level.graphs)
        target = f"{name}_{number}"
        self.level.graphs[target] = fx.GraphModule(level.graphs, level.graph)
        return self.proxy(self.graph.create_node("get_attr", target))

    def record(
        self, function: Callable[..., Any], count: int, known: Iterable[fx.Node] = ()
    ) -> Level:
        """Record a function of `count` tensors in a new level, and return the level."""
        outer = self.level
        self.level = level = Level(fx.Graph(), outer)
        try:
            own = [self.proxy(level.add_input()) for _ in range(count)]
            for node in known:
                lift(level, node)
            result = function(*own)
            self.create_node("output", "output", (self.create_arg(result),), {})
        finally:
            self.level = outer
        for node in level.graph.nodes:
            if node.op == "call_method" and node.target.endswith("_"):
                raise ValueError(f"a function inside a graph must not write: {node.target}")
        return level


def trace(function: Callable[..., Any] | nn.Module) -> fx.GraphModule:
    """Return the graph of a function or module in which cond and scan are nodes."""
    tracer = Tracer()
    graph = tracer.trace(function)
    graphs = tracer.level.graphs
    attributes = {name: attrgetter(name)(tracer.root) for name in tracer.attributes}
    return fx.GraphModule({**attributes, **graphs}, graph)


def count(level: Level) -> int | None:
    """Return how many tensors a recorded function returns in a tuple, or None for one alone."""
    result = level.graph.output_node().args[0]
    return len(result) if isinstance(result, tuple) else None
