"""A flight recorder for operators.

The process was killed and left no traceback. What was its last operator? PyTorch has a flight
recorder for collectives; yours records operators, and survives SIGKILL because its memory is a
mapped file, whose pages the kernel keeps when the process dies:

    slot     0                1                2                  size = 3
    id       3                4                2                  entry 5 comes next: where?
    op       aten.mul.Tensor  aten.exp.default aten.add.Tensor
    state    done             running          done               died in exp

Build it in four steps, about 25 lines; each turns a group of tests green.

1. `Ring.put` and `read`: the newest entries, in order.
2. `Recorder`: an entry says "running" before its operator runs, and "done" after it.
3. An operator that raises a `BaseException` has "failed". The exception propagates unchanged.
4. `blame`: open the file that a dead process left behind, and name the operator.

Begin on paper: operator 2 calls back into Python, which enters the recorder again for three more.
When operator 2 ends, is its slot still its own?
Afterwards read `FlightRecorder::Entry` in ``torch/csrc/distributed/c10d/FlightRecorder.hpp``, in
``torch/include``: what is its ``id_`` for?

Real life differs: operators run in several threads, so the recorder needs a lock.
"""

from __future__ import annotations

import json
import mmap
import zlib
from typing import TYPE_CHECKING
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


if TYPE_CHECKING:
    from pathlib import Path


Entry = dict[str, Any]
SLOT = 1024


def pack(entry: Entry) -> bytes:
    """Return the SLOT bytes of an entry, with a checksum in front. Given."""
    body = json.dumps(entry).encode()
    if len(body) > SLOT - 9:
        said = entry.get("error", "").encode("ascii", "backslashreplace")[:80].decode()
        short = {"op": entry["op"][:80], "shapes": [], "error": said}
        body = json.dumps(entry | short).encode()
    return (b"%08x " % zlib.crc32(body) + body).ljust(SLOT)


def unpack(slot: bytes) -> Entry | None:
    """Return the entry of a slot, or None if it is empty or was torn in mid-write. Given."""
    checksum, _, body = slot.rstrip().partition(b" ")
    found: Entry | None = json.loads(body) if checksum == b"%08x" % zlib.crc32(body) else None
    return found


def shapes_in(tree: object) -> list[list[int]]:
    """Return the shapes of the tensors in a tree. Given."""
    return [[*x.shape] for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


class Ring:
    """A file of `size` slots, mapped into memory."""

    def __init__(self, path: Path, size: int) -> None:
        self.size = size
        with path.open("w+b") as file:
            file.truncate(size * SLOT)
            self.memory = mmap.mmap(file.fileno(), 0)

    def put(self, entry: Entry) -> None:
        """Write an entry into the slot for its number, ``entry["id"]``; reuse slots in turn."""
        # TODO: step 1; self.memory takes a slice.
        raise NotImplementedError("Ring.put")


def read(path: Path) -> list[Entry]:
    """Return the entries in a ring's file, oldest first."""
    # TODO: step 1.
    raise NotImplementedError("read")


class Recorder(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Records each operator under it in a ring."""

    def __init__(self, ring: Ring) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.ring = ring
        self.next = 0

    def note(self, entry: Entry) -> None:
        """Put an entry into the ring, unless a newer one already has its slot."""
        # TODO: step 2; self.next is the next unused number.
        raise NotImplementedError("Recorder.note")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, and record it before and after.

        An entry has "id", counted from 0; "op", ``str(func)``; "shapes", the `shapes_in` of the
        arguments and keywords; and "state". A failed one also has "error": the name of the
        exception's class, a colon, a space and its text.
        """
        # TODO: steps 2 and 3; increment self.next before the operator runs.
        raise NotImplementedError("Recorder.__torch_dispatch__")


def blame(path: Path) -> Entry | None:
    """Return the entry at which a process died, from its ring's file.

    Return the newest running entry. If none is running, return the last entry if it has failed,
    otherwise None: no operator is to blame.
    """
    # TODO: step 4.
    raise NotImplementedError("blame")
