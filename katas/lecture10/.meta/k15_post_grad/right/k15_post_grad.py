"""Another right answer: tries the operator on fake tensors, and patches the config of each call."""

from __future__ import annotations

import copy
import hashlib
from functools import wraps
from itertools import dropwhile
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import torch
import torch._inductor.config
from torch import fx
from torch._inductor import metrics
from torch._inductor import pattern_matcher as pm
from torch._inductor.custom_graph_pass import CustomGraphPass


if TYPE_CHECKING:
    from collections.abc import Callable

aten = torch.ops.aten
LINEAR = aten._addmm_activation.default  # noqa: SLF001 - its only name


def _does_the_same(relu: fx.Node, args: tuple[Any, ...], factors: dict[str, Any]) -> bool:
    if not all(isinstance(arg, fx.Node) for arg in args):
        return False
    values = [arg.meta["val"] for arg in args]
    try:
        with values[0].fake_mode:
            value = LINEAR(*values, **factors)
    except RuntimeError:
        return False
    old = relu.meta["val"]
    if old.shape != (values[1].shape[0], values[2].shape[1]):
        return False  # on fake tensors the operator expands the product too
    facts = [(x.shape, x.stride(), x.dtype, x.device) for x in (value, old)]
    # The fake operator takes a bias of any dtype, and a number from the CPU.
    same = [(x.dtype, x.device) for x in values[:2]]
    return facts[0] == facts[1] and same[0] == same[1]


def _readings(total: fx.Node) -> list[tuple[fx.Node, tuple[Any, ...], dict[str, Any]]]:
    if total.target is aten.addmm.default:
        return [(total, total.args, dict(total.kwargs))]
    found = []
    if total.target is aten.add.Tensor and 0 not in total.kwargs.values():
        for place, name in enumerate(("beta", "alpha")):
            product, other = total.args[place], total.args[1 - place]
            if isinstance(product, fx.Node) and product.target is aten.mm.default:
                factors = {name: value for value in total.kwargs.values()}  # noqa: B035 - at most one
                found.append((product, (other, *product.args), factors))
    return found


def _writes(node: fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable  # noqa: SLF001


def fuse(graph: fx.Graph, smallest: int = 0) -> int:
    """Replace linear layers with a ReLU by one operator each; return how many were."""
    found = 0
    for relu in list(graph.nodes):
        if relu.target is not aten.relu.default or relu.meta["val"].numel() < smallest:
            continue
        for product, args, factors in _readings(relu.args[0]):
            inner = {product, relu.args[0]}
            order = list(graph.nodes)
            behind = dropwhile(lambda node, first=product: node is not first, order)
            between = list(takewhile(lambda node, last=relu: node is not last, behind))
            if any(map(_writes, between)) or product in args:
                continue
            if any(set(node.users) - inner - {relu} for node in inner) or len(product.users) > 1:
                continue
            if not _does_the_same(relu, args, factors):
                continue
            with graph.inserting_after(relu):
                new = graph.call_function(LINEAR, args, factors)
            new.meta = copy.copy(relu.meta)
            relu.replace_all_uses_with(new)
            for node in (relu, relu.args[0], product):
                if node in graph.nodes:
                    graph.erase_node(node)
            found += 1
            break
    return found


def patterns() -> pm.PatternMatcherPass:
    """Return the same pass, made of Inductor's patterns."""
    result = pm.PatternMatcherPass()
    a, b, bias = pm.KeywordArg("a"), pm.KeywordArg("b"), pm.KeywordArg("bias")
    mm = pm.CallFunction(aten.mm.default, a, b)

    def check(match: pm.Match) -> bool:
        args = tuple(match.kwargs[name] for name in ("bias", "a", "b"))
        if any(node.kwargs for node in match.nodes) or args[0] in match.nodes:
            return False
        return _does_the_same(match.output_node(), args, {})

    for inner in (
        pm.CallFunction(aten.add.Tensor, bias, mm),
        pm.CallFunction(aten.add.Tensor, mm, bias),
        pm.CallFunction(aten.addmm.default, bias, a, b),
    ):

        @pm.register_graph_pattern(
            pm.CallFunction(aten.relu.default, inner), extra_check=check, pass_dict=result
        )
        def replace(match: pm.Match, bias: fx.Node, a: fx.Node, b: fx.Node) -> None:
            relu = match.output_node()
            with match.graph.inserting_before(relu):
                new = match.graph.call_function(LINEAR, (bias, a, b))
            new.meta.update(relu.meta)
            relu.replace_all_uses_with(new)
            match.erase_nodes()

    return result


class FuseLinear(CustomGraphPass):
    """Lets Inductor call `fuse`."""

    def __init__(self, smallest: int = 0) -> None:
        self.smallest, self.fused = smallest, 0

    def __call__(self, graph: fx.Graph) -> None:
        """Rewrite a graph of Inductor's."""
        self.fused += fuse(graph, self.smallest)

    def uuid(self) -> Any:
        """Return what tells this pass from others."""
        return hashlib.sha256(Path(__file__).read_bytes()).hexdigest(), self.smallest


def compiled(function: Callable[..., Any], custom: CustomGraphPass | None) -> Callable[..., Any]:
    """Return the function as Inductor compiles it, with a pass of one's own."""
    run = torch.compile(function)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with torch._inductor.config.patch(post_grad_custom_post_pass=custom):  # noqa: SLF001
            return run(*args, **kwargs)

    return call


def kernels(function: Callable[..., Any], custom: CustomGraphPass | None, *args: Any) -> int:
    """Return how many kernels Inductor generates for a call of the compiled function."""
    torch._dynamo.reset()  # noqa: SLF001 - it has no other name in all versions
    before = metrics.generated_kernel_count
    compiled(function, custom)(*args)
    return metrics.generated_kernel_count - before
