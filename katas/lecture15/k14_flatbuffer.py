"""Ask a .pte what it needs: which kernels, and how much memory.

The file is on the phone and says "kernel not found". Which one did it want? A .pte is a FlatBuffer:
nothing is unpacked; offsets lead from part to part. All numbers are little-endian.

    root        at byte 0: uint32, where the first table begins
    table       at t: int32 s. Its vtable begins at t - s. The fields follow, in any order.
    vtable      uint16 for each: its own bytes, the table's bytes, then for each field how far
                after t it is; 0 if it is absent. Later fields may be missing altogether.
    uint32 f    in the field of a string, vector or table: it begins f bytes after f itself
    vector      uint32 count, then the elements; a table in a vector is stored as f
    string      uint32 count, then the bytes

1. `field`, `target` and `elements`: the steps above, about 8 lines.
2. `needs`: walk from the root to the operators and the arena.

Begin on paper: field 0 is at vtable + 4. Where is field n? Afterwards compare with
``torch/_export/serde/schema.py``, in site-packages (`Graph`): the same things, in JSON.
"""

from __future__ import annotations

import struct
from typing import NamedTuple


# From ExecuTorch's schema: the numbers of fields in their tables.
PROGRAM_PLANS = 1
PLAN_NAME, PLAN_VALUES, PLAN_OPERATORS, PLAN_ARENAS = 0, 2, 6, 8
OPERATOR_NAME, OPERATOR_OVERLOAD = 0, 1


# Given: do not change.
class Needs(NamedTuple):
    """A method's name, how many values it has, its kernels, and the bytes of its arenas."""

    method: str
    values: int
    operators: list[str]
    arenas: list[int]


def number(data: bytes, place: int, kind: str) -> int:
    """Return the number at `place`; kinds are those of ``struct``: "<i", "<H", "<I", "<q"."""
    return int(struct.unpack_from(kind, data, place)[0])


def counted(data: bytes, start: int) -> int:
    """Return the uint32 at `start`, a count of elements; ValueError if it exceeds the file."""
    count = number(data, start, "<I")
    if count > len(data):
        raise ValueError(f"no count at byte {start}: {count} elements in {len(data)} bytes")
    return count


# The exercise.
def field(data: bytes, table: int, which: int) -> int | None:
    """Return where a field of the table at `table` is, or None if it is absent."""
    # TODO: the vtable, and how long it is.
    raise NotImplementedError("field")


def target(data: bytes, place: int) -> int:
    """Return where the string, vector or table begins that the number at `place` points to."""
    # TODO: an unsigned number, counted from `place`.
    raise NotImplementedError("target")


def elements(data: bytes, table: int, which: int, width: int) -> list[int]:
    """Return where each element of a vector field begins; [] if the field is absent.

    An element has `width` bytes. The given `counted` reads the count.
    """
    # TODO: field, target, count.
    raise NotImplementedError("elements")


def needs(data: bytes) -> Needs:
    """Return what the first method of a program needs.

    An operator is "aten::add.out": name and overload, both strings, or "aten::add" if the
    overload is empty or absent. Arenas are int64; keep those of 0 bytes.
    """
    # TODO: root, plans, the first plan; then its fields.
    raise NotImplementedError("needs")
