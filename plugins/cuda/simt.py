"""CUDA katas without a GPU: a fault of a kernel on the CPU becomes the message of the test.

``plugins.native.plugin`` builds a kata's ``.cu`` file as `plugins.cuda.language` says, and
``csrc/simt.cpp`` runs it. The operator around it, a ``.cpp`` file, gets the path of
the kernels from `bind_cpu_kernels`, and raises their faults as a ``RuntimeError`` that contains
`MARK`.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.course.session import course_root
from plugins.cuda.launches import find_addr2line
from plugins.cuda.launches import read_launches
from plugins.native.extension import Extension


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Iterator
    from collections.abc import Mapping
    from types import TracebackType

    from plugins.course.model import Kata
    from plugins.cuda.launches import Launch


MARK = "CUDA kernel: "
ORDERS = ("forwards", "backwards", "shuffled")
PLACE = re.compile(r"^  (?P<file>\S+\.cuh?):(?P<line>\d+)  .*$", re.MULTILINE)


class KernelFault(AssertionError):  # noqa: N818 - a fault is what a GPU calls it
    """A fault of a kernel: what it did wrong, and where."""


@dataclass(frozen=True)
class CudaExtension(Extension):
    """The operator around a kata's CUDA source, and the library of its kernels for the CPU.

    Attributes
    ----------
    kernels
        The library of the kernels; the same as `path` where no operator is around them.
    """

    kernels: Path = field(default=Path(), repr=False)

    def launches(self) -> list[Launch]:
        """Return the launches of the operator's last call on the CPU, with their counts."""
        __tracebackhide__ = True
        self.check()
        return read_launches(self.kernels)

    @contextmanager
    def simulated(
        self,
        *,
        stream: int = 0,
        processors: int = 8,
        most_threads: int = 1024,
        order: str = "",
        refuse: int = 0,
        grid: int = 0,
        block: int = 0,
        strict: bool | None = None,
    ) -> Iterator[None]:
        """Run the kernels on the CPU as on another device, or for another caller, in a ``with``.

        Parameters
        ----------
        stream
            The caller's current stream, of which the operator is called; 0 is the default one.
            A launch, copy or allocation on another stream is a fault.
        processors, most_threads
            How many multiprocessors the device has, and how many threads a block may have.
        order
            In which order blocks, warps and lanes run: "forwards", "backwards" or "shuffled";
            without it one after the other, call by call.
        refuse
            The number of the launch in each call, from 1, that fails. An operator whose host code
            returns success all the same is a fault; one that reports it raises a RuntimeError
            with "launch refused".
        grid, block
            So many blocks and threads along x, instead of what a launch says.
        strict
            Whether every thread of a block must come to each ``__syncthreads()``, and no mask may
            name a lane that has returned. With False both wait for the threads that are left, as a
            GPU does since Volta. None is the course's habit: barriers are strict, masks are not.
        """
        self.check()
        number = ORDERS.index(order) if order else -1
        library = ctypes.CDLL(str(self.kernels))
        wanted = processors, most_threads, number, refuse, grid, block
        library.kata_simt_set(ctypes.c_uint64(stream), *wanted)
        library.kata_simt_strict(-1 if strict is None else 3 * strict)
        try:
            yield
        finally:
            library.kata_simt_strict(-1)
            library.kata_simt_set(ctypes.c_uint64(0), 8, 1024, -1, 0, 0, 0)

    @contextmanager
    def refused(self, launch: int = 1) -> Iterator[None]:
        """Let the nth launch of a call fail, in a ``with``, and check that the operator says so."""
        __tracebackhide__ = True
        with self.simulated(refuse=launch):
            try:
                yield
            except RuntimeError as error:
                # Not one that was not reported, whose message has the same words further on.
                if f"{MARK}launch refused" not in str(error):
                    raise
                return
        pytest.fail(f"launch number {launch} was to fail, but the call makes fewer", pytrace=False)


def pytest_kata_languages() -> list[str]:
    """Declare CUDA C++."""
    return ["plugins.cuda.language:CUDA"]


def pytest_kata_extension(
    extension: Extension,
    libraries: Mapping[str, Path],
    kata: Kata,
    config: pytest.Config,
    loaded: bool,  # noqa: FBT001 - pluggy passes no keyword-only arguments
) -> CudaExtension | None:
    """Add the kernels to the value of the fixture, and give the operator their path."""
    if not kata.cuda:
        return None
    facts = extension.path, extension.namespace, extension.source, extension.problem
    found = CudaExtension(*facts, next(iter(libraries.values()), Path()))
    if loaded and not found.problem and found.kernels != found.path:
        bind_cpu_kernels(found, config)
    return found


def bind_cpu_kernels(extension: CudaExtension, config: pytest.Config) -> None:
    """Give the operator in `extension` the path of its kernels, which run by the course's habit."""
    ctypes.CDLL(str(extension.kernels)).kata_simt_habit(1)
    library = ctypes.CDLL(str(extension.path))
    seed = ctypes.c_uint64(config.getoption("seed") % 3)
    paths = str(extension.kernels).encode(), find_addr2line().encode()
    library.kata_bind(b"cpu", *paths, seed)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Turn the operator's error into a failed assertion that shows the kernel's lines."""
    try:
        return (yield)
    except RuntimeError as error:
        text = str(error)
        if MARK not in text:
            raise
        fault = KernelFault(
            add_source_lines(text.partition(MARK)[2], course_root(pyfuncitem.config))
        )
        # hypothesis adds the example that failed.
        for note in getattr(error, "__notes__", ()):
            fault.add_note(note)
        drop_inner_frames(error.__traceback__, pyfuncitem.path.parent)
        raise fault.with_traceback(error.__traceback__) from None


def drop_inner_frames(traceback: TracebackType | None, folder: Path) -> None:
    """Remove the frames below the last one in `folder`: PyTorch's way to the operator."""
    last = None
    while traceback:
        if Path(traceback.tb_frame.f_code.co_filename).is_relative_to(folder):
            last = traceback
        traceback = traceback.tb_next
    if last:
        last.tb_next = None


def add_source_lines(message: str, root: Path) -> str:
    """Add the source line below each place that `message` names."""

    def with_line(found: re.Match[str]) -> str:
        file = root / found["file"]
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        number = int(found["line"])
        if not 1 <= number <= len(lines):
            return found[0]
        return f"{found[0]}\n      {lines[number - 1].strip()}"

    return PLACE.sub(with_line, message)
