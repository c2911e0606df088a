"""How processes begin and end, and what they use and may use of a machine."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.tools.processes import PHASES
from plugins.tools.processes import cgroup_settings
from plugins.tools.processes import dump_no_core
from plugins.tools.processes import end_daemons
from plugins.tools.processes import end_with_parent
from plugins.tools.processes import fork_process
from plugins.tools.processes import memory_of
from plugins.tools.processes import note_phase
from plugins.tools.processes import offer_to_oom_killer
from plugins.tools.processes import usable_memory
from plugins.tools.processes import usable_processors


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Iterator
    from collections.abc import Mapping

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux can")
PHYSICAL = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def exit_code(work: Callable[[], object]) -> int:
    """Return the exit code of a forked process that does `work`; an assertion in it makes 1."""
    _, status = os.waitpid(fork_process(work), 0)
    return os.waitstatus_to_exitcode(status)


def test_a_forked_process_does_its_work_and_exits() -> None:
    """Its status says whether the work raised; it never returns to its caller."""

    def fail() -> None:
        raise ValueError

    assert 0 == exit_code(lambda: None)
    assert 1 == exit_code(fail)


def test_a_forked_process_can_replace_the_way_it_exits() -> None:
    """A rank does, to write a last word when its code exits on its own."""

    def work() -> None:
        setattr(os, "_exit", lambda _: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010 - mypy

    assert 0 == exit_code(work)


@linux
@pytest.mark.parametrize(("number", "last_word"), [(signal.SIGKILL, b""), (signal.SIGTERM, b"15")])
def test_a_process_ends_with_its_parent(number: int, last_word: bytes) -> None:
    """The signal comes when the parent ends, with no help from it."""
    read, write = os.pipe()

    def child() -> None:
        signal.signal(signal.SIGTERM, lambda got, _: (os.write(write, b"%d" % got), os._exit(0)))
        assert end_with_parent(number)
        os.write(write, b"ready")
        time.sleep(30)
        os.write(write, b"survived")

    def parent() -> None:
        fork_process(child)
        assert b"ready" == os.read(read, 5)

    assert 0 == exit_code(parent)
    os.close(write)
    # No bytes once the pipe has no writer left.
    assert last_word == os.read(read, 8)
    os.close(read)


def test_only_linux_ends_a_process_with_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller has to watch the parent where the C library has no ``prctl``."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())

    assert not end_with_parent()


@linux
def test_the_oom_killer_takes_the_process_first() -> None:
    """1000 is the highest score that a process can be given."""

    def work() -> None:
        offer_to_oom_killer()

        assert "1000\n" == Path("/proc/self/oom_score_adj").read_text()

    assert 0 == exit_code(work)


def test_a_system_without_scores_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """MacOS has no /proc, and a container may forbid it."""
    asked: list[Path] = []

    def refuse(file: Path, *_: object, **__: object) -> None:
        asked.append(file)
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_text", refuse)
    offer_to_oom_killer()

    assert [Path("/proc/self/oom_score_adj")] == asked


def test_no_core_is_written() -> None:
    """The hard limit stays, so the process can raise its own again."""
    import resource  # noqa: PLC0415 - not on Windows

    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]

    def work() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
        dump_no_core()

        assert (0, hard) == resource.getrlimit(resource.RLIMIT_CORE)

    assert 0 == exit_code(work)


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process that has started and waits."""
    command = [sys.executable, "-c", "input('ready')"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert b"ready" == process.stdout.read(5)
    yield process.pid
    process.communicate(b"\n")


@linux
def test_memory_is_what_the_system_says(sleeper: int) -> None:
    """The kernel of Linux knows how much a process uses."""
    assert 1 << 20 < memory_of(sleeper)


@pytest.mark.skipif(not shutil.which("ps"), reason="ps is missing: a minimal Linux has none")
def test_memory_is_what_ps_says(sleeper: int, tmp_path: Path) -> None:
    """A system without ``/proc``, such as macOS, always has ``ps``."""
    assert 1 << 20 < memory_of(sleeper, tmp_path / "nothing")
    assert 0 == memory_of(2**22 + 1, tmp_path / "nothing")


def test_memory_that_is_swapped_out_counts(tmp_path: Path) -> None:
    """A process cannot hide from its limit on a machine that swaps; one that is gone has none."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7/status").write_text(
        "Name:\ta\nVmHWM:\t  900 kB\nVmRSS:\t  100 kB\nRssAnon:\t 50 kB\nVmSwap:\t   28 kB\n"
    )

    assert 128 << 10 == memory_of(7, tmp_path)
    assert 0 == memory_of(8, tmp_path)


# The hierarchies of cgroup v1, as /proc/PID/cgroup lists them for a process in a container.
V1 = "12:name=systemd:/box\n5:memory:/box\n4:cpu,cpuacct:/box\n"


def write_groups(root: Path, groups: str, files: Mapping[str, str]) -> tuple[Path, Path]:
    """Write a file system of control groups and the process in it, and return their folders."""
    (root / "process").mkdir()
    (root / "process/cgroup").write_text(groups)
    for name, text in files.items():
        file = root / "cgroups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return root / "cgroups", root / "process"


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        pytest.param("0::/a/b\n", {"a/b/memory.max": "4096"}, 4096, id="v2"),
        pytest.param(
            "0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": "4096"}, 4096, id="v2-parent"
        ),
        pytest.param(
            "0::/a/b\n", {"a/b/memory.max": "8192", "a/memory.max": "4096"}, 4096, id="v2-smallest"
        ),
        pytest.param("0::/a/b\n", {"a/c/memory.max": "4096"}, PHYSICAL, id="v2-sibling"),
        pytest.param("0::/box\n", {"memory.max": "4096"}, 4096, id="v2-container"),
        pytest.param("0::/\n", {"memory.max": "4096"}, 4096, id="v2-namespace"),
        pytest.param("0::/a\n", {"a/memory.max": "max"}, PHYSICAL, id="v2-unlimited"),
        pytest.param("0::/a\n", {"a/memory.max": str(PHYSICAL + 1)}, PHYSICAL, id="v2-larger"),
        pytest.param(V1, {"memory/box/memory.limit_in_bytes": "4096"}, 4096, id="v1"),
        pytest.param(V1, {"memory/memory.limit_in_bytes": "4096"}, 4096, id="v1-container"),
        pytest.param(
            V1, {"memory/memory.limit_in_bytes": str((1 << 63) - 4096)}, PHYSICAL, id="v1-unlimited"
        ),
        pytest.param(V1, {"cpu/box/memory.limit_in_bytes": "4096"}, PHYSICAL, id="v1-other"),
        pytest.param(
            f"{V1}0::/a\n",
            {"memory/box/memory.limit_in_bytes": "8192", "a/memory.max": "4096"},
            4096,
            id="both",
        ),
    ],
)
def test_a_container_limits_the_memory(
    tmp_path: Path, groups: str, files: dict[str, str], expected: int
) -> None:
    """By any of its groups, if that is less than the machine has."""
    assert expected == usable_memory(*write_groups(tmp_path, groups, files))


PROCESSORS = 8


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the scheduler grant eight processors."""
    granted = set(range(PROCESSORS))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: granted, raising=False)


def v1_quota(quota: int, folder: str = "cpu,cpuacct/box") -> dict[str, str]:
    """Return the files of a quota of cgroup v1, in microseconds of each tenth of a second."""
    return {f"{folder}/cpu.cfs_quota_us": str(quota), f"{folder}/cpu.cfs_period_us": "100000"}


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        pytest.param("0::/a\n", {"a/cpu.max": "200000 100000"}, 2, id="v2"),
        pytest.param("0::/a\n", {"a/cpu.max": "150000 100000"}, 2, id="v2-rounded-up"),
        pytest.param("0::/a\n", {"a/cpu.max": "5000 100000"}, 1, id="v2-at-least-one"),
        pytest.param("0::/a\n", {"a/cpu.max": "0 100000"}, 1, id="v2-none"),
        pytest.param(
            "0::/a/b\n",
            {"a/b/cpu.max": "max 100000", "a/cpu.max": "300000 100000"},
            3,
            id="v2-parent",
        ),
        pytest.param("0::/box\n", {"cpu.max": "300000 100000"}, 3, id="v2-container"),
        pytest.param("0::/a\n", {"a/cpu.max": "max 100000"}, PROCESSORS, id="v2-unlimited"),
        pytest.param("0::/a\n", {"a/cpu.max": "1600000 100000"}, PROCESSORS, id="v2-larger"),
        pytest.param(V1, v1_quota(250_000), 3, id="v1"),
        pytest.param(
            V1, {**v1_quota(-1), **v1_quota(250_000, "cpu,cpuacct")}, 3, id="v1-container"
        ),
        pytest.param(V1, v1_quota(-1), PROCESSORS, id="v1-unlimited"),
        pytest.param(V1, {}, PROCESSORS, id="v1-nothing"),
    ],
)
def test_a_container_limits_the_processors(
    tmp_path: Path, groups: str, files: dict[str, str], expected: int
) -> None:
    """A part of one counts as one: a process that waits for it is not worth less."""
    assert expected == usable_processors(*write_groups(tmp_path, groups, files))


@pytest.mark.usefixtures("eight")
def test_a_system_without_control_groups_has_all_of_the_machine(tmp_path: Path) -> None:
    """MacOS has neither them nor an affinity of processors."""
    assert PHYSICAL == usable_memory(tmp_path, tmp_path)
    assert PROCESSORS == usable_processors(tmp_path, tmp_path)


@pytest.mark.parametrize(("count", "expected"), [(3, 3), (None, 1)])
def test_a_system_without_affinity_counts_its_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int | None, expected: int
) -> None:
    """If it knows their number."""
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: count)

    assert expected == usable_processors(tmp_path, tmp_path)


def test_settings_come_from_the_group_upwards(tmp_path: Path) -> None:
    """Each folder is read once, and none above the control groups."""
    groups = "0::/a/b\n"
    files = {"../limit": "outside", "limit": "top", "a/b/limit": "group", "a/other": "other"}
    folders = write_groups(tmp_path, groups, {"a/limit": "parent", **files})

    assert ["group", "parent", "top"] == list(cgroup_settings(("limit",), *folders))
    assert ["group", "parent", "other", "top"] == list(
        cgroup_settings(("limit", "other"), *folders)
    )


@linux
def test_this_process_can_use_some_of_this_machine() -> None:
    """With the files of the system itself."""
    assert 0 < usable_memory() <= PHYSICAL
    assert 1 <= usable_processors() <= (os.cpu_count() or 1)


def test_phases_are_noted_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with its moment; nothing is written unless that is asked for."""
    monkeypatch.delenv(PHASES, raising=False)
    note_phase("before")
    monkeypatch.setenv(PHASES, str(tmp_path / "phases"))
    begin = time.monotonic()
    note_phase("fork")
    note_phase("tests")

    found = [line.split() for line in (tmp_path / "phases").read_text().splitlines()]
    assert ["fork", "tests"] == [name for name, _ in found]
    moments = [float(moment) for _, moment in found]
    assert begin - 0.001 <= moments[0] <= moments[1] <= time.monotonic() + 0.001


@pytest.mark.parametrize("daemon", [True, False])
def test_only_daemons_are_ended(*, daemon: bool) -> None:
    """Python waits for the others."""
    context = multiprocessing.get_context("fork")
    child = context.Process(target=time.sleep, args=[60], daemon=daemon)
    child.start()
    end_daemons()
    child.join(10 if daemon else 0.2)

    assert (-signal.SIGTERM if daemon else None) == child.exitcode
    child.kill()
    child.join()


def test_a_process_without_that_module_has_no_daemons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is imported for it."""
    monkeypatch.delitem(sys.modules, "multiprocessing", raising=False)
    end_daemons()

    assert "multiprocessing" not in sys.modules
