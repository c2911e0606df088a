"""Debug the step after the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Callable


# Given: do not change.
class Corridors:
    """Parallel corridors: action 1 moves on by 1, action 0 stays; the reward is the old position.

    A corridor terminates at its end, and is truncated after `limit` steps. The next step resets it:
    the action is ignored, the reward is 0, and the observation starts a new episode.
    """

    def __init__(self, ends: list[int], limit: int) -> None:
        self.ends, self.limit = torch.tensor(ends), limit

    def reset(self) -> torch.Tensor:
        """Begin all episodes, and return their positions: [corridors]."""
        self.place, self.steps = torch.zeros_like(self.ends), torch.zeros_like(self.ends)
        self.over = torch.zeros_like(self.ends, dtype=torch.bool)
        return self.place

    def step(self, action: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return observation, reward, terminated and truncated, each [corridors]."""
        anew, reward = self.over, torch.where(self.over, 0, self.place)
        self.place = torch.where(anew, 0, self.place + action)
        self.steps = torch.where(anew, 0, self.steps + 1)
        terminated = (self.place >= self.ends) & ~anew
        truncated = (self.steps >= self.limit) & ~anew & ~terminated
        self.over = terminated | truncated
        return self.place, reward, terminated, truncated


# The code to mend.
def collect(
    env: Corridors, policy: Callable[[torch.Tensor], torch.Tensor], steps: int
) -> dict[str, torch.Tensor]:
    """Return the transitions of `steps` steps of all environments, in the order of the steps."""
    parts: list[dict[str, torch.Tensor]] = []
    obs = env.reset()
    over = torch.zeros_like(obs, dtype=torch.bool)
    for _ in range(steps):
        action = policy(obs)
        after, reward, terminated, truncated = env.step(action)
        row = {"obs": obs, "action": action, "reward": reward, "next": after, "final": terminated}
        parts.append({name: values[~over] for name, values in row.items()})
        obs, over = after, terminated | truncated
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
