"""Tests of k18_schedule: the orders, and the picture that they make."""

from __future__ import annotations

from expecttest import assert_expected_inline

from katas.lecture13.conftest import same
from katas.lecture13.k18_schedule import one_f_one_b


Orders = list[list[tuple[str, int]]]


def order(stage: int, stages: int, count: int) -> str:
    """Return what your stage does, as text."""
    return " ".join(f"{kind}{number}" for kind, number in one_f_one_b(stage, stages, count))


def test_the_last_stage_alternates() -> None:
    """The last stage has no later stage to wait for."""
    same(order(2, 3, 3), "F0 B0 F1 B1 F2 B2", "stage 2 of 3, 3 micro-batches")


def test_earlier_stages_have_a_lead() -> None:
    """An earlier stage first runs one forward for each later stage."""
    same(order(1, 3, 4), "F0 F1 B0 F2 B1 F3 B2 B3", "stage 1 of 3, 4 micro-batches")


def test_a_lead_is_no_longer_than_the_batch() -> None:
    """With fewer micro-batches than stages, all forwards are warm-up."""
    same(order(0, 4, 2), "F0 F1 B0 B1", "stage 0 of 4, 2 micro-batches")
    same(order(0, 4, 1), "F0 B0", "stage 0 of 4, 1 micro-batch")


def picture(stages: int, count: int) -> str:
    """Play the schedule: a forward takes a slot, a backward two; draw a row for each stage."""
    orders = [one_f_one_b(stage, stages, count) for stage in range(stages)]
    rows: list[list[str]] = [[] for _ in orders]
    ends: dict[tuple[str, int, int], int] = {}
    while any(orders):
        able = [
            (stage, when) for stage, when in enumerate(begins(orders, ends)) if when is not None
        ]
        assert able, f"your stages wait for each other forever; left to do: {orders}"
        for stage, begin in able:
            kind, number = orders[stage].pop(0)
            rows[stage] += ["."] * (begin - len(rows[stage]))
            rows[stage] += [f"{kind}{number}"] * (1 if kind == "F" else 2)
            ends[kind, stage, number] = len(rows[stage])
    lines = (" ".join(f"{slot:2}" for slot in row).rstrip() for row in rows)
    return "\n".join(f"stage {stage}  {line}" for stage, line in enumerate(lines))


def begins(orders: Orders, ends: dict[tuple[str, int, int], int]) -> list[int | None]:
    """Return, for each stage, when its next action has what it needs, or None."""
    found: list[int | None] = []
    for stage, order in enumerate(orders):
        kind, number = order[0] if order else ("", 0)
        if (kind, stage) in {("F", 0), ("B", len(orders) - 1)}:
            found.append(0)
        else:
            found.append(ends.get((kind, stage + (-1 if kind == "F" else 1), number)))
    return found


def test_the_picture_of_three_stages() -> None:
    """The snapshot is drawn from your lists: a stage holds at most three micro-batches."""
    assert_expected_inline(
        picture(3, 4),
        """\
stage 0  F0 F1 F2 .  .  .  .  B0 B0 F3 B1 B1 .  B2 B2 .  B3 B3
stage 1  .  F0 F1 .  .  B0 B0 F2 B1 B1 F3 B2 B2 .  B3 B3
stage 2  .  .  F0 B0 B0 F1 B1 B1 F2 B2 B2 F3 B3 B3""",
    )
