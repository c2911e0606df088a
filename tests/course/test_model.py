"""A kata knows its files, and a course the katas of its test modules."""

from __future__ import annotations

from pathlib import Path

import pytest

from plugins.course.model import Course
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.course.model import undecided


FOLDER = Path("/course/katas/lecture01")


def a_kata(name: str, *csrc: str, title: str = "T") -> Kata:
    """Return a kata of the lecture."""
    return Kata("lecture01", name, title, "lab", (), (), (), (), (), (), csrc, FOLDER)


def a_course(*katas: Kata) -> Course:
    """Return a course with two lectures, each with these katas."""
    lectures = [Lecture(name, "T", {}, katas, FOLDER) for name in ("lecture01", "lecture02")]
    return Course(tuple(lectures), ())


@pytest.mark.parametrize(
    ("csrc", "exercise", "cuda"),
    [
        ((), "k01_first.py", []),
        (("csrc/k01.cpp", "csrc/k01.cu"), "csrc/k01.cpp", ["csrc/k01.cu"]),
        (("csrc/k01.cu",), "csrc/k01.cu", ["csrc/k01.cu"]),
    ],
)
def test_a_kata_knows_its_files(csrc: tuple[str, ...], exercise: str, cuda: list[str]) -> None:
    """The exercise is the first source where there is one, else the Python module."""
    kata = a_kata("k01_first", *csrc)

    assert "lecture01/k01_first" == kata.id
    assert FOLDER / "test_k01_first.py" == kata.test
    assert FOLDER / exercise == kata.exercise
    assert cuda == kata.cuda


def test_a_test_module_leads_to_its_kata() -> None:
    """Any other file belongs to no kata; of two katas with one test module the first counts."""
    first, later = a_kata("k01_first"), a_kata("k02_later")
    course = a_course(first, later, a_kata("k01_first", title="again"))

    assert first is course.kata_of(FOLDER / "test_k01_first.py")
    assert later is course.kata_of(FOLDER / "test_k02_later.py")
    assert course.kata_of(FOLDER / "k02_later.py") is None
    assert Course((), ()).kata_of(FOLDER / "test_k01_first.py") is None


def test_the_katas_are_walked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test of a session asks several times, and a course has hundreds of katas."""
    built: list[str] = []

    def test_of(kata: Kata) -> Path:
        built.append(kata.name)
        return kata.folder / f"test_{kata.name}.py"

    monkeypatch.setattr(Kata, "test", property(test_of))
    course = a_course(*(a_kata(f"k{number:02}_kata") for number in range(10)))
    assert [] == built

    found = {course.kata_of(FOLDER / f"test_k{n % 10:02}_kata.py") for n in range(100)}

    assert 10 == len(found)
    assert 20 == len(built)


def test_a_course_that_was_asked_equals_another() -> None:
    """What it has looked up is no part of it."""
    course = a_course(a_kata("k01_first"))
    course.kata_of(FOLDER / "test_k01_first.py")

    assert a_course(a_kata("k01_first")) == course
    assert repr(a_course(a_kata("k01_first"))) == repr(course)


@pytest.mark.parametrize(
    ("skipped", "ran", "waiting"),
    [
        ({}, [], False),
        ({"test_a": "torchx: none"}, ["test_b"], True),
        ({"test_a[x]": "torchx: none"}, ["test_a[y]"], True),
        ({"test_extra": "torchx: none"}, ["test_b"], False),
        ({"test_extra[x-1]": "it is not there"}, [], False),
        ({"test_a[cuda]": "cuda: no GPU"}, ["test_a[cpu]"], False),
        ({"test_a[cuda-8]": "cuda: no GPU"}, ["test_a[cpu-8]", "test_a[cpu-9]"], False),
        ({"test_a[8-cuda-x]": "cuda: no GPU"}, ["test_a[8-cpu-x]"], False),
        ({"Test::test_a[cuda]": "cuda: no GPU"}, ["Test::test_a[cpu]"], False),
        # What ran was something else.
        ({"test_a[cuda-8]": "cuda: no GPU"}, ["test_a[cpu-9]"], True),
        ({"test_a[cuda]": "cuda: no GPU"}, ["test_b[cpu]"], True),
        ({"test_a[cuda]": "cuda: no GPU"}, ["test_a", "test_a[cpu-8]"], True),
        ({"test_a[cuda]": "triton: none"}, ["test_a[cpu]"], True),
        ({"test_a": "cuda: no GPU"}, ["test_b[cpu]"], True),
        ({"test_a[x]": ""}, ["test_a[y]"], True),
    ],
)
def test_a_kata_is_undecided_without_a_test_that_decides(
    skipped: dict[str, str], ran: list[str], *, waiting: bool
) -> None:
    """It is none that is extra, nor one on a device that ran on another with the same values."""
    tests: dict[str, str | None] = {**skipped, **dict.fromkeys(ran)}

    assert (skipped if waiting else {}) == undecided(tests, ("test_extra",))
