"""Says how a kata is proved, from its `proof.json`; imports neither pytest nor torch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

from plugins.tools.terminal import format_duration


if TYPE_CHECKING:
    from collections.abc import Callable

    from plugins.course.model import Kata


T = TypeVar("T")


def describe_proof(kata: Kata) -> tuple[str, ...]:
    """Return what was run to prove the kata, a line each; none if there is no entry to read.

    ``nox -s verify`` writes the entries; a course in another package may have none.
    """
    return _read(kata, _lines) or ()


def count_tests(kata: Kata) -> int:
    """Return how many tests the kata had when it was proved; 0 if there is no entry to read."""
    return _read(kata, lambda entry: int(entry["tests"]["all"])) or 0


def _read(kata: Kata, parse: Callable[[Any], T]) -> T | None:
    try:
        return parse(json.loads((kata.meta / "proof.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, LookupError, TypeError):
        # The page is not the place to report a broken entry: the gate does.
        return None


def _lines(entry: Any) -> tuple[str, ...]:
    tests, wrong, right = entry["tests"], entry["wrong"], entry["right"]
    mutants, repeats = entry["mutants"], entry["repeats"]
    lines = [
        f"{tests['red']} of {tests['all']} tests fail with the stub; with the solution all pass",
        f"{wrong['rejected']} of {wrong['tried']} wrong answers are rejected",
        f"{mutants['killed']} of {mutants['tried']} solutions with one small mistake are rejected",
        f"{repeats['passed']} of {repeats['run']} repeats in random order pass",
    ]
    if right["tried"]:
        lines.insert(2, f"{right['accepted']} of {right['tried']} other right answers are accepted")
    if entry["blind"]:
        first = sum(run["passed"] == run["tests"] for run in entry["blind"])
        lines.append(f"{first} of {len(entry['blind'])} people solved it blind at the first run")
    took = f", in {format_duration(max(60, entry['seconds']))}" if "seconds" in entry else ""
    return (*lines, f"proved on {entry['proved']} with torch {entry['torch']}{took}")
