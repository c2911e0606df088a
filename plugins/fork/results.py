"""What a run of pytest found out about each kata, read from its JUnit XML. No pytest, no torch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Literal
from xml.etree import ElementTree as ET


if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


# The older form: it alone says which file a test is in.
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
        Its message, and its traceback; or why the tests were skipped.
    """

    verdict: Verdict
    test: str = ""
    message: str = ""
    text: str = ""


def read_results(file: Path) -> dict[str, Result]:
    """Return how each test module went, by its path; nothing if pytest did not write the file."""
    try:
        root = ET.parse(file).getroot()  # noqa: S314 - see above
    except (OSError, ET.ParseError):
        return {}
    modules = defaultdict[str, list[ET.Element]](list)
    for case in root.iter("testcase"):
        modules[case.get("file", "")].append(case)
    return {path: result_of(cases) for path, cases in modules.items()}


def result_of(cases: Iterable[ET.Element]) -> Result:
    """Return how a kata went, by its tests: solved only if none failed and one has passed."""
    reason = ""
    passed = False
    for case in cases:
        failure = next(iter([*case.findall("failure"), *case.findall("error")]), None)
        if failure is not None:
            # A module that cannot be imported stands there under its own name.
            test = case.get("name", "") if case.get("classname") else ""
            text = failure.text or ""
            return Result("fails", test, failure.get("message", "") if test else last(text), text)
        skipped = case.find("skipped")
        passed = passed or skipped is None
        reason = reason or (skipped.get("message", "") if skipped is not None else "")
    return Result("solved") if passed else Result("cannot run here", message=reason)


def last(text: str) -> str:
    """Return the last line of a traceback, which tells what was raised."""
    lines = [line.removeprefix("E").strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
