"""Write down a backward pass, with its hooks, before any of it runs.

FSDP reduces gradients while backward is running, in hooks and functions that the engine calls. No
compiler sees those. Compiled autograd walks the graph as the engine does, but records: each node,
hook and accumulation becomes a call in one graph, which is then compiled.

    loss = (x @ w).sum()      SumBackward0    called with the gradient given to `replay`
                              MmBackward0     called with the result of line 0
                              hook            called with result 1 of line 1
                              accumulate      called with the hook's result

1. `capture`: write the lines of a loss, in the order of `nodes`. Call no node.
2. `early`: accumulate each gradient as soon as it is complete. `nodes` puts accumulations last, as
   AOTAutograd does, so all gradients would be alive at once, and no hook could start early.

Begin by printing ``loss.grad_fn.next_functions`` of the example.
Afterwards read ``reorder_accumulate_grad_nodes`` in ``torch/_dynamo/compiled_autograd.py``, on your
disk; ``torch._dynamo.config.compiled_autograd = True`` switches it on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence


@dataclass(eq=False)
class Line:
    """One call. Given.

    `kind` is "node", "hook" or "accumulate". `inputs` has one tuple per argument: the values
    whose sum is the argument, each as a line and an index into its results; () means None. The line
    None stands for the gradient passed to `replay`.
    """

    kind: str
    call: Callable[..., Any]
    inputs: tuple[tuple[tuple[Line | None, int], ...], ...]


def accumulation(variable: torch.Tensor) -> Callable[[torch.Tensor], None]:
    """Return the function that adds a gradient to ``variable.grad``. Given."""

    def accumulate(gradient: torch.Tensor) -> None:
        variable.grad = gradient if variable.grad is None else variable.grad + gradient

    return accumulate


def nodes(root: Any) -> list[Any]:
    """Return the nodes reachable from `root` in backward order, accumulations last. Given."""
    found: dict[Any, None] = {}

    def visit(node: Any) -> None:
        if node is not None and node not in found:
            for after, _ in reversed(node.next_functions):
                visit(after)
            found[node] = None

    visit(root)
    order = list(found)[::-1]
    return sorted(order, key=lambda node: hasattr(node, "variable"))


def width(node: Any) -> int:
    """Return how many gradients a node takes. Given."""
    return len(node._input_metadata)  # noqa: SLF001 - it has no public name


def replay(lines: Sequence[Line], gradient: torch.Tensor) -> None:
    """Run the lines. Given."""
    results: dict[Line | None, Any] = {None: (gradient,)}
    with torch.no_grad():
        for line in lines:
            arguments = []
            for values in line.inputs:
                parts = [results[source][place] for source, place in values]
                arguments.append(sum(parts[1:], parts[0]) if parts else None)
            result = line.call(*arguments)
            results[line] = result if isinstance(result, tuple) else (result,)


def capture(
    loss: torch.Tensor, hooks: Mapping[torch.Tensor, Callable[[torch.Tensor], torch.Tensor]]
) -> list[Line]:
    """Return the lines of ``loss.backward()``; `hooks` maps some leaves to functions.

    A leaf's hook gets the whole gradient, and its result is accumulated. A leaf's node holds the
    leaf as its ``variable``. For any other node, the line calls the node itself, and result i goes
    to ``next_functions[i]``: a node and the index of its gradient. The loss is result
    ``loss.output_nr`` of its node.
    """
    # TODO: which values have arrived at each node, and for which of its gradients?
    raise NotImplementedError("capture")


def early(lines: Sequence[Line]) -> list[Line]:
    """Return the lines reordered so that hooks and accumulations come as early as possible.

    Allow no node between such a line and the last line it needs. Two hooks on one node's results
    may come as hook, hook, accumulate, accumulate, or in pairs. Nodes keep their order.
    """
    # TODO: the nodes first, then insert.
    raise NotImplementedError("early")
