"""Times a C++ kata: our build against ``load_inline``, and the whole command.

    python benchmarks/native.py [RUNS]

Every measurement is a new process, after a changed line of the operator; compared ones run in
turn. The headers of each tier are compiled before the clock starts. The last column is the ratio
of processor times, which a busy machine distorts less.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path


ROOT = Path(__file__).parents[1]
# Where each source is, the namespace that it registers in, and a use of what it registers.
TWICE = "torch.ops.lecture01_k01.twice(torch.ones(1))"
SOURCES = {
    "full": (ROOT / "tests/native/full.cpp", "lecture01_k01", TWICE),
    "small": (ROOT / "tests/native/small.cpp", "lecture01_k01", TWICE),
    "frontend": (
        ROOT / "katas/lecture11/solutions/csrc/k11_frontend.cpp",
        "lecture11_k11",
        "torch.classes.lecture11_k11.Net(1, 1, 1).names()",
    ),
}
# What an edit changes, and what it makes of it.
EDITS = {
    "2 * from[i]": "{} * from[i]",
    "self.mul(2)": "self.mul({})",
    "at::ones({outputs})": "at::full({outputs}, {}.0)",
}
BUILD = ROOT / ".katas/build"
FACTORS = count(int(time.time()))
CLOCK = """
import resource, time

def clock():
    whole = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in whole)
"""
OURS = f"""{CLOCK}
import sys
from pathlib import Path
import torch
from plugins.native.builder import Builder
from plugins.native.loader import load_library
from plugins.native.sources import read_unit
from plugins.native.toolchain import find_toolchain

source = Path(sys.argv[1])
start = clock()
unit = read_unit(sys.argv[3], [source], source.parent, source.parent)
reason = load_library(Builder(find_toolchain(), Path(sys.argv[2])).build(unit))
end = clock()
assert reason is None and eval(sys.argv[-1]), reason
print(end[0] - start[0], end[1] - start[1])
"""
INLINE = f"""{CLOCK}
import sys
from pathlib import Path
import torch
from torch.utils.cpp_extension import load_inline

source = Path(sys.argv[1]).read_text()
start = clock()
load_inline("inline", source, build_directory=sys.argv[2], is_python_module=False)
end = clock()
assert eval(sys.argv[-1])
print(end[0] - start[0], end[1] - start[1])
"""
WHOLE = f"""{CLOCK}
import subprocess, sys

start = clock()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
end = clock()
print(end[0] - start[0], end[1] - start[1])
"""
TEST = """
import pytest
import torch

pytestmark = pytest.mark.backend("cxx")


def test_twice(extension):
    assert extension.op("twice")(torch.ones(1)).item() > 1
"""
TABLE = """
title = "benchmark"
[syllabus]
a = "benchmark"
[[kata]]
name = "k01_twice"
title = "benchmark"
kind = "cpp"
syllabus = ["a"]
episodes = []
upstream = []
hints = ["1", "2", "3"]
csrc = ["csrc/k01_twice.cpp"]
"""

Times = tuple[float, float]


def edit(tier: str, target: Path) -> Path:
    """Write the operator with a new factor in its kernel."""
    text = SOURCES[tier][0].read_text(encoding="utf-8")
    factor = next(FACTORS)
    for line, made in EDITS.items():
        text = text.replace(line, made.replace("{}", str(factor)))
    target.write_text(text, encoding="utf-8")
    return target


def run(command: list[str | Path], folder: Path, **variables: str) -> str:
    """Run a command with the course importable, and return what it prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KATAS_BUILD": str(BUILD), **variables}
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, text=True, stdout=subprocess.PIPE
    )
    return done.stdout


def times(text: str) -> Times:
    """Return the seconds of wall time and of processor time."""
    wall, cpu = text.split()
    return float(wall), float(cpu)


def ours(tier: str, folder: Path, **variables: str) -> Times:
    """Return the times from a changed line to a loaded operator, built as the fixture does."""
    source = edit(tier, folder / f"{tier}.cpp")
    command = [sys.executable, "-c", OURS, source, BUILD, *SOURCES[tier][1:]]
    return times(run(command, folder, **variables))


def inline(tier: str, folder: Path) -> Times:
    """Return the times that ``load_inline`` takes for the same."""
    source, build = edit(tier, folder / f"{tier}.cpp"), folder / f"inline-{tier}"
    build.mkdir(exist_ok=True)
    return times(run([sys.executable, "-c", INLINE, source, build, SOURCES[tier][2]], folder))


def command(folder: Path, *, edited: bool) -> Times:
    """Return the times of a whole run of pytest on a kata, after an edit or again."""
    source = folder / "katas/lecture01/csrc/k01_twice.cpp"
    if edited:
        edit("full", source)
    text = run([sys.executable, "-c", WHOLE, sys.executable, "-m", "pytest", "-q"], folder)
    return times(text)


def course(folder: Path) -> Path:
    """Write a course of one kata, with the real plugins."""
    lecture = folder / "katas/lecture01"
    (lecture / "csrc").mkdir(parents=True)
    for name in ("conftest.py", "pyproject.toml", "episodes.toml", "katas/__init__.py"):
        shutil.copy(ROOT / name, folder / name)
    package = "from katas import overlay\n\n__path__ = overlay(__path__)\n"
    (lecture / "__init__.py").write_text(package)
    (lecture / "lecture.toml").write_text(TABLE)
    (lecture / "test_k01_twice.py").write_text(TEST)
    return folder


def row(what: str, mine: list[Times], others: list[Times], goal: float) -> None:
    """Print two medians, their ratio and the goal, and the ratio of processor times."""
    (one, one_cpu), (other, other_cpu) = (
        (statistics.median(wall for wall, _ in both), statistics.median(cpu for _, cpu in both))
        for both in (mine, others)
    )
    print(
        f"{what:42} {one:6.2f} s {other:6.2f} s {one / other:6.3f} (goal: at most {goal:4})"
        f" {one_cpu / other_cpu:6.3f}"
    )


def main() -> None:
    """Measure all pairs in turn and print one row for each."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        folder, whole = Path(name), course(Path(name) / "course")
        gxx = {"KATAS_CXX": "g++"}
        # Compile the headers, and get the files into the page cache.
        BUILD.mkdir(parents=True, exist_ok=True)
        ours("full", folder), ours("small", folder), ours("full", folder, **gxx)
        command(whole, edited=True), command(whole, edited=False)
        full, small, frontend = [], [], []
        for _ in range(runs):
            full.append((ours("full", folder), ours("full", folder, **gxx), inline("full", folder)))
            small.append((ours("small", folder), inline("small", folder)))
            frontend.append((ours("frontend", folder), inline("frontend", folder)))
        both = [
            (command(whole, edited=True), command(whole, edited=False)) for _ in range(5 * runs)
        ]
    mine, fallback, others = (list(column) for column in zip(*full, strict=True))
    row("operator with C++ autograd, load_inline", mine, others, 0.08)
    row("the same by g++, load_inline", fallback, others, 0.3)
    row("operator, forward only, load_inline", *map(list, zip(*small, strict=True)), 0.03)
    row("C++ frontend of lecture 11, load_inline", *map(list, zip(*frontend, strict=True)), 0.2)
    row("pytest after an edit, with nothing to build", *map(list, zip(*both, strict=True)), 1.15)


if __name__ == "__main__":
    main()
