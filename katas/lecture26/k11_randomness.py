"""Find out whose dice they are.

You compare two policies on ten noisy poles. One wins: is it better, or luckier? Give both the same
noise, and the comparison needs far fewer poles. But vmap draws no random number unless you say who
shares it:

    vmap(lambda s: s + torch.randn(()))(torch.zeros(3))      # RuntimeError: vmap: called random
    vmap(torch.bernoulli, randomness="same")(torch.rand(3))  # and this one?

1. `crowd` and `fair`: call `play` once each.
2. `coupled`: n probabilities, one draw.

Begin with both lines, and ``randomness="different"``.
Afterwards read ``randomness`` in ``torch/_functorch/apis.py``, in site-packages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.func import vmap


if TYPE_CHECKING:
    from collections.abc import Callable

    Play = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def crowd(play: Play, policy: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Return the score of one policy from each state, [states]; each state gets its own noise.

    ``play(policy, state)`` draws random numbers and returns a score without a dim.
    """
    # TODO
    raise NotImplementedError("crowd")


def fair(play: Play, policies: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """Return the scores [policies, states], where policies get the same noise in a state.

    Different states get different noise.
    """
    # TODO
    raise NotImplementedError("fair")


def coupled(chances: torch.Tensor) -> torch.Tensor:
    """Return a bool per probability, True with that probability, all from one random number.

    So if the bool for one probability is True, so is the bool for every larger one.
    """
    # TODO: chances is [n], between 0 and 1.
    raise NotImplementedError("coupled")
