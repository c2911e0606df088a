"""What JSON can hold of where a learner stands with a kata: no pytest, no torch."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from plugins.standing import Outcome
from plugins.standing import Results
from plugins.standing import Standing


# One more whenever what is written could be misunderstood; a field more cannot.
VERSION = 1


def to_data(standing: Standing) -> dict[str, Any]:
    """Return what JSON can hold."""
    return {"version": VERSION, **asdict(standing)}


def from_data(data: Any) -> Standing:
    """Return what `to_data` was given.

    Raises
    ------
    ValueError, TypeError, KeyError, AttributeError
        If `data` is something else.
    """
    if data["version"] != VERSION:
        raise ValueError(data["version"])
    found = data["results"]
    tests = {str(name): Outcome(**outcome) for name, outcome in found["tests"].items()}
    results = Results(str(found["content"]), tests, found["total"])
    seconds, last, solved = float(data["seconds"]), str(data["last"]), str(data.get("solved", ""))
    return Standing(seconds, last, dict(data["states"]), results, solved)
