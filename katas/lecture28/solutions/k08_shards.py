"""Split the tests into shards, and run only those that a change can break."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping


def lower_bound(times: Mapping[str, float], count: int) -> float:
    """Return a lower bound for the makespan of any plan for `count` shards; 0 without tests."""
    return max([sum(times.values()) / count, *times.values()])


def shards(times: Mapping[str, float], count: int) -> list[list[str]]:
    """Return the test names of each shard, in the order in which they were dealt.

    If times are equal, order by name; if shards are equally full, use the first.
    """
    rows: list[list[str]] = [[] for _ in range(count)]
    for name in sorted(times, key=lambda name: (-times[name], name)):
        min(rows, key=lambda row: sum(times[each] for each in row)).append(name)
    return rows


def affected(changed: Collection[str], imports: Mapping[str, Collection[str]]) -> list[str]:
    """Return the tests to run, sorted by name: files whose path begins with ``test/``.

    `imports` maps each file of the project to the files it imports directly; there may be cycles. A
    changed file that is not a key, such as a workflow, can break every test.
    """
    tests = sorted(file for file in imports if file.startswith("test/"))
    if not set(changed) <= set(imports):
        return tests
    hit = set(changed)
    while more := {file for file, used in imports.items() if not hit.isdisjoint(used)} - hit:
        hit |= more
    return [test for test in tests if test in hit]
