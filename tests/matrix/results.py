"""What one run of a lecture found out, read from its JUnit XML and kept as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from plugins.absent import PROPERTY
from plugins.wholefile import write_whole


if TYPE_CHECKING:
    from pathlib import Path


# What a run of a lecture expects of its tests, and the option of pytest that says so.
MODES = {"solved": "--solutions", "unsolved": "--unsolved"}


@dataclass(frozen=True)
class Result:
    """One lecture, solved or unsolved, with one version of torch.

    Attributes
    ----------
    red
        How many tests of the unsolved lecture failed as they must.
    failed
        The names of the tests that were not as expected, or what ended the run.
    absent
        How many tests could not run, by the reason that they gave.
    content
        A digest of what was run: another content is to be run again.
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
    """Return what a run of pytest reported that ended with `status`."""
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
    """Return how a test ended: passed, failed, skipped, or red as an unsolved one must be."""
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
            # Nothing, or what another version of this module wrote: the tour begins anew.
            self.known = {}

    def get(self, version: str, lecture: str, mode: str) -> Result | None:
        """Return what the newest run found out, whatever it ran."""
        return self.known.get(f"{version} {lecture} {mode}")

    def keep(self, version: str, lecture: str, mode: str, result: Result) -> None:
        """Store a result at once: the tour may be ended at any time."""
        self.known[f"{version} {lecture} {mode}"] = result
        self.file.parent.mkdir(parents=True, exist_ok=True)
        data = {key: asdict(value) for key, value in sorted(self.known.items())}
        write_whole(self.file, json.dumps(data, indent=1).encode(), self.file.parent)


def _result(values: dict[str, object]) -> Result:
    result = Result(**values)  # type: ignore[arg-type]
    # JSON knows no tuples.
    absent = tuple((reason, number) for reason, number in result.absent)
    return replace(result, failed=tuple(result.failed), absent=absent)
