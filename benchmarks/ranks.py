"""Times ranks: against torch.multiprocessing.spawn, and against importing torch.

    python benchmarks/ranks.py [RUNS]

One test runs the same function, an all_reduce of four ranks, both ways in turn. The start of the
fixture's server is not counted: it happens once, before the first test.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path


ROOT = Path(__file__).parents[1]
GOALS = {"spawn": 0.1, "import": 0.5}
TEST = """
import os, tempfile, time
import torch
from torch import distributed as dist
from torch import multiprocessing


def summed():
    tensor = torch.ones(1000)
    dist.all_reduce(tensor)
    assert 4 == tensor[0]


def nothing():
    return None


def spawned(rank, place):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=4)
    summed()


def test_both(world):
    world(summed, 4)
    for _ in range(int(os.environ["RUNS"])):
        start = time.perf_counter()
        world(summed, 4)
        ours = time.perf_counter()
        world(nothing, 4, backend=None)
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            multiprocessing.spawn(spawned, (f"{folder}/store",), nprocs=4)
        end = time.perf_counter()
        with open("times", "a") as file:
            print(ours - start, begun - ours, end - begun, file=file)
"""


def importing() -> float:
    """Return the seconds that a fresh Python takes to import torch, without its start."""
    code = "import time; s = time.perf_counter(); import torch; print(time.perf_counter() - s)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def measured(runs: int) -> list[list[float]]:
    """Return the times of the fixture, of starting ranks alone, and of spawn, in seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in ("conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / file, folder)
        (folder / "test_both.py").write_text(TEST)
        command = [sys.executable, "-m", "pytest", "-q", "test_both.py", "-o", "kata_timeout=0"]
        environ = {**os.environ, "PYTHONPATH": str(ROOT), "RUNS": str(runs)}
        subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
        lines = (folder / "times").read_text().splitlines()
    return [[float(number) for number in line.split()] for line in lines]


def main() -> None:
    """Print one row for each pair."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    imports = [importing() for _ in range(runs)]
    columns = zip(*measured(runs), strict=True)
    ours, begun, spawn = (statistics.median(column) for column in columns)
    imports += [importing() for _ in range(runs)]
    torch = statistics.median(imports)
    for label, one, other, goal in (
        ("four ranks and an all_reduce, spawn", ours, spawn, GOALS["spawn"]),
        ("start of four ranks, import torch", begun, torch, GOALS["import"]),
    ):
        row = f"{one:6.3f} s {other:6.3f} s {one / other:6.3f}"
        print(f"{label:42} {row} (goal: at most {goal})")


if __name__ == "__main__":
    main()
