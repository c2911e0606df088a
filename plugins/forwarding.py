"""What the first of two processes does with the signals that it gets."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from plugins.watchdog import Watch


# What ends pytest from outside must end its child as well.
ENDING = (signal.SIGTERM, signal.SIGHUP)
ALL = (signal.SIGINT, *ENDING)


class Signals:
    """Leaves Ctrl-C to the child, and passes on what ends this process."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.ended = 0
        self._before = {
            number: signal.signal(number, self._take)
            for number in ALL
            # nohup and background jobs ignore some.
            if signal.getsignal(number) is not signal.SIG_IGN
        }

    def restore(self) -> None:
        """Put back the handlers that were there before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _: object) -> None:
        if number == signal.SIGINT:
            # The terminal has sent it to the child as well, which may be deaf to it.
            self.watch.interrupt()
        else:
            self.ended = number
            self.watch.send(number)
