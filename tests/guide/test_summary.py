"""What the terminal shows of a session's failures."""

from __future__ import annotations

import shutil
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from plugins.guide.folding import FOUND
from tests.support.failures import PLUGINS


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


STUB = """
# TODO: write them
def parse(text):
    raise NotImplementedError("parse")

def show(tree):
    raise NotImplementedError("show")
"""
TESTS = """
import pytest

from katas.lecture01.{name} import parse
from katas.lecture01.{name} import show

@pytest.mark.parametrize("number", range(20))
def test_parse(number):
    assert parse(str(number)) == number

def test_show():
    assert show(parse("1")) == "1"

def test_refuse():
    with pytest.raises(ValueError, match="one"):
        parse("?")

def test_show_again():
    assert show(2) == "2"
"""
NAMES = ("k01_first", "k02_second")
SHORT = f"{' short test summary info ':=^80}"
OTHERS = f"{' the other katas ':=^80}"
GO_ON = f"{' where to go on ':=^80}"


@pytest.fixture
def katas(course: MiniCourse) -> MiniCourse:
    """A course of two katas under git, and the plugins for failures."""
    course.plugins(*PLUGINS)
    for name in NAMES:
        course.kata(name, stub=STUB, test=TESTS.replace("{name}", name))
    subprocess.run(["git", "init", "-q"], cwd=course.path, check=True)
    commit(course)
    return course


def commit(course: MiniCourse) -> None:
    """Commit all that is there."""
    for arguments in (["add", "."], ["commit", "-qm", "the course"]):
        names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *names, *arguments], cwd=course.path, check=True)


@pytest.mark.parametrize("options", [[], ["-n2"], ["-q"]])
def test_an_untouched_kata_is_one_failure(katas: MiniCourse, options: list[str]) -> None:
    """Its other tests have one line; all are counted."""
    result = katas.run("katas", *options)

    result.assert_outcomes(failed=46)
    lines = result.outlines
    assert 2 == sum(line.startswith("FAILED ") for line in lines)
    assert 2 == sum(line.startswith("E   ") for line in lines)
    assert 2 == sum(line == "  22 more tests wait for parse and show" for line in lines)
    assert "All failures: pytest katas --all-failures" in lines
    assert len(lines) < 50


def test_of_many_untouched_katas_the_last_are_told_in_brief(katas: MiniCourse) -> None:
    """Their first failures are named; what to read, an episode and a hint have a line each."""
    names = [*NAMES, *(f"k{number:02}_more" for number in range(3, FOUND + 3))]
    for name in names[2:]:
        katas.kata(name, stub=STUB, test=TESTS.replace("{name}", name))
    commit(katas)
    lines = katas.run().outlines

    assert len(names) == sum(line.startswith("FAILED ") for line in lines)
    assert FOUND == sum(line.startswith("E   ") for line in lines)
    assert len(names) == lines.count("  22 more tests wait for parse and show")
    # The first comes last.
    places = [lines.index(f"lecture01/{name}: The title of {name}") for name in names[1:]]
    rows = [after - place for place, after in pairwise(places)]
    assert [*[7] * (FOUND - 1), 5] == rows
    assert lines[places[-1] + 2 : places[-1] + 5] == [
        "  read    c10/core/DispatchKeySet.h: DispatchKeySet",
        "  listen  #62 Strides, 20:31",
        f"  hint    pytest katas/lecture01/test_{names[-1]}.py --hint",
    ]


@pytest.mark.parametrize("options", [[], ["-n2"], ["--tb=short"]])
def test_of_several_katas_the_first_comes_last(katas: MiniCourse, options: list[str]) -> None:
    """Its failure, with what it has printed, and below that nothing but where to go on."""
    text = TESTS.replace("{name}", "k01_first").replace(
        "assert parse(str", "print('seen');assert parse(str"
    )
    katas.write("katas/lecture01/test_k01_first.py", text)
    commit(katas)
    lines = katas.run(*options).outlines
    # Of two workers the faster one says which test was the first to fail.
    head = "= katas/lecture01/test_k01_first.py::test_parse["
    at = next(number for number, line in enumerate(lines) if head in line)
    end = lines[at:]

    assert 1 == sum("NotImplementedError: parse" in line for line in end)
    assert "seen" == end[end.index(f"{' Captured stdout call ':-^80}") + 1]
    assert [
        GO_ON,
        "lecture01/k01_first: The title of k01_first",
        "  22 more tests wait for parse and show",
        "  read    c10/core/DispatchKeySet.h: DispatchKeySet",
    ] == end[(go := end.index(GO_ON)) : go + 4]
    assert "One kata at a time: pytest katas --next" == end[-2]
    assert len(end) <= 24
    assert lines.index(SHORT) < lines.index(OTHERS) < at
    assert 1 == sum(
        line.startswith("E   ") or "Error: parse" in line for line in lines[: lines.index(SHORT)]
    )


@pytest.mark.parametrize("option", ["--tb=no", "--tb=line", "--no-summary"])
def test_where_little_is_asked_for_no_failure_comes_last(katas: MiniCourse, option: str) -> None:
    """Each kata stands in where to go on, as ever."""
    lines = katas.run(option).outlines

    assert OTHERS not in lines
    assert 2 == sum(line.startswith("  hint    ") for line in lines[lines.index(GO_ON) :])


def test_what_is_captured_is_shown_as_asked(katas: MiniCourse) -> None:
    """None of it, or one kind."""
    text = TESTS.replace("{name}", "k01_first").replace(
        "assert parse(str", "print('seen');assert parse(str"
    )
    katas.write("katas/lecture01/test_k01_first.py", text)
    commit(katas)

    for shown, count in (("no", 0), ("stderr", 0), ("stdout", 1)):
        assert count == katas.run(f"--show-capture={shown}").outlines.count("seen")


def test_a_command_without_a_path_says_what_it_does(katas: MiniCourse) -> None:
    """In a line, with the way to go one by one; not where there is a path, or no kata."""
    told = "katas: this runs the tests of all 2 katas; pytest katas --next goes one by one"

    assert told in katas.run("--co", "-q", "-v").outlines
    assert told not in katas.run("katas", "--co", "-q", "-v").outlines
    shutil.rmtree(katas.katas / "lecture01")
    assert "this runs the tests of" not in katas.run("--co").stdout.str()


def test_a_course_of_one_kata_says_so(course: MiniCourse) -> None:
    """It has no "all 1 katas"."""
    course.plugins(*PLUGINS)
    course.kata()
    told = "katas: this runs the tests of the only kata; pytest katas --next goes one by one"

    assert told in course.run("--co", "-q", "-v").outlines


def test_a_long_message_has_one_line_in_the_short_summary(
    katas: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under CI too, where pytest gives all of it, unless every failure is asked for."""
    monkeypatch.setenv("CI", "true")
    path = katas.path / "katas/lecture01/k01_first.py"
    path.write_text(STUB.replace('"parse"', '"parse\\n" + "registered at line 111\\n" * 140'))
    commit(katas)

    def told(*options: str) -> int:
        lines = katas.run(*options).outlines
        end = lines.index(OTHERS) if OTHERS in lines else None
        return sum("registered" in line for line in lines[lines.index(SHORT) : end])

    assert 0 == told()
    assert 140 <= told("--all-failures")


@pytest.mark.parametrize("option", ["-v", "--tb=long", "--all-failures"])
def test_every_failure_is_shown_if_asked_for(katas: MiniCourse, option: str) -> None:
    """As pytest itself does."""
    result = katas.run(option)

    lines = result.outlines
    assert 46 == sum(line.startswith("FAILED ") and " - " in line for line in lines)
    assert 46 == sum(" test_" in line and line.startswith("___") for line in lines)
    assert not any("more test" in line for line in lines)
    assert "All failures" not in result.stdout.str()
    assert 1 == lines.count("lecture01/k01_first: The title of k01_first")


def test_junit_and_the_last_failed_have_all_tests(katas: MiniCourse) -> None:
    """Only the screen is shorter."""
    katas.run("--junitxml=out.xml")

    (suite,) = ET.parse(katas.path / "out.xml").getroot()  # noqa: S314 - our own file
    assert suite.get("failures") == "46"
    assert 46 == len([*suite.iter("failure")])
    assert katas.run("--lf").parseoutcomes() == {"failed": 46}


def test_a_kata_that_is_begun_shows_what_fails_in_its_code(katas: MiniCourse) -> None:
    """What waits for the rest has a line."""
    katas.write(
        "katas/lecture01/k01_first.py",
        STUB.replace('raise NotImplementedError("parse")', "return 7"),
    )

    result = katas.run("katas/lecture01/test_k01_first.py")

    result.assert_outcomes(passed=1, failed=22)
    result.stdout.fnmatch_lines(
        [
            "*_ test_parse[[]0[]] _*",
            "E   AssertionError: assert 7 == 0",
            "*_ test_parse[[]1[]] _*",
            "*_ test_parse[[]2[]] _*",
            SHORT,
            "FAILED *test_parse[[]0[]]*",
            "FAILED *test_parse[[]1[]]*",
            "FAILED *test_parse[[]2[]]*",
            GO_ON,
            "lecture01/k01_first: The title of k01_first",
            "  1 more test fails: AssertionError: assert 7 == 3",
            "  1 more test fails: AssertionError: assert 7 == 4",
            "  17 more tests fail in other ways",
        ]
    )


def test_the_assertion_stays_on_a_small_screen(katas: MiniCourse) -> None:
    """On its last 24 rows, with one kata, and with -x."""
    for options in (["katas/lecture01/test_k01_first.py"], ["-x"]):
        rows = [
            line[start : start + 80]
            for line in katas.run(*options).outlines
            for start in range(0, max(len(line), 1), 80)
        ]

        assert "E   NotImplementedError: parse" in rows[-24:]


def test_other_plugins_see_all_failures(katas: MiniCourse) -> None:
    """In their summaries, and when the session ends."""
    conftest = katas.path / "conftest.py"
    conftest.write_text(
        conftest.read_text()
        + """

def pytest_terminal_summary(terminalreporter):
    print("in the summary:", len(terminalreporter.stats["failed"]))


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    print("at the end:", len(reporter.stats["failed"]))
"""
    )

    lines = katas.run().outlines

    assert "in the summary: 46" in lines
    assert "at the end: 46" in lines


def test_a_summary_that_breaks_leaves_the_failures(katas: MiniCourse) -> None:
    """Whatever another plugin does, the count at the end is right."""
    conftest = katas.path / "conftest.py"
    conftest.write_text(
        conftest.read_text()
        + """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary():
    try:
        return (yield)
    finally:
        raise RuntimeError("broken summary")


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    print("at the end:", len(reporter.stats["failed"]))
"""
    )

    assert "at the end: 46" in katas.run().outlines


def test_errors_and_failures_of_a_kata_are_folded_together(katas: MiniCourse) -> None:
    """A fixture that fails is one failure on the screen as well."""
    katas.kata(
        "k03_fixture",
        test="""
        import pytest

        @pytest.fixture
        def broken():
            raise ValueError("no such thing")

        @pytest.mark.parametrize("number", range(9))
        def test_it(number, broken): pass
        """,
    )

    result = katas.run("katas/lecture01/test_k03_fixture.py")

    result.assert_outcomes(errors=9)
    assert 1 == sum(line.startswith("ERROR ") for line in result.outlines)
    assert "  8 more tests fail: ValueError: no such thing" in result.outlines


UNBUILT = """
import pytest

from plugins.course.notes import unbuilt_key

pytest_plugins = {plugins!r}

def pytest_runtest_setup(item):
    if "k03_source" in item.nodeid:
        item.stash[unbuilt_key] = "katas/lecture01/csrc/k03_source.cpp"
"""
BROKEN = """
import pytest

@pytest.mark.parametrize("number", range(5))
def test_it(number):
    pytest.fail("k03_source.cpp:3:1: error: no such thing" if not number else "see test_it[0]",
                pytrace=False)
"""


def test_a_compile_error_is_also_the_last_thing_before_the_summary(katas: MiniCourse) -> None:
    """Unless it is what was printed last anyway."""
    katas.write("conftest.py", UNBUILT.format(plugins=PLUGINS))
    katas.kata("k03_source", test=BROKEN)
    katas.kata("k04_after", test="def test_it(): assert 0")
    error = "k03_source.cpp:3:1: error: no such thing"

    alone = katas.run("katas/lecture01/test_k03_source.py").outlines
    result = katas.run()
    quiet = katas.run("--tb=no").outlines

    assert 1 == alone.count(error)
    assert "  4 more tests wait for katas/lecture01/csrc/k03_source.cpp to compile" in alone
    at = alone.index("lecture01/k03_source: The title of k03_source")
    assert [line[:10] for line in alone[at + 1 : -1]] == ["  4 more t", "  hint    "]
    assert "  hint    pytest katas/lecture01/test_k03_source.py --hint" in result.outlines
    lines = result.outlines
    assert 2 == lines.count(error)
    at = lines.index(SHORT)
    assert [f"{' does not build ':=^80}", error] == lines[at - 2 : at]
    assert error not in quiet


def test_a_session_without_a_terminal_shows_nothing(katas: MiniCourse) -> None:
    """And does not fail for it."""
    result = katas.run("-p", "no:terminal", "-o", "addopts=")

    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "" == result.stdout.str().strip()


def test_the_command_for_all_failures_runs_the_same_katas(katas: MiniCourse) -> None:
    """From the folder that pytest was started in."""
    katas.monkeypatch.chdir(katas.path / "katas")

    lines = katas.run("lecture01/test_k01_first.py", "lecture01/test_k02_second.py").outlines

    both = "lecture01/test_k01_first.py lecture01/test_k02_second.py"
    assert f"All failures: pytest {both} --all-failures" in lines
    assert f"One kata at a time: pytest {both} --next" in lines


def test_the_tests_of_a_step_fail_together(katas: MiniCourse) -> None:
    """One is shown, and the other steps of the lab have a line."""
    written = "def parse(text): return 7\n\ndef show(tree): return 1\n"
    katas.write("katas/lecture01/k01_first.py", written)
    name, test = "katas/lecture01/test_k01_first.py", TESTS.replace("{name}", "k01_first")
    test = test.replace("@pytest.mark.param", "@pytest.mark.step(1, 'read')\n@pytest.mark.param")
    for function in ("def test_show():", "def test_refuse():"):
        test = test.replace(function, f"@pytest.mark.step(2, 'write')\n{function}")
    katas.write(name, test)

    lines = katas.run(name).outlines

    assert 1 == sum(line.startswith("FAILED ") for line in lines)
    assert "  step 1 of 2: read; 18 more tests fail too" in lines
    assert "  step 2 and the tests after the steps: 3 more tests wait" in lines
    assert 22 == sum(line.startswith("FAILED ") for line in katas.run(name, "-v").outlines)
