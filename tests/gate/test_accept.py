"""``nox -s accept`` accepts all outputs of a file at once, and leaves no copies behind."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


# More outputs in one file, and longer ones, than expecttest gets right in a single round.
SNAPSHOTS = "\n".join(
    f'def test_{name}():\n    assert_expected_inline(answer("{name}"), """old""")\n'
    for name in ("one", "two", "three", "four")
)
HEAD = (
    "from expecttest import assert_expected_inline\nfrom katas.lecture01.k01_first import answer\n"
)


@pytest.fixture
def kata(course: MiniCourse) -> MiniCourse:
    """A kata with four outputs of three lines each."""
    course.plugins("plugins.course.session", "plugins.course.solutions")
    course.kata(
        test=f"{HEAD}\n{SNAPSHOTS}",
        solution="def answer(name):\n    return f'{name}\\nand\\n{name}'\n",
    )
    return course


def accept(kata: MiniCourse) -> subprocess.CompletedProcess[str]:
    """Run the command in the course."""
    command = [sys.executable, "-m", "tests.gate.accept", "katas/lecture01"]
    return subprocess.run(command, cwd=kata.path, capture_output=True, text=True, check=False)


def test_all_outputs_are_accepted(kata: MiniCourse) -> None:
    """Afterwards the solutions pass with the file unchanged, and no copy of it is left."""
    done = accept(kata)
    text = (kata.katas / "lecture01/test_k01_first.py").read_text()

    assert 0 == done.returncode
    assert 'answer("four"), """\\\nfour\nand\nfour""")' in text
    assert "old" not in text
    assert [] == list(kata.path.rglob("*.bak"))


def test_solutions_that_fail_otherwise_are_told(kata: MiniCourse) -> None:
    """It gives up after some rounds."""
    kata.write("katas/lecture01/solutions/k01_first.py", "def answer(name): return str(object())\n")

    done = accept(kata)

    assert 1 == done.returncode
    assert "the solutions still fail" in done.stderr
