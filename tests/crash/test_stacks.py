"""faulthandler's stacks, cut to the learner's calls."""

from __future__ import annotations

import traceback
from pathlib import Path

from plugins.crash.stacks import MOST
from plugins.crash.stacks import Frame
from plugins.crash.stacks import Stack
from plugins.crash.stacks import read_stack
from plugins.crash.stacks import read_traceback


ROOT = Path("/home/josé/course")
# The root as faulthandler writes it.
WRITTEN = r"/home/jos\xe9/course"
TEST = Frame("katas/lecture01/test_k01_first.py", 5, "test_it")
POKE = Frame("katas/lecture01/k01_first.py", 3, "poke")
RUNNER = """
  File "/venv/site-packages/_pytest/python.py", line 159 in pytest_pyfunc_call
  File "/venv/site-packages/pluggy/_callers.py", line 121 in _multicall
  File "/home/jos\\xe9/course/conftest.py", line 1 in <module>
"""
CALLS = f"""
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "{WRITTEN}/katas/lecture01/k01_first.py", line 3 in poke
  File "{WRITTEN}/.venv/lib/site-packages/torch/nn.py", line 9 in forward
  File "{WRITTEN}/katas/lecture01/test_k01_first.py", line 5 in test_it
"""
CURRENT = "Current thread 0x00007f (most recent call first):"
OTHER = "Thread 0x00008f [name] (most recent call first):"


def test_the_calls_between_the_test_and_the_crash_are_kept() -> None:
    """The outermost first, without libraries and without pytest."""
    text = f"Fatal Python error: Aborted\n\n{CURRENT}{CALLS}{RUNNER}"

    assert Stack((TEST, POKE)) == read_stack(text, ROOT)


def test_the_stack_that_os_exit_asks_for_is_read() -> None:
    """It has a heading of its own."""
    assert Stack((TEST, POKE)) == read_stack(f"Stack (most recent call first):{CALLS}", ROOT)


def test_the_thread_that_died_counts() -> None:
    """In any position; if it ran none of the learner's code, another thread counts."""
    ours = f'\n  File "{WRITTEN}/katas/lecture01/k01_first.py", line 3 in poke\n'

    assert (POKE,) == read_stack(f"{OTHER}{CALLS}{CURRENT}{ours}{OTHER}{CALLS}", ROOT).frames
    assert (TEST, POKE) == read_stack(f"{CURRENT}{RUNNER}{OTHER}{CALLS}", ROOT).frames


def test_the_last_stack_counts() -> None:
    """A process that the test forked may have written one before."""
    ours = f'\n  File "{WRITTEN}/katas/lecture01/k01_first.py", line 3 in poke\n'

    assert (POKE,) == read_stack(f"{CURRENT}{CALLS}{CURRENT}{ours}", ROOT).frames


def test_no_stack_is_no_stack() -> None:
    """A killed process writes none; a line before the first heading is no call."""
    assert Stack() == read_stack("", ROOT)
    assert Stack() == read_stack(CALLS, ROOT)
    assert Stack() == read_stack(f"{CURRENT}{RUNNER}", ROOT)


def test_a_stack_that_is_not_written_to_its_end_is_endless() -> None:
    """Only a hundred calls are written, which do not reach the caller of the test."""
    call = f'\n  File "{WRITTEN}/katas/lecture01/k01_first.py", line 3 in poke'

    assert not read_stack(CURRENT + call * (MOST - 1), ROOT).endless
    assert read_stack(CURRENT + call * MOST, ROOT).endless
    assert not read_stack(CURRENT + RUNNER + call * MOST, ROOT).endless


def test_a_stack_is_shown_as_pytest_shows_calls(tmp_path: Path) -> None:
    """Each call once, with its line where there is one."""
    (tmp_path / "k01.py").write_text("def f():\n    return f()\n")
    deep = Frame("k01.py", 2, "f")

    assert ["k01.py:2: in f", "    return f()"] == list(Stack((deep,)).lines(tmp_path))
    assert [
        "k01.py:99: in f",
        "k01.py:2: in f",
        "    return f()",
        "    (and the same calls again, at least 2 more)",
    ] == list(Stack((Frame("k01.py", 99, "f"), deep, deep, deep)).lines(tmp_path))


def test_a_traceback_is_cut_too() -> None:
    """An exception's traceback runs from the outermost call to the innermost."""
    entries = traceback.StackSummary.from_list(
        [
            ("/venv/pluggy/_callers.py", 121, "_multicall", None),
            ("/home/josé/course/katas/lecture01/test_k01_first.py", 5, "test_it", None),
            ("<frozen importlib._bootstrap>", 1, "_load", None),
            ("/home/josé/course/katas/lecture01/k01_first.py", 3, "poke", None),
        ]
    )

    assert Stack((TEST, POKE)) == read_traceback(entries, ROOT)
