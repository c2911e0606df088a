"""Ends the session quietly once its output pipe is closed, as in ``pytest katas | head``.

Otherwise the next write would raise an error wherever it stands: in pytest, which would call it an
internal error, or in a hook or a print of a test, which would fail for it.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING
from typing import Any
from typing import cast

import pytest

from plugins.tools.private import redirect_terminal
from plugins.tools.terminal import drop_output


if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


class Pipe:
    """A stream that drops what is written once its reader is gone."""

    stream: TextIO
    unread = False

    def write(self, text: str) -> int:
        """Write `text`, or drop it."""
        self._try(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Write what the stream holds, or drop it."""
        self._try(self.stream.flush)

    def _try(self, action: Callable[[], object]) -> None:
        if self.unread:
            return
        try:
            action()
        except BrokenPipeError:
            self.unread = True
            drop_output(self.stream)

    def __getattr__(self, name: str) -> Any:
        """Delegate everything else to the stream."""
        return getattr(self.stream, name)


class Listener:
    """Stops the session between two tests once the pipe is closed."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self) -> None:
        """Stop before the next module is imported."""
        self._stop_if_unread()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self) -> None:
        """Stop once the others have this report: what has run is remembered."""
        self._stop_if_unread()

    def _stop_if_unread(self) -> None:
        if self.pipe.unread:
            raise pytest.Session.Interrupted("output pipe closed")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Put a `Pipe` between the terminal reporter and a stream that is no terminal."""
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or reporter.isatty or hasattr(config, "workerinput"):
        return
    pipe = Pipe()
    pipe.stream = redirect_terminal(config, cast("TextIO", pipe))
    if config.getoption("capture") == "no":
        # Tests write to the same stream.
        before, sys.stdout = sys.stdout, cast("TextIO", pipe)
        config.add_cleanup(partial(setattr, sys, "stdout", before))
    config.pluginmanager.register(Listener(pipe))
