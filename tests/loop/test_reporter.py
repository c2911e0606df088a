"""The output of ``--next``: the first failing test, or the end."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest

from plugins.loop.reporter import SLOW
from tests.support.terminal import Terminal
from tests.support.terminal import screen_of
from tests.support.threekatas import CANNOT
from tests.support.threekatas import NOTHING
from tests.support.threekatas import PLUGINS
from tests.support.threekatas import STUB
from tests.support.threekatas import TEST
from tests.support.threekatas import WRONG
from tests.support.threekatas import read_heading
from tests.support.threekatas import solve


if TYPE_CHECKING:
    from tests.conftest import MiniCourse
# Fails with a long difference, and prints much before.
LONG_TEST = """
from katas.lecture01.k01_first import answer

def test_it():
    for n in range(40):
        print("printed", n)
    assert answer() == [n * n for n in range(20)], "the squares\\n" + 14 * "\\n- squares"
"""


def test_the_first_failing_test_is_all_that_is_shown(
    three: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the brief, the place to edit, the learner's calls, the reading, and the commands."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = three.run("katas", "--next")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    assert "" == result.stderr.str()
    lines = result.outlines
    at = lines.index("read    c10/core/DispatchKeySet.h: DispatchKeySet")
    assert lines[:at] == [
        f"lecture01 {'.' * 20} 0 of 2   core path: 0 of 3",
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


def test_a_wrong_answer_shows_where_to_look(three: MiniCourse) -> None:
    """The test, its message and its output; the tests before it have passed."""
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


def test_a_screen_of_24_rows_keeps_the_message(course: MiniCourse) -> None:
    """In a terminal: with a long difference and much that the test has printed."""
    course.plugins(*PLUGINS)
    course.kata(test=LONG_TEST, stub="def answer():\n    return [2 * n for n in range(20)]\n")
    with Terminal(course.path, "katas", "--next", rows=24) as terminal:
        status, text = terminal.end()

    screen = text.splitlines()[-23:]
    assert 1 == status
    assert "edit    katas/lecture01/k01_first.py:1\n" in text
    assert "AssertionError: the squares" in screen
    assert "printed 39" in screen
    assert screen[-2].startswith("later   pytest ")


def test_a_screen_of_24_rows_keeps_the_message_in_a_watch(
    course: MiniCourse,
) -> None:
    """Above the keys, with the line to edit of what the test called."""
    course.plugins(*PLUGINS, "plugins.loop.watch")
    course.kata(test=LONG_TEST, stub="import os\n\ndef answer():\n    return [0]\n")
    with Terminal(course.path, "katas", "--watch", rows=24) as terminal:
        text = terminal.shown()
        terminal.process.send("q")
        terminal.end()

    screen = text.splitlines()[-23:]
    assert "edit    katas/lecture01/k01_first.py:3\n" in text
    assert "AssertionError: the squares" in screen
    assert any(line.endswith("-x -v, in another terminal)") for line in screen)
    assert screen[-1].startswith("n next  h hint")


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


def test_what_breaks_beside_a_kata_is_shown_too(three: MiniCourse) -> None:
    """With its message, and without what a kata has to read and to hint at."""
    three.write("katas/lecture01/conftest.py", "raise RuntimeError('of the folder')\n")
    result = three.run("katas", "--next")

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        [
            "lecture01/k01_first: The title of k01_first",
            "test    the module cannot be imported",
            "*RuntimeError: of the folder*",
            "again   pytest *",
        ]
    )
    result.stdout.no_fnmatch_line("hint *")


def test_a_long_message_counts_what_is_not_shown(three: MiniCourse) -> None:
    """All of it, once: what the report has lost, and what the screen has no room for."""
    solve(three, "lecture01/k01_first", "def answer(n):\n    raise ValueError('no\\n' * 99)\n")
    lines = three.run("katas", "--next").outlines

    assert 1 == sum("more lines: " in line for line in lines)
    assert "(76 more lines: pytest katas/lecture01/test_k01_first.py -x -v)" in lines


def test_paths_hold_from_where_pytest_was_started(
    three: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor opens them."""
    monkeypatch.chdir(three.katas / "lecture01")
    result = three.run("--next", ".")

    result.stdout.fnmatch_lines(["edit    k01_first.py:8", "k01_first.py:9: in answer"])


def test_one_lecture_only(three: MiniCourse, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its katas are all that counts, and at the end it names the rest; in colour too."""
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    solve(three, "lecture02/k01_third")
    first = three.run("katas/lecture01", "--next", "--color=yes")
    second = three.run("katas/lecture02", "--next")

    text = first.stdout.str()
    assert f"lecture01 {'░' * 20} 0 of 2\n" in text
    assert "\x1b[1mlecture01/k01_first: The title of k01_first\x1b[0m" in text
    assert "\x1b[31mNotImplementedError: answer\x1b[0m" in text
    assert [line for line in second.outlines if line][-2:] == [
        "Everything in lecture02 is solved: 1 of 1 katas.",
        "The rest of the course: pytest katas --next",
    ]


def test_a_part_of_the_tests_is_no_solution(three: MiniCourse) -> None:
    """``-k`` leaves a kata open, without a failure, and without a word of praise."""
    solve(three, "lecture01/k01_first")
    result = three.run("katas", "--next", "-k", "small and first")

    result.stdout.no_fnmatch_line("*is solved: *title*")
    result.stdout.fnmatch_lines(["Nothing failed, but not all tests ran: 0 of 3 *"])


def test_a_skip_is_shown(three: MiniCourse) -> None:
    """The learner who typed it sees its effect."""
    three.run("katas", "--next")

    three.run("katas", "--next", "--skip").stdout.fnmatch_lines(
        ["lecture01/k01_first is postponed: it comes back at the end of its lecture"]
    )


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
    assert "lecture01/k02_second" == read_heading(results[0])
    assert pytest.ExitCode.OK == results[1].ret
    results[1].stdout.fnmatch_lines(
        ["Everything that can run here in the course is solved: 2 of 3 katas."]
    )


def test_what_is_not_decided_here_is_passed_over_and_named(three: MiniCourse) -> None:
    """What can run passes, and is no solution; a test that is extra need not run."""
    three.write("conftest.py", NOTHING.format(plugins=PLUGINS))
    undecided = f"{CANNOT.replace('pytestmark = ', '@')}\ndef test_other(): pass\n"
    three.write("katas/lecture01/test_k01_first.py", undecided)
    lecture = (three.katas / "lecture02/lecture.toml").read_text()
    three.write("katas/lecture02/lecture.toml", lecture.replace("extra = []", 'extra = ["test"]'))
    three.write("katas/lecture02/test_k01_third.py", undecided)
    solve(three, "lecture01/k02_second")

    result = three.run("katas", "--next")

    result.stdout.fnmatch_lines(
        [
            "lecture02/k01_third is solved: *",
            "lecture01/k01_first is not decided here: 1 test passes, 1 waits for nothing:",
            "  there is none; get one",
            "* core path: 2 of 3",
            "Everything that can run here in the course is solved: 2 of 3 katas.",
        ]
    )
    result.stdout.no_fnmatch_line("*lecture01/k01_first is solved*")


def test_what_waits_for_a_skipped_kata_is_named(course: MiniCourse) -> None:
    """How many, and for which; and ``--course`` says the same kata is next."""
    course.plugins(*PLUGINS)
    for name in ("k01_first", "k02_second", "k03_third", "k04_fourth"):
        course.kata(name, test=TEST.format(lecture="lecture01", name=name), stub=STUB)
    table = course.katas / "lecture01/lecture.toml"
    second, third = 'name = "k02_second"\n', 'name = "k03_third"\n'
    text = table.read_text()
    text = text.replace(second, f'{second}after = ["k01_first"]\n')
    table.write_text(text.replace(third, f'{third}after = ["k02_second"]\n'))
    first = course.run("--next")
    skipped = course.run("--next", "--skip")
    again = course.run("--next")

    assert "lecture01/k01_first" == read_heading(first)
    assert "wait for" not in first.stdout.str()
    for result in (skipped, again):
        assert "lecture01/k04_fourth" == read_heading(result)
        result.stdout.fnmatch_lines(
            [
                "2 katas wait for lecture01/k01_first, which they build on: lecture01/k02_second",
                "  to k03_third",
            ]
        )
    where = course.run("--course").outlines
    assert any(line.startswith("  > k04_fourth ") for line in where)
    assert where[-2] == "Next, The title of k04_fourth:"


def test_a_slow_start_says_what_is_slow(course: MiniCourse) -> None:
    """On a terminal, from the first second until there is something to show, and no longer."""
    course.plugins(*PLUGINS)
    slow = "import time\ntime.sleep(5)\n"
    course.kata(test=f"{slow}def test_it(): assert 0\n", stub="def answer(): pass\n")
    with Terminal(course.path, "katas", "--next", rows=24) as terminal:
        said = terminal.shown(SLOW)
        at = time.monotonic()
        text = terminal.end()[1]

    assert "" == said.removesuffix(SLOW).strip()
    assert time.monotonic() - at > 3
    assert SLOW not in "\n".join(screen_of(f"{SLOW}{text}"))
    assert SLOW not in course.run("katas", "--next").stdout.str()
