"""Tests of k21_backend: each test runs in a fork of its own, which loads the library.

A dispatch key, an allocator and a guard belong to the whole process, for good.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import traceback
import types
import warnings
from typing import TYPE_CHECKING

import pytest
import torch


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.kit import Extension

    Test = Callable[..., None]


pytestmark = pytest.mark.backend("cxx")

CHIP = "privateuseone"
SECONDS = 30


def own_process(test: Test) -> Test:
    """Run a test in a fork; an error there is raised here, as text."""

    @functools.wraps(test)
    def forked(unloaded: Extension, **arguments: object) -> None:
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.close(reader)
            signal.alarm(SECONDS)
            os.write(writer, outcome(test, unloaded, arguments).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as pipe:
            kind, _, text = pipe.read().partition("\n")
        _, status = os.waitpid(child, 0)
        if code := os.waitstatus_to_exitcode(status):
            name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            pytest.fail(
                f"the process of this test ended with {name}: did it use an address of the chip?"
            )
        if kind == "NotImplementedError":
            raise NotImplementedError(text)
        assert kind == "passed", f"in the process of this test:\n{text}"

    return forked


def outcome(test: Test, library: Extension, arguments: dict[str, object]) -> str:
    """Return how the test went, and what it raised."""
    try:
        torch.set_num_threads(1)
        torch.ops.load_library(library.path)
        # PyTorch looks for torch.<device> before it makes the first tensor there.
        module = types.ModuleType(f"torch.{CHIP}")
        module._lazy_init = lambda: None  # noqa: SLF001
        torch._register_device_module(CHIP, module)  # noqa: SLF001
        test(library, **arguments)
    except BaseException as error:  # noqa: BLE001 - the parent raises it
        sys.stderr.flush()
        text = "".join(traceback.format_exception(error)[-3:])
        return f"{type(error).__name__}\n{text}"
    return "passed\n"


def same(yours: torch.Tensor, expected: torch.Tensor, what: str) -> None:
    """Compare a tensor on any device with a CPU tensor, bit by bit."""
    found = yours.cpu()
    assert (expected.shape, expected.dtype) == (found.shape, found.dtype), (
        f"{what}: yours {found.dtype} of {tuple(found.shape)}, expected {expected.dtype} of"
        f" {tuple(expected.shape)}"
    )
    says = f"{what}, yours and the processor's\n".__add__
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True, msg=says)


def count(library: Extension, name: str, expected: object, why: str) -> None:
    """Compare the chip's counts with the expected ones."""
    yours = library.op(name)()
    assert expected == yours, f"{name}: yours {yours}, expected {expected}. {why}"


@pytest.mark.step(1, "tensors on the chip")
@own_process
def test_an_empty_tensor_is_on_the_chip(unloaded: Extension) -> None:
    """Six floats take 24 bytes of the chip's memory."""
    count(unloaded, "memory", 0, "no tensor has been made")
    x = torch.empty(2, 3, device=CHIP)

    yours = x.device, tuple(x.shape), x.stride(), x.dtype
    expected = torch.device(CHIP, 0), (2, 3), (3, 1), torch.float32
    assert expected == yours, f"device, sizes, strides, dtype: yours {yours}, expected {expected}"
    count(unloaded, "memory", 24, "six floats take 24 bytes of the chip, by chip::allocate")


@pytest.mark.step(1, "tensors on the chip")
@own_process
def test_memory_is_freed_with_its_tensor(unloaded: Extension) -> None:
    """The deleter of the DataPtr is the chip's."""
    x = torch.empty(10, device=CHIP)
    y = torch.empty(4, device=CHIP, dtype=torch.float64)
    count(unloaded, "memory", 72, "ten floats and four doubles are alive")
    del x
    count(unloaded, "memory", 32, "four doubles are alive: the deleter of a DataPtr frees")
    del y

    count(unloaded, "memory", 0, "both tensors are dead")


@pytest.mark.step(1, "tensors on the chip")
@own_process
def test_options_of_empty_are_heeded(unloaded: Extension) -> None:
    """The result has the requested dtype, or the default, and memory format or strides."""
    x = torch.empty(2, 3, 4, 5, device=CHIP, memory_format=torch.channels_last)
    y = torch.empty_strided((2, 3), (1, 4), device=CHIP, dtype=torch.int8)
    torch.set_default_dtype(torch.float64)
    z = torch.empty_strided((2,), (3,), device=CHIP)

    channels_last = x.is_contiguous(memory_format=torch.channels_last)
    assert channels_last, f"yours has the strides {x.stride()}: memory_format is channels_last"
    found = y.dtype, y.stride()
    assert found == (torch.int8, (1, 4)), f"yours {found}, expected int8 and strides of 1 and 4"
    found = z.dtype, torch.empty(1, device=CHIP).dtype
    expected = torch.float64, torch.float64
    assert expected == found, f"yours {found}: no dtype means the default dtype, now float64"
    count(unloaded, "memory", 480 + 10 + 32, "the fourth tensor is gone already")


@pytest.mark.step(2, "copies")
@own_process
def test_a_tensor_goes_there_and_back(unloaded: Extension) -> None:
    """Values, dtype and shape survive."""
    for x in (
        torch.arange(6.0).view(2, 3),
        torch.tensor(7),
        torch.tensor([True, False]),
        torch.tensor([float("nan"), float("inf"), -0.0], dtype=torch.float16),
    ):
        there = x.to(CHIP)
        assert there.device.type == CHIP, f"yours is on {there.device}, expected {CHIP}"
        same(there, x, "there and back")


@pytest.mark.step(2, "copies")
@own_process
def test_a_tensor_without_elements_takes_no_memory(unloaded: Extension) -> None:
    """A tensor without elements is still on the chip, and copies nothing."""
    x = torch.empty(0, 3, device=CHIP)
    y = torch.ones(2, 0).to(CHIP)

    found = x.device, y.device
    assert found == (torch.device(CHIP, 0),) * 2, f"yours are on {found}"
    count(unloaded, "memory", 0, "no bytes, no block of memory")
    address = x.untyped_storage().data_ptr()
    assert address == 0, f"your allocator asked the chip for a block of zero bytes, at {address:#x}"
    same(x, torch.empty(0, 3), "an empty tensor, brought back")
    same(y.clone(), torch.empty(2, 0), "the clone of an empty tensor, brought back")


@pytest.mark.step(2, "copies")
@own_process
def test_going_where_it_is_copies_nothing(unloaded: Extension) -> None:
    """A device without an index is the current one, which the guard returns."""
    x = torch.ones(3).to(CHIP)

    assert x.to(CHIP) is x, "getDevice() must return the device that tensors are on"
    count(unloaded, "memory", 12, "one tensor of three floats")


@pytest.mark.step(2, "copies")
@own_process
def test_a_copy_converts_and_broadcasts(unloaded: Extension) -> None:
    """A copy goes in all three directions: to the chip, from it, and within it."""
    x = torch.tensor([[1.7, -2.2]])
    wide = torch.zeros(3, 2, dtype=torch.int64).to(CHIP)
    wide.copy_(x)
    same(wide, torch.tensor([[1, -2]] * 3), "floats copied to int64, one row to three")
    as_wide = torch.zeros(1, 2, dtype=torch.int32).to(CHIP)
    as_wide.copy_(x)
    same(as_wide, torch.tensor([[1, -2]], dtype=torch.int32), "floats copied to int32")
    back = torch.zeros(2, 3, 2)
    back.copy_(wide)
    same(back, torch.tensor([[[1.0, -2.0]] * 3] * 2), "int64 copied to floats, and broadcast")
    doubles = torch.zeros(4, 3, 2, dtype=torch.float64).to(CHIP)
    doubles.copy_(wide)
    same(doubles, torch.tensor([[[1.0, -2.0]] * 3] * 4).double(), "on the chip, to float64")

    same(wide, torch.tensor([[1, -2]] * 3), "the source of a copy, afterwards")


@pytest.mark.step(3, "views")
@own_process
def test_any_strides_are_copied(unloaded: Extension) -> None:
    """Both sides may be transposed, have steps or an offset, or be expanded."""
    x = torch.arange(24.0).view(4, 6)
    there = x.to(CHIP)
    for view in (
        lambda t: t.t(),
        lambda t: t[1:3, ::2],
        lambda t: t[:, 5],
        lambda t: t[2].expand(3, 6),
        lambda t: t.view(2, 2, 6).permute(2, 0, 1)[1:],
        lambda t: t.reshape(3, 8).t().reshape(4, 6),
    ):
        strides = f"strides {view(x).stride()}, offset {view(x).storage_offset()}"
        same(view(there), view(x), f"from the chip, {strides}")
        same(view(x).to(CHIP), view(x), f"to the chip, {strides}")
        same(view(there).contiguous(), view(x), f"on the chip, {strides}")


@pytest.mark.step(3, "views")
@own_process
def test_a_copy_leaves_its_neighbours_alone(unloaded: Extension) -> None:
    """A copy must not write between the elements of a strided destination."""
    x = torch.arange(12.0).view(3, 4)
    there = x.to(CHIP)
    for tensor in (x, there):
        tensor[:, 1].copy_(torch.tensor([-1.0, -2.0, -3.0]))
        tensor.t()[2:, :2].copy_(torch.tensor([[-4.0, -5.0], [-6.0, -7.0]]))

    same(there, x, "after copies into a column and a block of it")


@pytest.mark.step(3, "views")
@own_process
def test_a_view_is_a_view(unloaded: Extension) -> None:
    """A view shares the chip's memory and keeps it alive: a write to it reaches its base."""
    there = torch.zeros(2, 6).to(CHIP)
    bytes_before = unloaded.op("memory")()
    there.view(3, 4)[1].copy_(torch.ones(4))
    there.t().reshape(6, 2, 1)[0].copy_(torch.full((2, 1), 2.0))
    count(unloaded, "memory", bytes_before, "a view has no memory of its own")

    expected = torch.tensor([[2.0, 0, 0, 0, 1, 1], [2.0, 1, 0, 0, 0, 0]])
    same(there, expected, "the base, after a view of it was written to")
    count(unloaded, "fallen", {}, "views have kernels of their own")
    view = there[1:]
    del there
    count(unloaded, "memory", bytes_before, "a view of it is alive")
    del view
    count(unloaded, "memory", 0, "the last view is dead")


@pytest.mark.step(3, "views")
@own_process
def test_a_copy_returns_its_destination(unloaded: Extension) -> None:
    """A copy refuses sizes that do not fit, as on the CPU."""
    there = torch.zeros(3).to(CHIP)
    here = torch.zeros(3)

    yours = torch.ops.aten._copy_from(torch.ones(3), there)  # noqa: SLF001 - the kernel itself
    assert yours is there, "_copy_from must return dst, here the one on the chip"
    same(there, torch.ones(3), "_copy_from to the chip")
    yours = torch.ops.aten._copy_from(there, here)  # noqa: SLF001
    assert yours is here, "_copy_from must return dst, here the one on the CPU"
    same(here, torch.ones(3), "_copy_from to the CPU")
    with pytest.raises(RuntimeError, match="must match the size"):
        there.copy_(torch.ones(2))
    same(there, torch.ones(3), "after a copy that was refused")
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        there[:1].expand(3).copy_(torch.zeros(3))


@pytest.mark.step(4, "all the rest")
@own_process
def test_other_operators_fall_back(unloaded: Extension) -> None:
    """The right answer is on the chip; each operator is counted under its name."""
    x = torch.arange(6.0).view(2, 3)
    there = x.to(CHIP)
    product = torch.mm(there, there.t())
    total = torch.cat([there, there]).sum()
    module = torch.nn.Linear(3, 2)
    expected = module(x)

    assert product.device.type == CHIP, f"yours is on {product.device}, expected {CHIP}"
    same(product, x @ x.t(), "a matrix product")
    assert total.item() == 30.0, f"yours {total.item()}, expected 30.0"
    says = "a Linear layer, yours and the processor's\n".__add__
    torch.testing.assert_close(module.to(CHIP)(there).cpu(), expected, msg=says)
    fallen = unloaded.op("fallen")()
    found = fallen.get("aten::mm.out"), fallen.get("aten::cat.out")
    assert found == (1, 1), f"expected aten::mm.out and aten::cat.out once each, yours {fallen}"
    torch.mm(there, there.t())
    fallen = unloaded.op("fallen")()
    assert fallen["aten::mm.out"] == 2, f"expected aten::mm.out twice by now, yours {fallen}"


@pytest.mark.step(4, "all the rest")
@own_process
def test_what_falls_back_can_mutate(unloaded: Extension) -> None:
    """In-place and out= results are copied back into the chip's memory, views included."""
    x = torch.arange(6.0).view(2, 3)
    there = x.to(CHIP)
    out = torch.empty(2, 3).to(CHIP)
    for tensor in (x, there):
        tensor.mul_(2)
        tensor.t()[1].add_(100)

    same(there, x, "after operators in place, on it and on a view of it")
    assert torch.sub(there, 1, out=out) is out, "an operator with out= must return out"
    same(out, x - 1, "what an operator has written to out=")


@pytest.mark.step(4, "all the rest")
@own_process
def test_a_view_does_not_fall_back(unloaded: Extension) -> None:
    """Without a kernel, a view would silently be a copy, so it is refused."""
    with pytest.raises(RuntimeError, match="appears to be a view operator"):
        torch.zeros(6).to(CHIP).unfold(0, 2, 1)

    count(unloaded, "fallen", {"aten::unfold": 1}, "it is counted first, then refused")


@pytest.mark.step(5, "relu")
@own_process
def test_relu_runs_on_the_chip(unloaded: Extension) -> None:
    """There is one launch of the chip's kernel, and nothing falls back to the CPU."""
    x = torch.tensor([[1.5, -2.0, 0.0], [float("nan"), float("-inf"), 4.0]])
    there = x.to(CHIP)
    y = torch.relu(there)

    assert y.device.type == CHIP, f"yours is on {y.device}, expected {CHIP}"
    count(unloaded, "launches", 1, "relu of float32 runs chip::relu")
    count(unloaded, "fallen", {}, "and nothing falls back")
    same(y, torch.relu(x), "relu")
    same(there, x, "the argument of relu, afterwards (relu is not relu_)")


@pytest.mark.step(5, "relu")
@own_process
def test_relu_takes_any_strides(unloaded: Extension) -> None:
    """The kernel needs contiguous floats, so make a contiguous tensor; do not change x."""
    x = torch.arange(-6.0, 6.0).view(3, 4)
    there = x.to(CHIP)
    for view in (lambda t: t.t(), lambda t: t[1:, ::2], lambda t: t[1].expand(2, 4)):
        same(torch.relu(view(there)), torch.relu(view(x)), f"relu, strides {view(x).stride()}")

    same(there, x, "the argument of relu, afterwards")
    count(unloaded, "launches", 3, "three calls, three launches")
    same(torch.relu(torch.empty(0, 2, device=CHIP)), torch.empty(0, 2), "relu of no elements")
    count(unloaded, "launches", 3, "there is nothing to launch for an empty tensor")


@pytest.mark.step(5, "relu")
@own_process
def test_relu_of_other_dtypes_falls_back(unloaded: Extension) -> None:
    """The chip knows only float32; reading other bytes as floats would give wrong answers."""
    for dtype in (torch.float64, torch.int32, torch.bfloat16):
        x = torch.tensor([-1, 2, -3], dtype=dtype)
        y = torch.relu(x.to(CHIP))
        assert y.device.type == CHIP, f"yours is on {y.device}, expected {CHIP}"
        same(y, torch.relu(x), f"relu of {dtype}")

    count(unloaded, "launches", 0, "chip::relu reads floats")
    count(unloaded, "fallen", {"aten::relu": 3}, "three dtypes go the way of step 4")


@pytest.mark.step(5, "relu")
@own_process
def test_nothing_leaks(unloaded: Extension) -> None:
    """A fallback allocates memory on the way, and frees it."""
    x = torch.arange(6.0).view(2, 3)
    there = x.to(CHIP)
    total = torch.relu(there.t() @ there - 10).sum().item()
    expected = torch.relu(x.t() @ x - 10).sum().item()
    assert expected == total, f"yours {total}, expected {expected}"
    del there

    count(unloaded, "memory", 0, "all tensors are dead")
