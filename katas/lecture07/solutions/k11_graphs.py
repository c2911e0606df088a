"""A CUDA graph in miniature: record the launches of a run, and launch them again."""

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
        """Run `work` once without autograd, keep its operators, and return its result."""
        with torch.no_grad(), Recorder() as recorder:
            result = work()
        self.calls = recorder.calls
        return result

    def replay(self) -> None:
        """Run the operators again, on the current values of their arguments."""
        with torch.no_grad():
            for func, args, kwargs, result in self.calls:
                again = func(*args, **kwargs)
                for old, new in zip(tensors_of(result), tensors_of(again), strict=True):
                    # A view, or the result of an in-place operator, is already there.
                    if old.data_ptr() != new.data_ptr():
                        old.copy_(new)
