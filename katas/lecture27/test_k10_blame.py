"""Tests of k10_blame: the programs run on a simulated device, and tracebacks give the lines."""

from __future__ import annotations

import math
import traceback
from types import SimpleNamespace
from typing import Any

import pytest

from katas.lecture27 import k10_blame as kata
from katas.lecture27.k10_blame import PROGRAMS
from plugins.kit import forbids


RULES = {
    "sleep": "the next line that talks to the device meets the failure, guilty or not",
    "queue": "a kernel fails when it has run, and not when it was launched",
    "side": "item waits for its own stream, and `shape` waits for no stream",
    "host": "shapes are compared on the host, before anything is launched",
    "caught": "a device that is broken stays so, and `shape` does not ask it",
    "blocking": "with this variable each launch waits for its own kernel",
}


class Device(dict[str, Any]):
    """The functions that a program uses, and their simulated clock."""

    def __init__(self) -> None:
        super().__init__(kernel=self.kernel, sleep=self.sleep, side="side")
        # Each program has its own variables.
        self["os"] = SimpleNamespace(environ={})
        self["synchronize"] = lambda: self.wait(*self.ends)
        self.now = 0
        self.ends: dict[str, int] = {}
        self.broken = math.inf

    def check(self) -> None:
        """Raise if a kernel has failed by now."""
        if self.broken <= self.now:
            raise RuntimeError("CUDA error: device-side assert triggered")

    def wait(self, *streams: str) -> None:
        """Wait for the work of these streams."""
        self.check()
        self.now = max(self.now, *(self.ends[stream] for stream in streams)) + 1
        self.check()

    def sleep(self, ms: int) -> None:
        """Let the host sleep."""
        self.now += ms

    def kernel(
        self, ms: int, *, fails: bool = False, shapes_match: bool = True, stream: str = "main"
    ) -> Any:
        """Launch a kernel, and return a handle for its result."""
        if not shapes_match:
            raise ValueError("shapes do not match")
        self.check()
        self.now += 1
        end = self.ends[stream] = max(self.now, self.ends.get(stream, 0)) + ms
        if fails:
            self.broken = min(self.broken, end)
        if self["os"].environ.get("CUDA_LAUNCH_BLOCKING") == "1":
            self.wait(stream)
        return Result(self, stream)


class Result:
    """A tensor on the device."""

    def __init__(self, device: Device, stream: str) -> None:
        self.device, self.stream = device, stream

    def item(self) -> None:
        """Wait for the value."""
        self.device.wait(self.stream)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape, which the host knows."""
        self.device.now += 1
        return ()


def line_of(program: str) -> int:
    """Run a program, and return the line in the traceback of the error that ends it."""
    code = compile(program.lstrip("\n"), "<program>", "exec")
    try:
        exec(code, Device())  # noqa: S102 - the programs are those of the exercise
    except (RuntimeError, ValueError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        return next(frame.lineno or 0 for frame in frames if frame.filename == "<program>")
    return 0


def predicted() -> dict[str, int]:
    """Return your rows, computed with neither torch nor this device available."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        rows, again = fresh.blamed(), fresh.blamed()
        assert rows == again, "`blamed` returns different rows when called again"
        return {str(name): int(line) for name, line in rows.items()}


@pytest.mark.given
def test_the_picture() -> None:
    """The program of the brief ends at item, in line 4."""
    program = "kernel(3, fails=True)\nkernel(1)\nb = kernel(1)\nb.item()"
    assert line_of(program) == 4, "expected line 4, as the picture shows"
    assert line_of("a = kernel(3)\na.item()") == 0, "expected no error where no kernel fails"


def test_every_program_is_there() -> None:
    """There is one row for each program; your code cannot run the device."""
    yours = set(predicted())
    assert yours == set(PROGRAMS), (
        f"your table has rows for {sorted(yours)}, expected {[*PROGRAMS]}"
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_line(name: str) -> None:
    """Predict the line that raises the error that ends the program."""
    yours = predicted()[name]
    right = yours == line_of(PROGRAMS[name])
    assert right, (
        f"{name}: your code blames line {yours}, but the device blames another. {RULES[name]}"
    )
