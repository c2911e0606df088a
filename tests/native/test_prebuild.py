"""The process that builds katas beside a run: what it builds, and that it ends with the run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from plugins.native.prebuild import end_with_the_run
from plugins.native.prebuild import main
from plugins.native.prebuild import start_build
from plugins.native.prebuild import stop_build
from plugins.native.prebuild import wait_for_source
from plugins.native.prebuild import write_request
from tests.support.native import built
from tests.support.native import native_kata
from tests.support.native import running
from tests.support.native import until


if TYPE_CHECKING:
    import pytest


def request(lecture: Path, *sources: str) -> str:
    """Return the process's argument for these sources."""
    root = lecture.parents[1]
    units = [[f"lecture01_{Path(name).stem}", str(lecture), [name]] for name in sources]
    plan = {"folder": str(root / "build"), "root": str(root), "units": units}
    return json.dumps({**plan, "languages": ["tests.support.native:LOUD"]})


def test_everything_is_built_silently(lecture: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The errors of a source are kept for the test, and a missing source is left to it."""
    main(request(lecture, "csrc/k01.cpp", "csrc/k02.cpp", "csrc/k03.cpp"))

    assert ["lecture01_k01"] == built(lecture, "*.so")
    assert ["lecture01_k02"] == built(lecture, "*.failed")
    assert ("", "") == capfd.readouterr()


def test_a_language_is_found_by_its_name(lecture: Path) -> None:
    """What the process is asked for has it, and it knows no hooks."""
    (lecture / "csrc/k01.loud").write_text("INT X;\n")
    root = lecture.parents[1]
    kata = native_kata(lecture, "k01_loud", "csrc/k01.loud", "csrc/k01.cpp")

    main(write_request([kata], root / "build", root, ["tests.support.native:LOUD"]))

    assert ["lecture01_k01", "lecture01_k01"] == built(lecture, "*.so")


def test_the_source_is_the_one_of_the_test(lecture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A solution, in a run of the solutions."""
    (lecture / "solutions/csrc").mkdir(parents=True)
    (lecture / "solutions/csrc/k02.cpp").write_text("// tier: small\n")
    monkeypatch.setenv("KATAS_SOLUTIONS", "1")

    main(request(lecture, "csrc/k02.cpp"))

    assert ["lecture01_k02"] == built(lecture, "*.so")


def test_without_a_compiler_it_is_silent(lecture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend gives the reason."""
    monkeypatch.setenv("KATAS_CXX", "no-such-compiler")

    main(request(lecture, "csrc/k01.cpp"))

    assert [] == built(lecture, "*.so")
    assert wait_for_source(request(lecture, "csrc/k01.cpp"), lecture) is None


def test_the_process_builds_beside_the_run(lecture: Path) -> None:
    """One that has ended by itself can be stopped too."""
    process = start_build(request(lecture, "csrc/k01.cpp"))
    process.wait(60)

    stop_build(process)

    assert 0 == process.returncode
    assert ["lecture01_k01"] == built(lecture, "*.so")


def test_the_process_ends_with_the_run(lecture: Path) -> None:
    """With its compilers, which are killed in the middle; the next run builds again."""
    root = lecture.parents[1]
    (root / "calls.once").write_text("k01.cpp.o sleep\n")
    process = start_build(request(lecture, "csrc/k01.cpp"))
    until(lambda: not (root / "calls.once").exists())
    assert running(process.pid)

    stop_build(process)

    assert [] == built(lecture, "*.so")
    assert -signal.SIGKILL == process.returncode
    until(lambda: not running(process.pid))


RUN = """
import sys, time
from pathlib import Path
from plugins.native.prebuild import start_build
from plugins.native.prebuild import write_request
from tests.support.native import native_kata

root = Path(sys.argv[1])
katas = [native_kata(root / "katas/lecture01", "k01_cpp", "csrc/k01.cpp")]
print(start_build(write_request(katas, root / "build", root, [])).pid, flush=True)
time.sleep(60)
"""


def test_the_process_ends_with_a_run_that_is_killed(lecture: Path) -> None:
    """`stop_build` is not called then."""
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


def test_all_of_its_group_ends_when_the_run_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is then at its end."""
    ended = []
    monkeypatch.setattr("os.read", lambda file, size: file * bytes(size))
    monkeypatch.setattr("os.killpg", lambda group, number: ended.append((group, number)))

    end_with_the_run()

    assert [(0, signal.SIGKILL)] == ended
