"""Loads a library, in a forked child first: a bad schema in it would abort Python silently."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import re
import select
import signal
import time
import warnings
from typing import TYPE_CHECKING
from typing import NoReturn

from plugins.native.folder import VARIABLE
from plugins.tools import private
from plugins.tools.processes import dump_no_core


if TYPE_CHECKING:
    from pathlib import Path


SECONDS = 30.0
# The child's status when the dynamic loader refuses; a library may end it with another.
UNLOADABLE = 117
# What the loader's words mean, unless a limit of memory is the reason.
UNMAPPED = f"\nIs its folder mounted noexec? {VARIABLE}=/some/folder builds there instead."
# What libstdc++ and libc++ print about an uncaught exception.
WHAT = re.compile(r"(?:what\(\):\s*|uncaught exception of type [^:]+: )(.*)", re.DOTALL)
# The message of a c10::Error ends with the C++ stack, which is that of the loader.
STACK = re.compile(r"\n?Exception raised from .*", re.DOTALL)


def load_library(library: Path) -> str | None:
    """Load `library` into this process; return why it cannot be loaded, or None."""
    import torch  # noqa: PLC0415 - takes a second, in which the library is built

    if str(library) in torch.ops.loaded_libraries:
        return None
    if reason := probe_library(library):
        return reason
    torch.ops.load_library(library)
    return None


def write_faults(library: Path, file: int) -> None:
    """Let a fault in C++ code write its calls to `file`; `library` is one that is loaded."""
    ctypes.CDLL(str(library)).kata_write_faults(file)


def probe_library(library: Path, seconds: float = SECONDS) -> str | None:
    """Return why `library` cannot be loaded into this process, or None if it can.

    The child runs no code of torch except what the library's static initialisers call.
    """
    import torch  # noqa: F401, PLC0415 - the library finds torch's only if they are loaded

    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of a fork with threads, such as torch's; the child only loads and exits.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork() or _load_in_child(library, writer)
    os.close(writer)
    output, finished = _read_output(reader, seconds)
    if not finished:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if not finished:
        return f"loading it did not end within {seconds:g} s: a static initialiser loops"
    return explain_exit(os.waitstatus_to_exitcode(status), output)


def _load_in_child(library: Path, writer: int) -> NoReturn:
    faulthandler.disable()
    dump_no_core()
    os.dup2(writer, 2)
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        os.write(2, str(error).encode())
        os._exit(UNLOADABLE)
    os._exit(0)


def _read_output(reader: int, seconds: float) -> tuple[str, bool]:
    """Return the child's output, and whether it ended in time."""
    parts: list[bytes] = []
    until = time.monotonic() + seconds
    while select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts).decode(errors="replace"), True
        parts.append(part)
    return "", False


def explain_exit(code: int, output: str) -> str | None:
    """Return why a library cannot be loaded, from its child's exit code and output."""
    if code == 0:
        return None
    if missing := re.search(r"undefined symbol: (\w+)", output):
        return f"{private.demangle(missing[1])} is declared and used, but defined nowhere"
    if code == UNLOADABLE:
        return f"{output.strip()}{UNMAPPED if 'failed to map segment' in output else ''}"
    if code > 0:
        return f"loading it ended Python with status {code}: {output.strip()}"
    if what := WHAT.search(output):
        return STACK.sub("", what[1]).strip()
    return f"loading it died of {signal.Signals(-code).name}"
