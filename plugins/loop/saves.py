"""Tells of saved files, from a process of its own.

Whoever asks has imported torch and is about to fork, so it must have no threads; a library that
watches files has some.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.watchdog import GRACE


if TYPE_CHECKING:
    from collections.abc import Iterable


# In milliseconds: how often the library looks whether more has changed before it tells, and
# for how long at most. An editor that truncates, writes and renames makes several changes.
STEP = 20
MOST = 100


class Saves:
    """The files that are saved below some folders, as they are saved."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - this module
            [sys.executable, "-m", "plugins.saves", *map(str, folders)],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Ctrl-C on the terminal is not for it.
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self._output = self.process.stdout
        self._pipe = self._output.fileno()
        self._rest = b""
        # Why there will be no more.
        self.trouble = ""

    def fileno(self) -> int:
        """Return what to wait for."""
        return self._pipe

    def read(self) -> list[Path] | None:
        """Return the files that were saved, none at first, when it begins to watch.

        None means that it has ended: `trouble` says why.
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
        """Leave the process to the one that started it, in a fork of that one."""
        self._output.close()
        # Or Python would warn that it still runs.
        self.process.returncode = 0

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.communicate(timeout=GRACE * 10)


class Reader:
    """Whoever wants to know; `watchfiles` stops once it is gone."""

    def __init__(self) -> None:
        self._number = os.getppid()
        self._greeted = False

    def is_set(self) -> bool:
        """Whether to stop; the first time it is asked, `watchfiles` watches."""
        if not self._greeted:
            self._greeted = True
            say([])
        return os.getppid() != self._number


def say(what: object) -> None:
    """Write a line for `Saves`."""
    print(json.dumps(what), flush=True)  # noqa: T201 - the answer


def main(folders: Iterable[str]) -> None:
    """Tell what is saved until nobody wants to know."""
    import watchfiles  # noqa: PLC0415 - no run but this one needs it

    reader = Reader()
    try:
        for changes in watchfiles.watch(*folders, step=STEP, debounce=MOST, stop_event=reader):
            say(sorted({path for _, path in changes}))
    except OSError as error:
        # For example: the system watches no more files for this user.
        say(str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
