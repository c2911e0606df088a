"""Tests of k14_structured: three variants of an operator that agree, because they share."""

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

from katas import source
from plugins.kit import forbids_tokens
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

DTYPES = [torch.int32, torch.int64, torch.float32, torch.float64]
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


def reference(self: torch.Tensor, row: torch.Tensor, col: torch.Tensor) -> torch.Tensor:
    """Return what the brief says, in operators of PyTorch: convert, add, then compare."""
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


def test_the_larger_one_wins(extension: Extension) -> None:
    """What is known, or the sum of a row's and a column's number."""
    known = torch.tensor([[0.0, 25.0, 0.0], [10.0, 0.0, 100.0]])
    found = extension.op("tropical_addr")(
        known, torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0, 30.0])
    )

    assert [[11.0, 25.0, 31.0], [12.0, 22.0, 100.0]] == found.tolist()
    assert torch.float32 == found.dtype


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (1, 3), (2, 1), (2, 3)], ids=str)
def test_self_is_expanded(extension: Extension, shape: tuple[int, ...]) -> None:
    """From any shape that broadcasts to a row for each of row and a column for each of col."""
    known = 2 * torch.randn(shape, dtype=torch.float64)
    row, col = torch.randn(2, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    earlier = extension.op("tropical_addr")(-known, row, col)
    with unchanged(self=known, row=row, col=col, earlier=earlier):
        found = extension.op("tropical_addr")(known, row, col)

    assert (2, 3) == found.shape
    assert torch.equal(reference(known, row, col), found)


def test_nan_is_kept(extension: Extension) -> None:
    """Whether it was known or comes from a sum; infinities are the zeros of this algebra."""
    known = torch.tensor([[nan, 0.0, -inf], [0.0, nan, inf]])
    row, col = torch.tensor([1.0, -inf]), torch.tensor([0.0, inf, 5.0])
    found = extension.op("tropical_addr")(known, row, col)
    torch.testing.assert_close(found, reference(known, row, col), equal_nan=True)
    found = extension.op("tropical_addr")(torch.zeros(1, 1), torch.tensor([nan]), torch.ones(1))

    assert found.isnan().all()


@pytest.mark.parametrize(("rows", "cols"), [(0, 0), (0, 3), (2, 0), (1, 1)])
def test_no_elements_and_one(extension: Extension, rows: int, cols: int) -> None:
    """The shape is right all the same, in every variant."""
    known = torch.zeros(rows, cols)
    row, col = torch.ones(rows), torch.ones(cols)
    out = torch.empty(5)
    found = extension.op("tropical_addr")(known, row, col)
    extension.op("tropical_addr")(known, row, col, out=out)

    assert (rows, cols) == found.shape == out.shape
    assert torch.equal(torch.full((rows, cols), 2.0), found)
    assert torch.equal(found, out)
    assert torch.equal(found, extension.op("tropical_addr_")(known, row, col))


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_dtypes_are_promoted(extension: Extension, place: str) -> None:
    """As by maximum and +: self without dims has less say."""
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
            assert expected == found.dtype, f"self of {len(shape)} dims, dtypes {dtypes}"


def test_int64_is_exact(extension: Extension) -> None:
    """No detour over floating point, which has no odd numbers beyond 2**53."""
    found = extension.op("tropical_addr")(
        torch.tensor(0), torch.tensor([2**53, 1]), torch.tensor([1])
    )

    assert [[2**53 + 1], [2]] == found.tolist()


def test_operands_are_converted_before_they_are_added(extension: Extension) -> None:
    """All three, to the dtype of the result: self has a say in how row and col are added."""
    tropical_addr = extension.op("tropical_addr")
    wide, narrow = torch.zeros(1, 1, dtype=torch.float64), torch.zeros(1, 1)
    found = tropical_addr(wide, torch.tensor([2.0**24]), torch.tensor([1.0]))
    assert [[2**24 + 1]] == found.tolist(), "yours added float32, and 2**24 + 1 is none"

    found = tropical_addr(narrow, torch.tensor([1]), torch.tensor([2.5]))
    assert [[3.5]] == found.tolist(), "yours added int64, and 2.5 is none"


@st.composite
def operands(draw: st.DrawFn) -> list[torch.Tensor]:
    """Draw self, row and col: stepped, permuted, with offsets, of any dtypes."""

    def tensor(*sizes: int) -> torch.Tensor:
        step, offset, flip = draw(st.integers(1, 2)), draw(st.integers(0, 2)), draw(st.booleans())
        generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
        shape = [offset + step * size for size in sizes]
        around = torch.randint(-9, 10, shape[::-1] if flip else shape, generator=generator)
        # int64 comes twice: of int32 alone nothing can be computed.
        dtype = draw(st.sampled_from([torch.int64, *DTYPES[1:]]))
        # Irrational, so that it matters when an operand is converted.
        around = (around * 2**0.5).to(dtype) if dtype.is_floating_point else around.to(dtype)
        around = around.permute(*reversed(range(len(sizes)))) if flip else around
        return around[tuple(slice(offset, None, step) for _ in sizes)]

    rows, cols = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    known = tensor(draw(st.sampled_from([1, rows])), draw(st.sampled_from([1, cols])))
    return [known, tensor(rows), tensor(cols)]


@given(tensors=operands())
def test_any_operands(extension: Extension, tensors: list[torch.Tensor]) -> None:
    """Values and dtype, for any strides; nothing is written to."""
    with unchanged(*tensors):
        found = extension.op("tropical_addr")(*tensors)
    planned = extension.op("tropical_addr")(*(tensor.to("meta") for tensor in tensors))
    expected = reference(*tensors)

    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert found.is_contiguous()
    for attribute in ("shape", "dtype"):
        assert getattr(found, attribute) == getattr(planned, attribute)
    assert found.stride() == planned.stride()


def test_in_place_writes_to_self(extension: Extension) -> None:
    """By its strides, and returns it; the tensor around it stays as it is."""
    around = torch.full((3, 4), 7.0)
    known = around.t()[1:3, :2]
    found = extension.op("tropical_addr_")(known, torch.tensor([1, 10]), torch.tensor([1.0, 2.0]))

    assert found is known
    assert [[7.0, 7.0, 11.0, 7.0], [7.0, 7.0, 12.0, 7.0], [7.0] * 4] == around.tolist()


def test_out_is_written_and_returned(extension: Extension) -> None:
    """An out of the right shape keeps its strides, and its memory."""
    around = torch.zeros(3, 4)
    out = around.t()[1:3, :2]
    pointer, strides = out.data_ptr(), out.stride()
    found = extension.op("tropical_addr")(
        torch.tensor(5.0), torch.tensor([1.0, 10.0]), torch.tensor([1.0, 2.0]), out=out
    )

    assert found is out
    assert (pointer, strides) == (out.data_ptr(), out.stride())
    assert [[0.0, 5.0, 11.0, 0.0], [0.0, 5.0, 12.0, 0.0], [0.0] * 4] == around.tolist()


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("shape", [(0,), (7,), (3, 2)], ids=str)
def test_out_is_resized(extension: Extension, place: str, shape: tuple[int, ...]) -> None:
    """If its shape is another one."""
    out = torch.empty(shape, device=place)
    row, col = torch.zeros(2, device=place), torch.zeros(3, device=place)
    found = extension.op("tropical_addr")(torch.tensor(5.0, device=place), row, col, out=out)

    assert found is out
    assert (2, 3) == out.shape
    if place == "cpu":
        assert torch.equal(torch.full((2, 3), 5.0), out)


def test_out_may_be_self(extension: Extension) -> None:
    """Each element is read before it is written."""
    known = torch.tensor([[1.0, 5.0]])
    extension.op("tropical_addr")(known, torch.tensor([1.0]), torch.tensor([1.0, 2.0]), out=known)

    assert [[2.0, 5.0]] == known.tolist()


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize(
    ("shape", "text"), [((3,), "[3]"), ((1, 3), "[1, 3]"), ((), "[]")], ids=["3", "1x3", "scalar"]
)
def test_in_place_refuses_to_expand(
    extension: Extension, place: str, shape: tuple[int, ...], text: str
) -> None:
    """The result would not fit; self stays as it was."""
    known = torch.ones(shape, device=place)
    row, col = torch.ones(2, device=place), torch.ones(3, device=place)
    message = f"Bad in-place call: input tensor size {text} and output tensor size [2, 3]"
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)} should match$"):
        extension.op("tropical_addr_")(known, row, col)

    assert shape == tuple(known.shape)
    assert place == "meta" or known.eq(1).all()


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_in_place_refuses_to_change_the_dtype(extension: Extension, place: str) -> None:
    """Before the shape is looked at; operands of a lesser dtype are welcome."""
    known, row, col = (torch.ones(size, device=place) for size in ((1, 3), 2, 3))
    dtypes = "input tensor dtype float and output tensor dtype double"
    with pytest.raises(RuntimeError, match=f"^Bad in-place call: {dtypes} should match$"):
        extension.op("tropical_addr_")(known, row.double(), col)
    extension.op("tropical_addr_")(torch.ones(2, 3, device=place), row.long(), col.int())


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_out_must_have_the_dtype(extension: Extension, place: str) -> None:
    """Neither a wider nor a narrower one; what is refused is not resized either."""
    single, double = torch.ones(2, device=place), torch.ones(2, device=place).double()
    cases = (single, double, "float, but got double"), (double, single, "double, but got float")
    for x, y, names in cases:
        out = y.new_empty(5)
        message = f"^Expected out tensor to have dtype {names} instead$"
        with pytest.raises(RuntimeError, match=message):
            extension.op("tropical_addr")(x, x, x, out=out)
        assert (5,) == out.shape


def test_out_must_be_on_the_device(extension: Extension) -> None:
    """After the dtype. A call with one meta tensor goes to the Meta kernel."""
    x = torch.ones(2, device="meta")
    out = torch.empty(5)
    message = "^Expected out tensor to have device meta, but got cpu instead$"
    with pytest.raises(RuntimeError, match=message):
        extension.op("tropical_addr")(x, x, x, out=out)
    assert (5,) == out.shape

    with pytest.raises(RuntimeError, match=r"^Expected out tensor to have dtype"):
        extension.op("tropical_addr")(x, x, x, out=out.double())


REFUSED = {
    "row has 2 dims": (
        ((5,), torch.float16),
        ((2, 2), torch.float32),
        ((3,), torch.float32),
        (ValueError, "tropical_addr: expected row and col of 1 dim, got 2 and 1"),
    ),
    "col has no dims": (
        ((5,), torch.float32),
        ((2,), torch.float32),
        ((), torch.float32),
        (ValueError, "tropical_addr: expected row and col of 1 dim, got 1 and 0"),
    ),
    "self is transposed": (
        ((3, 2), torch.float16),
        ((2,), torch.float16),
        ((3,), torch.float16),
        (ValueError, "tropical_addr: expected self to expand to [2, 3], got [3, 2]"),
    ),
    "self has 3 dims": (
        ((1, 2, 3), torch.float32),
        ((2,), torch.float32),
        ((3,), torch.float32),
        (ValueError, "tropical_addr: expected self to expand to [2, 3], got [1, 2, 3]"),
    ),
    "float16": (
        ((2, 3), torch.float16),
        ((2,), torch.float16),
        ((3,), torch.int64),
        (TypeError, "tropical_addr: cannot compute in Half"),
    ),
    "bool": (
        ((2, 3), torch.bool),
        ((2,), torch.bool),
        ((3,), torch.bool),
        (TypeError, "tropical_addr: cannot compute in Bool"),
    ),
    "int32": (
        ((2, 3), torch.int32),
        ((2,), torch.int32),
        ((3,), torch.int32),
        (TypeError, "tropical_addr: cannot compute in Int"),
    ),
}


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("case", REFUSED)
def test_all_variants_refuse_alike(extension: Extension, place: str, case: str) -> None:
    """With one type and one text, on both keys: there is one meta function."""
    *operands, expected = REFUSED[case]
    known, row, col = (torch.ones(size, dtype=dtype, device=place) for size, dtype in operands)
    tropical_addr, tropical_addr_ = extension.op("tropical_addr"), extension.op("tropical_addr_")
    # Wrong in dtype and shape itself: that must not be noticed first.
    out = torch.empty(5, dtype=torch.int16, device=place)

    assert expected == refusal(lambda: tropical_addr(known, row, col))
    assert expected == refusal(lambda: tropical_addr(known, row, col, out=out))
    assert expected == refusal(lambda: tropical_addr_(known, row, col))
    assert (5,) == out.shape


def test_the_meta_key_computes_nothing(extension: Extension) -> None:
    """A result of 4 TB is planned in no time and no memory."""
    x = torch.empty(2**20, device="meta")
    found = extension.op("tropical_addr")(torch.empty((), device="meta"), x, x)

    assert "meta" == found.device.type
    assert (2**20, 2**20) == found.shape
    assert found is extension.op("tropical_addr_")(found, x, x)


@pytest.mark.parametrize("variant", ["functional", "out", "in place"])
def test_the_kernel_does_the_arithmetic(extension: Extension, variant: str) -> None:
    """Calling at::maximum would skip the kata: impl is the bottom of the stack."""
    call = extension.op("tropical_addr_" if variant == "in place" else "tropical_addr")
    # result_type and resize_output are in that namespace, and the brief names them.
    forbids_tokens(
        source("katas.lecture04", "csrc/k14_structured.cpp"),
        "at::native::maximum",
        "at::native::add",
        allow=("at::native",),
    )
    every = []
    for dtype in (torch.float32, torch.float64, torch.int64):
        out = {"out": torch.empty(0, dtype=dtype)} if variant == "out" else {}
        every.append((torch.zeros(3, 2, dtype=dtype).t(), out))
    row, col = torch.ones(2).long(), torch.ones(3).long()
    with watched_operators() as names:
        for known, out in every:
            call(known, row, col, **out)
    called = sorted(arithmetic() & set(names))

    assert not called, f"impl calls {called}: write the loop"


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static"],
)
def test_opcheck_agrees(extension: Extension, check: str) -> None:
    """With static sizes: meta asks for ints, as in the brief's scope."""
    tropical_addr = extension.op("tropical_addr")
    for known in (torch.rand(2, 3), torch.rand(3, 2).t(), torch.rand(()), torch.rand(1, 3).long()):
        operands = known, torch.rand(2), torch.rand(3)
        tropical_addr(*operands)
        found = torch.library.opcheck(tropical_addr.default, operands, test_utils=check)

        assert {check: "SUCCESS"} == found


@pytest.mark.parametrize("check", ["test_schema", "test_faketensor"])
def test_opcheck_agrees_on_the_other_variants(extension: Extension, check: str) -> None:
    """They write to one tensor and return it (their tracing is left to the functional one)."""
    tropical_addr, tropical_addr_ = extension.op("tropical_addr"), extension.op("tropical_addr_")
    row, col = torch.rand(2), torch.rand(3)
    for out in (torch.rand(2, 3), torch.rand(3, 2).t()):
        known = torch.rand(2, 1)
        tropical_addr_(tropical_addr(known, row, col, out=out), row, col)
        found = torch.library.opcheck(
            tropical_addr.out, (known, row, col), {"out": out}, test_utils=check
        )
        also = torch.library.opcheck(tropical_addr_.default, (out, row, col), test_utils=check)

        assert {check: "SUCCESS"} == found == also
