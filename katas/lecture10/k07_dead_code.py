"""Drop what nobody needs, and nothing else.

If nothing reads y, ``y = x.sin()`` can go. ``torch.rand(3)`` cannot, even if nothing reads it:
every random number after it would change. ``aten._assert_async.msg`` has no result at all. Only a
call that does nothing but compute its value, the same one each time, may go. It is called *pure*,
and PyTorch asks the operator itself:

    op._schema.is_mutable                           it writes to an argument
    torch.Tag.nondeterministic_seeded in op.tags    it draws random numbers
    op._schema.returns                              empty: it is called for what it does

Write `is_pure` and the pass that uses it, about 15 lines. Do not keep a list of operators: there
are thousands, and anybody can register more.

Begin on paper: in which order must a chain of three dead nodes be visited?
Afterwards read ``Graph.eliminate_dead_code`` in ``torch/fx/graph.py`` and ``Node.is_impure`` in
``torch/fx/node.py``.
"""

from __future__ import annotations

import torch
from torch import fx


def is_pure(node: fx.Node) -> bool:
    """Return whether `node` has no side effects and computes the same value each time.

    A get_attr and a call of ``operator.getitem`` are pure; a placeholder and the output are not. An
    operator (``torch._ops.OpOverload``) is pure unless one of the three lines of the brief says no.
    Nobody knows what a method, a module or another function does: those are not pure.
    """
    # TODO: ask the op, then the operator's schema and tags.
    raise NotImplementedError("is_pure")


def eliminate_dead_code(gm: fx.GraphModule) -> int:
    """Remove, in place, every pure node that nothing uses; return how many were removed.

    What only dead nodes use is dead as well. Inputs stay: they are the signature. Call
    ``gm.recompile()`` at the end, so that the module runs the new graph.
    """
    # TODO: in which order?
    raise NotImplementedError("eliminate_dead_code")
