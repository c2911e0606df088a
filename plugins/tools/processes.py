"""Starts and ends processes, and measures how much of the machine they use and may use."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from typing import NoReturn


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator


# prctl(2), for which Python has no module.
PR_SET_PDEATHSIG = 1
# Seconds between two looks at a process, and what it gets to write its stack and die.
TICK = 0.1
GRACE = 2.0
GIB = 1 << 30
CGROUPS = Path("/sys/fs/cgroup")
# Names the file to which the benchmark of --watch wants the phases of a run added.
PHASES = "KATAS_PHASES"


def fork_process(work: Callable[[], object]) -> int:
    """Fork a process that does `work` and exits, and return its id."""
    with warnings.catch_warnings():
        # Python 3.12 and newer warn about the threads of torch, which only wait for work.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork() or run_and_exit(work)


def run_and_exit(work: Callable[[], object]) -> NoReturn:
    """Do `work` and end the process, with status 1 if it raises."""
    # The work may replace os._exit, as that of a rank does.
    leave = os._exit
    status = 1
    try:
        work()
        status = 0
    finally:
        leave(status)


def end_with_parent(number: int = signal.SIGKILL) -> bool:
    """Let the kernel send this process a signal when its parent ends; False if not on Linux."""
    import ctypes  # noqa: PLC0415 - `pytest --course` reads this module and forks nothing

    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)
    except AttributeError:
        return False
    return True


def offer_to_oom_killer() -> None:
    """Make this process the first to be killed when memory runs out, not the editor; on Linux."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")


def dump_no_core() -> None:
    """Write no core file: the report shows a kata's crash, and a core takes gigabytes."""
    import resource  # noqa: PLC0415 - not on Windows, where this module must still import

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def end_daemons() -> None:
    """End the processes that Python would end at its exit anyway, as `multiprocessing` has it."""
    # Nobody has started any without that module.
    if module := sys.modules.get("multiprocessing"):
        for child in module.active_children():
            if child.daemon:
                child.terminate()


def memory_of(process: int, files: Path = Path("/proc")) -> int:
    """Return the bytes of memory that a process uses, swapped out or not; 0 if it is gone."""
    if files.is_dir():
        try:
            status = (files / str(process) / "status").read_text(encoding="utf-8")
        except OSError:
            return 0
        kib = re.findall(r"^Vm(?:RSS|Swap):\s+(\d+)", status, re.MULTILINE)
        return sum(map(int, kib)) << 10
    # macOS has no /proc.
    command = ["ps", "-o", "rss=", "-p", str(process)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return int(done.stdout or 0) << 10


def usable_memory(cgroups: Path = CGROUPS, process: Path = Path("/proc/self")) -> int:
    """Return the bytes of memory of this machine, or of the container around this process."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    # cgroup v2 and v1: a number, or "max" for no limit.
    names = ("memory.max", "memory.limit_in_bytes")
    limits = [int(text) for text in cgroup_settings(names, cgroups, process) if text.isdigit()]
    return min([physical, *limits])


def usable_processors(cgroups: Path = CGROUPS, process: Path = Path("/proc/self")) -> int:
    """Return how many processors affinity and container leave to this process, rounded up."""
    try:
        # Not on macOS.
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    # cgroup v2: quota and period in microseconds, "200000 100000", or "max 100000".
    quotas = [text.split() for text in cgroup_settings(("cpu.max",), cgroups, process)]
    # cgroup v1: one number in each of two files; -1 is no limit.
    both = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    old = [list(cgroup_settings((name,), cgroups, process)) for name in both]
    quotas += [list(pair) for pair in zip(*old, strict=False)]
    shares = [int(quota) / int(period) for quota, period in quotas if quota.isdigit()]
    return max(1, min([count, *map(math.ceil, shares)]))


def cgroup_settings(names: tuple[str, ...], cgroups: Path, process: Path) -> Iterator[str]:
    """Yield the contents of files of these names in a process's control groups and their parents.

    A limit holds for all groups below. In a container the file system may begin at the process's
    own group: its path is then missing, and the files are at the top. See cgroups(7).
    """
    try:
        lines = (process / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    folders: dict[Path, None] = {}
    for line in lines:
        _, controllers, path = line.split(":", 2)
        # v2 has one hierarchy, without a name; v1 has one for each set of controllers.
        top = cgroups / controllers if controllers else cgroups
        group = top / path.lstrip("/")
        folders |= dict.fromkeys(f for f in (group, *group.parents) if f.is_relative_to(top))
    for folder in folders:
        for name in names:
            with suppress(OSError):
                yield (folder / name).read_text(encoding="utf-8").strip()


def note_phase(name: str) -> None:
    """Add a line with the phase of a run that has just ended and the time, if `PHASES` asks for it.

    The clock is the same in all processes.
    """
    if wanted := os.environ.get(PHASES):
        with Path(wanted).open("a", encoding="utf-8") as file:
            file.write(f"{name} {time.monotonic():.6f}\n")
