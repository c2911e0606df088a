"""A mode that writes down each message of a rank."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Wire(TorchDispatchMode):
    """Writes a line to `lines` for each operator of ``c10d`` that this rank calls.

    The line gives the operator's name without a trailing ``_``, and the bytes of all tensors in the
    arguments, which may be in lists of lists. If an argument is called ``dst``, the line ends with
    ``to`` and its value; if one is called ``src``, with ``from`` and its value.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Given: without it the first operator would import all of Dynamo, which takes seconds."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run the operator and return its result; if it belongs to ``c10d``, record it as well."""
        if func.namespace == "c10d":
            name = func._schema.name.removeprefix("c10d::").rstrip("_")  # noqa: SLF001 - its name
            size = sum(x.nbytes for x in tree_leaves(args) if isinstance(x, torch.Tensor))
            line = f"{name} {size} B"
            for argument, value in zip(func._schema.arguments, args, strict=False):  # noqa: SLF001
                if argument.name == "dst":
                    line += f" to {value}"
                if argument.name == "src":
                    line += f" from {value}"
            self.lines.append(line)
        return func(*args, **(kwargs or {}))


def transcript(logs: list[list[str]]) -> str:
    """Return the lines of all ranks as one text. Given."""
    return "\n".join(f"rank {rank}: {line}" for rank, lines in enumerate(logs) for line in lines)
