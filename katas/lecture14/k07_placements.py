"""Placements: what DTensor computes without sending a byte.

A DTensor is what this rank has, and a placement that says what it is of the whole:

    R     Replicate()   all of it
    S0    Shard(0)      some rows; S1 columns
    P     Partial()     a summand: the whole is the sum over all ranks

Each rank applies an operator to what it has. Is that again a part of the result, and which?

    mm    S0 R  -> S0      rows of a, times b, are rows of the product
    mm    S1 S0 -> P       columns times rows: each rank has a summand
    relu  P     -> ?       relu(1 - 3) is not relu(1) + relu(-3): ask the other ranks first

1. `RULES`: fill in what holds for each operator, on each rank by itself.
2. `result`: apply them. Within an operator, R can become S0, S1 or P for free: a rank cuts its
   copy, or takes 1/n of it. Any other change has to be sent.

Begin on paper: which pairs can `add` take, and which of them can `mul` not?
Real life differs: where no rule fits, DTensor does not give up but redistributes, at the lowest
cost that it can estimate.
Afterwards read ``gen_einsum_strategies`` in
``torch/distributed/tensor/_ops/_einsum_strategy.py``, in site-packages.
"""

from __future__ import annotations


# Operators on matrices; sum0 is x.sum(0), a vector, whose only dimension is S0.
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
    """Return the placement of the result, or None if something has to be sent.

    An exact match wins; otherwise an R may change.
    """
    # TODO: ask RULES.
    raise NotImplementedError("result")
