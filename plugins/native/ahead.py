"""Under ``--watch``, builds a kata in a process that has begun before the run.

Like that of `plugins.native.prebuild` the process only fills the build folder.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.course.session import course_root
from plugins.native.folder import build_folder
from plugins.native.languages import find_languages
from plugins.native.languages import language_names
from plugins.native.plugin import begun_key
from plugins.native.prebuild import main
from plugins.native.prebuild import wait_for_source
from plugins.native.prebuild import write_request
from plugins.native.sources import library_sources
from plugins.native.toolchain import ToolchainError
from plugins.native.toolchain import find_compiler
from plugins.tools.processes import fork_process


if TYPE_CHECKING:
    from plugins.course.model import Kata


# What the owner tells the process that builds ahead, and what that answers.
BEGIN, ENDED = b"+", b"."
# The folder of a compiler that waits, in the build folder.
WAITS = "waits-"


class BuildAhead:
    """Builds in a fork of this process, which has no threads: no second Python has to start.

    The fork stays, with a compiler that waits for the next content of the same kata.
    """

    def __init__(self) -> None:
        self.owner = os.getpid()
        # The fork, and what it builds.
        self.process, self.request = 0, ""
        # To tell it to go on, and to hear that it has ended.
        self._go, self._ended = -1, -1
        # Where its compiler waits.
        self._place = ""

    def start(self, request: str) -> None:
        """Begin to build what `request` asks for; a build that goes on is out of date."""
        if self.process and self.request == request and self._has_ended():
            # It may have been killed since.
            with suppress(BrokenPipeError):
                os.write(self._go, BEGIN)
                return
        self.stop()
        self._place = tempfile.mkdtemp(dir=json.loads(request)["folder"], prefix=WAITS)
        wait, self._go = os.pipe()
        self._ended, tell = os.pipe()
        os.set_blocking(self._ended, False)
        self.process = fork_process(partial(self._stay, request, wait, tell))
        self.request = request
        # The fork does so too: either may come first.
        with suppress(OSError):
            os.setpgid(self.process, self.process)
        os.close(wait)
        os.close(tell)

    def _has_ended(self) -> bool:
        try:
            return os.read(self._ended, 1) == ENDED
        except BlockingIOError:
            return False

    def _stay(self, request: str, wait: int, tell: int) -> None:
        """Build, silently, in a process group of its own, until the owner has gone."""
        os.setpgid(0, 0)
        # The owner hears of its signals through a pipe, which is this process's too.
        signal.set_wakeup_fd(-1)
        # Else it would not see that the owner has gone.
        os.close(self._go)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        build_again(request, Path(self._place), wait, tell)

    def stop(self) -> None:
        """End the fork and its compilers; in another fork, do nothing."""
        if self.process and os.getpid() == self.owner:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            os.close(self._go)
            os.close(self._ended)
            shutil.rmtree(self._place, ignore_errors=True)
            self.process = 0


def build_again(request: str, place: Path, wait: int, tell: int) -> None:
    """Build now and at each `BEGIN` from the pipe `wait`, until that is closed; answer to `tell`.

    In between, a compiler waits in the folder `place`, which is removed at the end.
    """
    begin, waiting = BEGIN, None
    while begin:
        main(request, waiting)
        if waiting:
            waiting.end()
        waiting = wait_for_source(request, place)
        os.write(tell, ENDED)
        begin = os.read(wait, 1)
    if waiting:
        waiting.end()
    shutil.rmtree(place, ignore_errors=True)


ahead_key = pytest.StashKey[BuildAhead]()


@pytest.hookimpl(optionalhook=True)
def pytest_kata_before_fork(config: pytest.Config, kata: Kata | None) -> None:
    """Begin to build the kata that ``--watch`` runs next, before that run begins."""
    if (ahead := config.stash.get(ahead_key, None)) is None:
        config.stash[ahead_key] = ahead = BuildAhead()
        config.add_cleanup(ahead.stop)
    config.stash[begun_key] = False
    names = language_names(config)
    if kata is None or not library_sources(kata, find_languages(names)):
        ahead.stop()
        return
    # What is missing is reported by the test that needs it.
    with suppress(OSError, ToolchainError):
        # Once here, and in no fork.
        find_compiler()
        root = course_root(config)
        ahead.start(write_request([kata], build_folder(root)[0], root, names))
        config.stash[begun_key] = True
