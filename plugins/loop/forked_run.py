"""Forks the runs of ``--watch``, one at a time, from the process that stays."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
import warnings
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from plugins.course.notes import status_key
from plugins.loop.channel import Channel
from plugins.loop.channel import channel_key
from plugins.loop.course_list import KEYS as LIST_KEYS
from plugins.loop.kata_session import Order
from plugins.loop.pages import CLOSE
from plugins.loop.pages import KEYS as PAGE_KEYS
from plugins.loop.pages import Pages
from plugins.loop.reporter import style_line
from plugins.loop.saved_files import keep_no_bytecode
from plugins.loop.screen import ERASE
from plugins.loop.screen import clear_sequence
from plugins.loop.screen import clock_line
from plugins.loop.screen import format_end
from plugins.loop.screen import keys_line
from plugins.loop.screen import knows_sequences
from plugins.loop.warm import know_files
from plugins.tools.preload import Preload
from plugins.tools.private import terminal_writer
from plugins.tools.processes import GRACE
from plugins.tools.processes import end_with_parent
from plugins.tools.processes import note_phase


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable
    from collections.abc import Sequence

    import pytest

    from plugins.loop.channel import Told
    from plugins.loop.screen import ScreenLine
    from plugins.loop.watch_state import Desk


PAUSE = 0.005
# Seconds: how long a run may take before the clock shows, and how often that changes.
PATIENCE = 1.0
TICK = 1.0
# A key, as a terminal sends it: a character, or the three of an arrow.
KEY = re.compile(r"\x1b[\[O][A-D]|.", re.DOTALL)


class Runner:
    """Forks one order after the other, and shows the keys after each."""

    def __init__(self, config: pytest.Config, desk: Desk) -> None:
        self.config, self.desk = config, desk
        # The current run and its order, the next order, and the keys pressed meanwhile.
        self.run: ForkedRun | None = None
        self.order: Order | None = None
        self.waiting: Order | None = desk.first(skipping=bool(config.option.skip))
        self.keys = deque[str]()
        self.late = Preload()
        self.channel = Channel()
        # What the screen shows of the last run, and when the one that goes on began.
        self.shown: list[str] = []
        # What the last run has found, and of which kata.
        self.found: Told | None = None
        self.at = ""
        # What is to be said of a save that ran nothing.
        self.note: list[str] = []
        # What a key has shown and is longer than the screen.
        self.pages: Pages | None = None
        self.began = 0.0

    def forked(self, blocked: Iterable[int], begin: Callable[[], None]) -> bool:
        """Fork the waiting order unless something runs; return whether this is the fork."""
        order = self.waiting
        if self.run or not order:
            return False
        self.order, self.waiting, self.pages = order, None, None
        self.shown = [order.why] if order.why else []
        print_lines(self.shown, before=clear_sequence(os.environ))
        self.channel.clear()
        self.began = time.monotonic()
        self.config.hook.pytest_kata_before_fork(config=self.config, kata=order.kata)
        self.run = fork_run(blocked, begin)
        return self.run is None and self.become(order)

    def become(self, order: Order) -> bool:
        """Make this process, a fork, a pytest that does what the order says."""
        note_phase("fork")
        order.apply(self.config)
        self.config.pluginmanager.register(self.late)
        self.config.stash[channel_key] = self.channel
        self.config.stash[status_key] = self.channel.set_status
        keep_no_bytecode({kata.folder for kata in self.desk.katas})
        return True

    def demand(self, order: Order) -> None:
        """Do this next; a run of tests that goes on is out of date."""
        self.drop()
        self.waiting = order

    def hear(self, meaning: Order | Sequence[ScreenLine] | None) -> None:
        """Do what a save means: an order at once, lines as soon as nothing runs."""
        match meaning:
            case Order() as order:
                self.demand(order)
            case [*lines]:
                self.note = self.styled(lines)
                if not (self.run or self.waiting):
                    self.draw()

    def drop(self) -> None:
        """End the run, if there is one."""
        if self.run:
            self.run.drop()
            self.run = None

    def press(self, keys: Iterable[str]) -> None:
        """Queue keys until nothing runs; ``r`` ends the run and begins anew at once."""
        for key in KEY.findall("".join(keys)):
            if key == "r":
                self.demand(self.desk.run())
            else:
                self.keys.append(key)
        self.serve()

    def look(self, take: Callable[[], None]) -> None:
        """Go on if the run has ended; `take` takes the terminal back."""
        if not (self.run and self.order and self.run.ended()):
            return
        # A kata may have changed the settings of the terminal.
        take()
        told, clock = self.channel.read(), self.channel.status is not None
        after = list(format_end(self.run.code or 0))
        self.run = None
        self.desk.ran(self.order, told)
        before, at = self.found, self.at
        self.found, self.at = told, self.desk.kata.id
        if moment := self.desk.moment(self.order, self.size):
            # Instead of the verdict, which stands at the end of these lines.
            self.shown = [*self.shown[:1], *after, *self.styled(moment)]
            print_lines(self.shown, before=clear_sequence(os.environ))
        else:
            self.shown += [*told.lines, *after]
            # A run that was killed leaves its clock on the screen.
            print_lines(after, before=ERASE if clock and knows_sequences(os.environ) else "")
        if self.note:
            print_lines(self.note, before="\n")
        self.note = []
        again = before and at == self.at and is_the_same(before, told)
        self.prompt("As before." if again else "")
        self.serve()
        if not self.waiting and self.late.catch_up():
            know_files()

    def serve(self) -> None:
        """Serve the queued keys, until one of them runs something."""
        while self.keys and not self.run and not self.waiting:
            key = self.keys.popleft()
            if self.turned(key):
                continue
            match self.desk.pressed(key, self.width):
                case Order() as order:
                    self.waiting = order
                case [*lines]:
                    self.draw(self.styled(lines))

    def turned(self, key: str) -> bool:
        """Turn the pages, if that is what the key is for; another key closes them."""
        if not self.pages:
            return False
        mine = self.pages.move(key, self.rows) or key == CLOSE
        if key == CLOSE or not mine:
            self.pages = None
        if mine:
            self.draw()
        return mine

    def draw(self, panel: Sequence[str] = ()) -> None:
        """Draw the screen anew: the last run, and a panel below it instead of the one before.

        Of a run that goes on, that is what it has shown up to now.
        """
        if self.run:
            told = self.channel.read()
            print_lines([*self.shown, *told.lines], before=clear_sequence(os.environ))
            self.tick()
            return
        panel = panel or self.note
        self.note = []
        if panel:
            pages = Pages(panel, self.width)
            self.pages = None if pages.fit(self.rows) else pages
        if self.pages:
            shown = self.pages.shown(self.rows)
            print_lines(shown, before=clear_sequence(os.environ))
            self.prompt(self.pages.place(self.rows))
            return
        if self.desk.list:
            # A blank row stands above each part.
            rows = self.rows - len(panel) - bool(panel)
            listed = self.desk.list.lines(max(rows, 1))
            print_lines(listed, before=clear_sequence(os.environ))
        else:
            print_lines(self.shown, before=clear_sequence(os.environ))
        if panel:
            print_lines(panel, before="\n")
        self.prompt()

    def prompt(self, said: str = "") -> None:
        """Show the keys, below what there is to say or a blank row."""
        desk = self.desk
        if self.pages:
            keys = PAGE_KEYS
        elif desk.list:
            keys = LIST_KEYS
        else:
            solved, back = desk.passed is not None, desk.can_go_back
            keys = keys_line(solved=solved, back=back, postpones=desk.postpones)
        print_lines([said, keys])

    def tick(self) -> None:
        """Show how long the run has taken, once it takes longer than a run should."""
        seconds = time.monotonic() - self.began
        status = self.channel.status
        if self.run and seconds >= PATIENCE and status is not None and knows_sequences(os.environ):
            print_lines((), before=f"{ERASE}{clock_line(seconds, status, self.width)}")

    @property
    def size(self) -> tuple[int, int]:
        """The columns, and the rows beside the name of the saved file and the keys."""
        return self.width, shutil.get_terminal_size().lines - 4

    @property
    def rows(self) -> int:
        """The rows above the keys: these have one, the cursor another, and one is blank."""
        return max(shutil.get_terminal_size().lines - 3, 1)

    @property
    def width(self) -> int:
        """The columns of the terminal."""
        return terminal_writer(self.config).fullwidth

    def styled(self, lines: Iterable[ScreenLine]) -> list[str]:
        """Return lines as the terminal shows them."""
        writer = terminal_writer(self.config)
        return [style_line(writer, line) for line in lines]


def is_the_same(before: Told, now: Told) -> bool:
    """Return whether a run has told what the one before it told, and as many tests pass.

    The first run of ``--next`` has no number yet: then the failure decides.
    """
    same = before.failed == now.failed and before.failure == now.failure
    known = before.passing and now.passing
    return same and before.solved == now.solved and not (known and before.passing != now.passing)


def print_lines(lines: Iterable[str], before: str = "") -> None:
    """Write to the terminal at once."""
    sys.stdout.write(before + "".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


class ForkedRun:
    """A process that runs pytest, and its process group."""

    def __init__(self, process: int) -> None:
        self.process = process
        # The process does so too: either may come first.
        with suppress(OSError):
            os.setpgid(process, process)
        # As os.waitstatus_to_exitcode returns it; None while the process runs.
        self.code: int | None = None

    def ended(self) -> bool:
        """Whether the process has ended; if so, kill the rest of its group."""
        if self.code is None:
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.code = os.waitstatus_to_exitcode(status)
                self._send(signal.SIGKILL)
        return self.code is not None

    def drop(self) -> None:
        """End the process: by SIGTERM, which lets it tidy up, and by SIGKILL if that takes long."""
        self._send(signal.SIGTERM)
        deadline = time.monotonic() + GRACE
        while not self.ended():
            if time.monotonic() > deadline:
                self._send(signal.SIGKILL)
            time.sleep(PAUSE)

    def _send(self, number: int) -> None:
        # The group may be gone; macOS raises PermissionError for one that is not waited for.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, number)


def fork_run(blocked: Iterable[int], begin: Callable[[], None]) -> ForkedRun | None:
    """Fork a run and return it; in the run, which calls `begin` first, return None.

    The signals in `blocked` reach the run only after `begin`, which puts back its handlers.
    """
    parent = os.getpid()
    sys.stdout.flush()
    sys.stderr.flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    with warnings.catch_warnings():
        # Python 3.12 and newer warn about the threads of torch, which only wait for work.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork() or enter_run(parent, begin)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return ForkedRun(process) if process else None


def enter_run(parent: int, begin: Callable[[], None]) -> int:
    """Detach this process, a fork, from its parent's terminal, and call `begin`; return 0."""
    detach(parent)
    begin()
    return 0


def detach(parent: int) -> None:
    """Leave the keyboard to the parent, and end with it."""
    os.setpgid(0, 0)
    end_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(1)
    # A background process that reads or sets the terminal is stopped by these two signals;
    # if they are ignored, the call fails instead.
    for number in (signal.SIGTTIN, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
