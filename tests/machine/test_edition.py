"""A Python without torch: one message with the way out, and nothing that looks like a failure."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.course.lectures import read_course
from plugins.machine import edition
from plugins.machine.edition import PACKAGES
from plugins.machine.edition import describe_absent
from plugins.machine.edition import imports_of
from plugins.machine.edition import is_installed


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


SITE = Path(sysconfig.get_paths()["purelib"])
INSTALL = "python -m pip install -r "


def run_without(
    course: MiniCourse, absent: tuple[str, ...], *args: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a Python that has what this one has, without some packages."""
    site = course.path / "site"
    if not site.exists():
        site.mkdir()
        for entry in SITE.iterdir():
            if entry.name.partition("-")[0] not in absent:
                (site / entry.name).symlink_to(entry)
    return subprocess.run(
        # Without -S Python would look where they are installed.
        [sys.executable, "-S", "-m", "pytest", *args],
        cwd=course.path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(site), str(ROOT)))},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return a course with all plugins and two lectures, one of which imports torch."""
    course.kata("k01_first", "import torch\ndef test(): pass")
    course.kata("k02_second", "def test(): pass", stub="def f():\n    from torch.fx import Graph")
    course.kata("k01_plain", "def test(): pass", lecture="lecture02")
    return course


@pytest.mark.parametrize(
    "arguments",
    [
        ("katas",),
        ("katas/lecture01/test_k01_first.py", "-x"),
        ("katas/lecture01/test_k02_second.py",),
        ("katas", "--next"),
        ("katas", "--watch"),
        ("katas", "-n2"),
        ("katas", "--solutions"),
        ("katas", "--collect-only"),
        ("-q",),
    ],
    ids=" ".join,
)
def test_a_forgotten_environment_is_one_message(
    course: MiniCourse, arguments: tuple[str, ...]
) -> None:
    """With the command that installs the edition; no kata fails, and none is stored as failing."""
    done = run_without(course, ("torch",), *arguments)

    assert pytest.ExitCode.USAGE_ERROR == done.returncode
    assert "" == done.stdout
    assert f"ERROR: torch is not installed in this Python: {sys.executable}" in done.stderr
    assert f"{INSTALL}{os.path.relpath(ROOT / 'requirements.txt', course.path)}" in done.stderr
    assert len(done.stderr.splitlines()) < 8
    assert not (course.path / ".katas").exists()


def test_any_package_of_the_edition_may_be_missing(course: MiniCourse) -> None:
    """In a function of the exercise too: the test would fail, for nothing that is the learner's."""
    absent = "import plugins.machine.edition\nplugins.machine.edition.PACKAGES = ['no_such']\n"
    course.write("conftest.py", (ROOT / "conftest.py").read_text() + absent)
    test, stub = (
        "from katas.lecture02.k02_lazy import f\ndef test(): f()",
        "def f(): import no_such",
    )
    course.kata("k02_lazy", test, lecture="lecture02", stub=stub)
    lazy, plain = course.run("katas"), course.run("katas/lecture02/test_k01_plain.py")

    assert (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.OK) == (lazy.ret, plain.ret)
    lazy.stderr.fnmatch_lines(["ERROR: no_such is not installed in this Python: *"])
    lazy.stdout.no_fnmatch_line("*failed*")


@pytest.mark.parametrize(
    "arguments",
    [
        ("katas/lecture02",),
        ("katas/lecture02", "--next"),
        ("--course",),
        ("katas/lecture01/test_k01_first.py", "--hint"),
        ("--progress-json=-",),
    ],
    ids=" ".join,
)
def test_what_needs_no_torch_goes_on(course: MiniCourse, arguments: tuple[str, ...]) -> None:
    """A lecture of another package may need none, and neither does what only shows something."""
    done = run_without(course, ("torch",), *arguments)

    assert (pytest.ExitCode.OK, "") == (done.returncode, done.stderr)


def test_all_that_is_missing_is_named(course: MiniCourse) -> None:
    """But not what these katas do not need."""
    test = "import numpy as np\nfrom hypothesis import given\ndef test(): pass"
    course.kata("k03_third", test)
    absent = ("numpy", "hypothesis", "_hypothesis_pytestplugin.py", "expecttest")
    done = run_without(course, absent, "katas/lecture01/test_k03_third.py")

    assert pytest.ExitCode.USAGE_ERROR == done.returncode
    assert "ERROR: numpy and hypothesis are not installed in this Python" in done.stderr


def test_a_virtual_environment_that_is_there_is_named(tmp_path: Path) -> None:
    """It is what was forgotten; the commands are for the folder of the shell."""
    for name in (".venv", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / ".venv/pyvenv.cfg").touch()
    start = tmp_path / "katas"

    assert [
        f"torch, numpy and hypothesis are not installed in this Python: {sys.executable}",
        "There is a virtual environment here; this activates it:",
        "  . ../.venv/bin/activate",
        "This installs the edition of the course, best in a virtual environment:",
        "  python -m pip install -r ../requirements.txt",
    ] == describe_absent(["torch", "numpy", "hypothesis"], tmp_path, start).splitlines()


def test_the_active_environment_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the edition is not installed yet."""
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv/pyvenv.cfg").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))

    assert "activate" not in describe_absent(["torch"], tmp_path, tmp_path)


def test_the_packages_are_those_that_katas_import() -> None:
    """And are in the edition; a package that is missing here would be one message a kata."""
    pins = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = {line.partition("==")[0] for line in pins if not line.startswith("#")}
    course = read_course(sorted((ROOT / "katas").glob("lecture*/")))
    katas = list(course.katas)
    imported = set[str]().union(*map(imports_of, katas))

    assert {*PACKAGES} <= pinned
    assert {*PACKAGES} == imported & (pinned - {"pytest"})


def test_a_half_written_exercise_imports_what_its_tests_do(course: MiniCourse) -> None:
    """Its syntax error is for another day."""
    course.write("katas/lecture01/k01_first.py", "import numpy\ndef f(")
    lecture = read_course([course.katas / "lecture01"]).lectures[0]

    assert {"torch"} == imports_of(lecture.katas[0])


def test_installed_is_what_could_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or what is there already, as a stand-in for torch is in tests."""
    monkeypatch.setitem(sys.modules, "no_such_package", ast)

    assert is_installed("no_such_package")
    assert is_installed("pytest")
    assert not is_installed("nor_this_package")
    assert "torch" not in vars(edition)
