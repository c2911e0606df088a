"""See what arrives when you write x + 1."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch._ops import OpOverload


class Log(TorchDispatchMode):
    """A mode that notes the name of each operator that reaches it."""

    def __init__(self) -> None:
        """Begin with no name."""
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Note ``str(func)``, then call `func` with its arguments, and return what it returns."""
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))
