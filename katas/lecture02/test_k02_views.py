"""Tests of k02_views: every expression is run, and compared with what you predicted."""

from __future__ import annotations

import pytest
import torch
from torch.overrides import TorchFunctionMode

from katas.lecture02.k02_views import EXPRESSIONS
from katas.lecture02.k02_views import predictions


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_prediction(device: str, name: str) -> None:
    """Storage, strides and storage offset are those of the result that PyTorch returns."""
    prediction = predictions()[name]
    x = torch.arange(24, device=device).reshape(2, 3, 4)
    result = EXPRESSIONS[name](x)
    shares = x.untyped_storage().data_ptr() == result.untyped_storage().data_ptr()

    words = "shares the storage of x" if shares else "has a storage of its own"
    assert shares == prediction.shares, f"the result {words}"
    assert result.stride() == prediction.strides, f"a result of shape {tuple(result.shape)}"
    assert result.storage_offset() == prediction.offset


def test_every_expression_is_predicted() -> None:
    """No more and no less."""
    assert set(EXPRESSIONS) == set(predictions())


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
