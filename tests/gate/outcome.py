"""Judges the result of a run: pure functions that return its problems, each with a remedy."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.gate.answers import Wrong
    from tests.gate.protocol import Result
    from tests.gate.protocol import Test


# The same as in plugins.course.solutions, for ``--unsolved``.
UNSOLVED = {"NotImplementedError", "AssertionError"}
# An edit that raises one of these is a typing error, not a misconception.
TYPOS = {"ImportError", "SyntaxError", "NameError"}


class Fate(Enum):
    """The verdict on a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    INVALID = "does not build"


def ended(result: Result) -> list[str]:
    """Return why a run did not complete, if it did not."""
    if result.collection:
        return [f"the test module could not be collected:\n{result.collection}"]
    if result.timed_out:
        return [f"{result.running or 'the session'} did not end in time: {result.seconds:.0f} s"]
    if result.crash:
        where = result.running or "the session"
        return [f"{where} crashed the process ({result.crash}):\n{result.output}"]
    if not result.tests:
        return [f"no test ran:\n{result.output}"]
    return []


def unsolved(result: Result) -> list[str]:
    """Check that every test fails in its call, with NotImplementedError or an assertion."""
    lines = [_given(test) if test.given else _unsolved(test) for test in result.tests]
    return ended(result) or [line for line in lines if line]


def _given(test: Test) -> str:
    if test.outcome != "failed":
        return ""
    return f"{test.name} is marked given, so it must pass before the kata is solved\n{test.message}"


def _unsolved(test: Test) -> str:
    if test.outcome == "passed":
        return (
            f"{test.name} passes before the kata is solved: make it call the learner's code, "
            f"match the message in pytest.raises (NotImplementedError is a RuntimeError), or "
            f"mark it given"
        )
    if test.outcome == "skipped":
        only = f"{test.name} is skipped: only a test with a device or a backend may skip"
        return "" if test.missing else only
    if test.phase != "call":
        return (
            f"{test.name} fails in its {test.phase}, expected in the test itself: move the call "
            f"of the learner's code out of the fixture\n{test.message}"
        )
    if not test.loaded:
        return f"{test.name} fails because the C++ source does not build\n{test.message}"
    if not UNSOLVED & set(test.errors):
        return (
            f"{test.name} fails with {_error(test)}, expected NotImplementedError or an "
            f"assertion: the stub must import and raise NotImplementedError\n{test.message}"
        )
    return ""


def solved(result: Result) -> list[str]:
    """Check that every test passes, or is skipped with a reason."""
    failed = [f"{test.name} fails with the solution:\n{test.message}" for test in result.failed]
    return ended(result) or failed


def rejected(result: Result, wrong: Wrong, names: tuple[str, ...]) -> list[str]:
    """Check that the first test to fail is the one that the wrong answer names."""
    if not any(named(name, wrong.rejected_by) for name in names):
        tests = ", ".join(dict.fromkeys(name.partition("[")[0] for name in names))
        return [f"rejected_by is {wrong.rejected_by!r}, expected a test of the kata: {tests}"]
    if result.collection:
        return [f"does not import, so no test can reject it: fix the edit\n{result.collection}"]
    if lines := ended(result):
        return [f"must fail with an assertion, but {line}" for line in lines]
    if not result.failed:
        target = f"strengthen {wrong.rejected_by} until it fails for this misconception"
        return [f"no test rejects it: {target}"]
    line = _rejects(result.failed[0], wrong.rejected_by)
    return [line] if line else []


def _rejects(first: Test, wanted: str) -> str:
    if first.phase != "call":
        return f"fails in the {first.phase} of {first.name}: fix the edit\n{first.message}"
    if not first.loaded:
        return f"does not compile or load, so no test can reject it: fix it\n{first.message}"
    if TYPOS & set(first.errors):
        return f"fails with {_error(first)}, a mistake in the edit: fix it\n{first.message}"
    if not named(first.name, wanted):
        return (
            f"{first.name} rejects it first, expected {wanted}: narrow the earlier test, move "
            f"the named one up, or name {first.name}\n{first.message}"
        )
    return ""


def fate(result: Result) -> Fate:
    """Return the fate of a mutant: crashes and time-outs kill, a failed build proves nothing."""
    if result.failed and not result.failed[0].compiled:
        return Fate.INVALID
    if result.failed or ended(result):
        return Fate.KILLED
    return Fate.SURVIVED


def named(name: str, wanted: str) -> bool:
    """Whether `wanted` names the test `name`, with its parameter or without."""
    return wanted in (name, name.partition("[")[0])


def _error(test: Test) -> str:
    return test.errors[0] if test.errors else test.outcome
