"""Reads the verdict on each kata from the JUnit XML of a run of pytest, without pytest."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal
from xml.etree import ElementTree as ET


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


# The older form: only xunit1 has the file of a test.
FAMILY = "junit_family=xunit1"

Verdict = Literal["solved", "fails", "cannot run here", "did not run"]


@dataclass(frozen=True)
class Result:
    """How a kata went.

    Attributes
    ----------
    test
        The first test that failed, or "" for a module that cannot be imported.
    message, text
        Its message and its traceback, or why the tests were skipped.
    """

    verdict: Verdict
    test: str = ""
    message: str = ""
    text: str = ""


def read_results(file: Path) -> dict[str, Result]:
    """Return how each test module went, by its path; nothing if pytest did not write the file."""
    try:
        root = ET.parse(file).getroot()  # noqa: S314 - a pytest of ours wrote it
    except (OSError, ET.ParseError):
        return {}
    modules = defaultdict[str, list[ET.Element]](list)
    for case in root.iter("testcase"):
        modules[case.get("file", "")].append(case)
    return {path: read_result(cases) for path, cases in modules.items()}


def read_result(cases: Iterable[ET.Element]) -> Result:
    """Return how a kata went, by its tests: solved only if none failed and one has passed."""
    reason = ""
    passed = False
    for case in cases:
        failure = next(iter([*case.findall("failure"), *case.findall("error")]), None)
        if failure is not None:
            # pytest reports a module that cannot be imported as a test case without a class.
            test = case.get("name", "") if case.get("classname") else ""
            text = failure.text or ""
            return Result(
                "fails", test, failure.get("message", "") if test else last_line(text), text
            )
        skipped = case.find("skipped")
        passed = passed or skipped is None
        reason = reason or (skipped.get("message", "") if skipped is not None else "")
    return Result("solved") if passed else Result("cannot run here", message=reason)


def last_line(text: str) -> str:
    """Return the last line of a traceback: the exception."""
    lines = [line.removeprefix("E").strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
