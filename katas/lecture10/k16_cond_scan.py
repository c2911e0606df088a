"""Control flow in a graph: operators that take functions.

A tracer runs your program once, with proxies instead of tensors. An ``if`` on a tensor's value
cannot be recorded so, and a loop is recorded as often as it runs. The way out is an operator
whose arguments are functions: `cond` takes both branches, `scan` takes the body of a loop. A
graph holds no functions, so each is traced too: into a graph inside the graph. ::

    def function(x, y):                         x = input
        def double(z):                          y = input
            return z * y                        sum = x.sum()
        def negate(z):                          gt = operator.gt(sum, 0)
            return -z                           true_graph_0 = self.true_graph_0
        return cond(x.sum() > 0,                false_graph_0 = self.false_graph_0
                    double, negate, (x,))       cond = cond(gt, true_graph_0, false_graph_0, (x, y))
                                                return cond
                                                true_graph_0:
                                                    arg_0 = input
                                                    arg_1 = input
                                                    mul = operator.mul(arg_0, arg_1)
                                                    return mul
                                                false_graph_0:
                                                    arg_0 = input
                                                    arg_1 = input
                                                    neg = operator.neg(arg_0)
                                                    return neg

``double`` was not handed ``y``, it closes over it. An inner graph has no outside: whatever it
needs is an input, and stands among the operands of the node. This is called lifting.

`Level`, `trace` and most of `Tracer` are given. A level is a graph that is being recorded, and
its ``parent`` the level around it. All levels share one tracer; its ``level`` is the one that
nodes are added to. Write:

**1.** ``lift(level, node)`` returns the node of ``level.graph`` that has the value of `node`. That
is `node` itself, if it is a node of this graph. Else, `node` is from further outside: lift it into
the parent first, so that all graphs in between get it as an input too; then it is an input of this
level, remembered in ``level.lifted`` (by the parent's node), made by ``level.add_input()`` when it
is first asked for, and the same one ever after. A node that is in no level from here outwards
raises a ``ValueError`` that says ``used outside``: it is left over from a function that has ended.

**2.** ``tracer.record(function, count, known)`` makes a level inside of the present one, gives it
`count` inputs, lifts the nodes `known` in their order, and calls `function` with proxies of the
`count` inputs while ``tracer.level`` is the new level. What it returns, a tensor or a tuple of
tensors, becomes the output node (``tracer.create_arg`` turns proxies into nodes, and
``tracer.create_node("output", "output", (...,), {})`` adds it). Then the level is again what it
was before, also if any of this raises. If the graph now calls a method whose name ends in ``_``
(``add_``), a ``ValueError`` says ``must not write`` and the name. (PyTorch is less strict: a
branch may write to what it has made itself.) Returns the new level.

**3.** ``cond(pred, true_fn, false_fn, operands)``. If `pred` is no ``fx.Proxy``: calls the one
function, with the operands, and returns what it returns; the other one is not called. (So it is
with tensors, when no one traces; and when the graph runs, whose node calls this very function.)
If `pred` is a proxy, each is recorded once by its ``tracer``, true first. Both graphs have the
same inputs: the operands, then what true lifts in the order in which it needs it, then what only
false lifts. The node is ``cond(pred, true_graph, false_graph, (operands..., lifted...))``, a
``call_function`` of this function; before it ``tracer.add_graph`` adds the graphs, named
``"true_graph"`` and ``"false_graph"``. If the functions return tuples, the result is a tuple too,
of ``proxy[0]``, ``proxy[1]`` and so on. If one returns a tensor alone and one a tuple, or tuples
of different lengths, a ``ValueError`` says ``branches return``.

**4.** ``scan(step, init, xs, operands)``. Without proxies: goes through the rows of `xs` (along
dim 0, one at least), ``carry, result = step(carry, row, *operands)``, beginning with `init`, and
returns the last carry and the results, stacked. If `init` or `xs` is a proxy, `step` is recorded
once, with inputs for the carry, the row and the operands; the name of its graph is
``"step_graph"``, and the node is ``scan(step_graph, init, xs, (operands..., lifted...))``. It
returns a tuple of ``proxy[0]`` and ``proxy[1]``. A step that does not return a tuple of two
raises a ``ValueError`` that says ``step returns a pair``, recorded or not.

What happens to a value from outside, such as ``y.exp()``, happens in the graph of the function
that does it: a branch that is not taken costs nothing. A parameter is an input as well.

About 50 lines. Do not use ``torch.cond`` or ``torch._higher_order_ops``. Out of scope: shapes
and dtypes (PyTorch demands that branches agree in dtypes and numbers of dims, and that a carry
keeps shape and dtype; here nothing is known of them), results that are inputs, other writes,
results nested deeper.

In PyTorch: ``torch/_higher_order_ops/cond.py`` (``trace_cond``) and ``scan.py`` beside it
(``trace_scan``); functions are traced and their free variables lifted by
``torch/_dynamo/output_graph.py`` (``SubgraphTracer``).
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
    parent: Level | None = None  # the level around it; None for that of the traced function
    inputs: list[fx.Node] = field(default_factory=list)  # the placeholders of an inner graph
    lifted: dict[fx.Node, fx.Node] = field(default_factory=dict)  # a node of the parent: its input
    graphs: dict[str, fx.GraphModule] = field(default_factory=dict)  # the graphs in it, by name

    def add_input(self) -> fx.Node:
        """Return a new placeholder, behind those that there are."""
        graph = self.graph
        # Without an argument: before everything else.
        point = graph.inserting_after(self.inputs[-1]) if self.inputs else graph.inserting_before()
        with point:
            self.inputs.append(graph.placeholder(f"arg_{len(self.inputs)}"))
        return self.inputs[-1]


def lift(level: Level, node: fx.Node) -> fx.Node:
    """Return the node of this level's graph that has the value of a node of any level."""
    # TODO: one of this graph, an input that is known, or a new one.
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
        """Look into all modules, so that their parameters are seen. Given."""
        return False

    def create_node(
        self, kind: str, target: Any, args: Any, kwargs: Any, *others: Any, **more: Any
    ) -> fx.Node:
        """Add a node of which all arguments are lifted into this level. Given."""
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
        """Record a function of `count` tensors in a new level, and return that."""
        # TODO: make the level and its inputs, call the function in there, add the output.
        raise NotImplementedError("record")


def trace(function: Callable[..., Any] | nn.Module) -> fx.GraphModule:
    """Return the graph of a function or module in which cond and scan are nodes. Given."""
    tracer = Tracer()
    graph = tracer.trace(function)
    graphs = tracer.level.graphs
    attributes = {name: attrgetter(name)(tracer.root) for name in tracer.attributes}
    return fx.GraphModule({**attributes, **graphs}, graph)


def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...]
) -> Any:
    """Return what one of two functions returns, and record both if the choice is not known."""
    # TODO: choose, or record both, let both have the same inputs, and add one node.
    raise NotImplementedError("cond")


def scan(
    step: Callable[..., Any], init: Any, xs: Any, operands: tuple[Any, ...] = ()
) -> tuple[Any, Any]:
    """Return the last carry, and the results of all steps."""
    # TODO: loop, or record one step and add one node.
    raise NotImplementedError("scan")
