"""The schedule of a pipeline, 1F1B, as a picture that you can check.

A model is split into stages, one on each rank. Three stages, four micro-batches, a backward takes
two slots:

    stage 0   F0 F1 F2 .  .  .  .  B0 B0 ...
    stage 1   .  F0 F1 .  .  B0 B0 F2 ...
    stage 2   .  .  F0 B0 B0 F1 B1 B1 ...

A stage warms up with one forward for each later stage, then alternates forwards and backwards.

Write `one_f_one_b`, 5 lines; the tests draw it.

Begin by completing the row for stage 0.
Afterwards read ``Schedule1F1B`` in ``torch/distributed/pipelining/schedules.py``.
"""

from __future__ import annotations


Action = tuple[str, int]


def one_f_one_b(stage: int, stages: int, count: int) -> list[Action]:
    """Return what a stage does with `count` micro-batches: ("F", i) and ("B", i), in order.

    The warm-up has at most `count` forwards. At the end only backwards are left.
    """
    # TODO: the warm-up, the pairs, the rest.
    raise NotImplementedError("one_f_one_b")
