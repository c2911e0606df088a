"""A package of somebody else adds devices, a backend, a lecture and episodes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package as pip installs any, but into a folder of its own, and return that."""
    folder = tmp_path_factory.mktemp("plugin_example")
    # Copied, because building leaves files beside the source.
    shutil.copytree(ROOT / "tests" / "plugin_example", folder / "source")
    command = f"-m pip install --quiet --no-index --no-deps --no-build-isolation --target {folder}"
    subprocess.run([sys.executable, *command.split(), folder / "source"], check=True)
    return folder


@pytest.fixture
def extended(course: MiniCourse, installed: Path) -> MiniCourse:
    """Return a course with one kata; the package is installed, and the root not on PYTHONPATH."""
    (course.path / "plugins").symlink_to(ROOT / "plugins")
    course.monkeypatch.setenv("PYTHONPATH", str(installed))
    # As for the command `pytest`: the working directory is not on sys.path either.
    course.monkeypatch.setenv("PYTHONSAFEPATH", "1")
    course.kata(test="def test_of_the_course(): pass")
    return course


def test_hook_devices(extended: MiniCourse) -> None:
    """A test runs on a real PrivateUse1 device that PyTorch and the course learn of by a package.

    The one that is missing is skipped with the reason of its own probe.
    """
    result = extended.run("--solutions", "-v", "-k", "test_double and not compiled")

    result.assert_outcomes(passed=2, skipped=3, deselected=2)
    result.stdout.re_match_lines_random([r".*::test_double\[(cpu|toy)\] PASSED.*"] * 2)
    result.stdout.fnmatch_lines(["xpu (1 test): no Intel GPU; see https://*"])


def test_a_device_of_a_package_can_be_chosen(extended: MiniCourse) -> None:
    """``--device`` and ``-m`` know it; nothing else is selected."""
    result = extended.run("--solutions", "-v", "--device=toy", "-m", "toy")

    result.assert_outcomes(passed=1, deselected=6)
    result.stdout.fnmatch_lines(["*::test_double[[]toy[]] PASSED*"])


def test_a_device_of_a_package_can_be_switched_off(extended: MiniCourse) -> None:
    """Its test is still there, and says how to get it back."""
    extended.monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

    result = extended.run("--solutions", "-m", "toy")

    result.assert_outcomes(skipped=1, deselected=6)
    result.stdout.fnmatch_lines(["toy (1 test): *unset TORCH_DEVICE_BACKEND_AUTOLOAD"])


def test_hook_backends(extended: MiniCourse) -> None:
    """A backend of a package is known, and where it is missing its tests are skipped."""
    result = extended.run("--solutions", "-k", "test_double_compiled")

    result.assert_outcomes(skipped=1, deselected=6)
    result.stdout.fnmatch_lines(["tvm (1 test): TVM is not installed; *"])


def test_hook_lectures(extended: MiniCourse) -> None:
    """The lecture counts as one of the course: a bare ``pytest`` runs it, after the others."""
    result = extended.run("-v", "--device=cpu")

    result.assert_outcomes(passed=1, failed=1, skipped=1, deselected=4)
    result.stdout.fnmatch_lines(
        [
            "*::test_of_the_course PASSED*",
            "*::test_double[[]cpu[]] FAILED*",
            "*NotImplementedError: double",
        ]
    )


def test_a_lecture_that_was_not_asked_for_is_not_run(extended: MiniCourse) -> None:
    """Paths on the command line mean what they say."""
    extended.run("katas").assert_outcomes(passed=1)


def test_the_lecture_is_on_the_map(extended: MiniCourse, installed: Path) -> None:
    """After those of the course; when it is next, the command that runs it is that of its place."""
    extended.run("katas").assert_outcomes(passed=1)
    lines = extended.run("--course").outlines
    (command,) = [line.split()[1] for line in lines if line.startswith("  pytest ")]

    assert ["lecture01", "lecture90"] == [
        name for line in lines for name in line.split()[:2] if name.startswith("lecture")
    ]
    assert (extended.path / command).resolve().is_relative_to(installed)


def test_hook_episode_sources(extended: MiniCourse) -> None:
    """A failure in the lecture of the package names the episode that the package knows."""
    result = extended.run("--device=cpu", "-k", "test_double and not compiled")

    result.assert_outcomes(failed=1, deselected=6)
    result.stdout.fnmatch_lines(["*An episode of another podcast*", "*https://podcast.example/1*"])
