"""What PyTorch's own modules warn of does not reach the learner, whatever filter is set."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from plugins import ROOT
from plugins.machine.deprecations import MESSAGES


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


IMPORTS = """
import warnings

THEIRS = "`torch.jit.script_method` is deprecated. Please switch"
warnings.warn_explicit(THEIRS, DeprecationWarning, "theirs.py", 1)

def test_theirs():
    warnings.warn(THEIRS, DeprecationWarning)
    warnings.warn("You are using a Backend <class 'torch.distributed.x'> as a ProcessGroup")

def test_mine():
    warnings.warn("mine", DeprecationWarning)
"""


@pytest.mark.parametrize("option", ["-Werror", "-Wdefault", "-Werror::DeprecationWarning"])
@pytest.mark.parametrize("workers", ["-n0", "-n1"])
def test_torch_does_not_warn_and_the_learner_does(
    course: MiniCourse, option: str, workers: str
) -> None:
    """A module that is imported, and a test; in workers too."""
    course.plugins("plugins.course.session", "plugins.machine.deprecations")
    course.kata(test=IMPORTS)

    result = course.run("katas/lecture01", option, workers)

    failed = int(option != "-Wdefault")
    result.assert_outcomes(passed=2 - failed, failed=failed, warnings=1 - failed)
    assert "script_method" not in result.stdout.str()


def test_what_the_settings_leave_out_is_among_them() -> None:
    """They count where our plugins are not there, and less than the command line."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    ours = {f"ignore:{text}:{kind.__name__}" for text, kind in MESSAGES.items()}

    assert ours >= {*settings["tool"]["pytest"]["filterwarnings"]}
