"""Tests of k21_backend: each in a fork of its own, which alone loads the library.

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
    """Run a test in a fork; what it raises there is raised here, as text."""

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
            pytest.fail(f"the process of this test ended with {name}: an address of the chip?")
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


@own_process
def test_an_empty_tensor_is_on_the_chip(unloaded: Extension) -> None:
    """Its memory is the chip's: 24 bytes for six floats."""
    memory = unloaded.op("memory")
    assert 0 == memory()
    x = torch.empty(2, 3, device=CHIP)

    assert torch.device(CHIP, 0) == x.device
    assert (2, 3) == x.shape
    assert (3, 1) == x.stride()
    assert torch.float32 == x.dtype
    assert 24 == memory()


@own_process
def test_memory_is_freed_with_its_tensor(unloaded: Extension) -> None:
    """The deleter of the DataPtr is the chip's; a view holds on to the memory."""
    memory = unloaded.op("memory")
    x = torch.empty(10, device=CHIP)
    y = torch.empty(4, device=CHIP, dtype=torch.float64)
    assert 72 == memory()
    view = x[2:]
    del x, y
    assert 40 == memory()
    del view

    assert 0 == memory()


@own_process
def test_options_of_empty_are_heeded(unloaded: Extension) -> None:
    """Dtype, default dtype, memory format and strides."""
    x = torch.empty(2, 3, 4, 5, device=CHIP, memory_format=torch.channels_last)
    y = torch.empty_strided((2, 3), (1, 4), device=CHIP, dtype=torch.int8)
    torch.set_default_dtype(torch.float64)
    z = torch.empty_strided((2,), (3,), device=CHIP)

    assert x.is_contiguous(memory_format=torch.channels_last)
    assert torch.int8 == y.dtype
    assert (1, 4) == y.stride()
    assert torch.float64 == z.dtype
    assert torch.float64 == torch.empty(1, device=CHIP).dtype
    assert 480 + 10 + 32 + 0 == unloaded.op("memory")(), "the last one is gone already"


@own_process
def test_a_tensor_without_elements_takes_no_memory(unloaded: Extension) -> None:
    """It is on the chip all the same, and copies nothing."""
    x = torch.empty(0, 3, device=CHIP)
    y = torch.ones(2, 0).to(CHIP)

    assert torch.device(CHIP, 0) == x.device
    assert torch.device(CHIP, 0) == y.device
    assert 0 == unloaded.op("memory")()
    assert (0, 3) == x.cpu().shape
    assert (2, 0) == y.clone().cpu().shape


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
        assert there.device.type == CHIP
        back = there.cpu()
        assert back.device.type == "cpu"
        torch.testing.assert_close(back, x, rtol=0, atol=0, equal_nan=True)


@own_process
def test_going_where_it_is_copies_nothing(unloaded: Extension) -> None:
    """The device without a number is the current one, and the guard says which that is."""
    x = torch.ones(3).to(CHIP)

    assert x.to(CHIP) is x, "getDevice() must be the device that tensors are on"
    assert 12 == unloaded.op("memory")()


@own_process
def test_any_strides_are_copied(unloaded: Extension) -> None:
    """From both sides: transposed, with steps, with an offset, expanded."""
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
        assert view(x).tolist() == view(there).cpu().tolist()
        assert view(x).tolist() == view(x).to(CHIP).cpu().tolist()
        assert view(x).tolist() == view(there).contiguous().cpu().tolist()


@own_process
def test_a_copy_leaves_its_neighbours_alone(unloaded: Extension) -> None:
    """What lies between the elements of a strided destination is not the copy's to write."""
    x = torch.arange(12.0).view(3, 4)
    there = x.to(CHIP)
    for tensor in (x, there):
        tensor[:, 1].copy_(torch.tensor([-1.0, -2.0, -3.0]))
        tensor.t()[2:, :2].copy_(torch.tensor([[-4.0, -5.0], [-6.0, -7.0]]))

    assert x.tolist() == there.cpu().tolist()


@own_process
def test_a_copy_converts_and_broadcasts(unloaded: Extension) -> None:
    """In all three directions: there, back, and on the chip."""
    x = torch.tensor([[1.7, -2.2]])
    wide = torch.zeros(3, 2, dtype=torch.int64).to(CHIP)
    wide.copy_(x)
    assert [[1, -2]] * 3 == wide.cpu().tolist()

    back = torch.zeros(2, 3, 2)
    back.copy_(wide)
    assert [[[1.0, -2.0]] * 3] * 2 == back.tolist()

    doubles = torch.zeros(3, 2, dtype=torch.float64).to(CHIP)
    doubles.copy_(wide[:1])
    assert [[1.0, -2.0]] * 3 == doubles.cpu().tolist()
    assert torch.float64 == doubles.dtype
    assert [[1, -2]] * 3 == wide.cpu().tolist(), "the source of a copy has changed"


@own_process
def test_a_copy_returns_its_destination(unloaded: Extension) -> None:
    """And refuses sizes that do not fit, as on the processor."""
    there = torch.zeros(3).to(CHIP)
    here = torch.zeros(3)

    assert torch.ops.aten._copy_from(torch.ones(3), there) is there  # noqa: SLF001
    assert [1.0] * 3 == there.cpu().tolist()
    assert torch.ops.aten._copy_from(there, here) is here  # noqa: SLF001
    assert [1.0] * 3 == here.tolist()
    with pytest.raises(RuntimeError, match="must match the size"):
        there.copy_(torch.ones(2))
    assert [1.0] * 3 == there.cpu().tolist()
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        there[:1].expand(3).copy_(torch.zeros(3))


@own_process
def test_relu_runs_on_the_chip(unloaded: Extension) -> None:
    """One launch of the chip's kernel, and nothing fell back to the processor."""
    x = torch.tensor([[1.5, -2.0, 0.0], [float("nan"), float("-inf"), 4.0]])
    there = x.to(CHIP)
    y = torch.relu(there)

    assert y.device.type == CHIP
    assert 1 == unloaded.op("launches")(), "relu of float32 has to run chip::relu"
    assert {} == unloaded.op("fallen")()
    torch.testing.assert_close(y.cpu(), torch.relu(x), rtol=0, atol=0, equal_nan=True)
    message = "relu is not relu_: its argument has changed"
    torch.testing.assert_close(there.cpu(), x, rtol=0, atol=0, equal_nan=True, msg=message)


@own_process
def test_relu_takes_any_strides(unloaded: Extension) -> None:
    """The kernel takes one float after another, so the tensor is made so; it is not changed."""
    x = torch.arange(-6.0, 6.0).view(3, 4)
    there = x.to(CHIP)
    for view in (lambda t: t.t(), lambda t: t[1:, ::2], lambda t: t[1].expand(2, 4)):
        assert torch.relu(view(x)).tolist() == torch.relu(view(there)).cpu().tolist()

    assert x.tolist() == there.cpu().tolist()
    assert 3 == unloaded.op("launches")()
    assert [0.0] == torch.relu(torch.tensor([-1.0]).to(CHIP)).cpu().tolist()
    assert 4 == unloaded.op("launches")()
    assert (0, 2) == torch.relu(torch.empty(0, 2, device=CHIP)).shape
    assert 4 == unloaded.op("launches")(), "there is nothing to launch for an empty tensor"


@own_process
def test_relu_of_other_dtypes_falls_back(unloaded: Extension) -> None:
    """The chip knows float32 only; to read other bytes as floats would be a wrong answer."""
    for dtype in (torch.float64, torch.int32, torch.bfloat16):
        y = torch.relu(torch.tensor([-1, 2, -3], dtype=dtype).to(CHIP))
        assert y.device.type == CHIP
        assert dtype == y.dtype
        assert [0, 2, 0] == y.cpu().tolist()

    assert 0 == unloaded.op("launches")()
    assert {"aten::relu": 3} == unloaded.op("fallen")()


@own_process
def test_other_operators_fall_back(unloaded: Extension) -> None:
    """With the right answer, on the chip; each is counted under its name."""
    x = torch.arange(6.0).view(2, 3)
    there = x.to(CHIP)
    product = torch.mm(there, there.t())
    total = torch.cat([there, there]).sum()
    module = torch.nn.Linear(3, 2)
    expected = module(x)

    assert product.device.type == CHIP
    assert (x @ x.t()).tolist() == product.cpu().tolist()
    assert 30.0 == total.item()
    torch.testing.assert_close(module.to(CHIP)(there).cpu(), expected)
    fallen = unloaded.op("fallen")()
    assert 1 == fallen["aten::mm.out"], f"the fallback counts what it is called for: {fallen}"
    assert 1 == fallen["aten::cat.out"]
    torch.mm(there, there.t())
    assert 2 == unloaded.op("fallen")()["aten::mm.out"]


@own_process
def test_what_falls_back_can_mutate(unloaded: Extension) -> None:
    """In-place and out= results are copied back into the chip's memory, views included."""
    x = torch.arange(6.0).view(2, 3)
    there = x.to(CHIP)
    out = torch.empty(2, 3).to(CHIP)
    for tensor in (x, there):
        tensor.mul_(2)
        tensor.t()[1].add_(100)

    assert x.tolist() == there.cpu().tolist()
    assert torch.sub(there, 1, out=out) is out
    assert (x - 1).tolist() == out.cpu().tolist()


@own_process
def test_a_view_is_a_view(unloaded: Extension) -> None:
    """It shares the chip's memory: writing to it writes to its base."""
    there = torch.zeros(2, 6).to(CHIP)
    bytes_before = unloaded.op("memory")()
    there.view(3, 4)[1].copy_(torch.ones(4))
    there.t().reshape(6, 2, 1)[0].copy_(torch.full((2, 1), 2.0))
    assert bytes_before == unloaded.op("memory")()

    assert [[2.0, 0, 0, 0, 1, 1], [2.0, 1, 0, 0, 0, 0]] == there.cpu().tolist()
    assert {} == unloaded.op("fallen")(), "views have kernels of their own"


@own_process
def test_a_view_does_not_fall_back(unloaded: Extension) -> None:
    """A view that no kernel makes would silently be a copy: it is refused."""
    with pytest.raises(RuntimeError, match="appears to be a view operator"):
        torch.zeros(6).to(CHIP).unfold(0, 2, 1)


@own_process
def test_nothing_leaks(unloaded: Extension) -> None:
    """What falls back takes memory on the way, and gives it back."""
    x = torch.arange(6.0).view(2, 3)
    there = x.to(CHIP)
    total = torch.relu(there.t() @ there - 10).sum().item()
    assert torch.relu(x.t() @ x - 10).sum().item() == total
    del there

    assert 0 == unloaded.op("memory")()
