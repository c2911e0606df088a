"""Waits for saves, keys and signals on behalf of ``--watch``, and holds the terminal."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import TYPE_CHECKING
from typing import NoReturn

from plugins.keyboard import Keyboard
from plugins.keyboard import Signals
from plugins.watchrun import Runner
from plugins.watchrun import say


if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from plugins.saves import Saves
    from plugins.warm import Loaded
    from plugins.watchdesk import Desk


FORK = -1
INTERRUPTED = 2
QUIT = "q"
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SIGNALS = (*ENDING, signal.SIGTSTP, signal.SIGCONT, signal.SIGCHLD)
UNSEEN = "Files are no longer watched{}; r runs the tests."


class Loop:
    """Serves a learner until the end."""

    def __init__(self, config: pytest.Config, desk: Desk, saves: Saves, loaded: Loaded) -> None:
        self.start = config.invocation_params.dir
        self.desk, self.saves, self.loaded = desk, saves, loaded
        self.process = os.getpid()
        self.runner = Runner(config, desk)
        # What is saved before the files are watched would be missed.
        self.watching = False
        self.keyboard = Keyboard(0)
        self.signals = Signals(SIGNALS)
        self.inputs: dict[Keyboard | Signals | Saves, Callable[[], int | None]] = {
            self.keyboard: self.read_keys,
            self.signals: self.read_signals,
            saves: self.read_saves,
        }

    def go_on(self) -> int:
        """Return the status when it is over; in a fork, which is to run pytest, return FORK."""
        status: int | None = None
        try:
            while status is None and self.loaded.outdated() is None:
                forked = self.watching and self.runner.forked(SIGNALS, self.leave)
                status = FORK if forked else self.attend()
        finally:
            self.close()
        return self.start_anew() if status is None else status

    def attend(self) -> int | None:
        """Wait until something happens and see to it; return the status if that is the end."""
        for source in select.select([*self.inputs], [], [])[0]:
            if (status := self.inputs[source]()) is not None:
                return status
        return None

    def close(self) -> None:
        """Give the terminal back and end what was started; a fork has nothing of it."""
        if os.getpid() != self.process:
            return
        self.keyboard.give_back()
        self.runner.drop()
        self.saves.stop()
        self.signals.restore()

    def leave(self) -> None:
        """Let go, in a fork, of what is the parent's."""
        self.signals.restore()
        self.saves.forget()

    def start_anew(self) -> NoReturn:
        """Become another process, as this one was started."""
        say([f"{self.loaded.outdated()}: starting anew"], before="\n")
        os.chdir(self.start)
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - as we were

    def read_keys(self) -> int | None:
        """Take what was typed."""
        keys = self.keyboard.read()
        if keys is None:
            return 128 + signal.SIGHUP
        if QUIT in keys:
            return 0
        self.runner.press(keys)
        return None

    def read_signals(self) -> int | None:
        """Look after the run, stop and go on with the terminal, or end."""
        for number in self.signals.read():
            match number:
                case signal.SIGCHLD:
                    self.runner.look(self.keyboard.take)
                case signal.SIGTSTP:
                    self.keyboard.give_back()
                    os.kill(os.getpid(), signal.SIGSTOP)
                case signal.SIGCONT:
                    self.keyboard.take()
                case signal.SIGINT:
                    return INTERRUPTED
                case _:
                    return 128 + number
        return None

    def read_saves(self) -> None:
        """Run what was saved."""
        self.watching = True
        files = self.saves.read()
        if files is None:
            del self.inputs[self.saves]
            why = f": {self.saves.trouble}" if self.saves.trouble else ""
            say([UNSEEN.format(why)])
        elif order := self.desk.saved(files):
            self.runner.demand(order)
