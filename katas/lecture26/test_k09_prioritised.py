"""Tests of k09_prioritised: cumulative sums and exact probabilities as the oracle."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode

from katas.lecture26.k09_prioritised import SumTree
from katas.lecture26.k09_prioritised import draw
from plugins.kit import unchanged


SMALL = [5.0, 2.0, 3.0, 0.0]


class Watch(TorchFunctionMode):
    """Counts calls of PyTorch, and the elements of their results, except views."""

    def __init__(self) -> None:
        super().__init__()
        self.count = self.elements = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the call, and make it."""
        out = func(*args, **(kwargs or {}))
        if isinstance(out, torch.Tensor):
            self.count += 1
            self.elements += 0 if out._is_view() else out.numel()  # noqa: SLF001 - no other way
        return out


def grown(priorities: list[float]) -> SumTree:
    """Return a tree of yours with these priorities."""
    tree = SumTree(len(priorities))
    tree.update(torch.arange(len(priorities)), torch.tensor(priorities, dtype=torch.float64))
    return tree


def irrational(size: int, seed: int = 0) -> torch.Tensor:
    """Return priorities, every fifth 0."""
    numbers = torch.rand(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    numbers[::5] = 0
    return numbers.sqrt()


def check_sums(tree: SumTree, leaves: torch.Tensor, why: str) -> None:
    """Compare the leaves, and each node with the sum of its children, bit for bit."""
    n, t = tree.capacity, tree.tree
    assert t.dtype == torch.float64, f"the tree is {t.dtype}, expected torch.float64"
    assert torch.equal(t[n:], leaves), f"{why}: leaves {t[n:].tolist()}, expected {leaves.tolist()}"
    for node in range(n - 1, 0, -1):
        expected = t[2 * node] + t[2 * node + 1]
        assert t[node] == expected, (
            f"{why}: node {node} is {t[node]:.17g}, its children {2 * node} and {2 * node + 1} sum "
            f"to {expected:.17g}"
        )


def check_slots(tree: SumTree, marks: list[float], expected: list[int], why: str) -> None:
    """Compare the slots that marks lead to."""
    yours = tree.find(torch.tensor(marks, dtype=torch.float64))
    assert yours.dtype == torch.int64, f"slots are {yours.dtype}, expected torch.int64"
    assert yours.tolist() == expected, (
        f"{why}: marks {marks} lead to slots {yours.tolist()}, expected {expected}; the leaves are "
        f"{tree.tree[tree.capacity :].tolist()[:16]}"
    )


def test_the_tree_of_the_brief() -> None:
    """Four leaves, two sums and a root."""
    yours, expected = grown(SMALL).tree.tolist(), [0, 10, 7, 3, *SMALL]

    assert yours == expected, f"the tree is {yours}, expected {expected}"


def test_one_slot_alone() -> None:
    """Only the sums above the slot change; the input stays the same."""
    tree, leaves = SumTree(8), torch.zeros(8, dtype=torch.float64)
    for slot, priority in ((6, 2**0.5), (0, 3**0.5), (6, 5**0.5), (1, 0.1), (0, 0.0)):
        slots, priorities = torch.tensor([slot]), torch.tensor([priority], dtype=torch.float64)
        leaves[slot] = priority
        with unchanged(slots=slots, priorities=priorities):
            tree.update(slots, priorities)
        check_sums(tree, leaves, f"after slot {slot} has {priority:.3f}")


def test_several_slots() -> None:
    """Slots may be in any order and share a parent, and an update may have no slots."""
    leaves = irrational(16)
    tree = grown(leaves.tolist())
    check_sums(tree, leaves, "all 16")
    slots = torch.tensor([13, 2, 3, 12])
    leaves[slots] = irrational(4, 1) + 1
    tree.update(slots, leaves[slots])
    check_sums(tree, leaves, f"after slots {slots.tolist()}")
    tree.update(slots[:0], leaves[:0])
    check_sums(tree, leaves, "after an update of no slot")


def test_a_slot_twice() -> None:
    """A batch drawn with replacement may contain a row twice: count its priority once."""
    tree, leaves = grown(SMALL), torch.tensor(SMALL, dtype=torch.float64)
    leaves[2], leaves[1] = 7**0.5, 0.3
    tree.update(torch.tensor([2, 1, 2]), leaves[[2, 1, 2]])
    check_sums(tree, leaves, "slots 2, 1 and 2")


def test_sums_do_not_drift() -> None:
    """After 300 updates each node is still the sum of its children."""
    tree, generator = SumTree(8), torch.Generator().manual_seed(0)
    leaves = torch.zeros(8, dtype=torch.float64)
    for _ in range(300):
        slots = torch.randperm(8, generator=generator)[:2]
        leaves[slots] = torch.rand(2, generator=generator, dtype=torch.float64) ** 9
        tree.update(slots, leaves[slots])
    check_sums(tree, leaves, "after 300 updates of two")


def test_priorities_with_a_graph() -> None:
    """The priorities are errors of a network, in float32."""
    tree = grown(SMALL)
    errors = torch.tensor([2.5, 0.5], requires_grad=True)
    tree.update(torch.tensor([3, 0]), errors * 2)

    assert not tree.tree.requires_grad, "the tree requires a gradient: it keeps the errors' graph"
    check_sums(tree, torch.tensor([1.0, 2, 3, 5]).double(), "slots 3 and 0 from float32")


def test_marks_of_the_brief() -> None:
    """A part includes its beginning, but not its end."""
    marks = [0.0, 4.9, 5.0, 5.5, 6.9, 7.0, 9.9]
    check_slots(grown(SMALL), marks, [0, 0, 1, 1, 1, 2, 2], "four slots")
    check_slots(grown([5, 2, 3, 8]), [7.0, 9.9, 10.0, 17.9], [2, 2, 3, 3], "the right half")
    check_slots(grown(SMALL), [], [], "no mark")
    check_slots(grown([3.0]), [0.0, 2.9], [0, 0], "a tree of one slot")


def test_a_slot_of_no_priority() -> None:
    """No mark leads there, whichever side it is on."""
    check_slots(grown([0.0, 2, 0, 1]), [0.0, 1.5, 2.0, 2.9], [1, 1, 3, 3], "zeros before others")
    check_slots(grown([0.0] * 5 + [1, 0, 0]), [0.0, 0.5, 0.9], [5, 5, 5], "zeros around slot 5")


def test_rounding_at_the_end() -> None:
    """1.7 is below the total, 1.7000000000000002, but 1.7 - 0.6 is not below 1.1."""
    check_slots(grown([0.1, 0.5, 1.1, 0.0]), [1.7], [2], "slot 3 has priority 0")
    check_slots(grown([0.1, 0, 0.5, 0, 1.1, 0, 0, 0]), [1.7], [4], "the last slots have priority 0")


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 5).flatmap(
        lambda k: st.lists(st.integers(0, 6), min_size=2**k, max_size=2**k).filter(any)
    )
)
def test_it_is_a_cumulative_sum(numbers: list[int]) -> None:
    """`find` agrees with cumsum for whole numbers, whose sums are exact, and marks in quarters."""
    tree = grown([float(number) for number in numbers])
    marks = torch.arange(4 * sum(numbers), dtype=torch.float64) / 4
    ends = torch.tensor(numbers, dtype=torch.float64).cumsum(0)
    with unchanged(tree.tree, marks=marks):
        yours = tree.find(marks)
    expected = torch.searchsorted(ends, marks, right=True)

    assert torch.equal(yours, expected), (
        f"priorities {numbers}, marks from 0 in steps of 0.25: yours {yours.tolist()}, expected "
        f"{expected.tolist()}"
    )


def test_levels_not_slots() -> None:
    """One slot of 65536 costs one path; a thousand slots take as many operators as one."""
    tree = SumTree(2**16)
    calls: dict[str, Any] = {
        "update": lambda n: tree.update(torch.arange(n), torch.ones(n, dtype=torch.float64)),
        "find": lambda n: tree.find(torch.arange(n, dtype=torch.float64)),
        "draw": lambda n: draw(tree, n, 0.5, torch.Generator().manual_seed(0)),
    }
    tree.update(torch.arange(2**16), torch.ones(2**16, dtype=torch.float64))
    for name, call in calls.items():
        counts = {}
        for size in (1, 1000):
            with Watch() as watch:
                call(size)
            counts[size] = watch.count
            assert watch.elements < 1000 * size, (
                f"{name} of {size} in a tree of 65536 creates {watch.elements} elements: "
                f"expected only a few for each of the 16 levels"
            )
        assert counts[1000] < counts[1] + 10, (
            f"operators of {name} by size: {counts}, expected about the same: is there a loop?"
        )


def test_chances_are_priorities() -> None:
    """Eight thousand draws with replacement agree with the exact probabilities."""
    leaves = irrational(16)
    slots, _ = draw(grown(leaves.tolist()), 8000, 0.5, torch.Generator().manual_seed(1))
    assert slots.shape == (8000,), f"slots have shape {tuple(slots.shape)}, expected (8000,)"
    found = torch.bincount(slots, minlength=16) / 8000
    chances = leaves / leaves.sum()
    off = (found - chances).abs() / (chances * (1 - chances) / 8000).sqrt().clamp(min=1e-9)

    assert off.max() < 4.5, f"shares {found.tolist()}\nexpected {chances.tolist()}"


def test_slots_are_drawn_independently() -> None:
    """Draws are independent: each of the 16 pairs of slots occurs about 500 times in 8000."""
    slots, _ = draw(grown([2.0] * 4), 8001, 0.5, torch.Generator().manual_seed(5))
    counts = torch.bincount(slots[1:] + 4 * slots[:-1], minlength=16).tolist()

    assert all(380 < count < 620 for count in counts), (
        f"of four equal slots, pairs of a slot and the next in one batch occur {counts} times, "
        "expected about 500 each: draw each mark from all of [0, total)"
    )


class Noted(SumTree):
    """Your tree, which records the marks that are passed to `find`."""

    marks: torch.Tensor | None = None

    def find(self, marks: torch.Tensor) -> torch.Tensor:
        """Record the marks, and find them."""
        self.marks = marks
        return super().find(marks)


def test_marks_are_fine() -> None:
    """Marks in float32 are too coarse for a tree of a million slots."""
    tree = Noted(4)
    tree.update(torch.arange(4), torch.tensor([1.0, 0.5, 2.0, 0.5], dtype=torch.float64))
    draw(tree, 50, 0.5, torch.Generator().manual_seed(0))

    assert tree.marks is not None, "draw never called `find`: use `find` to draw"
    assert tree.marks.dtype == torch.float64, f"marks are {tree.marks.dtype}, expected float64"
    assert (tree.marks * 2**22 % 1 != 0).any(), (
        "all marks are as coarse as float32: draw in float64"
    )


def test_weights_undo_the_chances() -> None:
    """A weight is the priority to the power of -beta, divided by the batch's largest weight."""
    leaves = irrational(16)
    tree = grown(leaves.tolist())
    for beta in (0.0, 0.4, 1.0):
        with unchanged(tree.tree):
            slots, weights = draw(tree, 6, beta, torch.Generator().manual_seed(2))
        expected = leaves[slots] ** -beta
        expected = expected / expected.max()
        assert weights.dtype == torch.float64, f"weights are {weights.dtype}, expected float64"
        assert weights.shape == (6,), f"weights have shape {tuple(weights.shape)}, expected (6,)"
        torch.testing.assert_close(
            weights,
            expected,
            rtol=1e-12,
            atol=0,
            msg=f"beta {beta}, slots {slots.tolist()}: yours {weights.tolist()}, expected "
            f"{expected.tolist()}",
        )


def test_the_generator_decides() -> None:
    """Only the given generator decides; the global generator is not used."""
    tree = grown(irrational(16).tolist())
    with unchanged():
        batches = [draw(tree, 50, 0.5, torch.Generator().manual_seed(s))[0] for s in (3, 3, 4)]

    assert torch.equal(batches[0], batches[1]), (
        "the same seed draws different slots: use `generator`"
    )
    assert not torch.equal(batches[0], batches[2]), "two different seeds draw the same 50 slots"
