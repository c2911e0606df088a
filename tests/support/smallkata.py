"""A course of one good kata, which a test can spoil."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.gate.cases import read_gate
from tests.gate.checks import Checks


if TYPE_CHECKING:
    from plugins.course.model import Kata
    from tests.conftest import MiniCourse
    from tests.gate.cases import Gate
    from tests.gate.runner import Runner


BRIEF = '''"""Move a number into a range.

``clamp(x, low, high)`` returns the number of the range from `low` to `high`, both ends
included, that is nearest to `x`. The three are ints and `low` is not above `high`; if it is,
raise ``ValueError``. About five lines. In PyTorch: ``c10/core/DispatchKeySet.h``.
"""
'''
HEAD = '''
def clamp(x: int, low: int, high: int) -> int:
    """Return the number of the range that is nearest to `x`."""
'''
STUB = f"{BRIEF}\n{HEAD}    # TODO: compare with both ends.\n    raise NotImplementedError\n"
SOLUTION = f"""{BRIEF}
{HEAD}    if low > high:
        raise ValueError("low must not be above high")
    if x <= low:
        return low
    return high if x >= high else x
"""
TEST = '''"""Clamp."""

import pytest

from katas.lecture01.k01_clamp import clamp


def test_inside_nothing_changes():
    """A number in the range stays."""
    assert clamp(2, 1, 3) == 2


def test_below_comes_the_low_end():
    """A number below the range becomes its low end."""
    assert clamp(0, 1, 3) == 1


def test_above_comes_the_high_end():
    """A number above the range becomes its high end."""
    assert clamp(9, 1, 3) == 3


def test_no_range():
    """A range of one number is a range, one that ends before it begins is none."""
    assert clamp(5, 1, 1) == 1
    with pytest.raises(ValueError, match="low"):
        clamp(1, 2, 1)
'''
WRONG = """
[[wrong]]
because = "the low end is forgotten"
rejected_by = "test_below_comes_the_low_end"
file = "k01_clamp.py"
replace = "return low"
by = "return x"

[[wrong]]
because = "the high end is forgotten"
rejected_by = "test_above_comes_the_high_end"
file = "k01_clamp.py"
replace = "high if x >= high else x"
by = "x"

[[wrong]]
because = "shortcut: sorts"
shortcut = true
rejected_by = "test_no_range"
file = "k01_clamp.py"
function = "clamp"
body = '''
return sorted((low, x, high))[1]
'''
"""
EQUAL = """
[[equivalent]]
file = "k01_clamp.py"
function = "clamp"
operator = "comparison"
diff = '''
-    if x <= low:
+    if (x < low):
'''
reason = "x is low where they differ"

[[equivalent]]
file = "k01_clamp.py"
function = "clamp"
operator = "comparison"
diff = '''
-    return high if x >= high else x
+    return high if (x > high) else x
'''
reason = "x is high where they differ"
"""


class Small:
    """A course of one good kata, which a test can spoil."""

    def __init__(self, course: MiniCourse, runner: Runner) -> None:
        self.course, self.runner = course, runner
        course.plugins("plugins.course.session", "plugins.course.solutions", "plugins.course.seeds")
        slugs = '[[episode]]\nslug = "strides"\n'
        course.write("episodes.toml", slugs)
        course.kata("k01_clamp", TEST, stub=STUB, solution=SOLUTION)
        self.answers(WRONG + EQUAL)

    def answers(self, text: str) -> None:
        """Replace the file of wrong answers."""
        self.course.write("katas/lecture01/.meta/k01_clamp/wrong.toml", text)

    def edit(self, name: str, old: str, new: str) -> None:
        """Change one place of one file of the lecture."""
        file = self.course.katas / "lecture01" / name
        before = file.read_text()
        assert before.count(old) == 1, f"{old!r} in {file}"
        file.write_text(before.replace(old, new))

    @property
    def gate(self) -> Gate:
        """The current course."""
        return read_gate(self.course.path)

    @property
    def kata(self) -> Kata:
        """The current kata."""
        return self.gate.katas[0]

    @property
    def checks(self) -> Checks:
        """The checks of the current course."""
        return Checks(self.gate, self.runner, slack=3)
