"""Split by cost: a graph in stages, one for each device.

A model that is too large for one device, or that works on several micro-batches in parallel, is cut
into stages that run one after the other, each on its device. The pipeline is as fast as its
slowest stage: so the most expensive stage should be as cheap as it can be. A cut costs too: each
value that is made before it and needed behind it has to be sent. In a chain that is one value; a
skip connection is a second one.

The *calls* of a graph are its nodes whose op is ``call_module``, ``call_function`` or
``call_method``, in the order of the graph. `cost` and `size` are functions from a node to an
integer that is not negative, in one unit, say microseconds: `cost` of running a call, `size` of
sending the value of a call or of a placeholder. They are not asked about anything else.

**1.** ``stage_cost(stage, cost, size)`` returns what a stage (a list of calls) costs: the cost of
each call, and the size of each value that the stage receives. It receives what its calls take
(anywhere in args or kwargs) and what is made outside of it: by another call or a placeholder. A
value that several of its calls take is sent once. Values are sent from the stage that makes them
straight to each stage that takes them, so a value that only passes over a stage costs it nothing.
A ``get_attr`` (a parameter) lies where it is used; it is never sent.

**2.** ``partition(module, count, cost, size)`` cuts the calls of ``module.graph`` into `count`
stages, each a list of at least one call, that follow one another in the order of the graph and
together hold every call once. Of all such cuts it returns one whose largest stage cost is
smallest; which one of several does not matter. More stages than calls, or less than one stage,
raise a ``ValueError`` that says ``cannot make``. With 60 calls and 10 stages there are ten
thousand million cuts: do not try them all. Nor is it enough to fill one stage after the other up
to a limit: a longer stage may be a cheaper one, if a large value then stays inside of it.

**3.** ``split(module, stages)`` returns a new ``fx.GraphModule`` that computes what `module` does:

- It has the placeholders of `module` (same order, names and defaults), calls the submodules
  ``stage_0``, ``stage_1``, ... by ``call_module``, and returns what `module` returns, in the same
  structure.
- A stage is an ``fx.GraphModule``. Its placeholders are the values that it receives, in the order
  in which the graph of `module` makes them, placeholders of `module` among them, each named like
  the node that it stands for (``node.name``); the main graph hands them over in this order, each
  once. Then come its calls and the ``get_attr`` nodes that they use, in the order of the graph of
  `module`; the latter in every stage that uses them.
- It returns the values that another stage or the output of `module` needs, in the order in which
  they are made: one value as it is; several (or none) as a tuple, which the main graph takes
  apart by ``operator.getitem`` right after the call, one for each.
- Stages use the modules and parameters of `module`, not copies, and hold those that they use
  alone. `module` and its graph stay as they are, and each submodule in train or in eval mode.

About 50 lines in all. ``node.all_input_nodes`` and ``node.users`` (a dict whose keys are nodes)
say who takes what; ``graph.node_copy`` copies a node into another graph.

Do not use ``torch.fx.passes``. Out of scope: ``get_attr`` nodes that the output returns, devices
themselves, backward, names of other nodes.

In PyTorch: ``torch/fx/passes/split_module.py`` (``split_module``), which builds such modules from
a function that says which stage a node is in, and ``torch/distributed/pipelining/_IR.py``
(``Pipe._from_traced``), which runs them; where to cut is left to the user there (``pipe_split``,
or a ``split_policy``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import fx


def stage_cost(
    stage: list[fx.Node], cost: Callable[[fx.Node], int], size: Callable[[fx.Node], int]
) -> int:
    """Return what a stage costs: its own nodes, and the values that it receives."""
    # TODO: which values are sent to it?
    raise NotImplementedError("stage_cost")


def partition(
    module: fx.GraphModule,
    count: int,
    cost: Callable[[fx.Node], int],
    size: Callable[[fx.Node], int],
) -> list[list[fx.Node]]:
    """Return the calls of a graph in `count` stages whose most expensive one is cheapest."""
    # TODO: if the last stage begins here, what is best for all that comes before it?
    raise NotImplementedError("partition")


def split(module: fx.GraphModule, stages: list[list[fx.Node]]) -> fx.GraphModule:
    """Return a module that calls one module for each stage, and hands values on."""
    # TODO: a graph for each stage, and one that calls them.
    raise NotImplementedError("split")
