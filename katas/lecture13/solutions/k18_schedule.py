"""1F1B as a list of actions, and its picture."""

from __future__ import annotations


Action = tuple[str, int]


def one_f_one_b(stage: int, stages: int, count: int) -> list[Action]:
    """Return what a stage does with `count` micro-batches: ("F", i) and ("B", i), in order.

    The warm-up has at most `count` forwards. At the end only backwards are left.
    """
    # While the first micro-batch goes to the end and back, each stage behind takes one more.
    lead = min(stages - 1 - stage, count)
    actions = [("F", number) for number in range(lead)]
    for number in range(count - lead):
        actions += [("F", lead + number), ("B", number)]
    return actions + [("B", number) for number in range(count - lead, count)]
