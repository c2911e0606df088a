"""Judges what came back from a run: pure functions from a result to lines that say what to do."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from tests.gate.answers import Wrong
    from tests.gate.protocol import Result
    from tests.gate.protocol import Test


# As plugins.solutions has it for ``--unsolved``.
UNSOLVED = {"NotImplementedError", "AssertionError"}
# An edit that ends so was mistyped: it is no misconception.
TYPOS = {"ImportError", "SyntaxError", "NameError"}


class Fate(Enum):
    """What became of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    INVALID = "does not build"


def ended(result: Result) -> list[str]:
    """Say why a run that should have come to its end did not."""
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
    """Every test must fail in its own call by NotImplementedError or an assertion."""
    lines = [_given(test) if test.given else _unsolved(test) for test in result.tests]
    return ended(result) or [line for line in lines if line]


def _given(test: Test) -> str:
    if test.outcome != "failed":
        return ""
    return f"{test.name} is marked given, so it must pass before the kata is solved\n{test.message}"


def _unsolved(test: Test) -> str:
    if test.outcome == "passed":
        return (
            f"{test.name} passes before the kata is solved: make it call what the learner "
            f"writes, or match the message of pytest.raises (NotImplementedError is a "
            f"RuntimeError), or mark it given"
        )
    if test.outcome == "skipped":
        only = f"{test.name} is skipped: only a test with a device or a backend may be"
        return "" if test.missing else only
    if test.phase != "call":
        return (
            f"{test.name} fails in its {test.phase}, expected in the test itself: move what "
            f"calls the learner's code out of the fixture\n{test.message}"
        )
    if not test.loaded:
        return f"{test.name} fails because the C++ source does not build\n{test.message}"
    if not UNSOLVED & set(test.errors):
        return (
            f"{test.name} fails by {_error(test)}, expected NotImplementedError or an "
            f"assertion: the stub must import and raise NotImplementedError\n{test.message}"
        )
    return ""


def solved(result: Result) -> list[str]:
    """Every test must pass, or be skipped with a reason."""
    failed = [f"{test.name} fails with the solution:\n{test.message}" for test in result.failed]
    return ended(result) or failed


def rejected(result: Result, wrong: Wrong, names: tuple[str, ...]) -> list[str]:
    """The first test to fail must be the one that the wrong answer names."""
    if not any(named(name, wrong.rejected_by) for name in names):
        tests = ", ".join(dict.fromkeys(name.partition("[")[0] for name in names))
        return [f"rejected_by names {wrong.rejected_by!r}, none of the kata's tests: {tests}"]
    if result.collection:
        return [f"does not import, so no test can reject it: mend the edit\n{result.collection}"]
    if lines := ended(result):
        return [f"must fail by an assertion, but {line}" for line in lines]
    if not result.failed:
        target = f"strengthen {wrong.rejected_by} until a learner who thinks so sees it fail"
        return [f"no test rejects it: {target}"]
    line = _rejects(result.failed[0], wrong.rejected_by)
    return [line] if line else []


def _rejects(first: Test, wanted: str) -> str:
    if first.phase != "call":
        return f"fails in the {first.phase} of {first.name}: mend the edit\n{first.message}"
    if not first.loaded:
        return f"does not compile and load, so no test can reject it: mend it\n{first.message}"
    if TYPOS & set(first.errors):
        return f"fails by {_error(first)}, which is a slip of the edit: mend it\n{first.message}"
    if not named(first.name, wanted):
        return (
            f"{first.name} rejects it first, expected {wanted}: narrow the earlier test, move "
            f"the named one up, or name {first.name}\n{first.message}"
        )
    return ""


def fate(result: Result) -> Fate:
    """Whether a mutant is killed; a crash and a time-out kill, a failed build proves nothing."""
    if result.failed and not result.failed[0].compiled:
        return Fate.INVALID
    if result.failed or ended(result):
        return Fate.KILLED
    return Fate.SURVIVED


def named(name: str, wanted: str) -> bool:
    """Whether `wanted` names the test `name`: with its parameter or without."""
    return wanted in (name, name.partition("[")[0])


def _error(test: Test) -> str:
    return test.errors[0] if test.errors else test.outcome
