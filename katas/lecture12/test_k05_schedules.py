"""Tests of k05_schedules: the schedulers of torch.optim are the oracle."""

from __future__ import annotations

import json
import warnings
from types import MappingProxyType
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from expecttest import assert_expected_inline
from hypothesis import example
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from torch.optim import lr_scheduler as theirs

from katas.lecture12 import k05_schedules as kata
from katas.lecture12.k05_schedules import Schedule
from katas.lecture12.k05_schedules import cosine
from katas.lecture12.k05_schedules import exponential
from katas.lecture12.k05_schedules import warmup
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping
    from collections.abc import Sequence

# Each shape of a schedule, yours and PyTorch's.
SHAPES: dict[str, tuple[Callable[[], Callable[[int], float]], Callable[[Any], Any]]] = {
    "warmup": (lambda: warmup(0.1, 4), lambda o: theirs.LinearLR(o, 0.1, total_iters=4)),
    "cosine": (lambda: cosine(5), lambda o: theirs.CosineAnnealingLR(o, 5)),
    "exponential": (lambda: exponential(0.7), lambda o: theirs.ExponentialLR(o, 0.7)),
}


def optimizer(*lrs: float) -> torch.optim.SGD:
    """Return an optimizer with a group for each lr."""
    groups = [{"params": [torch.nn.Parameter(torch.ones(1))], "lr": lr} for lr in lrs]
    return torch.optim.SGD(groups, lr=1.0, momentum=0.9)


def lrs(of: torch.optim.Optimizer) -> list[float]:
    """Return the lr of each group."""
    return [group["lr"] for group in of.param_groups]


def built(names: Sequence[str], milestones: Sequence[int], *start: float, by: Any = kata) -> Any:
    """Return an optimizer with your schedules, and one with PyTorch's."""
    mine, right = optimizer(*start), optimizer(*start)
    schedules = [by.Schedule(mine, SHAPES[name][0]()) for name in names]
    yours = by.Sequential(schedules, milestones)
    made = [SHAPES[name][1](right) for name in names]
    return mine, yours, right, theirs.SequentialLR(right, made, list(milestones))


def compare(
    mine: torch.optim.Optimizer,
    yours: Sequence[Any],
    right: torch.optim.Optimizer,
    made: Sequence[Any],
    *,
    steps: int,
    edits: Mapping[int, float] = MappingProxyType({}),
) -> None:
    """Step all and compare the lrs after each step; `edits` sets an lr by hand after a step."""
    __tracebackhide__ = True
    for t in range(steps + 1):
        for one, each in ((mine, yours), (right, made)):
            with warnings.catch_warnings():
                # Earlier versions warn that their own closed form is deprecated.
                warnings.simplefilter("ignore")
                one.step()
                for schedule in each if t else ():
                    schedule.step()
        assert lrs(mine) == pytest.approx(lrs(right), rel=1e-9, abs=1e-12), (
            f"after step {t}: lrs yours {lrs(mine)}, PyTorch's {lrs(right)}"
        )
        for group in (*mine.param_groups, *right.param_groups) if t in edits else ():
            group["lr"] = edits[t]


def test_one_halved_each_step() -> None:
    """Three steps of exponential(0.5)."""
    one = optimizer(1.0)
    schedule = Schedule(one, exponential(0.5))
    seen = []
    for _ in range(3):
        schedule.step()
        seen += lrs(one)
    assert seen == [0.5, 0.25, 0.125], f"yours {seen}, expected [0.5, 0.25, 0.125]"


@pytest.mark.parametrize("name", SHAPES)
def test_a_schedule_alone(name: str) -> None:
    """Twelve steps, two groups, including factors of 0."""
    mine, right = optimizer(0.3, 0.07), optimizer(0.3, 0.07)
    factor, make = SHAPES[name]
    compare(mine, [Schedule(mine, factor())], right, [make(right)], steps=12)


@pytest.mark.parametrize("lr", [8.0, 0.0])
@pytest.mark.parametrize("name", SHAPES)
def test_an_edit_by_hand_stays(name: str, lr: float) -> None:
    """The chain continues from any lr, even 0: only the factor decides between the forms."""
    mine, right = optimizer(0.3), optimizer(0.3)
    factor, make = SHAPES[name]
    compare(mine, [Schedule(mine, factor())], right, [make(right)], steps=4, edits={2: lr})


def test_two_schedules_multiply() -> None:
    """A warmup and an exponential, both stepped."""
    mine, right = optimizer(0.3), optimizer(0.3)
    yours = [Schedule(mine, SHAPES[name][0]()) for name in ("warmup", "exponential")]
    made = [SHAPES[name][1](right) for name in ("warmup", "exponential")]
    compare(mine, yours, right, made, steps=8)


def test_warmup_then_cosine() -> None:
    """The most common sequence."""
    mine, yours, right, made = built(("warmup", "cosine"), (4,), 0.3, 0.07)
    compare(mine, [yours], right, [made], steps=9)


def test_three_in_a_row() -> None:
    """Each schedule begins at its own t = 0, whatever lr the one before left."""
    mine, yours, right, made = built(("exponential", "warmup", "cosine"), (3, 5), 0.3)
    compare(mine, [yours], right, [made], steps=12)


def test_an_edit_ends_at_the_milestone() -> None:
    """The closed form uses the base, not the current lr."""
    mine, yours, right, made = built(("exponential", "exponential"), (4,), 0.3)
    compare(mine, [yours], right, [made], steps=7, edits={2: 8.0, 5: 2.0})


def test_only_the_lr_is_written() -> None:
    """Momentum, decay and the base stay unchanged."""
    mine, yours, _, _ = built(("warmup", "cosine"), (2,), 0.3)
    before = {key: value for key, value in mine.param_groups[0].items() if key != "lr"}
    for _ in range(4):
        yours.step()
    after = {key: value for key, value in mine.param_groups[0].items() if key != "lr"}
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    assert not changed, f"your code changes {changed} in the group, expected only lr"


def test_the_state_is_made_of_numbers() -> None:
    """A text file can hold it: no factor functions, no optimizer."""
    _, yours, _, _ = built(("warmup", "cosine"), (2,), 0.3)
    yours.step()
    try:
        text = json.dumps(yours.state_dict())
    except TypeError as error:
        raise AssertionError(f"your state cannot be written as JSON: {error}") from None
    assert json.loads(text), f"your state is {text}, expected all that a resumed run needs"


def test_the_state_is_a_snapshot() -> None:
    """Stepping does not change a saved state, and changing the state affects no schedule."""
    one, yours, _, _ = built(("warmup", "cosine"), (3,), 0.3)
    yours.step()
    state = yours.state_dict()
    text = json.dumps(state)
    yours.step()
    assert text == json.dumps(state), (
        "the saved state changes when the schedule steps, expected a copy"
    )

    spoil(state)
    yours.step()
    assert lrs(one) == [0.3], (
        f"lr at the milestone: yours {lrs(one)}, expected [0.3]: changing a saved state must not "
        "change the schedules"
    )


def spoil(value: Any) -> None:
    """Change each number in lists and dicts, at any depth."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(each, list | tuple | dict):
            spoil(each)
        elif not isinstance(value, tuple):
            value[key] = 100 * each + 7


def test_it_is_written_here() -> None:
    """Without torch.optim.lr_scheduler."""
    one = optimizer(0.3)
    with forbids(kata, "torch.optim.lr_scheduler") as fresh:
        schedules = [fresh.Schedule(one, fresh.exponential(0.5)) for _ in range(2)]
        for _ in range(3):
            fresh.Sequential(schedules, [2]).step()


@pytest.mark.parametrize("first", ["optimizer", "schedule"])
@pytest.mark.parametrize("stop", range(8))
def test_a_resumed_run_has_the_same_lrs(stop: int, first: str) -> None:
    """Stopped after any step, including at a milestone or after an edit: equal bit for bit.

    Loading an optimizer replaces the dicts in its param_groups.
    """
    names, milestones, later = ("warmup", "exponential", "cosine"), (3, 5), []
    one, yours, _, _ = built(names, milestones, 0.3, 0.07)
    for t in range(8):
        if t == stop:
            saved = json.dumps([yours.state_dict(), one.state_dict()])
        if t == 1:
            one.param_groups[0]["lr"] = 8.0
        yours.step()
        later += [lrs(one)] if t >= stop else []

    # As in a new process: built with another lr, which the checkpoint overwrites.
    with forbids(kata, "torch.optim.lr_scheduler") as fresh:
        other, resumed, _, _ = built(names, milestones, 5.0, 6.0, by=fresh)
    state, of_optimizer = json.loads(saved)
    if first == "optimizer":
        other.load_state_dict(of_optimizer)
    before = lrs(other)
    returned: object = resumed.load_state_dict(state)
    assert lrs(other) == before, f"your load_state_dict changes the lrs {before} to {lrs(other)}"
    if first == "schedule":
        other.load_state_dict(of_optimizer)
    assert returned is None, f"your code returns {returned}, expected None"
    assert [state, of_optimizer] == json.loads(saved), "your load_state_dict changes its argument"
    for t, right in enumerate(later, stop):
        if t == 1:
            other.param_groups[0]["lr"] = 8.0
        resumed.step()
        assert lrs(other) == right, (
            f"stopped at {stop}, after step {t + 1}: lrs yours {lrs(other)}, expected {right}, as"
            f" without the stop; the {first} was loaded first"
        )


@settings(max_examples=25)
@example(["exponential", "warmup", "cosine"], [2, 2])
@given(
    st.lists(st.sampled_from(sorted(SHAPES)), min_size=4, max_size=4),
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_any_sequence(names: list[str], milestones: list[int]) -> None:
    """Two to four schedules; if two milestones coincide, one schedule never runs."""
    milestones = sorted(milestones)
    mine, yours, right, made = built(names[: len(milestones) + 1], milestones, 0.3, 0.07)
    compare(mine, [yours], right, [made], steps=13)


def test_lrs_as_text() -> None:
    """A warmup of three steps, then a cosine of four."""
    mine = optimizer(0.1)
    yours = kata.Sequential([Schedule(mine, warmup(0.1, 3)), Schedule(mine, cosine(4))], [3])
    lines = []
    for step in range(9):
        lines.append(f"{step} {lrs(mine)[0]:.6f}")
        mine.step()
        yours.step()

    assert_expected_inline(
        "\n".join(lines),
        """\
0 0.010000
1 0.040000
2 0.070000
3 0.100000
4 0.085355
5 0.050000
6 0.014645
7 0.000000
8 0.014645""",
    )
