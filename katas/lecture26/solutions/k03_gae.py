"""Tell an episode that ended from one that was cut off.

The agent falls: nothing comes after, whatever the critic says of a robot on the floor. That step is
terminated. Or the clock runs out: more would have come, and the critic's value stands in for it.
Both are done: the next column belongs to another episode, and nothing of it may leak back.

    step           0        1        2   |   3        4   |
    done           .        .        x   |   .        .   |
    what follows   step 1   step 2   V'  |   step 4   V'  |

V' is `next_value`: the critic's value of what was seen after the step, before any reset. Where a
step is terminated, V' counts as 0. The last column has no next column: V' follows it.

1. `returns`: the reward, plus gamma times what follows: the return of the next step, or V'.
2. `gae`: delta = reward + gamma V' - value. The advantage is delta, plus gamma lam times the next
   step's advantage, unless the step is done or the last; the target is advantage + value.

Both are numbers for a loss: no gradient flows through them.

Begin on paper: the picture's returns, with rewards 1, V' 8 and gamma 0.5.
Afterwards read ``no_grad`` in ``torch/autograd/grad_mode.py``.
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


@torch.no_grad()
def returns(rollout: Rollout, gamma: float) -> torch.Tensor:
    """Return the discounted return of each step, [..., time]."""
    found = torch.empty_like(rollout.reward)
    after = rollout.next_value[..., -1]
    for t in reversed(range(found.shape[-1])):
        after = torch.where(rollout.done[..., t], rollout.next_value[..., t], after)
        after = torch.where(rollout.terminated[..., t], 0, after)
        after = found[..., t] = rollout.reward[..., t] + gamma * after
    return found


@torch.no_grad()
def gae(rollout: Rollout, gamma: float, lam: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the advantage and the critic's target, [..., time]."""
    following = torch.where(rollout.terminated, 0, rollout.next_value)
    found = rollout.reward + gamma * following - rollout.value
    for t in reversed(range(found.shape[-1] - 1)):
        found[..., t] += gamma * lam * torch.where(rollout.done[..., t], 0, found[..., t + 1])
    return found, found + rollout.value
