"""The gate's verdicts on runs that no Python kata has: builds, crashes, missing devices."""

from __future__ import annotations

import pytest

from tests.gate.answers import Wrong
from tests.gate.outcome import Fate
from tests.gate.outcome import fate
from tests.gate.outcome import rejected
from tests.gate.outcome import solved
from tests.gate.outcome import unsolved
from tests.gate.protocol import Result
from tests.gate.protocol import Test


UNBUILT = Test("test_a", "call", "failed", ("Failed",), "no ;", compiled=False, loaded=False)
UNLOADED = Test("test_a", "call", "failed", ("Failed",), "bad schema", loaded=False)
FAILED = Test("test_a", "call", "failed", ("AssertionError", "Exception"), "1 is not 2")
SKIPPED = Test("test_a[cuda]", "setup", "skipped", (), "no GPU", missing=True)
PASSED = Test("test_a", "call", "passed")
WRONG = Wrong("because", "test_a", "csrc/k01.cpp")


def run(*tests: Test) -> Result:
    """Return a run that completed."""
    return Result(tests=tests, finished=True)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (run(PASSED), Fate.SURVIVED),
        (run(SKIPPED), Fate.SURVIVED),
        (run(FAILED), Fate.KILLED),
        (run(UNLOADED), Fate.KILLED),
        (run(UNBUILT), Fate.INVALID),
        (Result(collection="SyntaxError"), Fate.KILLED),
        (Result(tests=(PASSED,), running="test_b", crash="SIGSEGV"), Fate.KILLED),
        (Result(tests=(PASSED,), running="test_b", timed_out=True), Fate.KILLED),
    ],
)
def test_the_fate_of_a_mutant(result: Result, expected: Fate) -> None:
    """Anything that a learner would notice kills; a mutant that does not compile is invalid."""
    assert fate(result) is expected


@pytest.mark.parametrize("test", [UNBUILT, UNLOADED])
def test_a_stub_in_cxx_must_build(test: Test) -> None:
    """A stub that does not compile or load is broken, though its tests are red."""
    (problem,) = unsolved(run(test))

    assert problem.startswith("test_a fails because the C++ source does not build")


@pytest.mark.parametrize("test", [UNBUILT, UNLOADED])
def test_a_wrong_answer_in_cxx_must_build(test: Test) -> None:
    """A wrong answer that does not compile or load is rejected by the compiler, by no test."""
    (problem,) = rejected(run(test), WRONG, ("test_a",))

    assert problem.startswith("does not compile or load, so no test can reject it")


def test_a_missing_device_is_no_problem() -> None:
    """A test that is skipped for lack of a device is neither red nor green."""
    assert unsolved(run(FAILED, SKIPPED)) == []
    assert solved(run(PASSED, SKIPPED)) == []


def test_a_parameter_may_be_named() -> None:
    """rejected_by names a test, or one of its parameters, which another one does not match."""
    failed = Test("test_a[cpu]", "call", "failed", ("AssertionError",))
    names = ("test_a[cpu]", "test_a[cuda]")

    assert rejected(run(failed), WRONG, names) == []
    assert rejected(run(failed), Wrong("b", "test_a[cpu]", "f"), names) == []
    (problem,) = rejected(run(failed), Wrong("b", "test_a[cuda]", "f"), names)
    assert problem.startswith("test_a[cpu] rejects it first, expected test_a[cuda]")


def test_a_run_without_tests_is_a_problem() -> None:
    """A module in which nothing ran is neither red nor green, whatever its status."""
    assert unsolved(run())[0].startswith("no test ran")
    assert solved(run())[0].startswith("no test ran")
