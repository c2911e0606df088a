"""Write Adam and AdamW, bit for bit."""

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
        """Move each parameter in place; skip a parameter whose ``.grad`` is None."""
        for group in self.param_groups:
            (beta1, beta2), lr = group["betas"], group["lr"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state, g = self.state_of(p), p.grad
                m, v = state["exp_avg"], state["exp_avg_sq"]
                state["step"] += 1
                t = state["step"].item()
                if group["decoupled"]:
                    p.mul_(1 - lr * group["weight_decay"])
                elif group["weight_decay"]:
                    g = g.add(p, alpha=group["weight_decay"])
                m.lerp_(g, 1 - beta1)
                v.mul_(beta2).addcmul_(g, g, value=1 - beta2)
                d = (v.sqrt() / (1 - beta2**t) ** 0.5).add_(group["eps"])
                p.addcdiv_(m, d, value=-lr / (1 - beta1**t))
