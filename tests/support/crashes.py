"""A course whose katas crash: the faults, the katas that have them, and the log of their tests."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from plugins import ROOT
from plugins.tools.processes import usable_memory


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


PLUGINS = (
    "plugins.course.session",
    "plugins.course.limits",
    "plugins.crash.plugin",
    "plugins.course.solutions",
    "plugins.guide.episodes",
    "plugins.guide.failures",
    "plugins.guide.summary",
)
EXERCISE = """
import ctypes, os, sys, time
native = ctypes.PyDLL(os.environ["FAULTS"])


class Endless:
    def __repr__(self):
        return repr(self)


def exercise():
    {body}
"""
TEST = """
from katas.lecture01.{name} import exercise


def note(word):
    with open("log", "a") as log:
        log.write(word + "\\n")


def test_before():
    note("before {name}")


def test_fault():
    note("fault {name}")
    exercise()


def test_after():
    note("after {name}")
"""
IMPORT = "from katas.lecture01.{name} import exercise\n\n\ndef test_it(): pass\n"


@dataclass(frozen=True)
class Fault:
    """A line of an exercise, and the message of its failure."""

    line: str
    says: str
    # Whether there is a Python line to point at.
    placed: bool = True


FAULTS = {
    "segfault": Fault("native.segfault()", "segmentation fault (SIGSEGV)"),
    "abort": Fault("native.abort_now()", "abort (SIGABRT)"),
    "division": Fault("native.divide(1, 0)", "floating-point exception (SIGFPE)"),
    "trap": Fault("native.fall_off()", "illegal instruction (SIGILL)"),
    "native_overflow": Fault(
        "native.recurse(ctypes.byref(ctypes.c_int()))", "segmentation fault (SIGSEGV)"
    ),
    "python_overflow": Fault(
        "sys.setrecursionlimit(10**8); repr(Endless())", "stack overflow (SIGSEGV)", placed=False
    ),
    "terminate": Fault("native.join_nothing()", "std::terminate without an exception (SIGABRT)"),
    "uncaught": Fault(
        "native.uncaught()", "uncaught C++ exception std::runtime_error: thrown to Python"
    ),
    "free_twice": Fault(
        "native.free_twice()", "abort (SIGABRT): free(): double free detected in tcache 2"
    ),
    "os_exit": Fault("os._exit(0)", "Python ended with status 0"),
    "native_exit": Fault("native.leave()", "Python ended with status 0", placed=False),
    "python_loop": Fault("while True: pass", "still running after 0.5 s"),
    "native_loop": Fault("native.spin()", "still running after 0.5 s"),
    "memory": Fault(
        "while True: sys.x = getattr(sys, 'x', []) + [bytearray(2**22)]", "of memory taken"
    ),
}
# The seconds that these get: filling the memory takes long on a busy machine, a loop never ends.
SECONDS = {"memory": 90, "python_loop": 0.5, "native_loop": 0.5}
IMPORTS = {
    "segfault": Fault("native.segfault()", "segmentation fault (SIGSEGV)"),
    "os_exit": Fault("os._exit(3)", "Python ended with status 3"),
    "sys_exit": Fault("sys.exit(0)", "sys.exit(0) was called"),
    "loop": Fault("while True: pass", "still running after 1 s"),
}
# No mark can give an import its time.
SOON = ("-o", "kata_timeout=1")


def build_faults(folder: Path) -> Path:
    """Build the library of native faults."""
    library = folder / "faults.so"
    source = ROOT / "tests/crash/faults.cpp"
    options = ["-shared", "-fPIC", "-O0", "-w", "-pthread", "-o", str(library)]
    subprocess.run(["g++", str(source), *options], check=True)
    return library


def set_limits(course: MiniCourse, faults: Path) -> None:
    """Load the crash guard into a course, with limits of two seconds and some 400 MiB."""
    course.plugins(*PLUGINS)
    share = -(-400 * 100 * 2**20 // usable_memory())
    limits = f'[tool.pytest]\nkata_timeout = 2.0\nkata_memory = "{share}%"'
    lines = (course.path / "pyproject.toml").read_text()
    course.write("pyproject.toml", lines.replace("[tool.pytest]", limits))
    course.monkeypatch.setenv("FAULTS", str(faults))


def add_fault(kata: MiniCourse, number: int, fault: str, line: str) -> str:
    """Add a kata whose second test calls an exercise of this line, and return its name."""
    name = f"k{number:02}_{fault}"
    test = TEST.format(name=name)
    if seconds := SECONDS.get(fault):
        mark = f"@pytest.mark.time_limit({seconds})"
        test = test.replace("def test_fault", f"{mark}\ndef test_fault")
    kata.kata(name, test=f"import pytest\n{test}", stub=EXERCISE.format(body=line))
    return name


def add_import(kata: MiniCourse, number: int, fault: str, line: str) -> str:
    """Add a kata whose exercise runs this line when it is imported."""
    name = f"k{number:02}_{fault}"
    stub = EXERCISE.format(body="pass") + f"\n{line}\n"
    kata.kata(name, test=IMPORT.format(name=name), stub=stub)
    return name


def read_log(kata: MiniCourse) -> list[str]:
    """Return the log of the tests that have run."""
    return (kata.path / "log").read_text().splitlines()


def expect_log(*names: str) -> list[str]:
    """Return the log of a run in which each test of these katas runs once."""
    return [f"{word} {name}" for name in names for word in ("before", "fault", "after")]


def read_cases(kata: MiniCourse) -> dict[str, list[str]]:
    """Return the tags in the JUnit XML for each test."""
    suite = ET.parse(kata.path / "report.xml").getroot()[0]  # noqa: S314 - our own file
    found = {
        f"{case.get('classname')}.{case.get('name')}".lstrip("."): [part.tag for part in case]
        for case in suite.iter("testcase")
    }
    assert int(suite.attrib["tests"]) == len(found) == len(list(suite.iter("testcase")))
    return found
