"""Anomaly mode: name the line of forward that caused the NaN.

k20 says "SqrtBackward0", but your model has forty square roots. Which one? By then the call is long
over. ``torch.autograd.detect_anomaly`` knows, because each node has a dict for metadata:

    y = torch.ones(1, requires_grad=True).exp()
    y.grad_fn.metadata["line"] = "model.py:12"

A ``TorchFunctionMode`` sees each torch call. Write one that records the line on each new node, and
reports it in backward, about 15 lines:

1. `Anomaly.__torch_function__`: make the call, then `mark` its results.
2. `mark`: a call may leave several nodes. Walk back from the result until a node has a line.
3. `check`, a hook on each node: raise if the node returned NaN.

- Keep the line in the hook, not the node (k17).

Begin with step 1 and a ``print``: which calls do you see?
Afterwards open ``torch/autograd/anomaly_mode.py`` in site-packages. Real life differs: PyTorch
records the whole stack, in C++, for each node as it is created, even in backward.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Mapping
    from collections.abc import Sequence

    from torch.autograd.graph import Node


# ---- given -----------------------------------------------------------------------------------


def forward_line() -> str:
    """Return "file.py:12", the line being run outside this file and torch."""
    frame = sys._getframe()  # noqa: SLF001 - what traceback uses
    while frame.f_back and frame.f_globals["__name__"].startswith((__name__, "torch.")):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


def anomaly(name: str, line: str) -> RuntimeError:
    """Return the error for a node that returned NaN."""
    return RuntimeError(f"{name} returned NaN; its forward ran in {line}")


def has_nan(grads: Iterable[torch.Tensor | None]) -> bool:
    """Return whether one of these gradients contains NaN."""
    return any(grad is not None and bool(grad.isnan().any()) for grad in grads)


def tensors_in(result: object) -> list[torch.Tensor]:
    """Return the tensors in a call's result, which may be one tensor, a tuple or a list."""
    every = result if isinstance(result, tuple | list) else [result]
    return [each for each in every if isinstance(each, torch.Tensor)]


# ---- the exercise ----------------------------------------------------------------------------


def check(name: str, line: str) -> Callable[[Sequence, Sequence], None]:
    """Return a hook that raises `anomaly` if its node, called `name`, has returned NaN.

    The hook gets the gradients that the node returned, then those that it received.
    """
    # TODO: a function of two arguments.
    raise NotImplementedError("check")


def mark(node: Node | None, line: str) -> None:
    """Set ``metadata["line"]`` on `node` and on those behind it, and register `check` on each.

    A node that has a line keeps it, and so do the nodes behind it: stop there. Leave other entries
    of the dict alone.
    """
    # TODO: a walk that stops early.
    raise NotImplementedError("mark")


class Anomaly(TorchFunctionMode):
    """A mode that marks the nodes of tensors returned by torch calls with the call's line."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Iterable[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        """Return what the call returns; mark its results with `forward_line`."""
        # TODO: call, mark, return.
        raise NotImplementedError("Anomaly.__torch_function__")
