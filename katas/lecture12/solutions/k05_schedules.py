"""Write a chain of learning-rate schedules, and resume it."""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence

    from torch.optim import Optimizer


def warmup(start: float, total: int) -> Callable[[int], float]:
    """Return the factor of ``LinearLR(optimizer, start, total_iters=total)``. Given."""
    return lambda t: start + (1 - start) * min(t, total) / total


def cosine(total: int) -> Callable[[int], float]:
    """Return the factor of ``CosineAnnealingLR(optimizer, total)``. Given."""
    return lambda t: (1 + math.cos(math.pi * t / total)) / 2


def exponential(gamma: float) -> Callable[[int], float]:
    """Return the factor of ``ExponentialLR(optimizer, gamma)``. Given."""
    return lambda t: gamma**t


class Schedule:
    """Multiplies each group's lr, so that it is base * factor(t) unless something else sets it."""

    def __init__(self, optimizer: Optimizer, factor: Callable[[int], float]) -> None:
        """Record each lr as its base, unless a schedule already did; then multiply. Given."""
        self.optimizer, self.factor, self.t = optimizer, factor, 0
        groups = optimizer.param_groups
        self.base_lrs = [group.setdefault("initial_lr", group["lr"]) for group in groups]
        for group in groups:
            group["lr"] *= factor(0)

    def restart(self) -> None:
        """Go back to t = 0 with the closed form, whatever the lr was. Given."""
        self.t = 0
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base * self.factor(0)

    def step(self) -> None:
        """Advance t, and update the lr of each group with the chained form."""
        self.t += 1
        before, now = self.factor(self.t - 1), self.factor(self.t)
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = group["lr"] * now / before if before else base * now


class Sequential:
    """Runs schedules one after the other; the next one begins at each milestone."""

    def __init__(self, schedules: Sequence[Schedule], milestones: Sequence[int]) -> None:
        """Begin with the first; its restart undoes what the constructors multiplied. Given."""
        self.schedules, self.milestones, self.t = list(schedules), list(milestones), 0
        self.schedules[0].restart()

    def step(self) -> None:
        """Advance t; at a milestone restart the next schedule, otherwise step the current one."""
        self.t += 1
        schedule = self.schedules[bisect_right(self.milestones, self.t)]
        if self.t in self.milestones:
            schedule.restart()
        else:
            schedule.step()

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as numbers, lists and dicts that JSON can hold."""
        return {"t": self.t, "schedules": [(each.t, [*each.base_lrs]) for each in self.schedules]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from where `state_dict` was called; change neither any lr nor `state`."""
        self.t = state["t"]
        for schedule, saved in zip(self.schedules, state["schedules"], strict=True):
            schedule.t, schedule.base_lrs = saved
