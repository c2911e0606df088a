"""Times ``--watch``: from a save to the verdict, against a fresh ``pytest`` on the same kata.

    python benchmarks/watch.py [RUNS [KIND ...]]

For a Python, a C++ and a CUDA kata: `--watch` runs in a terminal, a line is added to the solved
exercise, and the clock stops at the verdict; then the whole command runs with another line added.
Both run in turn on a copy of the course in a temporary folder; the medians are compared. Needs
`python -m pip install -U pip && python -m pip install --group terminal`.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pexpect


ROOT = Path(__file__).parents[1]
GOAL = 0.15
KATAS = {
    "Python": "lecture02/k01_strides.py",
    "C++": "lecture04/csrc/k03_clamp.cpp",
    "CUDA C++": "lecture09/csrc/k03_axpy.cu",
}
SECONDS = 600
# A learner's Python writes bytecode, for the tests too.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
VERDICT = " is solved: "
KEYS = "q quit"


def test_of(name: str) -> str:
    """Return the test module of an exercise."""
    path = Path(name)
    return f"katas/{path.parts[0]}/test_{path.stem}.py"


def solve(folder: Path, name: str) -> None:
    """Copy the solution over a kata's files."""
    lecture = folder / "katas" / Path(name).parts[0]
    for file in (lecture / "solutions").rglob(f"{Path(name).stem}.*"):
        shutil.copy(file, lecture / file.relative_to(lecture / "solutions"))


def cold(folder: Path, test: str) -> float:
    """Return the wall time of one run of a kata, which must pass."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", test]
    subprocess.run(command, cwd=folder, env=ENVIRONMENT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measured(folder: Path, name: str, runs: int) -> list[tuple[float, float]]:
    """Return, for each run, the seconds from a save to its verdict and of a fresh pytest."""
    exercise, test = folder / "katas" / name, test_of(name)
    mark = "#" if exercise.suffix == ".py" else "//"
    solve(folder, name)
    solution = exercise.read_text(encoding="utf-8")
    number = itertools.count()

    def save() -> None:
        exercise.write_text(f"{solution}\n{mark} {next(number)}\n", encoding="utf-8")

    save()
    cold(folder, test)
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "pytest", test, "--watch"],
        cwd=str(folder),
        env={**ENVIRONMENT, "TERM": "dumb"},
        timeout=SECONDS,
    )
    terminal.expect_exact(KEYS)
    times = []
    for _ in range(runs + 1):
        save()
        start = time.perf_counter()
        terminal.expect_exact(VERDICT)
        warm = time.perf_counter() - start
        terminal.expect_exact(KEYS)
        # The watching process must not run the save meant for the fresh one.
        terminal.sendcontrol("z")
        save()
        times.append((warm, cold(folder, test)))
        terminal.kill(signal.SIGCONT)
        # The screen is drawn anew, and then the save is run after all.
        terminal.expect_exact(KEYS)
        terminal.expect_exact(VERDICT)
        terminal.expect_exact(KEYS)
    terminal.send("q")
    terminal.expect(pexpect.EOF)
    return times[1:]


def main() -> None:
    """Measure each kata and print the medians and their ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "course")
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*"))
        for kind in sys.argv[2:] or KATAS:
            name = KATAS[kind]
            warm, fresh = zip(*measured(folder, name, runs), strict=True)
            one, other = statistics.median(warm), statistics.median(fresh)
            goal = f"  (goal: at most {GOAL})" if kind == "Python" else ""
            print(f"{kind:9} save to verdict {one:6.3f} s   pytest {other:6.3f} s", end="")
            print(f"   ratio {one / other:.3f}{goal}", flush=True)


if __name__ == "__main__":
    main()
