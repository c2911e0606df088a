"""A gradient scaler: as large as it can be, and a step skipped now and then.

In float16 a gradient of 1e-8 is 0. So the loss is multiplied by 65536 before backward, and the
gradients are divided by it before the step. Too large a factor makes an inf, which costs one step:

    step     1    2    3    4    5         growth_interval=2
    grads    ok   ok   inf  ok   ok
    scale    8    8    16   8    8    16

Write `unscale`, `step` and `update` like those of ``torch.amp.GradScaler``, about 15 lines in all.

Begin with `update`: what are the two numbers that it has to remember?
Afterwards read ``torch/amp/grad_scaler.py``, in site-packages.

Real life differs: there the search for inf waits for no GPU until the step, several optimizers
share a scaler, and a second ``unscale_`` before ``update`` is an error.
"""

from __future__ import annotations

import torch


class Scaler:
    """Scales the loss for one optimizer. `scale`, the number, grows and shrinks."""

    def __init__(self, scale: float = 2.0**16, growth_interval: int = 2000) -> None:
        self.scale, self.growth_interval = scale, growth_interval
        # Good steps since the scale has changed; and of this step, what `unscale` has found.
        self.good = 0
        self.unscaled = self.found_inf = False

    def scaled(self, loss: torch.Tensor) -> torch.Tensor:
        """Return the loss to call backward of. Given."""
        return loss * self.scale

    @torch.no_grad()
    def unscale(self, optimizer: torch.optim.Optimizer) -> None:
        """Divide each ``.grad`` of the optimizer by the scale, in place; note inf and NaN.

        Called again before `update`, it does nothing. A parameter may have no gradient.
        """
        # TODO: the parameters are in optimizer.param_groups.
        raise NotImplementedError("unscale")

    def step(self, optimizer: torch.optim.Optimizer) -> None:
        """Unscale, unless that is done, and call ``optimizer.step()`` if all is finite."""
        # TODO: a single inf anywhere skips the whole step.
        raise NotImplementedError("step")

    def update(self) -> None:
        """Halve the scale if inf or NaN was found; after `growth_interval` good steps double it.

        The good steps must follow one another, and are counted anew after each change of the scale.
        Then the scaler is ready for the next step.
        """
        # TODO: `scale`, `good`, and the flags of this step.
        raise NotImplementedError("update")
