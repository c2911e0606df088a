"""Find out which operators DTensor knows."""

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
    """Call an operator, such as ``torch.ops.aten.mm.default``, and return the verdict."""
    from torch.distributed.tensor.debug import CommDebugMode  # noqa: PLC0415 - takes a second

    kind = ""
    with CommDebugMode() as sent, Seen() as seen:
        try:
            operator(*operands)
        except NotImplementedError:
            kind = "raises"
    kind = kind or ("rule" if seen.names == [str(operator)] else "parts")
    return Verdict(kind, seen.names, sent.get_total_counts())
