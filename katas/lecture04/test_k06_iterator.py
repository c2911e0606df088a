"""Tests of k06_iterator: what an elementwise operator has to get right around its formula."""

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
    """Return those of these operators that PyTorch itself tags as elementwise."""
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


def test_equal_shapes_and_dtypes(extension: Extension) -> None:
    """One element each makes one element."""
    x = torch.tensor([1.0, 0.0, -3.0, 4.0, inf, 5.0, nan])
    y = torch.tensor([-2.0, 0.0, 3.0, 4.0, inf, 0.0, 1.0])
    found = extension.op("relative_error")(x, y)

    assert [1.5, 0.0, 2.0, 0.0, 0.0, inf] == found[:-1].tolist()
    assert found[-1].isnan()
    assert torch.float32 == found.dtype
    x, y = torch.tensor([1.0, inf, inf, -0.0, nan]), torch.tensor([inf, -inf, 1.0, 0.0, nan])
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
    """A column against a row: all pairs."""
    x, y = torch.tensor([[1.0], [2.0]]), torch.tensor([1.0, 2.0, 4.0])
    found = extension.op("relative_error")(x, y)

    assert [[0.0, 0.5, 0.75], [1.0, 0.0, 0.5]] == found.tolist()


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_shapes_that_do_not_broadcast_are_an_error(extension: Extension, place: str) -> None:
    """TensorIterator's own, in both kernels."""
    x, y = torch.ones(2, device=place), torch.ones(3, device=place)
    message = r"^The size of tensor a \(2\) must match the size of tensor b \(3\)"
    with pytest.raises(RuntimeError, match=message):
        extension.op("relative_error")(x, y)
    with pytest.raises(RuntimeError, match=message):
        extension.op("relative_error")(x, y, out=torch.ones(2, device=place))


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtypes_are_promoted(extension: Extension, place: str, dtype: torch.dtype) -> None:
    """As true_divide promotes them: never to an integer."""
    for other in DTYPES:
        x = torch.tensor([1, 0, 1], device=place).to(dtype)
        y = torch.tensor([4, 0, 1], device=place).to(other)
        found = extension.op("relative_error")(x, y)

        assert torch.true_divide(x, y).dtype == found.dtype, f"{dtype} and {other}"
        if place == "cpu":
            assert reference(x, y).tolist() == found.tolist(), f"{dtype} and {other}"


def test_numbers_promote_less_than_tensors(extension: Extension) -> None:
    """A tensor without dims gives way, unless it is of a higher kind."""
    relative_error = extension.op("relative_error")
    x, number = torch.ones(2), torch.tensor(2.0, dtype=torch.float64)

    assert torch.float32 == relative_error(x, number).dtype
    assert torch.float64 == relative_error(x.int(), number).dtype


@pytest.mark.usefixtures("double_by_default")
def test_integers_become_the_default_dtype(extension: Extension) -> None:
    """Whatever that is."""
    found = extension.op("relative_error")(torch.tensor([1]), torch.tensor([3]))

    assert torch.float64 == found.dtype
    assert [2 / 3] == found.tolist()


@given(
    x=tensors([torch.float64, torch.float32], max_dims=2, special=FINITE),
    far=st.sampled_from([0.0, 1e-15, 1e-12, 1e-9, 1e-7, 2.0]),
)
def test_values_that_bite(extension: Extension, x: torch.Tensor, far: float) -> None:
    """Numbers that differ in the last bits, zeros and denormals, in any layout: each bit counts."""
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


def test_doubles_are_compared_as_doubles(extension: Extension) -> None:
    """Two numbers that are one as float32 are two, and what overflows there is finite."""
    x = torch.tensor([1.0, 1e300, -1e-300, 2.0**53], dtype=torch.float64)
    y = torch.tensor([1 + 2**-40, 2e300, 1e-300, 2.0**53 + 2], dtype=torch.float64)
    found = extension.op("relative_error")(x, y)

    torch.testing.assert_close(found, reference(x, y), rtol=1e-12, atol=0)


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


@given(pair=operands())
def test_any_operands(extension: Extension, pair: tuple[torch.Tensor, torch.Tensor]) -> None:
    """Values, shape, dtype and strides; the strides are those that true_divide gives."""
    with unchanged(*pair):
        found = extension.op("relative_error")(*pair)
    planned = extension.op("relative_error")(*(x.to("meta") for x in pair))

    close = {"rtol": 1e-12, "atol": 0} if found.dtype is torch.float64 else {}
    torch.testing.assert_close(found, reference(*pair), **close)
    assert torch.true_divide(*pair).stride() == found.stride(), (
        "the layout is TensorIterator's to choose"
    )
    assert (found.shape, found.dtype) == (planned.shape, planned.dtype)


def test_a_permuted_layout_is_kept(extension: Extension) -> None:
    """Two images in channels-last order make a third one."""
    x, y = (torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last) for _ in range(2))
    found = extension.op("relative_error")(x, y)

    assert x.stride() == found.stride(), "a contiguous result would turn the layout over"
    torch.testing.assert_close(found, reference(x, y))


def test_the_meta_kernel_plans_the_layout(extension: Extension) -> None:
    """Shape, strides and dtype without elements, of tensors of any size."""
    x = torch.empty(2**20, 2**20, device="meta").t()
    found = extension.op("relative_error")(x, x)

    assert "meta" == found.device.type
    assert (x.shape, x.stride(), x.dtype) == (found.shape, found.stride(), found.dtype)


def test_out_is_written_and_returned(extension: Extension) -> None:
    """By its own strides: the other elements of the tensor around it stay."""
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([4.0, 2.0])
    around = torch.full((2, 3), 7.0)
    out = around[:, 1]
    found = extension.op("relative_error")(x, y, out=out)

    assert found is out
    assert [[7.0, 0.75, 7.0], [7.0, 0.0, 7.0]] == around.tolist()


@pytest.mark.parametrize("place", ["cpu", "meta"])
@pytest.mark.parametrize("shape", [(0,), (5,), (2, 3, 1)], ids=str)
def test_out_is_resized(extension: Extension, place: str, shape: tuple[int, ...]) -> None:
    """To the broadcast shape."""
    x, y = torch.ones(2, 1, device=place), torch.ones(3, device=place)
    out = torch.empty(shape, device=place)
    found = extension.op("relative_error")(x, y, out=out)

    assert found is out
    assert (2, 3) == out.shape
    if place == "cpu":
        assert torch.equal(torch.zeros(2, 3), out)


def test_out_may_have_a_wider_dtype(extension: Extension) -> None:
    """What is computed in float32 is then converted; computing follows the inputs."""
    x, y = torch.tensor([1.0]), torch.tensor([3.0])
    out = torch.empty(1, dtype=torch.float64)
    extension.op("relative_error")(x, y, out=out)

    assert [(torch.tensor([2.0]) / 3).double().item()] == out.tolist()
    narrow = torch.empty(1)
    extension.op("relative_error")(x.double(), y, out=narrow)
    assert [(torch.tensor([2.0]).double() / 3).float().item()] == narrow.tolist()


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_out_of_a_lesser_kind_is_an_error(extension: Extension, place: str) -> None:
    """A fraction does not fit an integer, and nobody would hear of it."""
    x, out = torch.ones(2, device=place), torch.ones(2, dtype=torch.int64, device=place)
    message = "^result type Float can't be cast to the desired output type Long$"
    with pytest.raises(RuntimeError, match=message):
        extension.op("relative_error")(x, x, out=out)


def test_out_may_be_an_input(extension: Extension) -> None:
    """Each element is read before it is written."""
    x = torch.tensor([1.0, 2.0])
    extension.op("relative_error")(x, torch.tensor([4.0, 2.0]), out=x)

    assert [0.75, 0.0] == x.tolist()


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_an_input_cannot_be_resized(extension: Extension, place: str) -> None:
    """Its elements would be gone before they were read."""
    x = torch.ones(3, device=place)
    message = r"^output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"
    with pytest.raises(RuntimeError, match=message):
        extension.op("relative_error")(x, torch.ones(2, 1, device=place), out=x)


def test_out_may_not_overlap(extension: Extension) -> None:
    """With itself, or in part with an input: the result would depend on the order of work."""
    relative_error = extension.op("relative_error")
    x = torch.ones(5)
    with pytest.raises(RuntimeError, match=r"^unsupported operation: more than one element"):
        relative_error(x[:4], x[:4], out=torch.ones(1).expand(4))
    for inputs in ((x[:4], torch.ones(4)), (torch.ones(4), x[:4])):
        with pytest.raises(
            RuntimeError, match=r"^unsupported operation: some elements of the input"
        ):
            relative_error(*inputs, out=x[1:])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)], ids=str)
def test_no_dims_and_no_elements(extension: Extension, shape: tuple[int, ...]) -> None:
    """One element without dims, or nothing to do."""
    counts = extension.op("counts")
    counts()
    found = extension.op("relative_error")(torch.ones(shape), torch.full(shape, 4.0))

    assert shape == tuple(found.shape)
    assert found.eq(0.75).all()
    assert found.numel() == counts()[0]


@pytest.mark.parametrize("variant", ["functional", "out"])
def test_the_formula_runs_once_for_each_element(extension: Extension, variant: str) -> None:
    """Of the result. Whoever computes by operators of ATen has not used it, nor the iterator."""
    counts = extension.op("counts")
    counts()
    forbids_tokens(source("katas.lecture04", "csrc/k06_iterator.cpp"), allow=("at::native",))
    out: dict[str, Any] = {"out": torch.empty(0)} if variant == "out" else {}
    x, y = torch.rand(7, 1), torch.rand(1, 5)
    with watched_operators() as names:
        extension.op("relative_error")(x, y, **out)
    elements, threads = counts()

    assert 35 == elements, f"note() was called {elements} times for 35 elements"
    assert 1 == threads, "35 elements are not worth a second thread"
    called = pointwise(names)
    assert not called, f"your kernel calls {called}: the formula is yours to write"


def test_the_meta_kernels_compute_nothing(extension: Extension) -> None:
    """There is nothing to compute with."""
    counts = extension.op("counts")
    counts()
    x = torch.ones(7, device="meta")
    extension.op("relative_error")(x, x)
    extension.op("relative_error")(x, x, out=x)

    assert 0 == counts()[0]


@pytest.mark.usefixtures("two_threads")
def test_large_tensors_are_shared_by_threads(extension: Extension) -> None:
    """Two halves of 32768 elements each, in two threads."""
    counts = extension.op("counts")
    counts()
    x, y = torch.rand(256, 256).t(), torch.rand(256)
    found = extension.op("relative_error")(x, y)
    elements, threads = counts()

    assert 65536 == elements
    assert 2 == threads, "one thread did all the work"
    torch.testing.assert_close(found, reference(x, y))


def test_inputs_are_read_and_no_more(extension: Extension) -> None:
    """An input that may be written to is copied first, if its memory is shared lazily."""
    x, y = torch.ones(4), torch.ones(4)
    lazy = torch._lazy_clone(x), torch._lazy_clone(y)  # noqa: SLF001 - it has no other name
    extension.op("relative_error")(*lazy)

    kept = [torch._C._is_cow_tensor(tensor) for tensor in lazy]  # noqa: SLF001 - likewise
    assert [True, True] == kept, "add the inputs as const"


@pytest.mark.parametrize(
    "check",
    ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_static"],
)
def test_opcheck_agrees(extension: Extension, check: str) -> None:
    """With static sizes: TensorIterator asks for ints, as the brief's scope says."""
    relative_error = extension.op("relative_error")
    for pair in (
        (torch.rand(3, 1), torch.rand(4)),
        (torch.rand(3, 4).t(), torch.ones(4, 3, dtype=torch.int64)),
        (torch.rand(0, 3), torch.rand(3)),
    ):
        relative_error(*pair)
        found = torch.library.opcheck(relative_error.default, pair, test_utils=check)

        assert {check: "SUCCESS"} == found


@pytest.mark.parametrize("check", ["test_schema", "test_faketensor"])
def test_opcheck_agrees_on_out(extension: Extension, check: str) -> None:
    """The variant writes to out and nothing else (its tracing is left to the other variant)."""
    relative_error = extension.op("relative_error")
    for out in (torch.rand(3, 4), torch.rand(4, 3).t(), torch.empty(3, 4, dtype=torch.float64)):
        pair = torch.rand(3, 1), torch.rand(4)
        relative_error(*pair, out=out)
        found = torch.library.opcheck(relative_error.out, pair, {"out": out}, test_utils=check)

        assert {check: "SUCCESS"} == found
