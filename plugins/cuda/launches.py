"""The counts of kernels that ran on the CPU, which stand for speed on a GPU.

Counts do not depend on the machine, so a kata can ask for a number where a GPU would show a time:
sectors of 32 bytes for global memory, wavefronts for the banks of shared memory.
"""

from __future__ import annotations

import ctypes
import json
import math
import shutil
import subprocess
from collections import defaultdict
from dataclasses import astuple
from dataclasses import dataclass
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


SPACES = ("global", "shared")
KINDS = ("read", "write", "atomic")


@dataclass(frozen=True)
class Count:
    """The accesses of one kind, of a line or of many.

    Attributes
    ----------
    accesses
        Loads, stores or atomic operations, each by one thread.
    requests
        The same, each by one warp: its lanes come to the line together.
    sectors
        The pieces of 32 bytes of global memory that the requests touch. A warp that reads 32
        neighbouring floats touches 4, one that reads with a large stride touches 32.
    wavefronts
        The passes over shared memory: one per request, or more if lanes access different words of
        the same bank.
    conflicts
        The passes beyond the first: 0 without bank conflicts.
    partial
        The requests in which some lanes of the warp took no part.
    """

    accesses: int = 0
    requests: int = 0
    sectors: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    partial: int = 0

    def __add__(self, other: Count) -> Count:
        """Return the sum."""
        pairs = zip(self.numbers, other.numbers, strict=True)
        return Count(*(one + two for one, two in pairs))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The counts, in the order above."""
        return astuple(self)


@dataclass(frozen=True)
class Line:
    """The counts of one load, store or atomic operation of the source."""

    place: int
    space: str
    kind: str
    count: Count


@dataclass(frozen=True)
class Launch:
    """One ``kernel<<<grid, block>>>(...)`` and its counts.

    ``active_threads`` have loaded or stored global memory, ``storing_blocks`` have stored to it.
    ``dynamic_bytes`` of shared memory are what the launch asks for, ``static_bytes`` what a block
    declares, and ``variables`` the names of both.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    stream: int
    dynamic_bytes: int
    static_bytes: int
    variables: tuple[str, ...]
    barriers: int
    warp_operations: int
    active_threads: int
    storing_blocks: int
    lines: tuple[Line, ...]
    library: Path

    @property
    def threads(self) -> int:
        """The number of threads, of all blocks."""
        return math.prod(self.grid) * math.prod(self.block)

    def count(self, space: str, *kinds: str) -> Count:
        """Return the sum for ``"global"`` or ``"shared"`` memory, over all kinds or the given ones.

        Raises
        ------
        ValueError
            If the space is another, or a kind is not ``"read"``, ``"write"`` or ``"atomic"``.
        """
        if space not in SPACES or not set(kinds) <= set(KINDS):
            raise ValueError(f"expected a space of {SPACES} and kinds of {KINDS}")
        chosen = kinds or KINDS
        lines = [line for line in self.lines if line.space == space and line.kind in chosen]
        return sum((line.count for line in lines), Count())

    def table(self) -> str:
        """Return the counts of each line of the source, for the message of a test."""
        places = locate_lines(self.library, [line.place for line in self.lines])
        counts: dict[tuple[str, int, str, str], Count] = defaultdict(Count)
        for line, place in zip(self.lines, places, strict=True):
            # Compilers order the accesses of one line differently.
            file, _, number = place.partition(":")
            key = file, int(number) if number.isdigit() else 0, line.space, line.kind
            counts[key] += line.count
        rows = [f"{self.kernel}<<<{self.grid}, {self.block}>>>"]
        for (file, line_number, space, kind), count in sorted(counts.items(), key=_row_order):
            shared = space == "shared"
            each = (count.wavefronts if shared else count.sectors) / max(1, count.requests)
            unit = "wavefronts" if shared else "sectors"
            what = f"{space} {kind}"
            rows.append(
                f"  {file}{f':{line_number}' * bool(line_number)}  {what:<14}"
                f" {count.accesses:>9} by threads,"
                f" {count.requests:>7} by warps, {each:.1f} {unit} each"
            )
        return "\n".join(rows)


def _row_order(row: tuple[tuple[str, int, str, str], Count]) -> tuple[str, int, int, int]:
    file, number, space, kind = row[0]
    return file, number, SPACES.index(space), KINDS.index(kind)


def locate_lines(library: Path, places: Iterable[int]) -> list[str]:
    """Return the source line of each place in `library`: ``k03_axpy.cu:17``."""
    numbers = [hex(place) for place in places]
    if not (tool := find_addr2line()) or not numbers:
        return ["line unknown" for _ in numbers]
    command = [tool, "-s", "-e", str(library), *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - binutils
    return [line.split()[0] for line in done.stdout.splitlines()]


def find_addr2line() -> str:
    """Return the path of addr2line, or of LLVM's; empty if there is none."""
    names = ("addr2line", "llvm-addr2line", *(f"llvm-addr2line-{n}" for n in range(30, 13, -1)))
    return next(filter(None, map(shutil.which, names)), "")


def read_launches(library: Path) -> list[Launch]:
    """Return the launches of the last run of the kernels in `library`, which is loaded."""
    counts = ctypes.CDLL(str(library)).kata_simt_counts
    counts.restype = ctypes.c_char_p
    return [_read_launch(entry, library) for entry in json.loads(counts())]


def _read_launch(entry: dict[str, list[list[int]]], library: Path) -> Launch:
    lines = [
        Line(place, SPACES[space], KINDS[kind], Count(*numbers))
        for place, space, kind, *numbers in entry.pop("lines")
    ]
    values = {name: tuple(v) if isinstance(v, list) else v for name, v in entry.items()}
    return Launch(**values, lines=tuple(lines), library=library)  # type: ignore[arg-type]
