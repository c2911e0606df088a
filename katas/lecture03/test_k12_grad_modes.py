"""Tests of k12_grad_modes: every program is run, and compared with what you predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch.overrides import TorchFunctionMode

from katas.lecture03.k12_grad_modes import PROGRAMS
from katas.lecture03.k12_grad_modes import RAISES
from katas.lecture03.k12_grad_modes import predictions


if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_prediction(device: str, program: Callable[..., torch.Tensor]) -> None:
    """Whether it raises, and what the returned tensor says of itself."""
    predicted = predictions()[program.__name__]
    x = torch.ones(3, device=device, requires_grad=True)
    try:
        result, message = program(x, torch.ones(3, device=device)), ""
    except RuntimeError as error:
        result, message = None, str(error)
    if result is None:
        assert predicted == RAISES, f"it raises: {message}"
        return

    assert predicted != RAISES, f"it returns a tensor, and its grad_fn is {result.grad_fn}"
    assert not isinstance(predicted, str)
    assert result.requires_grad == predicted.requires_grad
    why = "it has a grad_fn" if result.grad_fn else "it has no grad_fn"
    assert result.is_leaf == predicted.is_leaf, why
    assert result.is_inference() is predicted.is_inference
    version = None if result.is_inference() else result._version  # noqa: SLF001
    assert version == predicted.version, "in-place operations that autograd was told of"


def test_every_program_is_predicted() -> None:
    """No more and no less."""
    assert {program.__name__ for program in PROGRAMS} == set(predictions())


class Calls(TorchFunctionMode):
    """Notes every function of torch that is called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Note the name and go on."""
        self.names.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


def test_nothing_is_run_to_predict() -> None:
    """Looking it up skips the kata."""
    with Calls() as calls:
        predictions()

    assert [] == calls.names, "predict with pencil and paper; the other tests run PyTorch for you"
