"""``--watch`` in a terminal: a person saves files and presses keys."""

from __future__ import annotations

import os
import signal
import sys
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import cast

import pytest

from plugins.watchloop import Loop
from plugins.watchview import CLEAR
from tests.terminal import KEYS
from tests.terminal import Terminal
from tests.terminal import children_of
from tests.terminal import eventually
from tests.terminal import gone
from tests.terminal import hears_ctrl_c
from tests.test_nextkata import PLUGINS
from tests.test_nextkata import RIGHT
from tests.test_nextkata import WRONG
from tests.test_nextkata import solve
from tests.test_nextkata import write_three


if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import MiniCourse


FIRST = "lecture01/k01_first"
EXERCISE = f"katas/{FIRST}.py"
SAVED = f"saved   {EXERCISE}\n"
# Says which process it is, and goes on until it is stopped.
ENDLESS = """
import os
from pathlib import Path

def answer(n):
    Path("began.new").write_text(str(os.getpid()))
    os.rename("began.new", "began")
    while True:
        pass
"""


linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, and a signal of Linux")


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """A shell lets what it runs in the background ignore Ctrl-C, and children inherit that."""
    undo = hears_ctrl_c()
    yield
    undo()


@pytest.fixture
def three(course: MiniCourse) -> MiniCourse:
    """A course of two lectures with three katas, and a torch in which there is nothing."""
    course.plugins(*PLUGINS, "plugins.reference", "plugins.watch")
    # The real ones take seconds.
    course.write("site/torch/__init__.py", "")
    course.write("site/numpy.py", "raise ImportError")
    course.path_first(course.path / "site")
    write_three(course)
    return course


def began(course: MiniCourse) -> int:
    """Return the process of an endless test, once it has begun."""
    file = course.path / "began"
    assert eventually(file.exists)
    number = int(file.read_text())
    file.unlink()
    return number


def test_a_save_runs_the_kata(three: MiniCourse) -> None:
    """From the stub to the solution and on to the next kata, by the keys that are shown."""
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        begin = terminal.shown()
        solve(three, FIRST, WRONG)
        wrong = terminal.shown()
        solve(three, FIRST)
        right = terminal.shown()
        solution = terminal.press("s")
        listed = terminal.press("l")
        following = terminal.press("n")
        hint = terminal.press("h")
        again = terminal.press("r")
        terminal.process.send("xq")
        status, text = terminal.end()

    assert begin.startswith("Importing torch")
    assert f"edit    {EXERCISE}:8\ntest    test_small: It doubles.\n" in begin
    assert begin.endswith("\n\nn next  h hint  l list  r rerun  q quit\n")
    assert wrong.startswith(f"{CLEAR}{SAVED}")
    assert "AssertionError: ten doubled is twenty\n" in wrong
    assert "again   " not in wrong
    assert f"{FIRST} is solved: The title of k01_first\n" in right
    assert "1 of 2 katas solved\n" in right
    assert right.endswith("\n\nn next  h hint  s solution  l list  r rerun  q quit\n")
    assert "They are the same.\n" in solution
    assert "    k02_second             The title of k02_second\n" in listed
    assert "  > k01_first              The title of k01_first   solved" in listed
    assert "lecture02" not in listed
    assert "edit    katas/lecture01/k02_second.py:8\n" in following
    assert "Hint 1 of 3: the first hint\n" in hint
    assert hint.count("\n") < 8
    assert "edit    katas/lecture01/k02_second.py:8\n" in again
    assert (0, "") == (status, text)
    lines = (begin + wrong + right).splitlines()
    assert [] == [line for line in lines if len(line) > 80 and "https://" not in line]


def test_it_goes_on_by_itself(three: MiniCourse) -> None:
    """With ``--next``, from kata to kata; one that is left out comes back; with -s, as told."""
    with Terminal(three.path, "katas", "--watch", "--next", "-s") as terminal:
        begin = terminal.shown()
        solve(three, FIRST)
        solved = terminal.shown()
        skipped = terminal.press("n")
        hint = terminal.press("h")
        listed = terminal.press("l")
        solve(three, "lecture02/k01_third")
        back = terminal.shown()
        solve(three, "lecture01/k02_second")
        end = terminal.shown()
        none = terminal.press("n")
        terminal.process.send("q")

    assert f"\n{FIRST}: " in begin
    assert "0 of 3 katas solved" in begin
    assert f"{FIRST} is solved: " in solved
    assert "about to call\n" in solved
    assert "\nlecture01/k02_second: " in solved
    assert "s solution" in solved
    assert "lecture01/k02_second comes back after the others\n" in skipped
    assert "\nlecture02/k01_third: " in skipped
    assert "lecture02/k01_third: The title of k01_third\nHint 1 of 3" in hint
    assert "\n  lecture01  " in listed
    assert "\n> lecture02  " in listed
    assert "\nlecture01/k02_second: " in back
    assert "Everything in the course is solved: 3 of 3 katas.\n" in end
    assert "Everything in the course is solved: 3 of 3 katas.\n" in none


def test_what_breaks_an_exercise_is_shown(three: MiniCourse) -> None:
    """A syntax error, a crash, a file that is gone, and one that is put in its place by rename."""
    exercise = three.path / EXERCISE
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        solve(three, FIRST, '"""Brief."""\n\ndef answer(n) return n\n')
        syntax = terminal.shown()
        solve(three, FIRST, "import os\n\ndef answer(n):\n    os.abort()\n")
        crash = terminal.shown()
        solve(three, FIRST, "def answer(n):\n    breakpoint()\n")
        debugger = terminal.shown()
        exercise.unlink()
        away = terminal.shown()
        other = three.write("katas/lecture01/.k01_first.py.new", RIGHT)
        other.rename(exercise)
        right = terminal.shown()

    assert f"edit    {EXERCISE}:3\n" in syntax
    assert "SyntaxError: " in syntax
    assert f"edit    {EXERCISE}:4\n" in crash
    assert "abort (SIGABRT)" in crash
    assert "breakpoint() needs the keys that --watch reads: " in debugger
    assert f"edit    {EXERCISE}:1\n" in away
    assert f"nox -s reset -- {FIRST} brings the stub back" in away
    assert f"{FIRST} is solved: " in right


def test_a_save_drops_the_run_that_goes_on(three: MiniCourse) -> None:
    """Whose process is gone; keys that are pressed meanwhile are served, `r` at once."""
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        solve(three, FIRST, ENDLESS)
        runs = [began(three)]
        terminal.process.send("lhr")
        runs.append(began(three))
        solve(three, FIRST)
        right, listed, hint = terminal.shown(), terminal.shown(), terminal.shown()
        solve(three, FIRST, ENDLESS)
        runs.append(began(three))
        terminal.process.send("q")
        status, _ = terminal.end()

    assert f"{FIRST} is solved: " in right
    assert "> k01_first " in listed
    assert "Hint 1 of 3" in hint
    assert 0 == status
    assert 3 == len(set(runs))
    assert eventually(lambda: gone(*runs))


def test_ten_saves_a_second(three: MiniCourse) -> None:
    """The last one counts, though no save changes the size of the file, and all the time is one."""
    exercise, second = three.path / EXERCISE, time.time() + 1000
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        for number in "3456789012":
            exercise.write_text(RIGHT.replace("2", number))
            os.utime(exercise, (second, second))
            time.sleep(0.1)
        text = terminal.shown(f"{FIRST} is solved: ")
        terminal.shown()
        terminal.process.send("q")

        assert (0, "") == terminal.end()
    assert SAVED in text


@pytest.mark.parametrize(
    ("way", "status"),
    [("q", 0), ("\x03", 2), (signal.SIGTERM, 128 + 15), (signal.SIGHUP, 128 + 1)],
    ids=["q", "Ctrl-C", "SIGTERM", "SIGHUP"],
)
def test_the_terminal_is_given_back(three: MiniCourse, way: str | int, status: int) -> None:
    """Whichever way it ends, also while a test runs, which ends with it."""
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        taken = not terminal.restored
        solve(three, FIRST, ENDLESS)
        process = began(three)
        if isinstance(way, str):
            terminal.process.send(way)
        else:
            os.kill(terminal.process.pid, way)
        assert eventually(lambda: terminal.restored)
        ended, _ = terminal.end()

    assert taken
    assert status == ended
    assert eventually(lambda: gone(process))


def test_a_terminal_that_is_gone_ends_it() -> None:
    """As its hang-up does, which a program under nohup does not hear of."""
    gone_one = SimpleNamespace(keyboard=SimpleNamespace(read=lambda: None))

    assert 128 + signal.SIGHUP == Loop.read_keys(cast("Loop", gone_one))


@linux
def test_nothing_outlives_it(three: MiniCourse) -> None:
    """Not even when it is killed: neither the run nor the process that watches the files."""
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        solve(three, FIRST, ENDLESS)
        process = began(three)
        number = terminal.process.pid
        children = children_of(number)
        os.kill(number, signal.SIGKILL)

        assert 2 == len(children)
        assert eventually(lambda: gone(process, *children))


def test_it_stops_and_goes_on_as_other_programs(three: MiniCourse) -> None:
    """Ctrl-Z gives the terminal back to the shell; `fg` takes it again, with the same options."""
    solve(three, FIRST)
    with Terminal(three.path, "katas/lecture01", "--watch", "-k", "small") as terminal:
        terminal.shown()
        terminal.process.send("\x1a")
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        stopped = terminal.restored
        os.kill(terminal.process.pid, signal.SIGCONT)
        again = terminal.press("r")

        assert os.WIFSTOPPED(status)
        assert stopped
        assert not terminal.restored
        assert "Nothing failed, but not all of its tests ran.\n" in again


@pytest.mark.parametrize("why", ["terminal", "CI"])
def test_elsewhere_the_tests_run_once(three: MiniCourse, why: str) -> None:
    """One line says why nothing interactive starts."""
    if why == "terminal":
        result = three.run("katas/lecture01", "--watch")
        text, status = result.stdout.str() + result.stderr.str(), int(result.ret)
    else:
        with Terminal(three.path, "katas/lecture01", "--watch", CI="1") as terminal:
            status, text = terminal.end()
    reason = "--watch needs a terminal" if why == "terminal" else "--watch is for a person, and CI"

    assert 1 == status
    assert 1 == text.count("the tests run once")
    assert f"katas: {reason}" in text
    assert "4 failed" in text
    assert KEYS not in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-n2"], "ERROR: --watch runs your own answers, one kata at a time:"),
        (["--solutions"], "ERROR: --watch runs your own answers, one kata at a time:"),
        (["--pdb"], "ERROR: --watch reads the keys that a debugger wants:"),
        (["--from=lecture02/k09"], "ERROR: --from: no kata is called"),
    ],
)
def test_what_it_cannot_be_together_with(
    three: MiniCourse, options: list[str], message: str
) -> None:
    """It is refused, and what to leave out is named."""
    result = three.run("katas", "--watch", *options)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert message in result.stderr.str()


def test_what_only_shows_something_comes_first(three: MiniCourse) -> None:
    """A hint is a hint."""
    result = three.run("katas/lecture01/test_k01_first.py", "--watch", "--hint")

    assert 0 == result.ret
    assert "Hint 1 of 3" in result.stdout.str()


def test_it_says_what_it_lacks(three: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package that watches files, and how to get it; or katas."""
    three.write("hidden/sitecustomize.py", "import sys\nsys.modules['watchfiles'] = None\n")
    three.write("none/test_it.py", "def test(): pass")
    none = three.run("none", "--watch")
    three.path_first(three.path / "hidden")
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    result = three.run("katas", "--watch")

    assert pytest.ExitCode.USAGE_ERROR == none.ret
    assert "ERROR: --watch wants katas: pytest katas --watch" in none.stderr.str()
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert "ERROR: --watch needs watchfiles: python -m pip install" in result.stderr.str()


TORCH = """
import os
from pathlib import Path

from torch.version import __version__

Path("imported").open("a").write(f"{os.getpid()}\\n")


class cuda:
    @staticmethod
    def is_available():
        Path("asked").open("a").write(f"{os.getpid()}\\n")
        return False

    @staticmethod
    def is_initialized():
        return False
"""
ASKS = """
import torch
from katas.lecture01.k01_first import answer

def test_device():
    assert not torch.cuda.is_available()
    assert 2 == answer(1)
"""


@pytest.fixture
def torch(three: MiniCourse) -> Path:
    """A torch that notes which process imports it and which asks for CUDA."""
    three.write("site/torch/__init__.py", TORCH)
    version = three.write("site/torch/version.py", "__version__ = '2.13.0'\n")
    three.write("katas/lecture01/test_k01_first.py", ASKS)
    return version


def numbers(file: Path) -> list[int]:
    """Return the processes that a file names."""
    return [int(line) for line in file.read_text().split()]


def test_torch_is_imported_once_and_asked_for_devices_in_the_runs(
    three: MiniCourse, torch: Path
) -> None:
    """The process that stays never starts CUDA, which would not survive a fork."""
    assert torch.exists()
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        solve(three, FIRST)
        right = terminal.shown()
        number = terminal.process.pid
    asked = numbers(three.path / "asked")

    assert f"{FIRST} is solved: " in right
    assert [number] == numbers(three.path / "imported")
    assert 2 == len(set(asked))
    assert number not in asked


def test_it_can_be_left_before_it_has_begun(three: MiniCourse) -> None:
    """While torch is imported nothing has been taken from the terminal."""
    text = "import time\nopen('importing', 'w').close()\ntime.sleep(1000)\n"
    three.write("site/torch/__init__.py", text)
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        assert eventually((three.path / "importing").exists)
        restored = terminal.restored
        terminal.process.sendintr()

        assert 2 == terminal.end()[0]
    assert restored


def test_it_starts_anew_when_torch_is_replaced(three: MiniCourse, torch: Path) -> None:
    """It says by which version, also when that is not yet there."""
    with Terminal(three.path, "katas/lecture01", "--watch", "--next") as terminal:
        terminal.shown()
        torch.write_text("__version__ = '2.14.0'\n")
        replaced = terminal.press("r")
        torch.unlink()
        removed = terminal.press("r")
        terminal.process.send("q")
        status, _ = terminal.end()

    assert "\ntorch 2.13.0 was replaced by 2.14.0: starting anew\nImporting torch" in replaced
    assert f"\n{FIRST}: " in replaced
    assert "\ntorch 2.14.0 was replaced by another one: starting anew\n" in removed
    assert "ModuleNotFoundError: No module named 'torch.version'" in removed
    assert 0 == status


def test_it_starts_anew_when_what_it_has_read_changes(three: MiniCourse) -> None:
    """Settings, plugins, the table of a lecture: at the next save or key, at the latest."""
    names = ("conftest.py", "pyproject.toml", "katas/lecture01/lecture.toml")
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        for name in names:
            with (three.path / name).open("a") as file:
                file.write("# changed\n")
            text = terminal.press("x")

            assert f"\n{name} has changed: starting anew\nImporting torch" in text
            assert f"\n{FIRST}: " in text
        terminal.process.send("q")

        assert (0, "") == terminal.end()


@linux
def test_it_goes_on_without_the_process_that_watches(three: MiniCourse) -> None:
    """It says so, and the key runs the tests."""
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        (watcher,) = children_of(terminal.process.pid)
        os.kill(watcher, signal.SIGTERM)
        said = terminal.shown("r runs the tests.")
        solve(three, FIRST)
        right = terminal.press("r")

    assert "Files are no longer watched;" in said
    assert f"{FIRST} is solved: " in right
