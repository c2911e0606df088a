"""Tests of k14_structured: three variants of an operator that agree, because they share code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import torch

from plugins.kit import freed
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

DTYPES = [torch.int32, torch.int64, torch.float32, torch.float64]


def reference(self: torch.Tensor, row: torch.Tensor, col: torch.Tensor) -> torch.Tensor:
    """Return the expected result, in PyTorch operators: convert, add, then compare."""
    dtype = torch.maximum(self, row[:, None] + col).dtype
    return torch.maximum(self.to(dtype), row.to(dtype)[:, None] + col.to(dtype))


def refusal(call: Callable[[], object]) -> tuple[type[Exception], str]:
    """Return the type and the text of the error that a call raises."""
    try:
        call()
    except NotImplementedError:
        raise
    except (RuntimeError, ValueError, TypeError) as error:
        return type(error), str(error)
    return AssertionError, "nothing was raised"


def expect(expected: object, yours: object, why: str) -> None:
    """Compare, and label both sides."""
    assert expected == yours, f"yours      {yours}\nexpected   {expected}\n{why}"


def test_the_larger_one_wins(extension: Extension) -> None:
    """An element is that of self, or the sum of row and column."""
    known = torch.tensor([[0.0, 25.0, 0.0], [10.0, 0.0, 100.0]])
    found = extension.op("tropical_addr")(
        known, torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0, 30.0])
    )

    why = "the larger of what self holds, and row[i] + col[j]"
    expect([[11.0, 25.0, 31.0], [12.0, 22.0, 100.0]], found.tolist(), why)
    expect(torch.float32, found.dtype, "the dtype of three float32 tensors")
    x, y = torch.ones(2, 2), torch.ones(2)
    freed(lambda: extension.op("tropical_addr")(x, y, y), "The caller alone owns a new result.")


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (1, 3), (2, 1), (2, 3)], ids=str)
def test_self_is_expanded(extension: Extension, shape: tuple[int, ...]) -> None:
    """The shape of self may be any that broadcasts to len(row) rows and len(col) columns."""
    # In column-major order: self's order must not become the result's.
    known = 2 * torch.randn(shape[::-1], dtype=torch.float64)
    known = known.permute(list(range(len(shape)))[::-1])
    row, col = torch.randn(2, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    earlier = extension.op("tropical_addr")(-known, row, col)
    with unchanged(self=known, row=row, col=col, earlier=earlier):
        found = extension.op("tropical_addr")(known, row, col)

    expect((2, 3), tuple(found.shape), f"self of {shape}, row of 2, col of 3")
    says = f"self of {shape}\n".__add__
    torch.testing.assert_close(found, reference(known, row, col), rtol=0, atol=0, msg=says)
    expect((3, 1), found.stride(), f"a new result is contiguous; self has strides {known.stride()}")


@pytest.mark.parametrize(("rows", "cols"), [(0, 0), (0, 3), (2, 0), (1, 1)])
def test_no_elements_and_one(extension: Extension, rows: int, cols: int) -> None:
    """The shape is still right, in every variant."""
    known = torch.zeros(rows, cols)
    row, col = torch.ones(rows), torch.ones(cols)
    out = torch.empty(5)
    found = extension.op("tropical_addr")(known, row, col)
    extension.op("tropical_addr")(known, row, col, out=out)

    inplace = extension.op("tropical_addr_")(known, row, col)
    for name, yours in {"functional": found, "out": out, "in place": inplace}.items():
        expect((rows, cols), tuple(yours.shape), f"the shape, {name}")
        assert yours.eq(2.0).all(), f"{name}: yours {yours}, expected 1 + 1 everywhere"


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_dtypes_are_promoted(extension: Extension, place: str) -> None:
    """Promotion is that of maximum and +: a self without dims has lower priority."""
    row = torch.tensor([1], device=place)
    for shape in ((), (1, 1)):
        for dtypes in ((a, b, c) for a in DTYPES for b in DTYPES for c in DTYPES):
            operands = [
                torch.full(shape, 2, dtype=dtypes[0], device=place),
                row.to(dtypes[1]),
                row.to(dtypes[2]),
            ]
            expected = reference(*operands).dtype
            if expected == torch.int32:
                continue
            found = extension.op("tropical_addr")(*operands)
            expect(expected, found.dtype, f"self of {len(shape)} dims, dtypes {dtypes}")


def test_in_place_writes_to_self(extension: Extension) -> None:
    """The operator writes through self's strides, and returns self."""
    around = torch.full((3, 4), 7.0)
    known = around.t()[1:3, :2]
    found = extension.op("tropical_addr_")(known, torch.tensor([1, 10]), torch.tensor([1.0, 2.0]))

    assert found is known, "the call must return self itself"
    expected = [[7.0, 7.0, 11.0, 7.0], [7.0, 7.0, 12.0, 7.0], [7.0] * 4]
    expect(expected, around.tolist(), "the tensor of which self is a part")


def test_out_is_written_and_returned(extension: Extension) -> None:
    """An out of the right shape keeps its strides and its memory."""
    around = torch.zeros(3, 4)
    out = around.t()[1:3, :2]
    pointer, strides = out.data_ptr(), out.stride()
    found = extension.op("tropical_addr")(
        torch.tensor(5.0), torch.tensor([1.0, 10.0]), torch.tensor([1.0, 2.0]), out=out
    )

    assert found is out, "the call must return `out` itself"
    expect((pointer, strides), (out.data_ptr(), out.stride()), "the place and the strides of out")
    expected = [[0.0, 5.0, 11.0, 0.0], [0.0, 5.0, 12.0, 0.0], [0.0] * 4]
    expect(expected, around.tolist(), "the tensor of which out is a part")


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("shape", [(0,), (7,), (3, 2)], ids=str)
def test_out_is_resized(extension: Extension, place: str, shape: tuple[int, ...]) -> None:
    """An out of another shape is resized."""
    out = torch.empty(shape, device=place)
    row, col = torch.zeros(2, device=place), torch.zeros(3, device=place)
    found = extension.op("tropical_addr")(torch.tensor(5.0, device=place), row, col, out=out)

    assert found is out, "the call must return `out` itself"
    expect((2, 3), tuple(out.shape), f"out had the shape {shape}")
    if place == "cpu":
        expect([[5.0] * 3] * 2, out.tolist(), "5 is larger than 0 + 0")


def test_out_may_be_self(extension: Extension) -> None:
    """Each element is read before it is written."""
    known = torch.tensor([[1.0, 5.0]])
    extension.op("tropical_addr")(known, torch.tensor([1.0]), torch.tensor([1.0, 2.0]), out=known)

    expect([[2.0, 5.0]], known.tolist(), "self is out")


@pytest.mark.parametrize("variant", ["out", "in place"])
def test_impl_writes_to_what_was_asked_for(extension: Extension, variant: str) -> None:
    """A temporary result that is copied later would cost memory and time."""
    known, row, col = torch.ones(2, 3), torch.ones(2), torch.ones(3)
    with watched_operators() as names:
        if variant == "out":
            extension.op("tropical_addr")(known, row, col, out=torch.ones(2, 3))
        else:
            extension.op("tropical_addr_")(known, row, col)

    copied = names.count("aten::copy_")
    expect(0, copied, f"copies, {variant}: all dtypes are alike, so nothing is to be copied")


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("shape", "text"), [((3,), "[3]"), ((1, 3), "[1, 3]"), ((), "[]")], ids=["3", "1x3", "scalar"]
)
def test_in_place_refuses_to_expand(
    extension: Extension, place: str, shape: tuple[int, ...], text: str
) -> None:
    """The result would not fit; self is unchanged."""
    known = torch.ones(shape, device=place)
    row, col = torch.ones(2, device=place), torch.ones(3, device=place)
    message = f"Bad in-place call: input tensor size {text} and output tensor size [2, 3]"
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)} should match$"):
        extension.op("tropical_addr_")(known, row, col)

    expect(shape, tuple(known.shape), "self was refused, so it stays as it was")
    assert place == "meta" or known.eq(1).all(), f"the call was refused, but self is now {known}"


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_in_place_refuses_to_change_the_dtype(extension: Extension, place: str) -> None:
    """The dtype is checked before the shape; operands of a lower dtype are fine."""
    known, row, col = (torch.ones(size, device=place) for size in ((1, 3), 2, 3))
    dtypes = "input tensor dtype float and output tensor dtype double"
    with pytest.raises(RuntimeError, match=f"^Bad in-place call: {dtypes} should match$"):
        extension.op("tropical_addr_")(known, row.double(), col)
    extension.op("tropical_addr_")(torch.ones(2, 3, device=place), row.long(), col.int())


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_out_must_have_the_dtype(extension: Extension, place: str) -> None:
    """A wider or narrower dtype is refused; a refused out is not resized either."""
    single, double = torch.ones(2, device=place), torch.ones(2, device=place).double()
    cases = (single, double, "float, but got double"), (double, single, "double, but got float")
    for x, y, names in cases:
        out = y.new_empty(5)
        message = f"^Expected out tensor to have dtype {names} instead$"
        with pytest.raises(RuntimeError, match=message):
            extension.op("tropical_addr")(x, x, x, out=out)
        expect((5,), tuple(out.shape), "out was refused, so it stays as it was")


def test_out_must_be_on_the_device(extension: Extension) -> None:
    """The device is checked after the dtype. With one meta tensor, the Meta kernel is called."""
    x = torch.ones(2, device="meta")
    out = torch.empty(5)
    message = "^Expected out tensor to have device meta, but got cpu instead$"
    with pytest.raises(RuntimeError, match=message):
        extension.op("tropical_addr")(x, x, x, out=out)
    expect((5,), tuple(out.shape), "out was refused, so it stays as it was")

    with pytest.raises(RuntimeError, match=r"^Expected out tensor to have dtype"):
        extension.op("tropical_addr")(x, x, x, out=out.double())


REFUSED = {
    "row has 2 dims": (
        ((5,), torch.float16),
        ((2, 2), torch.float32),
        ((3,), torch.float32),
        (ValueError, "tropical_addr: expected row and col of 1 dim, got 2 and 1"),
    ),
    "self is transposed": (
        ((3, 2), torch.float16),
        ((2,), torch.float16),
        ((3,), torch.float16),
        (ValueError, "tropical_addr: expected self to expand to [2, 3], got [3, 2]"),
    ),
    "float16": (
        ((2, 3), torch.float16),
        ((2,), torch.float16),
        ((3,), torch.int64),
        (TypeError, "tropical_addr: cannot compute in Half"),
    ),
}


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("case", REFUSED)
def test_all_variants_refuse_alike(extension: Extension, place: str, case: str) -> None:
    """There is one meta function, so type and text are the same, on both keys."""
    *operands, expected = REFUSED[case]
    known, row, col = (torch.ones(size, dtype=dtype, device=place) for size, dtype in operands)
    tropical_addr, tropical_addr_ = extension.op("tropical_addr"), extension.op("tropical_addr_")
    # Also wrong in dtype and shape, which must not be noticed first.
    out = torch.empty(5, dtype=torch.int16, device=place)

    expect(expected, refusal(lambda: tropical_addr(known, row, col)), "functional")
    expect(expected, refusal(lambda: tropical_addr(known, row, col, out=out)), "with out=")
    expect(expected, refusal(lambda: tropical_addr_(known, row, col)), "in place")
    expect((5,), tuple(out.shape), "out was refused, so it stays as it was")


def test_the_meta_key_computes_nothing(extension: Extension) -> None:
    """A result of 4 TB takes no time and no memory."""
    x = torch.empty(2**20, device="meta")
    found = extension.op("tropical_addr")(torch.empty((), device="meta"), x, x)

    expect("meta", found.device.type, "the device")
    mixed = extension.op("tropical_addr")(found[0, 0], torch.ones(2), torch.ones(3))
    expect("meta", mixed.device.type, "self is on meta, row and col are not: that of self counts")
    expect((2**20, 2**20), tuple(found.shape), "row and col of 2**20 elements")
    assert found is extension.op("tropical_addr_")(found, x, x), "the call must return self itself"


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static"],
)
def test_opcheck_agrees(extension: Extension, check: str) -> None:
    """Sizes are static: meta needs ints, so a new size is recompiled."""
    tropical_addr = extension.op("tropical_addr")
    for known in (torch.rand(2, 3), torch.rand(3, 2).t(), torch.rand(()), torch.rand(1, 3).long()):
        operands = known, torch.rand(2), torch.rand(3)
        tropical_addr(*operands)
        found = torch.library.opcheck(tropical_addr.default, operands, test_utils=check)

        expect({check: "SUCCESS"}, found, "what opcheck finds")
    if check in {"test_schema", "test_faketensor"}:
        out, known, row, col = torch.rand(3, 2).t(), torch.rand(2, 1), torch.rand(2), torch.rand(3)
        arguments = (known, row, col), {"out": out}
        found = torch.library.opcheck(tropical_addr.out, *arguments, test_utils=check)
        expect({check: "SUCCESS"}, found, "what opcheck finds, with out=")
        tropical_addr_ = extension.op("tropical_addr_").default
        found = torch.library.opcheck(tropical_addr_, (out, row, col), test_utils=check)
        expect({check: "SUCCESS"}, found, "what opcheck finds, in place")
