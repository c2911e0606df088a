"""Tests of k09_bucket_size: the time of a step, and the number of buckets that minimises it."""

from __future__ import annotations

import math
from itertools import accumulate
from random import Random

import pytest

from katas.lecture13.conftest import same
from katas.lecture13.k09_bucket_size import best_count
from katas.lecture13.k09_bucket_size import step_time


def near(yours: float, expected: float, what: str) -> None:
    """Compare seconds."""
    __tracebackhide__ = True
    assert math.isclose(expected, yours, rel_tol=1e-9), (
        f"{what}\nyours:    {yours}\nexpected: {expected}"
    )


def played(sizes: list[float], compute: float, alpha: float, beta: float) -> float:
    """Return when the last bucket is reduced, by simulating the events in order."""
    total = sum(sizes)
    ready = [compute * done / total for done in accumulate(sizes)]
    ends = [0.0]
    for moment, size in zip(ready, sizes, strict=True):
        ends.append(max(moment, ends[-1]) + alpha + beta * size)
    return ends[-1]


def test_one_bucket_waits_for_the_end_of_backward() -> None:
    """The bucket begins after backward, and takes its own time."""
    near(step_time([4.0], 10.0, 1.0, 0.5), 13.0, "4 bytes in one bucket: 10 s + 1 s + 4 * 0.5 s")


def test_a_bucket_waits_for_its_gradients_or_for_the_link() -> None:
    """A bucket begins at the later of the two moments."""
    near(
        step_time([1.0, 1.0], 10.0, 1.0, 1.0), 12.0, "2 buckets: full at 5 and 10; the link is fast"
    )
    near(step_time([1.0, 1.0], 2.0, 5.0, 1.0), 13.0, "2 buckets: full at 1 and 2; the link is slow")
    near(step_time([3.0, 1.0], 8.0, 1.0, 1.0), 12.0, "a large one, full at 6, then a small one")


def test_any_buckets() -> None:
    """Buckets of any sizes."""
    for seed in range(20):
        random = Random(seed)  # noqa: S311 - not a secret
        sizes = [random.uniform(0.1, 5) for _ in range(random.randint(1, 6))]
        numbers = [random.uniform(0.01, 8), random.uniform(0.01, 2), random.uniform(0, 2)]
        what = f"buckets {sizes}; compute, alpha, beta: {numbers}"
        near(step_time(sizes, *numbers), played(sizes, *numbers), what)


def test_the_table_of_the_brief() -> None:
    """400 MB, 100 ms, 1 ms, 10 GB/s: the best is far from 1 and from 100."""
    numbers = (0.1, 1e-3, 1e-10)
    times = {count: played([4e8 / count] * count, *numbers) for count in range(1, 200)}
    count = best_count(4e8, *numbers)
    assert count in times, f"your answer is {count} buckets, expected 1 to 199"
    least = min(times.values())
    print(f"1 bucket {times[1]:.4f} s, DDP's 16 {times[16]:.4f} s, yours {times[count]:.4f} s")  # noqa: T201 - shown if it fails
    assert times[count] <= least * (1 + 1e-6), (
        f"yours: {count} buckets, {times[count]} s; the shortest time: {least} s; one bucket:"
        f" {times[1]} s"
    )


@pytest.mark.parametrize("seed", range(6))
def test_no_number_of_buckets_is_faster(seed: int) -> None:
    """Compared with small numbers, its neighbours and its double."""
    random = Random(seed)  # noqa: S311 - not a secret
    for _ in range(5):
        total, compute = random.uniform(1, 100), random.uniform(0.01, 100)
        alpha, beta = 10 ** random.uniform(-2, 1), 10 ** random.uniform(-4, 0.5)
        count = best_count(total, compute, alpha, beta)
        yours = played([total / count] * count, compute, alpha, beta)
        tried = {*range(1, 12), max(count - 1, 1), count + 1, 2 * count}
        others = {n: played([total / n] * n, compute, alpha, beta) for n in sorted(tried)}
        best = min(others, key=lambda n: others[n])
        assert yours <= others[best] * (1 + 1e-6), (
            f"total {total}, compute {compute}, alpha {alpha}, beta {beta}\nyours:    {count}"
            f" buckets, {yours} s\nbetter:   {best} buckets, {others[best]} s"
        )


def test_there_may_be_a_million() -> None:
    """With almost no latency the best number is huge: there is no time to try them all."""
    count = best_count(1e9, 1.0, 1e-12, 1e-9)
    # The last bucket's bytes and the latencies of all are equal: count² = 1 / 1e-12.
    assert 0.9e6 < count < 1.1e6, f"yours: {count} buckets; expected: about a million"
    same(best_count(1e9, 1.0, 10.0, 1e-9), 1, "buckets where the latency is ten seconds")
