"""Ask a .pte what it needs: which kernels, and how much memory."""

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
    vtable = table - number(data, table, "<i")
    if 4 + 2 * which >= number(data, vtable, "<H"):
        return None
    behind = number(data, vtable + 4 + 2 * which, "<H")
    return table + behind if behind else None


def target(data: bytes, place: int) -> int:
    """Return where the string, vector or table begins that the number at `place` points to."""
    return place + number(data, place, "<I")


def elements(data: bytes, table: int, which: int, width: int) -> list[int]:
    """Return where each element of a vector field begins; [] if the field is absent.

    An element has `width` bytes. The given `counted` reads the count.
    """
    place = field(data, table, which)
    if place is None:
        return []
    start = target(data, place)
    return [start + 4 + width * n for n in range(counted(data, start))]


def needs(data: bytes) -> Needs:
    """Return what the first method of a program needs.

    An operator is "aten::add.out": name and overload, both strings, or "aten::add" if the
    overload is empty or absent. Arenas are int64; keep those of 0 bytes.
    """

    def text(table: int, which: int) -> str:
        return bytes(data[place] for place in elements(data, table, which, 1)).decode()

    plan = target(data, elements(data, target(data, 0), PROGRAM_PLANS, 4)[0])
    names = []
    for place in elements(data, plan, PLAN_OPERATORS, 4):
        found = [text(target(data, place), n) for n in (OPERATOR_NAME, OPERATOR_OVERLOAD)]
        names.append(".".join(filter(None, found)))
    arenas = [number(data, p, "<q") for p in elements(data, plan, PLAN_ARENAS, 8)]
    count = len(elements(data, plan, PLAN_VALUES, 4))
    return Needs(text(plan, PLAN_NAME), count, names, arenas)
