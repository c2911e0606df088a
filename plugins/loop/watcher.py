"""Reports file changes from a helper process.

The process that reads the reports has imported torch and forks, so it must have no threads;
`watchfiles` starts some.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from plugins import ROOT
from plugins.tools.processes import GRACE


if TYPE_CHECKING:
    from collections.abc import Iterable


# In milliseconds: how long `watchfiles` waits for another change before it reports, and how long
# at most. An editor that truncates, writes and renames a file makes several changes.
STEP = 10
MOST = 100


class Saves:
    """Starts the helper process, and reads from it which files were saved below some folders."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - this module
            [sys.executable, "-m", "plugins.loop.watcher", *map(str, folders)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Ctrl-C on the terminal must not reach it.
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self._output = self.process.stdout
        self._pipe = self._output.fileno()
        self._rest = b""
        # Why no more reports will come.
        self.trouble = ""

    def fileno(self) -> int:
        """Return the pipe, for `select`."""
        return self._pipe

    def read(self) -> list[Path] | None:
        """Return the saved files; none in the first report, when the folders are watched.

        None means that the process has ended: `trouble` has the reason.
        """
        data = os.read(self._pipe, 1 << 16)
        whole, _, self._rest = (self._rest + data).rpartition(b"\n")
        found: list[Path] = []
        for line in whole.splitlines():
            match json.loads(line):
                case str(trouble):
                    self.trouble = trouble
                case names:
                    found += map(Path, names)
        return found if data else None

    def forget(self) -> None:
        """Release the process in a fork: it belongs to the parent."""
        self._output.close()
        # Without it, Popen.__del__ warns that the process still runs.
        self.process.returncode = 0

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.communicate(timeout=GRACE * 10)


class ParentEnded:
    """The event on which `watchfiles` stops: this process has lost its parent."""

    def __init__(self) -> None:
        self._number = os.getppid()
        self._greeted = False

    def is_set(self) -> bool:
        """Whether to stop; `watchfiles` asks for the first time when it watches the folders."""
        if not self._greeted:
            self._greeted = True
            send_message([])
        return os.getppid() != self._number


def send_message(message: object) -> None:
    """Write a line for `Saves` to read."""
    print(json.dumps(message), flush=True)  # noqa: T201 - the answer


def main(folders: Iterable[str]) -> None:
    """Report saved files until the parent ends."""
    import watchfiles  # noqa: PLC0415 - only this process needs it

    ended = ParentEnded()
    try:
        for changes in watchfiles.watch(*folders, step=STEP, debounce=MOST, stop_event=ended):
            send_message(sorted({path for _, path in changes}))
    except OSError as error:
        # For example: the user's limit of inotify watches is reached.
        send_message(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
