"""Tests of k16_stub: which kernel a stub finds, by the name that each kernel records."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from plugins.kit import unchanged


if TYPE_CHECKING:
    from plugins.kit import Extension


pytestmark = pytest.mark.backend("cxx")

X = torch.tensor([1.0, -2.0])


def run(extension: Extension, name: str, *arguments: object) -> tuple[list[float], list[str]]:
    """Return the result of an operator, and the kernels that ran."""
    op: Any = extension.op(name)
    extension.op("ran")()
    with unchanged(x=X):
        return op(*arguments).tolist(), extension.op("ran")()


def test_the_stub_finds_a_kernel(extension: Extension) -> None:
    """The stub of shift has a kernel for this processor; the four kernels of scale are not used."""
    values, ran = run(extension, "shift", X, 3.0)

    assert values == [4.0, 1.0], f"yours {values}, expected [4.0, 1.0]: shift adds 3 to 1 and -2"
    assert ran == ["shift_default"], (
        f"your stub ran {ran}, expected shift_default: the processor has AVX2, shift has kernels"
        " for DEFAULT and AVX512. Go down from the level of the processor to one that has a kernel"
    )


def test_the_highest_level_of_the_processor_wins(extension: Extension) -> None:
    """The processor has AVX2; scale has a kernel for each level."""
    values, ran = run(extension, "scale", X, 3.0)

    assert values == [3.0, -6.0], f"yours {values}, expected [3.0, -6.0]: 1 and -2 times 3"
    assert ran == ["scale_avx2"], (
        f"your stub ran {ran}, expected scale_avx2: AVX512 would be an illegal instruction,"
        " and DEFAULT is slow"
    )


def test_the_processor_is_asked_once_for_each_stub(extension: Extension) -> None:
    """Two stubs choose two kernels; later calls reuse the choice."""
    for _ in range(3):
        run(extension, "scale", X, 3.0)
        run(extension, "shift", X, 3.0)
    asked = extension.op("asked")()

    assert asked == 2, (
        f"your stubs asked the processor {asked} times in all calls of two stubs, expected 2: keep"
        " the kernel that you found in `chosen`"
    )


def test_another_device_has_its_own_kernel(extension: Extension) -> None:
    """The pointer is set because the object was constructed when the library was loaded."""
    values, ran = run(extension, "scale_on", torch.device("cuda"), X, 3.0)

    assert values == [3.0, -6.0], f"yours {values}, expected [3.0, -6.0]"
    assert ran == ["scale_cuda"], f"your stub ran {ran}, expected scale_cuda for kCUDA"
    _, ran = run(extension, "scale", X, 3.0)
    assert ran == ["scale_avx2"], f"afterwards on the CPU your stub ran {ran}, expected scale_avx2"


def test_other_devices_do_not_ask_the_processor(extension: Extension) -> None:
    """Only a CPU has levels."""
    run(extension, "scale", X, 3.0)
    run(extension, "shift", X, 3.0)
    before = extension.op("asked")()
    run(extension, "scale_on", torch.device("cuda"), X, 3.0)

    more = extension.op("asked")() - before
    assert more == 0, f"your stub asked the processor {more} times for a kernel for kCUDA"
    _, asked = extension.op("scale_there")(0, torch.device("cuda"), X, 3.0)
    assert asked == 0, (
        "nothing has run on the CPU yet, but your stub calls ask_processor for a kernel for kCUDA"
    )


@pytest.mark.parametrize(("level", "name"), list(enumerate(["DEFAULT", "AVX2", "AVX512"])))
def test_each_processor_has_its_kernel(extension: Extension, level: int, name: str) -> None:
    """On its first call the stub of scale finds the kernel for the processor."""
    extension.op("ran")()
    _, asked = extension.op("scale_there")(level, torch.device("cpu"), X, 3.0)
    ran, expected = extension.op("ran")(), f"scale_{name.lower()}"

    assert [expected] == ran, (
        f"on a processor with {name} your stub ran {ran}, expected {expected}: is it registered"
        " at its level, and do you choose by the level that ask_processor() returns?"
    )
    assert asked == 1, f"your stub asked the processor {asked} times on the first call, expected 1"


@pytest.mark.parametrize(
    ("name", "place"), [("shift", "cuda"), ("scale", "xpu"), ("scale", "meta")]
)
def test_a_device_without_a_kernel_is_refused(extension: Extension, name: str, place: str) -> None:
    """A library that is not loaded has not filled in its pointer."""
    op = extension.op(f"{name}_on")
    with pytest.raises(RuntimeError, match=f"stub: no kernel for {place}"):
        op(torch.device(place), X, 3.0)


def test_the_dispatcher_has_a_row_for_cuda(extension: Extension) -> None:
    """The table has a row even without CUDA: a key is a number, and a kernel is a pointer."""
    extension.op("scale")

    found = torch._C._dispatch_has_kernel_for_dispatch_key("lecture04_k16::scale", "CUDA")  # noqa: SLF001 - asks the dispatcher
    assert found, (
        "scale has no kernel for the key CUDA in the dispatcher's table: see the "
        "block for CPU at the end of the file, and torch/include/torch/library.h"
    )
    extension.op("ran")()
    cuda = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)  # noqa: SLF001 - as above
    extension.op("scale").default.redispatch(cuda, X, 3.0)
    ran = extension.op("ran")()
    assert ran == ["scale_avx2"], (
        f"the kernel for the key CUDA ran {ran} for a tensor on the CPU, expected scale_avx2: it is"
        " the host function for all devices, and the stub looks at the tensor"
    )
