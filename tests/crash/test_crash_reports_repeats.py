"""A kata that hangs, or crashes twice, on a device: its other tests there fail at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from plugins.crash.crash_reports import Crash
from plugins.crash.crash_reports import Repeats
from plugins.crash.journal import Run
from tests.support.fakedevice import add_device
from tests.support.warm import PYTEST


if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import MiniCourse


# Each test says that it runs; those of the stuck device sleep, or read address 0 in C++.
TEST = """
import ctypes, os, time
import pytest

native = ctypes.PyDLL(os.environ["FAULTS"])

@pytest.fixture(scope="module")
def memory():
    yield
    note("freed")

def note(word):
    with open("log", "a") as log:
        log.write(word + "\\n")

def work(word, device):
    note(f"{{word}} {{device}}")
    if device == "fake":
        {line}

def test_first(device, memory): work("first", device)
def test_second(device, memory): work("second", device)
def test_third(device, memory): work("third", device)
def test_none(memory): work("none", "no device")
def test_hidden(memory): work("hidden", "fake")
"""
HANGS = "time.sleep(99)"
CRASHES = "native.segfault()"
LIMIT = ("-o", "kata_timeout=1")
NODE = "katas/lecture01/test_k01_first.py::test_"


@pytest.fixture
def kata(course: MiniCourse, faults: Path) -> MiniCourse:
    """A course with the fake device and the library of native faults."""
    course.imported = PYTEST
    course.monkeypatch.setenv("FAULTS", str(faults))
    add_device(course)
    return course


def read_log(kata: MiniCourse) -> list[str]:
    """Return what has run."""
    return (kata.path / "log").read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["alone", "workers"])
def test_one_that_does_not_end_is_enough(kata: MiniCourse, arguments: tuple[str, ...]) -> None:
    """The others of this kata on this device fail at once, and name it; all else runs."""
    kata.kata("k01_first", TEST.format(line=HANGS))
    kata.kata("k02_second", TEST.format(line="pass"))

    result = kata.run("--all-failures", *LIMIT, *arguments)

    result.assert_outcomes(failed=4, passed=12)
    assert 2 == result.stdout.str().count("\nstill running after 1 s at katas/lecture01/")
    result.stdout.fnmatch_lines_random(
        [
            "did not end on fake: test_first[[]fake[]] was still running after 1 s",
            f"FAILED {NODE}second[[]fake[]] - Crashed: did *",
            f"FAILED {NODE}third[[]fake[]] - Crashed: did *",
        ]
    )
    log = read_log(kata)
    assert ["first fake"] == [line for line in log if line.endswith("fake")][:1]
    # Of the first kata the two that hang; of the second all.
    assert 2 + 4 == sum(line.endswith("fake") for line in log)


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["alone", "workers"])
def test_two_crashes_are_enough(kata: MiniCourse, arguments: tuple[str, ...]) -> None:
    """With the same cause: the others of this kata on this device fail at once."""
    kata.kata("k01_first", TEST.format(line=CRASHES))

    result = kata.run("--all-failures", *arguments)

    result.assert_outcomes(failed=4, passed=4)
    assert 3 == result.stdout.str().count("\nsegmentation fault (SIGSEGV) at katas/lecture01/")
    result.stdout.fnmatch_lines(
        [
            (
                "segmentation fault (SIGSEGV) on fake: it ended test_first[[]fake[]] and "
                "test_second[[]fake[]]"
            ),
            "This test of the same kata did not run, *",
        ]
    )
    assert "third fake" not in read_log(kata)
    assert "hidden fake" in read_log(kata)


def test_what_did_not_run_is_repeated_after_a_crash(kata: MiniCourse) -> None:
    """The terminal shows it once, and fixtures of the module are torn down with its last test."""
    last = '@pytest.mark.fake\ndef test_last(): work("last", "fake")\n'
    for name, line in (("k01_first", CRASHES), ("k02_second", "os.abort()")):
        kata.kata(name, TEST.format(line=line).partition("def test_none")[0] + last)

    result = kata.run("-v")

    result.assert_outcomes(failed=8, passed=6)
    shown = [line.split()[0] for line in result.outlines if "%]" in line]
    assert 14 == len(shown) == len({*shown})
    assert [f"{NODE}third[other]", f"{NODE}last"] == shown[5:7]
    log = read_log(kata)
    assert 2 == log.count("freed")
    assert "last fake" not in log


def test_junit_has_what_did_not_run(kata: MiniCourse) -> None:
    """As one failed test each."""
    kata.kata("k01_first", TEST.format(line=CRASHES))

    kata.run("--junit-xml=report.xml")

    text = (kata.path / "report.xml").read_text()
    assert 8 == text.count("<testcase ")
    assert 4 == text.count("<failure ")


def crash(cause: str, *, endless: bool = False, interrupt: bool = False) -> Crash:
    """Return a crash with a cause and no more."""
    return Crash("", cause=cause, endless=endless, interrupt=interrupt)


def test_a_cause_is_counted_for_each_kata_and_device() -> None:
    """Two of one place and one cause are enough, and what comes later adds nothing."""
    repeats = Repeats()
    run = Run("a.py::test_a", "k on cuda")

    assert repeats.add(run, crash("abort")) is None
    assert repeats.add(Run("a.py::test_a", "k on cpu"), crash("abort")) is None
    assert repeats.add(Run("b.py::test_a", "l on cuda"), crash("abort")) is None
    assert repeats.add(run, crash("segmentation fault")) is None
    assert {} == repeats.crashes

    known = repeats.add(Run("a.py::test_b[x::y]", "k on cuda"), crash("abort"))

    assert known is not None
    assert known.text.startswith("abort on cuda: it ended test_a and test_b[x::y]\nThis test ")
    assert {"k on cuda": known} == repeats.crashes
    assert repeats.add(run, crash("still running", endless=True)) is None
    assert {"k on cuda": known} == repeats.crashes


def test_what_is_counted_not_at_all() -> None:
    """A test that takes no device, and one that the user has interrupted."""
    repeats = Repeats()

    assert repeats.add(Run("a.py::test_a"), crash("still running", endless=True)) is None
    assert repeats.add(Run("a.py::test_a", "k on cuda"), crash("Ctrl-C", interrupt=True)) is None
    assert repeats.add(Run("a.py::test_a", "k on cuda"), crash("Ctrl-C", interrupt=True)) is None
    assert {} == repeats.crashes
