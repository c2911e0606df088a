"""What people type: names and paths of lectures and katas, and names that do not exist."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plugins.course.model import Course
from plugins.course.model import Kata
from plugins.course.model import Lecture
from plugins.course.names import UnknownNameError
from plugins.course.names import find_module
from plugins.course.names import find_root
from plugins.course.names import is_path
from plugins.course.names import katas_named
from plugins.course.names import lecture_folders
from plugins.course.names import name_for_pytest
from plugins.course.names import nearest
from plugins.course.names import path_in_course
from plugins.course.names import resolve_argument
from plugins.course.names import restore_argument


def a_lecture(folder: Path, *names: str) -> Lecture:
    """Return a lecture in `folder` with katas of these names."""
    katas = tuple(
        Kata(folder.name, name, "T", "lab", (), (), (), (), (), (), (), folder) for name in names
    )
    return Lecture(folder.name, "T", {}, katas, folder)


MANY = [f"k{number:02}_name{number}" for number in range(5, 30)]
COURSE = Course(
    (
        a_lecture(Path("lecture04"), "k01_schema", "k03_clamp"),
        a_lecture(Path("lecture10"), "k01_tracer", *MANY),
        a_lecture(Path("lecture11")),
    ),
    (),
)


@pytest.mark.parametrize(
    "name",
    [
        "lecture04/k03_clamp",
        "lecture04/k03",
        "katas/lecture04/k03_clamp.py",
        "katas/lecture04/csrc/k03_clamp.cpp",
        "katas\\lecture04\\k03_clamp.py",
        "./katas/lecture04/test_k03_clamp.py::test_x",
        "/home/somebody/lectures/katas/lecture04/test_k03_clamp.py",
        "k03_clamp",
        "k03",
    ],
)
def test_a_kata_has_many_names(name: str) -> None:
    """Those that the shell completes, and those that any output shows."""
    assert ["lecture04/k03_clamp"] == [kata.id for kata in katas_named(COURSE, name)]


def test_a_lecture_is_all_its_katas() -> None:
    """With or without the slash that the shell adds, and even if it has none yet."""
    for name in ("lecture04", "lecture04/", "katas/lecture04"):
        assert ["k01_schema", "k03_clamp"] == [kata.name for kata in katas_named(COURSE, name)]
    assert [] == katas_named(COURSE, "lecture11")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lecture4", "no lecture is called 'lecture4'; the nearest: lecture04, "),
        ("lecture05/k03_clamp", "no lecture is called 'lecture05'; the nearest: "),
        (
            "lecture04/k03_calmp",
            "no kata is called 'lecture04/k03_calmp'; the nearest:\n  lecture04/k03_clamp, ",
        ),
        ("tracre", "no kata is called 'tracre'; the nearest: lecture10/k01_tracer, "),
        ("k01", "'k01' may be: lecture04/k01_schema, lecture10/k01_tracer"),
        ("", "no kata is called ''; the nearest: "),
    ],
)
def test_what_does_not_exist_is_answered_with_what_does(name: str, message: str) -> None:
    """The nearest first."""
    with pytest.raises(UnknownNameError) as caught:
        katas_named(COURSE, name)

    assert " ".join(message.split()) in " ".join(str(caught.value).split())
    assert [] == [line for line in str(caught.value).splitlines() if len(line) > 80]


def test_three_names_are_suggested() -> None:
    """Of however many there are."""
    with pytest.raises(UnknownNameError) as caught:
        katas_named(COURSE, "clamps")

    assert 3 == str(caught.value).partition("nearest:")[2].count("lecture")


def test_the_nearest_comes_first() -> None:
    """By the letters that two names share, in order."""
    assert ["k03_clamp", "k04_lamp", "k01_schema"] == nearest(
        "clamp", ["k01_schema", "k04_lamp", "k03_clamp"]
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A course: ``katas`` is a package, as its checkout may be called too."""
    root = tmp_path / "katas"
    for name in ("lecture04", "lecture02"):
        (root / "katas" / name).mkdir(parents=True)
    (root / "katas/__init__.py").touch()
    return root


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lecture of another package, which can be imported."""
    folder = tmp_path / "site/roots_of_a_test/lecture77"
    folder.mkdir(parents=True)
    for file in (folder.parent / "__init__.py", folder / "__init__.py", folder / "test_k01_a.py"):
        file.write_text("raise AssertionError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return folder


@pytest.mark.parametrize("start", [".", "katas", "katas/lecture04/test_k01_a.py", "../katas/none"])
def test_the_course_is_above_its_katas(root: Path, start: str) -> None:
    """Whether the path exists or not."""
    assert root == find_root([root / start])


def test_the_first_path_in_a_course_counts(root: Path, tmp_path: Path) -> None:
    """One outside, such as that of a lecture in ``site-packages``, does not."""
    assert root == find_root([tmp_path, root.parent / "site/lecture77", root / "katas"])
    assert find_root([tmp_path]) is None


def test_lectures_are_in_teaching_order(root: Path) -> None:
    """Their names have numbers."""
    assert ["lecture02", "lecture04"] == [folder.name for folder in lecture_folders(root)]


def test_a_lecture_elsewhere_has_a_short_path_in_the_course(root: Path, away: Path) -> None:
    """It is an argument too; a lecture of the course has its own path."""
    (own,) = a_lecture(root / "katas/lecture04", "k01_a").katas
    (other,) = a_lecture(away, "k01_a").katas

    assert root / "katas/lecture04/test_k01_a.py" == path_in_course(own, root)
    assert root / "lecture77/test_k01_a.py" == path_in_course(other, root)
    assert "lecture04/test_k01_a.py" == name_for_pytest(own, root / "katas")
    assert "lecture77/k01_a" == name_for_pytest(other, root / "katas")


@pytest.mark.parametrize(
    ("argument", "path"),
    [
        ("lecture77", "site/roots_of_a_test/lecture77"),
        ("lecture77/k01_a", "site/roots_of_a_test/lecture77/test_k01_a.py"),
        ("lecture77/k01::test", "site/roots_of_a_test/lecture77/test_k01_a.py::test"),
        ("lecture77/test_k01_a.py::test[a::b]", "*/lecture77/test_k01_a.py::test[a::b]"),
        ("../lecture77/test_k01_a.py", "*/lecture77/test_k01_a.py"),
        ("lecture04/k01_a", "katas/katas/lecture04/test_k01_a.py"),
        ("roots_of_a_test", "site/roots_of_a_test"),
        ("roots_of_a_test.lecture77", "site/roots_of_a_test/lecture77"),
        ("roots_of_a_test.lecture77.test_k01_a::test", "*/lecture77/test_k01_a.py::test"),
    ],
)
def test_a_name_becomes_a_path(
    root: Path, away: Path, tmp_path: Path, argument: str, path: str
) -> None:
    """That of a lecture, of a kata or of a module; nothing is imported."""
    lectures = a_lecture(root / "katas/lecture04", "k01_a"), a_lecture(away, "k01_a", "k02_b")

    found = resolve_argument(Course(lectures, ()), root, argument, modules=True)

    assert Path(found).is_relative_to(tmp_path)
    assert Path(found.partition("[")[0]).match(path.partition("[")[0])
    assert argument.partition("[")[1:] == found.partition("[")[1:]
    assert "roots_of_a_test" not in sys.modules


@pytest.mark.parametrize(
    "argument",
    ["../lecture04", "../lecture04/test_k01_a.py::test", "lecture77", "lecture77/k01_a::test"],
)
def test_an_argument_is_what_it_was(root: Path, away: Path, argument: str) -> None:
    """Or has another form that works: a path in the course, and elsewhere a name."""
    lectures = a_lecture(root / "katas/lecture04", "k01_a"), a_lecture(away, "k01_a", "k02_b")
    course, start = Course(lectures, ()), root / "katas/lecture02"
    path = resolve_argument(course, start, argument, modules=False)

    assert argument == restore_argument(course, start, path)


@pytest.mark.parametrize(
    "argument", ["katas", "nowhere.py", "lecture77", "lecture04/k09", "pytest", "..", "lecture05"]
)
def test_any_other_argument_stays(root: Path, argument: str) -> None:
    """Pytest says that there is none, or finds a package that has nothing to do with the course."""
    lectures = a_lecture(root / "katas/lecture04", "k01_a"), a_lecture(root / "katas/lecture05")

    assert argument == resolve_argument(Course(lectures, ()), root, argument, modules=True)


def test_a_module_is_named_with_pyargs_only(root: Path, away: Path) -> None:
    """As pytest has it."""
    course = Course((a_lecture(away, "k01_a"),), ())
    name = "roots_of_a_test.lecture77"

    assert name == resolve_argument(course, root, name, modules=False)


@pytest.mark.parametrize(
    "name", ["", "none_of_a_test", "none_of_a_test.a", "__main__", "sys", "a/b"]
)
def test_what_is_no_package_has_no_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a single module, nor one that was made by hand."""
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)

    assert find_module(name) is None


def test_a_package_may_lack_the_module(away: Path) -> None:
    """Pytest says so."""
    assert away == find_module("roots_of_a_test.lecture77")
    assert find_module("roots_of_a_test.lecture78") is None


def test_a_very_long_argument_is_no_path(tmp_path: Path) -> None:
    """It may be an option that was misspelled."""
    assert is_path(tmp_path)
    assert not is_path(tmp_path / ("x" * 5000))
