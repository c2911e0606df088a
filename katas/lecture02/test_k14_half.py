"""Tests of k14_half: every expression is run, and compared with what you predicted."""

from __future__ import annotations

import pytest
from torch.overrides import TorchFunctionMode

from katas.lecture02.k14_half import EXPRESSIONS
from katas.lecture02.k14_half import predictions


WHY = {
    "half 2049": "11 bits count to 2048 in ones",
    "brain 257": "8 bits count to 256 in ones",
    "half 65520": "rounding comes before the question whether it is too large",
    "brain 65520": "bfloat16 has the range of float32",
    "half 2**-24": "subnormals go on below 2**-14",
    "half 2**-25": "halfway between 0 and the smallest subnormal",
    "half 1 + 3 * 2**-11": "halfway, the last bit of the result is 0",
    "add 1 twice to half 2048": "each operator rounds",
    "sum of half 2048, 1, 1": "a reduction adds in float32 and rounds once",
    "mean of 70000 ones in half": "the division comes before the rounding",
    "half 0.5 * 100000": "a Python number is not rounded to the dtype of the tensor",
    "half 60000 + brain 60000": "what is the common dtype?",
    "double 1 + 2**-8 + 2**-40 to brain": "on the way through float32 it is rounded, too",
}


@pytest.mark.device("cpu", "cuda")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_prediction(device: str, name: str) -> None:
    """The value is exactly that of PyTorch's result."""
    predicted = predictions()[name]
    value = EXPRESSIONS[name](device).item()

    assert isinstance(predicted, float)
    assert value == predicted, f"PyTorch says {value!r}; {WHY.get(name, 'count the spacing')}"


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
