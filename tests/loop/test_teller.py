"""``--next``: one kata at a time, from where the learner stands."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.bookmark import FILE
from tests.test_progress import state


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


TEST = '''
from katas.{lecture}.{name} import answer

def test_small():
    """It doubles."""
    assert answer(1) == 2, "one doubled is two"

def test_large():
    """It doubles what is large."""
    print("about to call")
    assert answer(10) == 20, "ten doubled is twenty"
'''
STUB = '''"""Twice as much: the arithmetic of doubling.

More of the brief.
"""


def answer(n):
    # TODO: double it
    raise NotImplementedError("answer")
'''
RIGHT = "def answer(n): return 2 * n\n"
WRONG = "def answer(n):\n    return 2\n"
CANNOT = """
import pytest

pytestmark = pytest.mark.backend("nothing")

def test(): pass
"""
NOTHING = """
from plugins.capability import Capability

pytest_plugins = {plugins!r}

def pytest_kata_backends(config):
    return [Capability("nothing", lambda: "there is none; get one")]
"""


PLUGINS = (
    *("plugins.course", "plugins.crashguard", "plugins.solutions", "plugins.hints"),
    *("plugins.episodes", "plugins.failures", "plugins.absent", "plugins.stamps"),
    *("plugins.progress", "plugins.backends", "plugins.nextkata"),
)


@pytest.fixture
def three(course: MiniCourse) -> MiniCourse:
    """A course of two lectures with three katas."""
    course.plugins(*PLUGINS)
    write_three(course)
    return course


def write_three(course: MiniCourse) -> None:
    """Write the katas of two lectures."""
    for lecture, name in (
        ("lecture01", "k01_first"),
        ("lecture01", "k02_second"),
        ("lecture02", "k01_third"),
    ):
        test = TEST.format(lecture=lecture, name=name)
        course.kata(name, test, lecture=lecture, stub=STUB, solution=RIGHT)


def solve(course: MiniCourse, name: str, text: str = RIGHT) -> None:
    """Write the answer of a kata."""
    course.write(f"katas/{name}.py", text)


def heading(result: pytest.RunResult) -> str:
    """Return the kata that is shown."""
    found = [line for line in result.outlines if re.fullmatch(r"lecture\d\d/k\S+: .*", line)]
    return found[0].partition(":")[0] if len(found) == 1 else str(found)


def test_the_first_failing_test_is_all_that_is_shown(
    three: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the brief, the place to edit, the learner's calls, what to read, and the commands."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = three.run("katas", "--next")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert "" == result.stderr.str()
    lines = result.outlines
    at = lines.index("read    c10/core/DispatchKeySet.h: DispatchKeySet")
    assert lines[:at] == [
        "." * 20 + " 0 of 3 katas solved",
        "lecture01/k01_first: The title of k01_first",
        "brief   Twice as much: the arithmetic of doubling.",
        "edit    katas/lecture01/k01_first.py:8",
        "test    test_small: It doubles.",
        "",
        "NotImplementedError: answer",
        "",
        "katas/lecture01/test_k01_first.py:6: in test_small",
        '    assert answer(1) == 2, "one doubled is two"',
        "           ^^^^^^^^^",
        "katas/lecture01/k01_first.py:9: in answer",
        '    raise NotImplementedError("answer")',
        "",
    ]
    assert lines[at + 2].startswith("listen  #62 Strides")
    hint, again, later = (line for line in lines[at + 4 :] if line)
    assert "hint    pytest katas/lecture01/test_k01_first.py --hint" == hint
    # pytester adds an option of its own.
    assert re.fullmatch(r"again   pytest (--basetemp=\S+ )?katas --next", again)
    assert f"{again.replace('again', 'later')} --skip" == later
    assert [] == [line for line in lines if len(line) > 80 and "/" not in line]
    assert all(line.isascii() for line in lines)


def test_it_goes_on_when_a_kata_is_solved(three: MiniCourse) -> None:
    """The one that has just been solved is named; then the next one is shown, and at last none."""
    headings = [heading(three.run("katas", "--next"))]
    solve(three, "lecture01/k01_first")
    result = three.run("katas", "--next")
    headings.append(heading(result))
    result.stdout.fnmatch_lines(["lecture01/k01_first is solved: *", "* 1 of 3 katas solved"])
    solve(three, "lecture01/k02_second")
    solve(three, "lecture02/k01_third")
    result = three.run("katas", "--next")

    assert ["lecture01/k01_first", "lecture01/k02_second"] == headings
    assert pytest.ExitCode.OK == result.ret
    assert [line for line in result.outlines if line][-1] == (
        "Everything in the course is solved: 3 of 3 katas."
    )


def test_what_is_solved_does_not_run_again(three: MiniCourse) -> None:
    """Not even its module is imported; an edit opens it again."""
    solve(three, "lecture01/k01_first", f"{RIGHT}open('imported', 'a').write('1')\n")
    three.run("katas", "--next")
    three.run("katas", "--next")
    imported = (three.path / "imported").read_text()
    solve(three, "lecture01/k01_first", f"{RIGHT}open('imported', 'a').write('2')\n")
    three.run("katas", "--next")

    assert ("1", "12") == (imported, (three.path / "imported").read_text())


def test_what_comes_later_is_not_imported(three: MiniCourse) -> None:
    """A course of a hundred katas starts as fast as one of two."""
    three.write("katas/lecture01/test_k02_second.py", "open('imported', 'w')")
    three.run("katas", "--next")

    assert not (three.path / "imported").exists()


def test_results_are_remembered(three: MiniCourse) -> None:
    """As those of any other run: the map knows them."""
    solve(three, "lecture01/k01_first")
    three.run("katas", "--next")

    assert ("solved", "failing") == (state(three), state(three, "k02_second"))


def test_a_wrong_answer_shows_where_to_look(three: MiniCourse) -> None:
    """The test, its message, what was printed; the tests before it have passed."""
    solve(three, "lecture01/k01_first", WRONG)
    result = three.run("katas", "--next")

    result.stdout.fnmatch_lines(
        [
            "edit    katas/lecture01/k01_first.py:1",
            "test    test_large: It doubles what is large.",
            "AssertionError: ten doubled is twenty",
            "assert 2 == 20",
            "Captured stdout call",
            "about to call",
        ]
    )


def test_a_syntax_error_is_shown_in_its_line(three: MiniCourse) -> None:
    """The module that cannot be imported has no test to show."""
    solve(three, "lecture01/k01_first", '"""Brief."""\n\ndef answer(n) return n\n')
    result = three.run("katas", "--next")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "edit    katas/lecture01/k01_first.py:3",
            "test    the module cannot be imported",
            "*SyntaxError: *",
            "again   pytest *",
        ]
    )
    result.stdout.no_fnmatch_line("*where to go on*")


def test_a_crash_is_shown_like_a_failure(three: MiniCourse) -> None:
    """Another process goes on, replays what has run, and tells the same story once."""
    solve(three, "lecture01/k01_first", f"import time\ntime.sleep(1.1)\n{RIGHT}")
    solve(three, "lecture01/k02_second", "import os\n\ndef answer(n):\n    os.abort()\n")
    result = three.run("katas", "--next")

    assert "lecture01/k02_second" == heading(result)
    result.stdout.fnmatch_lines(
        ["*1 of 3 katas solved", "edit    katas/lecture01/k02_second.py:4", "*abort (SIGABRT)*"]
    )
    assert 1 == result.stdout.str().count("again   ")
    assert "solved" == state(three)


def test_one_lecture_only(three: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its katas are all that counts, and at the end it names the rest; in colour too."""
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    solve(three, "lecture02/k01_third")
    first = three.run("katas/lecture01", "--next", "--color=yes")
    second = three.run("katas/lecture02", "--next")

    text = first.stdout.str()
    assert f"{'░' * 20} 0 of 2 katas solved" in text
    assert "\x1b[1mlecture01/k01_first: The title of k01_first\x1b[0m" in text
    assert "\x1b[31mNotImplementedError: answer\x1b[0m" in text
    assert [line for line in second.outlines if line][-2:] == [
        "Everything in lecture02 is solved: 1 of 1 katas.",
        "The rest of the course: pytest katas --next",
    ]


def test_a_skipped_kata_comes_back_after_the_others(three: MiniCourse) -> None:
    """Also in the next run, and in the order in which they were skipped."""
    headings = []
    for arguments in (["--next"], ["--next", "--skip"], ["--skip"], ["--next"]):
        result = three.run("katas", *arguments)
        headings.append(heading(result))
    solve(three, "lecture02/k01_third")
    headings.append(heading(three.run("katas", "--next")))
    solve(three, "lecture01/k01_first")
    headings.append(heading(three.run("katas", "--next")))
    alone = three.run("katas", "--next", "--skip")

    assert headings == [
        "lecture01/k01_first",
        "lecture01/k02_second",
        "lecture02/k01_third",
        "lecture02/k01_third",
        "lecture01/k01_first",
        "lecture01/k02_second",
    ]
    assert "lecture01/k02_second" == heading(alone)
    alone.stdout.fnmatch_lines(["lecture01/k02_second is the only one left, so here it is again"])
    alone.stdout.fnmatch_lines(["later   pytest * --next --skip"])
    skipped = json.loads((three.path / FILE).read_text())["skipped"]
    assert ["lecture01/k02_second"] == skipped


def test_a_skip_is_told(three: MiniCourse) -> None:
    """Whoever typed it sees what it did."""
    three.run("katas", "--next")

    three.run("katas", "--next", "--skip").stdout.fnmatch_lines(
        ["lecture01/k01_first comes back after the others"]
    )


def test_there_is_nothing_to_skip_at_first(three: MiniCourse) -> None:
    """What the learner has not seen cannot be what they mean."""
    result = three.run("katas", "--next", "--skip")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --skip leaves out what --next has shown*"])


def test_a_kata_waits_for_what_it_builds_on(three: MiniCourse) -> None:
    """If the first is skipped, so is the one that comes after it."""
    table = three.katas / "lecture01/lecture.toml"
    table.write_text(f'{table.read_text()}after = ["k01_first"]\n')
    three.run("katas", "--next")

    assert "lecture02/k01_third" == heading(three.run("katas", "--next", "--skip"))


def test_it_can_begin_elsewhere(three: MiniCourse) -> None:
    """With a lecture or with a kata; what comes before does not count."""
    lecture = three.run("katas", "--from", "lecture02")
    kata = three.run("katas", "--next", "--from=lecture01/k02")

    assert ["lecture02/k01_third", "lecture01/k02_second"] == [heading(lecture), heading(kata)]
    kata.stdout.fnmatch_lines(["* 0 of 2 katas solved"])
    solve(three, "lecture01/k02_second")
    solve(three, "lecture02/k01_third")
    three.run("katas", "--next", "--from=lecture01/k02").stdout.fnmatch_lines(
        ["Everything in lecture01 to lecture02 is solved: 2 of 2 katas."]
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["katas", "--from", "lecture2"],
            "no lecture is called 'lecture2'; *: lecture02, *",
        ),
        (["katas", "--from", "lecture01/k3_second"], "*there are: lecture01/k02_second,*"),
        (["katas/lecture01", "--from", "lecture02"], "*not among the katas of this command"),
        (["conftest.py", "--next"], "--next wants katas: pytest katas --next, *"),
        (["katas", "--next", "--solutions"], "--next runs your own answers*"),
        (["katas", "--next", "--unsolved"], "--next runs your own answers*"),
        (["katas", "--next", "-n", "2"], "--next runs your own answers*"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    three: MiniCourse, arguments: list[str], says: str
) -> None:
    """In one message, with what exists."""
    result = three.run(*arguments)

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines([f"ERROR: *{says}"])


def test_help_is_help(three: MiniCourse) -> None:
    """``--help`` beside ``--next`` wins."""
    three.run("--next", "--help").stdout.fnmatch_lines(["*--from=NAME*"])


def test_what_cannot_run_here_is_passed_over_and_named(three: MiniCourse) -> None:
    """It is tried again each time, as the learner may have got it since."""
    three.write("conftest.py", NOTHING.format(plugins=PLUGINS))
    three.write("katas/lecture01/test_k01_first.py", CANNOT)
    results = [three.run("katas", "--next")]
    solve(three, "lecture01/k02_second")
    solve(three, "lecture02/k01_third")
    results.append(three.run("katas", "--next"))

    for result in results:
        result.stdout.fnmatch_lines(
            ["lecture01/k01_first cannot run here: nothing: there is none; get one"]
        )
    assert "lecture01/k02_second" == heading(results[0])
    assert pytest.ExitCode.OK == results[1].ret
    results[1].stdout.fnmatch_lines(
        ["Everything that can run here in the course is solved: 2 of 3 katas."]
    )


def test_a_part_of_the_tests_is_no_solution(three: MiniCourse) -> None:
    """``-k`` leaves a kata open, without a failure, and without a word of praise."""
    solve(three, "lecture01/k01_first")
    result = three.run("katas", "--next", "-k", "small and first")

    result.stdout.no_fnmatch_line("*is solved: *title*")
    result.stdout.fnmatch_lines(["Nothing failed, but not all tests ran: 0 of 3 *"])


def test_ctrl_c_says_no_more_than_it_does_elsewhere(three: MiniCourse) -> None:
    """The kata has not failed."""
    solve(three, "lecture01/k01_first", "def answer(n):\n    raise KeyboardInterrupt\n")
    result = three.run("katas", "--next")

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.no_fnmatch_line("*katas solved*")


def test_pytest_exit_ends_the_walk(three: MiniCourse) -> None:
    """As does what asks the session to stop."""
    three.write(
        "katas/lecture01/test_k01_first.py",
        "def test(request): request.session.shouldstop = 'enough'",
    )
    result = three.run("katas", "--next")

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["*enough*"])


def test_paths_hold_from_where_pytest_was_started(
    three: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor opens them."""
    monkeypatch.chdir(Path(three.katas / "lecture01"))
    result = three.run("--next", ".")

    result.stdout.fnmatch_lines(["edit    k01_first.py:8", "k01_first.py:9: in answer"])
