"""A pass of your own inside Inductor: what it may replace, and how it gets there.

Inductor rewrites the graph of forward, and then that of backward, before it makes loops of them.
Among these post-grad passes there may be some of yours: that is how people who serve models bring
in the kernels that they have written. The graph holds operators of ATen and no writes, but for
``copy_`` at the end, and ``node.meta["val"]`` is a tensor like the one that the node computes,
without data.

Yours brings in ``aten._addmm_activation.default(bias, a, b, *, beta=1, alpha=1)``, which computes
``relu(beta * bias + alpha * (a @ b))`` in one call. ::

    mm = aten.mm.default(x, w)
    add = aten.add.Tensor(mm, b)
    relu = aten.relu.default(add)            relu = aten._addmm_activation.default(b, x, w)

**1.** ``fuse(graph, smallest=0)`` replaces each chain, from product to ReLU, by one node, and
returns how many it has replaced. A chain is one of ::

    relu.default(addmm.default(bias, a, b))
    relu.default(add.Tensor(mm.default(a, b), bias))
    relu.default(add.Tensor(bias, mm.default(a, b)))

If two products are added, the first is the product and the second the bias; where the first
cannot be it, the other way round. The program must compute what it did, and nothing twice:

- *Factors.* ``addmm`` may have keyword arguments beta and alpha. ``add`` may have alpha, which
  multiplies its second argument: is that the bias, or the product? The new node is given those
  that the chain has, and no others. An ``add`` whose alpha is 0 is left: the new operator does not
  read what it would multiply by 0, and so loses NaN and infinities, which ``add`` lets through.
- *Users.* Each value inside a chain is used once, by the next node of the chain. If anything else
  needs it, another node, the output, or the same sum a second time, the product would be computed
  twice: leave the chain. What the ReLU returns may have any number of users.
- *Values.* The new operator takes a tensor for bias, of the dtype of the product (even where
  promotion would take another) and on its device (where ``add`` takes a number in a tensor on the
  CPU as well), and its result has the shape and the strides of the product. A
  sum with something else is left: with a number, with a bias that is larger than the product, or
  with one whose strides win (``add`` follows its first argument). Do not leave that to a run on
  fake tensors, which accept a bias that is larger; the kernels do not.
- *Writes.* The new node stands where the ReLU stood, so that the product is computed later than
  it was. If any node between the two writes (``node.target._schema.is_mutable``, where there is a
  schema), leave the chain. Writes before and after it do not matter.
- *Meta.* The new node has a ``meta`` of its own, a copy of the ReLU's: later passes need
  ``meta["val"]``, and errors show ``meta["stack_trace"]``.
- *Size.* A chain whose result has fewer elements than `smallest` is left.

Nodes that are not needed any more are removed; all others stay.

**2.** ``patterns()`` says it in Inductor's own language: it returns a new ``PatternMatcherPass``
whose ``apply(graph)`` does to all three kinds of chains what ``fuse(graph)`` does. Here chains
with keyword arguments are left, and of two products any may be the bias. Build it of
``CallFunction``, ``KeywordArg`` and ``register_graph_pattern(pattern, extra_check=...,
pass_dict=...)``, which stands above a function ``(match, **found)`` that edits ``match.graph``.
What it checks by itself: users, and writes. What it does not: a ``KeywordArg`` matches anything,
a number too, and before torch 2.15 a pattern without keyword arguments matches a call that has
some.

**3.** ``FuseLinear(smallest=0)`` is the pass as Inductor takes it, a ``CustomGraphPass``.

- Calling it with a graph calls ``fuse``; the attribute `fused` is the number of chains that it has
  replaced so far.
- Inductor keeps compiled graphs on disk, and when it meets a graph again it runs no pass. How is
  it to know that a pass is another one by now? It asks ``uuid()``: this must be the same for
  passes that do the same, also in another process, and change if `smallest` or the text of this
  file changes. It can be pickled. If it is None or otherwise false, nothing is cached. See
  ``get_hash_for_files`` in ``torch._inductor.custom_graph_pass``.

**4.** ``compiled(function, custom)`` returns `function` as Inductor compiles it, with the pass
`custom` (or None) as ``post_grad_custom_post_pass``, which is run after Inductor's own passes.
(Those make an ``addmm`` of ``mm`` and ``add``. A ``post_grad_custom_pre_pass`` sees the two.)
This holds for this function alone: ``torch._inductor.config`` is afterwards as it was.
``torch.compile`` has an argument for it.

**5.** ``kernels(function, custom, *args)`` returns how many kernels Inductor generates for one
call of ``compiled(function, custom)``. ``torch._inductor.metrics.generated_kernel_count`` counts
them, for everybody, so do not set it back. What Dynamo has compiled before it does not compile
again: begin with ``torch._dynamo.reset()``.

About 80 lines. Do not call ``fuse`` from ``patterns`` or the other way round; ``fuse`` does without
Inductor's patterns. Out of scope: dynamic shapes, and arguments of the chains that are given by
name or in another place.

The tests of parts 4 and 5 need a C++ compiler.

In PyTorch: ``torch/_inductor/fx_passes/post_grad.py`` (``post_grad_passes``, ``addmm``),
``torch/_inductor/pattern_matcher.py`` (``PatternMatcherPass``),
``torch/_inductor/custom_graph_pass.py`` (``CustomGraphPass``),
``torch/_inductor/codecache.py`` (``FxGraphHashDetails``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx
from torch._inductor.custom_graph_pass import CustomGraphPass


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch._inductor.pattern_matcher import PatternMatcherPass


aten = torch.ops.aten


def fuse(graph: fx.Graph, smallest: int = 0) -> int:
    """Replace linear layers with a ReLU by one operator each; return how many were."""
    # TODO: find the chains, ask whether they may be replaced, and replace them.
    raise NotImplementedError("fuse")


def patterns() -> PatternMatcherPass:
    """Return the same pass, made of Inductor's patterns."""
    # TODO: three patterns, one check, one function that replaces.
    raise NotImplementedError("patterns")


class FuseLinear(CustomGraphPass):
    """Lets Inductor call `fuse`."""

    def __init__(self, smallest: int = 0) -> None:
        # TODO: what does the pass have to remember?
        raise NotImplementedError("FuseLinear")

    def __call__(self, graph: fx.Graph) -> None:
        """Rewrite a graph of Inductor's."""
        # TODO: call fuse, and count.
        raise NotImplementedError("FuseLinear.__call__")

    def uuid(self) -> Any:
        """Return what tells this pass from others."""
        # TODO: what does the result of the pass depend on, apart from the graph?
        raise NotImplementedError("FuseLinear.uuid")


def compiled(function: Callable[..., Any], custom: CustomGraphPass | None) -> Callable[..., Any]:
    """Return the function as Inductor compiles it, with a pass of one's own."""
    # TODO: one call.
    raise NotImplementedError("compiled")


def kernels(function: Callable[..., Any], custom: CustomGraphPass | None, *args: Any) -> int:
    """Return how many kernels Inductor generates for a call of the compiled function."""
    # TODO: compare the count before and after.
    raise NotImplementedError("kernels")
