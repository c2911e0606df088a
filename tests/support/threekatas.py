"""A course of two lectures with three katas, the plugins of ``--next``, and answers to write."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plugins.course.files import content_of
from plugins.course.model import Kata
from plugins.progress.store import read_standing


if TYPE_CHECKING:
    import pytest

    from plugins.progress.standing import State
    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.course.limits",
    "plugins.crash.plugin",
    "plugins.course.solutions",
    "plugins.loop.hint",
    "plugins.guide.episodes",
    "plugins.guide.failures",
    "plugins.guide.summary",
    "plugins.machine.absent",
    "plugins.progress.plugin",
    "plugins.machine.backends",
    "plugins.loop.next",
)
KATAS = (
    ("lecture01", "k01_first"),
    ("lecture01", "k02_second"),
    ("lecture02", "k01_third"),
)
TEST = '''
from katas.{lecture}.{name} import answer

def test_small():
    """It doubles."""
    assert answer(1) == 2, "one doubled is two"

def test_large():
    """It doubles what is large."""
    print("about to call")
    assert answer(10) == 20, "ten doubled is twenty"
'''
STUB = '''"""Twice as much: the arithmetic of doubling.

More of the brief.
"""


def answer(n):
    # TODO: double it
    raise NotImplementedError("answer")
'''
RIGHT = "def answer(n): return 2 * n\n"
WRONG = "def answer(n):\n    return 2\n"

# A test that needs a backend which no machine has, and the plugin that says so.
CANNOT = """
import pytest

pytestmark = pytest.mark.backend("nothing")

def test(): pass
"""
NOTHING = """
from plugins.tools.capability import Capability

pytest_plugins = {plugins!r}

def pytest_kata_backends(config):
    return [Capability("nothing", lambda: "there is none; get one")]
"""


def write_three(course: MiniCourse) -> None:
    """Write the three katas."""
    for lecture, name in KATAS:
        test = TEST.format(lecture=lecture, name=name)
        course.kata(name, test, lecture=lecture, stub=STUB, solution=RIGHT)


def solve(course: MiniCourse, name: str, text: str = RIGHT) -> None:
    """Write the answer to a kata, a right one by default."""
    course.write(f"katas/{name}.py", text)


def read_state(course: MiniCourse, name: str) -> State:
    """Return the stored state of a kata with its current exercise."""
    lecture, _, kata_name = name.partition("/")
    folder = course.katas / lecture
    kata = Kata(lecture, kata_name, "", "lab", (), (), (), (), (), (), (), folder)
    return read_standing(course.path, kata).state(content_of(kata))


def read_heading(result: pytest.RunResult) -> str:
    """Return the one kata that the output shows; if there is not one, the headings it shows."""
    found = [line for line in result.outlines if re.fullmatch(r"lecture\d\d/k\S+: .*", line)]
    return found[0].partition(":")[0] if len(found) == 1 else str(found)
