"""What a session remembers of the katas that it ran, and which sessions remember nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.layout import Kata
from plugins.memory import FOLDER
from plugins.memory import recall
from plugins.standing import content_of


if TYPE_CHECKING:
    from pathlib import Path

    from plugins.standing import Standing
    from plugins.standing import State
    from tests.conftest import MiniCourse


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
    """Return what is remembered of a kata of the course."""
    return recall(course.path, kata_named(course, name))


def state(course: MiniCourse, name: str = "k01_first") -> State:
    """Return the state of a kata as its exercise is now."""
    return standing(course, name).state(content_of(kata_named(course, name)))


@pytest.fixture
def exercise(course: MiniCourse) -> Path:
    """Return the exercise of a kata with four tests."""
    course.kata(test=TESTS, stub=STUB, solution=RIGHT)
    return course.katas / "lecture01/k01_first.py"


def test_a_kata_fails_and_is_solved_and_is_open_again(course: MiniCourse, exercise: Path) -> None:
    """As the learner edits the exercise; the message of a failure is kept."""
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
    """Though all that ran have passed; the rest completes it."""
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
    """Their reasons are kept, for the map of the course."""
    course.kata(test="def test(device): assert device == 'cpu'")
    course.run("katas")
    tests = standing(course).results.tests

    assert "solved" == state(course)
    assert "skipped" == tests["test[mps]"].verdict
    assert tests["test[mps]"].message.startswith("mps: ")


@pytest.mark.torch
def test_one_device_is_enough(course: MiniCourse) -> None:
    """What ``--device`` leaves out is not asked for."""
    course.kata(test="def test(device): assert device == 'cpu'")
    course.run("katas", "--device=cpu")

    assert "solved" == state(course)
    assert ["test[cpu]"] == list(standing(course).results.tests)


def test_an_exercise_that_cannot_be_imported_fails(course: MiniCourse, exercise: Path) -> None:
    """There is no test to speak for it: the module does."""
    exercise.write_text("def answer(n) return")
    course.run("katas")

    assert "failing" == state(course)
    assert "SyntaxError" in standing(course).results.tests[""].message


def test_a_failure_in_teardown_is_a_failure(course: MiniCourse) -> None:
    """Though the test itself has passed."""
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
    """And what passed before it is not forgotten, though another process went on."""
    exercise.write_text("import os\n\ndef answer(n):\n    n == 10 and os.abort()\n    return 2 * n")
    course.run("katas")
    tests = standing(course).results.tests

    assert ["passed", "failed", "passed", "passed"] == [each.verdict for each in tests.values()]
    assert "SIGABRT" in tests["test_large"].message


def test_workers_of_xdist_are_heard(course: MiniCourse, exercise: Path) -> None:
    """The tests of one kata come from several processes; one of them crashes."""
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
    """Reference solutions, an expected failure, a look at what there is."""
    assert exercise.exists()
    course.run("katas", *arguments)

    assert "new" == state(course)


def test_answers_that_are_laid_over_are_not_the_learners(
    course: MiniCourse, exercise: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate does so with wrong answers."""
    assert exercise.exists()
    monkeypatch.setenv("KATAS_OVERLAY", str(course.path / "elsewhere"))
    course.run("katas")

    assert "new" == state(course)


def test_each_kata_has_its_own_results_and_time(course: MiniCourse) -> None:
    """A session over a lecture tells them apart."""
    course.kata("k01_first", "import time\ndef test(): time.sleep(1.2)")
    course.kata("k02_second", "def test(): assert False")
    course.run("katas")
    first, second = standing(course), standing(course, "k02_second")

    assert ("solved", "failing") == (state(course), state(course, "k02_second"))
    assert first.seconds >= 1.2 > second.seconds


def test_results_are_there_before_the_session_ends(course: MiniCourse) -> None:
    """A kata is written down when the next one begins: a killed session was not for nothing."""
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


def test_the_content_is_that_which_was_imported(course: MiniCourse) -> None:
    """Not that which the learner has saved while the tests ran."""
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
