"""The progress as data for other programs; ``progress.schema.json`` describes it. No pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

from plugins.standing import content_of


if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Mapping
    from datetime import datetime

    from plugins.layout import Kata
    from plugins.standing import Outcome
    from plugins.standing import Standing
    from plugins.standing import State
    from plugins.standing import Verdict


# One more whenever a reader of the version before could misunderstand what is written.
VERSION = 1
# The words of Exercism's test results, and three for what has no result there.
KATA: dict[State, str] = {
    "solved": "pass",
    "failing": "fail",
    "unavailable": "skip",
    "open": "open",
    "new": "new",
}
TEST: dict[Verdict, str] = {"passed": "pass", "failed": "fail", "skipped": "skip"}
# A module that cannot be imported has no tests: its failure has no name.
MODULE = ""


def progress(
    katas: Iterable[tuple[Kata, Standing]], hints: Mapping[str, int], now: datetime
) -> dict[str, Any]:
    """Return the progress: what stands in the exercises now, and what is remembered of them."""
    entries = [entry(kata, standing, hints.get(kata.id, 0)) for kata, standing in katas]
    summary = {
        "katas": len(entries),
        "solved": sum(each["status"] == "pass" for each in entries),
        "hints_taken": sum(each["hints_taken"] for each in entries),
        "seconds": round(sum(each["seconds"] for each in entries), 1),
    }
    generated = now.isoformat(timespec="seconds")
    return {"version": VERSION, "generated": generated, "summary": summary, "katas": entries}


def entry(kata: Kata, standing: Standing, hints_taken: int) -> dict[str, Any]:
    """Return what there is to say of one kata."""
    content = content_of(kata)
    state = standing.state(content)
    current = standing.results.content == content
    broken = standing.results.tests.get(MODULE)
    error = state == "failing" and current and broken
    found = {
        "id": kata.id,
        "lecture": kata.lecture,
        "title": kata.title,
        "kind": kata.kind,
        "status": "error" if error else KATA[state],
        "current": current,
        "hints": len(kata.hints),
        "hints_taken": hints_taken,
        "seconds": round(standing.seconds, 1),
        "last_run": standing.last or None,
        "tests": [
            a_test(name, outcome) for name, outcome in standing.results.tests.items() if name
        ],
    }
    return {**found, "message": error.message} if error else found


def a_test(name: str, outcome: Outcome) -> dict[str, str]:
    """Return how one test ended, and why if it did not pass."""
    found = {"name": name, "status": TEST[outcome.verdict]}
    return found if outcome.verdict == "passed" else {**found, "message": outcome.message}
