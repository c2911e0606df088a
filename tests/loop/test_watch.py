"""``--watch`` in a terminal: a person saves files and presses keys."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import time
from datetime import UTC
from datetime import datetime
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from plugins import HERE
from plugins.loop.screen import CLEAR
from plugins.loop.watch import find_obstacle
from plugins.loop.watch_state import WELCOME
from plugins.progress.store import LAST
from tests.support.terminal import KEYS
from tests.support.terminal import Terminal
from tests.support.terminal import children_of
from tests.support.terminal import eventually
from tests.support.terminal import gone
from tests.support.terminal import hears_ctrl_c
from tests.support.terminal import screen_of
from tests.support.threekatas import PLUGINS
from tests.support.threekatas import RIGHT
from tests.support.threekatas import STUB
from tests.support.threekatas import TEST
from tests.support.threekatas import WRONG
from tests.support.threekatas import solve
from tests.support.threekatas import write_three


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
    """A shell lets background jobs ignore Ctrl-C, and children inherit that."""
    undo = hears_ctrl_c()
    yield
    undo()


@pytest.fixture
def plain(course: MiniCourse) -> MiniCourse:
    """A course of two lectures with three katas."""
    course.plugins(*PLUGINS, "plugins.loop.reference", "plugins.loop.watch")
    write_three(course)
    return course


@pytest.fixture
def three(plain: MiniCourse) -> MiniCourse:
    """The three katas and a torch in which there is nothing, for a process that stays."""
    # The real ones take seconds.
    plain.write("site/torch/__init__.py", "")
    for name in ("numpy", "hypothesis"):
        plain.write(f"site/{name}.py", "raise ImportError")
    plain.path_first(plain.path / "site")
    settings = (plain.path / "pyproject.toml").read_text()
    without = settings.replace("addopts = [", 'addopts = ["-p", "no:hypothesispytest",')
    plain.write("pyproject.toml", without)
    return plain


def began(course: MiniCourse) -> int:
    """Return the process of an endless test, once it has begun."""
    file = course.path / "began"
    assert eventually(file.exists)
    number = int(file.read_text())
    file.unlink()
    return number


def leave(three: MiniCourse, terminal: Terminal, way: str | int) -> int:
    """End it by a key or a signal while a test runs; return its status.

    The terminal is given back first, and the test ends too.
    """
    assert not terminal.restored
    solve(three, FIRST, ENDLESS)
    process = began(three)
    if isinstance(way, str):
        terminal.process.send(way)
    else:
        os.kill(terminal.process.pid, way)
    assert eventually(lambda: terminal.restored)
    status, _ = terminal.end()
    assert eventually(lambda: gone(process))
    return status


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
    assert begin.endswith("\n\nn postpone  h hint  l list  r rerun  q quit\n")
    assert "hint    press h\n" in begin
    assert "--hint" not in begin
    assert wrong.startswith(f"{CLEAR}{SAVED}")
    assert "AssertionError: ten doubled is twenty\n" in wrong
    assert "again   " not in wrong
    assert f"{FIRST} is solved: The title of k01_first\n" in right
    assert "learned why strides fits\ntime    under 1 min, no hint\n" in right
    assert "next    press n: lecture01/k02_second, The title of k02_second\n" in right
    assert "lecture01 ██████████░░░░░░░░░░ 1 of 2\n" in right
    assert right.endswith("\n\nn next  h hint  s solution  l list  r rerun  q quit\n")
    assert text.endswith("go on with: pytest --color=no katas/lecture01 --watch\n")
    assert "k01_first.py: the same as the reference\n" in solution
    assert "    k02_second  The title of k02_second\n" in listed
    assert "  > k01_first   The title of k01_first   solved" in listed
    assert "lecture02" not in listed
    assert "edit    katas/lecture01/k02_second.py:8\n" in following
    assert "Hint 1 of 3: the first hint\n" in hint
    assert hint.startswith(CLEAR)
    assert "edit    katas/lecture01/k02_second.py:8\n" in hint
    assert "edit    katas/lecture01/k02_second.py:8\n" in again
    assert 0 == status
    lines = (begin + wrong + right).splitlines()
    assert [] == [line for line in lines if len(line) > 80 and "https://" not in line]


@pytest.mark.slow
def test_it_goes_on_by_itself(three: MiniCourse) -> None:
    """With ``--go``, from kata to kata; one that is left out comes back; with -s, as told.

    SIGTERM ends it.
    """
    with Terminal(three.path, "katas", "--watch", "--next", "--go", "-s") as terminal:
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
        status = leave(three, terminal, signal.SIGTERM)

    assert f"\n{FIRST}: " in begin
    assert "core path: 0 of 3" in begin
    assert f"{FIRST} is solved: " in solved
    assert "about to call\n" in solved
    assert "\nlecture01/k02_second: " in solved
    assert "lecture01/k02_second is postponed: press b to go back to it\n" in skipped
    assert "\nlecture02/k01_third: " in skipped
    assert "lecture02/k01_third: The title of k01_third\nHint 1 of 3" in hint
    assert f"{CLEAR}  lecture01  " in listed
    assert "\n> lecture02  " in listed
    assert "\nlecture01/k02_second: " in back
    assert "Everything in the course is solved: 3 of 3 katas.\n" in end
    assert "Everything in the course is solved: 3 of 3 katas.\n" in none
    assert 128 + signal.SIGTERM == status


def test_a_long_reference_begins_at_its_beginning(three: MiniCourse) -> None:
    """In 24 rows; keys turn its pages, and the one that has opened it closes it."""
    long = "".join(f"    n = n + {n} - {n}\n" for n in range(50))
    three.write(
        f"katas/lecture01/solutions/{FIRST[10:]}.py", f"def answer(n):\n{long}    return 2 * n\n"
    )
    with Terminal(three.path, "katas/lecture01", "--watch", rows=24) as terminal:
        terminal.shown()
        solve(three, FIRST, "def answer(n):\n    return 2 * n\n")
        solved = screen_of(terminal.shown())
        first = screen_of(terminal.press("s"))
        second = screen_of(terminal.press(" "))
        line = screen_of(terminal.press("j"))
        back = screen_of(terminal.press("b"))
        closed = screen_of(terminal.press("s"))
        terminal.press("s")
        following = screen_of(terminal.press("n"))
        terminal.process.send("q")
        terminal.end()

    assert f"{FIRST}: The title of k01_first" == first[0]
    assert "space on  b back  j down  k up  s close  q quit" == first[-2]
    assert first[-3].startswith("lines 1 to 21 of ")
    assert second[-3].startswith("lines 22 to 42 of ")
    assert second[0] not in first
    assert second[1] == line[0]
    assert back[-3].startswith("lines 2 to 22 of ")
    assert solved[1:] == closed[-len(solved[1:]) :]
    assert "lecture01/k02_second: The title of k02_second" in following
    assert following[-2].startswith("n postpone  b back")


def test_the_tests_that_pass_are_counted_on_each_screen(three: MiniCourse) -> None:
    """After a crash, after a wrong answer, and when the kata is shown again; not of an import."""
    with Terminal(three.path, "katas", "--watch", "--next", rows=24) as terminal:
        terminal.shown()
        solve(three, FIRST, "def answer(n): return 2 if n == 1 else __import__('os').abort()\n")
        crashed = screen_of(terminal.shown())
        waits = screen_of(terminal.press("n"))
        again = screen_of(terminal.press("n"))
        solve(three, FIRST, "__import__('os').abort()\n")
        broken = screen_of(terminal.shown())
        terminal.process.send("q")
        terminal.end()

    assert "tests   1 of 2 pass" in crashed
    assert not [row for row in waits if row.startswith("tests ")]
    assert f"{FIRST}: The title of k01_first" in again
    assert "tests   1 of 2 pass" in again
    assert [row for row in broken if "abort (SIGABRT)" in row]
    assert not [row for row in broken if row.startswith("tests ")]


def test_the_key_back_shows_all_of_a_solved_kata(three: MiniCourse) -> None:
    """What its screen showed when it was solved."""
    with Terminal(three.path, "katas", "--watch", "--next", rows=24) as terminal:
        terminal.shown()
        solve(three, FIRST)
        solved = screen_of(terminal.shown())
        terminal.press("n")
        back = screen_of(terminal.press("b"))
        terminal.process.send("q")
        terminal.end()

    assert f"{FIRST} is solved: The title of k01_first" in solved
    assert "k01_first.py: the same as the reference" in solved
    assert [row for row in solved if row.startswith("time ")]
    shown = [row for row in solved if row and not row.startswith(("saved ", "time ", "n next"))]
    assert shown == [row for row in back if row in shown]


def test_the_last_page_and_the_key_there_name_one_command(three: MiniCourse) -> None:
    """And one time: so do the list and what is said at the end."""
    with Terminal(three.path, "katas/lecture02", "--watch", "--next", rows=24) as terminal:
        terminal.shown()
        before = datetime.now(UTC) - timedelta(minutes=5)
        last = three.path / LAST
        data = json.loads(last.read_text())
        last.write_text(json.dumps({**data, "at": before.isoformat()}))
        solve(three, "lecture02/k01_third")
        page = screen_of(terminal.shown())
        listed = screen_of(terminal.press("l"))
        none = screen_of(terminal.press("n"))
        terminal.process.send("q")
        _, goodbye = terminal.end()

    command = "katas/lecture01 --watch --next"
    assert "The end of lecture02: The title of lecture02" in page
    assert command in " ".join(row.strip() for row in page)
    assert [row for row in none if row.startswith("The rest of the course: ") and command in row]
    assert not [row for row in none if "pytest katas --next" in row]
    assert "It took 5 min. This is a good place to stop." in page
    assert [row for row in listed if row.endswith("in all 5 min")]
    assert "today: 1 kata, 5 min; " in goodbye


def test_it_stops_at_a_kata_that_is_solved(three: MiniCourse) -> None:
    """With ``--next``; another kata may be saved in between, and a key goes back."""
    second = "lecture01/k02_second"
    with Terminal(three.path, "katas", "--watch", "--next") as terminal:
        terminal.shown()
        solve(three, second)
        other = terminal.shown()
        shown = terminal.press("n")
        solve(three, FIRST)
        solved = terminal.shown()
        third = terminal.press("n")
        back = terminal.press("b")
        twice = terminal.press("b")
        terminal.press("h")
        panels = terminal.press("h")
        terminal.process.send("q")
        terminal.end()

    assert f"saved   katas/{second}.py\n" in other
    assert f"{second} is solved: " in other
    assert f"You were at {FIRST}: press n to go back to it.\n" in other
    assert f"next    press n: {FIRST}, " in other
    assert f"\n{FIRST}: " in shown
    assert f"{FIRST} is solved: " in solved
    assert "core path: 2 of 3" in solved
    assert "The end of lecture01: The title of lecture01\n" in solved
    assert "next    press n: lecture02/k01_third, " in solved
    assert "k01_third: " not in solved
    assert "\nlecture02/k01_third: " in third
    assert "b back" in third
    assert f"{FIRST} is solved: " in back
    assert "learned why strides fits\n" in back
    assert "The end of lecture01" not in back
    assert "You have left no kata yet" in twice
    assert panels.startswith(CLEAR)
    assert "Hint 2 of 3" in panels
    assert "Hint 1 of 3" not in panels
    assert f"{FIRST} is solved: " in panels


@pytest.mark.slow
def test_a_clock_shows_while_a_test_runs(three: MiniCourse) -> None:
    """With the name of the test and the keys; the result takes its place."""
    slow = "import time\n\ndef answer(n):\n    time.sleep(3)\n    return 2 * n\n"
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        solve(three, FIRST, slow)
        text = terminal.shown(f"{FIRST} is solved: ")
        solve(three, FIRST, ENDLESS)
        began(three)
        assert terminal.process.expect(" [12] s  test_small: It doubles. +r rerun  q quit") == 0
        terminal.process.send("q")
        terminal.end()

    assert re.search(r"\r\x1b\[K  [1-3] s  test_small: It doubles\. +r rerun  q quit", text)
    clocks = re.findall(r"\r\x1b\[K( +\d s  .*?  q quit)", text)
    assert 2 <= len(clocks)
    assert {79} == {len(clock) for clock in clocks}


@pytest.mark.slow
def test_the_clock_goes_on_behind_a_kata_that_is_solved(three: MiniCourse) -> None:
    """With ``--go`` the next kata may run for ever."""
    with Terminal(three.path, "katas", "--watch", "--next", "--go") as terminal:
        terminal.shown()
        solve(three, "lecture01/k02_second", ENDLESS)
        began(three)
        solve(three, FIRST)
        terminal.shown(f"{FIRST} is solved: ")
        began(three)
        assert terminal.process.expect(r"\r\x1b\[K +\d+ s  test_small: .* r rerun  q quit") == 0
        terminal.process.send("q")
        terminal.end()


def test_what_breaks_an_exercise_is_shown(three: MiniCourse) -> None:
    """A syntax error, a crash, a file that is gone, and one that is put in its place by rename.

    Ctrl-C ends it.
    """
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
        status = leave(three, terminal, "\x03")

    assert f"edit    {EXERCISE}:3\n" in syntax
    assert "SyntaxError: " in syntax
    assert f"edit    {EXERCISE}:4\n" in crash
    assert "abort (SIGABRT)" in crash
    assert "breakpoint() needs the keys that --watch reads: " in debugger
    assert f"edit    {EXERCISE}:1\n" in away
    assert f"removed {EXERCISE}\n" in away
    assert f"nox -s reset -- {FIRST} brings the stub back" in away
    assert f"{FIRST} is solved: " in right
    assert 2 == status


def test_a_crash_tells_what_was_solved_before_it_once(three: MiniCourse) -> None:
    """Though the process that goes on plays the kata before it again; a key draws all anew."""
    solve(three, FIRST)
    solve(three, "lecture01/k02_second", "import os\n\ndef answer(n):\n    os.abort()\n")
    with Terminal(three.path, "katas", "--watch", "--next") as terminal:
        begin = terminal.shown()
        terminal.process.send("h")
        drawn = terminal.shown()
        terminal.process.send("q")
        terminal.end()

    for text in (begin, drawn.rpartition(CLEAR)[2]):
        assert 1 == text.count(f"{FIRST} is solved: ")
        assert 1 == text.count("abort (SIGABRT)")
        assert "test    test_small: It doubles.\n" in text


def test_a_save_drops_the_run_that_goes_on(three: MiniCourse) -> None:
    """Whose process is gone; keys that are pressed meanwhile are served, `r` at once.

    Of ten saves a second the last one counts, though no save changes the size of the file, and all
    the time is one. A key ends it.
    """
    exercise, second = three.path / EXERCISE, time.time() + 1000
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        solve(three, FIRST, ENDLESS)
        runs = [began(three)]
        terminal.process.send("lhr")
        runs.append(began(three))
        solve(three, FIRST)
        right, listed, hint = terminal.shown(), terminal.shown(), terminal.shown()
        solve(three, FIRST, WRONG)
        terminal.shown()
        for number in "3456789012":
            exercise.write_text(RIGHT.replace("2", number))
            os.utime(exercise, (second, second))
            time.sleep(0.1)
        last = terminal.shown(f"{FIRST} is solved: ")
        status = leave(three, terminal, "q")

    assert f"{FIRST} is solved: " in right
    assert "> k01_first " in listed
    assert "Hint 1 of 3" in hint
    assert SAVED in last
    assert 0 == status
    assert 2 == len(set(runs))
    assert eventually(lambda: gone(*runs))


def test_it_stops_and_goes_on_as_other_programs(three: MiniCourse) -> None:
    """Ctrl-Z gives the terminal back to the shell; `fg` takes it again, with the same options.

    A window that is closed ends it.
    """
    solve(three, FIRST)
    with Terminal(three.path, "katas/lecture01", "--watch", "-k", "small") as terminal:
        terminal.shown()
        terminal.process.send("\x1a")
        _, status = os.waitpid(terminal.process.pid, os.WUNTRACED)
        stopped = terminal.restored
        os.kill(terminal.process.pid, signal.SIGCONT)
        again = terminal.press("r")
        taken = not terminal.restored
        ended = leave(three, terminal, signal.SIGHUP)

        assert os.WIFSTOPPED(status)
        assert stopped
        assert taken
        assert 128 + signal.SIGHUP == ended
        assert "Nothing failed, but not all of its tests ran.\n" in again


@pytest.mark.parametrize(("why", "options"), [("terminal", []), ("CI", ["--all"])])
def test_elsewhere_the_tests_run_once(
    plain: MiniCourse, monkeypatch: pytest.MonkeyPatch, why: str, options: list[str]
) -> None:
    """One line says why nothing interactive starts; ``--all`` is no mistake there."""
    if why == "CI":
        monkeypatch.setenv("CI", "1")
    result = plain.run("katas/lecture01", "--watch", *options)
    text, status = result.stdout.str() + result.stderr.str(), int(result.ret)
    reason = "--watch needs a terminal" if why == "terminal" else "--watch is for a person, and CI"

    assert 1 == status
    assert 1 == text.count("the tests run once")
    assert f"katas: {reason}" in text
    assert "4 failed" in text
    assert KEYS not in text


def test_a_terminal_does_not_make_it_a_person(
    pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some services give their jobs one."""
    monkeypatch.setattr("os.isatty", lambda _: True)
    monkeypatch.setenv("CI", "1")
    reason = find_obstacle(pytestconfig)
    monkeypatch.delenv("CI")

    assert "--watch is for a person, and CI is set" == reason
    assert reason != find_obstacle(pytestconfig)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-n2"], "ERROR: --watch runs your own answers, one kata at a time:"),
        (["--solutions"], "ERROR: --watch runs your own answers, one kata at a time:"),
        (["--pdb"], "ERROR: --watch reads the keys that a debugger wants:"),
        (["--from=lecture02/k09"], "ERROR: --from: no kata is called"),
        (["--go"], "ERROR: --go is for --watch --next, which stops at each kata"),
    ],
)
def test_other_options_contradict_it(plain: MiniCourse, options: list[str], message: str) -> None:
    """They are refused, and the message names the option to leave out."""
    result = plain.run("katas", "--watch", *options)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert message in result.stderr.str()


def test_what_only_shows_something_comes_first(plain: MiniCourse) -> None:
    """A hint is a hint."""
    result = plain.run("katas/lecture01/test_k01_first.py", "--watch", "--hint")

    assert 0 == result.ret
    assert "Hint 1 of 3" in result.stdout.str()


def test_it_says_what_it_lacks(plain: MiniCourse) -> None:
    """The package that watches files, and how to get it; or katas."""
    plain.write("none/test_it.py", "def test(): pass")
    none = plain.run("none", "--watch")
    conftest = (plain.path / "conftest.py").read_text()
    plain.write("conftest.py", f"{conftest}\nimport sys\nsys.modules['watchfiles'] = None\n")
    result = plain.run("katas", "--watch")

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


def read_numbers(file: Path) -> list[int]:
    """Return the processes that a file names."""
    return [int(line) for line in file.read_text().split()]


@linux
def test_torch_is_imported_once_and_asked_for_devices_in_the_runs(
    three: MiniCourse, torch: Path
) -> None:
    """The process that stays never starts CUDA, which would not survive a fork.

    Nothing outlives it, not even when it is killed: neither the run nor the process that watches
    the files.
    """
    assert torch.exists()
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        solve(three, FIRST)
        right = terminal.shown()
        number = terminal.process.pid
        asked = read_numbers(three.path / "asked")
        solve(three, FIRST, ENDLESS)
        process = began(three)
        children = children_of(number)
        os.kill(number, signal.SIGKILL)

        assert 2 == len(children)
        assert eventually(lambda: gone(process, *children))
    assert f"{FIRST} is solved: " in right
    assert [number] == read_numbers(three.path / "imported")
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


def test_it_starts_anew_when_what_it_has_imported_changes(three: MiniCourse, torch: Path) -> None:
    """At the next save or key, at the latest: for settings, and for torch.

    It says by which version torch was replaced, also when that is not yet there.
    """
    with Terminal(three.path, "katas/lecture01", "--watch", "--next") as terminal:
        terminal.shown()
        with (three.path / "conftest.py").open("a") as file:
            file.write("# changed\n")
        changed = terminal.press("z")
        torch.write_text("__version__ = '2.14.0'\n")
        replaced = terminal.press("r")
        torch.unlink()
        removed = terminal.press("r")
        terminal.process.send("q")
        status, text = terminal.end()

    assert "\nconftest.py has changed: starting anew\nImporting torch" in changed
    assert f"\n{FIRST}: " in changed
    assert "\ntorch 2.13.0 was replaced by 2.14.0: starting anew\nImporting torch" in replaced
    assert f"\n{FIRST}: " in replaced
    assert "\ntorch 2.14.0 was replaced by another one: starting anew\n" in removed
    assert "ModuleNotFoundError: No module named 'torch.version'" in removed
    assert (0, True) == (status, text.startswith("\ntoday: 0 katas, 0 min; next "))


# Instead of waiting, says what is noticed of a change to each of these files, one after the other.
NOTICES = """
import os, pytest

@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main():
    from plugins.loop import events

    class Loop:
        def __init__(self, config, desk, saves, loaded):
            self.root, self.saves, self.loaded = config.rootpath, saves, loaded

        def go_on(self):
            self.saves.stop()
            for file in map(self.root.joinpath, {names!r}):
                before = file.stat().st_mtime_ns
                os.utime(file)
                print(self.loaded.outdated())
                os.utime(file, ns=(before, before))
            return 0 if self.loaded.outdated() is None else 1

    events.Loop = Loop
    os.isatty = lambda file: True
    return (yield)
"""
READ = ("conftest.py", "pyproject.toml", "katas/lecture01/lecture.toml", "katas/__init__.py")


def test_changes_of_all_that_it_has_read_are_noticed(three: MiniCourse) -> None:
    """Settings, plugins, the table of a lecture."""
    conftest = (three.path / "conftest.py").read_text()
    three.write("conftest.py", conftest + NOTICES.format(names=READ))
    result = three.run("katas/lecture01", "--watch", "-s")

    assert 0 == result.ret
    assert [f"{name} has changed" for name in READ] == [
        line for line in result.outlines if line.endswith(" has changed")
    ]


def test_it_starts_anew_when_a_module_in_a_wing_changes(three: MiniCourse) -> None:
    """A save in a subfolder of plugins/ is enough, without a key."""
    # With its bytecode, but not with what another process is just writing of it.
    shutil.copytree(HERE, three.path / "plugins", ignore=shutil.ignore_patterns("*.pyc.*"))
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        with (three.path / "plugins/loop/screen.py").open("a") as file:
            file.write("# changed\n")
        text = terminal.shown()
        terminal.process.send("q")

        assert 0 == terminal.end()[0]
    assert text.startswith("\nplugins/loop/screen.py has changed: starting anew\nImporting torch")


@linux
def test_it_goes_on_without_the_process_that_watches(three: MiniCourse) -> None:
    """One line reports it, and the key runs the tests."""
    with Terminal(three.path, "katas/lecture01", "--watch") as terminal:
        terminal.shown()
        (watcher,) = children_of(terminal.process.pid)
        os.kill(watcher, signal.SIGTERM)
        said = terminal.shown("r runs the tests.")
        solve(three, FIRST)
        right = terminal.press("r")

    assert "Files are no longer watched;" in said
    assert f"{FIRST} is solved: " in right


def test_the_list_on_a_screen_of_24_rows(three: MiniCourse) -> None:
    """One moves in it, jumps, goes on from there, and puts a stub back; `q` says what is next.

    Before it a welcome, and the same result again is said to be the same.
    """
    for number in range(3, 10):
        name = f"k0{number}_more"
        test = TEST.format(lecture="lecture02", name=name)
        three.kata(name, test, lecture="lecture02", stub=STUB, solution=RIGHT)
    shutil.copytree(HERE, three.path / "plugins", ignore=shutil.ignore_patterns("*.pyc*"))
    three.write("plugins/fork/reset.py", RESET)
    with Terminal(three.path, "katas", "--watch", "--next", rows=24) as terminal:
        begin = terminal.shown()
        again = terminal.press("r")
        listed = terminal.press("l")
        moved = terminal.press("jj")
        moved += terminal.shown()
        jumped = terminal.press("\n")
        terminal.press("l")
        terminal.press("j")
        on = terminal.press("g")
        solve(three, "lecture02/k03_more", WRONG)
        terminal.shown()
        asked = terminal.press("x")
        terminal.press("x")
        reset = terminal.shown()
        terminal.process.send("q")
        status, end = terminal.end()

    screens = [screen_of(begin + text) for text in ("", again)]
    assert WELCOME.splitlines() == screens[0][:2]
    assert f"edit    {EXERCISE}:8" in screens[0]
    assert "NotImplementedError: answer" in screens[0]
    assert [f"edit    {EXERCISE}:8" in screens[1], "As before.", ""] == [True, *screens[1][-3::2]]
    rows = screen_of(listed)
    assert "> lecture01" == rows[0][:11]
    assert "  > k01_first " == rows[1][:14]
    assert rows[-2].startswith("j down  k up  enter jump there")
    assert "  > k01_third " == next(row for row in screen_of(moved) if row.startswith("  >"))[:14]
    assert f"You were at {FIRST}: press n to go back to it." in screen_of(jumped)
    assert "lecture02/k03_more: The title of k03_more" in screen_of(on)
    assert "Press x again to put the stub of lecture02/k03_more back." in screen_of(asked)
    assert f"{CLEAR}lecture02/k03_more is the stub again\nyour version  there\n" in reset
    assert STUB == (three.katas / "lecture02/k03_more.py").read_text()
    assert 0 == status
    assert "\ntoday: 0 katas, 0 min; next lecture02/k03_more\ngo on with: pytest" in end


# Puts a stub back without git, which the course of these tests has not.
RESET = f"""
import sys
from pathlib import Path

def main(arguments, root):
    file = Path("katas", arguments[0] + ".py")
    file.write_text({STUB!r})
    print(arguments[0], "is the stub again")
    print("your version  there")
    return 0
"""
