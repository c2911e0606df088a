"""Takes keys and signals from a terminal one by one, and gives it back as it was."""

from __future__ import annotations

import os
import signal
import termios
import tty
from contextlib import suppress
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from collections.abc import Iterable


class Keyboard:
    """A terminal that hands over each key at once and does not show it."""

    def __init__(self, terminal: int) -> None:
        self.terminal = terminal
        self._before = termios.tcgetattr(terminal)
        tty.setcbreak(terminal, termios.TCSANOW)
        self._taken = termios.tcgetattr(terminal)

    def fileno(self) -> int:
        """Return what to wait for."""
        return self.terminal

    def take(self) -> None:
        """Take the terminal again: something else may have changed its settings."""
        self._set(self._taken)

    def give_back(self) -> None:
        """Restore the settings that were there before."""
        self._set(self._before)

    def _set(self, settings: list[int | list[bytes | int]]) -> None:
        # A terminal whose window was closed has none.
        with suppress(termios.error):
            termios.tcsetattr(self.terminal, termios.TCSANOW, settings)

    def read(self) -> str | None:
        """Return the keys that were pressed; None if the terminal is gone."""
        try:
            data = os.read(self.terminal, 1 << 10)
        except OSError:
            return None
        return data.decode(errors="replace") or None


class Signals:
    """Signals as something to wait for, beside keys."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = {
            number
            for number in numbers
            # nohup and background jobs ignore some.
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._wakeup = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, nothing) for number in self._numbers}

    def fileno(self) -> int:
        """Return what to wait for."""
        return self._reader

    def read(self) -> list[int]:
        """Return the signals that have come, in their order."""
        return [number for number in os.read(self._reader, 1 << 10) if number in self._numbers]

    def restore(self) -> None:
        """Put back the handlers that were there before."""
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)


def nothing(number: int, frame: object) -> None:
    """Do nothing: Python has written the number to the pipe."""
