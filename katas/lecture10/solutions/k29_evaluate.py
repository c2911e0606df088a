"""Run all iterations at once."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch

from katas.lecture10.loops import OPERATIONS
from katas.lecture10.loops import REDUCTIONS
from katas.lecture10.loops import Handler
from katas.lecture10.loops import Reduction
from katas.lecture10.loops import handling


if TYPE_CHECKING:
    from collections.abc import Mapping

    from katas.lecture10.loops import Pointwise


class Evaluate(Handler):
    """A value is a tensor of all iterations, with size 1 along each loop it does not depend on."""

    def __init__(self, memory: Mapping[str, torch.Tensor]) -> None:
        self.memory = memory

    def load(self, name: str, index: Any) -> torch.Tensor:
        """Return the elements of a flat tensor at `index`."""
        return self.memory[name][index]

    def default(self, name: str, args: tuple[Any, ...]) -> torch.Tensor:
        """Return the result of the function in `OPERATIONS` for the arguments."""
        return OPERATIONS[name][0](*args)


def evaluate(kernel: Pointwise | Reduction, memory: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Return the kernel's result, computed by torch, all iterations at once."""
    rank = len(kernel.loops)
    # A loop's variable is a tensor that holds all its values, along a dim of its own.
    variables = [
        torch.arange(times).reshape([-1 if dim == place else 1 for dim in range(rank)])
        for place, times in enumerate(kernel.loops)
    ]
    with handling(Evaluate(memory)):
        value = kernel.body(variables).expand(kernel.loops)
    if isinstance(kernel, Reduction):
        value = REDUCTIONS[kernel.kind][0](value, tuple(range(len(kernel.size), rank)))
    return value.clone(memory_format=torch.contiguous_format)
