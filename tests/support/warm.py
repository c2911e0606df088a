"""Runs of a small course that fork from a process that has imported pytest, and torch if asked.

Such a run is as good as ``python -m pytest``, without the seconds that importing takes; see
warm_server.py. Where it would not be, it is ``python -m pytest``.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import Self

from tests import measuring


if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Sequence
    from typing import TextIO


SERVER = Path(__file__).with_name("warm_server.py")
PYTEST = ("pytest",)
TORCH = ("numpy", "torch", "torch.testing", "hypothesis", "expecttest")


class Fork:
    """A run, as far as `pytest.Pytester.run` needs a `subprocess.Popen`."""

    stdin = None

    def __init__(self, answers: socket.socket) -> None:
        self.answers = answers
        self.pid = self._number()

    def wait(self, timeout: float | None = None) -> int:
        """Return the status of the run's end.

        Raises
        ------
        subprocess.TimeoutExpired
            If it has not ended in time.
        """
        self.answers.settimeout(timeout)
        try:
            status = self._number()
        except TimeoutError:
            raise subprocess.TimeoutExpired("pytest", timeout or 0) from None
        self.answers.close()
        return status

    def end(self) -> None:
        """Kill the run if nobody has waited until its end."""
        if self.answers.fileno() >= 0:
            self.kill()
            self.answers.close()

    def kill(self) -> None:
        """Kill the run, and what it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def _number(self) -> int:
        if text := self.answers.recv(64):
            return int(text)
        raise RuntimeError("the warm process has ended; its output is above")


class Server:
    """A process that has imported some modules; it starts with its first run."""

    def __init__(self, modules: Sequence[str], environment: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # In a group of its own: Ctrl-C ends the tests, which end it.
            self.process = subprocess.Popen(
                [sys.executable, SERVER, str(theirs.fileno()), *modules],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self.requests = ours
        self.running: Fork | None = None

    def popen(
        self, command: Sequence[str], stdout: TextIO, stderr: TextIO, **_stdin: object
    ) -> Fork:
        """Start a run, as `pytest.Pytester.popen` does: its standard input is empty."""
        paths = (str(Path.cwd()), os.environ.get("PYTHONPATH", ""))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        request = {
            "command": command,
            "folder": str(Path.cwd()),
            "environment": environment,
            # A shell's background job ignores Ctrl-C, and what it starts inherits that.
            "deaf": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
        }
        ours, theirs = socket.socketpair()
        with theirs:
            files = [theirs.fileno(), stdout.fileno(), stderr.fileno()]
            socket.send_fds(self.requests, [b"?"], files)
        self.requests.sendall(json.dumps(request).encode() + b"\n")
        if self.running:
            self.running.end()
        self.running = Fork(ours)
        return self.running

    def close(self) -> None:
        """End the process, and a run that somebody has interrupted."""
        if self.running:
            self.running.end()
        self.requests.close()
        self.process.wait()


class Warm:
    """The warm processes of a session of tests, one for each set of modules.

    Those whose forks are measured, see `tests.measuring`, are others than those whose are not.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = {**environment}
        for name in ("PYTHONPATH", measuring.VARIABLE):
            self.environment.pop(name, None)
        self.servers: dict[tuple[str | None, ...], Server] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self.servers.values():
            server.close()

    def popen(self, modules: tuple[str, ...], *args: Any, **options: Any) -> Fork:
        """Start a run in a process that has imported `modules`."""
        setting = os.environ.get(measuring.VARIABLE)
        key = (setting, *modules)
        if key not in self.servers:
            settings = {measuring.VARIABLE: setting} if setting else {}
            self.servers[key] = Server(modules, self.environment | settings)
        return self.servers[key].popen(*args, **options)
