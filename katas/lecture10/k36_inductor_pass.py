"""Write a pass in Inductor's language, and hand it over.

Inductor has a language for passes: a pattern is built like the call that it matches, and the
matcher checks users and writes itself.

    CallFunction(aten.relu.default, CallFunction(aten.add.Tensor, product, KeywordArg("bias")))

1. `patterns`: three patterns, one check, one replacement.
2. `FuseLinear`: the pass as Inductor takes it. Compiled graphs are cached on disk, and no pass
   runs over a graph that is found there: so ``uuid()`` says what the pass depends on.
3. `compiled`: pass it to ``torch.compile``, for one function only.

About 25 lines. Begin with the pattern of ``relu(addmm(bias, a, b))``.
Afterwards read ``register_graph_pattern`` in ``torch/_inductor/pattern_matcher.py``. Real life
differs: vLLM and Inductor itself have hundreds of passes written like this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import fx
from torch._inductor import metrics
from torch._inductor.custom_graph_pass import CustomGraphPass
from torch._inductor.custom_graph_pass import get_hash_for_files
from torch._inductor.pattern_matcher import CallFunction
from torch._inductor.pattern_matcher import KeywordArg
from torch._inductor.pattern_matcher import Match
from torch._inductor.pattern_matcher import PatternMatcherPass
from torch._inductor.pattern_matcher import register_graph_pattern


if TYPE_CHECKING:
    from collections.abc import Callable


aten = torch.ops.aten


def fits(bias: Any, product: fx.Node, total: fx.Node) -> bool:
    """Return whether the new operator's result matches the sum. Given."""
    if not isinstance(bias, fx.Node) or bias is product:
        return False
    value, result, added = (node.meta["val"] for node in (product, total, bias))
    same = value.shape == result.shape and value.stride() == result.stride()
    return same and value.dtype == added.dtype and value.device == added.device


def replace(relu: fx.Node, args: tuple[Any, ...]) -> None:
    """Replace a ReLU, and what it is computed from, with a new node of the same meta. Given."""
    with relu.graph.inserting_before(relu):
        new = relu.graph.call_function(aten._addmm_activation.default, args)  # noqa: SLF001
    new.meta = dict(relu.meta)
    relu.replace_all_uses_with(new)


def patterns(smallest: int = 0) -> PatternMatcherPass:
    """Return a new pass whose ``apply(graph)`` replaces ReLUs of a product and a bias.

    That is ``relu(addmm(bias, a, b))``, ``relu(add(mm(a, b), bias))`` or ``relu(add(bias, mm(a,
    b)))``. Leave a chain if it does not pass `fits`, if one of its nodes has keyword arguments (in
    torch 2.13 a pattern without any also matches a call that has some), or if its result has fewer
    elements than `smallest`.

    In a check, ``match.nodes`` holds the nodes from the innermost to the outermost,
    ``match.kwargs`` what the KeywordArgs stand for; ``match.output_node()`` is the ReLU, and
    ``match.erase_nodes()`` removes all of them.
    """
    # TODO: register three patterns, with one check and one function that replaces.
    raise NotImplementedError("patterns")


class FuseLinear(CustomGraphPass):
    """The pass as Inductor takes it; `fused` counts the chains that it has replaced so far."""

    def __init__(self, smallest: int = 0) -> None:
        self.smallest = smallest
        self.fused = 0

    def __call__(self, graph: fx.Graph) -> None:
        """Run the patterns over one of Inductor's graphs, and count the replacements."""
        # TODO: one line.
        raise NotImplementedError("FuseLinear.__call__")

    def uuid(self) -> Any:
        """Return a value that is equal for passes that do the same, in other processes too.

        It changes if `smallest` or the text of this file changes; see `get_hash_for_files` of
        ``torch._inductor.custom_graph_pass``. It can be pickled, and is truthy.
        """
        # TODO: what does the result of the pass depend on, apart from the graph?
        raise NotImplementedError("FuseLinear.uuid")


def compiled(function: Callable[..., Any], custom: CustomGraphPass | None) -> Callable[..., Any]:
    """Return `function` as Inductor compiles it, with `custom` as ``post_grad_custom_post_pass``.

    ``torch._inductor.config`` stays as it is: ``torch.compile`` has an argument for it.
    """
    # TODO: one call.
    raise NotImplementedError("compiled")


def kernels(function: Callable[..., Any], custom: CustomGraphPass | None, *args: Any) -> int:
    """Return how many kernels Inductor generates for a call of the compiled function. Given."""
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    before = metrics.generated_kernel_count
    compiled(function, custom)(*args)
    return metrics.generated_kernel_count - before
