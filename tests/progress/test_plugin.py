"""What a session remembers about its katas, and which sessions remember nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC
from datetime import date
from datetime import datetime
from datetime import timedelta
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from plugins.course.files import content_of
from plugins.course.model import Kata
from plugins.progress.store import FOLDER
from plugins.progress.store import LAST
from plugins.progress.store import change_standing
from plugins.progress.store import read_last_run
from plugins.progress.store import read_standing


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.progress.standing import Standing
    from plugins.progress.standing import State
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.course.limits",
    "plugins.crash.plugin",
    "plugins.course.solutions",
    "plugins.machine.absent",
    "plugins.machine.devices",
    "plugins.machine.builtin",
    "plugins.progress.plugin",
)
TESTS = """
    import pytest
    from katas.lecture01.k01_first import answer

    def test_small(): assert answer(1) == 2
    def test_large(): assert answer(10) == 20
    @pytest.mark.parametrize("n", [3, 4])
    def test_more(n): assert answer(n) == 2 * n
"""
STUB = "def answer(n): raise NotImplementedError('answer')"
WRONG = "def answer(n): return 2"
RIGHT = "def answer(n): return 2 * n"


def kata_named(course: MiniCourse, name: str) -> Kata:
    """Return a kata of the course."""
    folder = course.katas / "lecture01"
    return Kata("lecture01", name, "", "lab", (), (), (), (), (), (), (), folder)


def standing(course: MiniCourse, name: str = "k01_first") -> Standing:
    """Return what is remembered about a kata of the course."""
    return read_standing(course.path, kata_named(course, name))


def state(course: MiniCourse, name: str = "k01_first") -> State:
    """Return the state of a kata's current exercise."""
    return standing(course, name).state(content_of(kata_named(course, name)))


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return a course with the plugins that have to do with results."""
    course.plugins(*PLUGINS)
    return course


@pytest.fixture
def exercise(course: MiniCourse) -> Path:
    """Return the exercise of a kata with four tests."""
    course.kata(test=TESTS, stub=STUB, solution=RIGHT)
    return course.katas / "lecture01/k01_first.py"


def test_a_kata_fails_and_is_solved_and_is_open_again(course: MiniCourse, exercise: Path) -> None:
    """The state follows the learner's edits; the message of a failure is kept."""
    states = [state(course)]
    for text in (STUB, WRONG, RIGHT):
        exercise.write_text(text)
        course.run("katas")
        states.append(state(course))
    exercise.write_text(f"{RIGHT}  # shorter?")

    assert [*states, state(course)] == ["new", "failing", "failing", "solved", "open"]
    exercise.write_text(WRONG)
    course.run("katas")
    tests = standing(course).results.tests
    assert ["test_small", "test_large", "test_more[3]", "test_more[4]"] == list(tests)
    assert ("passed", "") == (tests["test_small"].verdict, tests["test_small"].message)
    assert "failed" == tests["test_large"].verdict
    assert "assert 2 == 20" in tests["test_large"].message


@pytest.mark.parametrize(
    "arguments",
    [
        ("katas", "-k", "small"),
        ("katas/lecture01/test_k01_first.py::test_small",),
        ("katas", "--deselect", "katas/lecture01/test_k01_first.py::test_large"),
    ],
    ids=["-k", "::", "--deselect"],
)
def test_a_part_of_the_tests_solves_nothing(
    course: MiniCourse, exercise: Path, arguments: tuple[str, ...]
) -> None:
    """Even if all of them pass; the rest completes it."""
    exercise.write_text(RIGHT)
    course.run(*arguments)
    part = state(course)
    course.run("katas")

    assert ("open", "solved") == (part, state(course))


def test_the_last_failures_alone_solve_nothing(course: MiniCourse, exercise: Path) -> None:
    """``--lf`` collects no others, and the edit may have broken those that passed."""
    exercise.write_text(WRONG)
    course.run("katas")
    exercise.write_text("def answer(n): return 2 * n if n > 1 else 0")
    course.run("katas", "--lf")

    assert "open" == state(course)


@pytest.mark.torch
def test_tests_that_cannot_run_here_do_not_count(course: MiniCourse) -> None:
    """Their reasons are kept for the map of the course."""
    course.kata(test="def test(device): assert device == 'cpu'")
    course.run("katas")
    tests = standing(course).results.tests

    assert "solved" == state(course)
    assert "skipped" == tests["test[mps]"].verdict
    assert tests["test[mps]"].message.startswith("mps: ")


@pytest.mark.torch
def test_one_device_is_enough(course: MiniCourse) -> None:
    """Tests that ``--device`` leaves out are not needed for a solution."""
    course.kata(test="def test(device): assert device == 'cpu'")
    course.run("katas", "--device=cpu")

    assert "solved" == state(course)
    assert ["test[cpu]"] == list(standing(course).results.tests)


def test_an_exercise_that_cannot_be_imported_fails(course: MiniCourse, exercise: Path) -> None:
    """There is no test that could fail, so the module counts as one."""
    exercise.write_text("def answer(n) return")
    course.run("katas")

    assert "failing" == state(course)
    assert "SyntaxError" in standing(course).results.tests[""].message


def test_a_failure_in_teardown_is_a_failure(course: MiniCourse) -> None:
    """Even if the test itself has passed."""
    test = """
        import pytest

        @pytest.fixture
        def thing():
            yield
            raise ValueError("late")

        def test(thing): pass
    """
    course.kata(test=test)
    course.run("katas")

    assert "failing" == state(course)
    assert "late" in standing(course).results.tests["test"].message


def test_a_crash_is_a_failure(course: MiniCourse, exercise: Path) -> None:
    """Tests that passed before it are not forgotten, though another process goes on."""
    exercise.write_text("import os\n\ndef answer(n):\n    n == 10 and os.abort()\n    return 2 * n")
    course.run("katas")
    tests = standing(course).results.tests

    assert ["passed", "failed", "passed", "passed"] == [each.verdict for each in tests.values()]
    assert "SIGABRT" in tests["test_large"].message


def test_results_of_xdist_workers_count(course: MiniCourse, exercise: Path) -> None:
    """The tests of one kata run in several processes, one of which crashes."""
    exercise.write_text(RIGHT)
    course.run("katas", "-n", "2")
    first = state(course)
    exercise.write_text("import os\n\ndef answer(n):\n    n == 10 and os.abort()\n    return 2 * n")
    course.run("katas", "-n", "2")

    assert ("solved", "failing") == (first, state(course))
    assert "SIGABRT" in standing(course).results.tests["test_large"].message
    assert {"test_small", "test_large", "test_more[3]", "test_more[4]"} == set(
        standing(course).results.tests
    )


@pytest.mark.parametrize("arguments", [("--solutions",), ("--unsolved",), ("--collect-only",)])
def test_other_answers_are_not_the_learners(
    course: MiniCourse, exercise: Path, arguments: tuple[str, ...]
) -> None:
    """Reference solutions, expected failures and ``--collect-only`` do not count."""
    assert exercise.exists()
    course.run("katas", *arguments)

    assert "new" == state(course)


def test_answers_that_are_laid_over_are_not_the_learners(
    course: MiniCourse, exercise: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate tests wrong answers that way."""
    assert exercise.exists()
    monkeypatch.setenv("KATAS_OVERLAY", str(course.path / "elsewhere"))
    course.run("katas")

    assert "new" == state(course)


def test_each_kata_has_its_own_results_and_time(course: MiniCourse) -> None:
    """A session over a whole lecture keeps them apart."""
    course.kata("k01_first", "import time\ndef test(): time.sleep(1.2)")
    course.kata("k02_second", "def test(): assert False")
    course.run("katas")
    first, second = standing(course), standing(course, "k02_second")

    assert ("solved", "failing") == (state(course), state(course, "k02_second"))
    assert first.seconds >= 1.2 > second.seconds


def test_results_are_there_before_the_session_ends(course: MiniCourse) -> None:
    """A kata is stored when a later one begins, so a killed session is not lost."""
    course.kata("k01_first", "import time\ndef test(): time.sleep(1.2)")
    text = f"""
        from pathlib import Path

        def test():
            assert list(Path({str(course.path / FOLDER)!r}).rglob("*.json"))
    """
    course.kata("k02_second", "def test(): pass")
    course.kata("k03_third", text)
    course.run("katas")

    assert "solved" == state(course, "k03_third")


def test_the_content_is_the_one_that_was_imported(course: MiniCourse) -> None:
    """Not the one that the learner saved while the tests ran."""
    course.kata(
        test="""
        import katas.lecture01.k01_first as exercise
        from pathlib import Path

        def test():
            Path(exercise.__file__).write_text("x = 2")
            assert exercise.x == 1
        """,
        stub="x = 1",
    )
    course.run("katas")

    assert "open" == state(course)
    (course.katas / "lecture01/k01_first.py").write_text("x = 1")
    assert "solved" == state(course)


@pytest.mark.parametrize("options", [(), ("-q", "--tb=no"), ("-n", "1"), ("--next",)], ids=" ".join)
def test_it_says_if_nothing_is_kept(course: MiniCourse, options: tuple[str, ...]) -> None:
    """The last line; a file stands where the folder should, as nothing can be made in it."""
    course.plugins(
        *PLUGINS, "plugins.guide.episodes", "plugins.guide.failures", "plugins.loop.next"
    )
    course.kata(test=TESTS, stub=WRONG)
    course.write(".katas", "")

    result = course.run("katas", *options)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    last = "This run is not remembered: .katas cannot be written (File exists)."
    assert last == result.outlines[-1]


def test_it_says_nothing_if_there_is_nothing_to_keep(course: MiniCourse) -> None:
    """Such as the tests of the project, or solutions."""
    course.plugins(*PLUGINS)
    course.kata(test=TESTS, stub=WRONG, solution=RIGHT)
    course.write("tests/test_own.py", "def test_it(): pass")
    course.write(".katas", "")

    course.run("tests").stdout.no_fnmatch_line("*remembered*")
    course.run("katas", "--solutions").stdout.no_fnmatch_line("*remembered*")


def store(course: MiniCourse, name: str, new: Standing) -> None:
    """Replace what is remembered about a kata of the course."""
    change_standing(course.path, kata_named(course, name), lambda _: new)


def let_time_pass(course: MiniCourse, seconds: float) -> None:
    """Make all that is stored so much older."""
    file = course.path / LAST
    data = json.loads(file.read_text())
    before = datetime.fromisoformat(data["at"]) - timedelta(seconds=seconds)
    file.write_text(json.dumps(data | {"at": before.isoformat()}))
    for name in ("k01_first", "k02_second"):
        known = standing(course, name)
        last = datetime.fromisoformat(known.last) - timedelta(seconds=seconds)
        store(course, name, replace(known, last=last.isoformat()))


def edit(course: MiniCourse, *names: str) -> None:
    """Edit these katas."""
    for name in names:
        file = course.katas / f"lecture01/{name}.py"
        file.write_text(f"{file.read_text()}# more\n")


@pytest.fixture
def two_katas(course: MiniCourse) -> MiniCourse:
    """Return a course whose two katas have run."""
    course.kata("k01_first", "def test(): pass")
    course.kata("k02_second", "def test(): pass")
    course.run("katas")
    return course


@pytest.mark.parametrize("order", [("k01_first", "k02_second"), ("k02_second", "k01_first")])
def test_katas_that_alternate_share_the_time(two_katas: MiniCourse, order: tuple[str, str]) -> None:
    """A pause begins with the last run of any kata: ten minutes are ten, however many were run."""
    edit(two_katas, *order)
    let_time_pass(two_katas, 600)
    for name in order:
        two_katas.run(f"katas/lecture01/test_{name}.py")
    spent = [standing(two_katas, name).seconds for name in order]

    assert spent[0] >= 600
    assert sum(spent) < 900


def test_katas_of_one_session_share_the_pause(two_katas: MiniCourse) -> None:
    """It counts for the first of them that was edited."""
    edit(two_katas, "k01_first", "k02_second")
    let_time_pass(two_katas, 600)
    two_katas.run("katas")
    spent = [standing(two_katas, name).seconds for name in ("k01_first", "k02_second")]

    assert 600 <= spent[0] < 900 > spent[1] + 600


def test_a_kata_that_was_not_edited_takes_no_pause(two_katas: MiniCourse) -> None:
    """It leaves it to the one that was."""
    edit(two_katas, "k02_second")
    let_time_pass(two_katas, 600)
    two_katas.run("katas")
    spent = [standing(two_katas, name).seconds for name in ("k01_first", "k02_second")]

    assert spent[0] + 600 < 900 > spent[1] >= 600


def test_the_day_is_the_sum_of_its_katas(two_katas: MiniCourse) -> None:
    """A pause before a run of what was not edited is in neither."""
    for name, pause in (("k01_first", 600), ("k02_second", 300), ("", 120)):
        edit(two_katas, *([name] if name else []))
        let_time_pass(two_katas, pause)
        two_katas.run("katas")
    spent = [standing(two_katas, name).seconds for name in ("k01_first", "k02_second")]

    last = read_last_run(two_katas.path)
    assert pytest.approx(sum(spent)) == last.spent_on(date.fromisoformat(last.day))
    assert 900 <= sum(spent) < 1000


def test_a_checkout_of_an_older_version_goes_on(two_katas: MiniCourse) -> None:
    """It stores when each kata ran, and nothing of all."""
    edit(two_katas, "k01_first")
    let_time_pass(two_katas, 600)
    (two_katas.path / LAST).unlink()
    two_katas.run("katas")

    assert 600 <= standing(two_katas).seconds < 900
    stored = json.loads((two_katas.path / LAST).read_text())
    assert datetime.now(UTC) - datetime.fromisoformat(stored["at"]) < timedelta(minutes=5)


def test_a_crash_counts_no_test_twice(course: MiniCourse) -> None:
    """The next process reports again what was stored before; the test that died counts too."""
    course.kata("k01_first", "import time\ndef test(): time.sleep(1.2)")
    course.kata("k02_second", "import os, time\ndef test():\n    time.sleep(0.5)\n    os.abort()")
    course.run("katas", "--junitxml=katas.xml")
    cases = ET.parse(course.path / "katas.xml").iter("testcase")  # noqa: S314 - our own
    took, _ = (float(case.attrib["time"]) for case in cases)
    first, second = standing(course), standing(course, "k02_second")

    assert 1.2 <= first.seconds < 2 * took
    assert 0.5 <= second.seconds


TOOL = """
    from pathlib import Path

    from plugins.tools.capability import Capability

    def pytest_kata_backends(config):
        here = (config.rootpath / "tool").exists()
        return [Capability("tool", lambda: None if here else "it is not installed; install it")]
"""
NEEDS_TOOL = """
    import pytest

    pytestmark = pytest.mark.backend("tool")

    def test_one(): pass
    def test_two(): pass
"""


def test_one_test_that_finds_the_tool_is_enough(course: MiniCourse) -> None:
    """Then no kata is "not here" for its lack, on the map or on the page, until it lacks again."""
    course.write("tool_plugin.py", TOOL)
    course.path_first(course.path)
    course.plugins(*PLUGINS, "plugins.machine.backends", "plugins.progress.page", "tool_plugin")
    course.kata("k01_first", NEEDS_TOOL)
    course.kata("k02_second", NEEDS_TOOL)
    first = "katas/lecture01/test_k01_first.py"
    shown = []
    for arguments in ("katas",), (f"{first}::test_one", "-n1"), (f"{first}::test_two", "-n1"):
        course.run(*arguments)
        course.run("--page", "page.md")
        text = course.run("--course").stdout.str() + (course.path / "page.md").read_text()
        shown.append(text.count("it is not installed"))
        (course.path / "tool").touch()
    states = [state(course), state(course, "k02_second")]
    (course.path / "tool").unlink()
    course.run("katas")

    # Once on the map, once on the page.
    assert [2, 0, 0] == shown
    assert ["solved", "open"] == states
    assert ["solved", "unavailable"] == [state(course), state(course, "k02_second")]


DECIDES = """
    import pytest

    def test_whatever(): pass
    @pytest.mark.backend("tool")
    def test_decides(): pass
"""


def test_a_kata_is_not_solved_where_a_test_that_decides_is_skipped(course: MiniCourse) -> None:
    """The last words say so, and how to get what it lacks; it is solved once that is there."""
    course.write("tool_plugin.py", TOOL)
    course.path_first(course.path)
    course.plugins(*PLUGINS, "plugins.machine.backends", "tool_plugin")
    course.kata("k01_first", DECIDES)
    course.kata("k02_second", DECIDES, extra=("test_decides",))
    undecided = (
        "lecture01/k01_first is not decided here: 1 test passes, 1 waits for tool: it is",
        "  not installed; install it",
    )

    one = course.run("katas/lecture01/test_k01_first.py").outlines
    both = course.run("katas").outlines
    shown = course.run("--course").stdout.str()
    before = state(course)
    (course.path / "tool").touch()
    course.run("katas/lecture01/test_k01_first.py")

    solved = "lecture01/k02_second is solved; everything that can run here is solved."
    for out, following in (one, ["Next is lecture01/k02_second:", SECOND]), (both, [solved]):
        begin = out.index(undecided[0])
        assert [*undecided, *following] == out[begin : begin + 2 + len(following)]
    assert "1 of 2 katas solved" in shown
    assert "  2 tests: tool: it is not installed; install it" in shown
    assert ["unavailable", "solved"] == [before, state(course)]


def test_the_last_undecided_kata_is_followed_by_none(course: MiniCourse) -> None:
    """Nothing else is left."""
    course.write("tool_plugin.py", TOOL)
    course.path_first(course.path)
    course.plugins(*PLUGINS, "plugins.machine.backends", "tool_plugin")
    course.kata("k01_first", DECIDES)

    result = course.run("katas")

    result.stdout.fnmatch_lines(
        ["lecture01/k01_first is not decided here: *", "  not installed; *"]
    )
    result.stdout.no_fnmatch_line("Next is *")


@pytest.fixture
def three_katas(course: MiniCourse) -> MiniCourse:
    """Return a course of three katas, of which the last is not solved."""
    course.plugins(*PLUGINS, "plugins.loop.next")
    course.kata("k01_first", TESTS, stub=RIGHT, solution=RIGHT)
    course.kata("k02_second", "def test(): pass")
    course.kata("k03_third", "def test(): assert False", lecture="lecture02")
    return course


FIRST = "katas/lecture01/test_k01_first.py"
SECOND = "  pytest katas/lecture01/test_k02_second.py -x"
THIRD = "  pytest katas/lecture02/test_k03_third.py -x"


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ((FIRST,), ["lecture01/k01_first is solved; next is lecture01/k02_second:", SECOND]),
        ((FIRST, "-q"), ["lecture01/k01_first is solved; next is lecture01/k02_second:", SECOND]),
        ((FIRST, "-n2"), ["lecture01/k01_first is solved; next is lecture01/k02_second:", SECOND]),
        (("katas/lecture01",), ["2 katas are solved; next is lecture02/k03_third:", THIRD]),
    ],
    ids=["one", "-q", "-n2", "two"],
)
def test_success_says_what_is_next(
    three_katas: MiniCourse, arguments: tuple[str, ...], lines: list[str]
) -> None:
    """The last words before pytest's own: the kata, and the command for the next one."""
    out = three_katas.run(*arguments).outlines

    assert lines == out[-3:-1]
    assert 1 == sum("solved" in line for line in out)


def test_one_who_began_in_the_middle_goes_on_there(course: MiniCourse) -> None:
    """With the next kata of that lecture; at its end with what is left before."""
    course.plugins(*PLUGINS)
    course.kata("k01_first", "def test(): assert False")
    for name in ("k02_second", "k03_third"):
        course.kata(name, "def test(): pass", lecture="lecture02")
    told = [
        course.run(f"katas/lecture02/test_{name}.py").outlines[-3]
        for name in ("k02_second", "k03_third")
    ]

    assert told == [
        "lecture02/k02_second is solved; next is lecture02/k03_third:",
        "lecture02/k03_third is solved; next is lecture01/k01_first:",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ("katas",),
        (FIRST, "-k", "small"),
        (FIRST, "-qq"),
        (FIRST, "--solutions"),
        (FIRST, "--unsolved"),
        (FIRST, "--collect-only"),
        (FIRST, "--no-summary"),
    ],
    ids=" ".join,
)
def test_otherwise_nothing_is_called_solved(
    three_katas: MiniCourse, arguments: tuple[str, ...]
) -> None:
    """A failure has the last word; a part of the tests, or other answers, solve nothing."""
    three_katas.run(*arguments).stdout.no_fnmatch_line("*solved;*")


def test_next_has_its_own_words(three_katas: MiniCourse) -> None:
    """They are not repeated."""
    out = three_katas.run(FIRST, "--next").outlines

    assert "lecture01/k01_first is solved: The title of k01_first" in out
    assert not any("next is" in line for line in out)


def test_when_all_is_solved_nothing_is_next(course: MiniCourse) -> None:
    """The commands are for the folder of the shell, so there is none here."""
    course.kata()
    out = course.run("katas").outlines

    said = "lecture01/k01_first is solved; everything that can run here is solved."
    assert said == out[-2]
