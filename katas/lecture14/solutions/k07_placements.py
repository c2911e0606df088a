"""Placements: what DTensor computes without sending a byte."""

from __future__ import annotations


# Operators on matrices; sum0 is x.sum(0), a vector whose only dimension gives S0.
RULES: dict[str, dict[str, str]] = {
    "mm": {"R R": "R", "S0 R": "S0", "R S1": "S1", "S1 S0": "P", "P R": "P", "R P": "P"},
    "add": {"R R": "R", "S0 S0": "S0", "S1 S1": "S1", "P P": "P"},
    "mul": {"R R": "R", "S0 S0": "S0", "S1 S1": "S1", "P R": "P", "R P": "P"},
    "relu": {"R": "R", "S0": "S0", "S1": "S1"},
    "t": {"R": "R", "S0": "S1", "S1": "S0", "P": "P"},
    "sum": {"R": "R", "S0": "P", "S1": "P", "P": "P"},
    "sum0": {"R": "R", "S0": "P", "S1": "S0", "P": "P"},
}


def result(operator: str, *placements: str) -> str | None:
    """Return the placement of the result, or None if something must be sent."""
    rules = RULES[operator]
    for wanted, output in rules.items():
        pairs = zip(placements, wanted.split(), strict=True)
        if all(have in ("R", want) for have, want in pairs):
            return rules.get(" ".join(placements), output)
    return None
