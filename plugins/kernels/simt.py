"""CUDA katas without a GPU: what a kernel does wrong on the CPU becomes the message of the test.

A kata's ``.cu`` file is built by ``plugins.native`` in the tier ``simt`` and run by
``plugins/csrc/simt.cpp``. The operator around it, a ``.cpp`` file, finds the kernels where
`bind` tells it, and raises what they did wrong as a ``RuntimeError`` that begins with `MARK`.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.launches import addr2line


if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

    from plugins.extension import Extension


MARK = "CUDA kernel: "
PLACE = re.compile(r"^  (?P<file>\S+\.cuh?):(?P<line>\d+)  .*$", re.MULTILINE)


class KernelFault(AssertionError):  # noqa: N818 - a fault is what a GPU calls it
    """What a kernel did wrong, and where."""


def bind(extension: Extension, config: pytest.Config) -> None:
    """Tell the operator in `extension` where its kernels for the CPU are."""
    library = ctypes.CDLL(str(extension.path))
    seed = ctypes.c_uint64(config.getoption("seed") % 3)
    paths = str(extension.kernels).encode(), addr2line().encode()
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
        fault = KernelFault(with_sources(text.partition(MARK)[2], pyfuncitem.config.rootpath))
        # What hypothesis adds: the example that failed.
        for note in getattr(error, "__notes__", ()):
            fault.add_note(note)
        cut(error.__traceback__, pyfuncitem.path.parent)
        raise fault.with_traceback(error.__traceback__) from None


def cut(traceback: TracebackType | None, folder: Path) -> None:
    """Take away the frames below the last that is in `folder`: how PyTorch calls an operator."""
    last = None
    while traceback:
        if Path(traceback.tb_frame.f_code.co_filename).is_relative_to(folder):
            last = traceback
        traceback = traceback.tb_next
    if last:
        last.tb_next = None


def with_sources(message: str, root: Path) -> str:
    """Return `message` with the source line below each place that it names."""

    def with_line(found: re.Match[str]) -> str:
        file = root / found["file"]
        lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
        number = int(found["line"])
        if not 1 <= number <= len(lines):
            return found[0]
        return f"{found[0]}\n      {lines[number - 1].strip()}"

    return PLACE.sub(with_line, message)
