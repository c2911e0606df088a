"""Times the plugins: a solved Python kata with all of them and with none.

    python benchmarks/plugins.py [RUNS]

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
# Not a kata with Hypothesis: the plugins set how many examples it draws.
KATA = "katas/lecture04/test_k08_torch_dispatch.py"
GOAL = 1.05


def plugins() -> list[str]:
    """Return the names in the root conftest's tuple."""
    namespace: dict[str, tuple[str, ...]] = {}
    exec((ROOT / "conftest.py").read_text(encoding="utf-8"), namespace)  # noqa: S102 - our file
    return [name for name in namespace["pytest_plugins"] if name.startswith("plugins.")]


def seconds(*options: str) -> float:
    """Return the wall time of one run of the kata, which must pass."""
    command = [sys.executable, "-m", "pytest", "-q", KATA, *options]
    environment = {**os.environ, "KATAS_SOLUTIONS": "1"}
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Run both in turn and print the medians and their ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    without = [option for name in plugins() for option in ("-p", f"no:{name}")]
    # Strict makes unknown marks errors, and the plugins declare the marks.
    without += ["-o", "strict=false"]
    seconds(), seconds(*without)
    times = [(seconds(), seconds(*without)) for _ in range(runs)]
    with_plugins, bare = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"with all plugins     {with_plugins:.3f} s")
    print(f"with none of them    {bare:.3f} s")
    print(f"ratio                {with_plugins / bare:.3f}  (goal: at most {GOAL})")


if __name__ == "__main__":
    main()
