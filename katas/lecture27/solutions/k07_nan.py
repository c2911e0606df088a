"""Find the operator that makes the first NaN, forward or backward."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence


def has_nan(values: object) -> bool:
    """Return whether a tree of values contains a NaN, in a tensor or as a number. Given."""
    leaves = [x for x in tree_leaves(values) if isinstance(x, torch.Tensor | float)]
    return any(bool(torch.as_tensor(x).isnan().any()) for x in leaves)


class Hunt(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Stores in `first` the name of the first operator that makes a NaN ("aten.div.Tensor")."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.first: str | None = None

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operator, and check for NaN before and after."""
        before = has_nan((args, kwargs))
        result = func(*args, **(kwargs or {}))
        if self.first is None and not before and "empty" not in str(func) and has_nan(result):
            self.first = str(func)
        return result


def first_node(loss: torch.Tensor) -> str | None:
    """Call loss.backward(), and return the name of the first node that makes a NaN, or None."""
    found: list[str] = []
    seen: set[Any] = {None}
    todo: list[Any] = [loss.grad_fn]

    def look(node: Any, grad_inputs: object, grad_outputs: object) -> None:
        if has_nan(grad_inputs) and not has_nan(grad_outputs):
            found.append(node.name())

    handles = []
    while todo:
        if (node := todo.pop()) not in seen:
            seen.add(node)
            handles.append(node.register_hook(partial(look, node)))
            todo += [following for following, _ in node.next_functions]
    try:
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else None
