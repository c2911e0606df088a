"""Tests of k10_resume: a resumed run is compared with an uninterrupted one, bit for bit."""

from __future__ import annotations

import copy
import os
import random
import subprocess
import sys
from io import BytesIO
from pickle import UnpicklingError
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture12.k10_resume import Run
from katas.lecture12.k10_resume import load
from katas.lecture12.k10_resume import save
from plugins.kit import unchanged


if TYPE_CHECKING:
    from pathlib import Path


# What the next step depends on, and how it is read.
PARTS: dict[str, Any] = {
    "weights and running means": lambda run: run.model.state_dict(),
    "moments of AdamW": lambda run: run.optimizer.state_dict()["state"],
    "learning rate": lambda run: [group["lr"] for group in run.optimizer.param_groups],
    "place in the schedule": lambda run: (run.scheduler.last_epoch, run.scheduler.get_last_lr()),
    "rest of the epoch": lambda run: run.order,
    "order of the next epoch": lambda run: run.shuffle.get_state(),
    "noise of NumPy": lambda run: run.noise.bit_generator.state,
    "flips of random": lambda run: random.getstate(),
    "dropout, by the global generator of torch": lambda run: torch.get_rng_state(),
}
# Run by another process, which has nothing but the file.
PROGRAM = """
import sys
import torch
from katas.lecture12.k10_resume import Run, load

torch.set_num_threads(int(sys.argv[2]))
run = Run(77)
load(run, torch.load(sys.argv[1]))
print(*[run.step().hex() for _ in range(6)])
"""


def trained(steps: int, seed: int = 5) -> Run:
    """Return a run after this many steps."""
    run = Run(seed)
    for _ in range(steps):
        run.step()
    # An evaluation draws numbers too: seed and number of steps alone do not reproduce this state.
    torch.rand(())
    return run


def losses(run: Run, count: int = 6) -> list[float]:
    """Return the losses of the next steps."""
    return [run.step() for _ in range(count)]


def alike(one: Any, other: Any) -> bool:
    """Whether two values are equal bit for bit, including the tensors in them."""
    if other is None:
        return one is None
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, dict):
        return [*one] == [*other] and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def leaves(value: Any) -> list[Any]:
    """Return what the dicts, lists and tuples of a state hold."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        return [leaf for each in value for leaf in leaves(each)]
    return [value]


def stored(state: dict[str, Any]) -> BytesIO:
    """Return the file that torch.save writes for a state."""
    file = BytesIO()
    torch.save(state, file)
    file.seek(0)
    return file


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    """Return a state after saving and loading it."""
    __tracebackhide__ = True
    why = ""
    try:
        return torch.load(stored(state))  # type: ignore[no-any-return, unused-ignore]
    except (UnpicklingError, TypeError) as error:
        why = str(error).partition("\n")[0]
    raise AssertionError(
        f"yours holds {sorted(state)}, and torch.load rejects it: {why}\nexpected tensors, numbers,"
        " strings and containers of these; see weights_only in torch/serialization.py"
    )


@pytest.mark.parametrize("part", PARTS)
def test_each_part_is_back(part: str) -> None:
    """Saved after five steps, loaded into a run with another seed in the middle of an epoch."""
    old = trained(5)
    expected = copy.deepcopy(PARTS[part](old))
    state = through_a_file(save(old))
    new = trained(7, seed=8)
    load(new, state)
    yours = PARTS[part](new)

    assert alike(expected, yours), (
        f"{part} differs from its value before the stop\nexpected {str(expected)[:200]}\n"
        f"yours    {str(yours)[:200]}"
    )


def test_a_state_is_plain() -> None:
    """Tensors, numbers and strings, including the weights: no pickled objects, no file names."""
    run = trained(4)
    found = leaves(save(run))
    plain = torch.Tensor | int | float | str | None
    others = sorted({type(leaf).__name__ for leaf in found if not isinstance(leaf, plain)})
    assert not others, f"your state contains {others}; expected tensors, numbers and strings"
    numbers = {leaf for leaf in found if isinstance(leaf, int | float)}
    for leaf in found:
        numbers |= {*leaf.flatten().tolist()} if isinstance(leaf, torch.Tensor) else set()
    weights = run.model.state_dict().items()
    missing = [name for name, weight in weights if not {*weight.flatten().tolist()} <= numbers]
    assert not missing, (
        f"your state lacks the numbers of {missing}: whoever opens the file should read numbers"
        " and unpickle nothing"
    )


@pytest.mark.parametrize("stop", [0, 1, 3, 4, 8])
def test_it_goes_on(stop: int) -> None:
    """From any step: before the first, mid-epoch, at an epoch's end, after the lr has changed."""
    expected = losses(trained(stop))
    state = through_a_file(save(trained(stop)))
    new = Run(6)
    load(new, state)
    yours = losses(new)

    assert expected == yours, (
        f"stopped after {stop} steps\nexpected {expected}\nyours    {yours}"
        "\nWhich part of the run differs at the first loss that is wrong?"
    )


def test_a_state_is_a_snapshot() -> None:
    """A checkpoint may wait to be written while training continues."""
    run = trained(4)
    state = save(run)
    before = copy.deepcopy(state)
    losses(run)
    apart = [name for name, value in before.items() if not alike(value, state[name])]

    assert not apart, (
        f"six more steps have changed {apart} in your state: a state dict holds the tensors of"
        " model and optimizer, not copies"
    )


def test_saving_changes_nothing() -> None:
    """Saving at each step does not change the run."""
    expected = losses(Run(5))
    run = Run(5)
    yours = []
    for _ in expected:
        with unchanged(model=run.model, optimizer=run.optimizer.state_dict()["state"]):
            state = save(run)
        yours.append(run.step())
    assert expected == yours, f"saving at each step gives {yours}, never saving gives {expected}"
    new = Run(9)
    load(new, state)
    again = new.step()
    assert expected[-1] == again, (
        f"the state saved by the sixth call leads to {again}, expected {expected[-1]}: each call"
        " saves"
        " the run as it is now"
    )


def test_two_runs_load_one_state() -> None:
    """The first keeps training, and the second still begins where the first began."""
    run = trained(4)
    state = save(run)
    before = copy.deepcopy(state)
    expected = losses(run)
    found = []
    for _ in range(2):
        new = Run(9)
        load(new, state)
        found.append(losses(new))
        apart = [n for n in {**before, **state} if not alike(before.get(n), state.get(n))]
        assert not apart, (
            f"a run that loaded the state writes to {apart} in it: an optimizer's"
            " load_state_dict keeps the tensors it is given"
        )
    assert [expected] * 2 == found, f"yours {found}, expected {expected} from each of the two runs"


def test_another_process_goes_on(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Only the file is left: no module, generator or hash seed of the old process."""
    run = trained(4)
    file = tmp_path / "checkpoint.pt"
    file.write_bytes(stored(save(run)).getvalue())
    expected = [loss.hex() for loss in losses(run)]
    done = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(file), str(torch.get_num_threads())],
        cwd=pytestconfig.rootpath,
        env={**os.environ, "PYTHONHASHSEED": "4711"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, f"the other process failed:\n{done.stderr[-1500:]}"
    yours = done.stdout.split()
    assert expected == yours, f"in another process\nexpected {expected}\nyours    {yours}"
