"""The client of `tests.gate.server`: sends it up to `jobs` runs at a time, yields results."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Self

from plugins.tools.processes import usable_processors
from tests.gate.protocol import Result
from tests.gate.protocol import Run
from tests.gate.protocol import dump
from tests.gate.protocol import load_result


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Iterator


HOME = Path(__file__).parents[2]


class Runner:
    """A warm process, started with the first run."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs or min(usable_processors(), 4)
        self.count = 0
        # Of all runs: their time, by the clock and of processors, and the files that they opened.
        self.seconds = self.cpu = 0.0
        self.opened: set[str] = set()
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def stop(self) -> None:
        """End the process and its runs; `each`, in another thread, raises RuntimeError."""
        if self.process and self.process.stdin:
            self.process.stdin.close()

    def __exit__(self, *_: object) -> None:
        if self.process and self.process.stdin:
            # At the end of its input it kills its children, cleans up and exits.
            self.process.stdin.close()
            self.process.wait()
        if self.process and self.process.stdout:
            self.process.stdout.close()

    def _server(self) -> subprocess.Popen[str]:
        if self.process is None:
            variables = {
                "PYTHONPATH": str(HOME),
                "PYTHONHASHSEED": "0",
                "COLUMNS": "100",
                # A check through CUDA itself would make CUDA unusable in every fork.
                "PYTORCH_NVML_BASED_CUDA_CHECK": "1",
                # Triton decides while it is imported how its own functions run.
                "TRITON_INTERPRET": "1",
            }
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.gate.server"],
                cwd=HOME,
                env={**os.environ, **variables},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self.process

    def one(self, run: Run) -> Result:
        """Run one session to its end."""
        return next(self.each([run]))[1]

    def each(self, runs: Iterable[Run]) -> Iterator[tuple[Run, Result]]:
        """Yield each run with its result, in the order in which they end."""
        server = self._server()
        assert server.stdin is not None
        assert server.stdout is not None
        waiting = iter(runs)
        flying: dict[str, Run] = {}
        while True:
            while len(flying) < self.jobs and (run := next(waiting, None)):
                self.count += 1
                flying[str(self.count)] = run
                server.stdin.write(dump(replace(run, label=str(self.count))) + "\n")
                server.stdin.flush()
            if not flying:
                return
            line = server.stdout.readline()
            if not line:
                raise RuntimeError("the gate's server has ended; its output is above")
            result = load_result(line)
            self.seconds += result.seconds
            self.cpu += result.cpu
            self.opened.update(result.opened)
            # A caller that stopped early leaves runs behind: their results are dropped.
            if known := flying.pop(result.label, None):
                yield known, result
