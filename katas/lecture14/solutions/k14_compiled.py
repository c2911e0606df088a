"""Write down a backward pass, with its hooks, before any of it runs."""

from __future__ import annotations

from collections import defaultdict
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
    """Return the lines of ``loss.backward()``; `hooks` maps some leaves to functions."""
    lines: list[Line] = []
    arrived: dict[Any, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    arrived[loss.grad_fn][loss.output_nr].append((None, 0))
    for node in nodes(loss.grad_fn):
        inputs = tuple(tuple(arrived[node][place]) for place in range(width(node)))
        leaf: Any = getattr(node, "variable", None)
        if leaf in hooks:
            lines.append(Line("hook", hooks[leaf], inputs))
            inputs = (((lines[-1], 0),),)
        if leaf is not None:
            lines.append(Line("accumulate", accumulation(leaf), inputs))
        else:
            lines.append(Line("node", node, inputs))
        for place, (after, number) in enumerate(node.next_functions):
            arrived[after][number].append((lines[-1], place))
    return lines


def early(lines: Sequence[Line]) -> list[Line]:
    """Return the lines reordered so that hooks and accumulations come as early as possible."""
    moved: list[Any] = [line for line in lines if line.kind == "node"]
    for line in lines:
        if line.kind != "node":
            needed = [moved.index(s) for values in line.inputs for s, _ in values]
            moved.insert(max(needed) + 1, line)
    return moved
