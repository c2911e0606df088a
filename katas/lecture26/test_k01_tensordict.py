"""Tests of k01_tensordict: which writes reach the episode, and which stay in the row."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture26.k01_tensordict import Rows
from katas.lecture26.k01_tensordict import record
from katas.lecture26.k01_tensordict import tied
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Mapping


def episode() -> Rows:
    """Return three steps of zeros."""
    return Rows(
        {
            "observation": torch.zeros(3, 2),
            "action": torch.zeros(3, dtype=torch.int64),
            "reward": torch.zeros(3),
        }
    )


def recorded(yours: Rows, index: Any, step: Mapping[str, torch.Tensor]) -> None:
    """Record a step, and check that the episode still has its tensors."""
    __tracebackhide__ = True
    before = dict(yours.tensors)
    with unchanged(**step):
        record(yours, index, step)
    for name, tensor in before.items():
        assert yours[name] is tensor, (
            f"the episode's tensor under {name!r} was replaced: write into its memory"
        )


def same(yours: torch.Tensor, expected: list[Any], what: str) -> None:
    """Compare values."""
    __tracebackhide__ = True
    assert yours.tolist() == expected, f"{what}: yours {yours.tolist()}, expected {expected}"


@pytest.mark.given
def test_the_lines_of_the_brief() -> None:
    """A write through the view reaches the episode; a tensor put under the name does not."""
    whole = episode()
    row = whole[1]
    row["reward"].fill_(3)
    same(whole["reward"], [0.0, 3.0, 0.0], "after fill_")
    row["reward"] = torch.tensor(7.0)
    same(whole["reward"], [0.0, 3.0, 0.0], "after the assignment")


def test_one_row() -> None:
    """Record step 1 of three; the other rows stay, and so does a name that the step lacks."""
    yours = episode()
    recorded(yours, 1, {"reward": torch.tensor(2.5), "observation": torch.tensor([4.0, 5.0])})

    same(yours["reward"], [0.0, 2.5, 0.0], "reward (0 in row 1: you wrote to a row, not through)")
    same(yours["observation"], [[0.0, 0.0], [4.0, 5.0], [0.0, 0.0]], "observation")
    same(yours["action"], [0, 0, 0], "action, which the step does not have")


def test_several_rows() -> None:
    """A slice as index takes a batch of steps."""
    yours = episode()
    recorded(yours, slice(0, 3, 2), {"action": torch.tensor([6, 7]), "reward": torch.ones(2)})

    same(yours["action"], [6, 0, 7], "action, rows 0 and 2")
    same(yours["reward"], [1.0, 0.0, 1.0], "reward, rows 0 and 2")


def test_numbers_without_history() -> None:
    """A network's output has a graph, which an episode must not keep alive."""
    yours, value = episode(), torch.tensor(3.0, requires_grad=True)
    recorded(yours, 2, {"reward": 2 * value})

    assert not yours["reward"].requires_grad, (
        "the episode's reward requires grad: detach the value before you write it"
    )
    same(yours["reward"], [0.0, 0.0, 6.0], "reward")


def test_tied_until_assigned() -> None:
    """A name of a row is tied until another tensor is put under it."""
    whole = episode()
    row = whole[1]
    names = {"observation", "action", "reward"}
    yours = tied(row, whole)
    assert yours == names, (
        f"a fresh row 1: yours {yours or 'none'}, expected all three names; a view that does not "
        "begin where its base does has a different data_ptr(), but the same storage"
    )
    row["reward"] = torch.tensor(0.0)
    row["action"] = whole["action"][1].clone()
    yours = tied(row, whole)
    assert yours == {"observation"}, (
        f"reward and action of the row are new tensors: yours {yours}, expected only observation; "
        "equal values do not share memory"
    )


def test_names_and_views() -> None:
    """The episode's tensors may be views themselves; the row may have more names."""
    rewards = torch.zeros(5)
    whole = Rows({"reward": rewards[2:], "action": torch.zeros(3)})
    row = whole[1:]
    row["advantage"] = rewards[:2]
    row["action"] = rewards[:2]
    yours = tied(row, whole)
    assert yours == {"reward"}, (
        f"yours {yours}, expected only reward: the row's action shares memory with the rewards, "
        "not with the episode's action, and the episode has no advantage"
    )


@pytest.mark.backend("torchrl")
def test_tensordict_agrees() -> None:
    """A TensorDict gives the same answers as Rows."""
    from tensordict import TensorDict  # noqa: PLC0415 - optional

    whole: Any = TensorDict(episode().tensors, batch_size=[3])
    record(whole, 1, {"reward": torch.tensor(2.5)})
    row = whole[1]
    row["action"] = torch.tensor(4)
    row.set_("observation", torch.ones(2))

    same(whole["reward"], [0.0, 2.5, 0.0], "reward")
    same(whole["observation"][1], [1.0, 1.0], "observation, by TensorDict.set_")
    yours = tied(row, whole)
    assert yours == {"reward", "observation"}, f"yours {yours}, expected all but action"
