"""``--page FILE``: the page, from what is stored; no kata is run or imported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.files import content_of
from plugins.course.lectures import read_course
from plugins.progress.map import places_of
from plugins.progress.page import merely_shown
from plugins.progress.plugin import remember_run
from plugins.progress.standing import Results
from plugins.progress.standing import TestOutcome
from plugins.progress.store import change_count
from plugins.progress.store import change_standing
from tests.support.pages import NOW
from tests.support.pages import PASSED


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


PLUGINS = ("plugins.course.session", "plugins.guide.episodes", "plugins.progress.page")
HEAVY = ("torch", "numpy", "hypothesis", "playwright")


@pytest.fixture
def page(course: MiniCourse) -> MiniCourse:
    """Return a course with a kata solved after one hint, and an untouched one."""
    course.plugins(*PLUGINS)
    course.kata(test="raise SystemExit('imported')")
    course.kata("k02_second")
    (lecture,) = read_course([course.katas / "lecture01"]).lectures
    kata = lecture.katas[0]
    run = Results(content_of(kata), {"test_a": PASSED}, 1)
    change_standing(course.path, kata, lambda standing: standing.after(run, 1.0, NOW))
    change_count(course.path, kata.id, lambda _: 1)
    return course


def test_the_command_writes_the_page_and_runs_nothing(page: MiniCourse) -> None:
    """It prints the file's address, to open in a browser."""
    result = page.run("--page", "page.html")
    text = (page.path / "page.html").read_text()

    assert 0 == result.ret
    assert [f"wrote page.html: {(page.path / 'page.html').as_uri()}"] == result.outlines
    assert "<title>PyTorch internals: 1 of 2 katas solved</title>" in text
    assert "1 hint taken" in text
    assert f"<td>{NOW.astimezone().date().isoformat()}</td>" in text
    assert "https://pytorch-dev-podcast.simplecast.com/episodes/" in text


def test_a_file_in_markdown_is_the_summary(page: MiniCourse) -> None:
    """It does not need Jinja2."""
    page.write("jinja2.py", "raise ValueError('imported')")
    page.run("--page=summary.md", "katas/lecture01")

    text = (page.path / "summary.md").read_text()
    assert text.startswith("## 1 of 2 katas solved\n")


@pytest.mark.parametrize(("folder", "before"), [("", []), ("katas/lecture01", ["."])])
def test_without_a_file_it_lies_with_what_is_remembered(
    page: MiniCourse, monkeypatch: pytest.MonkeyPatch, folder: str, before: list[str]
) -> None:
    """From whichever folder; what stands before the option is no file."""
    monkeypatch.chdir(page.path / folder)
    result = page.run(*before, "--page")
    file = page.path / ".katas/page.html"

    assert 0 == result.ret
    assert [f"wrote .katas/page.html: {file.as_uri()}"] == result.outlines
    assert "1 of 2 katas solved" in file.read_text()


@pytest.mark.parametrize("word", ["katas/lecture01", "katas/lecture01/k01_first.py", "-", "page"])
@pytest.mark.parametrize("form", ["--page={}", "--page {}"])
def test_a_word_that_names_no_page_is_refused(page: MiniCourse, form: str, word: str) -> None:
    """It may be meant as what to run; an exercise stays as it is."""
    exercise = page.katas / "lecture01/k01_first.py"
    before = exercise.read_bytes()
    result = page.run(*form.format(word).split())

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    says = f"ERROR: --page: {word} is no name for a page, which ends in .html, or in .md *"
    result.stderr.fnmatch_lines([says])
    result.stderr.fnmatch_lines(["*pytest --page=page.html"])
    assert before == exercise.read_bytes()


@pytest.mark.parametrize("arguments", ["--page={}", "katas --page={}", "katas --page {}"])
def test_a_page_elsewhere_is_written_anew(
    page: MiniCourse, tmp_path_factory: pytest.TempPathFactory, arguments: str
) -> None:
    """A file outside of the course, which pytest could take for the place of its settings."""
    file = tmp_path_factory.mktemp("elsewhere") / "page.HTML"
    file.write_text("old")
    result = page.run(*arguments.format(file).split())

    assert 0 == result.ret
    assert file.read_text().startswith("<!doctype html>")


def test_without_jinja2_it_is_named(page: MiniCourse) -> None:
    """With the command that installs it."""
    page.write("jinja2.py", "raise ModuleNotFoundError('jinja2')")
    page.write("markupsafe.py", "raise ModuleNotFoundError('markupsafe')")
    result = page.run("--page", "page.html")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --page: Jinja2 is not installed; * --group page. *"])
    assert not (page.path / "page.html").exists()


def test_parts_come_from_the_syllabus(page: MiniCourse) -> None:
    """The error for a broken one is one line."""
    page.write("syllabus.toml", '[[part]]\ntitle = "Begin"\n[part.lectures]\nlecture07 = "Later"\n')
    page.run("--page", "page.html")
    text = (page.path / "page.html").read_text()
    page.write("syllabus.toml", "part = 1")
    result = page.run("--page", "page.html")

    assert "Part 1: Begin" in text
    assert "Part 2: More lectures" in text
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --page: *syllabus.toml: part: expected an array *"])


def test_a_file_that_cannot_be_written_is_named(page: MiniCourse) -> None:
    """The error is one line."""
    result = page.run("--page", "conftest.py/page.html")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --page: */conftest.py/page.html: *"])


def test_help_is_help(page: MiniCourse) -> None:
    """``--help`` wins over the option."""
    page.run("--page", "x.html", "--help").stdout.fnmatch_lines(["*--page=?FILE?*"])


def test_torch_is_not_imported(page: MiniCourse) -> None:
    """Nor any other heavy package; without torch, sources are those of ``main``."""
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
    """The dependency groups in the README, and in what it leaves out, are in pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        groups = tomllib.load(file)["dependency-groups"]
    named = {
        name
        for page in ("README.md", "docs/optional.md")
        for name in re.findall(r"--group (\w+)", (ROOT / page).read_text())
    }

    assert {"page", "browser"} <= named <= set(groups)


def test_a_kata_that_was_merely_shown_is_untouched(page: MiniCourse) -> None:
    """Its tests have failed, but nobody has written anything; the time it took stays."""
    stub = "# TODO: write it\ndef f():\n    raise NotImplementedError\n"
    for name in ("k03_shown", "k04_begun"):
        page.kata(name, stub=stub)
    for file in page.katas.rglob("*.py"):
        os.utime(file, (1e9, 1e9))
    page.write("katas/lecture01/k04_begun.py", f"{stub}# half of it\n")
    course = read_course([page.katas / "lecture01"])
    for kata in course.katas[2:]:
        run = Results(content_of(kata), {"test_a": TestOutcome("failed", "why")}, 1)
        remember_run(page.path, kata, run, 60.0, NOW)
    places = places_of(page.path, course)
    page.run("--page=summary.md")
    summary = (page.path / "summary.md").read_text()

    assert ["solved", "new", "failing", "failing"] == [place.state for place in places]
    shown = merely_shown(page.path, places)
    assert ["solved", "new", "new", "failing"] == [place.state for place in shown]
    assert (60.0, {}) == (shown[2].standing.seconds, shown[2].standing.results.tests)
    assert "`lecture01/k04_begun`" in summary.partition("### Failing")[2]
    assert "`lecture01/k03_shown`" not in summary.partition("### Failing")[2]
