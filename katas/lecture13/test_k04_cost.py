"""Tests of k04_cost: formulas against a simulation of every message."""

from __future__ import annotations

import ast
import heapq
import math
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import NamedTuple

import numpy as np
import pytest
import torch

from katas.lecture13 import k04_cost
from katas.lecture13.k04_cost import Link
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Sequence


SLOW = Link(3e-5, 1e-9)
FAST = Link(2e-6, 5e-12)
# Times in which each term shows: latency, bytes and sums.
EVEN = Link(1.0, 0.25)
GAMMA = 0.0625


class Step(NamedTuple):
    """What a rank does at a time: it sends chunks to a rank, and receives some from another."""

    to: int | None = None
    chunks: Iterable[int] = ()
    source: int | None = None
    add: bool = False


Program = list[Step]


class Simulation:
    """Runs programs, one for each rank, message by message; knows whose share is in a chunk."""

    def __init__(
        self,
        programs: Sequence[Program],
        have: list[dict[int, frozenset[int]]],
        chunk: float,
        link: Callable[[int, int], Link],
        gamma: float = 0.0,
    ) -> None:
        self.programs, self.have = programs, have
        self._chunk, self._link, self._gamma = chunk, link, gamma
        self._events: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._serial = count()
        self._at = [-1] * len(programs)
        self._open = [0] * len(programs)
        self._adding = [0.0] * len(programs)
        self._waiting: dict[tuple[int, int], list[int]] = {}
        self.end = 0.0

    def run(self) -> float:
        """Return when the last rank has done its last step."""
        for rank in range(len(self.programs)):
            self._later(0.0, self._enter, rank)
        while self._events:
            now, _, happen, args = heapq.heappop(self._events)
            happen(now, *args)
        left = [rank for rank, at in enumerate(self._at) if at < len(self.programs[rank])]
        assert not left, f"ranks {left} wait for ever"
        return self.end

    def _later(self, time: float, happen: Callable[..., None], *args: object) -> None:
        heapq.heappush(self._events, (time, next(self._serial), happen, args))

    def _enter(self, now: float, rank: int) -> None:
        self._at[rank] += 1
        if self._at[rank] == len(self.programs[rank]):
            self.end = max(self.end, now)
            return
        step = self.programs[rank][self._at[rank]]
        pairs = [(rank, step.to)] if step.to is not None else []
        pairs += [(step.source, rank)] if step.source is not None else []
        self._open[rank], self._adding[rank] = len(pairs), 0.0
        for pair in pairs:
            # Whoever comes first waits for the other one.
            ready = self._waiting.setdefault(pair, [])
            ready.append(rank)
            if len(ready) == 2:
                del self._waiting[pair]
                self._begin(now, *pair)

    def _begin(self, now: float, sender: int, receiver: int) -> None:
        step = self.programs[sender][self._at[sender]]
        sent = {chunk: self.have[sender][chunk] for chunk in step.chunks}
        time = self._link(sender, receiver).time(len(sent) * self._chunk)
        self._later(now + time, self._arrive, sender, receiver, sent)

    def _arrive(
        self, now: float, sender: int, receiver: int, sent: dict[int, frozenset[int]]
    ) -> None:
        if self.programs[receiver][self._at[receiver]].add:
            for chunk, ranks in sent.items():
                assert self.have[receiver][chunk].isdisjoint(ranks), "added twice"
                self.have[receiver][chunk] |= ranks
            self._adding[receiver] = self._gamma * self._chunk * len(sent)
        else:
            self.have[receiver].update(sent)
        for rank in (sender, receiver):
            self._open[rank] -= 1
            if not self._open[rank]:
                self._later(now + self._adding[rank], self._enter, rank)


def reduced(
    programs: Sequence[Program],
    size: float,
    link: Callable[[int, int], Link],
    gamma: float,
) -> float:
    """Return the seconds of an all-reduce, of which it is checked that it is one."""
    n = len(programs)
    have = [dict.fromkeys(range(n), frozenset([rank])) for rank in range(n)]
    simulation = Simulation(programs, have, size / n, link, gamma)
    end = simulation.run()
    everybody = frozenset(range(n))
    assert [dict.fromkeys(range(n), everybody)] * n == simulation.have, "no all-reduce"
    return end


def rings(
    group: Sequence[int], parts: Sequence[Iterable[int]]
) -> tuple[list[Program], list[Program]]:
    """Return the programs of both halves of a ring, by position in the group."""
    n = len(group)
    halves = []
    for add, shift in ((True, 1), (False, 0)):
        halves.append(
            [
                [
                    Step(group[(r + 1) % n], parts[(r - s - shift) % n], group[(r - 1) % n], add)
                    for s in range(n - 1)
                ]
                for r in range(n)
            ]
        )
    return halves[0], halves[1]


def ring_programs(n: int) -> list[Program]:
    """Return what each rank of a ring does."""
    first, second = rings(range(n), [[chunk] for chunk in range(n)])
    return [a + b for a, b in zip(first, second, strict=True)]


def tree_programs(n: int) -> list[Program]:
    """Return what each rank of a binomial tree does."""
    programs = []
    for rank in range(n):
        bits = [1 << b for b in range(n.bit_length()) if rank % (2 << b) == 0]
        children = [rank + bit for bit in bits if rank + bit < n]
        above = rank & (rank - 1)
        program = [Step(source=child, add=True) for child in children]
        program += [Step(above, range(n)), Step(source=above)] if rank else []
        programs.append(program + [Step(child, range(n)) for child in reversed(children)])
    return programs


def doubling_programs(n: int) -> list[Program]:
    """Return what each rank does in recursive doubling."""
    distances = [1 << bit for bit in range(n.bit_length() - 1)]
    return [
        [Step(rank ^ distance, range(n), rank ^ distance, add=True) for distance in distances]
        for rank in range(n)
    ]


def halving_programs(n: int) -> list[Program]:
    """Return what each rank does in recursive halving, and doubling after it."""
    programs = []
    for rank in range(n):
        low, distance = 0, n // 2
        halving, gathering = [], []
        while distance:
            partner, lower, upper = (
                rank ^ distance,
                range(low, low + distance),
                range(low + distance, low + 2 * distance),
            )
            keep, give = (upper, lower) if rank & distance else (lower, upper)
            halving.append(Step(partner, give, partner, add=True))
            gathering.append(Step(partner, keep, partner))
            low, distance = keep[0], distance // 2
        programs.append(halving + gathering[::-1])
    return programs


def hierarchical_programs(nodes: int, per_node: int) -> list[Program]:
    """Return what each rank does within its node, between nodes, and within its node again."""
    n = nodes * per_node
    parts = [range(part, n, per_node) for part in range(per_node)]
    phases: list[dict[int, Program]] = [{}, {}, {}]
    for node in range(nodes):
        group = range(node * per_node, (node + 1) * per_node)
        scatter, gather = rings(group, parts)
        phases[0] |= dict(zip(group, scatter, strict=True))
        phases[2] |= dict(zip(group, gather, strict=True))
    for local, part in enumerate(parts):
        group = range(local, n, per_node)
        first, second = rings(group, [[chunk] for chunk in part])
        both = [a + b for a, b in zip(first, second, strict=True)]
        phases[1] |= dict(zip(group, both, strict=True))
    return [[step for phase in phases for step in phase[rank]] for rank in range(n)]


def always(link: Link) -> Callable[[int, int], Link]:
    """Return the same link between any two ranks."""
    return lambda *_: link


def same(seconds: float, digits: float = 1e-9) -> object:
    """Return what is as good as this number of seconds."""
    return pytest.approx(seconds, rel=digits, abs=1e-15)


CASES = [(EVEN, 8.0, GAMMA), (EVEN, 0.0, GAMMA), (SLOW, 1e6, 2e-10), (FAST, 1e9, 0.0)]


# What shows in a time where nothing else costs anything: a link and gamma, for 8 bytes.
PARTS = {
    "alpha: how many messages are there, one after the other?": (Link(1.0, 0.0), 0.0),
    "beta: how many bytes travel, one after the other?": (Link(0.0, 1.0), 0.0),
    "gamma: how many bytes are added, one after the other?": (Link(0.0, 0.0), 1.0),
}


def compare(name: str, programs: Callable[[int], list[Program]], sizes: Sequence[int]) -> None:
    """Check a formula against the simulation, by numbers of ranks."""
    cases = [(n, link, size, gamma) for n in sizes for link, size, gamma in CASES]
    parts = [(n, *part) for n in sizes for part in PARTS.values()]
    with forbids(k04_cost) as mine:
        formula = getattr(mine, name)
        told = [formula(n, size, link, gamma) for n, link, size, gamma in cases]
        told_of_parts = [formula(n, 8.0, link, gamma) for n, link, gamma in parts]
    wrong = [
        f"{n} ranks, {size:g} bytes, {link}, gamma {gamma:g}: {too(yours, expected)}"
        for (n, link, size, gamma), yours in zip(cases, told, strict=True)
        if same(expected := reduced(programs(n), size, always(link), gamma)) != yours
    ]
    broken = {
        f"{n} ranks: your {too(yours, expected)} where all that costs is {part}"
        for (n, link, gamma), yours, part in zip(
            parts, told_of_parts, list(PARTS) * len(sizes), strict=True
        )
        if same(expected := reduced(programs(n), 8.0, always(link), gamma)) != yours
    }
    assert not wrong, (
        f"{name} does not take as long as its messages, sent one by one:\n"
        + "\n".join([*wrong[:4], *sorted(broken)[:6]])
    )


def too(yours: float, expected: float) -> str:
    """Return on which side of the right answer a time is, which is not told."""
    return f"time, {yours:g}, is too {'short' if yours < expected else 'long'}"


def test_a_ring_takes_as_long_as_its_messages() -> None:
    """2(n-1) steps of a chunk; one rank has nobody to send to."""
    compare("ring", ring_programs, (2, 1, 3, 4, 7, 16))


def cost_in_pytorch() -> Callable[..., float]:
    """Return DTensor's function, taken out of its file: to import all of DTensor takes seconds."""
    file = Path(torch.__file__).parent / "distributed" / "tensor" / "_collective_utils.py"
    tree = ast.parse(file.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if getattr(node, "name", "") == "allreduce_cost"]
    assert 1 == len(tree.body), f"{file} has no allreduce_cost any more"
    names: dict[str, Callable[..., float]] = {}
    # Annotations are not evaluated, since they are not in this file either.
    exec(compile(tree, str(file), "exec"), names)  # noqa: S102 - a function of PyTorch's
    return names["allreduce_cost"]


def test_pytorch_reckons_with_a_ring_too() -> None:
    """DTensor chooses by this formula how to redistribute, with 6.6 microseconds to begin with."""
    cost, gigabytes, bandwidth, latency = cost_in_pytorch(), 3.0, 87.7, 0.6
    for n in (1, 2, 4, 8):
        topology = SimpleNamespace(
            mesh_dim_devices=[n], mesh_dim_bandwidth=[bandwidth], mesh_dim_latency=[latency]
        )
        micros = cost(gigabytes, topology, 0) - 6.6
        link = Link(latency * 1e-6, 1 / (bandwidth * 1e9))
        with forbids(k04_cost) as mine:
            yours = mine.ring(n, gigabytes * 1e9, link, 0.0)
        assert same(micros * 1e-6, 1e-6) == yours, f"{n} ranks: {too(yours, micros * 1e-6)}"


def test_a_tree_takes_as_long_as_its_messages() -> None:
    """A reduction and a broadcast; numbers of ranks that are no powers of two."""
    compare("tree", tree_programs, (2, 4, 1, 3, 5, 6, 7, 9, 16, 17))


def test_recursive_doubling_takes_as_long_as_its_messages() -> None:
    """Both directions at once, the whole tensor in each round."""
    compare("doubling", doubling_programs, (2, 4, 1, 8, 16))


def test_recursive_halving_takes_as_long_as_its_messages() -> None:
    """As few bytes as a ring, as few messages as two trees."""
    compare("halving", halving_programs, (2, 4, 1, 8, 16))


def test_a_hierarchy_takes_as_long_as_its_messages() -> None:
    """What a rank sends to another node is a part of the part that it has in its own."""
    for nodes, per_node in ((2, 2), (1, 4), (4, 1), (3, 2), (2, 8)):
        for inner, outer, size, gamma in (
            (EVEN, Link(5.0, 2.0), 16.0, GAMMA),
            (FAST, SLOW, 1e8, 1e-12),
            # In which nothing costs but the messages within nodes, then between them, then bytes.
            (Link(1.0, 0.0), Link(0.0, 0.0), 16.0, 0.0),
            (Link(0.0, 0.0), Link(1.0, 0.0), 16.0, 0.0),
            (Link(0.0, 0.0), Link(0.0, 1.0), 16.0, 0.0),
            (Link(0.0, 0.0), Link(0.0, 0.0), 16.0, 1.0),
        ):

            def link(a: int, b: int, local: int = per_node) -> Link:
                return inner if a // local == b // local else outer  # noqa: B023 - called at once

            programs = hierarchical_programs(nodes, per_node)
            expected = reduced(programs, size, link, gamma)
            with forbids(k04_cost) as mine:
                yours = mine.hierarchical(nodes, per_node, size, (inner, outer), gamma)
            assert same(expected) == yours, (
                f"{nodes} nodes of {per_node}, {size:g} bytes, {inner} within a node, {outer} "
                f"between nodes, gamma {gamma:g}: your {too(yours, expected)}"
            )


def test_a_hierarchy_is_worth_it() -> None:
    """Eight nodes of eight: fewer steps over the slow links, and fewer bytes, than in one ring."""
    with forbids(k04_cost) as mine:
        ours = mine.hierarchical(8, 8, 1e8, (FAST, SLOW), 0.0)
        ring = mine.ring(64, 1e8, SLOW, 0.0)

    assert ours < ring / 4, f"yours: {ours:g} s in nodes, and {ring:g} s in one ring"


@pytest.mark.parametrize("n", [4, 8, 32])
@pytest.mark.parametrize("gamma", [0.0, 1e-9])
def test_at_the_crossover_both_take_as_long(n: int, gamma: float) -> None:
    """A little below it recursive doubling is faster, a little above the ring is."""
    with forbids(k04_cost) as mine:
        at = mine.crossover(n, SLOW, gamma)

    for size, ring_is_faster in ((0.999 * at, False), (1.001 * at, True)):
        times = [
            reduced(programs(n), size, always(SLOW), gamma)
            for programs in (ring_programs, doubling_programs)
        ]
        assert ring_is_faster == (times[0] < times[1]), (
            f"your crossover is {at:g} bytes: with {size:g} bytes {n} ranks take {times[0]:g} s in "
            f"a ring and {times[1]:g} s by doubling; gamma is {gamma:g}"
        )


def test_two_ranks_may_never_cross() -> None:
    """A ring of two sends as many bytes as doubling does; it may win by adding half as many."""
    with forbids(k04_cost) as mine:
        never, once = mine.crossover(2, SLOW, 0.0), mine.crossover(2, SLOW, GAMMA)

    assert math.inf == never, f"yours is {never:g}: two ranks send as many bytes either way"
    assert same(SLOW.alpha / (GAMMA / 2)) == once, (
        f"yours is {once:g}: from which size on does it pay to add half as many bytes, for one "
        f"message more?"
    )


def chained(n: int, size: float, segments: int, link: Link) -> float:
    """Return the seconds that a simulated chain takes."""
    programs = []
    for rank in range(n):
        program = []
        for turn in range(segments + 1):
            sends = rank < n - 1 and 0 <= turn - 1 < segments
            gets = rank > 0 and turn < segments
            if sends or gets:
                step = Step(
                    rank + 1 if sends else None,
                    [turn - 1] if sends else (),
                    rank - 1 if gets else None,
                )
                program.append(step)
        programs.append(program)
    all_of_it = dict.fromkeys(range(segments), frozenset([0]))
    have = [dict(all_of_it) if rank == 0 else {} for rank in range(n)]
    simulation = Simulation(programs, have, size / segments, always(link))
    end = simulation.run()
    assert [all_of_it] * n == simulation.have, "no broadcast"
    return end


def test_a_chain_takes_as_long_as_its_messages() -> None:
    """The pipeline fills, runs and empties."""
    for n, segments in ((2, 1), (2, 5), (3, 1), (3, 4), (6, 1), (6, 2), (6, 9)):
        for link, size, _ in CASES:
            expected = chained(n, size, segments, link)
            with forbids(k04_cost) as mine:
                yours = mine.chain(n, size, segments, link)
            assert same(expected) == yours, (
                f"{n} ranks, {size:g} bytes in {segments} segments, {link}: your "
                f"{too(yours, expected)}. When does the last segment leave rank 0?"
            )


def test_no_other_number_of_segments_is_faster() -> None:
    """All others are tried, up to forty."""
    for n in (2, 3, 5, 6):
        for size in (1.0, 8.5, 10.0, 30.0, 100.0, 400.0):
            with forbids(k04_cost) as mine:
                best = mine.best_segments(n, size, EVEN)
            times = {segments: chained(n, size, segments, EVEN) for segments in range(1, 41)}
            assert isinstance(best, int), f"yours is a {type(best).__name__}: {best}"
            assert best in times, f"{n} ranks, {size} bytes: yours is {best}, not from 1 to 40"
            assert same(min(times.values())) == times[best], (
                f"{n} ranks, {size} bytes: yours is {best}, and another number of segments is "
                f"faster: look at both neighbours"
            )


def test_many_segments_are_found_without_trying_all() -> None:
    """A terabyte along a thousand ranks: one more or one less is no better."""
    link = Link(1e-9, 1e-9)
    with forbids(k04_cost) as mine:
        best = mine.best_segments(1002, 1e12, link)
        times = [mine.chain(1002, 1e12, best + more, link) for more in (-1, 0, 1)]

    assert abs(best - math.sqrt(1000 * 1e12)) <= 2, f"yours, {best}, is not the best by far"
    assert times[1] == min(times), f"yours is {best}, and a neighbour is faster: {times}"


def finished(buckets: Sequence[float], compute: float, link: Link) -> float:
    """Return when the last bucket is reduced: buckets fill, queue up, and are served one by one."""
    total, full = sum(buckets), np.cumsum(buckets)
    events = [
        (compute * filled / total, 0, bucket) for filled, bucket in zip(full, buckets, strict=True)
    ]
    queue: list[float] = []
    busy, end = False, 0.0
    heapq.heapify(events)
    while events:
        end, kind, bucket = heapq.heappop(events)
        if kind == 1:
            busy = False
        else:
            queue.append(bucket)
        if queue and not busy:
            busy = True
            heapq.heappush(events, (end + link.time(queue.pop(0)), 1, 0.0))
    return end


@pytest.mark.parametrize(
    ("total", "first", "bucket"),
    [(100, 100, 100), (100, 50, 50), (100, 25, 25), (100, 10, 45), (100, 10, 40), (10, 25, 5)],
)
def test_buckets_are_reduced_while_backward_runs(total: int, first: int, bucket: int) -> None:
    """One after the other, none before it is full; the last one may be smaller."""
    buckets = [float(min(first, total))]
    while sum(buckets) < total:
        buckets.append(float(min(bucket, total - sum(buckets))))
    for compute in (0.0, 1.0, 20.0, 40.0, 1000.0):
        for link in (EVEN, Link(0.0, 0.25), Link(30.0, 0.01)):
            expected = finished(buckets, compute, link)
            with forbids(k04_cost) as mine:
                yours = mine.step_time(total, first, bucket, compute, link)
            assert same(expected) == yours, (
                f"buckets of {buckets} bytes, {compute} s of backward, {link}: your "
                f"{too(yours, expected)}. When is each bucket full, and when is the link free?"
            )


def test_a_small_first_bucket_begins_early() -> None:
    """One megabyte, as in PyTorch, and then 25: if communication is what takes long."""
    from torch.distributed import _DEFAULT_FIRST_BUCKET_BYTES as FIRST  # noqa: PLC0415

    total, cap, link = 100 * FIRST, 25 * FIRST, Link(1e-5, 1e-9)
    with forbids(k04_cost) as mine:
        early, late = (mine.step_time(total, first, cap, 0.05, link) for first in (FIRST, cap))

    expected = finished([FIRST, cap, cap, cap, 24 * FIRST], 0.05, link)
    assert same(expected) == early, f"one megabyte and then 25 at a time: {too(early, expected)}"
    assert early < late, f"yours: {early:g} s with a small first bucket, {late:g} s without"


@pytest.mark.parametrize("compute", [0.5, 5.0, 20.0, 26.0, 60.0, 1000.0])
@pytest.mark.parametrize("alpha", [0.01, 0.3, 4.0])
def test_no_other_number_of_buckets_is_faster(compute: float, alpha: float) -> None:
    """All others are tried, up to two hundred, for fast and slow links."""
    link = Link(alpha, 0.25)
    with forbids(k04_cost) as mine:
        best = mine.best_count(100, compute, link)
    assert isinstance(best, int), f"yours is a {type(best).__name__}: {best}"
    assert best >= 1, f"yours is {best}: there is at least one bucket"
    times = {n: finished([100 / n] * n, compute, link) for n in {*range(1, 200), best}}

    assert same(min(times.values())) == times[best], (
        f"yours is {best} buckets, and another number is faster: does the link wait for the last "
        f"bucket of {best}, or is it busy from the first one on?"
    )


@pytest.mark.parametrize("total", [2e15, 0.5e9])
def test_many_buckets_are_found_without_trying_all(total: float) -> None:
    """About a million and half a million: a tenth more or less is no better."""
    compute = 1e6 if total > 1e12 else 1.0
    link = Link(1e-6, 1e-9)

    def end(number: int) -> float:
        filled = compute * np.arange(1, number + 1) / number
        # Whichever bucket the link has waited for last, from there on it was busy.
        return float(np.max(filled + link.time(total / number) * np.arange(number, 0, -1)))

    with forbids(k04_cost) as mine:
        best = mine.best_count(total, compute, link)
    for other in (best - best // 10, best + best // 10, best // 2, best * 2):
        assert end(best) <= end(other) * (1 + 1e-10), f"yours is {best}; {other} are faster"
