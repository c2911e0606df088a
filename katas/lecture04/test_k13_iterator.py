"""Tests of k13_iterator: what an elementwise operator has to get right around its formula."""

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
from plugins.kit import tensors
from plugins.kit import unchanged
from plugins.kit import watched_operators


if TYPE_CHECKING:
    from collections.abc import Iterator

    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

FINITE = (0.0, -0.0, "denormal")
DTYPES = [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float32, torch.float64]


def reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the relative errors, in operators of PyTorch."""
    dtype = torch.true_divide(x, y).dtype
    x, y = x.to(dtype), y.to(dtype)
    return torch.where(x == y, 0, (x - y).abs() / y.abs())


def pointwise(names: list[str]) -> list[str]:
    """Return the operators among these that PyTorch itself tags as elementwise."""
    found = []
    for name in names:
        packet = getattr(torch.ops.aten, name.removeprefix("aten::"), None)
        overloads = [getattr(packet, each) for each in packet.overloads()] if packet else []
        # clone has the tag, and copies.
        if name != "aten::clone" and any(torch.Tag.pointwise in each.tags for each in overloads):
            found.append(name)
    return found


@pytest.fixture
def double_by_default() -> Iterator[None]:
    """Make float64 the default dtype while the test runs."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Let PyTorch use two threads, however many processors there are."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def expect(expected: object, yours: object, why: str) -> None:
    """Compare, and label both sides."""
    assert expected == yours, f"yours      {yours}\nexpected   {expected}\n{why}"


def test_equal_shapes_and_dtypes(extension: Extension) -> None:
    """Elements are combined one by one."""
    x = torch.tensor([1.0, 0.0, -3.0, 4.0, inf, 5.0, nan])
    y = torch.tensor([-2.0, 0.0, 3.0, 4.0, inf, 0.0, 1.0])
    found = extension.op("relative_error")(x, y)

    expect([1.5, 0.0, 2.0, 0.0, 0.0, inf], found[:-1].tolist(), f"|x - y| / |y| of\n{x}\n{y}")
    assert found[-1].isnan(), f"NaN and 1: yours {found[-1]}, expected NaN"
    expect(torch.float32, found.dtype, "the dtype of two float32 tensors")
    # The last difference overflows float32, but not float64.
    x = torch.tensor([1.0, inf, inf, -0.0, nan, nan, 3e38])
    y = torch.tensor([inf, -inf, 1.0, 0.0, nan, 0.0, -3e38])
    found = extension.op("relative_error")(x, y)
    torch.testing.assert_close(
        found,
        reference(x, y),
        rtol=0,
        atol=0,
        equal_nan=True,
        msg=lambda text: f"|x - y| / |y|, by IEEE 754, of {x.tolist()} and {y.tolist()}: {text}",
    )


def test_shapes_broadcast(extension: Extension) -> None:
    """A column and a row give a result for each pair."""
    x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 2.0, 4.0])
    found = extension.op("relative_error")(x, y)

    expect([[0.0, 0.5, 0.75], [1.0, 0.0, 0.5]], found.tolist(), "each row of x with each of y")


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_are_promoted(extension: Extension, place: str, dtype: torch.dtype) -> None:
    """Promotion is that of true_divide, because a quotient is not an integer."""
    for other in DTYPES:
        x = torch.tensor([1, 0, 1], device=place).to(dtype)
        y = torch.tensor([4, 0, 1], device=place).to(other)
        found = extension.op("relative_error")(x, y)

        why = f"{dtype} and {other}, on {place}: true_divide promotes like this"
        expect(torch.true_divide(x, y).dtype, found.dtype, why)
        if place == "cpu":
            expect(reference(x, y).tolist(), found.tolist(), why)


@pytest.mark.usefixtures("double_by_default")
def test_integers_become_the_default_dtype(extension: Extension) -> None:
    """Integers become the default dtype, whichever dtype that is."""
    found = extension.op("relative_error")(torch.tensor([1]), torch.tensor([3]))

    expect(torch.float64, found.dtype, "integers, while the default dtype is float64")
    expect([2 / 3], found.tolist(), "1 and 3, in float64")


@given(
    x=tensors([torch.float64, torch.float32], max_dims=2, special=FINITE),
    far=st.sampled_from([0.0, 1e-15, 1e-12, 1e-9, 1e-7, 2.0]),
)
def test_values_that_bite(extension: Extension, x: torch.Tensor, far: float) -> None:
    """Every bit counts, for close numbers, zeros and denormals, in any layout."""
    y = x * (1 + far)
    with unchanged(x=x, y=y):
        found = extension.op("relative_error")(x, y)

    torch.testing.assert_close(
        found,
        reference(x, y),
        rtol=1e-12 if x.dtype is torch.float64 else 1e-6,
        atol=0,
        equal_nan=True,
        msg=lambda text: f"computed in {x.dtype}, for y = x * (1 + {far}): {text}",
    )


@st.composite
def operands(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw two tensors that broadcast: any dtypes, permuted, stepped, with sizes of 0 and 1."""
    sizes = draw(st.lists(st.integers(0, 3), max_size=3))
    order = draw(st.permutations(range(len(sizes))))
    made = []
    for _ in range(2):
        dims = order if draw(st.booleans()) else draw(st.permutations(order))
        step, offset = draw(st.integers(1, 2)), draw(st.integers(0, 2))
        mine = [1 if draw(st.integers(0, 4)) == 0 else size for size in sizes]
        generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
        around = torch.randint(
            -4, 5, [offset + step * mine[dim] for dim in dims], generator=generator
        )
        dtype = draw(st.sampled_from(DTYPES))
        # Irrational, so that a wrong formula is not right by accident.
        x = (around * 2**0.5).to(dtype) if dtype.is_floating_point else around.to(dtype)
        x = x[tuple(slice(offset, None, step) for _ in dims)]
        x = x.permute([dims.index(dim) for dim in range(len(dims))])
        made.append(x[0] if mine[:1] == [1] and draw(st.booleans()) else x)
    return made[0], made[1]


def layout(x: torch.Tensor) -> tuple[object, ...]:
    """Return shape, dtype and strides, without strides of dims of size 1."""
    strides = [step for n, step in zip(x.shape, x.stride(), strict=True) if n != 1]
    return tuple(x.shape), x.dtype, strides


@given(pair=operands())
def test_any_operands(extension: Extension, pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Values, shape, dtype and strides are right; the strides are those of true_divide."""
    with unchanged(*pair):
        found = extension.op("relative_error")(*pair)
    planned = extension.op("relative_error")(*(x.to("meta") for x in pair))

    close = {"rtol": 1e-12, "atol": 0} if found.dtype is torch.float64 else {}
    case = "; ".join(f"{x.dtype} {tuple(x.shape)} strides {x.stride()}" for x in pair)
    torch.testing.assert_close(found, reference(*pair), msg=f"{case}\n".__add__, **close)
    theirs = torch.true_divide(*pair).stride()
    expect(
        theirs, found.stride(), f"{case}: the strides of true_divide, which TensorIterator chose"
    )
    expect(layout(found), layout(planned), f"{case}: on meta, and on the CPU")


def test_a_permuted_layout_is_kept(extension: Extension) -> None:
    """Two channels-last inputs give a channels-last result."""
    x, y = (torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last) for _ in range(2))
    found = extension.op("relative_error")(x, y)

    expect(x.stride(), found.stride(), "a contiguous result would turn the layout over")
    torch.testing.assert_close(found, reference(x, y), msg="channels-last images\n".__add__)


def test_out_is_written_and_returned(extension: Extension) -> None:
    """Results go through out's strides; the rest of the tensor around it stays."""
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 2.0])
    around = torch.full((2, 3), 7.0)
    out = around[:, 1]
    found = extension.op("relative_error")(x, y, out=out)

    assert found is out, "the call must return `out` itself"
    expect(
        [[7.0, 0.75, 7.0], [7.0, 0.0, 7.0]], around.tolist(), "the tensor of which out is a column"
    )


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("shape", [(0,), (5,), (2, 3, 1)], ids=str)
def test_out_is_resized(extension: Extension, place: str, shape: tuple[int, ...]) -> None:
    """An out of another shape gets the broadcast shape."""
    x, y = torch.ones(2, 1, device=place), torch.ones(3, device=place)
    out = torch.empty(shape, device=place)
    found = extension.op("relative_error")(x, y, out=out)

    assert found is out, "the call must return `out` itself"
    expect((2, 3), tuple(out.shape), f"out had the shape {shape}")
    if place == "cpu":
        expect([[0.0] * 3] * 2, out.tolist(), "ones against ones")


def test_out_may_have_a_wider_dtype(extension: Extension) -> None:
    """The result is computed in float32, the dtype of the inputs, and then converted."""
    x, y = torch.tensor([1.0]), torch.tensor([3.0])
    out = torch.empty(1, dtype=torch.float64)
    extension.op("relative_error")(x, y, out=out)

    expect([(torch.tensor([2.0]) / 3).double().item()], out.tolist(), "computed in float32")
    narrow = torch.empty(1)
    extension.op("relative_error")(x.double(), y, out=narrow)
    expect(
        [(torch.tensor([2.0]).double() / 3).float().item()], narrow.tolist(), "rounded at the end"
    )


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_out_of_a_lesser_kind_is_an_error(extension: Extension, place: str) -> None:
    """A fraction does not fit into an integer, and would be lost silently."""
    x, out = torch.ones(2, device=place), torch.ones(2, dtype=torch.int64, device=place)
    message = "^result type Float can't be cast to the desired output type Long$"
    with pytest.raises(RuntimeError, match=message):
        extension.op("relative_error")(x, x, out=out)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)], ids=str)
def test_no_dims_and_no_elements(extension: Extension, shape: tuple[int, ...]) -> None:
    """The operands may be one element without dims, or have no elements."""
    counts = extension.op("counts")
    counts()
    found = extension.op("relative_error")(torch.ones(shape), torch.full(shape, 4.0))

    expect(shape, tuple(found.shape), "1 and 4")
    assert found.eq(0.75).all(), f"1 and 4: yours {found}, expected 0.75"
    expect(found.numel(), counts()[0], "the calls of note(), one for each element")


@pytest.mark.parametrize("variant", ["functional", "out"])
def test_the_formula_runs_once_for_each_element(extension: Extension, variant: str) -> None:
    """note() is called once per element; ATen operators would use their own iterator."""
    counts = extension.op("counts")
    counts()
    forbids_tokens(source("katas.lecture04", "csrc/k13_iterator.cpp"), allow=("at::native",))
    out: dict[str, Any] = {"out": torch.empty(0)} if variant == "out" else {}
    # Equal numbers, zeros and divisions by zero are elements too.
    x, y = torch.arange(7.0)[:, None], torch.arange(5.0)
    with watched_operators() as names:
        extension.op("relative_error")(x, y, **out)
    elements, threads = counts()

    assert 35 == elements, f"note() was called {elements} times for 35 elements"
    assert 1 == threads, f"your kernel used {threads} threads, expected 1 for only 35 elements"
    called = pointwise(names)
    assert not called, f"your kernel calls {called}: write the formula yourself"


@pytest.mark.usefixtures("two_threads")
def test_large_tensors_are_shared_by_threads(extension: Extension) -> None:
    """Two threads compute 32768 elements each."""
    counts = extension.op("counts")
    counts()
    x, y = torch.rand(256, 256).t(), torch.rand(256)
    found = extension.op("relative_error")(x, y)
    elements, threads = counts()

    expect(65536, elements, "the calls of note()")
    expect(2, threads, "the threads that did the work")
    torch.testing.assert_close(found, reference(x, y), msg="65536 elements\n".__add__)


def test_inputs_are_read_and_no_more(extension: Extension) -> None:
    """A non-const input is copied first if its memory is lazily shared."""
    x, y = torch.ones(4), torch.ones(4)
    lazy = torch._lazy_clone(x), torch._lazy_clone(y)  # noqa: SLF001 - it has no other name
    extension.op("relative_error")(*lazy)

    kept = [torch._C._is_cow_tensor(tensor) for tensor in lazy]  # noqa: SLF001 - nor this
    assert [True, True] == kept, (
        f"inputs still lazy: {kept}; PyTorch copies inputs that are not added as const"
    )


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static"],
)
def test_opcheck_agrees(extension: Extension, check: str) -> None:
    """Sizes are static: TensorIterator needs ints, so a new size is recompiled."""
    relative_error = extension.op("relative_error")
    for pair in (
        (torch.rand(3, 1), torch.rand(4)),
        (torch.rand(3, 4).t(), torch.ones(4, 3, dtype=torch.int64)),
        (torch.rand(0, 3), torch.rand(3)),
    ):
        relative_error(*pair)
        found = torch.library.opcheck(relative_error.default, pair, test_utils=check)

        assert {check: "SUCCESS"} == found, f"opcheck: {found}"
    if check in {"test_schema", "test_faketensor"}:
        out = torch.rand(4, 3).t()
        pair = torch.rand(3, 1), torch.rand(4)
        found = torch.library.opcheck(relative_error.out, pair, {"out": out}, test_utils=check)
        assert {check: "SUCCESS"} == found, f"opcheck, with out=: {found}"
