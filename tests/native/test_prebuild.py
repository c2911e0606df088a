"""Which katas are built while torch is imported, by whom, and that nothing outlives the run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins import prebuild
from plugins.layout import Course
from plugins.layout import Kata
from plugins.layout import Lecture


if TYPE_CHECKING:
    from collections.abc import Callable


ROOT = Path(__file__).parents[1]
COMPILER = Path(__file__).parent / "native/compiler.sh"


def kata(folder: Path, name: str, *csrc: str) -> Kata:
    """Return a kata of a lecture in `folder`."""
    nothing: Any = ()
    return Kata(folder.name, name, "", "cpp", (), nothing, nothing, (), (), (), csrc, folder)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    """Return two lectures with one Python kata, two in C++ and one in CUDA."""
    one, two = tmp_path / "katas/lecture01", tmp_path / "katas/lecture02"
    katas = (
        kata(one, "k01_python"),
        kata(one, "k02_cpp", "csrc/k02.cpp", "csrc/k02.cu"),
        kata(one, "k03_cuda", "csrc/k03.cu"),
    )
    other = (kata(two, "k01_cpp", "csrc/k01.cpp"),)
    return Course((Lecture("lecture01", "", {}, katas, one), Lecture("", "", {}, other, two)), ())


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["katas"], ["lecture01/k02_cpp", "lecture01/k03_cuda", "lecture02/k01_cpp"]),
        (["katas/lecture01"], ["lecture01/k02_cpp", "lecture01/k03_cuda"]),
        (["katas/lecture02/test_k01_cpp.py::test_a[x-1]"], ["lecture02/k01_cpp"]),
        (["katas/lecture01/test_k01_python.py", "tests"], []),
        ([], []),
    ],
)
def test_katas_are_selected_by_the_arguments(
    course: Course, tmp_path: Path, args: list[str], expected: list[str]
) -> None:
    """Those with C++ or CUDA sources, in the order in which their tests run."""
    selected = prebuild.selected(course, args, tmp_path)

    assert expected == [kata.id for kata in selected]


def test_a_library_is_named_like_the_operators_in_it(course: Course) -> None:
    """By lecture and number; its kernels are a library of their own, and are built first."""
    python, both, cuda = course.lectures[0].katas

    assert "lecture01_k02" == prebuild.unit_name(both)
    units = prebuild.units(both)
    assert ["lecture01_k02_cuda", "lecture01_k02"] == list(units)
    assert [["csrc/k02.cu"], ["csrc/k02.cpp"]] == list(units.values())
    assert {} == prebuild.units(python)
    assert {"lecture01_k03_cuda": ["csrc/k03.cu"]} == prebuild.units(cuda)


def config(**values: object) -> Any:
    """Return what `wanted` looks at."""
    worker = values.pop("worker", None)
    extra = {"workerinput": {"workerid": worker}} if worker else {}
    return SimpleNamespace(getoption=values.get, **extra)


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({}, True),
        ({"dist": "no"}, True),
        ({"dist": "load"}, False),
        ({"worker": "gw0"}, True),
        ({"worker": "gw1"}, False),
        ({"collectonly": True}, False),
        ({"progress_json": "-"}, False),
        ({"help": True}, False),
        ({"markers": True, "worker": "gw0"}, False),
    ],
)
def test_one_process_that_runs_tests_builds_ahead(
    values: dict[str, object], *, wanted: bool
) -> None:
    """Not the controller of xdist, not its other workers, and not where no test is run."""
    assert wanted == prebuild.wanted(config(**values))


def test_the_options_that_only_show_something_exist(pytestconfig: pytest.Config) -> None:
    """A misspelt name among them would be ignored."""
    assert [] == [name for name in prebuild.SHOW if name not in vars(pytestconfig.option)]


@pytest.fixture
def lecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a lecture with two sources, a stand-in compiler and a stand-in torch."""
    folder = tmp_path / "katas/lecture01"
    (folder / "csrc").mkdir(parents=True)
    (folder / "csrc/k01.cpp").write_text("// tier: small\n")
    (folder / "csrc/k02.cpp").write_text("// tier: small\nWRONG")
    shutil.copy(COMPILER, tmp_path / "clang++")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text("")
    (tmp_path / "torch/version.py").write_text("")
    (tmp_path / "build").mkdir()
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("KATAS_CXX", str(tmp_path / "clang++"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), str(ROOT))))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for name in ("KATAS_SOLUTIONS", "KATAS_OVERLAY"):
        monkeypatch.delenv(name, raising=False)
    return folder


def request(lecture: Path, *sources: str) -> str:
    """Return what the process is asked for."""
    root = lecture.parents[1]
    units = [[f"lecture01_{Path(name).stem}", str(lecture), [name]] for name in sources]
    return json.dumps({"folder": str(root / "build"), "root": str(root), "units": units})


def built(lecture: Path, pattern: str) -> list[str]:
    """Return the names of the units in the build folder."""
    return sorted(file.name[:13] for file in (lecture.parents[1] / "build").glob(pattern))


def test_everything_is_built_and_nothing_said(
    lecture: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What does not compile is remembered; a missing source is left to the test."""
    prebuild.main(request(lecture, "csrc/k01.cpp", "csrc/k02.cpp", "csrc/k03.cpp"))

    assert ["lecture01_k01"] == built(lecture, "*.so")
    assert ["lecture01_k02"] == built(lecture, "*.failed")
    assert ("", "") == capfd.readouterr()


def test_the_source_is_the_one_that_the_test_will_see(
    lecture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solution, where solutions are shown."""
    (lecture / "solutions/csrc").mkdir(parents=True)
    (lecture / "solutions/csrc/k02.cpp").write_text("// tier: small\n")
    monkeypatch.setenv("KATAS_SOLUTIONS", "1")

    prebuild.main(request(lecture, "csrc/k02.cpp"))

    assert ["lecture01_k02"] == built(lecture, "*.so")


def test_without_a_compiler_it_is_silent(lecture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend's probe gives the reason."""
    monkeypatch.setenv("KATAS_CXX", "no-such-compiler")

    prebuild.main(request(lecture, "csrc/k01.cpp"))

    assert [] == built(lecture, "*.so")


def until(condition: Callable[[], bool]) -> None:
    """Wait for another process."""
    while not condition():
        time.sleep(0.01)


def running(group: int) -> list[str]:
    """Return the processes of a group that have not ended."""
    found = []
    for about in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _parent, leader = about.read_text().rpartition(")")[2].split()[:3]
            if int(leader) == group and state != "Z":
                found.append(about.parent.name)
    return found


def test_the_process_builds_beside_the_run(lecture: Path) -> None:
    """And is waited for when it has ended by itself."""
    root = lecture.parents[1]
    process = prebuild.start([kata(lecture, "k01_cpp", "csrc/k01.cpp")], root / "build", root)
    process.wait(60)

    prebuild.stop(process)

    assert 0 == process.returncode
    assert ["lecture01_k01"] == built(lecture, "*.so")


def test_the_process_ends_with_the_run(lecture: Path) -> None:
    """Its compilers too: they are killed in the middle, and the next run builds again."""
    root = lecture.parents[1]
    (root / "calls.once").write_text("k01.cpp.o sleep\n")
    process = prebuild.start([kata(lecture, "k01_cpp", "csrc/k01.cpp")], root / "build", root)
    until(lambda: not (root / "calls.once").exists())
    assert running(process.pid)

    prebuild.stop(process)

    assert [] == built(lecture, "*.so")
    assert -signal.SIGKILL == process.returncode
    until(lambda: not running(process.pid))


RUN = """
import sys, time
from pathlib import Path
from tests.test_prebuild import kata
from plugins import prebuild

root = Path(sys.argv[1])
katas = [kata(root / "katas/lecture01", "k01_cpp", "csrc/k01.cpp")]
print(prebuild.start(katas, root / "build", root).pid, flush=True)
time.sleep(60)
"""


def test_the_process_ends_with_a_run_that_is_killed(lecture: Path) -> None:
    """Nobody can call `stop` then."""
    root = lecture.parents[1]
    (root / "calls.once").write_text("k01.cpp.o sleep\n")
    command = [sys.executable, "-c", RUN, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout
        group = int(run.stdout.readline())
        until(lambda: not (root / "calls.once").exists())
        assert running(group)
        run.kill()

    until(lambda: not running(group))
    assert [] == built(lecture, "*.so")


def test_all_of_its_group_ends_when_nobody_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is at its end then."""
    ended = []
    monkeypatch.setattr("os.read", lambda file, size: file * bytes(size))
    monkeypatch.setattr("os.killpg", lambda group, number: ended.append((group, number)))

    prebuild.end_with_the_run()

    assert [(0, signal.SIGKILL)] == ended
