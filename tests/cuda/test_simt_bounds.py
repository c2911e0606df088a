"""An access outside all buffers names the one that it meant, and says so where nothing tells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.simulator import Simulator
from tests.support.simulator import simulator


pytestmark = pytest.mark.torch
# What the message says of the access, by the kernels of `bounds.cu`.
NAMED = {
    "first_after": "reads a[70]",
    "first_before": "reads b[-6]",
    "first_store": "writes y[66]",
    "first_of_a_row": "reads a[70]",
    "first_pair": "reads a[70]",
    "first_atomic": "changes (atomically) y[66]",
    "first_struct": "reads a[70]",
    "first_member": "reads a[70]",
    "first_variable": "writes cells[8]",
    "some_after": "reads a[",
    "some_before": "reads b[-",
    "only_one": "reads a[70]",
    "some_rows": "reads a[",
    "some_vectors": "reads a[",
    "some_stores": "writes y[",
    "in_a_loop": "reads a[64]",
    "by_a_pointer": "reads a[64]",
    "function_before": "reads b[-",
    "function_after": "reads a[",
    "shared_after": "reads s[24",
    "shared_before": "reads t[-200]",
}
UNKNOWN = {
    "made_outside": "Near b, if that is the buffer it meant: it would be b[-2], and b has 64",
    "given_before": "Near y, if that is the buffer it meant: it would be y[66], and y has 64",
    "given_to_a_call": "Near b, if that is the buffer it meant: it would be b[-6], and b has 64",
}


@pytest.fixture(scope="module")
def bounds(compiler: str) -> Simulator:
    """Return the kernels."""
    return simulator("bounds.cu", compiler)


def problem(bounds: Simulator, name: str, seed: int = 0) -> str:
    """Run a kernel on buffers with little room between them; return what is said of it."""
    memory = np.zeros(1024 + 64, np.float32)
    aligned: np.ndarray[Any, Any] = memory[(-memory.ctypes.data // 4) % 64 :]
    a, b, y = aligned[:64], aligned[72:136], aligned[512:576]
    return bounds.run(name, 64, seed, a=("in", a), b=("in", b), y=("inout", y))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", NAMED)
def test_the_buffer_is_the_one_that_was_meant(bounds: Simulator, name: str, seed: int) -> None:
    """Not the nearest one: of the pointer, of this line before, or of other threads there."""
    found = problem(bounds, name, seed)

    assert found.startswith(f"out of bounds in kernel {name}, block (0,0,0)\n")
    assert NAMED[name] in found
    meant = NAMED[name].partition("[")[0].split()[-1]
    assert f"\n{meant} has {8 if meant in ('cells', 's', 't') else 64} elements" in found


@pytest.mark.parametrize("name", UNKNOWN)
def test_where_nothing_tells_the_message_says_so(bounds: Simulator, name: str) -> None:
    """It names the nearest buffer as a guess."""
    found = problem(bounds, name)

    assert " bytes that belong to no buffer\n" in found
    assert UNKNOWN[name] in found


def test_far_from_all_buffers_none_is_named(bounds: Simulator) -> None:
    """No distance tells anything then."""
    found = problem(bounds, "from_nowhere")

    assert "reads 4 bytes\nNo kernel was given that memory." in found
