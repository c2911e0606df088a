"""See what arrives when you write x + 1.

``x + 1`` names neither an ``add`` nor a kernel. Python calls a method, the method parses its
arguments and picks an operator, and the dispatcher looks for a kernel that can run it. A mode sees
each operator before any kernel does:

    x = torch.ones(2)
    with Log() as log:
        1 / x
    print(log.names)

Fill in `Log`, two lines. Guess before you print: how many names will there be?

Afterwards open ``torch/utils/_python_dispatch.py`` (``TorchDispatchMode``).
"""

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
        """Append ``str(func)`` to `names`, call `func` with its arguments, return its result.

        `kwargs` may be None.
        """
        # TODO: two lines.
        raise NotImplementedError("Log")
