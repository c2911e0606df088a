"""Tests of k05_vmap: each rule by itself, then a comparison with torch.func.vmap."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from katas.lecture11 import k05_vmap as kata
from katas.lecture11.k05_vmap import MODE
from katas.lecture11.k05_vmap import Batched
from katas.lecture11.k05_vmap import pointwise
from katas.lecture11.k05_vmap import random_like
from katas.lecture11.k05_vmap import randomness_mode
from katas.lecture11.k05_vmap import reduction
from katas.lecture11.k05_vmap import vmap
from plugins.kit import forbids
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable


DOUBLE = torch.float64
DRAW: Any = torch.rand_like
TWO = st.sampled_from(["sub", "mul", "maximum"])
ONE = st.sampled_from(["sum", "cumsum", "amax"])
SHAPES = st.lists(st.integers(1, 3), max_size=3)


def roots(*shape: int, start: int = 2) -> torch.Tensor:
    """Return irrational values in an order that no dim shares."""
    count = torch.Size(shape).numel()
    return torch.arange(start, start + count, dtype=DOUBLE).mul(7).sin().reshape(shape)


def compare(f: Callable[..., Any], args: Any, **options: Any) -> None:
    """Compare with PyTorch's vmap."""
    __tracebackhide__ = True
    with unchanged(args=args):
        yours = vmap(f, **options)(*args)
    theirs = torch.func.vmap(f, **options)(*args)
    shapes = (tuple(yours.shape), tuple(theirs.shape))
    said = f"{[tuple(x.shape) for x in args]} with {options or 'no options'}"
    assert shapes[0] == shapes[1], f"{said}: your shape is {shapes[0]}, PyTorch's {shapes[1]}"
    says = f"{said}: yours is not PyTorch's\n".__add__
    torch.testing.assert_close(yours, theirs, rtol=1e-12, atol=1e-12, msg=says)


def check(yours: Any, theirs: torch.Tensor, said: str) -> None:
    """Compare the result of a rule with the rows, stacked."""
    __tracebackhide__ = True
    if not isinstance(yours, Batched):
        pytest.fail(f"{said}: yours is a {type(yours).__name__}, expected a Batched")
    says = f"{said}: the value of yours is not what a loop over its rows gives\n".__add__
    torch.testing.assert_close(yours.value, theirs, rtol=1e-12, atol=1e-12, msg=says)


def test_pointwise() -> None:
    """The sum in the brief works from both sides; the hidden dim stays in front."""
    x, y = roots(2, 3), roots(2, 3, start=30)
    theirs = torch.stack([row + y for row in x])
    check(
        pointwise(torch.add, Batched(x), y), theirs, "(3,) + (2, 3), of which the left is batched"
    )
    check(
        pointwise(torch.add, y, Batched(x)), theirs, "(2, 3) + (3,), of which the right is batched"
    )
    check(pointwise(torch.mul, Batched(x), 3.0), x * 3, "times a number")
    single = x.float()
    check(pointwise(torch.mul, Batched(single), 3.0), single * 3.0, "float32 times a number")
    check(pointwise(torch.mul, 3.0, Batched(single)), 3.0 * single, "a number times float32")
    rows = roots(4)
    theirs = torch.stack([row - y for row in rows])
    check(pointwise(torch.sub, Batched(rows), y), theirs, "() - (2, 3), the left is batched")
    check(pointwise(torch.sub, y, Batched(rows)), -theirs, "(2, 3) - (), the right is batched")


def test_both_are_batched() -> None:
    """Row 0 is combined with row 0, and the shapes that f sees broadcast."""
    x, y = roots(2, 3), roots(2, 2, 3, start=30)
    theirs = torch.stack([torch.sub(a, b) for a, b in zip(x, y, strict=True)])
    check(pointwise(torch.sub, Batched(x), Batched(y)), theirs, "(3,) and (2, 3), both batched")
    check(pointwise(torch.sub, Batched(y), Batched(x)), -theirs, "(2, 3) and (3,), both batched")


def test_reduction() -> None:
    """Dims count from the first one that f sees, or from the last."""
    x = roots(4, 2, 3)
    for dim in (0, 1, -1, -2):
        theirs = torch.stack([row.sum(dim) for row in x])
        check(reduction(torch.sum, Batched(x), dim=dim), theirs, f"sum of (2, 3), dim={dim}")


def test_different() -> None:
    """Each row gets its own numbers, as PyTorch draws them from the same seed."""
    x = roots(5, 3)
    torch.manual_seed(7)
    with randomness_mode("different"):
        yours = random_like(DRAW, Batched(x))
    torch.manual_seed(7)
    theirs = torch.func.vmap(DRAW, randomness="different")(x)
    check(yours, theirs, "randomness='different', seed 7")


def test_same() -> None:
    """One draw has the shape that f sees, and serves all rows."""
    x = roots(5, 3)
    torch.manual_seed(7)
    with randomness_mode("same"):
        yours = random_like(DRAW, Batched(x))
    torch.manual_seed(7)
    theirs = torch.func.vmap(DRAW, randomness="same")(x)[0]
    if not isinstance(yours, torch.Tensor):
        pytest.fail(f"randomness='same': yours is a {type(yours).__name__}, expected a Tensor")
    with randomness_mode("same"):
        shape = tuple(random_like(DRAW, Batched(x[:1])).shape)
    assert shape == (3,), f"a batch of one row: your shape is {shape}, expected (3,)"
    says = "randomness='same', seed 7: yours is not the row that PyTorch repeats\n".__add__
    torch.testing.assert_close(yours, theirs, rtol=0, atol=0, msg=says)


def test_vmap() -> None:
    """Map a function of one tensor, and of two."""
    compare(lambda x: torch.sum(x * x, dim=0), [roots(4, 3)])
    compare(lambda x, y: x * y + 1, [roots(4, 3), roots(4, 3, start=20)])


def test_in_dims() -> None:
    """Give one dim for all arguments, or one for each, and None for unmapped ones."""
    x, y = roots(2, 4), roots(4, 2, start=20)
    compare(lambda x: torch.cumsum(x, dim=0), [x], in_dims=1)
    compare(torch.add, [x, y], in_dims=(1, 0))
    compare(torch.mul, [x, y], in_dims=(-1, None))
    compare(torch.mul, [y, x], in_dims=(None, 1))
    seen: list[Any] = []

    def f(x: Any, y: Any) -> Any:
        seen.append(y)
        return x

    vmap(f, in_dims=(0, None))(x, y)
    itself, kind = seen[0] is y, type(seen[0]).__name__
    assert itself, f"in_dims=(0, None): f got a different {kind}, expected y itself"


def test_out_dims() -> None:
    """The hidden dim reappears at `out_dims`."""
    for out_dims in (0, 1, 2, -1):
        compare(lambda x: x + x, [roots(4, 2, 3)], out_dims=out_dims)


def test_a_result_that_is_not_batched() -> None:
    """A result that is the same for each row gets the dim too; PyTorch 2.13 rejects out_dims=1."""
    constant = roots(2)
    compare(lambda x: constant, [roots(3, 4)], in_dims=1)
    for out_dims in (1, -1):
        yours = vmap(lambda x: constant, out_dims=out_dims)(roots(3, 4))
        says = f"three equal results, out_dims={out_dims}: yours is not their stack\n".__add__
        torch.testing.assert_close(yours, torch.stack([constant] * 3, dim=out_dims), msg=says)
    compare(lambda x, y: y * 2, [roots(4), roots(2, 3)], in_dims=(None, 1))
    compare(lambda x, y: x * 2, [roots(4), roots(2, 3)], in_dims=(None, 1))


@given(one=SHAPES, other=st.integers(0, 3), name=TWO, first=st.integers(0, 3), both=st.booleans())
def test_any_pointwise(one: list[int], other: int, name: str, first: int, both: bool) -> None:  # noqa: FBT001
    """Shapes broadcast from the right, with a hidden dim anywhere."""
    x, y = roots(5, *one), roots(5, *one[other:], start=40)
    y = y if both else y[0]
    place = min(first, len(one))
    func: Callable[..., Any] = getattr(torch, name)
    for in_dims in ((place, 0 if both else None),):
        compare(func, [x.movedim(0, place), y], in_dims=in_dims)
        compare(lambda a, b: func(b, a), [x.movedim(0, place), y], in_dims=in_dims)


@given(shape=SHAPES.filter(bool), name=ONE, data=st.data())
def test_any_reduction(shape: list[int], name: str, data: st.DataObject) -> None:
    """Reduce over any dim that f sees, counted from either end, with the hidden dim anywhere."""
    dim = data.draw(st.integers(-len(shape), len(shape) - 1), label="dim")
    place = data.draw(st.integers(0, len(shape)), label="in_dims")
    x = roots(5, *shape).movedim(0, place)
    compare(lambda x: getattr(torch, name)(x, dim=dim), [x], in_dims=place)


@pytest.mark.parametrize("mode", ["same", "different"])
def test_randomness(mode: str) -> None:
    """The mode of a vmap reaches its operators, and is restored afterwards."""

    def f(x: Any) -> Any:
        return torch.randn_like(x) * x + torch.rand_like(x)

    x = roots(5, 3)
    torch.manual_seed(3)
    yours = vmap(f, randomness=mode)(x)
    torch.manual_seed(3)
    theirs = torch.func.vmap(f, randomness=mode)(x)
    says = f"randomness={mode!r}, seed 3: yours is not PyTorch's\n".__add__
    torch.testing.assert_close(yours, theirs, msg=says)
    left = MODE.get()
    assert left == "error", f"after the call the mode is {left!r}, expected 'error'"
    with pytest.raises(KeyError, match="no batching rule for cos"):
        vmap(torch.cos, randomness=mode)(x)
    left = MODE.get()
    assert left == "error", f"after f failed the mode is {left!r}, expected 'error'"
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(f)(x)


def test_one_call() -> None:
    """A loop would call f, and launch each operator, for each of nine rows."""
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return torch.sum(x * x, dim=0)

    x = roots(9, 3)
    with watched_operators() as names:
        vmap(f)(x)
        vmap(DRAW, randomness="different")(x)
    assert len(calls) == 1, f"your code calls f {len(calls)} times, expected once"
    for name in ("mul", "sum", "rand_like"):
        ran = names.count(f"aten::{name}")
        assert ran == 1, f"your code runs {name} {ran} times for nine rows, expected once"


def test_no_vmap_is_called() -> None:
    """Your answer does not call PyTorch's vmap."""
    with forbids(kata, "torch.func", "torch.vmap") as fresh:
        fresh.vmap(lambda x: x * x)(roots(2, 3))
