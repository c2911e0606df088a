"""Locks between processes: they exclude others, and end with their holder."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from plugins.tools.locks import locked
from plugins.tools.locks import slot
from plugins.tools.processes import usable_processors


if TYPE_CHECKING:
    from pathlib import Path

    import pytest


HOLD = """
import sys, time
from pathlib import Path
from plugins.tools.locks import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    """A build that is killed does not block later ones."""
    file = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout
        assert b"held\n" == holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)

        with locked(file):
            assert file.exists()


def test_there_are_as_many_slots_as_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more compiler has to wait until another ends."""
    waited = []
    with ExitStack() as stack:
        for _ in range(usable_processors()):
            last = stack.enter_context(ExitStack())
            last.enter_context(slot(tmp_path))

        def wait(seconds: float) -> None:
            waited.append(seconds)
            last.close()

        monkeypatch.setattr("time.sleep", wait)
        with slot(tmp_path):
            assert 1 == len(waited)
