"""A graph inside a graph has no outside.

An ``if`` on a tensor's value cannot be traced. The way out is an operator that takes both branches
as functions, each recorded into a graph of its own. But a function may use what it was not passed:

    def double(z): return z * y            true_graph: arg_0 = input
    cond(x.sum() > 0,                                  arg_1 = input      <- y, lifted
         double, negate, (x,))                         mul = arg_0 * arg_1

``double`` closes over y, and its graph cannot. So y becomes an input of the graph, and an operand
of the node. This is called lifting.

Write `lift` and ``Tracer.record``, about 20 lines. A `Level` is a graph that is being recorded;
``parent`` is the level around it.

Begin with a node two levels outside: which levels have to know about it?
Afterwards find ``lift_tracked_freevar_to_input`` in ``torch/_dynamo/output_graph.py``.
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
    """A graph that is being recorded. Given: do not change it."""

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
    """Return the node of ``level.graph`` for `node`, which belongs to this level or an outer one.

    Return a node of this graph as it is. Otherwise lift it into the parent first; then it is an
    input of this level, made once by ``level.add_input()`` and stored in ``level.lifted`` under the
    parent's node. Raise a ValueError with "used outside" if no level has it.
    """
    # TODO: return a node of this graph, an input that is known, or a new one.
    raise NotImplementedError("lift")


class Tracer(fx.Tracer):
    """Records a function, and the functions in it, each in a level of its own."""

    level: Level

    @property
    def graph(self) -> fx.Graph:
        """The graph that nodes are added to. Given."""
        return self.level.graph

    @graph.setter
    def graph(self, graph: fx.Graph) -> None:
        """Begin with a graph: fx.Tracer.trace does this once. Given."""
        self.level = Level(graph)
        self.attributes: dict[Any, fx.Node] = {}

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Trace into all modules, so that their parameters are seen. Given."""
        return False

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, *others: Any, **more: Any
    ) -> fx.Node:
        """Add a node, with all its arguments lifted into this level. Given."""
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
        """Make a recorded level an attribute of this one: ``name_0``, ``name_1``, ... Given."""
        number = sum(other.startswith(name) for other in self.level.graphs)
        target = f"{name}_{number}"
        self.level.graphs[target] = fx.GraphModule(level.graphs, level.graph)
        return self.proxy(self.graph.create_node("get_attr", target))

    def record(
        self, function: Callable[..., Any], count: int, known: Iterable[fx.Node] = ()
    ) -> Level:
        """Record a function of `count` tensors in a new level inside the current one; return it.

        The level gets `count` inputs (``self.proxy`` makes proxies), then those that lift `known`,
        in order. Call the function while ``self.level`` is the new level, and always restore the
        old level afterwards. The result, a tensor or a tuple, becomes the output:
        ``self.create_arg`` turns proxies into nodes,
        ``self.create_node("output", "output", (...,), {})`` adds it.

        If a method whose name ends in ``_`` is called in the graph, raise a ValueError with "must
        not write" and the name.
        """
        # TODO: make the level and its inputs, call the function in it, add the output.
        raise NotImplementedError("record")


def trace(function: Callable[..., Any] | nn.Module) -> fx.GraphModule:
    """Return the graph of a function or module in which cond and scan are nodes. Given."""
    tracer = Tracer()
    graph = tracer.trace(function)
    graphs = tracer.level.graphs
    attributes = {name: attrgetter(name)(tracer.root) for name in tracer.attributes}
    return fx.GraphModule({**attributes, **graphs}, graph)
