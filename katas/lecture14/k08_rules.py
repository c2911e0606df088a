"""Find out which operators DTensor knows.

A model runs on plain tensors but raises after ``fully_shard`` or ``parallelize_module``: DTensor
needs a sharding rule for every operator that reaches it. Many never reach it.

    matmul     arrives as mm
    renorm     NotImplementedError
    _softmax   has a rule, and gathers what is split along its dim

Write `verdict`, about 8 lines: call an operator under both modes, with ``CommDebugMode`` outside
and `Seen` inside.

Begin by trying ``torch.ops.aten.matmul.default`` on two ranks.
Afterwards read ``ShardingPropagator`` in ``torch/distributed/tensor/_sharding_prop.py``, in
site-packages.
"""

from __future__ import annotations

from typing import Any
from typing import NamedTuple

from torch.utils._python_dispatch import TorchDispatchMode


class Seen(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Lists the operators that reach DTensor, such as "aten.mm.default". Given."""

    def __init__(self) -> None:
        """Start an empty list."""
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the operator and run it."""
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Verdict(NamedTuple):
    """How a call ended, which operators reached DTensor, and how many collectives it took."""

    kind: str
    operators: list[str]
    messages: int


def verdict(operator: Any, *operands: Any) -> Verdict:
    """Call an operator, such as ``torch.ops.aten.mm.default``, and return the verdict.

    `kind` is "raises" if the call raises NotImplementedError, otherwise "rule" if the operator
    itself reaches DTensor, otherwise "parts". Let other errors propagate.
    """
    from torch.distributed.tensor.debug import CommDebugMode  # noqa: PLC0415 - takes a second

    # TODO: seen.names, and the total counts of CommDebugMode.
    raise NotImplementedError("verdict")
