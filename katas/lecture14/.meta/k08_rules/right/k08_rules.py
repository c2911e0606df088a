"""Ask which operators DTensor knows, with nested modes and one exit."""

from __future__ import annotations

from typing import Any
from typing import NamedTuple

from torch.distributed.tensor.debug import CommDebugMode
from torch.utils._python_dispatch import TorchDispatchMode


class Seen(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Lists the operators that reach DTensor, such as "aten.mm.default". Given."""

    def __init__(self) -> None:
        """Start an empty list."""
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Write the operator down and run it."""
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class Verdict(NamedTuple):
    """What became of an operator, what reached DTensor, and how many collectives it took."""

    kind: str
    operators: list[str]
    messages: int


def verdict(operator: Any, *operands: Any) -> Verdict:
    """Call an operator, such as ``torch.ops.aten.mm.default``, and judge."""
    sent, seen, kind = CommDebugMode(), Seen(), "parts"
    try:
        with sent, seen:
            operator(*operands)
        if len(seen.names) == 1 and seen.names[0] == str(operator):
            kind = "rule"
    except NotImplementedError:
        kind = "raises"
    return Verdict(kind, list(seen.names), sum(sent.get_comm_counts().values()))
