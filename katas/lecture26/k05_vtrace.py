"""Learn from steps that an older policy took: V-trace, with its two clips.

A hundred actors play with a policy some updates old: mu chose the action, pi is the policy you
train. A weight pi / mu is how much more often pi would have chosen it. Unclipped, the product of
weights over an episode explodes; so they are clipped, once for each of two tasks:

    rho = min(pi / mu, rho_max)      how much a step's own surprise counts
    c   = min(pi / mu, c_max)        how far what comes later flows back

    delta  = rho (reward + gamma V' - V)               V' = 0 if terminated
    target = V + delta + gamma c (the next step's target - its V)

    advantage = rho (reward + gamma (what follows) - V)

What follows is the next step's target, or V' where the row has no next step of this episode. After
a terminated step it is 0.

1. `weights`: rho and c, from log-probabilities.
2. `vtrace`: advantage and target, without a gradient.

Begin on paper: if pi is mu, and both clips are 1, which estimator is left?
Afterwards read ``clamp`` in ``torch/_torch_docs.py``, and try what it does not say: what happens to
a NaN among the weights?
"""

from __future__ import annotations

from typing import NamedTuple

import torch


class Rollout(NamedTuple):
    """Steps [..., time]; the last two are bool, and a terminated step is also done. Given.

    Numbers are finite, except that V' of a terminated step may be NaN or infinite.
    """

    reward: torch.Tensor
    value: torch.Tensor
    next_value: torch.Tensor
    terminated: torch.Tensor
    done: torch.Tensor


def weights(
    log_pi: torch.Tensor, log_mu: torch.Tensor, rho_max: float, c_max: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return rho and c, without a gradient."""
    # TODO
    raise NotImplementedError("weights")


def vtrace(
    rollout: Rollout, rho: torch.Tensor, c: torch.Tensor, gamma: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the advantage and the critic's target, [..., time], without a gradient."""
    # TODO: first the targets, from the last step to the first. The last has no next step.
    raise NotImplementedError("vtrace")
