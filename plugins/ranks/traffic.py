"""Counts what a rank sends: every call of a collective, of send and of recv, with its bytes.

A call is seen where it enters PyTorch's dispatcher, so that those of DistributedDataParallel and
of functional collectives are seen as well. The bytes are those of the tensors that the rank
contributes; how a collective moves them over the wire is the affair of the backend.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path


SPACES = ("c10d", "_c10d_functional")
# What an operator of c10d is called in torch.distributed, where the names differ by more than `_`.
NAMES = {
    "_allgather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "allgather": "all_gather",
    "allgather_coalesced": "all_gather_coalesced",
    "allgather_into_tensor_coalesced": "all_gather_into_tensor",
    "all_gather_into_tensor_coalesced": "all_gather_into_tensor",
    "all_gather_into_tensor_out": "all_gather_into_tensor",
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "all_reduce_coalesced": "all_reduce",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
    "irecv": "recv",
    "isend": "send",
    "recv_any_source": "recv",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_tensor",
    "reduce_scatter_tensor_out": "reduce_scatter_tensor",
}
# Of these namespaces, but nothing is sent.
SILENT = {"check_for_nan", "wait_tensor", "_wrap_tensor_autograd"}
CONTRIBUTED = (
    "input_tensors",
    "input_tensor",
    "input_list",
    "inputs",
    "input",
    "tensors",
    "tensor",
)
PEERS = ("dst", "src")


@dataclass(frozen=True)
class Call:
    """One call by one rank: ``Call("send", 4096, 1)``; the peer only of send and recv."""

    name: str
    bytes: int
    peer: int | None = None


@dataclass(frozen=True)
class Sent:
    """How many messages, and how many bytes in all of them."""

    messages: int
    bytes: int


class Results(list[Any]):
    """What the ranks returned, in their order, and what each of them sent."""

    def __init__(self, values: Sequence[Any], calls: Sequence[Sequence[Call]]) -> None:
        super().__init__(values)
        self.calls = tuple(map(tuple, calls))

    def sent(self, rank: int, *names: str) -> Sent:
        """Return what a rank sent by send and isend, or by the collectives of these names."""
        sizes = [call.bytes for call in self.calls[rank] if call.name in (names or ("send",))]
        return Sent(len(sizes), sum(sizes))


def call_of(space: str, operator: str, arguments: dict[str, Any]) -> Call | None:
    """Return the call that a call of this operator is, if it is one."""
    name = operator.removesuffix("_")
    if space not in SPACES or name in SILENT:
        return None
    name = NAMES.get(name, name)
    given = next((arguments[key] for key in CONTRIBUTED if key in arguments), ())
    size = 0 if "barrier" in name else sum(tensor.nbytes for tensor in flat(given))
    peer = next((arguments[key] for key in PEERS if key in arguments), None)
    return Call(name, size, peer if name in {"send", "recv"} else None)


def flat(tensors: Any) -> Iterator[Any]:
    """Return the tensors of a tensor, of a list, or of a list of lists."""
    if isinstance(tensors, (list, tuple)):
        for each in tensors:
            yield from flat(each)
    else:
        yield tensors


def recorded(note: Callable[[Call], object]) -> AbstractContextManager[object]:
    """Return a context in which each call is noted before it is made."""
    from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC0415 - heavy

    class Recorded(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
        @classmethod
        def ignore_compile_internals(cls) -> bool:
            # What is compiled is compiled, and calls its collectives through the dispatcher.
            return True

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # To be skipped by a decorator would import all of Dynamo with the first tensor.
            return False

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func.namespace in SPACES:
                names = [argument.name for argument in func._schema.arguments]  # noqa: SLF001
                given = dict(zip(names, args, strict=False)) | (kwargs or {})
                if call := call_of(func.namespace, func._schema.name.split("::")[1], given):  # noqa: SLF001
                    note(call)
            return func(*args, **(kwargs or {}))

    made: Any = Recorded
    return made()  # type: ignore[no-any-return]


def line_of(call: Call) -> bytes:
    """Return a call as a line of a file."""
    return json.dumps([call.name, call.bytes, call.peer]).encode() + b"\n"


def read_calls(file: Path) -> list[Call]:
    """Return the calls in a file, which may end within a line."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
    return [Call(*json.loads(line)) for line in lines if line.endswith("\n")]
