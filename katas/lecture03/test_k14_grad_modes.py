"""Tests of k14_grad_modes: every program is run and compared with your prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture03 import k14_grad_modes as kata
from katas.lecture03.k14_grad_modes import PROGRAMS
from katas.lecture03.k14_grad_modes import RAISES
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable


MADE = "a result requires grad if an input does and grad mode is on where it is made"
LEAF = "a leaf that requires grad may be written to only where grad mode is off"
COUNTER = "bases, views and detached aliases share one counter, and .data has its own"
VIEW = "some views may not be written to: ask where it was made, and with how many others"
# The rule that decides each program; the answer itself comes from PyTorch.
RULES = {
    "no_grad_product": MADE,
    "enabled_again": f"{MADE}: the innermost mode counts",
    "switched_off": MADE,
    "new_leaf_in_no_grad": "requires_grad_ is no operation that a mode could leave unrecorded",
    "leaf_written": LEAF,
    "leaf_written_in_no_grad": f"{LEAF}; and there each write counts",
    "leaf_written_by_view": f"{LEAF}, by itself or through a view",
    "alias_written": COUNTER,
    "data_written": COUNTER,
    "plain_written": "a write of what requires grad is recorded, and counted",
    "view_written": COUNTER,
    "no_grad_view_written": VIEW,
    "one_of_many_written": VIEW,
    "detached_for_good": "detach_ takes the history away; the counter stays where it is",
}


def predicted() -> dict[str, object]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        # Read everything while torch is hidden, so that nothing is computed later.
        return {
            name: row if type(row) is str else (row.requires_grad, row.is_leaf, row.version)
            for name, row in fresh.predictions().items()
        }


@pytest.mark.given
def test_the_three_writes_of_the_brief() -> None:
    """One write is refused, one is counted, one is not."""
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    x.detach().add_(1)
    assert 1 == x._version, "expected 1: a detached alias shares the counter"  # noqa: SLF001
    x.data.add_(1)
    assert 1 == x._version, "expected the version to stay 1: .data has its own counter"  # noqa: SLF001


def test_every_program_is_predicted() -> None:
    """There is exactly one row for each program; your rows cannot call torch."""
    yours = set(predicted())

    assert yours == {program.__name__ for program in PROGRAMS}, (
        f"yours has rows for {sorted(yours)}; expected one for each of PROGRAMS"
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_prediction(device: str, program: Callable[..., torch.Tensor]) -> None:
    """Predict whether the program raises, and the properties of the returned tensor."""
    name = program.__name__
    row = predicted()[name]
    right: object = RAISES
    x = torch.ones(3, device=device, requires_grad=True)
    try:
        result = program(x, torch.ones(3, device=device))
    except RuntimeError:
        pass
    else:
        right = (result.requires_grad, result.is_leaf, result._version)  # noqa: SLF001
    # In Python True equals 1, but a version is an int, neither a bool nor a lazy object.
    kinds = [type(each) for each in row] if isinstance(row, tuple) else type(row)
    is_right = kinds in ([bool, bool, int], str) and row == right

    assert is_right, (
        f"{name}: {program.__doc__}\n"
        f"yours  {row}, which is not what PyTorch gives\n"
        f"rule   {RULES[name]}"
    )
