"""Times the crash guard: a cold run that imports torch, with the guard and without.

    python benchmarks/crashguard.py [RUNS]

Both commands run in turn; the medians are compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path


ROOT = Path(__file__).parents[1]
KATA = "katas/lecture02/test_k02_strides.py"
GOAL = 1.02


def seconds(*options: str) -> float:
    """Return the wall time of one run of the kata, which must pass."""
    command = [sys.executable, "-m", "pytest", "-q", "--solutions", KATA, *options]
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=os.environ, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Run both in turn and print the medians and their ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    seconds(), seconds("--no-crashguard")
    times = [(seconds(), seconds("--no-crashguard")) for _ in range(runs)]
    guarded, bare = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"with the crash guard     {guarded:.3f} s")
    print(f"without                  {bare:.3f} s")
    print(f"ratio                    {guarded / bare:.3f}  (goal: at most {GOAL})")


if __name__ == "__main__":
    main()
