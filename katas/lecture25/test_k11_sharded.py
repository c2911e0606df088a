"""Tests of k11_sharded: ranks as threads, one process as the oracle, and two real ranks."""

from __future__ import annotations

from threading import Barrier
from threading import BrokenBarrierError
from threading import Thread
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import distributed as dist

from katas.lecture25.k11_sharded import Exchange
from katas.lecture25.k11_sharded import Table
from katas.lecture25.k11_sharded import lookup
from katas.lecture25.k11_sharded import lookup_unique
from katas.lecture25.k11_sharded import route
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import World


one = pytest.mark.step(1, "route")
two = pytest.mark.step(2, "a swap with a gradient")
three = pytest.mark.step(3, "look up")
four = pytest.mark.step(4, "ask once")


class Threads:
    """Ranks as threads of this process, which meet in each swap; nothing is copied twice."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.log: list[list[torch.Tensor]] = [[] for _ in range(size)]
        self._meet = Barrier(size, timeout=2)
        self._parcels: list[Any] = [None] * size
        self._errors: list[BaseException] = []

    def run(self, work: Callable[[int, Any], Any]) -> list[Any]:
        """Return what ``work(rank, swap)`` returns in each rank."""
        __tracebackhide__ = True
        results: list[Any] = [None] * self.size

        def live(rank: int) -> None:
            try:
                results[rank] = work(rank, lambda *args: self._swap(rank, *args))
            except BrokenBarrierError:
                pass
            except BaseException as error:  # noqa: BLE001 - raised again below
                self._errors.append(error)
                self._meet.abort()

        threads = [Thread(target=live, args=(rank,), daemon=True) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]
        made = [len(log) for log in self.log]
        assert not self._meet.broken, (
            f"your ranks wait forever: they have begun {made} swaps, but all ranks must make the "
            "same number, with or without ids"
        )
        return results

    def _swap(
        self, rank: int, rows: torch.Tensor, give: list[int], take: list[int]
    ) -> torch.Tensor:
        number = f"swap {len(self.log[rank])} of rank {rank}"
        for name, sizes, total in (("give", give, len(rows)), ("take", take, None)):
            fits = isinstance(sizes, list) and [type(n) for n in sizes] == [int] * self.size
            assert fits, f"{number}: {name} is {sizes!r}, expected a list of {self.size} int"
            assert total in {None, sum(sizes)}, (
                f"{number}: you give {sizes}, which sum to {sum(sizes)}, but there are {total} rows"
            )
        self.log[rank].append(rows.detach().clone())
        self._parcels[rank] = rows.detach().split(give)
        self._meet.wait()
        came = [parcels[rank] for parcels in self._parcels]
        self._meet.wait()
        found = [len(each) for each in came]
        assert found == take, (
            f"{number}: your code takes {take} rows from the ranks, but they sent {found}"
        )
        return torch.cat(came)


def irrational(*size: int) -> torch.Tensor:
    """Return values of both signs; the last bits of their sum depend on the order."""
    return (torch.arange(torch.Size(size).numel()).double() * 1.7 + 1).sin().view(size)


def same(yours: Any, expected: Any, why: str) -> None:
    """Compare two tensors bit for bit."""
    __tracebackhide__ = True
    assert isinstance(yours, torch.Tensor), f"{why}\nyours is {yours!r}, expected a tensor"
    facts = [(tuple(each.shape), str(each.dtype)) for each in (yours, expected)]
    assert facts[0] == facts[1], f"{why}\nyours has {facts[0]}, expected {facts[1]}"
    # The same sum in a different order may look equal, but differs in its last bits.
    near = yours.is_floating_point() and torch.allclose(yours, expected, rtol=1e-12)
    note = "\nthey differ in their last bits: summed in another order" if near else ""
    equal = torch.equal(yours, expected)
    assert equal, f"{why}\nyours:    {yours.tolist()}\nexpected: {expected.tolist()}{note}"


def integers(values: list[int]) -> torch.Tensor:
    """Return them as int64."""
    return torch.tensor(values, dtype=torch.int64)


@one
def test_the_ids_of_the_brief_have_two_owners() -> None:
    """4 and 5 are rank 1's, and 0 and 1 rank 0's."""
    ids = integers([4, 0, 5, 1])
    with unchanged(ids=ids):
        order, counts = route(ids, 3, 2)
    same(order, integers([1, 3, 0, 2]), "order of 4 0 5 1, where a rank has 3 rows")
    same(counts, integers([2, 2]), "how many ids each of two ranks is asked for")


@one
def test_ids_of_one_owner_keep_their_order() -> None:
    """The ids are not sorted, and nobody asks ranks 1 and 3 for any row."""
    ids = [1, 9, 0, 9, 1, 8, 0, 8] * 5
    order, counts = route(integers(ids), 4, 4)
    grouped = [id_ for id_ in ids if id_ < 4] + [id_ for id_ in ids if id_ >= 8]
    same(
        integers(ids)[order],
        integers(grouped),
        "the ids of rank 0, then those of rank 2, each in the order they had",
    )
    same(counts, integers([20, 0, 20, 0]), "a count for each of four ranks")
    last = [place for place, id_ in enumerate(ids) if id_ < 4]
    same(order[:20], integers(last), "places of the ids of rank 0, ascending")


@one
def test_no_ids_ask_no_rank() -> None:
    """There is a count for each rank, and all are 0."""
    order, counts = route(integers([]), 4, 3)
    same(order, integers([]), "order of no ids")
    same(counts, integers([0, 0, 0]), "counts of no ids, for three ranks")


# How many rows rank r gives to each rank.
GIVE = [[1, 2, 0], [0, 0, 3], [2, 1, 1]]
TAKE = [list(column) for column in zip(*GIVE, strict=True)]


def exchanged(rank: int, swap: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the rows that a rank receives, the gradient of the rows it gave, and its weights."""
    rows = (irrational(sum(GIVE[rank]), 2) + 10 * rank).requires_grad_()
    # A second exchange precedes the backward of the first: each remembers its own sizes.
    with unchanged(rows=rows):
        came = Exchange.apply(rows, swap, GIVE[rank], TAKE[rank])
        Exchange.apply(irrational(3, 2).requires_grad_(), swap, [1] * 3, [1] * 3)
    assert came.requires_grad, "the rows require a gradient, but what Exchange returns does not"
    weights = irrational(sum(TAKE[rank]), 2).exp() + rank
    (grad,) = torch.autograd.grad((came * weights).sum(), rows)
    return came.detach(), grad, weights


@two
def test_an_exchange_has_a_gradient() -> None:
    """Rows cross one way, and their gradients the other way."""
    results = Threads(3).run(exchanged)
    given = [(irrational(sum(give), 2) + 10 * r).split(give) for r, give in enumerate(GIVE)]
    weights = [result[2].split(take) for result, take in zip(results, TAKE, strict=True)]
    for rank, (came, grad, _) in enumerate(results):
        expected = torch.cat([parts[rank] for parts in given])
        same(came, expected, f"what comes to rank {rank}, which takes {TAKE[rank]}")
        expected = torch.cat([parts[rank] for parts in weights])
        same(grad, expected, f"the gradient of what rank {rank} gave, {GIVE[rank]} rows")


def on_a_rank(
    rank: int, swap: Any, ids: list[list[int]], whole: torch.Tensor, find: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rows of this rank's ids, and the gradient of its shard."""
    per_rank = -(-len(whole) // len(ids))
    shard = whole[rank * per_rank : (rank + 1) * per_rank].clone().requires_grad_()
    mine = integers(ids[rank])
    before = shard.detach().clone()
    rows = find(mine, Table(shard, rank, per_rank, len(ids), *([swap] if swap else [])))
    note = "" if ids[rank] else "; a rank without ids makes all swaps too: others may ask it"
    assert rows.requires_grad, (
        f"rank {rank} with ids {ids[rank]}: the shard requires a gradient, but the rows do"
        f" not{note}"
    )
    (grad,) = torch.autograd.grad((rows * weights_of(rank, len(mine))).sum(), shard)
    assert torch.equal(shard.detach(), before), f"your code writes to the shard of rank {rank}"
    assert mine.tolist() == ids[rank], f"your code writes to the ids of rank {rank}"
    return rows.detach(), grad


def weights_of(rank: int, rows: int) -> torch.Tensor:
    """Return the gradient of a rank's rows, different for each row."""
    return irrational(rows, 3).exp() + rank


def check(results: Any, ids: list[list[int]], whole: torch.Tensor, *, bits: bool = True) -> None:
    """Compare rows and gradients with those of one process that has the table and all ids."""
    __tracebackhide__ = True
    table = whole.clone().requires_grad_()
    rows = table[integers([i for mine in ids for i in mine])]
    weights = torch.cat([weights_of(rank, len(mine)) for rank, mine in enumerate(ids)])
    (grad,) = torch.autograd.grad((rows * weights).sum(), table)
    expected = rows.detach().split([len(mine) for mine in ids])
    text = f"ids {ids}, {len(whole)} rows over {len(ids)} ranks"
    for rank, (yours, _) in enumerate(results):
        same(yours, expected[rank], f"rows of rank {rank}, in the order of its ids; {text}")
    per_rank = -(-len(whole) // len(ids))
    for rank, (_, yours) in enumerate(results):
        right = grad[rank * per_rank : (rank + 1) * per_rank]
        why = f"gradient of the shard of rank {rank}; {text}"
        if bits or not torch.allclose(yours, right, rtol=1e-12, atol=1e-12):
            same(yours, right, why)


def threads(
    ids: list[list[int]], whole: torch.Tensor, find: Any
) -> tuple[list[Any], list[list[torch.Tensor]]]:
    """Return the results of ranks as threads, and what each has sent."""
    __tracebackhide__ = True
    ranks = Threads(len(ids))
    return ranks.run(lambda rank, swap: on_a_rank(rank, swap, ids, whole, find)), ranks.log


@three
def test_the_rows_of_the_brief() -> None:
    """Rank 0 has four ids, and rank 1 three."""
    ids, whole = [[4, 0, 5, 1], [2, 3, 2]], irrational(6, 3)
    check(threads(ids, whole, lookup)[0], ids, whole)


@three
def test_ranks_may_ask_for_nothing_or_be_asked_for_nothing() -> None:
    """Rank 1 has no ids, and nobody asks rank 2; then no rank has ids."""
    whole = irrational(9, 3)
    for ids in ([[2, 0, 4, 2, 5], [], [4, 4, 1]], [[], [], []]):
        check(threads(ids, whole, lookup)[0], ids, whole)


@three
def test_only_counts_ids_and_their_rows_travel() -> None:
    """Each rank makes three swaps, and a fourth in backward."""
    ids, whole = [[4, 0, 5, 1], [2, 3, 2]], irrational(6, 3)
    log = threads(ids, whole, lookup)[1]
    for rank, asked in ((0, 4), (1, 3)):
        yours = [(str(rows.dtype)[6:], len(rows)) for rows in log[rank]]
        expected = [("int64", 2), ("int64", len(ids[rank])), ("float64", asked)]
        expected.append(("float64", len(ids[rank])))
        assert yours == expected, (
            f"dtype and rows of what rank {rank} sends, forward and backward\nyours:    {yours}\n"
            f"expected: {expected}: counts, ids, rows, gradients of rows"
        )


@three
def test_the_last_ranks_have_fewer_rows() -> None:
    """Four ranks share five rows as 2, 2, 1 and 0; three ranks share eleven as 4, 4 and 3."""
    for ids, rows in (
        ([[4, 1, 3], [4, 4], [0, 2], [3, 4, 0]], 5),
        ([[8, 10], [9, 0, 7], [10, 4, 8]], 11),
    ):
        whole = irrational(rows, 3)
        check(threads(ids, whole, lookup)[0], ids, whole)


@three
def test_many_ids_sum_up_in_the_order_of_the_ranks() -> None:
    """Sums are equal to the bit, though some rows get thirty gradients."""
    ids = [[(7 * k * k + rank) % 8 for k in range(40)] for rank in range(3)]
    whole = irrational(8, 3)
    check(threads(ids, whole, lookup)[0], ids, whole)


def lookup_on_gloo(ids: list[list[int]], whole: torch.Tensor) -> Any:
    """Return what `lookup` gives on a real rank, whose swap is the given one."""
    return on_a_rank(dist.get_rank(), None, ids, whole, lookup)


@three
@pytest.mark.backend("gloo")
def test_it_runs_on_two_real_ranks(world: World) -> None:
    """The swap is dist.all_to_all_single between two processes."""
    ids, whole = [[4, 0, 4, 1, 3], [2, 3]], irrational(5, 3)
    results = world(lookup_on_gloo, 2, ids, whole, timeout=10)
    check(results, ids, whole)


@four
def test_unique_ids_give_the_same_rows() -> None:
    """The rows are in the order of the ids, with one gradient for each occurrence of an id."""
    whole = irrational(5, 3)
    for ids in ([[4, 0, 4, 1, 4], [4, 3, 3]], [[], [2, 2]]):
        check(threads(ids, whole, lookup_unique)[0], ids, whole, bits=False)


@four
def test_a_hot_id_travels_once() -> None:
    """In a Zipf batch, most ids are among a few."""
    dice = torch.Generator().manual_seed(0)
    drawn = (1 / torch.rand(2, 400, generator=dice).clamp(min=0.011)).long()
    whole = irrational(100, 3)
    log = threads(drawn.tolist(), whole, lookup_unique)[1]
    for rank in range(2):
        once = len(set(drawn[rank].tolist()))
        yours = len(log[rank][1])
        assert yours == once, (
            f"rank {rank} has 400 ids, {once} of them distinct; your code asks for {yours} rows"
        )
        found = [len(rows) for rows in log[rank][3:]]
        assert found == [once], (
            f"rows of gradient that rank {rank} sends: {found}, expected {once}: sum the "
            "gradients of each id before they travel"
        )
