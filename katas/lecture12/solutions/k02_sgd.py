"""Write SGD, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch


if TYPE_CHECKING:
    from collections.abc import Iterable


class SGD(torch.optim.Optimizer):  # type: ignore[misc, unused-ignore]
    """Stochastic gradient descent; each group has its own settings."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        *,
        nesterov: bool = False,
    ) -> None:
        """Store the defaults. (PyTorch rejects Nesterov with dampening or no momentum.) Given."""
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening}
        super().__init__(params, defaults | {"weight_decay": weight_decay, "nesterov": nesterov})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override, unused-ignore]
        """Move each parameter in place; skip a parameter whose ``.grad`` is None."""
        for group in self.param_groups:
            momentum = group["momentum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                g = p.grad
                if group["weight_decay"]:
                    g = g.add(p, alpha=group["weight_decay"])
                if momentum:
                    state = self.state[p]
                    if "momentum_buffer" in state:
                        b = state["momentum_buffer"]
                        b.mul_(momentum).add_(g, alpha=1 - group["dampening"])
                    else:
                        b = state["momentum_buffer"] = g.clone()
                    g = g.add(b, alpha=momentum) if group["nesterov"] else b
                p.add_(g, alpha=-group["lr"])
