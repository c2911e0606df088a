"""CUDA katas without a GPU: a fault of a kernel on the CPU becomes the message of the test.

``plugins.native.plugin`` builds a kata's ``.cu`` file in the tier ``simt``, and
``plugins/native/csrc/simt.cpp`` runs it. The operator around it, a ``.cpp`` file, gets the path of
the kernels from `bind_cpu_kernels`, and raises their faults as a ``RuntimeError`` that contains
`MARK`.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.course.session import course_root
from plugins.kernels.launches import find_addr2line
from plugins.kernels.launches import read_launches
from plugins.native.extension import Extension


if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from plugins.kernels.launches import Launch


MARK = "CUDA kernel: "
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


def pytest_kata_cuda_extension(
    extension: Extension,
    kernels: Path,
    config: pytest.Config,
    loaded: bool,  # noqa: FBT001 - pluggy passes no keyword-only arguments
) -> CudaExtension:
    """Add the kernels to the value of the fixture, and give the operator their path."""
    facts = extension.path, extension.namespace, extension.source, extension.problem
    found = CudaExtension(*facts, kernels)
    if loaded and not found.problem and kernels != found.path:
        bind_cpu_kernels(found, config)
    return found


def bind_cpu_kernels(extension: CudaExtension, config: pytest.Config) -> None:
    """Give the operator in `extension` the path of its kernels for the CPU."""
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
