"""Write a chain of learning-rate schedules, and resume it.

You halve the lr by hand at step 400, and the schedule continues from there; at the next milestone
your edit is lost. Most of PyTorch's schedulers store no curve, but multiply ``group["lr"]``:

    chained      lr = lr * factor(t) / factor(t - 1)      each step
    closed form  lr = base_lr * factor(t)                 at a milestone, with t = 0

    milestones = [3, 5]      t      0 1 2 | 3 4 | 5 6 7
                             own t  0 1 2 | 0 1 | 0 1 2

So two schedules on one optimizer multiply, and a checkpoint needs two parts: the optimizer's
state_dict holds the lr, the schedule's holds t. Constructors write the lr: first build, then load
both.

1. `Schedule.step`: chained, but if the previous factor was 0, the closed form with this t.
2. `Sequential.step`: step or restart the current schedule; leave the others alone.
3. The state, base_lrs included.

Begin on paper: exponential(0.5), lr 1.0, and 8.0 set by hand after a step. What are the next two
lrs?
Afterwards read ``SequentialLR`` in ``torch/optim/lr_scheduler.py``, in site-packages.
"""

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
        # TODO
        raise NotImplementedError("Schedule.step")


class Sequential:
    """Runs schedules one after the other; the next one begins at each milestone."""

    def __init__(self, schedules: Sequence[Schedule], milestones: Sequence[int]) -> None:
        """Begin with the first; its restart undoes what the constructors multiplied. Given."""
        self.schedules, self.milestones, self.t = list(schedules), list(milestones), 0
        self.schedules[0].restart()

    def step(self) -> None:
        """Advance t; at a milestone restart the next schedule, otherwise step the current one."""
        # TODO: bisect_right(milestones, t) is the index of the current schedule.
        raise NotImplementedError("Sequential.step")

    def state_dict(self) -> dict[str, Any]:
        """Return what a resumed run needs, as numbers, lists and dicts that JSON can hold.

        The returned state must not change when the schedule continues.
        """
        # TODO
        raise NotImplementedError("Sequential.state_dict")

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from where `state_dict` was called; change neither any lr nor `state`.

        The schedules must have been built with the same factors.
        """
        # TODO
        raise NotImplementedError("Sequential.load_state_dict")
