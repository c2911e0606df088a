"""Split the tests into shards, and run only those that a change can break.

Two jobs run the tests, and you wait for the slower job. If files are dealt like cards, one job
takes four times as long as the other:

    seconds   90  20  80  10  70  30      like cards       240 |  60
                                          longest first    150 | 150

The makespan is the total time of the fullest shard. No plan gets below `lower_bound`; the greedy
plan that PyTorch's CI uses gets close.

1. `lower_bound`: no plan splits the longest test or shrinks the total.
2. `shards`: longest first, each to the emptiest shard. Each job computes the plan on its own
   machine and runs its own shard, so the plan must be the same everywhere.
3. `affected`: which tests import a changed file, directly or indirectly?

Begin on paper: two shards, tests of 3, 3, 2, 2 and 2 seconds. How long does the greedy plan take,
and the best plan?

Real life differs: long files are split too, and files without a recorded time are dealt like cards.
Afterwards read ``calculate_shards`` in PyTorch's ``tools/testing/test_selections.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping


def lower_bound(times: Mapping[str, float], count: int) -> float:
    """Return a lower bound for the makespan of any plan for `count` shards; 0 without tests."""
    # TODO: return the larger of two bounds.
    raise NotImplementedError("lower_bound")


def shards(times: Mapping[str, float], count: int) -> list[list[str]]:
    """Return the test names of each shard, in the order in which they were dealt.

    If times are equal, order by name; if shards are equally full, use the first.
    """
    # TODO: sort the tests, then choose a shard for each.
    raise NotImplementedError("shards")


def affected(changed: Collection[str], imports: Mapping[str, Collection[str]]) -> list[str]:
    """Return the tests to run, sorted by name: files whose path begins with ``test/``.

    `imports` maps each file of the project to the files it imports directly; there may be cycles. A
    changed file that is not a key, such as a workflow, can break every test.
    """
    # TODO: grow the set of affected files until it stops growing.
    raise NotImplementedError("affected")
