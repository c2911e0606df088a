"""Cut the tests into shards, and run only those that a change can break.

Two jobs run the tests, and you wait for the last one. Dealt out like cards, file by file, one job
works four times as long as the other:

    seconds   90  20  80  10  70  30      like cards       240 |  60
                                          longest first    150 | 150

The makespan is the sum of the fullest shard. No plan gets below `lower_bound`; the greedy one that
PyTorch's CI uses gets close.

1. `lower_bound`: neither the longest test nor the total can be cut.
2. `shards`: longest first, each to the shard that has least. Each job works the plan out on its
   own machine and runs its row, so the plan must be the same everywhere.
3. `affected`: what imports what has changed, directly or not?

Begin on paper: two shards, tests of 3, 3, 2, 2 and 2 seconds. What does the greedy plan cost, what
the best one?

Real life differs: long files are cut too, and files without a time are dealt like cards.
Afterwards read ``calculate_shards`` in PyTorch's ``tools/testing/test_selections.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping


def lower_bound(times: Mapping[str, float], count: int) -> float:
    """Return the makespan that no plan for `count` shards gets below; 0 without tests."""
    # TODO: two bounds, of which the greater one holds.
    raise NotImplementedError("lower_bound")


def shards(times: Mapping[str, float], count: int) -> list[list[str]]:
    """Return the names of the tests of each shard, in the order in which they were dealt.

    Of equal times the name decides, and of equally full shards the first.
    """
    # TODO: the order of the tests, then one shard after the other.
    raise NotImplementedError("shards")


def affected(changed: Collection[str], imports: Mapping[str, Collection[str]]) -> list[str]:
    """Return the tests to run, sorted by name: files whose path begins with ``test/``.

    `imports` has for each file of the project the files that it imports directly; there may be
    cycles. A changed file that is no key of it, such as a workflow, can break each test.
    """
    # TODO: grow the set of what is hit until it no longer grows.
    raise NotImplementedError("affected")
