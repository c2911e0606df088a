"""Write a pass in Inductor's language, and hand it over."""

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
    """Return a pass made of Inductor's patterns."""
    known = PatternMatcherPass()
    bias, a, b = (KeywordArg(name) for name in ("bias", "a", "b"))
    product = CallFunction(aten.mm.default, a, b)

    def check(match: Match) -> bool:
        # In torch 2.13 the matcher ignores keywords that a pattern does not have.
        plain = not any(node.kwargs for node in match.nodes)
        relu = match.output_node()
        large = relu.meta["val"].numel() >= smallest
        # The innermost comes first, and a ReLU's value looks like its sum's.
        return plain and large and fits(match.kwargs["bias"], match.nodes[0], relu)

    def handler(match: Match, *, bias: fx.Node, a: fx.Node, b: fx.Node) -> None:
        replace(match.output_node(), (bias, a, b))
        match.erase_nodes()

    for total in (
        CallFunction(aten.addmm.default, bias, a, b),
        CallFunction(aten.add.Tensor, product, bias),
        CallFunction(aten.add.Tensor, bias, product),
    ):
        chain = CallFunction(aten.relu.default, total)
        register_graph_pattern(chain, extra_check=check, pass_dict=known)(handler)
    return known


class FuseLinear(CustomGraphPass):
    """The pass as Inductor takes it."""

    def __init__(self, smallest: int = 0) -> None:
        self.smallest = smallest
        self.fused = 0

    def __call__(self, graph: fx.Graph) -> None:
        """Rewrite one of Inductor's graphs."""
        self.fused += patterns(self.smallest).apply(graph)

    def uuid(self) -> Any:
        """Return what distinguishes this pass from others."""
        return get_hash_for_files((__file__,), str(self.smallest))


def compiled(function: Callable[..., Any], custom: CustomGraphPass | None) -> Callable[..., Any]:
    """Return the function as Inductor compiles it, with a pass of your own."""
    return torch.compile(function, options={"post_grad_custom_post_pass": custom})


def kernels(function: Callable[..., Any], custom: CustomGraphPass | None, *args: Any) -> int:
    """Return how many kernels Inductor generates for a call of the compiled function. Given."""
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    before = metrics.generated_kernel_count
    compiled(function, custom)(*args)
    return metrics.generated_kernel_count - before
