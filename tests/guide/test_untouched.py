"""Which katas are untouched, by the history of the course."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from plugins.course.lectures import read_course
from plugins.guide.untouched import has_history
from plugins.guide.untouched import katas_as_given
from plugins.guide.untouched import text_as_given


if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conftest import MiniCourse


STUB = "# TODO: write it\ndef f():\n    raise NotImplementedError('f')\n"


@pytest.fixture
def git(course: MiniCourse) -> Callable[..., None]:
    """A repository with the course of two katas."""

    def run(*arguments: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *names, *arguments], cwd=course.path, check=True)

    course.kata(stub=STUB)
    course.kata("k02_second", stub=STUB)
    run("init", "-q")
    run("add", ".")
    run("commit", "-qm", "the course")
    return run


def given(course: MiniCourse) -> list[str]:
    """Return the names of the katas that are as given."""
    read = read_course([course.katas / "lecture01"])
    katas = list(read.katas)
    return [kata.name for kata in katas_as_given(course.path, katas)]


def test_a_course_without_git_has_no_history(course: MiniCourse) -> None:
    """As one that was downloaded as an archive; nor has one in a repository that lacks it."""
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    course.kata(stub=STUB)
    assert not has_history(course.path)
    for arguments in (("init", "-q"), ("commit", "-qm", "nothing", "--allow-empty")):
        subprocess.run(["git", *names, *arguments], cwd=course.path, check=True)
    assert not has_history(course.path)


def test_without_the_program_there_is_no_history(
    course: MiniCourse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can say what the course was."""
    monkeypatch.setenv("PATH", "")

    assert not has_history(course.path)


def test_a_course_that_is_committed_has_one(course: MiniCourse, git: object) -> None:
    """Whatever the learner has edited since."""
    assert git
    edit(course)

    assert has_history(course.path)


@pytest.mark.usefixtures("git")
def test_katas_of_other_packages_do_not_matter(course: MiniCourse, tmp_path: Path) -> None:
    """They are not in the history; git would refuse to look for them."""
    away = tmp_path / "elsewhere/lecture77"
    shutil.copytree(course.katas / "lecture01", away)
    folders = [course.katas / "lecture01", away]
    katas = [kata for each in read_course(folders).lectures for kata in each.katas]

    assert ["lecture01"] * 2 == [kata.lecture for kata in katas_as_given(course.path, katas)]
    assert [] == katas_as_given(course.path, katas[2:])


def edit(course: MiniCourse) -> Path:
    """Write an answer for the first kata."""
    return course.write("katas/lecture01/k01_first.py", STUB + "# TODO: and more\n")


def test_a_kata_is_as_given_until_it_is_edited(
    course: MiniCourse, git: Callable[..., None]
) -> None:
    """In the working tree, in the index, or in a commit of the learner's own."""
    assert given(course) == ["k01_first", "k02_second"]

    edit(course)
    assert given(course) == ["k02_second"]
    git("add", ".")
    assert given(course) == ["k02_second"]
    git("commit", "-qm", "half of it")
    assert given(course) == ["k02_second"]


def test_an_edit_that_was_taken_back_is_none(course: MiniCourse, git: Callable[..., None]) -> None:
    """Also if both were committed."""
    edit(course)
    git("commit", "-qam", "half of it")
    course.write("katas/lecture01/k01_first.py", STUB)
    git("commit", "-qam", "begin anew")

    assert given(course) == ["k01_first", "k02_second"]


def test_a_kata_that_authors_have_changed_is_as_given(
    course: MiniCourse, git: Callable[..., None]
) -> None:
    """They change its tests or its solution with it."""
    edit(course)
    course.write("katas/lecture01/test_k01_first.py", "def test_more(): pass\n")
    git("commit", "-qam", "The kata asks for more")

    assert given(course) == ["k01_first", "k02_second"]


@pytest.mark.usefixtures("git")
def test_a_kata_of_the_learners_own_is_none(course: MiniCourse) -> None:
    """Git does not know it, or ignores it."""
    course.kata("k03_own", stub=STUB)
    assert given(course) == ["k01_first", "k02_second"]

    course.write(".gitignore", "k03_own.py\n")
    assert given(course) == ["k01_first", "k02_second"]


def test_a_kata_without_a_todo_is_none(course: MiniCourse, git: Callable[..., None]) -> None:
    """There is nothing to begin, as in a lecture that somebody else has written."""
    course.kata("k03_plain", stub="def f(): pass\n")
    git("add", ".")
    git("commit", "-qm", "one more")

    assert "k03_plain" not in given(course)


@pytest.mark.usefixtures("git")
def test_the_course_may_be_a_folder_of_a_repository(course: MiniCourse, tmp_path: Path) -> None:
    """Git names paths from the top of the repository."""
    whole = tmp_path / "whole"
    shutil.copytree(course.path, whole / "course")
    shutil.rmtree(whole / "course/.git")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        names = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *names, *arguments], cwd=whole, check=True)
    read = read_course([whole / "course/katas/lecture01"])

    found = katas_as_given(whole / "course", read.lectures[0].katas)
    assert [kata.name for kata in found] == ["k01_first", "k02_second"]


@pytest.mark.parametrize("path", [True, False], ids=["no repository", "no git"])
def test_without_history_the_times_of_the_files_tell(
    course: MiniCourse, monkeypatch: pytest.MonkeyPatch, *, path: bool
) -> None:
    """As in a copy of the course that was downloaded as an archive: an answer is younger."""
    if not path:
        monkeypatch.setenv("PATH", "")
    course.kata(stub=STUB)
    course.kata("k02_second", stub=STUB)
    course.kata("k03_plain", stub="def f(): pass\n")
    for file in course.katas.rglob("*.py"):
        os.utime(file, (1e9, 1e9))
    found = given(course)
    edit(course)

    assert ["k01_first", "k02_second"] == found
    assert ["k02_second"] == given(course)


def test_a_kata_without_tests_beside_it_is_none(course: MiniCourse) -> None:
    """There is nothing to compare its time with."""
    course.kata(stub=STUB)
    (course.katas / "lecture01/test_k01_first.py").unlink()

    assert given(course) == []


def test_a_file_of_another_package_has_no_stub_here(tmp_path: Path) -> None:
    """Its history is elsewhere; and nothing is known where git knows nothing."""
    assert text_as_given(tmp_path / "course", tmp_path / "other/k01_a.py") is None
    assert text_as_given(tmp_path, tmp_path / "k01_a.py") is None
