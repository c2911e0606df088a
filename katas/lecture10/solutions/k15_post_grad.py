"""A pass of your own inside Inductor: what it may replace, and how it gets there."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

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
    from collections.abc import Iterator


aten = torch.ops.aten


class _Chain(NamedTuple):
    """What is to be replaced, from its product to its sum (which may be one node) and ReLU."""

    product: fx.Node
    total: fx.Node
    relu: fx.Node
    args: tuple[Any, ...]  # bias, a, b
    factors: dict[str, Any]


def fuse(graph: fx.Graph, smallest: int = 0) -> int:
    """Replace linear layers with a ReLU by one operator each; return how many were."""
    found = 0
    for relu in graph.find_nodes(op="call_function", target=aten.relu.default):
        chain = next(filter(_allowed, _chains(relu)), None)
        if chain and relu.meta["val"].numel() >= smallest:
            _replace(chain.relu, chain.args, chain.factors)
            for node in dict.fromkeys((chain.relu, chain.total, chain.product)):
                graph.erase_node(node)
            found += 1
    return found


def _chains(relu: fx.Node) -> Iterator[_Chain]:
    """Return the ways to read what a ReLU is computed from."""
    (total,) = relu.args
    if total.target is aten.addmm.default:
        yield _Chain(total, total, relu, total.args, dict(total.kwargs))
    if total.target is aten.add.Tensor:
        alpha = total.kwargs.get("alpha", 1)
        if alpha == 0:
            return  # 0 times NaN is NaN, but what has no weight in addmm is not even read
        # It multiplies the second argument.
        for second, (product, bias) in (("beta", total.args), ("alpha", total.args[::-1])):
            if getattr(product, "target", None) is aten.mm.default:
                factors = {} if alpha == 1 else {second: alpha}
                yield _Chain(product, total, relu, (bias, *product.args), factors)


def _allowed(chain: _Chain) -> bool:
    """Whether nothing else needs the chain, nothing writes, and the operator does the same."""
    alone = all(len(node.users) == 1 for node in (chain.product, chain.total))
    return alone and not _written(chain) and _fits(chain.args[0], chain.product, chain.total)


def _written(chain: _Chain) -> bool:
    """Whether a node writes while the chain is computed."""
    node = chain.product
    while node is not chain.relu:
        node = node.next
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            return True
    return False


def _fits(bias: Any, product: fx.Node, total: fx.Node) -> bool:
    """Whether the sum is a tensor just as the product is, and the bias another one of its dtype."""
    if not isinstance(bias, fx.Node) or bias is product:
        return False
    value, result, added = (node.meta["val"] for node in (product, total, bias))
    same = value.shape == result.shape and value.stride() == result.stride()
    return same and value.dtype == added.dtype and value.device == added.device


def _replace(relu: fx.Node, args: tuple[Any, ...], factors: dict[str, Any]) -> None:
    """Let a new node stand for a ReLU and what it is computed from."""
    with relu.graph.inserting_before(relu):
        new = relu.graph.call_function(aten._addmm_activation.default, args, factors)  # noqa: SLF001
    new.meta = dict(relu.meta)
    relu.replace_all_uses_with(new)


def patterns() -> PatternMatcherPass:
    """Return the same pass, made of Inductor's patterns."""
    known = PatternMatcherPass()
    bias, a, b = (KeywordArg(name) for name in ("bias", "a", "b"))
    product = CallFunction(aten.mm.default, a, b)

    def check(match: Match) -> bool:
        # From torch 2.15 on the matcher refuses keywords itself, unless they say what holds anyway.
        plain = not any(node.kwargs for node in match.nodes)
        # The innermost is the first of them, and a ReLU's value is as that of its sum.
        return plain and _fits(match.kwargs["bias"], match.nodes[0], match.output_node())

    def replace(match: Match, *, bias: fx.Node, a: fx.Node, b: fx.Node) -> None:
        _replace(match.output_node(), (bias, a, b), {})
        match.erase_nodes()

    for total in (
        CallFunction(aten.addmm.default, bias, a, b),
        CallFunction(aten.add.Tensor, product, bias),
        CallFunction(aten.add.Tensor, bias, product),
    ):
        chain = CallFunction(aten.relu.default, total)
        register_graph_pattern(chain, extra_check=check, pass_dict=known)(replace)
    return known


class FuseLinear(CustomGraphPass):
    """Lets Inductor call `fuse`."""

    def __init__(self, smallest: int = 0) -> None:
        self.smallest = smallest
        self.fused = 0

    def __call__(self, graph: fx.Graph) -> None:
        """Rewrite a graph of Inductor's."""
        self.fused += fuse(graph, self.smallest)

    def uuid(self) -> Any:
        """Return what tells this pass from others."""
        return get_hash_for_files((__file__,), str(self.smallest))


def compiled(function: Callable[..., Any], custom: CustomGraphPass | None) -> Callable[..., Any]:
    """Return the function as Inductor compiles it, with a pass of one's own."""
    return torch.compile(function, options={"post_grad_custom_post_pass": custom})


def kernels(function: Callable[..., Any], custom: CustomGraphPass | None, *args: Any) -> int:
    """Return how many kernels Inductor generates for a call of the compiled function."""
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    before = metrics.generated_kernel_count
    compiled(function, custom)(*args)
    return metrics.generated_kernel_count - before
