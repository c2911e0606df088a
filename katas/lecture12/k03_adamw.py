"""Write Adam and AdamW, bit for bit.

Scale the loss by 1000: Adam's steps hardly change, but its weight decay shrinks to a thousandth.
Adam adds the decay to the gradient and divides both by the size of the gradients. AdamW subtracts
the decay from the parameter, undivided. The two differ in one line:

    t = t + 1
    Adam:  g = grad + weight_decay p          AdamW:  p = (1 - lr weight_decay) p
    m = m + (1 - beta1) (g - m)               lerp
    v = beta2 v + (1 - beta2) g g             addcmul
    d = sqrt(v) / (1 - beta2^t)^0.5 + eps     sqrt, div, add
    p = p - lr / (1 - beta1^t) m / d          addcdiv

In the parameter's state, t, m and v are called "step", "exp_avg" and "exp_avg_sq". For the powers
of beta, take t as a number: ``.item()``.

1. Write `step` for ``weight_decay=0``. The operators on the right round as PyTorch does.
2. Add both decays.

Begin on paper, with numbers: show that at t = 1 and g = 5, p moves by lr.
Afterwards read ``_single_tensor_adam`` in ``torch/optim/adam.py``, in site-packages; then: where is
the step of ``torch/optim/adamw.py``?
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable


class Adam(torch.optim.Optimizer):  # type: ignore[misc, unused-ignore]
    """Adam, or AdamW in a group with ``decoupled=True``."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        decoupled: bool = False,
    ) -> None:
        """Store the defaults of the groups. Given."""
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"decoupled": decoupled})

    def state_of(self, p: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return the state of a parameter, which starts as zeros. Given."""
        state: dict[str, torch.Tensor] = self.state[p]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_avg_sq"] = torch.zeros_like(p)
        return state

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override, unused-ignore]
        """Move each parameter in place; skip a parameter whose ``.grad`` is None.

        Neither change nor replace the gradients. Count "step" in place.
        """
        # TODO: loop over the groups, inside over group["params"], and apply the formulas.
        raise NotImplementedError("Adam.step")
