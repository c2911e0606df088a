"""See what arrives when you write x + 1."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch._ops import OpOverload


class Log(TorchDispatchMode):
    """A mode that records the name of each operator that reaches it."""

    def __init__(self) -> None:
        """Start with an empty list."""
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Append ``str(func)`` to `names`, call `func` with its arguments, return its result."""
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))
