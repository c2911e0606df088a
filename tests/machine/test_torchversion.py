"""Katas that need some versions of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.course.model import TorchNeed
from plugins.machine.torchversion import explain_mismatch
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


NEED = 'torch = ">=2.13"\ntorch_because = "gather_all is new there"\n'
TESTS = """
import pytest


@pytest.fixture
def costly(): raise RuntimeError("no fixture of a skipped test is set up")


def test_it(costly): raise NotImplementedError


@pytest.mark.given
def test_example(costly): pass
"""


@pytest.fixture
def course(course: MiniCourse) -> MiniCourse:
    """Return a course with a kata for every torch, and one for torch 2.13 or newer."""
    course.kata("k01_first", test="def test_anywhere(): raise NotImplementedError")
    course.kata("k02_second", test=TESTS)
    table = course.katas / "lecture01/lecture.toml"
    table.write_text(table.read_text() + NEED)
    course.imported = PYTEST
    course.plugins(
        "plugins.course.session",
        "plugins.course.solutions",
        "plugins.machine.absent",
        "plugins.machine.torchversion",
    )
    return course


def installed(course: MiniCourse, version: str) -> None:
    """Let the course find this version of torch."""
    about = f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n"
    course.write(f"installed/torch-{version}.dist-info/METADATA", about)
    course.path_first(course.path / "installed")


@pytest.mark.parametrize(
    ("versions", "version", "will_do"),
    [
        (">=2.13", "2.13.0", True),
        (">=2.13", "2.13.0+cpu", True),
        (">=2.13", "2.12.1+cu130", False),
        (">=2.13", "2.16.0.dev20261101+cpu", True),
        (">=2.12,<2.14", "2.14.1", False),
    ],
)
def test_a_version_will_do_or_not(versions: str, version: str, will_do: bool) -> None:  # noqa: FBT001
    """By pip's rules, whatever the build; a nightly build counts as the release to come."""
    reason = explain_mismatch(TorchNeed(versions, "it is new"), version)

    assert will_do == (reason is None)


def test_another_version_is_a_reported_skip(course: MiniCourse) -> None:
    """The summary has the versions needed, the one installed, the reason and the remedy."""
    installed(course, "2.11.0")

    result = course.run("--unsolved")

    result.assert_outcomes(skipped=2, xfailed=1)
    result.stdout.fnmatch_lines(
        [
            "torch (2 tests): this needs torch>=2.13, but 2.11.0 is installed: gather_all is",
            "  new there;",
            "  python -m pip install 'torch>=2.13'",
        ],
        consecutive=True,
    )


def test_the_versions_that_it_is_for_run_it(course: MiniCourse) -> None:
    """Nothing is skipped, and the fixtures are set up."""
    installed(course, "2.13.0+cpu")

    result = course.run()

    result.assert_outcomes(failed=1, errors=2)
    result.stdout.no_fnmatch_line("*not run here*")
