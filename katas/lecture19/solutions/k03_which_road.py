"""Find out which operators nn.MultiheadAttention runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import nn


class Operators(TorchDispatchMode):
    """Records the names of the operators that run in its ``with``, such as "aten.mm.default"."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Record str(func), and run the operator."""
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def road(call: Callable[[], object]) -> str:
    """Return "native", "fused" or "separate", depending on the operators of one call.

    The path is "native" if one operator is `_native_multi_head_attention`, else "fused" if one has
    `scaled_dot_product` in its name, else "separate": products and a softmax.
    """
    with Operators() as seen:
        call()
    if any("_native_multi_head_attention" in name for name in seen.names):
        return "native"
    return "fused" if any("scaled_dot_product" in name for name in seen.names) else "separate"


def attend(mha: nn.MultiheadAttention, query: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """Return the output when query attends to memory: a tensor, not MHA's tuple.

    The path is "fused" in training without dropout.
    """
    return mha(query, memory, memory, need_weights=False)[0]
