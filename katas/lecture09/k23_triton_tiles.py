"""Which tile next? The order of programs decides how often memory is read.

A matrix product x @ w.t() is split into tiles, and a program computes one. It needs a strip of rows
of x and a strip of rows of w. Programs that run at the same time share strips through the cache.
Of 16 x 16 tiles, 16 at a time:

  row by row     0  1  2 ... 15       1 strip of x, 16 of w    17
  4 rows a group 0  4  8 12           4 strips of x, 4 of w     8
                 1  5  9 13
                 2  6 10 14
                 3  7 11 15

1. tile: the tile of a program, by arithmetic. A program knows only its index.
2. traffic: the elements that come from memory.

About 13 lines, without Triton.

Begin on paper: 5 rows of 2 tiles, groups of 4. Which tile does program 9 compute?
Afterwards find GROUP_M in torch/_inductor/kernel/templates/triton_mm.py.jinja: torch.compile
writes these lines.
Real life differs: no program knows what the cache still holds, and waves overlap.
"""

from __future__ import annotations


def tile(program: int, tiles_m: int, tiles_n: int, group: int) -> tuple[int, int]:
    """Return the row and the column of a program's tile among `tiles_m` rows of `tiles_n` tiles.

    Groups have `group` rows of tiles, the last one perhaps fewer. Within a group the programs go
    down its rows, then move to the next column. Use arithmetic alone: a kernel has no lists.
    """
    # TODO: the group, the position in it, the number of its rows.
    raise NotImplementedError("tile")


def traffic(m: int, n: int, k: int, block_m: int, block_n: int, group: int, wave: int) -> int:
    """Return how many elements of x (m, k) and w (n, k) come from memory.

    Tiles are block_m by block_n, and smaller at the edges. Programs 0 to wave - 1 run at the
    same time, then the next `wave`. What a wave needs is loaded once, and forgotten afterwards.
    """
    # TODO: for each wave, the strips of x and of w that its tiles need.
    raise NotImplementedError("traffic")
