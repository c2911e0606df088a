"""Tests of k07_positions: optimizers built in one order and loaded in another."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture12.k07_positions import resume
from plugins.kit import unchanged


WHERE = "see id_map in load_state_dict, torch/optim/optimizer.py"


def parameters(*names: str) -> dict[str, nn.Parameter]:
    """Return parameters of two elements; their gradients tell them apart."""
    found = {name: nn.Parameter(torch.zeros(2, dtype=torch.float64)) for name in names}
    for name, parameter in found.items():
        root = torch.tensor([2.0, 3.0], dtype=torch.float64).sqrt()
        parameter.grad = ord(name) * root
    return found


def built(*groups: str, lrs: tuple[float, ...] = (0.1, 0.01), step: bool = True) -> Any:
    """Return SGD with momentum over groups such as "ab", after a step or before the first."""
    optimizer = torch.optim.SGD(
        [
            {"params": list(parameters(*group).items()), "lr": lr}
            for group, lr in zip(groups, lrs, strict=False)
        ],
        momentum=0.9,
    )
    if step:
        optimizer.step()
    return optimizer


def momenta(optimizer: Any) -> dict[str, list[float]]:
    """Return each parameter's momentum, by its position in the groups' names."""
    return {
        name: optimizer.state[parameter]["momentum_buffer"].tolist()
        for group in optimizer.param_groups
        for name, parameter in zip(group["param_names"], group["params"], strict=True)
        if parameter in optimizer.state
    }


def check(old: Any, *groups: str) -> Any:
    """Resume `old` in an optimizer over these groups, and compare by name."""
    __tracebackhide__ = True
    expected = momenta(old)
    new = built(*groups, step=False)
    resume(new, old.state_dict())
    for name, parameter in zip(
        "".join(groups),
        (each for group in new.param_groups for each in group["params"]),
        strict=True,
    ):
        momentum = new.state[parameter].get("momentum_buffer", torch.empty(0)).tolist()
        owner = next((other for other, each in expected.items() if each == momentum), "nobody")
        assert name == owner, (
            f"after resuming an optimizer over {' and '.join(groups)}, {name} has the momentum of"
            f" {owner}, expected its own; {WHERE}"
        )
    return new


@pytest.mark.given
def test_one_order() -> None:
    """If nothing was reordered, position and name agree."""
    check(built("ab"), "ab")


def test_two_parameters() -> None:
    """Saved by [a, b], loaded into [b, a]: both would silently train with the wrong momentum."""
    check(built("ab"), "ba")


def test_two_groups() -> None:
    """A name may have moved to another group; the options stay with the group's position."""
    new = check(built("abc", "de", lrs=(0.25, 0.5)), "eca", "bd")
    yours = [group["lr"] for group in new.param_groups]
    assert [0.25, 0.5] == yours, f"your groups have lr {yours}, expected [0.25, 0.5]"


def test_the_names_stay_where_they_are() -> None:
    """The next checkpoint saves them, and must be resumable too."""
    new = check(built("ab", "c"), "ba", "c")
    yours = [group["param_names"] for group in new.state_dict()["param_groups"]]
    assert [["b", "a"], ["c"]] == yours, (
        f"the optimizer was built over [b, a] and [c], but now has {yours}: load_state_dict takes"
        " over the saved names, in the saved order"
    )
    check(new, "ac", "b")


def test_what_is_saved_stays() -> None:
    """A checkpoint may be loaded twice."""
    saved = built("abc").state_dict()
    before = copy.deepcopy(saved["param_groups"])
    new = built("cab", step=False)
    with unchanged(saved=saved["state"]):
        resume(new, saved)
    assert before == saved["param_groups"], "your code changes the groups of `saved`"
    first = momenta(new)
    resume(new, saved)
    assert first == momenta(new), f"after resuming twice: yours {momenta(new)}, once: {first}"
    assert "cab" == "".join(first), f"your optimizer has state for {[*first]}, expected c, a, b"
    resume(new, built("abc", step=False).state_dict())
    assert not new.state, (
        "a checkpoint from before the first step has no state: your code keeps the optimizer's old"
        f" one, {momenta(new)}"
    )
    # PyTorch's own load_state_dict still goes by position: no hook is left on the optimizer.
    new.load_state_dict(saved)
    yours = [group["param_names"] for group in new.param_groups]
    assert [[*"abc"]] == yours, (
        f"after resume(), the optimizer's own load_state_dict leaves the names {yours}, expected"
        " the saved ones: your code left a hook"
    )


def test_a_name_that_is_new() -> None:
    """A new name raises KeyError: better to stop than to start over. A removed one is fine."""
    new = built("ax", lrs=(0.5,), step=False)
    said = "loads it"
    try:
        resume(new, built("ab").state_dict())
    except KeyError as error:
        said = str(error)
    assert "x" in said, (
        f"`saved` has a and b, the optimizer has a and x: yours {said}, expected a KeyError that "
        "names x"
    )
    yours = (new.param_groups[0]["lr"], len(new.state))
    assert (0.5, 0) == yours, f"lr and states of the optimizer: yours {yours}, expected (0.5, 0)"
    # A layer was removed: drop its state, or the next checkpoint saves it under another index.
    new = check(built("abc"), "cb")
    states = len(new.state)
    assert states == 2, (
        f"saved by [a, b, c], resumed by [c, b]: your code leaves {states} states in the optimizer,"
        " expected two: a's state belongs to none of its parameters"
    )
    check(new, "bc")


@pytest.mark.given
def test_another_number_of_groups() -> None:
    """PyTorch raises ValueError for that, and your code must too."""
    for old, new in ((("ab", "c"), ("abc",)), (("abc",), ("ab", "c"))):
        with pytest.raises(ValueError):  # noqa: PT011 - whichever message
            resume(built(*new, step=False), built(*old).state_dict())


def test_a_run_goes_on() -> None:
    """AdamW and a model with reordered layers: equal to the uninterrupted run, bit for bit."""

    def model(names: str) -> nn.ModuleDict:
        torch.manual_seed(3)
        layers = {name: nn.Linear(3, 3, dtype=torch.float64) for name in "xyz"}
        return nn.ModuleDict({name: layers[name] for name in names})

    def optimizer(net: nn.Module) -> torch.optim.Optimizer:
        return torch.optim.AdamW(net.named_parameters(), lr=0.1)

    def steps(net: nn.ModuleDict, optim: torch.optim.Optimizer) -> None:
        for number in range(3):
            optim.zero_grad()
            # z is unused: without a gradient it has no state.
            out = net["x"](net["y"](torch.full((1, 3), 2.0 + number, dtype=torch.float64)))
            out.square().sum().backward()
            optim.step()

    whole, sorted_ = model("zyx"), model("xyz")
    old = optimizer(whole)
    steps(whole, old)
    new = optimizer(sorted_)
    sorted_.load_state_dict(whole.state_dict())
    resume(new, copy.deepcopy(old.state_dict()))
    steps(whole, old)
    steps(sorted_, new)
    theirs = whole.state_dict()
    apart = [name for name, x in sorted_.state_dict().items() if not torch.equal(x, theirs[name])]
    assert not apart, f"three steps after the resume, {apart} differ from the uninterrupted run"
