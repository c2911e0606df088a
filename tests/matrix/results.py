"""Reads the result of a run of a lecture from its JUnit XML, and keeps it as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from plugins.machine.absent import PROPERTY
from plugins.tools.files import write_whole


if TYPE_CHECKING:
    from pathlib import Path


# The modes of a run, and pytest's option for each.
MODES = {"solved": "--solutions", "unsolved": "--unsolved"}


@dataclass(frozen=True)
class Result:
    """The result of one lecture, solved or unsolved, with one version of torch.

    Attributes
    ----------
    red
        The number of tests of the unsolved lecture that failed as they must.
    failed
        The names of the unexpected tests, or the status that ended the run.
    absent
        The number of tests that could not run, by reason.
    content
        A digest of the files that ran: if they change, the run is repeated.
    torch, python, date
        The build of torch, such as 2.15.0+cpu; the version of Python; the day, in ISO 8601.
    """

    passed: int = 0
    red: int = 0
    skipped: int = 0
    failed: tuple[str, ...] = ()
    absent: tuple[tuple[str, int], ...] = ()
    seconds: float = 0.0
    content: str = ""
    torch: str = ""
    python: str = ""
    date: str = ""

    def known_good(self, content: str) -> bool:
        """Whether the run need not be repeated."""
        return not self.failed and self.content == content


def read_junit(file: Path, status: int) -> Result:
    """Return the result of a run of pytest that ended with `status`."""
    try:
        cases = list(ET.parse(file).iter("testcase"))  # noqa: S314 - our own file
    except (OSError, ET.ParseError):
        return Result(failed=(f"pytest ended with status {status} and left no report",))
    kinds = Counter[str]()
    absent = Counter[str]()
    failed: list[str] = []
    for case in cases:
        kind = kind_of(case)
        kinds[kind] += 1
        if kind == "failed":
            failed.append(f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}")
        absent.update(
            str(property_.get("value"))
            for property_ in case.iter("property")
            if property_.get("name") == PROPERTY
        )
    if status and not failed:
        failed = [f"pytest ended with status {status}"]
    return Result(
        kinds["passed"], kinds["red"], kinds["skipped"], tuple(failed), tuple(absent.items())
    )


def kind_of(case: ET.Element) -> str:
    """Return the outcome of a test: passed, failed, skipped, or red as an unsolved one must be."""
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    return "red" if skipped.get("type") == "pytest.xfail" else "skipped"


class Results:
    """The results of all tours in this checkout, by version, lecture and mode."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.known: dict[str, Result] = {}
        try:
            data = json.loads(file.read_bytes())
            self.known = {key: _result(values) for key, values in data.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            # Missing, damaged, or written by another version of this module: begin anew.
            self.known = {}

    def get(self, version: str, lecture: str, mode: str) -> Result | None:
        """Return the result of the newest run, whatever its content."""
        return self.known.get(f"{version} {lecture} {mode}")

    def keep(self, version: str, lecture: str, mode: str, result: Result) -> None:
        """Store a result at once: the tour may end at any time."""
        self.known[f"{version} {lecture} {mode}"] = result
        self.file.parent.mkdir(parents=True, exist_ok=True)
        data = {key: asdict(value) for key, value in sorted(self.known.items())}
        write_whole(self.file, json.dumps(data, indent=1).encode(), self.file.parent)


def _result(values: dict[str, object]) -> Result:
    result = Result(**values)  # type: ignore[arg-type]
    # JSON has no tuples.
    absent = tuple((reason, number) for reason, number in result.absent)
    return replace(result, failed=tuple(result.failed), absent=absent)
