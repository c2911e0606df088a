"""The terminal under the crash guard: Ctrl-C, debuggers, ``-s``, and what ends pytest."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.conftest import MiniCourse


PLUGINS = ("plugins.course.session", "plugins.course.limits", "plugins.crash.plugin")
SECONDS = 100
BEFORE = "import collections, itertools, os, time\n\ndef test_before(): pass\n\n"
# Says when it has begun, as a test may only be interrupted then.
BEGIN = "open('begun', 'w').close()"
AFTER = "\ndef test_after(): pass\n"
SLEEP = f"{BEFORE}def test_sleep():\n    {BEGIN}\n    time.sleep(99)\n{AFTER}"
# Never looks whether a signal has come, nor lets another thread of Python run.
DEAF_LINE = "collections.deque(itertools.repeat(0), maxlen=0)"
DEAF = f"{BEFORE}def test_deaf():\n    {BEGIN}\n    {DEAF_LINE}\n{AFTER}"
DEAF_IMPORT = f"import collections, itertools\n{BEGIN}\n{DEAF_LINE}\n"
# A shell lets jobs in the background ignore Ctrl-C, and all that they start.
HEARS = """
import signal

signal.signal(signal.SIGINT, signal.default_int_handler)
"""
# The time in which something has to listen.
HURRY = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main():
    from plugins.crash import watchdog

    watchdog.GRACE = 1.0
    return (yield)
"""


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A course in which a test may take a minute, and Ctrl-C is heard."""
    course.plugins(*PLUGINS)
    course.write("conftest.py", (course.path / "conftest.py").read_text() + HEARS)
    return course


class Started:
    """A pytest with a process group of its own, in which a test has begun."""

    def __init__(self, kata: MiniCourse) -> None:
        reader, writer = os.pipe()
        with os.fdopen(writer, "w") as output:
            command = [sys.executable, "-mpytest"]
            self.run = kata.warm.popen(PYTEST, command, stdout=output, stderr=output)
        self.pid = self.run.pid
        self.returncode: int | None = None
        self._reader = reader
        wait(kata)

    def communicate(self) -> str:
        """Return the output, once all processes that write to it have ended, and this one has."""
        text, deadline = b"", time.monotonic() + SECONDS
        with os.fdopen(self._reader, "rb", buffering=0) as output:
            while select.select([output], [], [], max(0.0, deadline - time.monotonic()))[0]:
                if not (piece := output.read(1 << 16)):
                    break
                text += piece
            else:
                pytest.fail("a process still writes")
        self.returncode = self.run.wait(SECONDS)
        return text.decode()


def wait(kata: MiniCourse) -> None:
    """Wait until a test has begun."""
    deadline = time.monotonic() + SECONDS
    while not (kata.path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # The guard has read of it by then.
    time.sleep(0.3)


@pytest.mark.parametrize("send", [os.killpg, os.kill], ids=["terminal", "program"])
def test_ctrl_c_ends_the_session_with_a_summary(kata: MiniCourse, send: object) -> None:
    """Sent by the terminal to both processes, or by a program to the first alone."""
    assert callable(send)
    kata.kata(test=SLEEP)
    process = Started(kata)
    send(process.pid, signal.SIGINT)
    output = process.communicate()

    assert pytest.ExitCode.INTERRUPTED == process.returncode
    assert "!!! KeyboardInterrupt !!!" in output
    assert "katas/lecture01/test_k01_first.py:7: KeyboardInterrupt" in output
    assert "== 1 passed in " in output
    assert 1 == output.count("session starts")


@pytest.mark.parametrize(("test", "line"), [(DEAF, 7), (DEAF_IMPORT, 3)], ids=["test", "import"])
def test_ctrl_c_ends_what_does_not_listen(kata: MiniCourse, test: str, line: int) -> None:
    """The summary is the usual one, and names the line."""
    kata.kata(test=test)
    kata.write("conftest.py", (kata.path / "conftest.py").read_text() + HURRY)
    process = Started(kata)
    os.killpg(process.pid, signal.SIGINT)
    os.killpg(process.pid, signal.SIGINT)
    output = process.communicate()

    assert pytest.ExitCode.INTERRUPTED == process.returncode
    assert f"katas/lecture01/test_k01_first.py:{line}: KeyboardInterrupt" in output
    assert ("== 1 passed in " in output) == (test == DEAF)
    assert 1 == output.count("session starts")


def test_an_interrupted_session_may_crash(kata: MiniCourse) -> None:
    """It still counts as interrupted."""
    kata.kata(test=SLEEP)
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\nimport os\ndef pytest_sessionfinish(): os.abort()\n")
    process = Started(kata)
    os.killpg(process.pid, signal.SIGINT)
    output = process.communicate()

    assert pytest.ExitCode.INTERRUPTED == process.returncode
    where = f"conftest.py:{len(conftest.splitlines()) + 3}"
    assert f"did not exit cleanly after the tests: abort (SIGABRT) at {where}" in output


@pytest.mark.parametrize("send", [os.killpg, os.kill], ids=["job", "program"])
@pytest.mark.parametrize("when", ["in a test", "after the tests"])
def test_what_ends_the_guard_ends_the_tests(kata: MiniCourse, send: object, when: str) -> None:
    """The status names the signal, and there is no message."""
    assert callable(send)
    kata.kata(test=SLEEP if when == "in a test" else f"def test_quick():\n    {BEGIN}\n")
    if when == "after the tests":
        conftest = (kata.path / "conftest.py").read_text()
        late = "\nimport time\ndef pytest_unconfigure(): time.sleep(99)\n"
        kata.write("conftest.py", conftest + late)
    process = Started(kata)
    send(process.pid, signal.SIGTERM)
    output = process.communicate()

    assert 128 + signal.SIGTERM == process.returncode
    assert "did not exit cleanly" not in output
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG of Linux")
def test_the_tests_end_with_a_guard_that_is_killed(kata: MiniCourse) -> None:
    """No endless loop stays behind: the pipe that the tests write to is closed."""
    kata.kata(test=DEAF)
    process = Started(kata)
    os.kill(process.pid, signal.SIGKILL)

    process.communicate()


def test_signals_that_are_ignored_stay_ignored(kata: MiniCourse) -> None:
    """As for a job in the background, or one under nohup."""
    body = f"{BEGIN}\n    while not os.path.exists('sent'): time.sleep(0.05)\n"
    kata.kata(test=f"{BEFORE}def test_it():\n    {body}")
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", conftest.replace("signal.default_int_handler", "signal.SIG_IGN"))
    process = Started(kata)
    os.killpg(process.pid, signal.SIGINT)
    kata.write("sent", "")
    output = process.communicate()

    assert "== 2 passed in " in output


def converse(kata: MiniCourse, arguments: Sequence[str], answers: dict[str, str]) -> str:
    """Run pytest on a terminal, give each answer once its question is there; return all text."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(kata.path)
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *arguments])  # noqa: S606
    text, seen, deadline = "", 0, time.monotonic() + SECONDS
    while select.select([terminal], [], [], max(0.0, deadline - time.monotonic()))[0]:
        try:
            text += os.read(terminal, 1 << 16).decode(errors="replace")
        except OSError:
            # Linux raises this once the other end is closed.
            break
        question = next(iter(answers), None)
        if question and question in text[seen:]:
            seen = len(text)
            os.write(terminal, answers.pop(question).encode())
    os.waitpid(process, 0)
    return text


@pytest.mark.parametrize("own", [True, False], ids=["breakpoint", "--pdb"])
def test_a_debugger_has_the_terminal_and_all_the_time(kata: MiniCourse, *, own: bool) -> None:
    """No limit ends a session while a debugger waits; after that, time counts again."""
    stop = "breakpoint()" if own else "assert 0"
    kata.kata(test=f"{BEFORE}def test_stop():\n    x = 6\n    {stop}\n{AFTER}")
    think = "import time; time.sleep(1.3); print(x * 7)\n"

    text = converse(
        kata,
        ["--color=no", "-o", "kata_timeout=1", *([] if own else ["--pdb"])],
        {"(Pdb)": think, "42": "c\n"},
    )

    assert "42" in text
    assert ("== 3 passed in " if own else "== 1 failed, 2 passed in ") in text


def test_a_crash_on_a_terminal_reads_as_one_session(kata: MiniCourse) -> None:
    """The second process continues on the line where the first one died."""
    kata.kata(test=f"{BEFORE}def test_crash(): os.abort()\n{AFTER}")

    text = converse(kata, ["--color=no"], {})

    assert 1 == text.count("session starts")
    assert 1 == text.count("collected 3 items")
    assert "katas/lecture01/test_k01_first.py .F." in text


def test_output_is_shown_at_once_on_request(kata: MiniCourse) -> None:
    """``-s`` works as it does without the guard."""
    body = "print('at once', flush=True); os.abort()"
    kata.kata(test=f"{BEFORE}def test_crash():\n    {body}\n{AFTER}")

    result = kata.run("-s")

    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["katas/lecture01/test_k01_first.py .at once", "F."])
