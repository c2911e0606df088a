"""The terminal under the crash guard: Ctrl-C, debuggers, ``-s``, and what ends pytest."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence

    from tests.conftest import MiniCourse


PLUGINS = ("plugins.course", "plugins.crashguard")
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


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """A shell lets what it runs in the background ignore Ctrl-C, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A course in which a test may take a minute."""
    course.plugins(*PLUGINS)
    return course


def start(kata: MiniCourse, *arguments: str) -> subprocess.Popen[str]:
    """Start pytest in a process group of its own and wait until a test has begun."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=kata.path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    wait(kata)
    return process


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
    process = start(kata)
    send(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)

    assert pytest.ExitCode.INTERRUPTED == process.returncode
    assert "!!! KeyboardInterrupt !!!" in output
    assert "katas/lecture01/test_k01_first.py:7: KeyboardInterrupt" in output
    assert "== 1 passed in " in output
    assert 1 == output.count("session starts")


@pytest.mark.parametrize(("test", "line"), [(DEAF, 7), (DEAF_IMPORT, 3)], ids=["test", "import"])
def test_ctrl_c_ends_what_does_not_listen(kata: MiniCourse, test: str, line: int) -> None:
    """The summary is as usual, and names the line."""
    kata.kata(test=test)
    process = start(kata)
    os.killpg(process.pid, signal.SIGINT)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)

    assert pytest.ExitCode.INTERRUPTED == process.returncode
    assert f"katas/lecture01/test_k01_first.py:{line}: KeyboardInterrupt" in output
    assert ("== 1 passed in " in output) == (test == DEAF)
    assert 1 == output.count("session starts")


def test_an_interrupted_session_may_crash(kata: MiniCourse) -> None:
    """It has been interrupted all the same."""
    kata.kata(test=SLEEP)
    conftest = (kata.path / "conftest.py").read_text()
    kata.write("conftest.py", f"{conftest}\nimport os\ndef pytest_sessionfinish(): os.abort()\n")
    process = start(kata)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)

    assert pytest.ExitCode.INTERRUPTED == process.returncode
    assert "did not end well after the tests: abort (SIGABRT) at conftest.py:3" in output


@pytest.mark.parametrize("send", [os.killpg, os.kill], ids=["job", "program"])
@pytest.mark.parametrize("when", ["in a test", "after the tests"])
def test_what_ends_the_guard_ends_the_tests(kata: MiniCourse, send: object, when: str) -> None:
    """A program that is told to end by a signal says so by its status, and complains of nothing."""
    assert callable(send)
    kata.kata(test=SLEEP if when == "in a test" else f"def test_quick():\n    {BEGIN}\n")
    if when == "after the tests":
        conftest = (kata.path / "conftest.py").read_text()
        late = "\nimport time\ndef pytest_unconfigure(): time.sleep(99)\n"
        kata.write("conftest.py", conftest + late)
    process = start(kata)
    send(process.pid, signal.SIGTERM)
    output, _ = process.communicate(timeout=SECONDS)

    assert 128 + signal.SIGTERM == process.returncode
    assert "did not end well" not in output
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="needs PR_SET_PDEATHSIG of Linux")
def test_the_tests_end_with_a_guard_that_is_killed(kata: MiniCourse) -> None:
    """No endless loop stays behind; the pipe that they write to is closed."""
    kata.kata(test=DEAF)
    process = start(kata)
    process.kill()

    process.communicate(timeout=SECONDS)


def test_signals_that_are_ignored_stay_ignored(kata: MiniCourse) -> None:
    """As for a job in the background, or one under nohup."""
    body = f"{BEGIN}\n    time.sleep(2)\n"
    kata.kata(test=f"{BEFORE}def test_it():\n    {body}")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = start(kata)
    finally:
        signal.signal(signal.SIGINT, before)
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=SECONDS)

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
            # Linux says so when the other end is closed.
            break
        question = next(iter(answers), None)
        if question and question in text[seen:]:
            seen = len(text)
            os.write(terminal, answers.pop(question).encode())
    os.waitpid(process, 0)
    return text


@pytest.mark.parametrize("own", [True, False], ids=["breakpoint", "--pdb"])
def test_a_debugger_has_the_terminal_and_all_the_time(kata: MiniCourse, *, own: bool) -> None:
    """No limit ends a session while a person thinks; the time after that counts again."""
    stop = "breakpoint()" if own else "assert 0"
    kata.kata(test=f"{BEFORE}def test_stop():\n    x = 6\n    {stop}\n{AFTER}")
    think = "import time; time.sleep(2.5); print(x * 7)\n"

    text = converse(
        kata,
        ["--color=no", "-o", "kata_timeout=2", *([] if own else ["--pdb"])],
        {"(Pdb)": think, "42": "c\n"},
    )

    assert "42" in text
    assert ("== 3 passed in " if own else "== 1 failed, 2 passed in ") in text


def test_a_crash_on_a_terminal_reads_as_one_session(kata: MiniCourse) -> None:
    """The second process goes on in the line where the first one died."""
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
