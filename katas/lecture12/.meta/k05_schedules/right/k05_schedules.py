"""Write a chain of learning-rate schedules, and resume it."""

from __future__ import annotations

import math
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
    """Multiplies the lr of each group, so that it is base * factor(t) if others leave it alone."""

    def __init__(self, optimizer: Optimizer, factor: Callable[[int], float]) -> None:
        """Record each lr as its base, unless a schedule already did; then multiply. Given."""
        self.optimizer, self.factor, self.t = optimizer, factor, 0
        groups = optimizer.param_groups
        self.base_lrs = [group.setdefault("initial_lr", group["lr"]) for group in groups]
        for group in groups:
            group["lr"] *= factor(0)

    def restart(self) -> None:
        """Go back to t = 0 by the closed form: whatever the lr was is gone. Given."""
        self.t = 0
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = base * self.factor(0)

    def step(self) -> None:
        """Go to the next t, and change the lr of each group, chained."""
        old, self.t = self.factor(self.t), self.t + 1
        new = self.factor(self.t)
        for number, group in enumerate(self.optimizer.param_groups):
            group["lr"] = self.base_lrs[number] * new if old == 0 else group["lr"] * (new / old)


class Sequential:
    """The schedules of an optimizer one after the other; the next begins at each milestone."""

    def __init__(self, schedules: Sequence[Schedule], milestones: Sequence[int]) -> None:
        """Begin with the first, whose restart overwrites what building has multiplied. Given."""
        self.schedules, self.milestones, self.t = list(schedules), list(milestones), 0
        self.schedules[0].restart()

    def step(self) -> None:
        """Go to the next t; at a milestone restart a schedule, else step it."""
        self.t += 1
        turn = sum(milestone <= self.t for milestone in self.milestones)
        move = Schedule.restart if self.t in self.milestones else Schedule.step
        move(self.schedules[turn])

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, in numbers, lists and dicts that JSON can hold."""
        return {
            "t": self.t,
            "own": [schedule.t for schedule in self.schedules],
            "bases": [list(schedule.base_lrs) for schedule in self.schedules],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where `state_dict` was called: no lr changes, and `state` stays as it is."""
        self.t = state["t"]
        for schedule, own, bases in zip(self.schedules, state["own"], state["bases"], strict=True):
            schedule.t, schedule.base_lrs = own, list(bases)
