"""See what ``torch.stft`` runs, and what it becomes when exported."""

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
        self.names.append(name(func))
        return func(*args, **(kwargs or {}))


def eager(function: Any, *args: Any, **kwargs: Any) -> list[str]:
    """Return the names of the operators that a call runs, in order."""
    with Log() as log:
        function(*args, **kwargs)
    return log.names


def exported(module: torch.nn.Module, *args: Any) -> list[str]:
    """Return the names of the operators in the module's exported graph, decomposed, in order."""
    nodes = torch.export.export(module, args).run_decompositions().graph.nodes
    targets = [node.target for node in nodes if hasattr(node.target, "overloadpacket")]
    return [name(target) for target in targets]
