"""Whatever a rank does, the test has a verdict that names it, and no process is left."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from plugins import ROOT
from plugins.tools.processes import usable_memory
from tests.conftest import CLEARED
from tests.support.patience import PATIENT
from tests.support.patience import PLUGINS
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.support.warm import Fork
    from tests.support.warm import Warm


pytestmark = [pytest.mark.torch, pytest.mark.slow]

# The time of the ranks, which is over when a fault says so: a busy machine is slow to begin.
SECONDS = 500
CLOCK = """
    import time
    from pathlib import Path
    from types import SimpleNamespace

    def monotonic():
        return time.monotonic() + 1000 * len(list(Path().glob("over.*")))

    rankserver.time = SimpleNamespace(monotonic=monotonic)
"""
TESTS = """


@pytest.mark.time_limit(300)
@pytest.mark.parametrize("name", {names!r})
def test_fault(world, name):
    world(globals()[name], 4, timeout={seconds})
"""
# Lines of the verdict, in this order, as patterns.
FAULTS = {
    "assertion": [
        "AssertionError: rank 2 of 4: assert [[]4.0, 4.0, 5.0] == [[]4.0, 4.0, 4.0]",
        "rank 2 raised AssertionError",
        "test_faults.py:*: in assertion",
        "*assert [[]4.0, 4.0, 5.0] == total.tolist()",
        "*At index 2 diff: 5.0 != 4.0",
        "ranks 0, 1, 3 waited in barrier, its 2nd call",
        "*dist.barrier()",
        "*[[]rank 2] hello from 2",
    ],
    "raises": [
        "KeyError: rank 1 of 4: 'x'",
        "rank 1 raised KeyError",
        "test_faults.py:*: in raises",
        "ranks 0, 2, 3 waited in barrier, its 1st call",
    ],
    "segfault": [
        "Crashed: rank 1 of 4: segmentation fault (SIGSEGV) at test_faults.py:*",
        "rank 1 died: segmentation fault (SIGSEGV) at test_faults.py:*",
        "*ctypes.string_at(0)",
    ],
    "leaves": [
        "Crashed: rank 1 of 4: Python ended with status 0 at test_faults.py:*",
        "rank 1 died: Python ended with status 0 at test_faults.py:*",
        "*os._exit(0)",
    ],
    "exits": [
        "Crashed: rank 1 of 4: sys.exit(0) was called",
        "rank 1 died: sys.exit(0) was called",
        "*sys.exit(0)",
        "ranks 0, 2, 3 waited in all_reduce, its 1st call",
    ],
    "returns": [
        (
            f"Crashed: still running after {SECONDS} s: ranks 0, 2, 3 wait in all_reduce;"
            " rank 1 returned"
        ),
        "ranks 0, 2, 3 wait in all_reduce, its 1st call",
        "test_faults.py:*: in returns",
        "rank 1 returned",
        "Collective number 1 is all_reduce in ranks 0, 2, 3, not made in rank 1.",
    ],
    "loops": [
        f"Crashed: still running after {SECONDS} s: ranks 0, 1, 2 wait in all_reduce; rank 3 runs",
        "ranks 0, 1, 2 wait in all_reduce, its 2nd call",
        "rank 3 runs, after 1 all_reduce",
        "*while dist.get_rank() == 3:",
    ],
    "waits": [
        (
            f"Crashed: still running after {SECONDS} s: rank 0 waits for what it began;"
            " ranks 1, 2, 3 returned"
        ),
        "rank 0 waits for what it began, 1 recv",
        "*work.wait()",
    ],
    "mismatch": [
        (
            f"Crashed: still running after {SECONDS} s: ranks 0, 2, 3 wait in all_reduce;"
            " rank 1 waits in broadcast"
        ),
        "Collective number 1 is all_reduce in ranks 0, 2, 3, broadcast in rank 1.",
        "All ranks of a group must make the same calls of collectives in the same order.",
    ],
    "sizes": [
        "Crashed: rank ? of 4: uncaught C++ exception gloo::EnforceNotMet: *",
        "*dist.all_reduce(torch.ones(2 + 1000 [*] dist.get_rank()))",
    ],
    "memory": [
        "Crashed: rank 1 of 4: more than * GiB of memory taken at test_faults.py:*",
        "rank 1 died: more than * GiB of memory taken at test_faults.py:*",
        "*taken.append(bytearray(1 << 24))",
    ],
    "generator": [
        "TypeError: rank ? of 4: What a rank returns goes to another process, and cannot be *",
        "ranks 0, 1, 2, 3 raised TypeError",
    ],
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> dict[str, str]:
    """Run pytest once; return its verdict on each fault, and the numbers of all processes."""
    folder = tmp_path_factory.mktemp("faults")
    faults = (ROOT / "tests/support/rankfaults.py").read_text(encoding="utf-8")
    tests = TESTS.format(names=tuple(FAULTS), seconds=SECONDS)
    # In a test module, so its asserts are rewritten.
    (folder / "test_faults.py").write_text(
        faults.replace("import torch\n", "import pytest\nimport torch\n", 1) + tests
    )
    # Some 1.2 GiB for each rank.
    share = -(-4 * 12 * 100 * 2**30 // 10 // usable_memory())
    memory = ("-o", f"kata_memory={min(share, 90)}%")
    begin(warm, folder, *memory, "--junit-xml=report.xml", "-o", "junit_logging=all").wait(900)
    suite = ET.parse(folder / "report.xml").getroot()[0]  # noqa: S314 - our own file
    found = {}
    for case in suite.iter("testcase"):
        (failure,) = case.findall("failure")
        name = re.sub(r".*\[(.*)\]", r"\1", case.attrib["name"])
        printed = "".join(part.text or "" for part in case.findall("system-out"))
        found[name] = f"{failure.attrib['message']}\n{failure.text}\n{printed}"
    found["processes"] = (folder / "processes").read_text()
    return found


def begin(warm: Warm, folder: Path, *options: str) -> Fork:
    """Start pytest in a folder, with the plugins that `world` needs."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "conftest.py").write_text(f"pytest_plugins = {PLUGINS!r}\n{PATIENT}{CLOCK}")
    command = [sys.executable, "-mpytest", ".", *options]
    with pytest.MonkeyPatch.context() as patch, (folder / "output").open("w") as output:
        for name in (*CLEARED, *(name for name in os.environ if name.startswith("KATAS_"))):
            patch.delenv(name, raising=False)
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("COLUMNS", "100")
        patch.chdir(folder)
        return warm.popen(TORCH, command, stdout=output, stderr=output)


def is_alive(process: str) -> bool:
    """Whether a process runs, that is, is there and no zombie."""
    status = Path("/proc", process, "stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def left(processes: Iterable[str], seconds: float = 60) -> list[str]:
    """Return which of these processes are still there after some time."""
    until = time.monotonic() + seconds
    found = [process for process in processes if is_alive(process)]
    while found and time.monotonic() < until:
        time.sleep(0.05)
        found = [process for process in found if is_alive(process)]
    return found


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_a_verdict(verdicts: dict[str, str], name: str) -> None:
    """First the rank that failed and what happened to it, then how the others ended."""
    pytest.LineMatcher(re.sub(r"(?m)^E {3}", "", verdicts[name]).splitlines()).fnmatch_lines(
        FAULTS[name]
    )


def test_no_process_is_left_by_a_fault(verdicts: dict[str, str]) -> None:
    """No rank, and nothing that a rank has started."""
    processes = verdicts["processes"].split()

    assert 4 * 2 * len(FAULTS) == len(processes)
    assert [] == left(processes)


HANGS = """
import os, pathlib, signal, subprocess, time

# A shell lets processes in the background ignore Ctrl-C, and children inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def hang():
    child = subprocess.Popen(["sleep", "1000"])
    file = pathlib.Path("processes")
    file.open("a").write(f"{os.getppid()} {os.getpid()} {child.pid}\\n")
    time.sleep(1000)


def test_it(world):
    pathlib.Path("pytest").write_text(str(os.getpid()))
    world(hang, 3, backend=None, timeout=900)
"""


@pytest.mark.parametrize(
    ("number", "options"),
    [
        (signal.SIGKILL, ["--no-crashguard"]),
        (signal.SIGKILL, []),
        (signal.SIGINT, ["--no-crashguard"]),
    ],
    ids=["kill", "kill-guarded", "ctrl-c"],
)
def test_no_process_is_left_by_the_end_of_pytest(
    tmp_path: Path, warm: Warm, number: int, options: list[str]
) -> None:
    """However pytest ends while ranks run, their server notices and ends them."""
    (tmp_path / "test_hang.py").write_text(HANGS)
    processes = tmp_path / "processes"
    pytest_ = begin(warm, tmp_path, "-o", "kata_timeout=0", *options)
    until = time.monotonic() + 300
    while not processes.exists() or len(processes.read_text().split()) < 3 * 3:
        with pytest.raises(TimeoutExpired):
            pytest_.wait(0.05)
        assert time.monotonic() < until

    os.kill(int((tmp_path / "pytest").read_text()), number)
    pytest_.wait(300)

    assert [] == left(processes.read_text().split())
