"""Loads a library in a forked child first: a bad schema in it would abort Python without a word."""

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


if TYPE_CHECKING:
    from pathlib import Path


SECONDS = 30.0
# The child's status when the loader says no; a library may end it with another.
UNLOADABLE = 117
# What libstdc++ and libc++ print when nobody catches an exception.
WHAT = re.compile(r"(?:what\(\):\s*|uncaught exception of type [^:]+: )(.*)", re.DOTALL)
# c10::Error goes on with the C++ stack, which is that of the loader.
STACK = re.compile(r"\n?Exception raised from .*", re.DOTALL)


def load(library: Path) -> str | None:
    """Load the library into this process; return why it cannot be loaded, if it cannot."""
    import torch  # noqa: PLC0415 - takes a second, in which the library is built

    if str(library) in torch.ops.loaded_libraries:
        return None
    if reason := probe(library):
        return reason
    torch.ops.load_library(library)
    return None


def probe(library: Path, seconds: float = SECONDS) -> str | None:
    """Return None if `library` can be loaded into this process, else why not.

    The child runs nothing of torch but what the library's static initialisers call.
    """
    import torch  # noqa: F401, PLC0415 - the library finds torch's only if they are loaded

    reader, writer = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of threads, torch's among them; the child only loads and leaves.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork() or _load(library, writer)
    os.close(writer)
    output, finished = _read(reader, seconds)
    if not finished:
        os.kill(child, signal.SIGKILL)
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if not finished:
        return f"loading it did not end within {seconds:g} s: a static initialiser loops"
    return explain(os.waitstatus_to_exitcode(status), output)


def _load(library: Path, writer: int) -> NoReturn:
    import resource  # noqa: PLC0415 - not on Windows, where this plugin must still import

    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(writer, 2)
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        os.write(2, str(error).encode())
        os._exit(UNLOADABLE)
    os._exit(0)


def _read(reader: int, seconds: float) -> tuple[str, bool]:
    """Return what the child wrote, and whether it ended in time."""
    parts: list[bytes] = []
    until = time.monotonic() + seconds
    while select.select([reader], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            return b"".join(parts).decode(errors="replace"), True
        parts.append(part)
    return "", False


def explain(code: int, output: str) -> str | None:
    """Return what a child that ended with `code` and wrote `output` says about its library."""
    if code == 0:
        return None
    if missing := re.search(r"undefined symbol: (\w+)", output):
        return f"{demangled(missing[1])} is declared and used, but defined nowhere"
    if code == UNLOADABLE:
        return output.strip()
    if code > 0:
        return f"loading it ended Python with status {code}: {output.strip()}"
    if what := WHAT.search(output):
        return STACK.sub("", what[1]).strip()
    return f"loading it died of {signal.Signals(-code).name}"


def demangled(symbol: str) -> str:
    """Return ``at::foo(at::Tensor const&)`` for what the linker calls ``_ZN2at3fooERKNS_...``."""
    import torch  # noqa: PLC0415 - imported already, by `load`

    name: str = torch._C._demangle(symbol)  # noqa: SLF001 - the C++ library's own, at hand
    return name
