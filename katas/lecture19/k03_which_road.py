"""Find out which operators nn.MultiheadAttention runs.

One line of Python, and three code paths below it. Which one does each of these take?

    train            mha(x, x, x)                              ?
    train            mha(x, x, x, need_weights=False)          ?
    eval, no_grad    mha(x, x, x)                              ?
    eval, no_grad    mha(x, x.clone(), x.clone())              ?

1. `Operators` records what is dispatched.
2. `road` names the path that a call took.
3. `attend` takes the fused path in training. About 8 lines in all.

Guess first. Then run `road` for the table.
Afterwards read ``MultiheadAttention.forward`` in ``torch/nn/modules/activation.py``, in
site-packages: it collects reasons in `why_not_fast_path`.
"""

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
        # TODO
        raise NotImplementedError("__torch_dispatch__")


def road(call: Callable[[], object]) -> str:
    """Return "native", "fused" or "separate", depending on the operators of one call.

    The path is "native" if one operator is `_native_multi_head_attention`, else "fused" if one has
    `scaled_dot_product` in its name, else "separate": products and a softmax.
    """
    # TODO
    raise NotImplementedError("road")


def attend(mha: nn.MultiheadAttention, query: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """Return the output when query attends to memory: a tensor, not MHA's tuple.

    The path is "fused" in training without dropout.
    """
    # TODO: one argument decides.
    raise NotImplementedError("attend")
