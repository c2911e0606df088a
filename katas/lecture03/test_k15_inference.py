"""Tests of k15_inference: every program is run and compared with your prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

from katas.lecture03 import k15_inference as kata
from katas.lecture03.k15_inference import PROGRAMS
from katas.lecture03.k15_inference import RAISES
from plugins.kit import forbids


if TYPE_CHECKING:
    from collections.abc import Callable


INFERENCE = "what is new in inference mode is an inference tensor, and records nothing"
NORMAL = "inference mode makes new tensors special, not those that were there, nor their views"
OUTSIDE = "outside, an inference tensor may be read, not written to, and not saved for backward"
# The rule that decides each program; the answer itself comes from PyTorch.
RULES = {
    "inference_product": INFERENCE,
    "inference_view": NORMAL,
    "grad_in_inference": INFERENCE,
    "inference_off_again": "inference_mode(mode=False) ends inference mode and turns grad mode on",
    "inference_written_inside": f"{INFERENCE}; and it has no counter",
    "normal_written_inside": f"{NORMAL}; and a write to one is counted",
    "inference_written_outside": OUTSIDE,
    "inference_added": f"{OUTSIDE}: what does the formula of a sum need?",
    "inference_multiplied": f"{OUTSIDE}: what does the formula of a product need?",
    "inference_read": f"{OUTSIDE}: is there a backward here?",
}


def predicted() -> dict[str, str]:
    """Return your rows as text, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        # Read everything while torch is hidden, so that nothing is computed later.
        return {
            name: repr(
                row
                if type(row) is str
                else (row.requires_grad, row.is_leaf, row.is_inference, row.version)
            )
            for name, row in fresh.predictions().items()
        }


@pytest.mark.given
def test_an_inference_tensor_stays_one() -> None:
    """Outside inference mode, an inference tensor cannot become a leaf that requires grad."""
    with torch.inference_mode():
        x = torch.ones(2)

    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor outside"):
        x.requires_grad_()


@pytest.mark.given
def test_the_cache_of_the_brief() -> None:
    """A sum needs neither input in backward, but a product needs both."""
    with torch.inference_mode():
        cache = torch.ones(3)
    w = torch.ones(3, requires_grad=True)

    assert (cache + w).requires_grad, "a sum may read an inference tensor"
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        cache * w


@pytest.mark.given
def test_leaving_inference_mode_turns_grad_mode_on() -> None:
    """Even inside no_grad, mode=False turns grad mode on instead of restoring it."""
    with torch.no_grad(), torch.inference_mode(mode=False):
        assert torch.is_grad_enabled(), "expected inference_mode(mode=False) to turn grad mode on"
    assert torch.is_grad_enabled(), "expected the old mode again at the end"


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
        version = None if result.is_inference() else result._version  # noqa: SLF001
        right = (result.requires_grad, result.is_leaf, result.is_inference(), version)
    # In Python True equals 1, but a version is not a bool.
    is_right = row == repr(right)

    assert is_right, (
        f"{name}: {program.__doc__}\n"
        f"yours  {row}, which is not what PyTorch gives\n"
        f"rule   {RULES[name]}"
    )
