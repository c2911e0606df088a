"""What a test may ask of the simulator: stream, device, order, grid, a launch that fails."""

from __future__ import annotations

import numpy as np
import pytest

from plugins.native.toolchain import find_compiler
from tests.support.simulator import Simulator
from tests.support.simulator import floats
from tests.support.simulator import simulator


pytestmark = pytest.mark.torch
N = 200


@pytest.fixture(scope="module")
def right() -> Simulator:
    """Return the kernels that are right."""
    found = find_compiler()
    assert found, "no C++ compiler"
    return simulator("right.cu", found.path)


def run(right: Simulator, function: str, mode: str = "out") -> str:
    """Run a function on N floats; return the problem."""
    return right.run(function, N, x=("in", floats(N)), y=(mode, np.zeros(N, np.float32)))


def test_a_launch_is_recorded_with_stream_and_shared_memory(right: Simulator) -> None:
    """The stream that the operator hands on, the bytes of a block, and the variables' names."""
    with right.extension.simulated(stream=7, processors=3):
        assert "" == run(right, "filled")

    (launch,) = right.launches()
    assert ("filled", (3, 1, 1), 7) == (launch.kernel, launch.grid, launch.stream)
    assert (128, 128) == (launch.dynamic_bytes, launch.static_bytes)
    assert ("copy", "twice") == launch.variables


def test_afterwards_all_is_as_before(right: Simulator) -> None:
    """Also when the test fails within: the default stream, eight multiprocessors."""
    with pytest.raises(ZeroDivisionError), right.extension.simulated(stream=7, processors=3):
        _ = 1 / 0
    assert "" == run(right, "filled")

    (launch,) = right.launches()
    assert ((8, 1, 1), 0) == (launch.grid, launch.stream)


@pytest.mark.parametrize(
    ("function", "what"),
    [("axpy", "axpy<<<(3,1,1), (64,1,1)>>>"), ("tree_sum", "a cudaMemset")],
)
def test_another_stream_is_a_fault(right: Simulator, function: str, what: str) -> None:
    """A kernel, or a memset before it, on the default stream while the caller's is 7."""
    with right.extension.simulated(stream=7):
        problem = run(right, function, "inout")

    assert problem.startswith(f"another stream: {what} is on the default stream"), problem
    assert "the caller is on stream 7" in problem


def test_a_device_with_smaller_blocks_refuses_a_large_one(right: Simulator) -> None:
    """The limit is that of the device, not 1024."""
    with right.extension.simulated(most_threads=32):
        problem = run(right, "axpy", "inout")

    assert problem.startswith("launch refused: axpy<<<(3,1,1), (64,1,1)>>>")
    assert "64 threads; 32 are possible" in problem


def test_a_launch_gets_another_grid_and_other_blocks(right: Simulator) -> None:
    """A grid-stride loop is right in any grid; a kernel for one size is not."""
    with right.extension.simulated(grid=5, block=7):
        assert "" == run(right, "axpy", "inout")
    (launch,) = right.launches()
    assert ((5, 1, 1), (7, 1, 1)) == (launch.grid, launch.block)

    with right.extension.simulated(block=16):
        assert run(right, "warp_scan").startswith("output not written")


@pytest.mark.parametrize("order", ["forwards", "backwards", "shuffled"])
def test_the_order_of_threads_is_chosen(right: Simulator, order: str) -> None:
    """The seed of the call does not matter then."""
    with right.extension.simulated(order=order):
        assert "" == run(right, "axpy", "inout")


@pytest.mark.parametrize(
    ("function", "begins"),
    [
        ("axpy", "launch refused: axpy<<<(3,1,1), (64,1,1)>>>\nThe test asked for that"),
        ("asks_nothing", "not reported: the host code returned cudaSuccess"),
        ("leaves_its_error", "an error is left behind: the next call that asks for one finds it"),
        ("fails_elsewise", "status 1"),
    ],
)
def test_a_launch_that_fails_must_be_reported(right: Simulator, function: str, begins: str) -> None:
    """By the error that cudaGetLastError returns, and not by another one or by none."""
    with right.extension.simulated(refuse=1):
        assert run(right, function, "inout").startswith(begins)


def test_a_test_can_ask_for_the_report_of_a_failure(right: Simulator) -> None:
    """The error is expected; another one, or none, or one that was not reported, is not."""
    extension = right.extension
    with extension.refused():
        raise RuntimeError("CUDA kernel: launch refused: axpy")
    with pytest.raises(RuntimeError, match="not reported"), extension.refused():
        raise RuntimeError("CUDA kernel: not reported: ...\nlaunch refused: axpy")
    with pytest.raises(NotImplementedError), extension.refused():
        raise NotImplementedError
    with pytest.raises(pytest.fail.Exception, match="launch number 3"), extension.refused(3):
        pass


def test_the_second_launch_fails(right: Simulator) -> None:
    """The first has run; what host code does afterwards does not hide the error."""
    with right.extension.simulated(refuse=2):
        problem = right.run("magnitude", N, x=("in", floats(N)), y=("out", floats(N)))

    assert problem.startswith("launch refused: magnitude")
    assert 1 == len(right.launches())
