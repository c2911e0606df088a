"""Tests of k11_shuffle: what goes out, when, and how likely each order is."""

from __future__ import annotations

import weakref
from collections import Counter
from itertools import count
from itertools import islice
from itertools import permutations
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture06.k11_shuffle import shuffled
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Iterator


def seeded(seed: int) -> torch.Generator:
    """Return a generator with this seed."""
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("size", [1, 4, 20, 30])
@pytest.mark.parametrize("number", [0, 1, 20])
def test_each_item_goes_out_one_time(number: int, size: int) -> None:
    """Each item goes out once, even if the buffer is larger than the stream."""
    yours = list(shuffled(iter(range(number)), size, seeded(1)))

    assert list(range(number)) == sorted(yours), (
        f"{number} items, buffer {size}: yours {yours}, expected each item once"
    )


def test_a_buffer_of_one_changes_nothing() -> None:
    """With a single place there is nothing to draw."""
    yours = list(shuffled(range(6), 1, seeded(1)))

    assert list(range(6)) == yours, f"a buffer of one: yours {yours}, expected the stream's order"


def test_an_item_is_early_by_less_than_the_buffer() -> None:
    """At position k, the source has given items up to k + size - 1; the last of them may go out."""
    most = 0
    for seed in range(100):
        yours = list(shuffled(range(30), 4, seeded(seed)))
        early = max(item - place for place, item in enumerate(yours))
        assert early <= 3, (
            f"buffer 4: in {yours} an item is {early} positions early, expected at most 3"
        )
        most = max(most, early)

    assert 3 == most, (
        f"in 100 runs no item was 3 positions early, the earliest only {most}: is your buffer "
        "too small?"
    )


def test_items_may_be_anything() -> None:
    """Items may be None, or tensors, which are not compared; items already yielded are not kept."""
    items = [None, torch.ones(2), torch.ones(2), None, torch.zeros(2)]
    given_items = list(items)
    for seed in range(20):
        yours = list(shuffled(items, 2, seeded(seed)))
        assert list(map(id, given_items)) == list(map(id, items)), (
            f"your function modified the caller's list {items}"
        )
        assert sorted(map(id, items)) == sorted(map(id, yours)), f"yours {yours}, expected {items}"
    made: list[weakref.ref[torch.Tensor]] = []

    def stream() -> Iterator[torch.Tensor]:
        for number in range(50):
            item = torch.tensor(number)
            made.append(weakref.ref(item))
            yield item
            del item

    most = max(sum(ref() is not None for ref in made) for _ in shuffled(stream(), 4, seeded(0)))

    assert most <= 8, (
        f"buffer 4: {most} of 50 items were alive at once, expected at most 8: a stream may be"
        " endless"
    )


def test_a_stream_without_end() -> None:
    """Only one item beyond the buffer is asked for; an error of the source reaches the caller."""
    asked: list[int] = []
    stream = (asked.append(each) or each for each in count())
    yours = shuffled(stream, 5, seeded(0))
    first = next(yours)

    assert len(asked) <= 6, (
        f"buffer 5: {len(asked)} items asked for before item {first} went out, expected at most 6"
    )
    rest = list(islice(yours, 50))
    assert len(asked) <= 56, (
        f"51 items are out, and {len(asked)} were asked for, expected at most 56"
    )
    assert 51 == len({first, *rest}), "an item was yielded twice"

    def broken() -> Iterator[int]:
        yield from range(9)
        raise OSError("the disk is gone")

    found = []
    with pytest.raises(OSError, match="the disk is gone"):
        found.extend(shuffled(broken(), 4, seeded(0)))


@pytest.mark.parametrize("size", [3, 4])
def test_all_orders_have_equal_chances(size: int) -> None:
    """With as many items as places, each order comes about equally often."""
    orders = list(permutations(range(size)))
    each = 200 if size == 3 else 60
    found = Counter(
        tuple(shuffled(range(size), size, seeded(seed))) for seed in range(each * len(orders))
    )

    for order in orders:
        assert each / 2 <= found[order] <= 2 * each, (
            f"buffer {size}, {order}: {found[order]} of {each * len(orders)}, expected about {each}"
        )


def test_all_places_have_equal_chances() -> None:
    """The first to go out is equally often any of the items in the full buffer."""
    found = Counter(next(shuffled(range(9), 3, seeded(seed))) for seed in range(1200))

    assert {0, 1, 2} == set(found), (
        f"the first to go out was {dict(found)}, expected only 0, 1 and 2"
    )
    for item in range(3):
        assert 320 <= found[item] <= 480, (
            f"item {item} went out first in {found[item]} of 1200 runs, expected about 400"
        )
    found = Counter(next(shuffled(range(9), 7, seeded(seed))) for seed in range(1400))
    for item in range(7):
        assert 140 <= found[item] <= 260, (
            f"buffer 7: item {item} went out first in {found[item]} of 1400 runs, expected about"
            " 200"
        )
    # 0 or 1 goes out, then the other one or 2, and so on: 2 * 2 * 2 orders.
    found = Counter(tuple(shuffled(range(4), 2, seeded(seed))) for seed in range(1200))
    says = f"four items in a buffer of two: yours gives {dict(found)}, expected 8 orders, each"

    assert 8 == len(found), f"{says} about 150 times: draw a new place for each item"
    assert all(100 <= each <= 200 for each in found.values()), f"{says} about 150 times"

    # Reusing a draw shows in the times at which items go out.
    size, number = 5, 400
    yours = list(shuffled(range(number), size, seeded(2)))
    late = [yours.index(item) - item for item in range(number - size)]
    for period in range(1, 65):
        repeats = sum(a == b for a, b in zip(late, late[period:], strict=False))
        assert repeats < 0.8 * (len(late) - period), (
            f"the delays of the items repeat after {period} items: {late[:40]} ..."
        )


def test_the_generator_decides() -> None:
    """One seed gives one order; the global generator is left alone, and the given one advances."""
    generator = seeded(7)
    with unchanged():
        first, second = (list(shuffled(range(40), 8, generator)) for _ in range(2))
    again = list(shuffled(range(40), 8, seeded(7)))

    assert first == again, f"seed 7 gives {first}, then {again}, expected the same order"
    assert first != second, "the generator has advanced, but two epochs have the same order"
    orders = {tuple(shuffled(range(40), 8, seeded(seed))) for seed in range(300)}
    assert 300 == len(orders), (
        f"300 seeds give {len(orders)} orders, expected a different one for each"
    )
