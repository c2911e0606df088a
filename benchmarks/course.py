"""Times the map: ``pytest --course`` against ``pytest --version``, which loads no plugin.

    python benchmarks/course.py [RUNS]

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
GOAL = 1.9
# A learner's Python writes bytecode.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}


def seconds(option: str) -> float:
    """Return the wall time of one run."""
    command = [sys.executable, "-m", "pytest", option]
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Run both in turn and print the medians and their ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    seconds("--version"), seconds("--course")
    times = [(seconds("--version"), seconds("--course")) for _ in range(runs)]
    version, course = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"pytest --version   {version:.3f} s")
    print(f"pytest --course    {course:.3f} s")
    print(f"ratio              {course / version:.2f}  (goal: at most {GOAL})")


if __name__ == "__main__":
    main()
