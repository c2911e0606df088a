"""Promote a model only if it beats the champion: a paired bootstrap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch


if TYPE_CHECKING:
    from collections.abc import Mapping


# The number of resamples of a night's gains.
ROUNDS = 1000


def check(champion: Mapping[str, float], challenger: Mapping[str, float]) -> None:
    """Raise ValueError if there are no examples, or if the models have different ones. Given."""
    if champion.keys() != challenger.keys() or not champion:
        other = sorted(champion.keys() ^ challenger.keys())
        raise ValueError(f"both models need a loss for the same examples; not so for {other}")


def paired(champion: Mapping[str, float], challenger: Mapping[str, float]) -> torch.Tensor:
    """Return the gain on each example, in float64."""
    check(champion, challenger)
    return torch.tensor([champion[key] - challenger[key] for key in champion], dtype=torch.double)


def resampled(gains: torch.Tensor, rounds: int, dice: torch.Generator) -> torch.Tensor:
    """Return the mean gain of each of `rounds` resamples; all randomness comes from `dice`."""
    drawn = torch.randint(len(gains), (rounds, len(gains)), generator=dice)
    return gains[drawn].mean(1)


def beats(means: torch.Tensor, margin: float = 0.0, level: float = 0.05) -> bool:
    """Return whether the share of means that are not above `margin` is at most `level`."""
    return bool((means <= margin).double().mean() <= level)


def promote(
    champion: Mapping[str, float] | None,
    challenger: Mapping[str, float],
    dice: torch.Generator,
    margin: float = 0.0,
) -> bool:
    """Return whether the challenger beats the champion in ROUNDS resamples."""
    if champion is None:
        return True
    return beats(resampled(paired(champion, challenger), ROUNDS, dice), margin)
