"""A log of every operator below autograd: ``__torch_dispatch__``.

You call ``linear``, and the profiler shows ``addmm``; backward runs, and you have called nothing. A
mode with ``__torch_dispatch__`` stands at the key Python, below autograd, and sees what kernels are
asked for. Yours writes it down:

    with OperatorLog() as log:
        y = torch.mul(a, b)
        y.add_(1)
        z = y.view(6)
    print(log)

    $0: float32[2, 3] = input
    $1: float32[3] = input
    $2: float32[2, 3] = aten.mul.Tensor($0, $1)
    $2 = aten.add_.Tensor($2, 1)
    $3: float32[6] = aten.view.default($2, [6])  # alias of $2

1. `number`: a tensor that is new to the log gets the next number, from 0 on.
2. ``__torch_dispatch__``: a line for each input that is new, the call, a line for the call. About
   20 lines with the first step; how arguments are written is given.

- The log keeps no tensor alive, and a dead tensor's number is never given again.
- Compute nothing with tensors while you log.

Begin with a line for the call alone. Why may ``id(tensor)`` not be the key of a dictionary?
Afterwards open ``torch/utils/_python_dispatch.py`` in site-packages (``TorchDispatchMode``).
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def tensors_in(values: Any) -> list[torch.Tensor]:
    """Return the tensors among the values and in lists among them, in order. Given."""
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += tensors_in(value)
        elif isinstance(value, torch.Tensor):
            found.append(value)
    return found


def about(tensor: torch.Tensor) -> str:
    """Return "float32[2, 3]": dtype and sizes. Given."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def share(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors lie in one storage, be it empty or on meta. Given."""
    storages = one.untyped_storage(), other.untyped_storage()
    return storages[0]._cdata == storages[1]._cdata  # noqa: SLF001 - it has no public name


class OperatorLog(TorchDispatchMode):
    """Keeps one readable line for each operator that runs below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        # TODO: what does a log have to remember about tensors, without keeping them alive?

    def __str__(self) -> str:
        """Return the lines of the log, joined by newlines. Given."""
        return "\n".join(self.lines)

    def number(self, tensor: torch.Tensor) -> str:
        """Return "$2" for a tensor that has a number; "$2: float32[3]" where this gives it one."""
        # TODO
        raise NotImplementedError("number")

    def text(self, value: Any) -> str:
        """Return how an argument or a result is written: tensors by `number`. Given."""
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self.text(item) for item in value)}]"
        return self.number(value) if isinstance(value, torch.Tensor) else str(value)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run the operator `func`, log it, and return its result as it is.

        Inputs come first, each with a line of its own if it has no number yet: positional ones
        before those by keyword, which are written ``name=value`` in the call. Several results, or
        a list of them, are joined by ", "; for the result None there is no " = ". A call that
        raises leaves no line of its own.

        The remark names the first input in whose storage a new result lies, if there is one.
        """
        kwargs = kwargs or {}
        # TODO: number the inputs, go on to the kernel, then write the line.
        raise NotImplementedError("__torch_dispatch__")
