"""Waits for saves, keys and signals under ``--watch``, and gives the terminal back at the end."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from contextlib import suppress
from typing import TYPE_CHECKING
from typing import NoReturn

from plugins.loop.forked_run import TICK
from plugins.loop.forked_run import Runner
from plugins.loop.forked_run import print_lines
from plugins.tools.processes import note_phase


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    import pytest

    from plugins.loop.warm import Loaded
    from plugins.loop.watch_state import Desk
    from plugins.loop.watcher import Saves


FORK = -1
INTERRUPTED = 2
QUIT = "q"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*ENDING, signal.SIGTSTP, signal.SIGCONT, signal.SIGCHLD)
UNSEEN = "Files are no longer watched{}; r runs the tests."


class Loop:
    """Waits for one event after the other, until one of them ends ``--watch``."""

    def __init__(self, config: pytest.Config, desk: Desk, saves: Saves, loaded: Loaded) -> None:
        self.start, self.args = config.invocation_params.dir, config.invocation_params.args
        self.desk, self.saves, self.loaded = desk, saves, loaded
        self.process = os.getpid()
        self.runner = Runner(config, desk)
        # Runs wait until the files are watched: a save before that would be missed.
        self.watching = False
        self.keyboard = Keyboard(0)
        self.signals = LoopSignals(SIGNALS)
        self.inputs: dict[Keyboard | LoopSignals | Saves, Callable[[], int | None]] = {
            self.keyboard: self.read_keys,
            self.signals: self.read_signals,
            saves: self.read_saves,
        }

    def go_on(self) -> int:
        """Wait until the end and return the status; return FORK in a fork, which runs pytest."""
        status: int | None = None
        try:
            while status is None and self.loaded.outdated() is None:
                forked = self.watching and self.runner.forked(SIGNALS, self.leave)
                status = FORK if forked else self.attend()
        finally:
            self.close()
        return self.start_anew() if status is None else status

    def attend(self) -> int | None:
        """Wait for events and handle them; return the status if one of them ends the loop."""
        ready = select.select([*self.inputs], [], [], TICK if self.runner.run else None)[0]
        if not ready:
            self.runner.tick()
        for source in ready:
            if (status := self.inputs[source]()) is not None:
                return status
        return None

    def close(self) -> None:
        """Give the terminal back and end the processes; in a fork, do nothing."""
        if os.getpid() != self.process:
            return
        self.keyboard.give_back()
        self.runner.drop()
        self.saves.stop()
        self.signals.restore()

    def leave(self) -> None:
        """Release the parent's signal handlers and its watcher, in a fork."""
        self.signals.restore()
        self.saves.forget()

    def start_anew(self) -> NoReturn:
        """Replace this process by one with the same command line."""
        print_lines([f"{self.loaded.outdated()}: starting anew"], before="\n")
        os.chdir(self.start)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - our own command

    def read_keys(self) -> int | None:
        """Handle the keys that were pressed."""
        keys = self.keyboard.read()
        if keys is None:
            return 128 + signal.SIGHUP
        if QUIT in keys:
            print_lines(self.desk.farewell(self.args), before="\n")
            return 0
        self.runner.press(keys)
        return None

    def read_signals(self) -> int | None:
        """Handle the signals: the end of a run, Ctrl-Z and `fg`, or the end."""
        for number in self.signals.read():
            match number:
                case signal.SIGCHLD:
                    self.runner.look(self.keyboard.take)
                case signal.SIGTSTP:
                    self.keyboard.give_back()
                    os.kill(os.getpid(), signal.SIGSTOP)
                case signal.SIGCONT:
                    self.keyboard.take()
                    # The shell has written to the screen.
                    self.runner.draw()
                case signal.SIGINT:
                    return INTERRUPTED
                case _:
                    return 128 + number
        return None

    def read_saves(self) -> None:
        """Run the kata that was saved, or say why it does not run."""
        self.watching = True
        files = self.saves.read()
        note_phase("report")
        if files is None:
            del self.inputs[self.saves]
            why = f": {self.saves.trouble}" if self.saves.trouble else ""
            print_lines([UNSEEN.format(why)])
        else:
            self.runner.hear(self.desk.saved(files))


class Keyboard:
    """A terminal in the mode that delivers each key at once and does not echo it."""

    def __init__(self, terminal: int) -> None:
        self.terminal = terminal
        self._before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal, termios.TCSANOW)
        self._taken = termios.tcgetattr(terminal)

    def fileno(self) -> int:
        """Return the descriptor, for `select`."""
        return self.terminal

    def take(self) -> None:
        """Set the mode again: another process may have changed the settings."""
        self._set(self._taken)

    def give_back(self) -> None:
        """Restore the settings from before."""
        self._set(self._before)

    def _set(self, settings: list[int | list[bytes | int]]) -> None:
        # The window may have been closed.
        with suppress(termios.error):
            termios.tcsetattr(self.terminal, termios.TCSANOW, settings)

    def read(self) -> str | None:
        """Return the pressed keys; None if the terminal is gone."""
        try:
            data = os.read(self.terminal, 1 << 10)
        except OSError:
            return None
        return data.decode(errors="replace") or None


class LoopSignals:
    """A pipe of signals, to wait for beside keys."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = {
            number
            for number in numbers
            # nohup and the shells' background jobs start with some signals ignored.
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, ignore_signal) for number in self._numbers}

    def fileno(self) -> int:
        """Return the reading end, for `select`."""
        return self._reader

    def read(self) -> list[int]:
        """Return the signals that have arrived, in their order."""
        return [number for number in os.read(self._reader, 1 << 10) if number in self._numbers]

    def restore(self) -> None:
        """Put back the handlers from before."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)


def ignore_signal(number: int, frame: object) -> None:
    """Do nothing: Python has written the number to the pipe."""
