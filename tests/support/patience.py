"""Courses whose ranks have as much time as a busy machine needs."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


# The plugins that `world` needs.
PLUGINS = (
    "plugins.course.session",
    "plugins.course.limits",
    "plugins.crash.plugin",
    "plugins.course.solutions",
    "plugins.course.seeds",
    "plugins.ranks.job",
    "plugins.ranks.world",
)
# When one rank fails, the others may need this long to finish on a busy machine.
PATIENT = """

def pytest_configure():
    from plugins.ranks import server as rankserver

    rankserver.PATIENCE = 3.0
"""


def be_patient(course: MiniCourse) -> None:
    """Load the plugins into a course, without a time limit."""
    course.write("conftest.py", f"pytest_plugins = {PLUGINS!r}\n{PATIENT}")
    lines = (course.path / "pyproject.toml").read_text()
    course.write(
        "pyproject.toml", lines.replace("[tool.pytest]", "[tool.pytest]\nkata_timeout = 0.0")
    )
