"""Read one training step off the wire: who sends what to whom.

Two stages, two replicas of each: 0 sends activations to 1, 2 to 3, and replicas sum gradients.

    0 ---> 1
    |      |       Which messages make up a step, how large, in which order?
    2 ---> 3

Nobody needs to guess: each call of ``torch.distributed`` is an operator of the namespace ``c10d``,
and a ``TorchDispatchMode`` sees operators before they run. Build `Wire`, about 10 lines, which
writes a line for each:

    send 32 B to 1
    recv 32 B from 1
    allreduce 64 B

Begin by printing ``func._schema`` in the method, and running the first test: what are the arguments
called?
Afterwards compare ``CommDebugMode`` in ``torch/distributed/tensor/debug/_comm_mode.py``, in
site-packages.
Real life differs: what NCCL or gloo does inside a collective cannot be seen here.
"""

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
        # TODO: func.namespace, func._schema.name, func._schema.arguments; tree_leaves(args).
        raise NotImplementedError("Wire.__torch_dispatch__")


def transcript(logs: list[list[str]]) -> str:
    """Return the lines of all ranks as one text. Given."""
    return "\n".join(f"rank {rank}: {line}" for rank, lines in enumerate(logs) for line in lines)
