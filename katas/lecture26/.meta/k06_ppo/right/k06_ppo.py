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

Where the gain is flat, a step has no gradient. Beyond the other bound it has: a step that went the
wrong way is pulled back. That is what ``min`` is for.

1. `loss`.
2. `slope`: its derivative by each log_prob, by a formula and without autograd. `Clipped`, which is
   given, uses it as its backward.

Begin on paper, with clip 0.2: which of A = 1 and A = -1 pulls at ratio 0.5, and which at 1.5?
Afterwards read ``minimum`` in ``tools/autograd/derivatives.yaml``: what becomes of equal ones?
"""

from __future__ import annotations

from typing import Any

import torch


def loss(
    log_prob: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor, clip: float
) -> torch.Tensor:
    """Return the loss, a scalar.

    The first three arguments have one shape: log pi, log pi_old and the advantages. `old` and
    `advantage` are numbers to it: whatever they require, it has no gradient for them.
    """
    advantage = advantage.detach()
    ratio = (log_prob - old.detach()).exp()
    most, least = ratio.clamp(max=1 + clip), ratio.clamp(min=1 - clip)
    return -(torch.where(advantage > 0, most, least) * advantage).mean()


def slope(
    log_prob: torch.Tensor, old: torch.Tensor, advantage: torch.Tensor, clip: float
) -> torch.Tensor:
    """Return the derivative of the loss by each log_prob, in its shape.

    At a bound itself the loss has a kink, and either of the two slopes will do.
    """
    ratio = (log_prob - old).exp()
    flat = torch.where(advantage > 0, ratio > 1 + clip, ratio < 1 - clip)
    return (-ratio * advantage / ratio.numel()).masked_fill(flat, 0)


class Clipped(torch.autograd.Function):
    """The loss, with `slope` in the place of autograd. Given."""

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
        """Return the gradient of the new log-probabilities alone."""
        return grad * slope(*ctx.saved_tensors, ctx.clip), None, None, None
