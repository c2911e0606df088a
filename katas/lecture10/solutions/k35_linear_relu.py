"""Replace three nodes with one, and prove that nobody notices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

import torch
from torch import fx


if TYPE_CHECKING:
    from collections.abc import Iterator

aten = torch.ops.aten


class Chain(NamedTuple):
    """The nodes to replace: product, sum (possibly the same node) and ReLU. Given."""

    product: fx.Node
    total: fx.Node
    relu: fx.Node
    args: tuple[Any, ...]  # bias, a, b
    factors: dict[str, Any]  # beta or alpha, if the chain has one


def chains(relu: fx.Node) -> Iterator[Chain]:
    """Yield each way to read a ReLU and its inputs as a chain. Given."""
    (total,) = relu.args
    if total.target is aten.addmm.default:
        yield Chain(total, total, relu, total.args, dict(total.kwargs))
    if total.target is aten.add.Tensor:
        alpha = total.kwargs.get("alpha", 1)
        if alpha == 0:
            return  # 0 times NaN is NaN, but with a factor of 0 addmm does not even read it
        # alpha multiplies the second argument.
        for second, (product, bias) in (("beta", total.args), ("alpha", total.args[::-1])):
            if getattr(product, "target", None) is aten.mm.default:
                factors = {} if alpha == 1 else {second: alpha}
                yield Chain(product, total, relu, (bias, *product.args), factors)


def written(chain: Chain) -> bool:
    """Return whether a node writes while the chain is computed."""
    node = chain.product
    while node is not chain.relu:
        schema = getattr(node.target, "_schema", None)
        if schema is not None and schema.is_mutable:
            return True
        node = node.next
    return False


def fits(chain: Chain) -> bool:
    """Return whether the operator's result matches the sum."""
    bias = chain.args[0]
    if not isinstance(bias, fx.Node) or bias is chain.product:
        return False
    value, result, added = (node.meta["val"] for node in (chain.product, chain.total, bias))
    same = value.shape == result.shape and value.stride() == result.stride()
    return same and value.dtype == added.dtype and value.device == added.device


def replace(chain: Chain) -> None:
    """Replace a chain with a new node that has the ReLU's meta, and erase the chain. Given."""
    graph = chain.relu.graph
    with graph.inserting_before(chain.relu):
        target = aten._addmm_activation.default  # noqa: SLF001 - its only name
        new = graph.call_function(target, chain.args, chain.factors)
    new.meta = dict(chain.relu.meta)
    chain.relu.replace_all_uses_with(new)
    for node in dict.fromkeys((chain.relu, chain.total, chain.product)):
        graph.erase_node(node)


def fuse(graph: fx.Graph, smallest: int = 0) -> int:
    """Replace each linear layer and its ReLU with one operator; return how many were replaced."""
    found = 0
    for relu in graph.find_nodes(op="call_function", target=aten.relu.default):
        for chain in chains(relu):
            alone = all(len(node.users) == 1 for node in (chain.product, chain.total))
            large = relu.meta["val"].numel() >= smallest
            if alone and large and fits(chain) and not written(chain):
                replace(chain)
                found += 1
                break
    return found
