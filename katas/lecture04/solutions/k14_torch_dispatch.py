"""A log of every operator below autograd: ``__torch_dispatch__``."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary


class OperatorLog(TorchDispatchMode):
    """Keeps one readable line for each operator that runs below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        # Weak, so that a tensor dies as it would without a log; and the count only goes up.
        self._numbers = WeakTensorKeyDictionary()
        self._count = 0

    def __str__(self) -> str:
        """Return the lines of the log, joined by newlines."""
        return "\n".join(self.lines)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Run the operator `func`, log it, and return its result."""
        kwargs = kwargs or {}
        inputs = _tensors([*args, *kwargs.values()])
        for tensor in inputs:
            if tensor not in self._numbers:
                self.lines.append(f"{self._text(tensor)} = input")
        written = [self._text(value) for value in args]
        written += [f"{name}={self._text(value)}" for name, value in kwargs.items()]
        call = f"{func}({', '.join(written)})"

        # The mode is not active in here: the call goes on below it, and does not come back.
        result = func(*args, **kwargs)

        results = list(result) if isinstance(result, (list, tuple)) else [result]
        remark = self._remark(results, inputs)
        if result is not None:
            call = f"{', '.join(self._text(value) for value in results)} = {call}"
        self.lines.append(call + remark)
        return result

    def _text(self, value: Any) -> str:
        """Return how a value is written; a tensor seen for the first time gets its number."""
        if isinstance(value, (list, tuple)):
            return f"[{', '.join(self._text(item) for item in value)}]"
        if not isinstance(value, torch.Tensor):
            return str(value)
        if value in self._numbers:
            return f"${self._numbers[value]}"
        number = self._numbers[value] = self._count
        self._count += 1
        return f"${number}: {str(value.dtype).removeprefix('torch.')}{list(value.shape)}"

    def _remark(self, results: list[Any], inputs: list[torch.Tensor]) -> str:
        for result in _tensors(results):
            for tensor in inputs:
                if result not in self._numbers and _storage(result) == _storage(tensor):
                    return f"  # alias of ${self._numbers[tensor]}"
        return ""


def _tensors(values: list[Any]) -> list[torch.Tensor]:
    """Return the tensors among the values and in lists among them, in order."""
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += _tensors([*value])
        elif isinstance(value, torch.Tensor):
            found.append(value)
    return found


def _storage(tensor: torch.Tensor) -> int:
    # The address of the StorageImpl: right for empty and for meta tensors too, which have no data.
    return tensor.untyped_storage()._cdata  # noqa: SLF001 - it has no public name
