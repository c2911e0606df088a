"""Log every operator below autograd with ``__torch_dispatch__``.

You call ``linear``, and the profiler shows ``addmm``; backward runs operators that you never
called. A mode with ``__torch_dispatch__`` sits at the key Python, below autograd, and sees every
operator called there. Your mode logs them:

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

1. `number`: a tensor that is new to the log gets the next number, starting from 0.
2. ``__torch_dispatch__``: log a line for each new input, make the call, log a line for it. About 20
   lines, including the first step; the format of arguments is given.

- The log keeps no tensor alive, and never reuses a dead tensor's number.
- Compute nothing with tensors while you log.

Begin by logging only the call. Why must ``id(tensor)`` not be a dictionary key?
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
    """Whether two tensors share one storage, even if it is empty or on meta. Given."""
    storages = one.untyped_storage(), other.untyped_storage()
    return storages[0]._cdata == storages[1]._cdata  # noqa: SLF001 - it has no public name


class OperatorLog(TorchDispatchMode):
    """Keeps one readable line for each operator that runs below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        # TODO: what must a log remember about tensors, without keeping them alive?

    def __str__(self) -> str:
        """Return the lines of the log, joined by newlines. Given."""
        return "\n".join(self.lines)

    def number(self, tensor: torch.Tensor) -> str:
        """Return "$2" for a tensor that has a number; "$2: float32[3]" if this call assigns it."""
        # TODO
        raise NotImplementedError("number")

    def text(self, value: Any) -> str:
        """Return the text of an argument or a result: tensors by `number`. Given."""
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
        """Run the operator `func`, log it, and return its result unchanged.

        Inputs come first, each on a line of its own if it has no number yet: positional inputs
        before keyword ones, which the call shows as ``name=value``. Join several results, or a list
        of them, by ", "; for the result None leave out " = ". A call that raises adds no line for
        itself.

        The remark names the first input whose storage a new result shares, if there is one.
        """
        kwargs = kwargs or {}
        # TODO: number the inputs, call the kernel, then write the line.
        raise NotImplementedError("__torch_dispatch__")
