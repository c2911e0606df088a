"""Reads the verdict on each kata from the JUnit XML of a run of pytest, without pytest."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal
from xml.etree import ElementTree as ET

from plugins.course.model import undecided
from plugins.guide.failure import failure_among


if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Iterable
    from collections.abc import Mapping
    from pathlib import Path

    from plugins.guide.failure import Failure


# The older form: only xunit1 has the file of a test.
FAMILY = "junit_family=xunit1"

Verdict = Literal["solved", "fails", "not decided here", "cannot run here", "did not run"]


@dataclass(frozen=True)
class Result:
    """How a kata went.

    Attributes
    ----------
    test
        The first test that failed, or "" for a module that cannot be imported.
    message
        Its message, or why the tests were skipped.
    failure
        All of it that the run has told, if it was a failure of the kata.
    """

    verdict: Verdict
    test: str = ""
    message: str = ""
    failure: Failure | None = None


def read_results(file: Path, extra: Mapping[str, Collection[str]]) -> dict[str, Result]:
    """Return how each test module went, by its path; nothing if pytest did not write the file.

    `extra` has the tests of each module that decide nothing, by its path too.
    """
    try:
        root = ET.parse(file).getroot()  # noqa: S314 - a pytest of ours wrote it
    except (OSError, ET.ParseError):
        return {}
    modules = defaultdict[str, list[ET.Element]](list)
    for case in root.iter("testcase"):
        modules[case.get("file", "")].append(case)
    return {path: read_result(cases, extra.get(path, ())) for path, cases in modules.items()}


def read_result(cases: Iterable[ET.Element], extra: Collection[str]) -> Result:
    """Return how a kata went: solved only if none of its tests failed and each has decided.

    Those in `extra` may have been skipped, and one on a device if it ran on another.
    """
    tests: dict[str, str | None] = {}
    for case in cases:
        failure = next(iter([*case.findall("failure"), *case.findall("error")]), None)
        if failure is not None:
            # pytest reports a module that cannot be imported as a test case without a class.
            test = case.get("name", "") if case.get("classname") else ""
            message = failure.get("message", "") if test else last_line(failure.text or "")
            properties = [(it.get("name", ""), it.get("value", "")) for it in case.iter("property")]
            return Result("fails", test, message, failure_among(properties))
        skipped = case.find("skipped")
        reason = None if skipped is None else skipped.get("message", "")
        tests[case.get("name", "")] = reason
    if None not in tests.values():
        return Result("cannot run here", message=next(iter(tests.values()), None) or "")
    for test, reason in undecided(tests, extra).items():
        return Result("not decided here", test, reason)
    return Result("solved")


def last_line(text: str) -> str:
    """Return the last line of a traceback: the exception."""
    lines = [line.removeprefix("E").strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
