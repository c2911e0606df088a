"""Tests of k11_champion: means on paper, all 27 resamples of three gains, equal models."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture18.k11_champion import beats
from katas.lecture18.k11_champion import paired
from katas.lecture18.k11_champion import promote
from katas.lecture18.k11_champion import resampled
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

GAINS = torch.tensor([0.3, -0.1, 0.2], dtype=torch.float64)


def dice(seed: int = 0) -> torch.Generator:
    """Return a new generator."""
    return torch.Generator().manual_seed(seed)


def close(yours: torch.Tensor, expected: torch.Tensor, why: str, tolerance: float = 1e-12) -> None:
    """Compare tensors of float64."""
    __tracebackhide__ = True
    right = yours.shape == expected.shape and bool((yours - expected).abs().le(tolerance).all())
    assert right, f"{why}\nyours    {yours.tolist()} ({yours.dtype})\nexpected {expected.tolist()}"


def losses(values: torch.Tensor) -> dict[str, float]:
    """Return a loss for each id."""
    return {f"{n:03}": float(value) for n, value in enumerate(values)}


def nights(better: float, count: int) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Return losses on 80 examples that differ a lot, of models that differ a little."""
    dices = dice(18)
    found = []
    for _ in range(count):
        hard = 3 * torch.randn(80, dtype=torch.float64, generator=dices).abs()
        noise = torch.randn(2, 80, dtype=torch.float64, generator=dices) / 10
        found.append((losses(hard + noise[0]), losses(hard + noise[1] - better)))
    return found


def test_gains() -> None:
    """A gain is champion minus challenger: a lower loss is a gain."""
    yours = paired({"a": 0.5, "b": 0.2}, {"a": 0.25, "b": 0.3})
    close(yours, torch.tensor([0.25, 0.2 - 0.3], dtype=torch.float64), "gains on a and b")


def test_pairs_by_id() -> None:
    """Gains are paired by id in any order; ids that look like numbers stay strings."""
    champion = {"10": 1.0, "9": 2.0, "09": 4.0}
    challenger = {"09": 0.1, "9": 0.2, "10": 0.3}
    yours = paired(champion, challenger)
    right = torch.tensor([1.0 - 0.3, 2.0 - 0.2, 4.0 - 0.1], dtype=torch.float64)
    close(yours, right, "ids 10, 9, 09 for the champion, and 09, 9, 10 for the challenger")


def test_precise_gains() -> None:
    """Large losses have a small difference, which float32 would lose."""
    yours = paired({"a": 1e6 + 0.001}, {"a": 1e6})
    assert yours.dtype == torch.float64, f"dtype: yours {yours.dtype}, expected torch.float64"
    close(yours, torch.tensor([1e6 + 0.001 - 1e6], dtype=torch.float64), "a gain of 0.001")


@pytest.mark.parametrize(
    "other", [{"a": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0, "B": 1.0}]
)
def test_other_examples(other: dict[str, float]) -> None:
    """Different examples raise an error; do not compare only the common ones."""
    champion = {"a": 1.0, "b": 2.0}
    for call in (lambda: paired(champion, other), lambda: promote(champion, other, dice())):
        try:
            yours = call()
        except ValueError:
            continue
        raise AssertionError(
            f"examples {[*champion]} and {[*other]}: your code returns {yours}, expected"
            " a ValueError"
        )


def test_a_mean_for_each_round() -> None:
    """Each mean is within the range of the gains; one gain has one mean."""
    means = resampled(GAINS, 7, dice())
    assert means.shape == (7,), f"7 rounds: your means have shape {[*means.shape]}, expected [7]"
    assert means.dtype == torch.float64, f"dtype: yours {means.dtype}, expected torch.float64"
    one = resampled(GAINS[:1], 4, dice())
    close(one, GAINS[:1].expand(4), "four rounds of a single gain of 0.3")


def test_all_27_resamples() -> None:
    """All 27 ways to draw three of three gains with replacement are equally likely."""
    rounds = 27000
    means = resampled(GAINS, rounds, dice())
    expected: dict[float, int] = {}
    for three in product(GAINS.tolist(), repeat=3):
        key = round(sum(three) / 3, 9)
        expected[key] = expected.get(key, 0) + 1
    yours = {key: (means - key).abs().lt(1e-8).sum().item() for key in expected}
    assert sum(yours.values()) == rounds, (
        f"{rounds - sum(yours.values())} of {rounds} means are not the mean of any three of the "
        "gains 0.3, -0.1, 0.2: expected resamples of three"
    )
    for key, count in expected.items():
        share = yours[key] / rounds
        assert abs(share - count / 27) < 0.012, (
            f"a mean of {key:.3f} has a share of {share:.3f} in yours, expected {count}/27,"
            f" {count / 27:.3f}: is each gain drawn from all three?"
        )


def test_all_randomness_is_from_the_dice() -> None:
    """The same dice give the same means; PyTorch's own generator and the gains do not change."""
    with unchanged(gains=GAINS):
        first, second = resampled(GAINS, 50, dice(1)), resampled(GAINS, 50, dice(1))
    close(first, second, "two calls with generators of the same seed")
    other = resampled(GAINS, 50, dice(2))
    assert not torch.equal(first, other), (
        "your code gives the same means for seeds 1 and 2, expected different ones"
    )
    going_on = dice(1)
    resampled(GAINS, 50, going_on)
    third = resampled(GAINS, 50, going_on)
    assert not torch.equal(first, third), (
        "your code draws the same samples in a second call with the same generator"
    )


@pytest.mark.parametrize(
    ("level", "expected"), [("1/5", True), ("1/10", False), ("1/2", True), ("0", False)]
)
def test_beats(level: str, expected: bool) -> None:  # noqa: FBT001 - a parameter
    """One of five means is not above 0, so the level decides."""
    means = torch.tensor([0.4, 0.1, -0.2, 0.3, 0.2], dtype=torch.float64)
    yours = beats(means, level=float(Fraction(level)))
    assert yours is expected, (
        f"1 of 5 means is below 0, level {level}: yours {yours!r}, expected {expected!r}"
    )


def test_no_gain_is_no_gain() -> None:
    """A mean of exactly the margin counts against the challenger."""
    means = torch.tensor([0.0, 0.1, 0.2, 0.3], dtype=torch.float64)
    for margin, count in ((0.0, 1), (0.1, 2), (0.3, 4), (-0.1, 0)):
        for allowed in range(5):
            yours, expected = beats(means, margin, allowed / 4), count <= allowed
            assert yours == expected, (
                f"of 0, 0.1, 0.2, 0.3, {count} are not above the margin {margin}; {allowed}"
                f" may be: yours {yours}, expected {expected}"
            )


def test_shares_are_counted() -> None:
    """A level of 0.29 allows 29 of 100 means, the default 5 of 100; 30 and 6 are too many."""
    for level, allowed in ((0.29, 29), (None, 5)):
        for bad in (allowed, allowed + 1):
            means = torch.ones(100, dtype=torch.float64)
            means[:bad] = -1.0
            yours = beats(means) if level is None else beats(means, level=level)
            assert yours == (bad == allowed), (
                f"{bad} of 100 means are below 0, and {allowed} may be: yours {yours}"
            )


def test_the_first_champion() -> None:
    """Without a champion, any challenger is promoted."""
    assert promote(None, {"a": 9.0}, dice()) is True, (
        "there is no champion, but your code does not promote the challenger: expected True"
    )
    try:
        yours = promote({}, {"a": 1.0}, dice())
    except ValueError:
        return
    raise AssertionError(
        f"the champion is {{}}, which is not None: it has no loss for the challenger's example 'a'."
        f" Your code returns {yours}, expected the ValueError of check"
    )


def share(ask: Callable[..., bool], better: float, count: int) -> float:
    """Return the share of nights on which the challenger is promoted."""
    dices = dice(3)
    return sum(ask(*night, dices) for night in nights(better, count)) / count


def test_twins_are_rarely_promoted() -> None:
    """An equal model has the lower mean half of the time; the bootstrap promotes one in twenty."""
    by_mean = share(lambda old, new, _: sum(new.values()) < sum(old.values()), 0.0, 200)
    yours = share(promote, 0.0, 200)
    assert 0.01 <= yours <= 0.1, (
        f"two equal models, 200 nights: your code promotes {yours:.1%}, the lower mean"
        f" {by_mean:.1%}; expected about 5 %"
    )


def test_a_better_model_is_promoted() -> None:
    """A gain of 0.06 where losses of examples differ by 2: only pairs show it."""
    yours = share(promote, 0.06, 60)
    assert yours >= 0.9, (
        f"a challenger that is better by 0.06 on each example: your code promotes it on"
        f" {yours:.0%} of the nights, expected 90 % or more. Are the gains paired?"
    )
    worse = share(promote, -0.06, 60)
    assert worse == 0, (
        f"a challenger that is worse by 0.06 is promoted on {worse:.0%} of nights, expected 0 %"
    )


def test_a_margin() -> None:
    """A gain of 0.06 is not worth a new model if the margin is 0.1."""
    yours = share(lambda *night: promote(*night, margin=0.1), 0.06, 40)  # type: ignore[misc]
    assert yours == 0, (
        f"a gain of 0.06, margin 0.1: your code promotes on {yours:.0%} of nights, expected 0 %"
    )
    (night,) = nights(0.2, 1)
    assert promote(*night, dice(), margin=0.1), "a gain of 0.2 with margin 0.1: expected True"
