"""A process that is forked to run pytest, and ends when it is told to."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from plugins import forkedrun
from plugins.forkedrun import ForkedRun
from plugins.forkedrun import fork
from tests.terminal import eventually
from tests.terminal import gone


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def begun(work: Callable[[], object]) -> ForkedRun:
    """Fork a process that does this and ends."""
    run = fork([signal.SIGUSR1], lambda: None)
    if run:
        return run
    try:
        work()
    finally:
        os._exit(3)


def test_a_run_ends_by_itself() -> None:
    """It has a process group of its own, nothing to read, and leaves its status."""
    run = begun(lambda: os._exit(7 if (os.getpgrp(), os.read(0, 1)) == (os.getpid(), b"") else 1))

    assert eventually(run.ended)
    assert 7 == run.code
    assert run.ended()


@pytest.mark.parametrize("deaf", [False, True])
def test_a_run_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, deaf: bool) -> None:
    """With what it has started; by force, if it does not listen."""
    monkeypatch.setattr(forkedrun, "GRACE", 0.2 if deaf else 60)

    def work() -> None:
        if deaf:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = os.fork()
        if child:
            (tmp_path / "new").write_text(str(child))
            (tmp_path / "new").rename(tmp_path / "begun")
        time.sleep(1000)

    run = begun(work)
    assert eventually((tmp_path / "begun").exists)
    run.drop()

    assert -(signal.SIGKILL if deaf else signal.SIGTERM) == run.code
    assert eventually(lambda: gone(run.process, int((tmp_path / "begun").read_text())))


def test_a_signal_waits_until_the_run_has_its_handlers() -> None:
    """The handlers of its parent are not for it."""
    before = signal.signal(signal.SIGUSR1, lambda *_: os._exit(1))

    def begin() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        signal.signal(signal.SIGUSR1, lambda *_: os._exit(5))

    run = fork([signal.SIGUSR1], begin)
    if not run:
        time.sleep(100)
        os._exit(2)
    assert eventually(run.ended)
    signal.signal(signal.SIGUSR1, before)

    assert 5 == run.code


def test_a_run_without_a_parent_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent may have been killed before the run could ask to end with it."""

    def work() -> None:
        monkeypatch.setattr("os.getppid", lambda: 1)
        forkedrun.cut_off(os.getpid())

    run = begun(work)

    assert eventually(run.ended)
    assert 1 == run.code
