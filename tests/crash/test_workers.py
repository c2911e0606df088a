"""How the worker of xdist that ran a test has ended."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

from plugins.workers import status_of


def test_the_status_is_that_of_the_process() -> None:
    """Of one on this machine."""
    popen = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    node = SimpleNamespace(gateway=SimpleNamespace(_io=SimpleNamespace(popen=popen)))

    assert 3 == status_of(node)


def test_the_status_may_be_unknown() -> None:
    """Of a process on another machine, or of one that does not end."""

    class Immortal:
        def wait(self, seconds: float) -> int:
            raise subprocess.TimeoutExpired("worker", seconds)

    node = SimpleNamespace(gateway=SimpleNamespace(_io=SimpleNamespace(popen=Immortal())))

    assert status_of(node) is None
    assert status_of(SimpleNamespace(gateway=SimpleNamespace())) is None
