"""Checkpointing: drop activations in forward, recompute them in backward."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.autograd.graph import saved_tensors_hooks


if TYPE_CHECKING:
    from collections.abc import Callable


def checkpoint(function: Callable[..., torch.Tensor], *inputs: Any) -> torch.Tensor:
    """Return ``function(*inputs)``, with a graph that keeps no tensor made inside the function."""
    state = torch.get_rng_state()
    again: dict[int, torch.Tensor] = {}

    def unpack(number: int) -> torch.Tensor:
        if number not in again:
            numbers = count()
            collect = saved_tensors_hooks(
                lambda tensor: again.__setitem__(next(numbers), tensor.detach()), lambda _: None
            )
            with torch.random.fork_rng(devices=[]), torch.enable_grad(), collect:
                torch.set_rng_state(state)
                function(*inputs)
        return again.pop(number)

    numbers = count()
    with saved_tensors_hooks(lambda _: next(numbers), unpack):
        return function(*inputs)
