"""Find out whose dice they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.func import vmap


if TYPE_CHECKING:
    from collections.abc import Callable

    Play = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def crowd(play: Play, policy: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Return the score of one policy from each state, [states]; each state gets its own noise."""
    return vmap(play, (None, 0), randomness="different")(policy, states)


def fair(play: Play, policies: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Return the scores [policies, states], where policies get the same noise in a state."""
    return vmap(crowd, (None, 0, None), randomness="same")(play, policies, states)


def coupled(chances: torch.Tensor) -> torch.Tensor:
    """Return a bool per probability, True with that probability, all from one random number."""
    return vmap(lambda chance: torch.rand(()) < chance, randomness="same")(chances)
