"""Tests of k04_scan: which steps are joined, values, gradients, and how many operators run."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from torch._higher_order_ops.associative_scan import associative_scan

from katas.lecture26.k04_scan import affine
from katas.lecture26.k04_scan import gae
from katas.lecture26.k04_scan import scan
from plugins.kit import unchanged
from plugins.kit import watched_operators


# A round that does not double its reach never ends.
pytestmark = pytest.mark.time_limit(20)


def numbers(*size: int, seed: int = 0) -> torch.Tensor:
    """Return irrational numbers of both signs."""
    dice = torch.Generator().manual_seed(100 * seed + sum(size))
    return torch.randn(*size, dtype=torch.float64, generator=dice)


def by_loop(delta: torch.Tensor, done: torch.Tensor, decay: float) -> torch.Tensor:
    """Return advantages from the last step to the first."""
    found = list[torch.Tensor]()
    for t in reversed(range(delta.shape[-1])):
        after = torch.where(done[..., t], 0.0, found[-1]) if found else torch.zeros(())
        found.append(delta[..., t] + decay * after)
    return torch.stack(found[::-1], -1)


class Spans:
    """A `combine` that records which spans it joins; a span is a first and a last step."""

    def __init__(self) -> None:
        self.rounds = list[str]()

    def __call__(self, inner: Any, outer: Any) -> Any:
        """Join spans that are neighbours: the inner span begins right after the outer span."""
        pairs = [*zip(*(x.tolist() for x in (*outer, *inner)), strict=True)]
        text = [f"{name(a, b)}|{name(c, d)}" for a, b, c, d in pairs]
        self.rounds.append(" ".join(text))
        wrong = [f"{a}..{b} with {c}..{d}" for a, b, c, d in pairs if b + 1 != c]
        assert not wrong, (
            f"in round {len(self.rounds)} you join {', '.join(wrong)} (outer with inner): the "
            "inner span must begin right after the outer span"
        )
        return outer[0].clone(), inner[1].clone()


def name(first: int, last: int) -> str:
    """Return the digits of a span's steps."""
    return "".join(str(step) for step in range(first, last + 1))


def rounds_of(time: int) -> tuple[list[str], str]:
    """Return your rounds, each as text, and the spans that you return."""
    combine, steps = Spans(), torch.arange(time)
    first, last = scan(combine, (steps, steps.clone()))
    spans = [name(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    return combine.rounds, " ".join(spans)


def close(yours: torch.Tensor, expected: torch.Tensor, why: str) -> None:
    """Compare float64 to twelve digits."""
    __tracebackhide__ = True
    torch.testing.assert_close(
        yours,
        expected,
        rtol=1e-12,
        atol=1e-12,
        msg=lambda text: (
            f"{why}\nyours {yours.flatten()[:6].tolist()}\nexpected "
            f"{expected.flatten()[:6].tolist()} (the first 6 at most)\n{text.splitlines()[0]}"
        ),
    )


def test_two_maps_are_one() -> None:
    """2 + 3 (5 + 7 x) is 17 + 21 x."""
    five, two = (
        (torch.tensor([7.0]), torch.tensor([5.0])),
        (torch.tensor([3.0]), torch.tensor([2.0])),
    )
    c, d = affine(five, two)
    yours = (c.tolist(), d.tolist())

    assert yours == ([21.0], [17.0]), (
        f"the inner map is 5 + 7 x, the outer map 2 + 3 y: your (c, d) is {yours}, expected "
        "([21.0], [17.0])"
    )


def test_as_maps_do() -> None:
    """The joined map agrees with the two maps for any numbers, element by element."""
    inner, outer = (numbers(4), numbers(4, seed=1)), (numbers(4, seed=2), numbers(4, seed=3))
    with unchanged(*inner, *outer):
        c, d = affine(inner, outer)

    x = numbers(4, seed=4)
    close(d + c * x, outer[1] + outer[0] * (inner[1] + inner[0] * x), "outer of inner of x")


def test_rounds_of_five() -> None:
    """Five steps are joined as in the brief's picture."""
    yours, spans = rounds_of(5)
    assert_expected_inline(
        "\n".join(yours),
        """\
0|1 1|2 2|3 3|4
01|23 12|34 23|4
0123|4""",
    )
    assert spans == "01234 1234 234 34 4", (
        f"your steps reach {spans!r}, expected each to reach the end"
    )


def test_rounds_of_others() -> None:
    """One step needs no round, four need two, nine need four."""
    for time, expected in ((1, 0), (2, 1), (3, 2), (4, 2), (8, 3), (9, 4)):
        yours, spans = rounds_of(time)
        count = len(yours)
        assert count == expected, (
            f"{time} steps: you call combine {count} times, expected {expected}"
        )
        right = " ".join(name(t, time - 1) for t in range(time))
        assert spans == right, f"{time} steps: your steps reach {spans!r}, expected {right!r}"


@pytest.mark.parametrize("time", [1, 2, 5, 8, 13])
def test_sums(time: int) -> None:
    """If combine adds, the scan is a cumulative sum from the end, for three tensors at once."""
    maps = (numbers(2, 3, time), numbers(time), numbers(1, time))
    with unchanged(*maps):
        yours = scan(lambda a, b: tuple(x + y for x, y in zip(a, b, strict=True)), maps)

    assert len(yours) == 3, f"from three tensors your scan returns {len(yours)}, expected 3"
    (alone,) = scan(lambda a, b: (a[0] + b[0],), maps[:1])
    for x, found in (*zip(maps, yours, strict=True), (maps[0], alone)):
        close(found, x.flip(-1).cumsum(-1).flip(-1), f"sums of {time} steps, {[*x.shape]}")


@pytest.mark.parametrize("size", [(1,), (10,), (3, 17), (2, 2, 6)])
def test_advantages(size: tuple[int, ...]) -> None:
    """Advantages are those of a loop: done stops what flows back, even in the last step."""
    delta, done = numbers(*size), numbers(*size, seed=1) > 0.5
    with unchanged(delta, done):
        yours = gae(delta, done, 0.9)

    close(yours, by_loop(delta, done, 0.9), f"advantages of {[*size]}, by a loop")


def test_dtype() -> None:
    """Advantages have the dtype of the deltas."""
    yours = gae(numbers(5).float(), numbers(5) > 0, 0.9).dtype
    assert yours is torch.float32, f"float32 deltas: yours {yours}"


def test_operators_for_a_thousand_steps() -> None:
    """Ten rounds take at most a few hundred operators, however you write them."""
    delta, done = numbers(2, 1000), numbers(2, 1000, seed=1) > 1
    with watched_operators() as ran:
        yours = gae(delta, done, 0.9)

    close(yours, by_loop(delta, done, 0.9), "advantages of 1,000 steps")
    assert len(ran) <= 300, (
        f"you run {len(ran)} operators for 1,000 steps, expected at most 300; a loop over time "
        "takes thousands: is there one in your scan?"
    )


def test_gradients() -> None:
    """The joined maps have the derivatives of the maps, checked by finite differences."""
    maps = (numbers(2, 5).requires_grad_(), numbers(2, 5, seed=1).requires_grad_())
    right = torch.autograd.gradcheck(lambda c, d: scan(affine, (c, d)), maps)
    assert right, "the gradient of a scan of affine maps is wrong"


def test_pytorchs_scan_with_your_affine() -> None:
    """PyTorch's scan groups maps differently, which is allowed because affine is associative."""
    maps = (numbers(2, 11), numbers(2, 11, seed=1))
    theirs = associative_scan(affine, maps, dim=-1, reverse=True, combine_mode="generic")
    for yours, right in zip(scan(affine, maps), theirs, strict=True):
        close(yours, right, "associative_scan of PyTorch, with your affine")
