"""A flight recorder for operators."""

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
        start = entry["id"] % self.size * SLOT
        self.memory[start : start + SLOT] = pack(entry)


def read(path: Path) -> list[Entry]:
    """Return the entries in a ring's file, oldest first."""
    data = path.read_bytes()
    slots = (unpack(data[start : start + SLOT]) for start in range(0, len(data), SLOT))
    return sorted((entry for entry in slots if entry), key=lambda entry: int(entry["id"]))


class Recorder(TorchDispatchMode):  # type: ignore[misc, unused-ignore]
    """Records each operator under it in a ring."""

    def __init__(self, ring: Ring) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.ring = ring
        self.next = 0

    def note(self, entry: Entry) -> None:
        """Put an entry into the ring, unless a newer one already has its slot."""
        if self.next - entry["id"] <= self.ring.size:
            self.ring.put(entry)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator, and record it before and after.

        An entry has "id", counted from 0; "op", ``str(func)``; "shapes", the `shapes_in` of the
        arguments and keywords; and "state". A failed one also has "error": the name of the
        exception's class, a colon, a space and its text.
        """
        shapes = shapes_in((args, kwargs))
        entry = {"id": self.next, "op": str(func), "shapes": shapes, "state": "running"}
        self.next += 1
        self.note(entry)
        try:
            results = func(*args, **(kwargs or {}))
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
            self.note(entry | {"state": "failed", "error": said})
            raise
        self.note(entry | {"state": "done"})
        return results


def blame(path: Path) -> Entry | None:
    """Return the entry at which a process died, from its ring's file.

    Return the newest running entry. If none is running, return the last entry if it has failed,
    otherwise None: no operator is to blame.
    """
    found = read(path)
    running = [entry for entry in found if entry["state"] == "running"]
    last = (running or found or [{"state": "done"}])[-1]
    return None if last["state"] == "done" else last
