"""Split a model into stages, as evenly as possible.

A model that is too large for one device runs as a pipeline of stages, and the pipeline is as fast
as its slowest stage. Each value that one stage computes and another uses has to be sent; a skip
connection is a second such value.

    calls   a   b   c   d        each costs 1, and 1 to send its value, but b's costs 9
            1   1   1   1
    cuts    a b | c d            stages cost 1+2 and 9+2
            a | b c d            stages cost 1+1 and 1+3

1. `stage_cost`: the cost of its own calls, and of what it receives.
2. `partition`: the cut whose most expensive stage is cheapest. With 60 calls and 10 stages there
   are over ten billion cuts, so do not try them all; and a longer stage may cost less.

About 20 lines. Begin on paper: if the last stage begins at c, what is best for all before it?
Afterwards read ``torch/distributed/pipelining/_IR.py``. Real life differs: there the user says
where to cut (``pipe_split``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import fx


if TYPE_CHECKING:
    from collections.abc import Callable


def is_sent(node: fx.Node) -> bool:
    """Return whether a value is sent: a parameter (get_attr) is already where it is used. Given."""
    return node.op != "get_attr"


def stage_cost(
    stage: list[fx.Node], cost: Callable[[fx.Node], int], size: Callable[[fx.Node], int]
) -> int:
    """Return the costs of a stage's calls plus the sizes of the values that the stage receives.

    It receives each value that its calls take, anywhere in args or kwargs, and that a placeholder
    or another stage's call produces. A value that several of its calls take is sent once. Use
    `cost` only for calls, and `size` only for values that are sent.
    """
    # TODO: which values are sent to it?
    raise NotImplementedError("stage_cost")


def partition(
    module: fx.GraphModule,
    count: int,
    cost: Callable[[fx.Node], int],
    size: Callable[[fx.Node], int],
) -> list[list[fx.Node]]:
    """Split a graph's calls into `count` stages whose most expensive one is as cheap as can be.

    Calls are the nodes whose op begins with ``call_``. The stages hold each call once, in the order
    of the graph, and none is empty. If several cuts are best, return any. Raise ValueError with
    "cannot make" if there are not enough calls, or fewer than one stage is asked for.
    """
    # TODO: if the last stage begins here, what is best for all that comes before it?
    raise NotImplementedError("partition")
