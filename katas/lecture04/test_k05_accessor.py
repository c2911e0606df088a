"""Tests of k05_accessor: strides and bounds of a kernel that looks at single elements."""

from __future__ import annotations

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

# The example of the brief: a matrix, its band, with NaN in the corners.
A = [[1.0, 2.0, 0.0, 0.0], [3.0, 5.0, 4.0, 0.0], [0.0, 8.0, 6.0, 7.0], [0.0, 0.0, 1.0, 9.0]]
BAND = [[nan, 2.0, 4.0, 7.0], [1.0, 5.0, 6.0, 9.0], [3.0, 8.0, 1.0, nan]]


def matrix(band: torch.Tensor, lower: int, upper: int) -> torch.Tensor:
    """Return the whole matrix, made of its diagonals."""
    n = band.shape[1]
    whole = torch.zeros(n, n, dtype=band.dtype)
    for row, offset in enumerate(range(upper, -lower - 1, -1)):
        if abs(offset) < n:
            # A diagonal above the main one begins in column `offset`, one below ends early.
            whole.diagonal(offset)[:] = band[row, max(offset, 0) : n + min(offset, 0)]
    return whole


def test_a_diagonal_matrix_scales(extension: Extension) -> None:
    """No diagonals below or above: one row, every element meets its own."""
    band, vec = torch.tensor([[2.0, 3.0, 4.0]]), torch.tensor([1.0, 10.0, 100.0])

    assert [2.0, 30.0, 400.0] == extension.op("banded_mv")(band, vec, 0, 0).tolist()


def test_the_example_of_the_brief(extension: Extension) -> None:
    """One diagonal below and one above; what stands in the corners is nowhere in the result."""
    band, vec = torch.tensor(BAND), torch.tensor([1.0, 10.0, 100.0, 1000.0])
    found = extension.op("banded_mv")(band, vec, 1, 1).tolist()

    assert [21.0, 453.0, 7680.0, 9100.0] == found, "NaN comes from the corners of band"
    assert (torch.tensor(A) @ vec).tolist() == found


@pytest.mark.parametrize(("lower", "upper"), [(0, 2), (2, 0), (1, 2), (3, 1)])
def test_the_sides_may_differ(extension: Extension, lower: int, upper: int) -> None:
    """Row ``upper`` of band is the main diagonal, wherever that is."""
    band = torch.arange(1.0, 1 + 5 * (lower + upper + 1)).reshape(-1, 5)
    vec = torch.tensor([1.0, 2.0, 3.0, 5.0, 7.0])
    found = extension.op("banded_mv")(band, vec, lower, upper)

    assert (matrix(band, lower, upper) @ vec).tolist() == found.tolist()


def test_rows_beyond_the_matrix_are_not_read(extension: Extension) -> None:
    """A matrix of 2 x 2 has one diagonal on each side; rows for more hold nothing of it."""
    band = torch.tensor([[nan, nan], [nan, nan], [nan, 2.0], [1.0, 4.0], [3.0, nan], [nan, nan]])
    found = extension.op("banded_mv")(band, torch.tensor([1.0, 10.0]), 2, 3)

    assert [21.0, 43.0] == found.tolist()


@pytest.mark.parametrize("n", [0, 1])
def test_no_elements_and_one(extension: Extension, n: int) -> None:
    """Nothing is read where nothing is."""
    band = torch.full((3, n), nan, dtype=torch.float64)
    band[1] = 3.0
    found = extension.op("banded_mv")(band, torch.full((n,), 2.0, dtype=torch.float64), 1, 1)

    assert [6.0] * n == found.tolist()
    assert torch.float64 == found.dtype


def test_int64_is_exact(extension: Extension) -> None:
    """No detour over floating point, which has no odd numbers beyond 2**53."""
    band, vec = torch.tensor([[2**53 + 1, 1]]), torch.tensor([1, 3])

    assert [2**53 + 1, 3] == extension.op("banded_mv")(band, vec, 0, 0).tolist()


def test_in_place_adds(extension: Extension) -> None:
    """To what is there."""
    y = torch.tensor([100.0, 200.0])
    extension.op("banded_addmv_")(y, torch.tensor([[2.0, 3.0]]), torch.tensor([1.0, 10.0]), 0, 0)

    assert [102.0, 230.0] == y.tolist()


def test_a_transposed_band_is_read_by_its_strides(extension: Extension) -> None:
    """The same elements in another order in memory, and an expanded vector of one element."""
    band = torch.tensor(BAND)
    vec = torch.tensor([1.0, 10.0, 100.0, 1000.0])
    banded_mv = extension.op("banded_mv")

    transposed = band.t().contiguous().t()
    assert [21.0, 453.0, 7680.0, 9100.0] == banded_mv(transposed, vec, 1, 1).tolist()
    one = torch.tensor([10.0]).expand(4)
    assert [30.0, 120.0, 210.0, 100.0] == banded_mv(band, one, 1, 1).tolist()


def test_a_column_is_written_by_its_strides(extension: Extension) -> None:
    """Its neighbours in memory belong to other columns."""
    whole = torch.zeros(4, 3)
    vec = torch.tensor([1.0, 10.0, 100.0, 1000.0])
    extension.op("banded_addmv_")(whole[:, 1], torch.tensor(BAND), vec, 1, 1)

    expected = torch.zeros(4, 3)
    expected[:, 1] = torch.tensor([21.0, 453.0, 7680.0, 9100.0])
    assert torch.equal(expected, whole), f"the tensor around the column is now\n{whole}"


@st.composite
def inside(draw: st.DrawFn, *sizes: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw a view of small numbers and the tensor around it, whose other elements are bad."""
    shape, view = [], []
    for size in sizes:
        before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
        step = draw(st.integers(1, 2))
        shape.append(before + step * size + after)
        view.append(slice(before, before + step * size, step))
    flip = draw(st.booleans())
    bad = -(2**40) if dtype == torch.int64 else nan
    around = torch.full(shape[::-1] if flip else shape, bad, dtype=dtype)
    inner = (around.t() if flip else around)[tuple(view)]
    generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    # Whole numbers, but for float64: there each bit counts.
    factor = 2**0.5 if dtype == torch.float64 else 1
    inner.copy_(torch.randint(-9, 10, sizes, generator=generator) * factor)
    return inner, around


@given(data=st.data())
def test_any_strides_and_any_band(extension: Extension, data: st.DataObject) -> None:
    """In the middle of larger tensors of NaN: whoever reads beside an element finds one."""
    n, lower, upper = (data.draw(st.integers(0, 4), name) for name in ("n", "lower", "upper"))
    dtype = data.draw(st.sampled_from([torch.float32, torch.float64, torch.int64]), "dtype")
    band, _ = data.draw(inside(lower + upper + 1, n, dtype=dtype), "band")
    vec, _ = data.draw(inside(n, dtype=dtype), "vec")
    y, around = data.draw(inside(n, dtype=dtype), "self")
    if n and data.draw(st.booleans(), "expanded"):
        vec = vec[:1].expand(n)
    expected = around.clone()
    expected.as_strided(y.shape, y.stride(), y.storage_offset()).add_(
        (matrix(band, lower, upper) * vec).sum(1)
    )
    with unchanged(band=band, vec=vec):
        extension.op("banded_addmv_")(y, band, vec, lower, upper)

    close = 1e-11 if dtype == torch.float64 else 0
    torch.testing.assert_close(around, expected, rtol=0, atol=close, equal_nan=True)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.complex64], ids=str)
def test_other_dtypes_are_a_type_error(
    extension: Extension, place: str, dtype: torch.dtype
) -> None:
    """Also without elements: whether a call is right does not depend on how many there are."""
    name = {torch.float16: "Half", torch.int32: "Int", torch.complex64: "ComplexFloat"}[dtype]
    message = f"^banded_mv: expected float32, float64 or int64, got {name}$"
    empty = torch.empty(0, dtype=dtype, device=place)
    with pytest.raises(TypeError, match=message):
        extension.op("banded_mv")(empty, empty, 0, 0)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("other", [0, 1, 2])
def test_mixed_dtypes_are_a_type_error(extension: Extension, place: str, other: int) -> None:
    """There is no promotion here: an accessor has one type."""
    dtypes = [torch.float32] * 3
    dtypes[other] = torch.float64
    names = ["Double" if place == other else "Float" for place in range(3)]
    y, band, vec = (torch.empty(0, dtype=dtype, device=place) for dtype in dtypes)
    message = "^banded_mv: expected one dtype, got {}, {} and {}$".format(*names)
    with pytest.raises(TypeError, match=message):
        extension.op("banded_addmv_")(y, band, vec, 0, 0)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("dims", [(1, 1, 1), (3, 1, 1), (2, 0, 1), (2, 2, 1), (2, 1, 0), (2, 1, 2)])
def test_wrong_dims_are_a_value_error(
    extension: Extension, place: str, dims: tuple[int, int, int]
) -> None:
    """The accessor would see it too, but the Meta kernel has none."""
    band, vec, y = (torch.ones((1,) * dim, device=place) for dim in dims)
    message = "of 2 dims, vec and self of 1, got {}, {} and {}$".format(*dims)
    with pytest.raises(ValueError, match=f"^banded_mv: expected band {message}"):
        extension.op("banded_addmv_")(y, band, vec, -1, 0)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize(("lower", "upper"), [(-1, 2), (2, -1)])
def test_negative_widths_are_a_value_error(
    extension: Extension, place: str, lower: int, upper: int
) -> None:
    """Even if their sum fits the number of rows."""
    band, vec = torch.ones(2, 3, device=place), torch.ones(3, device=place)
    message = f"^banded_mv: expected lower and upper of 0 or more, got {lower} and {upper}$"
    with pytest.raises(ValueError, match=message):
        extension.op("banded_mv")(band, vec, lower, upper)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize(("lower", "upper"), [(1, 2), (0, 1), (0, 0)])
def test_a_wrong_number_of_rows_is_a_value_error(
    extension: Extension, place: str, lower: int, upper: int
) -> None:
    """Nothing else would notice it: an accessor does not know its bounds."""
    band, vec = torch.ones(3, 5, device=place), torch.ones(4, device=place)
    message = f"^banded_mv: expected {lower + upper + 1} rows of band, got 3$"
    with pytest.raises(ValueError, match=message):
        extension.op("banded_mv")(band, vec, lower, upper)


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("lengths", [(4, 5), (6, 5), (5, 4), (5, 6)])
def test_a_wrong_number_of_elements_is_a_value_error(
    extension: Extension, place: str, lengths: tuple[int, int]
) -> None:
    """Too many as well as too few, of each."""
    vec, y = (torch.ones(length, device=place) for length in lengths)
    message = "^banded_mv: expected 5 elements of vec and of self, got {} and {}$".format(*lengths)
    with pytest.raises(ValueError, match=message):
        extension.op("banded_addmv_")(y, torch.ones(3, 5, device=place), vec, 1, 1)


def test_the_meta_kernels_agree(extension: Extension) -> None:
    """What is right on the CPU is right without data."""
    band, vec = torch.ones(3, 4, device="meta"), torch.ones(4, device="meta")
    found = extension.op("banded_mv")(band, vec, 1, 1)
    extension.op("banded_addmv_")(found, band, vec, 1, 1)

    assert (4,) == found.shape
    assert "meta" == found.device.type


def test_symbols_stay_symbols(extension: Extension) -> None:
    """A size that is asked for as an int makes every other size a new compilation."""
    mode = FakeTensorMode(shape_env=ShapeEnv())
    banded_mv, band, vec = extension.op("banded_mv"), torch.ones(3, 5), torch.ones(5)
    banded_mv(band, vec, 1, 1)
    with mode:
        found = banded_mv(mode.from_tensor(band), mode.from_tensor(vec), 1, 1)

    size = found.shape[0]
    assert isinstance(size, torch.SymInt)
    assert size.node.maybe_as_int() is None, "the number of columns was asked for as an int"


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
def test_the_kernel_calls_no_operator(extension: Extension, layout: str) -> None:
    """Neither one that multiplies, nor one that copies: strides are what accessors are for."""
    forbids_tokens(source("katas.lecture04", "csrc/k05_accessor.cpp"))
    banded_addmv_ = extension.op("banded_addmv_")
    for dtype in (torch.float32, torch.float64, torch.int64):
        band = torch.ones(4, 3, dtype=dtype).t()
        band = band.contiguous() if layout == "contiguous" else band
        y, vec = torch.zeros(8, dtype=dtype)[::2], torch.ones(4, 4, dtype=dtype)[:, 1]
        with watched_operators() as names:
            banded_addmv_(y, band, vec, 1, 1)
        called = [name for name in names if name.startswith("aten::")]

        assert not called, f"banded_addmv_ of {dtype} calls {called}"


def test_inputs_are_read_and_no_more(extension: Extension) -> None:
    """A pointer to elements that are not const counts as a write, and a lazy copy is made."""
    band, vec = torch.ones(3, 4), torch.ones(4)
    lazy = torch._lazy_clone(band), torch._lazy_clone(vec)  # noqa: SLF001 - it has no other name
    extension.op("banded_addmv_")(torch.zeros(4), *lazy, 1, 1)

    kept = [torch._C._is_cow_tensor(tensor) for tensor in lazy]  # noqa: SLF001 - likewise
    assert [True, True] == kept, "read through accessor<const scalar_t, N>"


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"],
)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "empty"])
def test_opcheck_agrees(extension: Extension, check: str, layout: str) -> None:
    """The schemas tell the truth: one operator writes to self, and nothing else is written to."""
    n = 0 if layout == "empty" else 4
    band = torch.rand(n, 3).t() if layout == "transposed" else torch.rand(3, n)
    arguments = (band, torch.rand(n), 1, 1)
    banded_mv, banded_addmv_ = extension.op("banded_mv"), extension.op("banded_addmv_")
    banded_addmv_(banded_mv(*arguments), *arguments)
    found = torch.library.opcheck(banded_mv.default, arguments, test_utils=check)
    also = torch.library.opcheck(
        banded_addmv_.default, (torch.rand(2 * n)[::2], *arguments), test_utils=check
    )

    assert {check: "SUCCESS"} == found == also
