"""A gradient scaler: keep the scale as large as possible, and skip a step now and then.

In float16 a gradient of 1e-8 is 0. So multiply the loss by 65536 before backward, and divide the
gradients by it before the step. If the factor is too large, a gradient becomes inf, which costs
one step:

    step     1    2    3    4    5         growth_interval=2
    grads    ok   ok   inf  ok   ok
    scale    8    8    16   8    8    16

Write `unscale`, `step` and `update` like those of ``torch.amp.GradScaler``, about 15 lines in all.

Begin with `update`: which two numbers does it have to remember?
Afterwards read ``torch/amp/grad_scaler.py``, in site-packages.

Real life differs: there the check for inf does not wait for the GPU before the step, several
optimizers share a scaler, and a second ``unscale_`` before ``update`` is an error.
"""

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
        """Divide each ``.grad`` of the optimizer by the scale, in place, and record inf and NaN.

        Called again before `update`, it does nothing. A parameter may have no gradient.
        """
        # TODO: the parameters are in optimizer.param_groups.
        raise NotImplementedError("unscale")

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Unscale unless done already; call ``optimizer.step()`` if all gradients are finite."""
        # TODO: a single inf anywhere skips the whole step.
        raise NotImplementedError("step")

    def update(self) -> None:
        """Halve the scale if inf or NaN was found; double it after `growth_interval` good steps.

        The good steps must be consecutive; restart the count whenever the scale changes. Then get
        ready for the next step.
        """
        # TODO: `scale`, `good`, and the flags of this step.
        raise NotImplementedError("update")
