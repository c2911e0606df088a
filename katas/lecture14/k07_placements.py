"""Placements: what DTensor computes without sending a byte.

A DTensor is a local tensor on each rank, plus a placement that says which part of the whole it is:

    R     Replicate()   all of it
    S0    Shard(0)      some rows; S1 columns
    P     Partial()     a summand: the whole is the sum over all ranks

Each rank applies an operator to its local tensor. Is the output again a part of the result, and
with which placement?

    mm    S0 R  -> S0      rows of a, times b, are rows of the product
    mm    S1 S0 -> P       columns times rows: each rank has a summand
    relu  P     -> ?       relu(1 - 3) is not relu(1) + relu(-3): ask the other ranks first

1. `RULES`: fill in the rules of each operator that need no other rank.
2. `result`: apply them. An operand R can become S0, S1 or P for free: each rank slices its copy, or
   takes 1/n of it. Any other change needs communication.

Begin on paper: which pairs does `add` accept, and which of those does `mul` reject?
Real life differs: where no rule fits, DTensor redistributes, at the lowest estimated cost.
Afterwards read ``gen_einsum_strategies`` in ``torch/distributed/tensor/_ops/_einsum_strategy.py``,
in site-packages.
"""

from __future__ import annotations


# Operators on matrices; sum0 is x.sum(0), a vector whose only dimension gives S0.
# TODO: the placements of the operands, with a space between, and that of the result, as in
# mm. Leave out what R can become for free.
RULES: dict[str, dict[str, str]] = {
    "mm": {"R R": "R", "S0 R": "S0"},
    "add": {"R R": "R"},
    "mul": {"R R": "R"},
    "relu": {"R": "R"},
    "t": {"R": "R"},
    "sum": {"R": "R"},
    "sum0": {"R": "R"},
}


def result(operator: str, *placements: str) -> str | None:
    """Return the placement of the result, or None if something must be sent.

    An exact match wins; otherwise operands that are R may change.
    """
    # TODO: look in RULES.
    raise NotImplementedError("result")
