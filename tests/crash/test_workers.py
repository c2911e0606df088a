"""The crash guard under xdist: which worker ran a test that died, and how it ended."""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.crash import workers
from plugins.crash.crash_reports import Crash
from plugins.crash.journal import Journal
from plugins.crash.journal import Writer
from plugins.crash.workers import BROKEN
from plugins.crash.workers import FOLDER
from plugins.crash.workers import prepare_worker
from plugins.crash.workers import read_crashes
from plugins.crash.workers import worker_status
from tests.support.crashes import FAULTS
from tests.support.crashes import IMPORTS
from tests.support.crashes import SOON
from tests.support.crashes import add_fault
from tests.support.crashes import add_import
from tests.support.crashes import expect_log
from tests.support.crashes import read_cases
from tests.support.crashes import read_log
from tests.support.fakedevice import STORE
from tests.support.fakedevice import add_device


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


@pytest.mark.slow
def test_all_faults_in_workers(kata: MiniCourse) -> None:
    """Under ``-n 2`` xdist replaces the workers; the reports are as helpful."""
    named = {
        name: add_fault(kata, number, name, fault.line)
        for number, (name, fault) in enumerate(FAULTS.items(), 1)
    }

    result = kata.run("-n2", "--junit-xml=report.xml", "-o", "kata_memory=50%", "-k", "not memory")

    count = len(FAULTS) - 1
    result.assert_outcomes(failed=count, passed=2 * count)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    text = result.stdout.str()
    for name, fault in FAULTS.items():
        if name != "memory":
            place = f" at katas/lecture01/{named[name]}.py:" if fault.placed else ""
            assert f"{fault.says}{place}" in text
            test = f"katas.lecture01.test_{named[name]}.test_fault"
            assert ["properties", "failure"] == read_cases(kata)[test]
    assert sorted(line for line in expect_log(*named.values()) if "memory" not in line) == sorted(
        read_log(kata)
    )


@pytest.mark.slow
def test_imports_and_memory_in_workers(kata: MiniCourse) -> None:
    """Each worker learns which imports killed another, and has its share of the memory."""
    named = [
        add_import(kata, number, name, fault.line)
        for number, (name, fault) in enumerate(IMPORTS.items(), 1)
    ]
    last = add_fault(kata, 9, "memory", FAULTS["memory"].line)

    result = kata.run("-n2", "--tb=short", *SOON)

    result.assert_outcomes(failed=len(IMPORTS) + 1, passed=2)
    text = result.stdout.str()
    for name, fault in zip(named, IMPORTS.values(), strict=True):
        assert f"{fault.says} at katas/lecture01/{name}.py:" in text
    assert f"0.2 GiB of memory taken at katas/lecture01/{last}.py:" in text


def test_a_worker_that_dies_between_tests(kata: MiniCourse) -> None:
    """No test is to blame; xdist names the one that the worker was about to run."""
    kata.kata(test="def test_one(): pass\ndef test_two(): pass\n")
    conftest = (kata.path / "conftest.py").read_text()
    hook = "def pytest_runtest_logstart():\n    os.mkdir('dead')\n    os.abort()\n"
    only = "def pytest_configure(config):\n    if hasattr(config, 'workerinput'):\n"
    register = "        if not os.path.exists('dead'): config.pluginmanager.register(Dead())\n"
    dead = "class Dead:\n    " + hook.replace("\n    ", "\n        ").replace("()", "(self)", 1)
    kata.write("conftest.py", f"{conftest}\nimport os\n{dead}\n{only}{register}")

    result = kata.run("-n1")

    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(["worker 'gw0' crashed while running '*::test_one'"])


def test_two_workers_that_die_at_once(kata: MiniCourse) -> None:
    """Xdist sends tests to the second before it has heard of its death; all tests run."""
    test = """
        import os, pathlib, time
        import pytest

        @pytest.mark.parametrize("n", range(30))
        def test_one(n):
            if n == 0:
                while not pathlib.Path("begun").exists():
                    time.sleep(0.01)
                time.sleep(0.5)
                os._exit(1)
            if n == 3:
                time.sleep(0.2)  # xdist now waits until it sends more
            if n == 4:
                pathlib.Path("begun").touch()
                time.sleep(60)
    """
    kata.kata(test=dedent(test))
    hook = """
        import os
        import time

        import pytest

        NODES = []

        class Deaths:
            def pytest_testnodeready(self, node):
                NODES.append(node)

            @pytest.hookimpl(trylast=True)
            def pytest_testnodedown(self, node):
                if len(NODES) == 2:
                    (other,) = set(NODES) - {node}
                    process = other.gateway._io.popen
                    process.kill()
                    process.wait()
                    os.write(2, b"the second dies")
                    # As if the thread that listens to it had not run since.
                    time.sleep(0.5)
                    other._down = False

        def pytest_configure(config):
            if not hasattr(config, "workerinput"):
                config.pluginmanager.register(Deaths())
    """
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", conftest + dedent(hook))

    result = kata.run("-n2")

    assert "the second dies" in result.stderr.str()
    result.assert_outcomes(failed=2, passed=28)


def test_a_worker_may_come_while_another_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dict that grows in the middle of a look would end the looking, and with it all limits."""

    def node(name: str) -> Any:
        gateway = SimpleNamespace(id=name)
        return SimpleNamespace(gateway=gateway, workerinput={}, sendcommand=None)

    looks: list[str] = []

    class Slow:
        """A watch during whose first look the second worker comes."""

        def __init__(self, journal: Journal, _memory: int) -> None:
            self.name = journal.events.stem

        def look(self) -> None:
            looks.append(self.name)
            if 1 == len(looks):
                comes.start()
                comes.join(0.5)

    monkeypatch.setattr(workers, "Watch", Slow)
    controller = workers.Controller(memory=0)
    comes = Thread(target=controller.pytest_configure_node, args=[node("gw1")])
    controller.pytest_configure_node(node("gw0"))
    last = time.monotonic() + 10
    while "gw1" not in looks and time.monotonic() < last:
        time.sleep(0.01)
    controller.pytest_unconfigure()

    assert {"gw0", "gw1"} == {*looks}


def test_the_status_is_that_of_the_process() -> None:
    """Of a worker on this machine."""
    popen = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    node = SimpleNamespace(gateway=SimpleNamespace(_io=SimpleNamespace(popen=popen)))

    assert 3 == worker_status(node)


def test_the_status_may_be_unknown() -> None:
    """The process is on another machine, or does not end."""

    class Immortal:
        def wait(self, seconds: float) -> int:
            raise subprocess.TimeoutExpired("worker", seconds)

    node = SimpleNamespace(gateway=SimpleNamespace(_io=SimpleNamespace(popen=Immortal())))

    assert worker_status(node) is None
    assert (
        worker_status(SimpleNamespace(gateway=SimpleNamespace(spec=SimpleNamespace(popen=None))))
        is None
    )


@pytest.mark.parametrize("folder", ["", "no/such/folder", "/no/such/folder"])
def test_a_worker_without_the_folder_keeps_no_journal(folder: str) -> None:
    """On another machine, or under a controller without a guard."""
    registered: list[object] = []
    config: Any = SimpleNamespace(
        workerinput={FOLDER: folder} if folder else {},
        pluginmanager=SimpleNamespace(register=registered.append),
    )

    prepare_worker(config, None)

    assert [] == registered


def test_a_worker_may_read_while_the_controller_writes(tmp_path: Path) -> None:
    """A line that is not whole yet counts later, one that was cut never; no file is no crash."""
    file = tmp_path / "spared"
    assert {} == read_crashes(file)

    whole = json.dumps(["k on cuda", {"text": "did not end"}])
    file.write_text(f'["l on cuda", {{"te{whole}\n{whole}\n["l on cuda", {{"te')

    assert {"k on cuda": Crash("did not end")} == read_crashes(file)


@pytest.mark.slow
def test_a_worker_that_is_told_to_exit(kata: MiniCourse) -> None:
    """`pytest.exit` ends the session, as without workers."""
    kata.kata(test="import pytest\n\ndef test_it(): pytest.exit('enough')\n")

    result = kata.run("-n1")

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["*Interrupted: * received keyboard-interrupt *"])
    result.stdout.no_fnmatch_line("INTERNALERROR*")


@pytest.mark.slow
def test_an_xdist_that_hides_how_it_replaces_workers(course: MiniCourse) -> None:
    """A worker whose device is broken then stays, and skips the tests of that device."""
    add_device(course)
    course.kata("k01_first", STORE.format(index=10))
    conftest = (course.path / "conftest.py").read_text()
    hook = """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_sessionstart(session):
            from plugins.crash import workers
            from plugins.tools.private import MissingNameError

            def replace(*_):
                raise MissingNameError("it")

            workers.replace_in_silence = replace
        """
    course.write("conftest.py", conftest + dedent(hook))

    result = course.run("-n1")

    result.assert_outcomes(failed=1, passed=5, skipped=1)
    result.stdout.fnmatch_lines(["fake (1 test): cannot be used in this process since*"])


def test_an_execnet_that_hides_the_process_is_named_once(kata: MiniCourse) -> None:
    """The tests run on, and a crash is one failed test with an unknown end."""
    for number in (1, 2):
        add_fault(kata, number, "os_exit", FAULTS["os_exit"].line)
    hook = """
        import pytest

        @pytest.hookimpl(wrapper=True, tryfirst=True)
        def pytest_testnodedown(node):
            io = node.gateway._io
            process = io.popen
            del io.popen
            yield
            # execnet needs it to the end.
            io.popen = process
        """
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", conftest + dedent(hook))

    result = kata.run("-n1")

    result.assert_outcomes(failed=2, passed=4, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "the process of the test ended at katas/lecture01/*",
            (
                "*PytestWarning: a crashed test will not show how its process ended: this release "
                "of xdist or execnet has changed where it keeps the process of a worker (*'popen')"
            ),
        ]
    )


def a_node(name: str = "gw0") -> Any:
    """Return a worker that is no process."""
    gateway = SimpleNamespace(id=name)
    return SimpleNamespace(gateway=gateway, workerinput={}, sendcommand=None, config=None)


def summary(controller: workers.Controller) -> str:
    """Return what the controller says at the end."""
    lines: list[str] = []
    terminal: Any = SimpleNamespace(line=lambda text, **_: lines.append(text))
    controller.pytest_terminal_summary(terminal)
    return " ".join(" ".join(lines).split())


def test_a_worker_without_a_journal_has_no_crash_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Xdist says which test it ran; the end of the run says why ours does not say more."""
    controller, node = workers.Controller(memory=0), a_node()
    monkeypatch.setattr(workers, "course_root", lambda _: Path("/nowhere"))
    monkeypatch.setattr(workers, "worker_status", lambda _: -6)
    controller.pytest_configure_node(node)
    writer = Writer(Journal(controller.folder, "gw0"))
    writer.write("test", nodeid="a.py::test_it")
    writer.give_up(OSError(errno.ENOSPC, "No space left on device"))
    assert "" == summary(controller)

    controller.pytest_testnodedown(node, "crashed")
    controller.pytest_handlecrashitem("a.py::test_it", None)
    controller.pytest_unconfigure()

    assert "No space left on device). Without it a crash" in summary(controller)


def test_a_folder_that_is_gone_is_made_for_the_next_worker() -> None:
    """And that one is removed at the end."""
    controller, node = workers.Controller(memory=0), a_node()
    shutil.rmtree(controller.folder)
    controller.pytest_configure_node(node)

    assert controller.folder.is_dir()
    assert str(controller.folder) == node.workerinput[FOLDER]
    controller.pytest_testnodedown(node, None)
    controller.pytest_unconfigure()
    assert not controller.folder.exists()


def test_an_import_for_which_a_worker_has_left_is_told() -> None:
    """It has broken a device."""
    controller, node = workers.Controller(memory=0), a_node()
    controller.pytest_configure_node(node)
    writer = Writer(Journal(controller.folder, "gw0"))
    writer.write("collect", nodeid="a.py", limit=None)
    writer.write("left", left=True, why="a.py has broken it")

    controller.pytest_testnodedown(node, None)
    found = read_crashes(controller.folder / BROKEN)
    controller.pytest_unconfigure()

    assert {"a.py": Crash("a.py has broken it", left=True)} == found


def test_an_import_that_cannot_be_written_down_is_told_to_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The workers that are there may die of it too."""
    controller, node, following = workers.Controller(memory=0), a_node(), a_node("gw1")
    monkeypatch.setattr(workers, "course_root", lambda _: Path("/nowhere"))
    monkeypatch.setattr(workers, "worker_status", lambda _: -6)
    controller.pytest_configure_node(node)
    Writer(Journal(controller.folder, "gw0")).write("collect", nodeid="a.py", limit=None)
    (controller.folder / BROKEN).mkdir()

    controller.pytest_testnodedown(node, "crashed")
    controller.pytest_configure_node(following)
    (controller.folder / BROKEN).rmdir()
    found = read_crashes(controller.folder / BROKEN, following.workerinput[BROKEN])
    controller.pytest_unconfigure()

    assert ["a.py"] == list(found)
    assert found["a.py"].text.startswith("abort (SIGABRT)")
