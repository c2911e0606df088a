"""Three passes: dead code, constants, and the same thing computed twice.

A pass is a function from a graph to a better graph that computes the same. What makes one hard is
"the same": to remove a call, to make it earlier, or to make it once instead of twice, you have to
know that it does nothing but compute its value, and that its value is the same each time. Such a
call is called pure. PyTorch asks the operator's schema and tags.

The graphs are those that ``make_fx`` makes: besides placeholder, get_attr and output
they hold calls of operators (``torch._ops.OpOverload``: ATen's, such as
``torch.ops.aten.add.Tensor``, or anybody's) and of ``operator.getitem``, which takes one of
several results.

``is_pure(node)``:

- get_attr and ``operator.getitem`` are pure, placeholder and output are not.
- An operator is pure unless it writes to an argument (``op._schema.is_mutable``; in-place
  operators, ``out=``), or draws random numbers (``torch.Tag.nondeterministic_seeded`` in
  ``op.tags``), or returns nothing (``op._schema.returns`` is empty): then it is called for what it
  does, as the assertion ``aten._assert_async.msg`` is.
- Anything else (call_method, call_module, any other function) is not: nobody knows.

A dead random operator is impure because all random numbers after it would change without it.

The passes change the module `gm` in place, call ``gm.recompile()`` so that its code is that of its
graph, keep the graph valid (``gm.graph.lint()``) and return by how many nodes the graph is shorter
than it was.

- ``eliminate_dead_code(gm)`` removes every pure node that nothing uses, and what is used by dead
  nodes alone. Inputs stay, used or not: they are the signature.
- ``fold_constants(gm)`` runs every pure node whose node arguments are all constants, get_attr to
  begin with (a call without node arguments, such as ``aten.arange``, counts), under
  ``torch.no_grad``. Where the tensor is used by a node that is no constant, or by the output, a
  get_attr of a new buffer of `gm` stands in the call's place; the buffer requires no grad, its
  name is free, but no attribute of `gm` before. A constant that is no tensor (the list that
  ``aten.split`` returns) stays as it is; the tensors that ``getitem`` takes from it are folded.
  Then dead code is eliminated. Parameters count as constants, so that this is for inference.
- ``merge_duplicates(gm)`` (common subexpression elimination) makes one of all pure nodes with the
  same op, target, arguments and keyword arguments; the first one stays. Arguments are the same if
  they are the same node, or are two nodes that have been made one, or are literals of the same
  type and value: 1, 1.0 and True are three literals, and so are 0.0 and -0.0, for which Python's
  ``==`` is no help. The order of keyword arguments does not matter. Literals may stand in lists.

*Writes.* In ``a = x + 1; b = x + 1; a.add_(1)`` the two sums must not be made one, and in
``w.add_(1); y = w * 2`` the product is no constant. Who wants to know which values a write changes
has to know all views. PyTorch first makes such a graph one without writes (functionalization).
Here, ``fold_constants`` and ``merge_duplicates`` leave a graph as it is, and return 0, if it holds
a call that may write: an operator with a mutable schema, or anything else that nobody knows (as
above). ``eliminate_dead_code`` works on all graphs.

About 60 lines. Do not use ``Graph.eliminate_dead_code``, ``Node.is_impure``, or the passes of FX,
functorch and Inductor. Out of scope: calls that are the same but written differently (a default
that is spelled out, a keyword for a position), graphs inside graphs, ``aten.empty`` (pure here),
and that two results of the graph may become one tensor.

In PyTorch: ``torch/fx/graph.py`` (``Graph.eliminate_dead_code``), ``torch/fx/node.py``
(``Node.is_impure``), ``torch/fx/experimental/const_fold.py`` (``split_const_subgraphs``),
``torch/fx/passes/dialect/common/cse_pass.py`` (``CSEPass``), and a second one in
``torch/_functorch/compile_utils.py`` (``fx_graph_cse``), which keeps results apart.
"""

from __future__ import annotations

from torch import fx  # noqa: TC002 - your answer calls it


def is_pure(node: fx.Node) -> bool:
    """Return whether all that `node` does is to compute its value, the same one each time."""
    # TODO: ask the op, then the operator's schema and tags.
    raise NotImplementedError("is_pure")


def eliminate_dead_code(gm: fx.GraphModule) -> int:
    """Remove pure nodes that nothing uses; return by how many nodes the graph is shorter."""
    # TODO: in which order?
    raise NotImplementedError("eliminate_dead_code")


def fold_constants(gm: fx.GraphModule) -> int:
    """Compute now what depends on no input; return by how many nodes the graph is shorter."""
    # TODO: compute the constants, then store those that others need.
    raise NotImplementedError("fold_constants")


def merge_duplicates(gm: fx.GraphModule) -> int:
    """Compute what is the same once; return by how many nodes the graph is shorter."""
    # TODO: find a key for each node that is equal if and only if its value is the same.
    raise NotImplementedError("merge_duplicates")
