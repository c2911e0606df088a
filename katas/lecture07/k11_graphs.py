"""A CUDA graph in miniature: record the launches of a run, and launch them again.

In a small model, launching kernels from Python takes longer than running them.
``torch.cuda.CUDAGraph`` records each launch with its addresses; a replay launches all of them
again, without running a line of Python:

    x = torch.ones(2)                     the static input
    graph = Graph()
    y = graph.capture(lambda: x * 3)      y is [3, 3]
    x.fill_(5)
    graph.replay()                        y is [15, 15], in its old place

Here a launch is an operator on the CPU, and a dispatch mode sees it. Write `capture` and `replay`,
about 12 lines in all.

Begin with a mode that prints: which operators does ``x.t().relu_()`` run?
Afterwards read ``CUDAGraph`` in ``torch/cuda/graphs.py``, in site-packages.

Real life differs: a real capture only records, and takes memory from its own pool. This model has
neither streams nor that pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class Recorder(TorchDispatchMode):
    """Lists each operator that runs inside: function, arguments, keywords and result. Given."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Callable, tuple, dict, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator and record it."""
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result


def tensors_of(result: object) -> list[torch.Tensor]:
    """Return the tensors of an operator's result: one, several, or none. Given."""
    every = result if isinstance(result, tuple | list) else [result]
    return [each for each in every if isinstance(each, torch.Tensor)]


class Graph:
    """The launches recorded in one run, for replay."""

    def __init__(self) -> None:
        self.calls: list[tuple[Callable, tuple, dict, Any]] = []

    def capture(self, work: Callable[[], T]) -> T:
        """Run `work` once without autograd, keep its operators, and return its result.

        A later capture replaces an earlier one.
        """
        # TODO: the Recorder records what replay needs.
        raise NotImplementedError("capture")

    def replay(self) -> None:
        """Run the operators again, on the current values of their arguments.

        Write each result into the tensor that held it at the capture, so that a tensor returned
        then now holds the new values. Do not call `work`.
        """
        # TODO: where must the result of a call be before the next call reads it?
        raise NotImplementedError("replay")
