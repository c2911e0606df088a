"""Katas in Triton: interpreted on the CPU, or compiled where a GPU is asked for.

With ``TRITON_INTERPRET=1`` Triton runs a kernel as Python, on NumPy arrays, one program after the
other: no GPU is needed. It looks at the variable when it is imported and when a kernel is
decorated, and ``torch._dynamo`` imports it too, so the variable is set before any test module is
imported. What a learner has exported stays.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import pytest

from plugins.absent import require
from plugins.backends import backends_of
from plugins.capability import Capability
from plugins.devices import devices_of
from plugins.devices import wanted_key


if TYPE_CHECKING:
    from collections.abc import Generator
    from collections.abc import Iterator


VARIABLE = "TRITON_INTERPRET"
# What Triton takes for true.
TRUE = ("1", "true", "yes", "on", "y")
# Where a test cannot run in a session of the other mode.
COMPILED = "kernels are compiled in this session, for a GPU; without --device cuda and without "
COMPILED += f"{VARIABLE} in the environment they are interpreted, on the CPU"
INTERPRETED = "kernels are interpreted in this session, on the CPU; pytest --device cuda, without "
INTERPRETED += f"{VARIABLE} in the environment, compiles them"
# How a kernel is interpreted is no lesson.
PACKAGES = "site-packages"
LIBRARIES = (("triton",), ("numpy",))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose the interpreter, unless this session is for a GPU or somebody has chosen."""
    if VARIABLE in os.environ or "cuda" in config.stash[wanted_key]:
        return
    # The environment, so that the workers of xdist agree.
    os.environ[VARIABLE] = "1"
    config.add_cleanup(partial(os.environ.__delitem__, VARIABLE))


def interpreting() -> bool:
    """Whether kernels are interpreted in this session."""
    return os.environ.get(VARIABLE, "").lower() in TRUE


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test of the other mode's device, before its fixtures are set up."""
    if not needs_triton(item):
        return
    device, reason = ("cuda", INTERPRETED) if interpreting() else ("cpu", COMPILED)
    names = [each.name for each in devices_of(item)]
    require(item, [Capability("triton", lambda: reason)] if device in names else [])


def needs_triton(item: pytest.Item) -> bool:
    """Whether the test is about kernels in Triton."""
    return any(backend.name == "triton" for backend in backends_of(item))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Show an error of the interpreter as what it was, and the learner's lines without Triton's."""
    try:
        return (yield)
    except Exception as error:
        if not needs_triton(pyfuncitem):
            raise
        cause, frames = unwrapped(error)
        if cause is error:
            raise error.with_traceback(chained(frames))  # noqa: B904 - keeps what it came from
        # What hypothesis adds: the example that failed.
        for note in getattr(error, "__notes__", ()):
            cause.add_note(note)
        raise cause.with_traceback(chained(frames)) from None


def unwrapped(error: BaseException) -> tuple[BaseException, list[TracebackType]]:
    """Return what an ``InterpreterError`` was raised from, and all frames but the libraries'."""
    frames = list(frames_of(error.__traceback__))
    while type(error).__name__ == "InterpreterError" and error.__cause__:
        error = error.__cause__
        frames += frames_of(error.__traceback__)
    return error, [frame for frame in frames if not around(frame)]


def frames_of(traceback: TracebackType | None) -> Iterator[TracebackType]:
    """Yield a traceback's entries, the outermost first."""
    while traceback:
        yield traceback
        traceback = traceback.tb_next


def around(frame: TracebackType) -> bool:
    """Whether the code that runs there is of the plugins or the libraries, and no answer."""
    file = Path(frame.tb_frame.f_code.co_filename)
    installed = file.parts[file.parts.index(PACKAGES) + 1 :] if PACKAGES in file.parts else ()
    return file.parent == Path(__file__).parent or installed[:1] in LIBRARIES


def chained(frames: list[TracebackType]) -> TracebackType | None:
    """Return one traceback of these entries."""
    chain: TracebackType | None = None
    for frame in reversed(frames):
        chain = TracebackType(chain, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return chain
