"""Placements: all ways to change an R, in turn."""

from __future__ import annotations

from itertools import product


# Operators on matrices; sum0 is x.sum(0), a vector, whose only dimension is S0.
RULES: dict[str, dict[str, str]] = {
    "mm": {"S1 S0": "P", "R R": "R", "R P": "P", "P R": "P", "R S1": "S1", "S0 R": "S0"},
    "add": {"P P": "P", "S1 S1": "S1", "S0 S0": "S0", "R R": "R"},
    "mul": {"R R": "R", "S0 S0": "S0", "S1 S1": "S1", "R P": "P", "P R": "P"},
    "relu": {"S0": "S0", "R": "R", "S1": "S1"},
    "t": {"R": "R", "S0": "S1", "S1": "S0", "P": "P"},
    "sum": {"R": "R", "S0": "P", "S1": "P", "P": "P"},
    "sum0": {"R": "R", "P": "P", "S1": "S0", "S0": "P"},
}


def result(operator: str, *placements: str) -> str | None:
    """Return the placement of the result, or None if something has to be sent."""
    choices = [("R", "S0", "S1", "P") if each == "R" else (each,) for each in placements]
    # R itself comes first, so what changes nothing is tried before all else.
    for changed in product(*choices):
        if (found := RULES[operator].get(" ".join(changed))) is not None:
            return found
    return None
