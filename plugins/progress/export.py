"""``--progress-json FILE`` writes the progress for other programs, and runs nothing.

``progress.schema.json`` describes the format.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC
from datetime import datetime
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.course.files import content_of
from plugins.course.session import course_key
from plugins.course.session import course_root
from plugins.course.session import katas_among
from plugins.guide.steps import read_steps
from plugins.progress.standing import MODULE
from plugins.progress.store import read_counts
from plugins.progress.store import read_standings
from plugins.tools.showing import configured
from plugins.tools.showing import write_for


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping

    from plugins.course.model import Kata
    from plugins.progress.standing import Standing
    from plugins.progress.standing import State
    from plugins.progress.standing import TestOutcome
    from plugins.progress.standing import Verdict


# Raised when a reader of the last version could misunderstand what is written.
VERSION = 1
STDOUT = "-"
# Exercism's words for test results, and three of our own.
KATA: dict[State, str] = {
    "solved": "pass",
    "failing": "fail",
    "unavailable": "skip",
    "open": "open",
    "new": "new",
}
TEST: dict[Verdict, str] = {"passed": "pass", "failed": "fail", "skipped": "skip"}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--progress-json``."""
    parser.getgroup("katas").addoption(
        "--progress-json",
        metavar="FILE",
        help="Write the progress as JSON to FILE, or to stdout with -, and run nothing.",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Write the file and stop: no kata is imported or run."""
    wanted = config.getoption("progress_json")
    if wanted is None or config.option.help:
        return None
    with configured(config):
        text = format_progress(config)
        if wanted == STDOUT:
            reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
            reporter.write(text)
        else:
            write_for("--progress-json", config.invocation_params.dir / wanted, text)
    return 0


def format_progress(config: pytest.Config) -> str:
    """Return the progress in the katas on the command line, or in all, as JSON in ASCII."""
    root, start = course_root(config), config.invocation_params.dir
    katas = katas_among(config.stash[course_key], config.args, start)
    data = describe_progress(read_standings(root, katas), read_counts(root), datetime.now(UTC))
    return f"{json.dumps(data, indent=2)}\n"


def describe_progress(
    katas: Iterable[tuple[Kata, Standing]], hints: Mapping[str, int], now: datetime
) -> dict[str, Any]:
    """Return the progress in `katas`: their current state, and what is stored about them."""
    entries = [describe_kata(kata, standing, hints.get(kata.id, 0)) for kata, standing in katas]
    summary = {
        "katas": len(entries),
        "solved": sum(each["status"] == "pass" for each in entries),
        "hints_taken": sum(each["hints_taken"] for each in entries),
        "seconds": round(sum(each["seconds"] for each in entries), 1),
    }
    generated = now.isoformat(timespec="seconds")
    return {"version": VERSION, "generated": generated, "summary": summary, "katas": entries}


def describe_kata(kata: Kata, standing: Standing, hints_taken: int) -> dict[str, Any]:
    """Return the progress in one kata; `current` is whether the exercise was not edited since."""
    content = content_of(kata)
    state = standing.state(content)
    current = standing.results.content == content
    broken = standing.results.tests.get(MODULE)
    error = state == "failing" and current and broken
    step = standing.step(state, read_steps(kata.test))
    sized = {"size": kata.size, "minutes": kata.minutes, "core": kata.core} if kata.size else {}
    found = {
        "id": kata.id,
        "lecture": kata.lecture,
        "title": kata.title,
        "kind": kata.kind,
        **sized,
        "status": "error" if error else KATA[state],
        "current": current,
        "hints": len(kata.hints),
        "hints_taken": hints_taken,
        "seconds": round(standing.seconds, 1),
        "last_run": standing.last or None,
        **({"step": {**asdict(step), "text": str(step)}} if step else {}),
        "tests": [
            describe_test(name, outcome) for name, outcome in standing.results.tests.items() if name
        ],
    }
    return {**found, "message": error.message} if error else found


def describe_test(name: str, outcome: TestOutcome) -> dict[str, str]:
    """Return how one test ended, and why if it did not pass."""
    found = {"name": name, "status": TEST[outcome.verdict]}
    return found if outcome.verdict == "passed" else {**found, "message": outcome.message}
