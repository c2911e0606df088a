"""The order of tiles in a matrix product, and what it costs."""

from __future__ import annotations


def tile(program: int, tiles_m: int, tiles_n: int, group: int) -> tuple[int, int]:
    """Return the row and the column of a program's tile."""
    first, place = program // (group * tiles_n) * group, program % (group * tiles_n)
    # The last group may have fewer rows of tiles.
    rows = min(tiles_m - first, group)
    return first + place % rows, place // rows


def traffic(m: int, n: int, k: int, block_m: int, block_n: int, group: int, wave: int) -> int:
    """Return how many elements of x and w come from memory, `wave` programs at a time."""
    tiles_m, tiles_n = -(-m // block_m), -(-n // block_n)
    programs = range(tiles_m * tiles_n)
    loaded = 0
    for first in programs[::wave]:
        tiles = [tile(each, tiles_m, tiles_n, group) for each in programs[first : first + wave]]
        # A strip that several tiles need is in the set once.
        loaded += sum(min(block_m, m - i * block_m) for i in {i for i, _ in tiles}) * k
        loaded += sum(min(block_n, n - j * block_n) for j in {j for _, j in tiles}) * k
    return loaded
