"""Promote a model only if it beats the champion, not if it was lucky.

Each night a new model is evaluated on the same examples as the champion. "The lower mean loss wins"
sounds fair, but of two equal models, each wins half of the time.

The losses come in pairs: an example that is hard for one model is hard for both. So look at the
gain on each example, champion - challenger, and ask a bootstrap what the mean gain might have been:
draw as many gains as there are, *with replacement*, take their mean, and repeat.

    gains          0.3  -0.1   0.2          mean  0.133
    a resample    -0.1  -0.1   0.3          mean  0.033
    another       -0.1   0.2  -0.1          mean  0.000   no gain: one of two

1. `paired`: gains from losses by id.
2. `resampled`: the means of many resamples, without a loop.
3. `beats`, `promote`: how often was there no gain? About 8 lines in all.

Begin on paper: how many different means can three gains have?
Afterwards read ``RandomSampler`` in ``torch/utils/data/sampler.py``, in site-packages: what does
`replacement` change about its draws?

Real life differs: of a hundred equal challengers, five are promoted by luck.
"""

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
    """Return the gain on each example, in float64.

    A gain is positive where the challenger's loss is lower. Call `check`. Both models list the same
    ids, in any order; keep the champion's.
    """
    # TODO
    raise NotImplementedError("paired")


def resampled(gains: torch.Tensor, rounds: int, dice: torch.Generator) -> torch.Tensor:
    """Return the mean gain of each of `rounds` resamples; all randomness comes from `dice`.

    A resample has as many gains as `gains`, each drawn from all of them.
    """
    # TODO
    raise NotImplementedError("resampled")


def beats(means: torch.Tensor, margin: float = 0.0, level: float = 0.05) -> bool:
    """Return whether the share of means that are not above `margin` is at most `level`.

    With 100 means and a level of 0.29, up to 29 of them may be at or below `margin`.
    """
    # TODO
    raise NotImplementedError("beats")


def promote(
    champion: Mapping[str, float] | None,
    challenger: Mapping[str, float],
    dice: torch.Generator,
    margin: float = 0.0,
) -> bool:
    """Return whether the challenger beats the champion in ROUNDS resamples.

    If there is no champion yet (None), promote any challenger.
    """
    # TODO
    raise NotImplementedError("promote")
