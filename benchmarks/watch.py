"""Times ``--watch``: from a save to the verdict, against a fresh ``pytest`` on the same kata.

    python benchmarks/watch.py [RUNS [KIND ...]]

For a Python, a C++ and a CUDA kata: `--watch` runs in a terminal, a line is added to the solved
exercise, and the clock stops at the verdict; then the whole command runs with another line added.
Both run in turn on a copy of the course in a temporary folder; the medians are compared. A table
says where the time from the save to the verdict goes. At last the stub is saved, and the clock
stops when its first failing test is shown. Needs
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
from collections import defaultdict
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

import pexpect


ROOT = Path(__file__).parents[1]
# Of the verdict, as a ratio; of the first failing test, in seconds on an idle machine.
GOALS = {"Python": 0.12, "C++": 0.21, "CUDA C++": 0.30}
FIRST = 0.3
KATAS = {
    "Python": "lecture02/k02_strides.py",
    "C++": "lecture04/csrc/k02_clamp.cpp",
    "CUDA C++": "lecture09/csrc/k03_axpy.cu",
}
SECONDS = 600
# A learner's Python writes bytecode, for the tests too.
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
}
VERDICT = " is solved: "
KEYS = "q quit"
FAILS = "test    test_"
# What ends each phase, in their order.
PHASES = ("report", "fork", "configure", "collect", "tests", "tell")


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


@dataclass
class Times:
    """Seconds of the runs of one kata: to the verdict, of a fresh pytest, to the first failure.

    `phases` has the seconds of each phase on the way to a verdict.
    """

    warm: list[float] = field(default_factory=list)
    fresh: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    phases: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def phases_of(file: Path, begin: float) -> dict[str, float]:
    """Return the seconds that each phase took, of those noted since `begin`."""
    found: dict[str, float] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        name, moment = line.split()
        if float(moment) >= begin:
            found.setdefault(name, float(moment) - begin - sum(found.values()))
    return found


def measured(folder: Path, name: str, runs: int) -> Times:
    """Return the times of a kata, of which the first of each kind does not count."""
    exercise, test = folder / "katas" / name, test_of(name)
    mark = "#" if exercise.suffix == ".py" else "//"
    stub = exercise.read_text(encoding="utf-8")
    solve(folder, name)
    solution = exercise.read_text(encoding="utf-8")
    number, noted = itertools.count(), folder / "phases"

    def save(text: str = solution) -> float:
        exercise.write_text(f"{text}\n{mark} {next(number)}\n", encoding="utf-8")
        return time.monotonic()

    save()
    cold(folder, test)
    terminal = pexpect.spawn(
        sys.executable,
        ["-m", "pytest", test, "--watch"],
        cwd=str(folder),
        env={**ENVIRONMENT, "TERM": "dumb", "KATAS_PHASES": str(noted)},
        timeout=SECONDS,
    )
    terminal.expect_exact(KEYS)
    times = Times()
    for _ in range(runs + 1):
        start = save()
        terminal.expect_exact(VERDICT)
        times.warm.append(time.monotonic() - start)
        terminal.expect_exact(KEYS)
        for phase, seconds in phases_of(noted, start).items():
            times.phases[phase].append(seconds)
        # The watching process must not run the save meant for the fresh one.
        terminal.sendcontrol("z")
        save()
        times.fresh.append(cold(folder, test))
        terminal.kill(signal.SIGCONT)
        # The screen is drawn anew, and then the save is run after all.
        terminal.expect_exact(KEYS)
        terminal.expect_exact(VERDICT)
        terminal.expect_exact(KEYS)
    for _ in range(runs + 1):
        start = save(stub)
        terminal.expect_exact(FAILS)
        times.first.append(time.monotonic() - start)
        terminal.expect_exact(KEYS)
    terminal.send("q")
    terminal.expect(pexpect.EOF)
    rest = {phase: seconds[1:] for phase, seconds in times.phases.items()}
    return Times(times.warm[1:], times.fresh[1:], times.first[1:], rest)


def main() -> None:
    """Measure each kata and print the medians, their ratio, and the share of each phase."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "course")
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*"))
        for kind in sys.argv[2:] or KATAS:
            times = measured(folder, KATAS[kind], runs)
            one, other, first = map(statistics.median, (times.warm, times.fresh, times.first))
            print(f"{kind:9} save to verdict {one:6.3f} s   pytest {other:6.3f} s", end="")
            print(f"   ratio {one / other:.3f}  (goal: at most {GOALS[kind]})")
            print(f"{'':9} first failing test {first:.3f} s  (goal: at most {FIRST} s)")
            for phase in PHASES:
                seconds = statistics.median(times.phases[phase])
                print(f"{'':9} {phase:9} {seconds:6.3f} s   {seconds / other:.3f} of pytest")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
