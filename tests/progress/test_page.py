"""``--page FILE``: the page of what is stored here; nothing is run or imported."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins.coursepage import ABSENT
from plugins.hintcounts import change_count
from plugins.lectures import read_course
from plugins.memory import update
from plugins.standing import Results
from plugins.standing import content_of
from tests.pages import NOW
from tests.pages import PASSED


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


ROOT = Path(__file__).parents[1]
PLUGINS = ("plugins.course", "plugins.episodes", "plugins.coursepage")
HEAVY = ("torch", "numpy", "hypothesis", "playwright")


@pytest.fixture
def page(course: MiniCourse) -> MiniCourse:
    """Return a course with a kata that is solved, with one hint, and one that is untouched."""
    course.plugins(*PLUGINS)
    course.kata(test="raise SystemExit('imported')")
    course.kata("k02_second")
    (lecture,) = read_course([course.katas / "lecture01"]).lectures
    kata = lecture.katas[0]
    run = Results(content_of(kata), {"test_a": PASSED}, 1)
    update(course.path, kata, lambda standing: standing.after(run, 1.0, NOW))
    change_count(course.path, kata.id, lambda _: 1)
    return course


def test_the_command_writes_the_page_and_runs_nothing(page: MiniCourse) -> None:
    """And says where it is, as an address to open."""
    result = page.run("--page", "page.html")
    text = (page.path / "page.html").read_text()

    assert 0 == result.ret
    assert [f"wrote page.html: {(page.path / 'page.html').as_uri()}"] == result.outlines
    assert "<title>PyTorch internals: 1 of 2 katas solved</title>" in text
    assert "1 hint taken" in text
    assert f"<td>{NOW.astimezone().date().isoformat()}</td>" in text
    assert "https://pytorch-dev-podcast.simplecast.com/episodes/" in text


def test_a_file_in_markdown_is_the_summary(page: MiniCourse) -> None:
    """Jinja2 is not asked for."""
    page.write("jinja2.py", "raise ValueError('imported')")
    page.run("--page=summary.md", "katas/lecture01")

    text = (page.path / "summary.md").read_text()
    assert text.startswith("## 1 of 2 katas solved\n")


def test_without_jinja2_it_is_named(page: MiniCourse) -> None:
    """With the command that gets it."""
    page.write("jinja2.py", "raise ModuleNotFoundError('jinja2')")
    page.write("markupsafe.py", "raise ModuleNotFoundError('markupsafe')")
    result = page.run("--page", "page.html")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --page: Jinja2 is not installed; * --group page, *"])
    assert not (page.path / "page.html").exists()


def test_parts_come_from_the_syllabus(page: MiniCourse) -> None:
    """A broken one is one line."""
    page.write("syllabus.toml", '[[part]]\ntitle = "Begin"\n[part.lectures]\nlecture07 = "Later"\n')
    page.run("--page", "page.html")
    text = (page.path / "page.html").read_text()
    page.write("syllabus.toml", "part = 1")
    result = page.run("--page", "page.html")

    assert "Part 1: Begin" in text
    assert "Part 2: More lectures" in text
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --page: *syllabus.toml: part: expected an array *"])


def test_a_place_that_cannot_hold_it_is_named(page: MiniCourse) -> None:
    """In one line."""
    result = page.run("--page", "conftest.py/page.html")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --page: */conftest.py/page.html: *"])


def test_help_is_help(page: MiniCourse) -> None:
    """``--help`` beside it wins."""
    page.run("--page", "x.html", "--help").stdout.fnmatch_lines(["*--page=FILE*"])


def test_torch_is_not_imported(page: MiniCourse) -> None:
    """Nor what else is heavy; sources are those of ``main`` where torch is not installed."""
    code = (
        "import importlib.metadata as m, sys, pytest\n"
        "def version(name): raise m.PackageNotFoundError(name)\n"
        "m.version = version\n"
        "pytest.main(['--page', 'page.html'])\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=page.path, capture_output=True, text=True, check=True
    )

    assert not set(HEAVY) & set(done.stdout.splitlines()[-1].split())
    assert "/pytorch/blob/main/c10/" in Path(page.path / "page.html").read_text()


def test_the_groups_that_are_named_exist() -> None:
    """In the README, in this message and in others."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        groups = tomllib.load(file)["dependency-groups"]
    named = set(re.findall(r"--group (\w+)", (ROOT / "README.md").read_text() + ABSENT))

    assert {"page", "browser"} <= named <= set(groups)
