"""Describes in words how a process ended: what happened, where, and the likely cause."""

from __future__ import annotations

import re
import signal
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.crash.stacks import Stack


WIDTH = 80
# A no-break space keeps an option on one line when text is wrapped.
TIE = "\u00a0"
LOOP = (
    "An endless loop, or a wait for something that never comes. If it is only slow: "
    f"pytest{TIE}-o{TIE}kata_timeout=300"
)
GREED = (
    "A loop that never stops allocating, or a wrong size. If it needs that much: "
    f"pytest{TIE}-o{TIE}kata_memory=80%"
)
ROOM = (
    "Free some space there, or name another folder for temporary files, TMPDIR=/another/folder, "
    "and run it again."
)
EXIT = "That ends all of Python; a kata should return or raise."
LEFT = f"It called os._exit(), or exit() in C++. {EXIT}"
UNKNOWN = (
    "the process of the test ended",
    "Its exit status is not known: it may have run on another machine.",
)
OVERFLOW = "The calls below recurse without end."
POINTER = (
    "It read or wrote memory that is not its own: through a null or dangling pointer, past the "
    "end of an array, or past the end of the stack by endless recursion."
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
# The name of each signal that a process gets from its own fault, and its usual cause in a kata.
FAULTS = {
    "SIGSEGV": ("segmentation fault", POINTER),
    "SIGBUS": ("bus error", MAPPING),
    "SIGFPE": ("floating-point exception", "Usually an integer division by zero."),
    "SIGILL": ("illegal instruction", INSTRUCTION),
    "SIGABRT": ("abort", CORRUPTED),
    "SIGKILL": ("killed from outside", "The system does this when memory runs out."),
}
# libstdc++ names the type first, libc++ writes both on one line.
UNCAUGHT = re.compile(
    r"terminate called after throwing an instance of '(?P<type>.+)'(?:\s+what\(\):\s*(?P<what>.*))?"
    r"|uncaught exception of type (?P<type2>[^\n:]+(?:::[^\n:]+)*)(?:: (?P<what2>.*))?"
)
UNCAUGHT_MEANS = (
    "Nothing caught it: it left a thread, a destructor or a noexcept function, or it reached "
    "Python through a call that does not translate exceptions."
)
NO_EXCEPTION = "terminate called without an active exception"
NO_EXCEPTION_MEANS = (
    "A std::thread was destroyed before join(), `throw;` had nothing to throw, or the code called "
    "std::terminate() itself."
)
# The messages that glibc, assert() and Python itself print before they abort.
LAST_WORDS = re.compile(
    r"^(?:.*: Assertion .* failed\.|(?:free|malloc|realloc|munmap_chunk)\w*\(\): .*|double free.*"
    r"|corrupted .*|\*\*\* .* \*\*\*.*|Fatal Python error: .*)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Stop:
    """Why a process was stopped or exited, and the limit that it passed or its status."""

    why: Literal["time", "memory", "interrupt", "exit"]
    limit: str = ""


@dataclass(frozen=True)
class Death:
    """How a process ended: its os.waitstatus_to_exitcode, None if unknown, and what it left."""

    code: int | None
    stack: Stack
    errors: str = ""
    stop: Stop | None = None


def describe_death(death: Death, root: Path) -> str:
    """Return the text of the report that the process did not live to make."""
    what, means = explain_death(death)
    frames = death.stack.frames
    where = f" at {frames[-1]}" if frames else ""
    lines = [f"{what}{where}", *textwrap.wrap(means, WIDTH, break_on_hyphens=False)]
    if frames:
        lines += ["", *death.stack.format_calls(root)]
    return "\n".join(lines).replace(TIE, " ")


def explain_death(death: Death) -> tuple[str, str]:
    """Return what happened, in a few words, and its usual cause."""
    if death.stop:
        return _explain_stop(death.stop)
    if death.code is None:
        return UNKNOWN
    if death.code >= 0:
        return f"Python ended with status {death.code}", LEFT
    name = _signal_name(-death.code)
    if name == "SIGSEGV" and death.stack.endless:
        return f"stack overflow ({name})", OVERFLOW
    what, means = FAULTS.get(name, ("killed", "The process had no handler for this signal."))
    return (name == "SIGABRT" and _explain_abort(death.errors)) or (f"{what} ({name})", means)


def explain_lost(why: str) -> str:
    """Return what it means that a journal was given up, and what to do."""
    text = (
        "the crash guard was off for a part of this run, since its journal cannot be written "
        f"({why}). Without it a crash ends the run, and nothing ends an endless loop: no test is "
        f"to blame for that. {ROOM}"
    )
    return "\n".join(textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False))


def _explain_stop(stop: Stop) -> tuple[str, str]:
    match stop.why:
        case "time":
            return f"still running after {stop.limit}", LOOP
        case "memory":
            return f"more than {stop.limit} of memory taken", GREED
        case "exit":
            return f"sys.exit({stop.limit}) was called", EXIT
        case _:
            return "Ctrl-C", "It did not respond."


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        # The signals between SIGRTMIN and SIGRTMAX have no names.
        return f"signal {number}"


def _explain_abort(errors: str) -> tuple[str, str] | None:
    """Return the reason that the process printed before it aborted, if it printed one."""
    if found := UNCAUGHT.search(errors):
        kind, text = found["type"] or found["type2"], found["what"] or found["what2"]
        return f"uncaught C++ exception {kind}{f': {text}' if text else ''}", UNCAUGHT_MEANS
    if NO_EXCEPTION in errors:
        return "std::terminate without an exception (SIGABRT)", NO_EXCEPTION_MEANS
    if words := LAST_WORDS.findall(errors):
        return f"abort (SIGABRT): {words[-1].strip()}", CORRUPTED
    return None
