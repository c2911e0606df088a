"""Says in words how a process ended: what happened, where, and what it may mean."""

from __future__ import annotations

import re
import signal
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.stacks import Stack


WIDTH = 80
# A tie holds an option together when lines are broken.
TIE = "\u00a0"
LOOP = (
    "An endless loop, or a wait for something that never comes. If it is only slow: "
    f"pytest{TIE}-o{TIE}kata_timeout=300"
)
GREED = (
    "A loop that does not stop to allocate, or a size that is wrong. If it needs that much: "
    f"pytest{TIE}-o{TIE}kata_memory=80%"
)
EXIT = "That ends the whole of Python, where a kata should return or raise."
LEFT = f"It called os._exit(), or exit() in C++. {EXIT}"
OVERFLOW = "The calls below go on without end."
# What a signal that the process got from itself is called, and what it mostly means in a kata.
POINTER = (
    "It read or wrote memory that is not its own: through a null or dangling pointer, past the "
    "end of an array, or past the end of the stack by recursion without end."
)
MAPPING = (
    "It read or wrote memory that is not there: through a wild pointer, or past the end of a "
    "mapped file."
)
INSTRUCTION = (
    "A C++ function that returns a value ended without `return`, or this processor lacks an "
    "instruction that the code was built for."
)
CORRUPTED = "C++ code called abort(), or a library found its memory corrupted."
FAULTS = {
    "SIGSEGV": ("segmentation fault", POINTER),
    "SIGBUS": ("bus error", MAPPING),
    "SIGFPE": ("floating-point exception", "Mostly an integer that was divided by zero."),
    "SIGILL": ("illegal instruction", INSTRUCTION),
    "SIGABRT": ("abort", CORRUPTED),
    "SIGKILL": ("killed from outside", "The system does so when memory runs out."),
}
# libstdc++ names the type first, libc++ writes both on one line.
UNCAUGHT = re.compile(
    r"terminate called after throwing an instance of '(?P<type>.+)'(?:\s+what\(\):\s*(?P<what>.*))?"
    r"|uncaught exception of type (?P<type2>[^\n:]+(?:::[^\n:]+)*)(?:: (?P<what2>.*))?"
)
UNCAUGHT_MEANS = (
    "Nobody caught it: it left a thread, a destructor or a noexcept function, or it reached "
    "Python through a call that does not translate exceptions."
)
NO_EXCEPTION = "terminate called without an active exception"
NO_EXCEPTION_MEANS = (
    "A std::thread was destroyed before join(), `throw;` had nothing to throw, or the code called "
    "std::terminate() itself."
)
# What glibc, an assert() and Python itself print before they abort.
LAST_WORDS = re.compile(
    r"^(?:.*: Assertion .* failed\.|(?:free|malloc|realloc|munmap_chunk)\w*\(\): .*|double free.*"
    r"|corrupted .*|\*\*\* .* \*\*\*.*|Fatal Python error: .*)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Stop:
    """What ended a process that did not end itself, and the limit or status that goes with it."""

    why: Literal["time", "memory", "interrupt", "exit"]
    limit: str = ""


@dataclass(frozen=True)
class Death:
    """How a process ended, as os.waitstatus_to_exitcode says (None: unknown); what it left."""

    code: int | None
    stack: Stack
    errors: str = ""
    stop: Stop | None = None


def verdict(death: Death, root: Path) -> str:
    """Return what to show instead of the report that the process did not live to make."""
    what, means = explained(death)
    frames = death.stack.frames
    where = f" at {frames[-1]}" if frames else ""
    lines = [f"{what}{where}", *textwrap.wrap(means, WIDTH, break_on_hyphens=False)]
    if frames:
        lines += ["", *death.stack.lines(root)]
    return "\n".join(lines).replace(TIE, " ")


def explained(death: Death) -> tuple[str, str]:
    """Return what happened in a few words, and what it mostly means."""
    if death.stop:
        return _stopped(death.stop)
    if death.code is None:
        return "the process of the test ended", "It ran on another machine."
    if death.code >= 0:
        return f"Python ended with status {death.code}", LEFT
    name = _name(-death.code)
    if name == "SIGSEGV" and death.stack.endless:
        return f"stack overflow ({name})", OVERFLOW
    what, means = FAULTS.get(name, ("killed", "Nobody handles this signal."))
    return (name == "SIGABRT" and _abort(death.errors)) or (f"{what} ({name})", means)


def _stopped(stop: Stop) -> tuple[str, str]:
    match stop.why:
        case "time":
            return f"still running after {stop.limit}", LOOP
        case "memory":
            return f"more than {stop.limit} of memory taken", GREED
        case "exit":
            return f"sys.exit({stop.limit}) was called", EXIT
        case _:
            return "Ctrl-C", "It did not listen."


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        # Those between SIGRTMIN and SIGRTMAX have no names.
        return f"signal {number}"


def _abort(errors: str) -> tuple[str, str] | None:
    """Return what the process printed of why it aborts, if it did."""
    if found := UNCAUGHT.search(errors):
        kind, text = found["type"] or found["type2"], found["what"] or found["what2"]
        return f"uncaught C++ exception {kind}{f': {text}' if text else ''}", UNCAUGHT_MEANS
    if NO_EXCEPTION in errors:
        return "std::terminate without an exception (SIGABRT)", NO_EXCEPTION_MEANS
    if words := LAST_WORDS.findall(errors):
        return f"abort (SIGABRT): {words[-1].strip()}", CORRUPTED
    return None
