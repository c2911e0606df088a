"""The one run that goes on under ``--watch``, and what shall come after it."""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import TYPE_CHECKING

from plugins.forkedrun import ForkedRun
from plugins.forkedrun import fork
from plugins.orders import Order
from plugins.orders import keep_no_bytecode
from plugins.warm import Late
from plugins.watchview import cleared
from plugins.watchview import end_lines
from plugins.watchview import keys_line


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterable

    import pytest

    from plugins.watchdesk import Desk


class Runner:
    """Forks what is asked for, one after the other, and shows the keys after each."""

    def __init__(self, config: pytest.Config, desk: Desk) -> None:
        self.config, self.desk = config, desk
        self.run: ForkedRun | None = None
        # What goes on, what comes next, and the keys that were pressed meanwhile.
        self.order: Order | None = None
        self.waiting: Order | None = desk.first(skipping=bool(config.option.skip))
        self.keys = deque[str]()
        self.late = Late()

    def forked(self, blocked: Iterable[int], begin: Callable[[], None]) -> bool:
        """Fork what waits, if there is a time for it; return whether this is the fork."""
        order = self.waiting
        if self.run or not order:
            return False
        self.order, self.waiting = order, None
        say([order.why] if order.why else [], before=cleared(os.environ) if order.runs else "\n")
        self.run = fork(blocked, begin)
        return self.run is None and self.become(order)

    def become(self, order: Order) -> bool:
        """Make this process, a fork, a pytest that does what is asked for."""
        order.apply(self.config)
        self.config.pluginmanager.register(self.late)
        keep_no_bytecode({kata.folder for kata in self.desk.katas})
        return True

    def demand(self, order: Order) -> None:
        """Do this next; a run that goes on is out of date."""
        if self.run and self.order and self.order.runs:
            self.drop()
        self.waiting = order

    def drop(self) -> None:
        """End the run, if there is one."""
        if self.run:
            self.run.drop()
            self.run = None

    def press(self, keys: Iterable[str]) -> None:
        """Do what keys ask for, once nothing runs; a run that is asked for again begins anew."""
        for key in keys:
            if key == "r":
                self.demand(self.desk.run())
            else:
                self.keys.append(key)
        self.serve()

    def look(self, take: Callable[[], None]) -> None:
        """Go on if the run has ended; `take` takes the terminal back."""
        if not (self.run and self.run.ended()):
            return
        # A kata may have changed its settings.
        take()
        say(end_lines(self.run.code or 0))
        self.run = None
        if self.order and self.order.runs:
            self.desk.ran()
        self.prompt()
        self.serve()
        if not self.waiting:
            self.late.catch_up()

    def serve(self) -> None:
        """Do what the next keys ask for, until something runs."""
        while self.keys and not self.run and not self.waiting:
            match self.desk.pressed(self.keys.popleft()):
                case Order() as order:
                    self.waiting = order
                case [*lines]:
                    say(lines, before="\n")
                    self.prompt()

    def prompt(self) -> None:
        """Show the keys."""
        say([keys_line(solved=self.desk.passed is not None)], before="\n")


def say(lines: Iterable[str], before: str = "") -> None:
    """Write to the terminal at once."""
    sys.stdout.write(before + "".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
