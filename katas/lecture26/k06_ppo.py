"""PPO's clipped loss: which steps still have a gradient.

One rollout serves several updates, and after the first the policy has changed. PPO weighs each step
with ratio = pi / pi_old, and pays no more once the ratio has moved far enough the way that the
advantage A asks for:

    gain = min(ratio A, clamp(ratio, 1 - clip, 1 + clip) A)        loss = - mean of the gains

              A > 0                           A < 0
    gain           .-------         gain  -------.
                 .'                               '.
               .'                                   '.
    ratio      1   1 + clip         ratio   1 - clip   1

Where the gain is flat, a step has no gradient. Beyond the other bound it has one: a step that went
the wrong way is pulled back. That is what ``min`` is for.

1. `loss`.
2. `slope`: its derivative for each log_prob, by a formula and without autograd. The given `Clipped`
   uses it as its backward.

Begin on paper, with clip 0.2: which of A = 1 and A = -1 pulls at ratio 0.5, and which at 1.5?
Afterwards read ``minimum`` in ``tools/autograd/derivatives.yaml``: what happens if both are equal?
"""

from __future__ import annotations

from typing import Any

import torch


def loss(
    log_prob: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor, clip: float
) -> torch.Tensor:
    """Return the loss, a scalar.

    The first three arguments have the same shape: log pi, log pi_old and the advantages. `old` and
    `advantage` are constants: no gradient flows to them, even if they require grad.
    """
    # TODO
    raise NotImplementedError("loss")


def slope(
    log_prob: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor, clip: float
) -> torch.Tensor:
    """Return the derivative of the loss with respect to each log_prob, in its shape.

    At a bound itself the loss has a kink, and either of the two slopes will do.
    """
    # TODO: what is the derivative of exp(log_prob - old)?
    raise NotImplementedError("slope")


class Clipped(torch.autograd.Function):
    """The loss, with `slope` in place of autograd. Given."""

    @staticmethod
    def forward(
        ctx: Any, log_prob: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor, clip: float
    ) -> torch.Tensor:
        """Return the loss."""
        ctx.save_for_backward(log_prob, old, advantage)
        ctx.clip = clip
        return loss(log_prob, old, advantage, clip)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        """Return a gradient for the new log-probabilities only."""
        return grad * slope(*ctx.saved_tensors, ctx.clip), None, None, None
