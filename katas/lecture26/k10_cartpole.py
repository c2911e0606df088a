"""Four thousand poles for the operators of one.

CartPole in Python steps one pole at a time, so a policy tried on a thousand poles waits a thousand
times. Write the step of one pole with tensors, and vmap makes it a step of all poles. One thing is
in the way:

    if action == 1: ...      # vmap: It looks like you're attempting to use a Tensor in some
                             # data-dependent control flow

1. `step`: the given `python_step` as tensors of one pole.
2. `play`: a linear policy, which pushes right where ``state @ weights > 0``, on a batch of poles.
3. `search`: many policies on many poles, with vmap over `play`.

- As many operators for 4096 poles as for one, and for 64 policies as for one: loop over time only.

Begin with the if: which operator chooses, for each pole?
Afterwards read ``vmap`` in ``torch/_functorch/apis.py``, in site-packages. Real life differs:
simulators of thousands of robots run on the GPU, and restart fallen ones.
"""

from __future__ import annotations

import math

import torch
from torch.func import vmap


GRAVITY, POLE, TOTAL, HALF, FORCE, TAU = 9.8, 0.1, 1.1, 0.5, 10.0, 0.02
FAR, TILTED = 2.4, 12 * math.pi / 180


# Given: the physics of one pole, in Python numbers. Read the code, but do not change it.
def python_step(
    state: tuple[float, float, float, float], action: int
) -> tuple[tuple[float, float, float, float], bool]:
    """Push right (1) or left (0) for 0.02 s; return the state, and whether the episode ended."""
    x, speed, angle, turn = state
    force = FORCE if action == 1 else -FORCE
    cos, sin = math.cos(angle), math.sin(angle)
    push = (force + POLE * HALF * turn**2 * sin) / TOTAL
    bend = (GRAVITY * sin - cos * push) / (HALF * (4 / 3 - POLE * cos**2 / TOTAL))
    x, speed = x + TAU * speed, speed + TAU * (push - POLE * HALF * bend * cos / TOTAL)
    angle, turn = angle + TAU * turn, turn + TAU * bend
    return (x, speed, angle, turn), abs(x) > FAR or abs(angle) > TILTED


# The exercise.
def step(state: torch.Tensor, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the next state, [4], and whether the episode ended, a bool without a dim.

    `state` is [4] of any float dtype; keep the dtype. `action` is 0 or 1, or a bool.
    """
    # TODO
    raise NotImplementedError("step")


def play(weights: torch.Tensor, states: torch.Tensor, steps: int) -> torch.Tensor:
    """Return how many steps each pole stands, int64 of [poles].

    The step in which a pole falls counts, as its reward does in Gymnasium. A fallen pole stays
    fallen, even if the physics brings it back. A pole that stands after `steps` steps scores
    `steps`.
    """
    # TODO: weights is [4], states [poles, 4].
    raise NotImplementedError("play")


def search(candidates: torch.Tensor, states: torch.Tensor, steps: int) -> torch.Tensor:
    """Return the candidate whose poles stand longest, by the sum over all states.

    `candidates` is [policies, 4]; each is tried on all states. Among equal sums the first wins.
    """
    # TODO
    raise NotImplementedError("search")
