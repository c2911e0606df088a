"""Log every operator below autograd with ``__torch_dispatch__``."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary


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
        # Weak, so that a tensor dies as it would without a log; and the count only goes up.
        self._numbers = WeakTensorKeyDictionary()
        self._count = 0

    def __str__(self) -> str:
        """Return the lines of the log, joined by newlines. Given."""
        return "\n".join(self.lines)

    def number(self, tensor: torch.Tensor) -> str:
        """Return "$2" for a tensor that has a number; "$2: float32[3]" if this call assigns it."""
        if tensor in self._numbers:
            return f"${self._numbers[tensor]}"
        number = self._numbers[tensor] = self._count
        self._count += 1
        return f"${number}: {about(tensor)}"

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
        inputs = tensors_in([*args, *kwargs.values()])
        for tensor in inputs:
            if tensor not in self._numbers:
                self.lines.append(f"{self.number(tensor)} = input")
        written = [self.text(value) for value in args]
        written += [f"{name}={self.text(value)}" for name, value in kwargs.items()]
        line = f"{func}({', '.join(written)})"
        # The mode is not active in here: the call continues below it, and does not come back.
        result = func(*args, **kwargs)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        new = [each for each in tensors_in(results) if each not in self._numbers]
        shared = [tensor for tensor in inputs for each in new if share(each, tensor)]
        remark = f"  # alias of {self.number(shared[0])}" if shared else ""
        if result is not None:
            line = f"{', '.join(self.text(value) for value in results)} = {line}"
        self.lines.append(line + remark)
        return result
