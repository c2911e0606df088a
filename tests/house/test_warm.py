"""Runs of a small course that fork from a warm process are as good as new processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import pytest

from tests.support.warm import PYTEST
from tests.support.warm import TORCH


if TYPE_CHECKING:
    from tests.conftest import MiniCourse


# Writes what a run can know about its process, while pytest starts.
CONFTEST = """
import json
import os
import random
import signal
import sys
from pathlib import Path


def is_open(file):
    try:
        return bool(os.fstat(file))
    except OSError:
        return False


def about(stream):
    return stream.encoding, stream.errors, stream.line_buffering, stream.isatty()


FACTS = {
    "variables": dict(os.environ),
    "folder": os.getcwd(),
    "path": sys.path,
    "arguments": sys.argv,
    "command": sys.orig_argv,
    "main": str(sys.modules["__main__"].__spec__),
    "flags": str(sys.flags),
    "own modules": [name for name in sys.modules if name.startswith(("plugins", "katas", "tests"))],
    "signals": [str(signal.getsignal(number)) for number in sorted(signal.valid_signals())],
    "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "streams": [about(stream) for stream in (sys.stdin, sys.stdout, sys.stderr)],
    "input": sys.stdin.read(),
    "files": [number for number in range(99) if is_open(number)],
}
Path("facts.json").write_text(json.dumps(FACTS))
"""
RANDOM = """
import random

import numpy

def test_random():
    print("drawn:", random.random(), numpy.random.random())
"""
STATUS = """
import os
import signal
import sys

def test_end():
    print("to the end", file=sys.stderr)
    sys.stderr.flush()
    {}
"""
SLEEP = """
import subprocess
from pathlib import Path

def test_long():
    with subprocess.Popen(["sleep", "1000"]) as process:
        Path("started.txt").write_text(str(process.pid))
        Path("started.txt").rename("started")
"""
HASH = """
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies

settings.load_profile("default")  # where CI is set, hypothesis keeps no examples

def test_hash():
    print("hash:", hash("a word"))

@given(strategies.integers())
def test_fails(number):
    assert number is None
"""


def facts(course: MiniCourse, imported: tuple[str, ...]) -> dict[str, Any]:
    """Return what a run has written."""
    course.imported = imported
    result = course.run("-s")
    result.assert_outcomes(passed=1, warnings=0)
    text = (course.path / "facts.json").read_text()
    # The number of the run, and the address of an object.
    found: dict[str, Any] = json.loads(re.sub(r"runpytest-\d+|0x\w+", "", text))
    return found


@pytest.mark.parametrize(
    "imported", [PYTEST, pytest.param(TORCH, marks=pytest.mark.torch)], ids=["pytest", "torch"]
)
def test_a_fork_starts_as_a_new_process_does(course: MiniCourse, imported: tuple[str, ...]) -> None:
    """In the same folder, with the same variables, path, arguments, streams and signals."""
    course.write("conftest.py", CONFTEST)
    course.kata()

    assert facts(course, ()) == facts(course, imported)


@pytest.mark.torch
def test_each_fork_draws_other_numbers(course: MiniCourse) -> None:
    """As new processes do."""
    course.plugins()
    course.kata(test=RANDOM)
    course.imported = TORCH

    drawn = {line for _ in range(2) for line in course.run("-s").outlines if "drawn:" in line}

    assert 2 == len(drawn)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("assert 0", 1),
        ("os._exit(7)", 7),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_its_end_is_that_of_the_run(course: MiniCourse, end: str, status: int) -> None:
    """Its status, or the signal; what it writes to its two outputs stays apart."""
    course.plugins()
    course.kata(test=STATUS.format(end))
    course.imported = PYTEST

    result = course.run("-s")

    assert status == result.ret
    assert ["to the end"] == result.errlines
    assert "to the end" not in result.outlines


def test_a_run_that_is_late_ends_with_all_it_has_started(course: MiniCourse) -> None:
    """The next one is not disturbed."""
    course.plugins()
    course.kata(test=SLEEP)
    command = [sys.executable, "-mpytest"]
    with Path(os.devnull).open("w") as nothing:
        run = course.warm.popen(PYTEST, command, stdout=nothing, stderr=nothing)
    while not (course.path / "started").exists():
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(0.01)
    about = Path("/proc", (course.path / "started").read_text(), "stat")
    run.kill()

    assert -signal.SIGKILL == run.wait()
    while about.exists() and ") Z " not in about.read_text():
        pass
    course.kata(test="def test_short(): pass")
    course.imported = PYTEST
    course.run().assert_outcomes(passed=1)


@pytest.mark.torch
def test_another_torch_is_found(course: MiniCourse) -> None:
    """Where the path has one before the one that is imported already."""
    course.plugins()
    course.write("standin/torch.py", "answer = 42")
    course.path_first(course.path / "standin")
    course.kata(test="import torch\n\ndef test_it(): assert torch.answer == 42")
    course.imported = TORCH

    course.run().assert_outcomes(passed=1)


def test_what_is_read_when_python_starts_counts(course: MiniCourse) -> None:
    """A variable that the warm process had not; and hypothesis keeps its examples in the course."""
    course.plugins()
    course.kata(test=HASH)
    found = []
    for imported, seed in (((), "1"), (PYTEST, "1"), (PYTEST, "")):
        course.imported = imported
        course.monkeypatch.setenv("PYTHONHASHSEED", seed)
        if not seed:
            course.monkeypatch.delenv("PYTHONHASHSEED")
        result = course.run("-s")
        result.assert_outcomes(passed=1, failed=1)
        found += [line for line in result.outlines if "hash:" in line]

    assert found[0] == found[1] != found[2]
    assert (course.path / ".hypothesis/examples").is_dir()
