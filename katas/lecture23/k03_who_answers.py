"""Find the operator that answers scaled_dot_product_attention.

One function, several implementations: a fused operator that never writes down the score matrix, or
"math", about twenty operators that do. Each call chooses one silently.

1. `Names`: a mode that records what runs.
2. `answer`: which operator ran?
3. `fast`: one key head for all queries loses the fused operator. Win it back.

Begin with dropout, a mask that requires a gradient, or q without a batch.
Afterwards read ``torch/utils/_python_dispatch.py``, in site-packages.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode


class Names(TorchDispatchMode):
    """Records the operators that run in its ``with``, such as "aten.mul.Scalar", in `names`."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Record ``str(func)``, and return what the operator returns."""
        # TODO
        raise NotImplementedError("__torch_dispatch__")


def answer(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, **options: Any) -> str:
    """Return the full name of the "...scaled_dot_product..." operator that ran, or "math".

    Inference mode is excluded: there the function is not decomposed.
    """
    # TODO
    raise NotImplementedError("answer")


def fast(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Return the attention of q [B, H, L, E] to k and v [B, 1, S, E], without copying a key."""
    # TODO: keys that seem to have H heads.
    raise NotImplementedError("fast")
