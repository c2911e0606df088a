"""Tests of k05_sizes: the programs are exported once, and their file runs with other sizes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture16 import k05_sizes as kata
from katas.lecture16.conftest import Files
from katas.lecture16.conftest import Part
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


pytestmark = pytest.mark.backend("onnxruntime")
INF, NAN = float("inf"), float("nan")
# Irrational, and of both signs.
ROOTS = torch.tensor([2.0, 3.0, 5.0, 7.0, 11.0, 13.0, 17.0, 19.0, 23.0, 29.0]).sqrt().view(5, 2)
SIGNED = ROOTS * torch.tensor([1.0, -1.0])


@cache
def files() -> Files:
    """Return the four programs, each with an example of four rows."""
    x, n = torch.ones(4, 2), torch.tensor(2)
    names = ("shifted", "repeated", "positive_mean", "scaled")
    args = dict.fromkeys(names, (x,)) | {"repeated": (x, n)}
    return Files({name: Part(getattr(kata, name), args[name]) for name in names})


def check(name: str, formula: Callable[..., torch.Tensor], *args: torch.Tensor) -> None:
    """Compare program and file with a formula."""
    __tracebackhide__ = True
    runs = files()[name]
    size = runs.size(name)
    assert isinstance(size, str), (
        f"{name}: the exported file accepts only {size} rows: if a size becomes a number in the"
        " program, the export fixes it without an error"
    )
    expected = formula(*args)
    with unchanged(**dict(zip(("x", "n"), args, strict=False))):
        eager = getattr(kata, name)(*args)
    (found,) = runs.ask(name, *args)
    where = f"{name} of {[x.tolist() for x in args]}"
    for what, y in (("your function", eager), ("the file", torch.from_numpy(found))):
        says = f"{where}: {what} returns something else\n".__add__
        torch.testing.assert_close(y, expected, equal_nan=True, msg=says)


def test_shifted_takes_either_branch() -> None:
    """The branch depends on the values passed later, not on those at export."""
    for x in (ROOTS, -ROOTS, ROOTS[:1], -ROOTS[:2]):
        check("shifted", lambda x: x + 1 if x.sum() > 0 else x - 1, x)


def test_shifted_at_the_border() -> None:
    """A sum of 0 or NaN is not positive, 0.5 is; infinities stay."""
    for values in (
        [[0.0, 0.0]],
        [[0.25, 0.25]],
        [[1.0, -1.0]],
        [[NAN, 1.0]],
        [[INF, 1.0]],
        [[-INF, 1.0]],
    ):
        x = torch.tensor(values)
        check("shifted", lambda x: x + 1 if x.sum() > 0 else x - 1, x)


def test_repeated_as_often_as_n_says() -> None:
    """The export used n = 2; other counts must work too."""
    for n in (0, 1, 2, 5, 20):
        check("repeated", lambda x, n: x * float(2 ** int(n)), SIGNED, torch.tensor(n))
    check("repeated", lambda x, n: x * 8.0, SIGNED[:1], torch.tensor(3))


def test_repeated_beyond_the_integers() -> None:
    """An int64 ends below 2**63; doubling a float32 goes on."""
    for n in (62, 63, 64, 70, 100):
        check("repeated", lambda x, n: x * float(2 ** int(n)), SIGNED, torch.tensor(n))


def test_the_mean_of_the_positive_elements() -> None:
    """There may be any number, even none; the result is a 0-dim tensor of x's dtype."""
    formula = lambda x: x[x > 0].mean() if (x > 0).any() else torch.tensor(0.0)  # noqa: E731 - two uses
    near = torch.tensor([[0.5, -0.5], [0.0, 3.0]])
    for x in (SIGNED, ROOTS, -ROOTS, SIGNED[:1], torch.zeros(2, 2), near):
        check("positive_mean", formula, x)


def test_the_others_may_be_anything() -> None:
    """0 times infinity is NaN, so an element must be left out, not multiplied by 0."""
    for values in ([[-INF, 3.0]], [[NAN, 3.0]], [[-INF, NAN]]):
        x = torch.tensor(values)
        expected = torch.tensor(3.0 if 3.0 in values[0] else 0.0)
        check("positive_mean", lambda _, expected=expected: expected, x)


def test_scaled_by_the_rows_of_the_input() -> None:
    """Divide by the rows of the input, not by those of the example."""
    for rows in (1, 2, 4, 5):
        check("scaled", lambda x: x / len(x), SIGNED[:rows])
