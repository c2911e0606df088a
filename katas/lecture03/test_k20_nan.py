"""Tests of k20_nan: anomaly mode names the first culprit in the same graph."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture03 import k20_nan as kata
from plugins.kit import forbids
from plugins.kit import freed
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


def leaf(*values: float) -> torch.Tensor:
    """Return a leaf that requires a gradient."""
    return torch.tensor(values, requires_grad=True)


def accused(root: torch.Tensor) -> list[str]:
    """Return the node that PyTorch's anomaly mode accuses, or none."""
    try:
        with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
            warnings.simplefilter("ignore")
            root.backward(retain_graph=True)
    except RuntimeError as error:
        return re.findall("Function '(.*)' returned nan", str(error))
    return []


PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "where hides the value, not the gradient": lambda x: torch.where(x > 1, x.sqrt(), 0.0).sum(),
    "infinity times 0": lambda x: (x * 0).sqrt().sum(),
    "infinity alone is no NaN": lambda x: x.sqrt().sum(),
    "all is well": lambda x: x.exp().sum(),
    "NaN goes on through others": lambda x: (((x * 2).exp() - 1).sqrt() * 0).exp().sum(),
    "no spread": lambda x: (x * 0).std(),
    "the second gradient alone": lambda x: torch.xlogy(x * 1, x * 2).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_culprit_is_that_of_anomaly_mode(name: str) -> None:
    """One node got numbers and returned NaN; later nodes only pass it on."""
    root = PROGRAMS[name](leaf(0.0, 1.0))
    theirs = accused(root)
    with unchanged(root=root):
        yours = kata.watch(root)
    root.backward()

    assert theirs == yours, f"{name}: you accuse {yours}, anomaly mode accuses {theirs}"


def test_each_branch_may_have_one() -> None:
    """Anomaly mode stops at the first culprit; `watch` finds all, in the order they ran."""
    x, y = leaf(0.0), leaf(0.0)
    first, second = x.sqrt() * 0, y.log() * 0
    root = (first + second).sum()
    yours = kata.watch(root)
    root.backward()

    expected = ["LogBackward0", "SqrtBackward0"]
    assert expected == yours, f"yours {yours}, expected {expected}: forward called log after sqrt"


def test_what_comes_in_has_no_culprit() -> None:
    """A NaN in the gradient passed to backward comes from elsewhere."""
    root = leaf(1.0) * 2
    yours = kata.watch(root)
    root.backward(torch.tensor([torch.nan]))

    assert [] == yours, f"yours {yours}, expected none: each node got NaN and passed it on"


def test_each_backward_is_watched() -> None:
    """A second backward extends the list."""
    root = (leaf(0.0).sqrt() * 0).sum()
    yours = kata.watch(root)
    assert [] == yours, f"no backward has run, but yours has {yours}"
    root.backward(retain_graph=True)
    root.backward()

    assert ["SqrtBackward0"] * 2 == yours, (
        f"expected SqrtBackward0 once for each of two backwards, yours {yours}"
    )


def test_gradients_stay() -> None:
    """Hooks only look and return nothing."""
    x = leaf(0.3, 0.7)
    root = x.exp().sum()
    kata.watch(root)
    root.backward()

    says = "with your hooks on, the gradient is another one\n".__add__
    torch.testing.assert_close(x.grad, x.detach().exp(), msg=says)
    x = leaf(0.0, 1.0)
    root = (x.sqrt() * 0).sum()
    kata.watch(root)
    root.backward()

    expected = torch.tensor([torch.nan, 0.0])
    says = "a NaN is to be found, not mended\n".__add__
    torch.testing.assert_close(x.grad, expected, equal_nan=True, msg=says)


class Bystander:
    """An object that lives as long as the node that holds it."""


def test_the_graph_is_freed() -> None:
    """The graph dies with its last tensor, by reference counting."""

    def made() -> Bystander:
        bystander = Bystander()
        root = leaf(1.0).exp().sum()
        kata.watch(root)
        root.grad_fn.metadata["bystander"] = bystander
        return bystander

    freed(made, "A hook that names its node is owned by it, and owns it: note the name.")


def test_anomaly_mode_is_not_asked() -> None:
    """Anomaly mode stops at the first NaN, and slows down every operator of forward."""
    anomaly = ("autograd.detect_anomaly", "autograd.set_detect_anomaly", "autograd.anomaly_mode")
    with forbids(kata, *(f"torch.{name}" for name in anomaly)) as fresh:
        root = (leaf(0.0).sqrt() * 0).sum()
        fresh.watch(root)
        root.backward()
