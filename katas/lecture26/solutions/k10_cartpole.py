"""Four thousand poles for the operators of one."""

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
    """Return the next state, [4], and whether the episode ended, a bool without a dim."""
    x, speed, angle, turn = state.unbind()
    force = torch.where(action == 1, FORCE, -FORCE).to(state.dtype)
    cos, sin = angle.cos(), angle.sin()
    push = (force + POLE * HALF * turn**2 * sin) / TOTAL
    bend = (GRAVITY * sin - cos * push) / (HALF * (4 / 3 - POLE * cos**2 / TOTAL))
    x, speed = x + TAU * speed, speed + TAU * (push - POLE * HALF * bend * cos / TOTAL)
    angle, turn = angle + TAU * turn, turn + TAU * bend
    ended = (x.abs() > FAR) | (angle.abs() > TILTED)
    return torch.stack([x, speed, angle, turn]), ended


def play(weights: torch.Tensor, states: torch.Tensor, steps: int) -> torch.Tensor:
    """Return how many steps each pole stands, int64 of [poles]."""
    alive = torch.ones_like(states[:, 0], dtype=torch.bool)
    score = torch.zeros_like(alive, dtype=torch.int64)
    for _ in range(steps):
        score = score + alive
        states, ended = vmap(step)(states, states @ weights > 0)
        alive = alive & ~ended
    return score


def search(candidates: torch.Tensor, states: torch.Tensor, steps: int) -> torch.Tensor:
    """Return the candidate whose poles stand longest, by the sum over all states."""
    scores = vmap(play, (0, None, None))(candidates, states, steps)
    return candidates[scores.sum(1).argmax()]
