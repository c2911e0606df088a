"""Tests of k13_sobol: torch.quasirandom and a plain count of cells are the oracles."""

from __future__ import annotations

import math
from importlib import import_module
from importlib.util import find_spec
from itertools import product

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st
from torch.quasirandom import SobolEngine

from katas.lecture12 import k13_sobol as kata
from katas.lecture12.k13_sobol import Range
from katas.lecture12.k13_sobol import cells
from katas.lecture12.k13_sobol import scaled
from katas.lecture12.k13_sobol import sobol
from plugins.kit import forbids
from plugins.kit import install_group
from plugins.kit import unchanged


# The last 30-bit number below 1, which rounds to 1 in float32.
LAST = 1 - 2.0**-30
# Every way to cut the square into sixteen equal cells.
CUTS = [(4, 0), (3, 1), (2, 2), (1, 3), (0, 4)]


def engine(count: int, dimension: int) -> torch.Tensor:
    """Return PyTorch's points."""
    return SobolEngine(dimension).draw(count, dtype=torch.float64)


def counted(points: torch.Tensor, cuts: tuple[int, ...]) -> torch.Tensor:
    """Count by the definition: check each point against each cell."""
    found = torch.zeros([2**cut for cut in cuts], dtype=torch.int64)
    for corner in product(*(range(2**cut) for cut in cuts)):
        low = torch.tensor([k / 2**cut for k, cut in zip(corner, cuts, strict=True)])
        high = torch.tensor([(k + 1) / 2**cut for k, cut in zip(corner, cuts, strict=True)])
        found[corner] = ((low <= points) & (points < high)).all(1).sum()
    return found


def compare(yours: torch.Tensor, right: torch.Tensor, what: str, whose: str, why: str) -> None:
    """Compare two tensors bit for bit, including dtype and size."""
    __tracebackhide__ = True
    assert yours.dtype is right.dtype, f"{what}: yours is {yours.dtype}, {whose} {right.dtype}"
    says = f"{what}\nyours\n{yours}\n{whose}\n{right}\n{why}"
    assert yours.shape == right.shape, says
    assert torch.equal(yours, right), says


def test_the_first_points() -> None:
    """In one dimension: the half, then the quarters, then the eighths."""
    why = "the lowest zero bit of k = 0, 1, 2, 3 has the numbers 0, 1, 0, 2"
    compare(sobol(8, 1), engine(8, 1), "sobol(8, 1)", "PyTorch's", why)


def test_two_dimensions() -> None:
    """Each dimension has its own direction numbers; both use the lowest zero bit of k."""
    compare(sobol(16, 2), engine(16, 2), "sobol(16, 2)", "PyTorch's", "directions(2)[d][c]")


@given(st.integers(1, 300), st.integers(1, 6))
def test_any_number_of_points(count: int, dimension: int) -> None:
    """Up to six dimensions, bit for bit."""
    yours = sobol(count, dimension)
    right = engine(count, dimension)
    why = "a row is a point, a column a dimension"
    compare(yours, right, f"sobol({count}, {dimension})", "PyTorch's", why)


def test_it_draws_nothing() -> None:
    """No generator is used, no state of torch changes, and each call returns new points."""
    with unchanged(), forbids(kata, "torch.quasirandom") as fresh:
        yours = [fresh.sobol(4, 2) for _ in range(2)]
    what = "sobol(4, 2), called again"
    compare(yours[1], yours[0], what, "the first time", "no state is kept")
    yours[0].zero_()
    compare(
        yours[1],
        engine(4, 2),
        what,
        "PyTorch's",
        "the first time's points have been changed",
    )


def test_cells_of_four_points() -> None:
    """The first dimension gives the rows, the second the columns."""
    points = torch.tensor([[0.1, 0.1], [0.2, 0.9], [0.3, 0.9], [0.6, 0.3]], dtype=torch.float64)
    for cuts in [(1, 1), (2, 1), (0, 2), (0, 0)]:
        why = "a point belongs to cell (floor(x * 2**cuts[0]), floor(y * 2**cuts[1]))"
        compare(cells(points, cuts), counted(points, cuts), f"cuts {cuts}", "expected", why)


@example([(0.0, 0.25, 0.5), (0.5, 0.5, 0.5), (0.75, LAST, 0.0)], (1, 2, 1))
@given(
    st.lists(st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 0.75, 1 / 3, 0.6, LAST])] * 3)),
    st.tuples(*[st.integers(0, 2)] * 3),
)
def test_any_cells(drawn: list[tuple[float, float, float]], cuts: tuple[int, int, int]) -> None:
    """Points on a cut, several in a cell, empty cells at the end, no points at all."""
    points = torch.tensor(drawn, dtype=torch.float64).reshape(-1, 3)
    with unchanged(points=points):
        yours = cells(points, cuts)
    compare(yours, counted(points, cuts), f"cuts {cuts}, points\n{points}", "expected", "as above")


def test_one_in_each_cell() -> None:
    """Your sixteen points, however the square is cut; PyTorch's scrambled ones too."""
    scrambled = [
        SobolEngine(2, scramble=True, seed=seed).draw(16, dtype=torch.float64) for seed in range(9)
    ]
    for points in [sobol(16, 2), *scrambled]:
        for cuts in CUTS:
            yours = cells(points, cuts)
            assert yours.tolist() == torch.ones(*yours.shape).tolist(), (
                f"cut {cuts}: yours\n{yours}\nexpected one point in each cell, for\n{points}"
            )


def test_a_third_of_the_cells_is_empty() -> None:
    """Random points: each misses a cell with probability 15/16, all sixteen with (15/16)**16."""
    generator = torch.Generator().manual_seed(0)
    tries = 200
    empty = sum(
        int((cells(torch.rand(16, 2, generator=generator), (2, 2)) == 0).sum())
        for _ in range(tries)
    )
    expected = (15 / 16) ** 16
    assert empty / 16 / tries == pytest.approx(expected, abs=0.03), (
        f"empty cells with random points: yours {empty / 16 / tries:.2f}, expected {expected:.2f}"
    )


def test_scaled_evenly() -> None:
    """From `low`, not from 0; each column has its own range."""
    points = sobol(8, 2) / 3 + torch.tensor([2.0, 3.0], dtype=torch.float64).sqrt() / 9
    with unchanged(points=points):
        yours = scaled(points, [Range(-1.0, 3.0), Range(5.0, 5.5)])
    right = torch.stack([4 * points[:, 0] - 1, points[:, 1] / 2 + 5], dim=1)
    says = f"points\n{points}\nyours\n{yours}\nexpected\n{right}\nspread evenly from low to high"
    torch.testing.assert_close(yours, right, rtol=1e-12, atol=1e-12, msg=says)


def test_scaled_in_the_logarithm() -> None:
    """As many learning rates between 1e-5 and 1e-4 as between 1e-2 and 1e-1."""
    points = sobol(16, 2) / 3 + torch.tensor([2.0, 3.0], dtype=torch.float64).sqrt() / 9
    with unchanged(points=points):
        yours = scaled(points, [Range(0.0, 2.0), Range(1e-5, 1e-1, log=True)])
    right = torch.stack([2 * points[:, 0], 10 ** (4 * points[:, 1] - 5)], dim=1)
    says = f"points\n{points}\nyours\n{yours}\nexpected\n{right}\nspread the exponent evenly"
    torch.testing.assert_close(yours, right, rtol=1e-12, atol=0.0, msg=says)


def found(points: torch.Tensor, best: float) -> bool:
    """Whether a trial is within a sixteenth of the search space of the best rate."""
    rates = scaled(points, [Range(1e-5, 1e-1, log=True), Range(0.0, 1.0)])[:, 0]
    # A function whose minimum we know: it depends on the learning rate, hardly on the dropout.
    distance = (rates.log10() - math.log10(best)).abs()
    return float(distance.min()) <= 4 / 16


def test_a_budget_of_sixteen() -> None:
    """Sobol points come close to the best learning rate in each of 100 runs."""
    generator = torch.Generator().manual_seed(1)
    counts = {"sobol": 0, "random": 0}
    for seed in range(100):
        best = 10 ** float(4 * torch.rand((), generator=generator) - 5)
        points = SobolEngine(2, scramble=True, seed=seed).draw(16, dtype=torch.float64)
        counts["sobol"] += found(points, best)
        counts["random"] += found(torch.rand(16, 2, generator=generator).double(), best)
    assert counts["sobol"] == 100, (
        f"runs that come close, with your `scaled`: {counts}, expected 100 for Sobol's points,"
        " since each sixteenth of the range contains one"
    )
    assert counts["random"] < 95, (
        f"runs that come close, with your `scaled`: {counts}, expected fewer for random points"
    )


@pytest.mark.given
@pytest.mark.skipif(
    not find_spec("ax"),
    reason=f"Ax is not installed, 625 MB with what it needs; {install_group('search')}",
)
def test_ax_begins_with_sobol() -> None:
    """Ax tries the centre of the space, then PyTorch's scrambled Sobol points."""
    # Imported here because it is optional and takes seconds.
    parameter = import_module("ax.api.configs").RangeParameterConfig
    client = import_module("ax.api.client").Client(random_seed=0)
    parameters = [
        parameter(name="lr", parameter_type="float", bounds=(1e-5, 1e-1), scaling="log"),
        parameter(name="dropout", parameter_type="float", bounds=(0.0, 1.0)),
    ]
    client.configure_experiment(parameters=parameters)
    client.configure_optimization(objective="-loss")
    client.configure_generation_strategy(method="random_search")
    trials = [each for _, each in sorted(client.get_next_trials(max_trials=17).items())]
    points = torch.tensor(
        [[(math.log10(each["lr"]) + 5) / 4, each["dropout"]] for each in trials],
        dtype=torch.float64,
    )
    assert points[0].tolist() == pytest.approx([0.5, 0.5])
    for cuts in CUTS:
        assert counted(points[1:], cuts).eq(1).all(), f"Ax's points\n{points[1:]}, cut {cuts}"


def test_points_as_text() -> None:
    """The first eight in three dimensions, in eighths."""
    rows = [" ".join(f"{8 * x:g}" for x in point) for point in sobol(8, 3).tolist()]

    assert_expected_inline(
        "\n".join(rows),
        """\
0 0 0
4 4 4
6 2 2
2 6 6
3 3 5
7 7 1
5 1 7
1 5 3""",
    )
