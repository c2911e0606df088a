"""Cut the joint graph in two.

A joint graph holds forward and backward of a training step, but forward runs now and backward
later. Forward saves the values that cross the cut: the memory of training.

    primals ──> mm ──> sin ──> output                 forward(*primals) -> (*outputs, *saved)
     │           └──> cos ──> mul <── tangents
     └──> t ──> mm_1 <─────────┘                      backward(*saved, *tangents) -> gradients

Here mm is saved, and both primals. Not cos: backward computes it from mm.

Write `partition`, about 25 lines; `walk_back` is given. Two walks against the arrows: from the
outputs, then from the gradients, where the second stops at nodes that the first has visited.

Begin on paper: what does forward save for ``x.exp()``, whose derivative is its own value?
Afterwards read ``default_partition`` in ``torch/_functorch/partitioners.py``. Real life differs: it
now goes by where an operator was traced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import fx


if TYPE_CHECKING:
    from collections.abc import Iterable


def walk_back(results: Iterable[fx.Node | None], known: set[fx.Node]) -> set[fx.Node]:
    """Return what `results` are computed from, themselves included, up to `known`. Given.

    None is skipped. Known nodes, and what only they are computed from, are left out.
    """
    met: set[fx.Node] = set()
    waiting = [node for node in results if node is not None]
    while waiting:
        node = waiting.pop()
        if node not in met | known:
            met.add(node)
            waiting += node.all_input_nodes
    return met


def partition(joint: fx.GraphModule, num_outputs: int) -> tuple[fx.GraphModule, fx.GraphModule]:
    """Return forward and backward as two GraphModules of flat arguments; `joint` is not changed.

    The first `num_outputs` results of `joint` are the outputs, the others gradients, some None. Its
    last `num_outputs` placeholders are the tangents.

    - forward holds only what the outputs are computed from. It takes all primals.
    - backward holds the rest of what the gradients need. No operator is in both.
    - Save the values of forward and the primals that backward uses, or that are gradients
      themselves: each once, in the order of `joint`. This includes outputs that backward uses.
    - A node that returns a tuple is never saved; its items (``operator.getitem``) are. They belong
      to forward if it does, even if only backward uses them. An unused item is in neither.
    - Nodes keep their order, and a placeholder has the name of the node that it stands for.
    """
    # TODO: find the nodes of each part, what crosses the cut, and copy them into two new graphs.
    raise NotImplementedError("partition")
