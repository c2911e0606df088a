"""Turn each stage into a module, and build a graph that passes values between them.

Somebody has decided which calls belong to which device. Now each stage becomes a module of its own,
and the main graph calls one after the other:

    x -> a -> b -> c + a         main:  stage_0 = self.stage_0(x)       returns (a, b)
    stages: [a, b], [c, +]              getitem, getitem_1 = stage_0[0], stage_0[1]
                                        stage_1 = self.stage_1(getitem, getitem_1)

What does a stage receive, what does it send? Ask `node.all_input_nodes` and `node.users`. Write
`split`, about 25 lines.

- Parameters (get_attr) are in every stage that uses them, and are never sent.
- Stages use the modules and parameters of the model, not copies.

Begin with two lists for each stage: what it receives, and what it sends.
Afterwards read ``split_module`` in ``torch/fx/passes/split_module.py``.
"""

from __future__ import annotations

from torch import fx


def is_sent(node: fx.Node) -> bool:
    """Return whether a value is sent: a parameter (get_attr) is already where it is used. Given."""
    return node.op != "get_attr"


def split(module: fx.GraphModule, stages: list[list[fx.Node]]) -> fx.GraphModule:
    """Return a module that computes what `module` does, by calling one module for each stage.

    It has the placeholders of `module` (order, names, defaults), calls its submodules ``stage_0``,
    ``stage_1``, ... and returns what `module` returns, in the same structure.

    A stage is a GraphModule. Its placeholders are the values that it receives, in the order in
    which `module` computes them, each named like its node (``node.name``) and passed once. Then
    come its calls and the get_attr nodes that they use, in the order of `module`. It returns the
    values that another stage or the output needs, in the order in which they are computed: a single
    one as it is, several or none as a tuple, which the main graph unpacks with one
    ``operator.getitem`` for each.

    Stages hold only what they use, and each submodule stays in train or eval mode. `module` stays
    as it is.
    """
    # TODO: a graph for each stage, and one that calls them.
    raise NotImplementedError("split")
