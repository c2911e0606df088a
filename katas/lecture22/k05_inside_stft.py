"""See what ``torch.stft`` runs, and what it becomes when exported.

``torch.stft`` has no kernel of its own: it calls other operators, and k03 guessed which. But the
operators differ between running it and exporting it. List both:

    eager          a mode sees each operator as it runs
    exported       the nodes of the graph, after ``run_decompositions()``

Write ``__torch_dispatch__``, `eager` and `exported`, about 8 lines.

Begin with ``eager(torch.istft, ...)`` on a spectrum, and look for k04's overlap-add.
Afterwards read ``stft`` in ``torch/_refs/__init__.py``, in site-packages: export uses that one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def name(operator: Any) -> str:
    """Return the name without the overload, such as "aten.mul". Given."""
    return str(operator.overloadpacket)


class Log(TorchDispatchMode):
    """A mode that appends the name of each operator to `names`, and runs it."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Return what the operator returns; `kwargs` may be None."""
        # TODO
        raise NotImplementedError("__torch_dispatch__")


def eager(function: Any, *args: Any, **kwargs: Any) -> list[str]:
    """Return the names of the operators that a call runs, in order."""
    # TODO
    raise NotImplementedError("eager")


def exported(module: torch.nn.Module, *args: Any) -> list[str]:
    """Return the names of the operators in the module's exported graph, decomposed, in order.

    Omit nodes that call something else, such as ``operator.getitem``: it has no overloadpacket.
    """
    # TODO
    raise NotImplementedError("exported")
