"""Counts what a rank sends: each call of a collective, of send and of recv, with its bytes.

A call is seen where it enters PyTorch's dispatcher, so those of DistributedDataParallel and of
functional collectives are seen too. The bytes are those of the tensors that the rank contributes;
how a collective moves them over the wire is up to the backend.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any

from plugins.tools.private import BASE_COLLECTIVES
from plugins.tools.private import FUNCTIONAL_SPACE
from plugins.tools.private import WRAPPING_OPERATOR
from plugins.tools.private import MissingNameError
from plugins.tools.private import argument_names
from plugins.tools.private import dispatch_mode
from plugins.tools.private import operator_name


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path


SPACES = ("c10d", FUNCTIONAL_SPACE)
# What an operator is called in torch.distributed, where the names differ by more than `_`. A call
# has the same name with every PyTorch: what is all_gather_into_tensor and reduce_scatter_tensor in
# older ones is counted by the names that PyTorch 2.13 recommends instead.
NAMES = BASE_COLLECTIVES | {
    "all_gather_into_tensor": "all_gather_single",
    "all_gather_into_tensor_coalesced": "all_gather_single",
    "all_gather_into_tensor_out": "all_gather_single",
    "all_reduce_coalesced": "all_reduce",
    "allgather": "all_gather",
    "allgather_coalesced": "all_gather_coalesced",
    "allgather_into_tensor_coalesced": "all_gather_single",
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
    "irecv": "recv",
    "isend": "send",
    "recv_any_source": "recv",
    "reduce_scatter_tensor": "reduce_scatter_single",
    "reduce_scatter_tensor_coalesced": "reduce_scatter_single",
    "reduce_scatter_tensor_out": "reduce_scatter_single",
}
# Operators of these namespaces that send nothing.
SILENT = {"check_for_nan", "wait_tensor", WRAPPING_OPERATOR}
# The arguments that hold the tensors a rank contributes, and its partner.
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
# Operators that the functions of torch.distributed call. If one of them is gone, or has arguments
# of other names, calls would be lost or count no bytes.
PROBED = {
    "c10d": (
        *("send", "recv_", "broadcast_", "reduce_", "gather_", "scatter_", "allreduce_"),
        *("allgather_", "reduce_scatter_", "alltoall_", "alltoall_base_"),
        *(f"{name}_" for name in BASE_COLLECTIVES),
    ),
    FUNCTIONAL_SPACE: (
        *("all_reduce", "all_gather_into_tensor", "reduce_scatter_tensor", "all_to_all_single"),
    ),
}


@dataclass(frozen=True)
class Call:
    """One call by one rank: ``Call("send", 4096, 1)``; only send and recv have a peer."""

    name: str
    bytes: int
    peer: int | None = None


@dataclass(frozen=True)
class Sent:
    """How many messages, and how many bytes in all of them."""

    messages: int
    bytes: int


class UncountedError(Exception):
    """A test asks for calls that could not be counted."""


class RankResults(list[Any]):
    """What the ranks returned, in their order, and what each of them sent."""

    def __init__(
        self, values: Sequence[Any], calls: Sequence[Sequence[Call]], uncounted: str = ""
    ) -> None:
        super().__init__(values)
        self._calls = tuple(map(tuple, calls))
        self._uncounted = uncounted

    @property
    def calls(self) -> tuple[tuple[Call, ...], ...]:
        """The calls of each rank, in their order.

        Raises
        ------
        UncountedError
            If the installed PyTorch lacks a private name that counting depends on, or the disk has
            no room for them.
        """
        if self._uncounted:
            raise UncountedError(self._uncounted)
        return self._calls

    def sent(self, rank: int, *names: str) -> Sent:
        """Return what a rank sent by send and isend, or by the collectives of these names."""
        wanted = {NAMES.get(name, name) for name in names or ("send",)}
        sizes = [call.bytes for call in self.calls[rank] if call.name in wanted]
        return Sent(len(sizes), sum(sizes))


def why_uncounted() -> str:
    """Return which private name of PyTorch is missing, without which calls are lost, or ""."""
    import torch  # noqa: PLC0415 - importing a plugin imports no torch

    try:
        dispatch_mode()
        for space, names in PROBED.items():
            for name in names:
                check_operator(getattr(getattr(torch.ops, space), name).default)
    except (ImportError, AttributeError, MissingNameError) as error:
        return (
            f"calls of torch.distributed cannot be counted with torch {torch.__version__}: {error}"
        )
    return ""


def check_operator(operator: Any) -> None:
    """Check that a call of `operator` can be counted.

    Raises
    ------
    MissingNameError
        If it has no argument of the names that `call_of` looks for.
    """
    name, arguments = operator_name(operator), dict.fromkeys(argument_names(operator), ())
    to_a_peer = name.partition("::")[2] in {"send", "recv_"}
    for wanted in (CONTRIBUTED, PEERS) if to_a_peer else (CONTRIBUTED,):
        if not arguments.keys() & wanted:
            raise MissingNameError(f"{name} has no argument {' or '.join(wanted)}")


def record_calls(note: Callable[[Call], object]) -> AbstractContextManager[object]:
    """Return a context in which each call is noted before it is made."""
    mode: Any = dispatch_mode()

    class Recorder(mode):  # type: ignore[misc]
        @classmethod
        def ignore_compile_internals(cls) -> bool:
            # What is compiled stays compiled, and calls its collectives through the dispatcher.
            return True

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func.namespace in SPACES:
                given = dict(zip(argument_names(func), args, strict=False)) | (kwargs or {})
                if call := call_of(operator_name(func), given):
                    note(call)
            return func(*args, **(kwargs or {}))

    recorder: AbstractContextManager[object] = Recorder()
    return recorder


def call_of(operator: str, arguments: dict[str, Any]) -> Call | None:
    """Return the call that ``c10d::allreduce_`` stands for, or None if it sends nothing."""
    space, _, name = operator.removesuffix("_").partition("::")
    if space not in SPACES or name in SILENT:
        return None
    name = NAMES.get(name, name)
    given = next((arguments[key] for key in CONTRIBUTED if key in arguments), ())
    size = 0 if "barrier" in name else sum(tensor.nbytes for tensor in flatten(given))
    peer = next((arguments[key] for key in PEERS if key in arguments), None)
    return Call(name, size, peer if name in {"send", "recv"} else None)


def flatten(tensors: Any) -> Iterator[Any]:
    """Yield the tensors of a tensor, of a list, or of a list of lists."""
    if isinstance(tensors, (list, tuple)):
        for each in tensors:
            yield from flatten(each)
    else:
        yield tensors


def format_call(call: Call) -> bytes:
    """Format a call as a line of a rank's file."""
    return json.dumps([call.name, call.bytes, call.peer]).encode() + b"\n"


def read_calls(file: Path) -> list[Call]:
    """Return the calls in a rank's file, which may end within a line."""
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
    return [Call(*json.loads(line)) for line in lines if line.endswith("\n")]
