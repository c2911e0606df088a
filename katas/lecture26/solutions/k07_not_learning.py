"""Debug: five agents that do not learn.

Nothing raises, each loss looks right, and no agent improves. Their tickets:

    record      "PPO, one update for each rollout: the policy's gradient is 0, in all layers."
    td_target   "A robot walks until the clock stops it. My critic has learned that its last steps
                 are worth almost nothing, however well it walks."
    reinforce   "Whatever the reward is, my policy becomes uniform."
    critic      "The critic predicts the mean of all returns for every state."
    target_of   "Q-learning diverges. I do have a target network!"

Find and fix the bugs, a line or two each. Return what the docstrings say.

Begin with `record`: compute a PPO ratio from its result, and ask for its gradient.
Afterwards read ``Categorical.sample`` in ``torch/distributions/categorical.py``, in site-packages:
which line cuts the graph?
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import torch
from torch.distributions import Categorical


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping

    from torch import nn


def record(policy: nn.Module, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw actions from the policy; return them and their log-probabilities, for later updates.

    The policy returns logits. The returned log-probabilities stay as they were when the actions
    were drawn.
    """
    choice = Categorical(logits=policy(seen))
    action = choice.sample()
    return action, choice.log_prob(action).detach()


def td_target(
    step: Mapping[str, torch.Tensor], next_value: torch.Tensor, gamma: float
) -> torch.Tensor:
    """Return the reward plus gamma times the value of what would have followed.

    A step has "reward", "terminated", "truncated" and "done"; "done" is true if the step is
    terminated or truncated.
    """
    return step["reward"] + gamma * next_value.detach() * ~step["terminated"]


def reinforce(
    policy: nn.Module,
    seen: torch.Tensor,
    pays: Callable[[torch.Tensor], torch.Tensor],
    bonus: float = 0.01,
) -> torch.Tensor:
    """Return a loss whose gradient makes actions that pay more likely.

    `pays` returns the reward of each action. Subtract `bonus` times the mean entropy of the
    steps from the loss.
    """
    choice = Categorical(logits=policy(seen))
    action = choice.sample()
    return -(choice.log_prob(action) * pays(action) + bonus * choice.entropy()).mean()


def critic(model: nn.Module, seen: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error of the model's values [N, 1] against the targets [N]."""
    return ((model(seen).squeeze(1) - target) ** 2).mean()


def target_of(online: nn.Module) -> nn.Module:
    """Return a copy of `online` that never changes, and that no optimizer trains."""
    return copy.deepcopy(online).eval().requires_grad_(requires_grad=False)
