"""Tests of k12_accessor: strides and bounds of a kernel that reads single elements."""

from __future__ import annotations

from math import inf
from math import nan
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

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
    """Return the whole matrix, built from its diagonals."""
    n = band.shape[1]
    whole = torch.zeros(n, n, dtype=band.dtype)
    for row, offset in enumerate(range(upper, -lower - 1, -1)):
        if abs(offset) < n:
            # A diagonal above the main one begins in column `offset`, one below ends early.
            whole.diagonal(offset)[:] = band[row, max(offset, 0) : n + min(offset, 0)]
    return whole


def expect(expected: list[float], yours: torch.Tensor, why: str) -> None:
    """Compare an exact result, element by element."""
    found = yours.tolist()
    wrong = [i for i, (a, b) in enumerate(zip(expected, found, strict=True)) if a != b]
    assert not wrong, (
        f"yours      {found}\nA @ vec    {expected}\nThe first wrong row is {wrong[0]}. {why}"
    )


def test_a_diagonal_matrix_scales(extension: Extension) -> None:
    """With no diagonals below or above, each element is multiplied by its diagonal element."""
    band, vec = torch.tensor([[2.0, 3.0, 4.0]]), torch.tensor([1.0, 10.0, 100.0])

    yours = extension.op("banded_mv")(band, vec, 0, 0)
    expect([2.0, 30.0, 400.0], yours, "With lower = upper = 0, row i has the column j = i alone.")


def test_the_example_of_the_brief(extension: Extension) -> None:
    """With one diagonal below and one above, the corners do not affect the result."""
    band, vec = torch.tensor(BAND), torch.tensor([1.0, 10.0, 100.0, 1000.0])
    yours = extension.op("banded_mv")(band, vec, 1, 1)

    why = "NaN comes from the corners of band: row 0 of A begins in column 0, row 3 ends in 3."
    expect((torch.tensor(A) @ vec).tolist(), yours, why)


@pytest.mark.parametrize(("lower", "upper"), [(0, 2), (2, 0), (1, 2), (3, 1)])
def test_the_sides_may_differ(extension: Extension, lower: int, upper: int) -> None:
    """Row ``upper`` of band is the main diagonal, wherever that is."""
    band = torch.arange(1.0, 1 + 5 * (lower + upper + 1)).reshape(-1, 5)
    vec = torch.tensor([1.0, 2.0, 3.0, 5.0, 7.0])
    yours = extension.op("banded_mv")(band, vec, lower, upper)

    why = f"The main diagonal is row upper = {upper} of band; the diagonal above it comes before."
    expect((matrix(band, lower, upper) @ vec).tolist(), yours, why)


def test_rows_beyond_the_matrix_are_not_read(extension: Extension) -> None:
    """A 2 x 2 matrix has one diagonal on each side; further rows of band are unused."""
    band = torch.tensor([[nan, nan], [nan, nan], [nan, 2.0], [1.0, 4.0], [3.0, nan], [nan, nan]])
    yours = extension.op("banded_mv")(band, torch.tensor([1.0, 10.0]), 2, 3)

    expect([21.0, 43.0], yours, "lower or upper may be n or more: clip j to 0 and n - 1.")


@pytest.mark.parametrize("n", [0, 1])
def test_no_elements_and_one(extension: Extension, n: int) -> None:
    """Nothing is read outside the matrix."""
    band = torch.full((3, n), nan, dtype=torch.float64)
    band[1] = 3.0
    yours = extension.op("banded_mv")(band, torch.full((n,), 2.0, dtype=torch.float64), 1, 1)

    expect([6.0] * n, yours, f"A of {n} x {n} has no neighbours of its main diagonal.")


def test_int64_is_exact(extension: Extension) -> None:
    """Floating point would lose bits: a double has no odd numbers beyond 2**53."""
    band, vec = torch.tensor([[2**53 + 1, 1]]), torch.tensor([1, 3])

    yours = extension.op("banded_mv")(band, vec, 0, 0)
    expect([2**53 + 1, 3], yours, "Multiply and add in scalar_t: a double has 53 bits.")


def test_infinity_times_zero_is_nan(extension: Extension) -> None:
    """A zero in vec must not be skipped: infinity times zero is NaN."""
    band = torch.tensor([[inf, 3.0]])
    yours = extension.op("banded_mv")(band, torch.tensor([0.0, 0.0]), 0, 0)

    found = yours.isnan().tolist()
    assert found == [True, False], f"inf * 0 is NaN, 3 * 0 is 0: yours {yours.tolist()}"


def test_in_place_adds(extension: Extension) -> None:
    """The in-place operator adds to self instead of overwriting it."""
    y = torch.tensor([100.0, 200.0])
    extension.op("banded_addmv_")(y, torch.tensor([[2.0, 3.0]]), torch.tensor([1.0, 10.0]), 0, 0)

    expect([102.0, 230.0], y, "self held 100 and 200 before: add to it.")


def test_a_transposed_band_is_read_by_its_strides(extension: Extension) -> None:
    """The elements are in a different memory order, or vec is one element, expanded."""
    band = torch.tensor(BAND)
    vec = torch.tensor([1.0, 10.0, 100.0, 1000.0])
    banded_mv = extension.op("banded_mv")

    transposed = band.t().contiguous().t()
    why = f"The strides of band are {transposed.stride()}; an accessor carries them."
    expect([21.0, 453.0, 7680.0, 9100.0], banded_mv(transposed, vec, 1, 1), why)
    one = torch.tensor([10.0]).expand(4)
    why = "vec is expanded: its stride is 0, and it has one element in memory."
    expect([30.0, 120.0, 210.0, 100.0], banded_mv(band, one, 1, 1), why)


def test_a_column_is_written_by_its_strides(extension: Extension) -> None:
    """The column's neighbours in memory belong to other columns."""
    whole = torch.zeros(4, 3)
    vec = torch.tensor([1.0, 10.0, 100.0, 1000.0])
    extension.op("banded_addmv_")(whole[:, 1], torch.tensor(BAND), vec, 1, 1)

    expected = torch.zeros(4, 3)
    expected[:, 1] = torch.tensor([21.0, 453.0, 7680.0, 9100.0])
    assert torch.equal(expected, whole), (
        f"self is column 1 of a larger tensor, with stride {whole.stride(0)}. After the call,"
        f" it is\n{whole}\nexpected\n{expected}"
    )


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
    # Whole numbers, except for float64, where each bit counts.
    factor = 2**0.5 if dtype == torch.float64 else 1
    inner.copy_(torch.randint(-9, 10, sizes, generator=generator) * factor)
    return inner, around


@given(data=st.data())
def test_any_strides_and_any_band(extension: Extension, data: st.DataObject) -> None:
    """All inputs lie inside larger tensors of NaN, so a wrong read finds a NaN."""
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

    case = ", ".join(
        f"{name} {tuple(x.shape)} strides {x.stride()} offset {x.storage_offset()}"
        for name, x in {"self": y, "band": band, "vec": vec}.items()
    )
    case = f"{dtype}, lower {lower}, upper {upper}; {case}\nthe tensor around self is not A @ vec\n"
    close = 1e-11 if dtype == torch.float64 else 0
    torch.testing.assert_close(
        around, expected, rtol=0, atol=close, equal_nan=True, msg=case.__add__
    )


# What the given checks refuse (dtypes, sizes, lower, upper), and with which message.
F, D, H, I4, C = torch.float32, torch.float64, torch.float16, torch.int32, torch.complex64
ONE, SIZES = "one dtype, got ", "elements of vec and of self, got "
DIMS = "band of 2 dims, vec and self of 1, got "
REFUSED: dict[str, tuple[Any, ...]] = {
    "half": ((H, H, H), (0,), (1, 0), (0,), 0, 0, TypeError, "int64, got Half"),
    "int32": ((I4, I4, I4), (0,), (1, 0), (0,), 0, 0, TypeError, "int64, got Int"),
    "complex": ((C, C, C), (0,), (1, 0), (0,), 0, 0, TypeError, "int64, got ComplexFloat"),
    "self": ((D, F, F), (0,), (0,), (0,), 0, 0, TypeError, ONE + "Double, Float and Float"),
    "band": ((F, D, F), (0,), (0,), (0,), 0, 0, TypeError, ONE + "Float, Double and Float"),
    "vec": ((F, F, D), (0,), (0,), (0,), 0, 0, TypeError, ONE + "Float, Float and Double"),
    "band of 1 dim": ((F,) * 3, (1,), (1,), (1,), -1, 0, ValueError, DIMS + "1, 1 and 1"),
    "band of 3 dims": ((F,) * 3, (1,), (1, 1, 1), (1,), -1, 0, ValueError, DIMS + "3, 1 and 1"),
    "vec of 0 dims": ((F,) * 3, (1,), (1, 1), (), -1, 0, ValueError, DIMS + "2, 0 and 1"),
    "vec of 2 dims": ((F,) * 3, (1,), (1, 1), (1, 1), -1, 0, ValueError, DIMS + "2, 2 and 1"),
    "self of 0 dims": ((F,) * 3, (), (1, 1), (1,), -1, 0, ValueError, DIMS + "2, 1 and 0"),
    "self of 2 dims": ((F,) * 3, (1, 1), (1, 1), (1,), -1, 0, ValueError, DIMS + "2, 1 and 2"),
    "lower": ((F,) * 3, (3,), (2, 3), (3,), -1, 2, ValueError, "of 0 or more, got -1 and 2"),
    "upper": ((F,) * 3, (3,), (2, 3), (3,), 2, -1, ValueError, "of 0 or more, got 2 and -1"),
    "few rows": ((F,) * 3, (4,), (3, 5), (4,), 1, 2, ValueError, "4 rows of band, got 3"),
    "a row more": ((F,) * 3, (4,), (3, 5), (4,), 0, 1, ValueError, "2 rows of band, got 3"),
    "rows": ((F,) * 3, (4,), (3, 5), (4,), 0, 0, ValueError, "1 rows of band, got 3"),
    "short vec": ((F,) * 3, (5,), (3, 5), (4,), 1, 1, ValueError, SIZES + "4 and 5"),
    "long vec": ((F,) * 3, (5,), (3, 5), (6,), 1, 1, ValueError, SIZES + "6 and 5"),
    "short self": ((F,) * 3, (4,), (3, 5), (5,), 1, 1, ValueError, SIZES + "5 and 4"),
    "long self": ((F,) * 3, (6,), (3, 5), (5,), 1, 1, ValueError, SIZES + "5 and 6"),
}


@pytest.mark.given
@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("case", REFUSED)
def test_the_given_checks_refuse(extension: Extension, case: str, place: str) -> None:
    """The checks refuse before any read: an accessor checks neither bounds nor dtypes."""
    dtypes, *sizes, lower, upper, error, message = REFUSED[case]
    y, band, vec = (
        torch.ones(size, dtype=dtype, device=place)
        for size, dtype in zip(sizes, dtypes, strict=True)
    )
    with pytest.raises(error, match=f"^banded_mv: expected .*{message}$"):
        extension.op("banded_addmv_")(y, band, vec, lower, upper)


@pytest.mark.parametrize("layout", ["contiguous", "transposed"])
def test_the_kernel_calls_no_operator(extension: Extension, layout: str) -> None:
    """No operator multiplies or copies for the kernel: accessors handle strides."""
    forbids_tokens(source("katas.lecture04", "csrc/k12_accessor.cpp"))
    banded_addmv_ = extension.op("banded_addmv_")
    for dtype in (torch.float32, torch.float64, torch.int64):
        band = torch.ones(4, 3, dtype=dtype).t()
        band = band.contiguous() if layout == "contiguous" else band
        y, vec = torch.zeros(8, dtype=dtype)[::2], torch.ones(4, 4, dtype=dtype)[:, 1]
        with watched_operators() as names:
            banded_addmv_(y, band, vec, 1, 1)
        called = [name for name in names if name.startswith("aten::")]

        assert not called, (
            f"your kernel calls {called} for a {layout} band of {dtype}: accessors work with any"
            " strides, without a copy"
        )


def test_inputs_are_read_and_no_more(extension: Extension) -> None:
    """A pointer to non-const elements counts as a write, and makes a lazy copy real."""
    band, vec = torch.ones(3, 4), torch.ones(4)
    lazy = torch._lazy_clone(band), torch._lazy_clone(vec)  # noqa: SLF001 - it has no other name
    extension.op("banded_addmv_")(torch.zeros(4), *lazy, 1, 1)

    for name, tensor in zip(("band", "vec"), lazy, strict=True):
        assert torch._C._is_cow_tensor(tensor), (  # noqa: SLF001 - nor this
            f"your kernel made PyTorch copy {name}, a lazy clone, as "
            "if it were written to: read it through accessor<const scalar_t, N>()"
        )


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"],
)
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "empty"])
def test_opcheck_agrees(extension: Extension, check: str, layout: str) -> None:
    """The schemas are true: one operator writes to self, and nothing else is written to."""
    n = 0 if layout == "empty" else 4
    band = torch.rand(n, 3).t() if layout == "transposed" else torch.rand(3, n)
    arguments = (band, torch.rand(n), 1, 1)
    banded_mv, banded_addmv_ = extension.op("banded_mv"), extension.op("banded_addmv_")
    banded_addmv_(banded_mv(*arguments), *arguments)
    found = torch.library.opcheck(banded_mv.default, arguments, test_utils=check)
    also = torch.library.opcheck(
        banded_addmv_.default, (torch.rand(2 * n)[::2], *arguments), test_utils=check
    )

    assert {check: "SUCCESS"} == found, f"opcheck of banded_mv: {found}"
    assert {check: "SUCCESS"} == also, f"opcheck of banded_addmv_: {also}"
