"""Tests of k02_clamp: a kernel for CPU and one for Meta."""

from __future__ import annotations

import re
from functools import cache
from math import inf
from math import nan
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from katas import source
from plugins.kit import forbids_tokens
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

NAME = "lecture04_k02::leaky_clamp"
has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - asks the dispatcher
# Operators that calculate with elements: those with PyTorch's tags, and some without. Operators
# that create, move or copy elements are free (clone has the tag, and copies).
ALSO = (
    *("addr", "outer", "ger", "cumsum", "cummax", "nonzero", "bincount", "histc", "bucketize"),
    *("index_put", "index_put_", "scatter_add", "scatter_reduce", "masked_scatter", "sort", "topk"),
    *(
        "mm",
        "matmul",
        "addmm",
        "bmm",
        "baddbmm",
        "einsum",
        "clip",
        "clip_",
        "logsumexp",
        "searchsorted",
    ),
)


@cache
def arithmetic() -> set[str]:
    """Return the operators that would do the kata's work: `aten::clamp`, `aten::where`."""
    found = {f"aten::{name}" for name in ALSO}
    wanted = {torch.Tag.pointwise, torch.Tag.reduction}
    for full in torch._C._dispatch_get_all_op_names():  # noqa: SLF001 - it has no other name
        name, _, overload = full.partition(".")
        if name.startswith("aten::") and name != "aten::clone":
            # torch.ops would create an object for each, which takes four times as long.
            parts = torch._C._get_operation_overload(name, overload)  # noqa: SLF001
            if parts and wanted & {*parts[2]}:
                found.add(name)
    return found


def reference(
    x: torch.Tensor, low: float, high: float, below: float = 0.0, above: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the result in the brief's terms, computed by PyTorch; finite elements only."""
    y = x.double()
    output = torch.where(y < low, low + below * (y - low), y)
    output = torch.where(y > high, high + above * (y - high), output)
    return output.to(x.dtype).contiguous(), torch.stack([(y < low).sum(), (y > high).sum()])


def expect(expected: object, yours: object, why: str) -> None:
    """Compare two lists, and label both sides."""
    assert expected == yours, f"yours      {yours}\nexpected   {expected}\n{why}"


@pytest.mark.parametrize("key", ["CPU", "Meta"])
def test_each_key_has_a_kernel(extension: Extension, key: str) -> None:
    """Each kernel is found under its backend's key, and under no composite key."""
    extension.op("leaky_clamp")

    assert has_kernel(NAME, key), (
        f"no kernel for {key}: TORCH_LIBRARY_IMPL(lecture04_k02, {key}, m) registers one"
    )
    for composite in ("CompositeImplicitAutograd", "CompositeExplicitAutograd"):
        assert not has_kernel(NAME, composite), (
            f"yours is registered for {composite} too: it would run for backends that "
            "it does not support"
        )


def test_values_between_the_bounds_stay(extension: Extension) -> None:
    """Values between the bounds stay, and so do the bounds themselves."""
    x = torch.tensor([-1.0, -0.5, 0.0, 2.0])
    output, _ = extension.op("leaky_clamp")(x, -1.0, 2.0, below=0.5, above=0.5)

    expect([-1.0, -0.5, 0.0, 2.0], output.tolist(), "nothing here is beyond -1 or 2")
    for bounds in ((0.0, 1.0), (-1.0, 0.0)):
        (zero, _) = extension.op("leaky_clamp")(torch.tensor(-0.0), *bounds)
        assert zero.signbit(), (
            "your kernel turned -0.0 into 0.0: they are equal, so -0.0 is not beyond the bound 0.0"
        )


def test_values_beyond_a_bound_are_compressed(extension: Extension) -> None:
    """Values beyond a bound are compressed with its slope, measured from the bound."""
    x = torch.tensor([-5.0, -3.0, 4.0, 10.0], dtype=torch.float64)
    output, _ = extension.op("leaky_clamp")(x, -1.0, 2.0, below=0.25, above=0.5)

    assert torch.float64 == output.dtype, f"yours is {output.dtype}, expected the dtype of self"
    why = "low=-1, high=2, below=0.25, above=0.5: -5 is 4 below low, and a quarter of 4 is left"
    expect([-2.0, -1.5, 3.0, 6.0], output.tolist(), why)


def test_values_beyond_a_bound_are_counted(extension: Extension) -> None:
    """An element at a bound is inside, and NaN is not counted."""
    x = torch.tensor([-9.0, 1.0, 2.0, 2.5, nan, 7.0, 3.0, inf])
    _, clipped = extension.op("leaky_clamp")(x, 1.0, 2.0)

    assert torch.int64 == clipped.dtype, f"yours is {clipped.dtype}, expected int64"
    expect([1, 4], clipped.tolist(), f"of {x.tolist()}, how many are below 1, and above 2?")


def test_without_slopes_it_is_a_clamp(extension: Extension) -> None:
    """Infinities become the bounds; NaN stays, as in torch.clamp."""
    x = torch.tensor([-inf, -1.0, 0.5, 3.0, inf, nan])
    output, _ = extension.op("leaky_clamp")(x, -0.25, 2.0)

    says = f"{x.tolist()} between -0.25 and 2: yours is not PyTorch's clamp\n".__add__
    expected = x.clamp(-0.25, 2.0)
    torch.testing.assert_close(output, expected, rtol=0, atol=0, equal_nan=True, msg=says)
    output, _ = extension.op("leaky_clamp")(x[[0, 2, 4]], 0.0, 1.0, below=0.5, above=0.5)
    expect([-inf, 0.5, inf], output.tolist(), "half of what is infinitely far is infinite")


def test_bounds_are_doubles(extension: Extension) -> None:
    """The float32 nearest to 0.1 is greater than 0.1, and must compare as greater."""
    x = torch.tensor([0.1], dtype=torch.float32)
    _, clipped = extension.op("leaky_clamp")(x, 0.0, 0.1)

    expect([0, 1], clipped.tolist(), "yours has rounded 0.1 to float32 before it compared")
    _, clipped = extension.op("leaky_clamp")(torch.tensor([0.7]), 0.7, 1.0)
    expect([1, 0], clipped.tolist(), "the float32 that is nearest to 0.7 is less than 0.7")
    output, _ = extension.op("leaky_clamp")(torch.tensor([0.5]), 2.0**24 + 1, inf, below=1.0)
    why = "2**24 + 1 + 1 * (0.5 - (2**24 + 1)) is 0.5 in doubles only"
    expect([0.5], output.tolist(), why)


@st.composite
def strided(draw: st.DrawFn) -> torch.Tensor:
    """Draw a view: permuted, with steps, gaps and an offset, or expanded; sizes may be 0."""
    sizes = draw(st.lists(st.integers(0, 4), max_size=3))
    step, offset = draw(st.integers(1, 2)), draw(st.integers(0, 2))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    shape = [offset + step * size for size in sizes]
    x = 3 * torch.randn(shape, generator=generator, dtype=dtype)
    x = x[tuple(slice(offset, None, step) for _ in sizes)]
    x = x.permute(draw(st.permutations(range(len(sizes)))))
    return x.unsqueeze(0).expand(2, *x.shape) if draw(st.booleans()) else x


@given(
    x=strided(),
    bounds=st.tuples(st.floats(-4, 4), st.floats(-4, 4)).map(sorted),
    below=st.floats(0, 1),
    above=st.floats(0, 1),
)
def test_any_strides_will_do(
    extension: Extension, x: torch.Tensor, bounds: list[float], below: float, above: float
) -> None:
    """The elements are those that indexing returns, wherever they are in memory."""
    with unchanged(self=x):
        output, clipped = extension.op("leaky_clamp")(x, *bounds, below=below, above=above)
    expected, counts = reference(x, *bounds, below=below, above=above)

    case = f"shape {tuple(x.shape)}, strides {x.stride()}, {x.dtype}, {bounds}, {below}, {above}"
    close = {"rtol": 1e-12, "atol": 1e-12} if x.dtype is torch.float64 else {}
    says = f"{case}\nyours is not what the brief says\n".__add__
    torch.testing.assert_close(output, expected, msg=says, **close)
    expect(counts.tolist(), clipped.tolist(), f"{case}: the counts")


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)], ids=str)
def test_any_shape_will_do(extension: Extension, shape: tuple[int, ...]) -> None:
    """A tensor may be a single element without dims, or have no elements at all."""
    output, clipped = extension.op("leaky_clamp")(torch.full(shape, 5.0), 0.0, 1.0)

    expect(shape, tuple(output.shape), "the shape of output is that of self")
    expect([0, output.numel()], clipped.tolist(), "each element is above high")
    assert output.eq(1.0).all(), f"yours {output}, expected 1.0 everywhere"


def test_the_result_is_new_and_contiguous(extension: Extension) -> None:
    """The result is new even if every element stays: the schema promises no alias."""
    for x in (torch.rand(3, 4), torch.rand(3, 4).t(), torch.rand(1).expand(3, 4)):
        earlier = extension.op("leaky_clamp")(x, 0.25, 0.5)
        with unchanged(self=x, earlier=earlier):
            output, _ = extension.op("leaky_clamp")(x, -inf, inf)

        expect(x.contiguous().stride(), output.stride(), "these are the strides of output")
        assert x.data_ptr() != output.data_ptr(), "your kernel returns the memory of self"
        assert torch.equal(x, output), (
            f"with infinite bounds, yours\n{output}\nexpected self unchanged\n{x}"
        )


def test_the_meta_kernel_has_shapes_and_dtypes(extension: Extension) -> None:
    """Results match the CPU kernel's, strides included; even for 8 TB of elements."""
    for x in (torch.rand(2, 3).double(), torch.rand(4, 3).t(), torch.rand(()), torch.rand(0, 2)):
        planned = extension.op("leaky_clamp")(x, 0.0, 0.5)
        found = extension.op("leaky_clamp")(x.to("meta"), 0.0, 0.5)
        for name, one, other in zip(("output", "clipped"), planned, found, strict=True):
            expect("meta", other.device.type, f"{name} of the Meta kernel is on self's device")
            facts = [(each.dtype, tuple(each.shape), each.stride()) for each in (one, other)]
            expect(*facts, f"{name} of the Meta kernel; expected is what your CPU kernel returns")
    output, _ = extension.op("leaky_clamp")(torch.empty(2**41, device="meta"), 0.0, 1.0)
    expect((2**41,), tuple(output.shape), "a shape costs no memory")


def test_symbols_stay_symbols(extension: Extension) -> None:
    """Reading a size as an int adds a guard, so every other size triggers a recompilation."""
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(torch.rand(5, 3))
    extension.op("leaky_clamp")(torch.rand(5, 3, device="meta"), 0.0, 1.0)
    output, _ = extension.op("leaky_clamp")(x, 0.0, 1.0)

    guards = mode.shape_env.guards
    assert not guards, f"your kernel read a size as an int: guards {[g.expr for g in guards]}"
    assert x.shape == output.shape, f"yours has the shape {output.shape}, expected {x.shape}"


REFUSED: dict[str, tuple[torch.dtype, tuple[float, ...], type[Exception], str]] = {
    "int64": (torch.int64, (0, 1, 0, 0), TypeError, "float32 or float64, got Long"),
    "float16": (torch.float16, (0, 1, 0, 0), TypeError, "float32 or float64, got Half"),
    "crossed": (torch.float32, (2, 1, 0, 0), ValueError, "low <= high, got 2 and 1"),
    "NaN": (torch.float32, (0, nan, 0, 0), ValueError, "low <= high, got 0 and nan"),
    "slope": (torch.float32, (0, 0, 0, 1.5), ValueError, "above in [0, 1], got 1.5"),
}


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("case", REFUSED)
def test_both_kernels_refuse(extension: Extension, place: str, case: str) -> None:
    """Both kernels call the given check: what fails on the CPU must also fail in tracing."""
    dtype, (low, high, below, above), error, text = REFUSED[case]
    leaky_clamp = extension.op("leaky_clamp")
    with pytest.raises(error, match=re.escape(f"leaky_clamp: expected {text}")):
        leaky_clamp(torch.empty(0, dtype=dtype, device=place), low, high, below=below, above=above)


def test_the_kernel_does_the_arithmetic(extension: Extension) -> None:
    """Calling at::clamp or at::where would skip the kata: a kernel is the bottom of the stack."""
    leaky_clamp = extension.op("leaky_clamp")
    x = torch.linspace(-3, 3, 20).reshape(4, 5)
    # The profiler does not see an operator that is entered in the middle.
    file = source("katas.lecture04", "csrc/k02_clamp.cpp")
    forbids_tokens(file, "redispatch", "redispatchBoxed", "at::redispatch")
    every = x, x.t().double()
    with watched_operators() as names:
        for each in every:
            leaky_clamp(each, -1.0, 1.0, below=0.5)
            leaky_clamp(each, -1.0, 1.0)
    called = sorted(arithmetic() & set(names))

    assert not called, f"your kernel calls {called}: write the loop"


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"],
)
def test_opcheck_agrees(extension: Extension, check: str) -> None:
    """PyTorch checks the schema, fake tensors, and tracing with symbolic sizes."""
    leaky_clamp = extension.op("leaky_clamp").default
    slopes = {"below": 0.5, "above": 0.25}
    for x in (torch.randn(3, 4), torch.randn(3, 4).double().t(), torch.randn(0, 3)):
        leaky_clamp(x, -0.5, 0.5, **slopes)
        leaky_clamp(x.to("meta"), -0.5, 0.5, **slopes)
        found = torch.library.opcheck(leaky_clamp, (x, -0.5, 0.5), slopes, test_utils=check)

        assert {check: "SUCCESS"} == found, f"opcheck: {found}"
