"""``nox -s new``: the files it writes are red for the right reasons until every TODO is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gate.cases import read_gate
from tests.gate.checks import Checks
from tests.gate.rules import broken_rules
from tests.gate.runner import Runner
from tests.gate.scaffold import main
from tests.gate.wrongrules import broken_answers


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


def test_a_new_kata_is_red(course: MiniCourse, capsys: pytest.CaptureFixture[str]) -> None:
    """Its test fails with NotImplementedError, for the stub and for the solution."""
    course.plugins("plugins.course.session", "plugins.course.solutions")
    course.write("episodes.toml", "episode = []\n")

    assert main(["lecture07", "strides", "Contiguous strides"], course.path) == 0

    gate = read_gate(course.path)
    (kata,) = gate.katas
    assert kata.id == "lecture07/k01_strides"
    with Runner(1) as runner:
        checks = Checks(gate, runner)
        assert checks.unsolved(kata) == []
        (problem,) = checks.solved(kata)
    assert "NotImplementedError: TODO: the solution" in problem
    out = capsys.readouterr().out
    assert "katas/lecture07/.meta/k01_strides/wrong.toml" in out
    assert "nox -s verify -- lecture07" in out


@pytest.mark.parametrize("kind", ["lab", "cpp"])
def test_what_says_todo_is_refused(course: MiniCourse, kind: str) -> None:
    """The layout check asks for brief, table, tests and wrong answers until they are written."""
    course.write("episodes.toml", "episode = []\n")
    main(["lecture07", "strides", "Contiguous strides", "--kind", kind], course.path)

    gate = read_gate(course.path)
    (kata,) = gate.katas
    problems = "\n".join(broken_rules(kata) + broken_answers(gate, kata))

    assert gate.course.errors == ()
    assert "the brief still says TODO" in problems
    assert "lecture.toml still says TODO" in problems
    assert "no episode has the slug 'TODO'" in problems
    assert "the docstring of test_the_smallest_case still says TODO" in problems
    assert "the line of `k01_strides` in README.md still says TODO" in problems
    for number in (1, 2, 3):
        assert f"wrong {number}: because still says TODO" in problems
        assert f"wrong {number}: by still says TODO" in problems
    assert f"solutions/{'csrc/k01_strides.cpp' if kind == 'cpp' else 'k01_strides.py'}" in problems
    assert "test_k01_strides.py: the docstring of the module still says TODO" in problems
    assert "the message of the assert still says TODO" in problems
    assert "lecture.toml still says TODO, in the lecture's title or syllabus" in problems
    assert "__init__.py still says TODO" in problems
    assert "the title of README.md still says TODO" in problems
    told = "the docstring of strides in k01_strides.py still says TODO"
    assert (told in problems) is (kind == "lab")
    assert "[[wrong]] answers, found" not in problems
    assert "missing" not in problems


def test_numbers_go_on(course: MiniCourse) -> None:
    """The next kata of a lecture gets the next number, and the README a line."""
    main(["lecture07", "first", "The first"], course.path)
    main(["lecture07", "second", "The second"], course.path)
    main(["lecture07", "ninth", "The ninth", "--number", "9"], course.path)

    names = [kata.name for kata in read_gate(course.path).katas]
    assert names == ["k01_first", "k02_second", "k09_ninth"]
    readme = (course.katas / "lecture07" / "README.md").read_text()
    todo = "TODO: what it is about, in a line."
    assert readme.endswith(
        f"1. `k01_first`: {todo}\n2. `k02_second`: {todo}\n9. `k09_ninth`: {todo}\n"
    )


def test_a_lecture_of_a_package_is_named_by_its_folder(
    course: MiniCourse, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tests import from the package; nothing is written into the course."""
    course.write("../other/roots/__init__.py", "")
    folder = course.path.parent / "other/roots/lecture77"

    assert 0 == main([str(folder), "cube", "The cube root"], course.path)

    assert "from roots.lecture77.k01_cube import cube" in (folder / "test_k01_cube.py").read_text()
    assert "../other/roots/lecture77/.meta/k01_cube/wrong.toml\n" in capsys.readouterr().out
    assert not (course.katas / "lecture77").exists()


def test_the_readme_lists_it_behind_the_others(
    course: MiniCourse, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its size, before what follows the list; what the page says in total is printed."""
    main(["lecture07", "first", "The first", "--size", "spark"], course.path)
    readme = course.katas / "lecture07" / "README.md"
    readme.write_text(readme.read_text() + "\n## Problem set\n\n1. Why?\n")
    main(["lecture07", "second", "The second"], course.path)

    todo = "TODO: what it is about, in a line."
    assert readme.read_text().endswith(
        f"1. `k01_first` (spark, 5 min): {todo}\n2. `k02_second` (kata, 30 min, optional): {todo}\n"
        "\n## Problem set\n\n1. Why?\n"
    )
    assert "now 1 of the 2 katas, 5 minutes; all take 35 minutes" in capsys.readouterr().out


def test_the_core_path_is_asked_for(course: MiniCourse, capsys: pytest.CaptureFixture[str]) -> None:
    """A new kata is optional, and its author hears of it; the first of a lecture opens the path."""
    for name, more in (("first", ["--size", "spark"]), ("second", []), ("third", ["--core"])):
        main(["lecture07", name, "A title", *more], course.path)
    out = capsys.readouterr().out

    assert [True, False, True] == [kata.core for kata in read_gate(course.path).katas]
    assert 2 == out.count("It is on the core path (core = true).")
    assert 1 == out.count("It is optional (core = false); on the core path, for which there is")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["seven", "first", "The first"], "expected lectureNN, found 'seven'"),
        (["lecture07", "First", "The first"], "expected a name in lower case"),
        (["lecture07", "again", "Again", "--number", "1"], "lecture07 already has a k01"),
        (["lecture07", "first", "The first"], "lecture07 already has k01_first"),
    ],
)
def test_names_that_cannot_be(
    course: MiniCourse, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    """An invalid lecture, name or number is refused in one line."""
    main(["lecture07", "first", "The first"], course.path)

    with pytest.raises(SystemExit):
        main(arguments, course.path)

    assert says in capsys.readouterr().err


def test_a_size_is_stated_of_all_katas_or_none(
    course: MiniCourse, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first kata of a lecture decides it."""
    main(["lecture07", "first", "The first", "--size", "spark"], course.path)
    main(["lecture07", "second", "The second"], course.path)
    main(["lecture08", "first", "The first"], course.path)
    with pytest.raises(SystemExit):
        main(["lecture08", "second", "The second", "--size", "lab"], course.path)

    gate = read_gate(course.path)

    assert gate.course.errors == ()
    assert ["spark, 5 min", "kata, 30 min, optional", ""] == [kata.effort for kata in gate.katas]
    assert "lecture08 states no sizes: leave out --size" in capsys.readouterr().err
