"""A gradient scaler: keep the scale as large as possible, and skip a step now and then."""

from __future__ import annotations

import torch


class Scaler:
    """Scales the loss for one optimizer. The number `scale` grows and shrinks."""

    def __init__(self, scale: float = 2.0**16, growth_interval: int = 2000) -> None:
        self.scale, self.growth_interval = scale, growth_interval
        # Good steps since the scale last changed; and for this step, what `unscale` did and found.
        self.good = 0
        self.unscaled = self.found_inf = False

    def scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss on which to call backward. Given."""
        return loss * self.scale

    @torch.no_grad()
    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide each ``.grad`` of the optimizer by the scale, in place, and record inf and NaN."""
        if self.unscaled:
            return
        self.unscaled = True
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad /= self.scale
                    self.found_inf |= not parameter.grad.isfinite().all()

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Unscale unless done already; call ``optimizer.step()`` if all gradients are finite."""
        self.unscale(optimizer)
        if not self.found_inf:
            optimizer.step()

    def update(self) -> None:
        """Halve the scale if inf or NaN was found; double it after `growth_interval` good steps."""
        self.good = 0 if self.found_inf else self.good + 1
        if self.found_inf:
            self.scale *= 0.5
        elif self.good == self.growth_interval:
            self.scale *= 2
            self.good = 0
        self.unscaled = self.found_inf = False
