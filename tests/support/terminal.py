"""A pseudo-terminal that runs pytest, and a person who types and reads in it."""

from __future__ import annotations

import os
import signal
import sys
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import Self

import pexpect
import pyte


if TYPE_CHECKING:
    from collections.abc import Callable


SECONDS = 200
# The end of every screen of --watch.
KEYS = "q quit\n"
# Not those of a person's terminal: CI sets the first two, and readline the last, to the rows of the
# terminal in which the tests run.
LEFT_OUT = ("BUILD_NUMBER", "CI", "LINES")


class Terminal:
    """pytest in a terminal of 80 columns; ends with the ``with`` block."""

    def __init__(self, folder: Path, *arguments: str, rows: int = 40, **environment: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if name not in LEFT_OUT}
        self.process: Any = pexpect.spawn(
            sys.executable,
            ["-m", "pytest", "--color=no", *arguments],
            cwd=str(folder),
            env={**inherited, "TERM": "xterm", **environment},
            encoding="utf-8",
            timeout=SECONDS,
            dimensions=(rows, 80),
            # As in a person's terminal; the process that runs the tests may ignore this signal.
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )
        self.process.delaybeforesend = None
        self.settings = termios.tcgetattr(self.process.child_fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the terminal, and end what still runs in it."""
        # pexpect gives up 0.1 s after SIGKILL, which is too soon on a busy machine.
        with suppress(pexpect.ExceptionPexpect):
            self.process.close(force=True)
        if self.process.isalive():
            self.process.wait()

    def shown(self, until: str = KEYS) -> str:
        """Return the output from now on, up to and with `until`."""
        self.process.expect_exact(until.replace("\n", "\r\n"))
        return str(self.process.before).replace("\r\n", "\n") + until

    def press(self, key: str, until: str = KEYS) -> str:
        """Press a key and return the output, up to and with `until`."""
        self.process.send(key)
        return self.shown(until)

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the status, 128 + N for signal N, and the last output."""
        self.process.expect(pexpect.EOF)
        text = str(self.process.before).replace("\r\n", "\n")
        self.close()
        died = self.process.signalstatus
        return (128 + died if died else int(self.process.exitstatus)), text

    @property
    def restored(self) -> bool:
        """Whether the terminal has its original settings."""
        return termios.tcgetattr(self.process.child_fd) == self.settings


def screen_of(text: str, rows: int = 24) -> list[str]:
    """Return the rows of a terminal of 80 columns after this output, the row of the cursor last."""
    screen = pyte.Screen(80, rows)
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))
    return [row.rstrip() for row in screen.display[: screen.cursor.y + 1]]


def eventually(holds: Callable[[], bool]) -> bool:
    """Return whether `holds` becomes true in time."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def gone(*processes: int) -> bool:
    """Whether all these processes have ended; a zombie has ended too."""
    return all(state_of(process)[0] in {"", "Z"} for process in processes)


def children_of(parent: int) -> list[int]:
    """Return the child processes that still exist."""
    processes = [int(file.name) for file in Path("/proc").iterdir() if file.name.isdigit()]
    return [each for each in processes if state_of(each)[1] == str(parent)]


def state_of(process: int) -> tuple[str, str]:
    """Return the state of a process and its parent from /proc; empty if it is gone."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return "", ""
    state, parent, *_ = text.rpartition(")")[2].split()
    return state, parent


def hears_ctrl_c() -> Callable[[], object]:
    """Let processes started from now on receive Ctrl-C; return a function that undoes it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    return lambda: signal.signal(signal.SIGINT, before)
