"""Accepts the output of the solutions as the expected output of their expect tests.

    python -m tests.gate.accept katas/lecture04/test_k08_torch_dispatch.py

expecttest 0.3.0 compares line numbers from before and after its own edits of a file, so one round
may miss some outputs. Rounds repeat until the tests pass without accepting anything.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


ROUNDS = 5


def main(arguments: list[str]) -> int:
    """Return 0 once the solutions pass with the files unchanged, 1 if they never do."""
    command = [sys.executable, "-m", "pytest", "-q", "--solutions", *arguments]
    for _ in range(ROUNDS):
        subprocess.run(command, env={**os.environ, "EXPECTTEST_ACCEPT": "1"}, check=False)
        # expecttest leaves a copy of each file that it has changed.
        for copy in Path.cwd().glob("katas/**/*.py.bak"):
            copy.unlink()
        if subprocess.run(command, check=False).returncode == 0:
            return 0
    sys.stderr.write(f"the solutions still fail after {ROUNDS} rounds\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
