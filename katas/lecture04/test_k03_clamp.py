"""Tests of k03_clamp: an operator's schema, its CPU kernel and its Meta kernel."""

from __future__ import annotations

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

NAME = "lecture04_k03::leaky_clamp"
SCHEMA = (
    f"{NAME}(Tensor self, float low, float high, *, float below=0., float above=0.)"
    " -> (Tensor output, Tensor clipped)"
)
has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key  # noqa: SLF001 - asks the dispatcher
# What calculates with elements, by any name: PyTorch's own tags for it, and what they leave out.
# What makes, moves and copies elements is free (clone has the tag, and copies).
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
    """Return the operators that do what is to be written here: `aten::clamp`, `aten::where`."""
    found = {f"aten::{name}" for name in ALSO}
    for name in torch._C._dispatch_get_all_op_names():  # noqa: SLF001 - it has no other name
        space, _, rest = name.partition("::")
        base, _, suffix = rest.partition(".")
        if space == "aten" and base != "clone":
            packet = getattr(torch.ops.aten, base, None)
            tags = getattr(getattr(packet, suffix or "default", None), "tags", ())
            if {torch.Tag.pointwise, torch.Tag.reduction} & set(tags):
                found.add(f"aten::{base}")
    return found


def reference(
    x: torch.Tensor, low: float, high: float, below: float = 0.0, above: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what the brief says, computed by PyTorch; finite elements only."""
    y = x.double()
    output = torch.where(y < low, low + below * (y - low), y)
    output = torch.where(y > high, high + above * (y - high), output)
    return output.to(x.dtype).contiguous(), torch.stack([(y < low).sum(), (y > high).sum()])


def test_the_schema_is_defined(extension: Extension) -> None:
    """It is all that a caller, an exporter or a code generator knows of an operator."""
    schema = extension.op("leaky_clamp").default._schema  # noqa: SLF001 - it has no other name

    assert str(torch._C.parse_schema(SCHEMA)) == str(schema)  # noqa: SLF001 - PyTorch's parser


def test_values_between_the_bounds_stay(extension: Extension) -> None:
    """The bounds themselves included."""
    x = torch.tensor([-1.0, -0.5, 0.0, 2.0])
    output, _ = extension.op("leaky_clamp")(x, -1.0, 2.0, below=0.5, above=0.5)

    assert [-1.0, -0.5, 0.0, 2.0] == output.tolist()
    for bounds in ((0.0, 1.0), (-1.0, 0.0)):
        (zero, _) = extension.op("leaky_clamp")(torch.tensor(-0.0), *bounds)
        assert zero.signbit(), "-0.0 is equal to 0.0, so it is not beyond that bound: it stays"


def test_values_beyond_a_bound_are_compressed(extension: Extension) -> None:
    """By the slope of that side, measured from the bound."""
    x = torch.tensor([-5.0, -3.0, 4.0, 10.0], dtype=torch.float64)
    output, _ = extension.op("leaky_clamp")(x, -1.0, 2.0, below=0.25, above=0.5)

    assert torch.float64 == output.dtype
    assert [-2.0, -1.5, 3.0, 6.0] == output.tolist()


def test_values_beyond_a_bound_are_counted(extension: Extension) -> None:
    """An element at a bound is inside, and NaN is nowhere."""
    x = torch.tensor([-9.0, 1.0, 2.0, 2.5, nan, 7.0, 3.0, inf])
    _, clipped = extension.op("leaky_clamp")(x, 1.0, 2.0)

    assert torch.int64 == clipped.dtype
    assert [1, 4] == clipped.tolist()


def test_without_slopes_it_is_a_clamp(extension: Extension) -> None:
    """Infinities become the bounds; NaN stays, as in torch.clamp."""
    x = torch.tensor([-inf, -1.0, 0.5, 3.0, inf, nan])
    output, _ = extension.op("leaky_clamp")(x, -0.25, 2.0)

    torch.testing.assert_close(output, x.clamp(-0.25, 2.0), rtol=0, atol=0, equal_nan=True)


def test_infinities_leak_through_a_slope(extension: Extension) -> None:
    """Half of infinity is infinity; and with infinite bounds nothing is beyond them."""
    leaky_clamp = extension.op("leaky_clamp")
    x = torch.tensor([-inf, 0.5, inf])

    assert [-inf, 0.5, inf] == leaky_clamp(x, 0.0, 1.0, below=0.5, above=0.5)[0].tolist()
    output, clipped = leaky_clamp(x, -inf, inf)
    assert [-inf, 0.5, inf] == output.tolist()
    assert [0, 0] == clipped.tolist()


def test_bounds_are_doubles(extension: Extension) -> None:
    """The float32 that is nearest to 0.1 is greater than 0.1: that is how they compare."""
    x = torch.tensor([0.1], dtype=torch.float32)
    _, clipped = extension.op("leaky_clamp")(x, 0.0, 0.1)

    assert [0, 1] == clipped.tolist(), "the bound was rounded to float32 before it was compared"
    output, _ = extension.op("leaky_clamp")(torch.tensor([0.5]), 2.0**24 + 1, inf, below=1.0)
    assert [0.5] == output.tolist(), "2**24 + 1 + 1 * (0.5 - (2**24 + 1)) is 0.5 in doubles only"


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
    """The elements are those that indexing gives, wherever they are in memory."""
    with unchanged(self=x):
        output, clipped = extension.op("leaky_clamp")(x, *bounds, below=below, above=above)
    expected, counts = reference(x, *bounds, below=below, above=above)

    close = {"rtol": 1e-12, "atol": 1e-12} if x.dtype is torch.float64 else {}
    torch.testing.assert_close(output, expected, **close)
    assert counts.tolist() == clipped.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)], ids=str)
def test_any_shape_will_do(extension: Extension, shape: tuple[int, ...]) -> None:
    """One element without dims, and no elements at all."""
    output, clipped = extension.op("leaky_clamp")(torch.full(shape, 5.0), 0.0, 1.0)

    assert shape == tuple(output.shape)
    assert [0, output.numel()] == clipped.tolist()
    assert output.eq(1.0).all()


def test_the_result_is_new_and_contiguous(extension: Extension) -> None:
    """Even where every element stays: the schema promises no alias."""
    for x in (torch.rand(3, 4), torch.rand(3, 4).t(), torch.rand(1).expand(3, 4)):
        earlier = extension.op("leaky_clamp")(x, 0.25, 0.5)
        with unchanged(self=x, earlier=earlier):
            output, _ = extension.op("leaky_clamp")(x, -inf, inf)

        assert output.is_contiguous(), f"strides {output.stride()} for shape {tuple(x.shape)}"
        assert x.data_ptr() != output.data_ptr(), "the output shares the memory of self"
        assert torch.equal(x, output)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (torch.int64, "Long"),
        (torch.bool, "Bool"),
        (torch.float16, "Half"),
        (torch.complex64, "ComplexFloat"),
    ],
    ids=str,
)
def test_other_dtypes_are_a_type_error(
    extension: Extension, place: str, dtype: torch.dtype, name: str
) -> None:
    """In both kernels: what would fail on the CPU must fail while a compiler plans."""
    x = torch.empty(0, dtype=dtype, device=place)
    message = f"^leaky_clamp: expected float32 or float64, got {name}$"
    with pytest.raises(TypeError, match=message):
        extension.op("leaky_clamp")(x, 2.0, 1.0)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize(("low", "high"), [(2.0, 1.0), (nan, 1.0), (0.0, nan)], ids=str)
def test_crossed_bounds_are_a_value_error(
    extension: Extension, place: str, low: float, high: float
) -> None:
    """Also without elements; NaN is not in order with anything."""
    x = torch.empty(0, device=place)
    message = f"^leaky_clamp: expected low <= high, got {low:g} and {high:g}$"
    with pytest.raises(ValueError, match=message):
        extension.op("leaky_clamp")(x, low, high, below=-1.0)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("side", ["below", "above"])
@pytest.mark.parametrize("slope", [-0.5, 1.5, nan])
def test_a_slope_outside_0_to_1_is_a_value_error(
    extension: Extension, place: str, side: str, slope: float
) -> None:
    """Below is looked at first."""
    x = torch.empty(0, device=place)
    slopes = {"above": -7.0} | {side: slope}
    message = rf"^leaky_clamp: expected {side} in \[0, 1\], got {slope:g}$"
    with pytest.raises(ValueError, match=message):
        extension.op("leaky_clamp")(x, 0.0, 0.0, **slopes)


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_a_refused_call_allocates_nothing(extension: Extension, place: str) -> None:
    """The checks come first: neither the result nor a copy of self is made."""
    x = torch.empty(3, 2, device=place).t()
    with watched_operators() as names, pytest.raises(ValueError, match="expected low <= high"):
        extension.op("leaky_clamp")(x, 2.0, 1.0)
    called = [name for name in names if name.startswith("aten::")]

    assert not called, f"before it refused, the kernel called {called}"


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_the_ends_are_allowed(extension: Extension, place: str) -> None:
    """Equal bounds, and slopes of 0 and of 1: with slopes of 1 nothing is compressed."""
    leaky_clamp = extension.op("leaky_clamp")
    x = torch.tensor([-4.0, 0.0, 8.0], device=place)
    kept, _ = leaky_clamp(x, 1.0, 1.0, below=1.0, above=1.0)
    bound, _ = leaky_clamp(x, 1.0, 1.0, below=0.0, above=0.0)

    assert (3,) == kept.shape == bound.shape
    if place == "cpu":
        assert [-4.0, 0.0, 8.0] == kept.tolist()
        assert [1.0, 1.0, 1.0] == bound.tolist()


def test_the_meta_kernel_has_shapes_and_dtypes(extension: Extension) -> None:
    """Those of the CPU kernel's results, and their strides."""
    for x in (torch.rand(2, 3).double(), torch.rand(4, 3).t(), torch.rand(()), torch.rand(0, 2)):
        expected = extension.op("leaky_clamp")(x, 0.0, 0.5)
        found = extension.op("leaky_clamp")(x.to("meta"), 0.0, 0.5)
        for one, other in zip(expected, found, strict=True):
            assert "meta" == other.device.type
            assert one.dtype == other.dtype
            assert one.shape == other.shape
            assert one.stride() == other.stride()


def test_the_meta_kernel_needs_no_memory(extension: Extension) -> None:
    """A tensor of 8 TB costs nothing to plan with."""
    output, clipped = extension.op("leaky_clamp")(torch.empty(2**40, device="meta"), 0.0, 1.0)

    assert ("meta", "meta") == (output.device.type, clipped.device.type)
    assert (2**40,) == output.shape


def test_symbols_stay_symbols(extension: Extension) -> None:
    """A size that is asked for as an int makes a guard, and every other size a new compilation."""
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = mode.from_tensor(torch.rand(5, 3))
    output, _ = extension.op("leaky_clamp")(x, 0.0, 1.0)

    assert [] == mode.shape_env.guards, "the Meta kernel asked for a size as an int"
    assert x.shape == output.shape


@pytest.mark.parametrize("key", ["CPU", "Meta"])
def test_each_key_has_a_kernel(extension: Extension, key: str) -> None:
    """The dispatcher finds it under the key of the tensor's backend."""
    extension.op("leaky_clamp")

    assert has_kernel(NAME, key), (
        f"no kernel for {key}: TORCH_LIBRARY_IMPL(lecture04_k03, {key}, m) registers one"
    )


def test_no_key_has_a_composite_kernel(extension: Extension) -> None:
    """A composite kernel runs for backends too that it has never heard of."""
    extension.op("leaky_clamp")
    composite = [
        key
        for key in ("CompositeImplicitAutograd", "CompositeExplicitAutograd")
        if has_kernel(NAME, key)
    ]

    assert [] == composite


def test_the_kernel_does_the_arithmetic(extension: Extension) -> None:
    """Calling at::clamp or at::where would skip the kata: a kernel is the bottom of the stack."""
    leaky_clamp = extension.op("leaky_clamp")
    x = torch.linspace(-3, 3, 20).reshape(4, 5)
    forbids_tokens(source("katas.lecture04", "csrc/k03_clamp.cpp"))
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
    """PyTorch examines it too: the schema, fake tensors, tracing with sizes that are symbols."""
    leaky_clamp = extension.op("leaky_clamp").default
    slopes = {"below": 0.5, "above": 0.25}
    for x in (torch.randn(3, 4), torch.randn(3, 4).double().t(), torch.randn(0, 3)):
        found = torch.library.opcheck(leaky_clamp, (x, -0.5, 0.5), slopes, test_utils=check)

        assert {check: "SUCCESS"} == found
