"""Replace three nodes with one, and prove that nobody notices.

Inductor rewrites graphs before it turns them into loops, and it lets you add a pass of your own:
that is how people who serve models bring in their own kernels. This one brings in an operator that
computes ``relu(beta * bias + alpha * (a @ b))`` in one call.

    mm = aten.mm.default(x, w)
    add = aten.add.Tensor(mm, b)
    relu = aten.relu.default(add)            relu = aten._addmm_activation.default(b, x, w)

`chains` is given: it yields each way to read a chain. May the chain be replaced? Write `fuse` and
two of its checks, about 25 lines.

- Users: each value inside the chain is used once. Otherwise it would be computed twice.
- Writes: the product moves to where the ReLU was, past whatever is in between.
- Values: the sum must have the product's shape and strides, the bias its dtype and device.

Begin with one chain, without any check.
Afterwards read ``addmm`` in ``torch/_inductor/fx_passes/post_grad.py``.
"""

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
    """Return whether a node between product and ReLU writes (``_schema.is_mutable``).

    The nodes are those that follow the product (``Node.next``), up to but not including the ReLU.
    Not every target has a schema.
    """
    # TODO: go from node to node.
    raise NotImplementedError("written")


def fits(chain: Chain) -> bool:
    """Return whether the operator's result matches the sum, by ``meta["val"]``.

    The bias is a node other than the product, with the product's dtype and device. The sum has the
    shape and the strides of the product.
    """
    # TODO: compare three values.
    raise NotImplementedError("fits")


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
    """Replace each chain that may be replaced, and return how many there were.

    If one ReLU has several readings, take the first that is allowed: its product and its sum have
    one user each, it `fits`, and nothing is `written`. Leave a chain whose result has fewer
    elements than `smallest`.
    """
    # TODO: for each ReLU: is one of its readings allowed?
    raise NotImplementedError("fuse")
