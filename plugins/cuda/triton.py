"""Katas in Triton: interpreted on the CPU, or compiled in a session for a GPU.

With ``TRITON_INTERPRET=1`` Triton runs a kernel as Python, on NumPy arrays, one program after the
other: no GPU is needed. It reads the variable when it is imported and when a kernel is decorated,
and ``torch._dynamo`` imports it too, so the variable is set before any test module is imported. A
value that the learner has exported stays.
"""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pytest

from plugins import HERE
from plugins.machine.absent import require
from plugins.machine.backends import backends_of
from plugins.machine.builtin import CUDA_DEVICE
from plugins.machine.devices import device_option_key
from plugins.machine.devices import devices_of
from plugins.tools.capability import Capability
from plugins.tools.terminal import install_group


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Iterator


VARIABLE = "TRITON_INTERPRET"
# The values that Triton takes for true.
TRUE = ("1", "true", "yes", "on", "y")
# Why a test cannot run in a session of the other mode.
COMPILED = "kernels are compiled in this session, for a GPU; without --device cuda and without "
COMPILED += f"{VARIABLE} in the environment they are interpreted, on the CPU"
INTERPRETED = "kernels are interpreted in this session, on the CPU; pytest --device cuda, without "
INTERPRETED += f"{VARIABLE} in the environment, compiles them"
# Their frames are left out of tracebacks: how a kernel is interpreted is no lesson.
PACKAGES = "site-packages"
LIBRARIES = (("triton",), ("numpy",))


def no_triton() -> str | None:
    """Return why there is no Triton."""
    if find_spec("triton"):
        return None
    return (
        f"Triton is not installed; {install_group('triton')} "
        "(Linux; 200 MB to download, 700 MB on disk; CUDA builds of PyTorch bring it along)"
    )


def pytest_kata_backends() -> list[Capability]:
    """Declare the backend."""
    return [Capability("triton", no_triton)]


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the interpreter, unless this session is for a GPU or the variable is set."""
    if VARIABLE in os.environ or CUDA_DEVICE in config.stash[device_option_key]:
        return
    # In the environment, which the workers of xdist inherit.
    os.environ[VARIABLE] = "1"
    config.add_cleanup(partial(os.environ.__delitem__, VARIABLE))


def interpreting() -> bool:
    """Whether kernels are interpreted in this session."""
    return os.environ.get(VARIABLE, "").lower() in TRUE


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the other mode's device, before its fixtures are set up."""
    if not needs_triton(item):
        return
    device, reason = (CUDA_DEVICE, INTERPRETED) if interpreting() else ("cpu", COMPILED)
    names = [each.name for each in devices_of(item)]
    require(item, [Capability("triton", lambda: reason)] if device in names else [])


def needs_triton(item: pytest.Item) -> bool:
    """Whether the test is about kernels in Triton."""
    return any(backend.name == "triton" for backend in backends_of(item))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Show the cause of an InterpreterError, and the learner's lines without Triton's."""
    try:
        return (yield)
    except Exception as error:
        if not needs_triton(pyfuncitem):
            raise
        cause, frames = unwrap_error(error)
        if cause is error:
            raise error.with_traceback(chain_frames(frames))  # noqa: B904 - keeps its own cause
        # hypothesis adds the example that failed.
        for note in getattr(error, "__notes__", ()):
            cause.add_note(note)
        raise cause.with_traceback(chain_frames(frames)) from None


def unwrap_error(error: BaseException) -> tuple[BaseException, list[TracebackType]]:
    """Return the cause of an ``InterpreterError``, and all frames except the libraries'."""
    frames = list(iterate_frames(error.__traceback__))
    while type(error).__name__ == "InterpreterError" and error.__cause__:
        error = error.__cause__
        frames += iterate_frames(error.__traceback__)
    return error, [frame for frame in frames if not belongs_to_library(frame)]


def iterate_frames(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """Yield a traceback's entries, the outermost first."""
    while traceback:
        yield traceback
        traceback = traceback.tb_next


def belongs_to_library(frame: TracebackType) -> bool:
    """Whether the frame runs code of the plugins or the libraries, and none of an answer."""
    file = Path(frame.tb_frame.f_code.co_filename)
    installed = file.parts[file.parts.index(PACKAGES) + 1 :] if PACKAGES in file.parts else ()
    return file.is_relative_to(HERE) or installed[:1] in LIBRARIES


def chain_frames(frames: list[TracebackType]) -> TracebackType | None:
    """Return a traceback with these entries."""
    chain: TracebackType | None = None
    for frame in reversed(frames):
        chain = TracebackType(chain, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return chain
