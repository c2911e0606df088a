"""A third-party package adds devices, a backend, a lecture and episodes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse

    Results = dict[str, pytest.RunResult]


# The first test installs the package, which takes more than each of them.
pytestmark = [pytest.mark.torch, pytest.mark.slow]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the package with pip into a folder of its own, and return the folder."""
    folder = tmp_path_factory.mktemp("plugin_example")
    # Copied, because building leaves files beside the source.
    shutil.copytree(ROOT / "tests" / "support" / "plugin_example", folder / "source")
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
    # And not torch: the package is what it loads when it is imported.
    course.imported = PYTEST
    return course


@pytest.fixture(scope="module")
def results() -> Results:
    """Return what runs of the whole course have given: each is asked about more than one hook."""
    return {}


@pytest.fixture
def solved(extended: MiniCourse, results: Results) -> pytest.RunResult:
    """Return a run of all solutions, of which two pass on a device of PyTorch or the package."""
    if "solved" not in results:
        results["solved"] = extended.run("--solutions", "-v")
    results["solved"].assert_outcomes(passed=3, skipped=4)
    return results["solved"]


@pytest.fixture
def unsolved(extended: MiniCourse, results: Results) -> pytest.RunResult:
    """Return a run on the CPU before anything is solved."""
    if "unsolved" not in results:
        results["unsolved"] = extended.run("-v", "--device=cpu")
    results["unsolved"].assert_outcomes(passed=1, failed=1, skipped=1, deselected=4)
    return results["unsolved"]


def test_hook_devices(solved: pytest.RunResult) -> None:
    """A test runs on a real PrivateUse1 device that a package adds to PyTorch and the course.

    The one that is missing is skipped with the reason of its own probe.
    """
    solved.stdout.re_match_lines_random([r".*::test_double\[(cpu|toy)\] PASSED.*"] * 2)
    solved.stdout.fnmatch_lines(["xpu (1 test): no Intel GPU;", "  see https://*"])


def test_a_device_of_a_package_can_be_chosen(extended: MiniCourse) -> None:
    """``--device`` and ``-m`` know it; nothing else is selected."""
    result = extended.run("--solutions", "-v", "--device=toy", "-m", "toy")

    result.assert_outcomes(passed=1, deselected=6)
    result.stdout.fnmatch_lines(["*::test_double[[]toy[]] PASSED*"])


def test_a_device_of_a_package_can_be_switched_off(extended: MiniCourse) -> None:
    """Its test is skipped, and the reason says how to get the device back."""
    extended.monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

    result = extended.run("--solutions", "-m", "toy")

    result.assert_outcomes(skipped=1, deselected=6)
    result.stdout.fnmatch_lines(["toy (1 test): *unset TORCH_DEVICE_BACKEND_AUTOLOAD"])


def test_hook_device_poisoned(extended: MiniCourse) -> None:
    """A fault that breaks the device of the package is one failed test; a fresh process goes on."""
    test = """
        import os
        import torch

        def test_stray(device):
            if device == "toy":
                torch.toy.fault = f"a stray store in process {os.getpid()}"

        def test_right(device):
            assert torch.empty(2, device=device).device.type == device
    """
    extended.kata("k02_stray", test)

    result = extended.run("katas/lecture01/test_k02_stray.py", "--device=cpu,toy", "-v")

    result.assert_outcomes(failed=1, passed=3, deselected=result.parseoutcomes()["deselected"])
    result.stdout.fnmatch_lines(
        [
            "*::test_stray[[]toy[]] FAILED*",
            "*::test_right[[]toy[]] PASSED*",
            "toy can no longer be used in this process: a stray store in process *",
        ]
    )


def test_hook_backends(solved: pytest.RunResult) -> None:
    """A backend of a package is known, and where it is missing its tests are skipped."""
    solved.stdout.fnmatch_lines(["*::test_double_compiled SKIPPED*"])
    solved.stdout.fnmatch_lines(["tvm (1 test): TVM is not installed; *"])


def test_hook_lectures(unsolved: pytest.RunResult) -> None:
    """The lecture counts as one of the course: a bare ``pytest`` runs it, after the others."""
    unsolved.stdout.fnmatch_lines(
        [
            "*::test_of_the_course PASSED*",
            "*::test_double[[]cpu[]] FAILED*",
            "*NotImplementedError: double",
        ]
    )


def test_a_lecture_that_was_not_asked_for_is_not_run(extended: MiniCourse) -> None:
    """Paths on the command line select only the tests below them, and the map has all lectures.

    It comes after those of the course; when it is next, the command runs it by its name.
    """
    extended.run("katas").assert_outcomes(passed=1)
    *lines, last = extended.run("--course").outlines

    assert ["lecture01", "lecture90"] == [
        name for line in lines for name in line.split()[:2] if name.startswith("lecture")
    ]
    assert "  pytest lecture90/k01_double -x" == last


def test_another_project_of_the_environment_goes_on(extended: MiniCourse, tmp_path: Path) -> None:
    """Pytest loads the plugin there too, and nobody has declared its hooks."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "test_other.py").write_text("def test_other(): pass\n")
    extended.monkeypatch.chdir(folder)

    result = extended.run()

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"rootdir: {folder}", "plugins: katas-example-0.1.0, *"])


def test_hook_episode_sources(unsolved: pytest.RunResult) -> None:
    """A failure in the lecture of the package names the episode that the package knows."""
    unsolved.stdout.fnmatch_lines(["*An episode of another podcast*"])
    unsolved.stdout.fnmatch_lines(["*https://podcast.example/1*"])
