"""Watches an exercise for what it is to build itself, or to find out on paper.

A test that only patches a function, or opens a mode around one call, can be walked around: by a
table made at import, a cache, a thread, `torch._C`, `torch.ops`, `getattr`, `importlib`, or a
switched-off mode. So `forbids` reads the exercise's source, imports it afresh under the watch,
and watches what it calls, in every thread.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import threading
from contextlib import contextmanager
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from typing import Any

from plugins.checks.names import callables
from plugins.checks.names import forbidden_as
from plugins.checks.names import imported
from plugins.checks.names import is_standard
from plugins.checks.names import names_in
from plugins.tools.private import CALLERS_FRAME
from plugins.tools.private import DECORATOR_MODULE
from plugins.tools.private import profile_every_thread
from plugins.tools.text import parse_python


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterator
    from types import FrameType


# A `getattr` of torch, or of a module in it, whose name is computed.
COMPUTED = "torch.?"
# Where every function of PyTorch can be had under another name.
PRIVATE = ("torch._", "torch.ops", COMPUTED)
# How names are had that a reader of the source cannot see.
EVASIONS = (
    *("eval", "exec", "compile", "__import__", "globals", "importlib", "ctypes", "gc"),
    *("sys.modules", CALLERS_FRAME, "inspect.stack", "inspect.currentframe"),
)
# Where an answer is to be worked out on paper: how another process, a file, or a module that has
# torch already, would lend it.
LENDERS = (
    *("subprocess", "multiprocessing", "os", "builtins", "runpy", "socket", "open", "pathlib"),
    *(
        "ProcessPoolExecutor",
        "concurrent.futures.ProcessPoolExecutor",
        "concurrent.futures.process",
    ),
)
METHOD = "torch.Tensor."
WRITE_IT = "write that yourself"
PAPER = "work it out on paper: while your answer is read, torch cannot be used"


@contextmanager
def forbids(
    exercise: ModuleType, *names: str, operators: Collection[str] = (), allow: Collection[str] = ()
) -> Iterator[ModuleType]:
    """Import an exercise afresh, and fail if it uses what it must not.

    Parameters
    ----------
    exercise
        The module, as the test has imported it: ``from katas.lecture02 import k03_views``.
    names
        What it must not use, each as PyTorch spells it: "torch.fx" with all that is in it,
        "torch.func.jacrev", or "torch.Tensor.view" for whatever is called ``.view``. Without
        names and operators torch is forbidden as a whole: what the exercise takes from it raises,
        and it may import nothing else but the standard library, no process and no file.
    operators
        Operators that must not run in this ``with``, in any thread: "aten::view", or "aten::" for
        all of ATen. Operators that others run meanwhile, such as the test itself, count too.
    allow
        What of `PRIVATE`, `EVASIONS` and `LENDERS` the exercise needs, such as "exec".

    Yields
    ------
    ModuleType
        The exercise, imported anew: call its functions, not those that the test has imported.

    Raises
    ------
    AssertionError
        That names what is used, when the ``with`` begins or ends.
    """
    __tracebackhide__ = True
    anything = bool(names or operators)
    evasions = [*PRIVATE, *EVASIONS, *(() if anything else LENDERS)]
    source = inspect.getsource(exercise)
    evasions += [] if anything else strangers(source)
    refuse(names_in(source), [*names, *(name for name in evasions if name not in allow)])
    with (
        running(operators),
        calling(exercise, names) as called,
        nullcontext() if anything else without_torch(),
    ):
        yield reimported(exercise)
    if called:
        calls = ", ".join(f"{name} ({how})" for name, how in sorted(called.items()))
        raise AssertionError(f"the exercise calls {calls}: {WRITE_IT}")


def refuse(used: Collection[str], forbidden: Collection[str]) -> None:
    """Fail if a name that the source uses is forbidden, or is in something that is."""
    __tracebackhide__ = True
    found = sorted(name for name in used if any(covers(each, name) for each in forbidden))
    if found:
        raise AssertionError(f"the file uses {', '.join(found)}: {WRITE_IT}")


def covers(forbidden: str, name: str) -> bool:
    """Whether a name is the forbidden one or stands below it: torch.fx covers torch.fx.Graph."""
    if forbidden == "torch._":
        return name.startswith(forbidden) and not name.startswith("torch.__")
    if forbidden == COMPUTED:
        return name.startswith("torch.") and name.endswith(".?")
    if forbidden.startswith(METHOD):
        return name.endswith(f".{forbidden.removeprefix(METHOD)}")
    if forbidden.startswith("sys."):
        # Any module that imports sys has it as an attribute.
        return f".{forbidden}." in f".{name}."
    return name == forbidden or name.startswith(f"{forbidden}.")


def strangers(source: str) -> list[str]:
    """Return the packages that a file imports, but for torch and the standard library."""
    used, _ = imported(parse_python(source))
    known = {"torch", *sys.stdlib_module_names}
    # A relative import is one of the course.
    return sorted({name.partition(".")[0] or name for name in used} - known)


def reimported(exercise: ModuleType) -> ModuleType:
    """Return a new module made of the exercise's file: no cache and no thread of its own yet."""
    spec = exercise.__spec__
    if spec is None or spec.loader is None:
        raise AssertionError(f"{exercise.__name__} was not imported from a file")
    fresh = importlib.util.module_from_spec(spec)
    before = sys.modules.get(spec.name)
    # Dataclasses and pickle look a class's module up by its name.
    sys.modules[spec.name] = fresh
    try:
        spec.loader.exec_module(fresh)
    finally:
        if before is not None:
            sys.modules[spec.name] = before
    return fresh


class Absent(ModuleType):
    """Stands in for torch where an answer is worked out on paper."""

    def __getattr__(self, name: str) -> Any:
        """Refuse; `from torch import Tensor` for annotations belongs under TYPE_CHECKING."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise AssertionError(f"{self.__name__}.{name} is asked for: {PAPER}")


@contextmanager
def without_torch() -> Iterator[None]:
    """Put a stand-in in the place of torch, which raises whatever is taken from it."""
    real = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "torch"}
    sys.modules.update({name: Absent(name) for name in real})
    try:
        yield
    finally:
        sys.modules.update(real)


@contextmanager
def calling(exercise: ModuleType, names: Collection[str]) -> Iterator[dict[str, str]]:
    """Collect which of these names code of the exercise calls meanwhile, in this and new threads.

    Each leads to what is called first, and where. What PyTorch calls of itself does not count,
    however deep below the exercise.
    """
    called: dict[str, str] = {}
    if not names:
        yield called
        return
    codes, builtins = callables(names)
    file = exercise.__file__

    # Python traces nothing within a profile function, so coverage cannot see it.
    def note(frame: FrameType, event: str, arg: Any) -> None:  # pragma: no cover
        if event == "call" and id(frame.f_code) in codes:
            if place := place_in_exercise(frame.f_back, file):
                name = codes[id(frame.f_code)][1]
                called.setdefault(name, f"{frame.f_code.co_name}, {place}")
        elif event == "c_call" and arg.__name__ in builtins:
            name = forbidden_as(arg, builtins[arg.__name__])
            if name and (place := place_in_exercise(frame, file)):
                called.setdefault(name, f"{arg.__name__}, {place}")

    before, before_in_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(before)
        threading.setprofile(before_in_threads)


def place_in_exercise(frame: FrameType | None, file: str | None) -> str:
    """Return where the exercise makes a call: by itself, by the library, or in a new thread.

    It is "" if something else makes the call.
    """
    while frame is not None:
        if frame.f_code.co_filename == file:
            return f"{Path(file).name}:{frame.f_lineno}"
        module = str(frame.f_globals.get("__name__", ""))
        if not is_standard(module) and module != DECORATOR_MODULE:
            return ""
        frame = frame.f_back
    return "in a thread"


@contextmanager
def running(operators: Collection[str]) -> Iterator[None]:
    """Fail at the end if one of these operators has run meanwhile, in any thread."""
    __tracebackhide__ = True
    if not operators:
        yield
        return
    with watched_operators() as names:
        yield
    ran = sorted({name for name in names if name.startswith(tuple(operators))})
    if ran:
        raise AssertionError(f"the exercise runs {', '.join(ran)}: {WRITE_IT}")


@contextmanager
def watched_operators() -> Iterator[list[str]]:
    """Fill a list with the operators that run in this ``with``, such as "aten::add".

    Those that run inside of others are there too, and those of every thread; no switched-off mode
    hides one. They are there when the ``with`` ends, in the order in which they began.
    """
    from torch.profiler import ProfilerActivity  # noqa: PLC0415 - takes a second

    names: list[str] = []
    with profile_every_thread(activities=[ProfilerActivity.CPU]) as profile:
        yield names
    names += [str(event.name) for event in profile.events() if "::" in str(event.name)]
