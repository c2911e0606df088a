"""Write a backward pass down, with its hooks, before anything of it runs.

FSDP reduces gradients while backward still runs, in hooks and functions that the engine calls. No
compiler sees them there. Compiled autograd walks the graph as the engine does, but records: each
node, each hook and each accumulation becomes a call in one graph, which is compiled.

    loss = (x @ w).sum()      SumBackward0    of what `replay` is given
                              MmBackward0     of what line 0 returned
                              hook            of result 1 of line 1
                              accumulate      of what the hook returned

1. `capture`: the lines of a loss, in the order of `nodes`. No node is called.
2. `early`: accumulate each gradient as soon as it is there. `nodes` leaves that to the end, as
   AOTAutograd does, so all gradients would be alive together, and no hook could begin early.

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

    `kind` is "node", "hook" or "accumulate". `inputs` has a tuple for each argument: the values
    that are added up to that argument, each a line and which of its results; () is None. The line
    None stands for the gradient that `replay` is given.
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
    """Return the nodes behind a node, each after all that use it, accumulations last. Given."""
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
    """Return the lines of ``loss.backward()``; `hooks` has functions for some leaves.

    A leaf's hook is called with its whole gradient, and its result is accumulated. A leaf's node
    has the leaf as ``variable``; others call themselves, and give ``next_functions[i]``, a node
    and which of its gradients, their result i. The loss is result ``loss.output_nr`` of its node.
    """
    # TODO: which values have arrived at each node, and at which of its places?
    raise NotImplementedError("capture")


def early(lines: Sequence[Line]) -> list[Line]:
    """Return the lines in an order in which hooks and accumulations come as soon as they can.

    No node stands between them and the last line that they need. Two hooks on a node's results may
    come as hook, hook, accumulate, accumulate, or in pairs. Nodes keep their order.
    """
    # TODO: the nodes first, then insert.
    raise NotImplementedError("early")
