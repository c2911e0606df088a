"""Tests of k22_half: every expression is run and compared with your prediction."""

from __future__ import annotations

import pytest

from katas.lecture02 import k22_half as kata
from katas.lecture02.k22_half import EXPRESSIONS
from plugins.kit import forbids


# The rule that decides each expression; the answer itself comes from PyTorch.
RULES = {
    "half 2049": "11 bits count to 2048 in ones; halfway, the last bit is 0",
    "half 2051": "11 bits count to 2048 in ones; halfway, the last bit is 0",
    "brain 257": "8 bits count to 256 in ones; halfway, the last bit is 0",
    "half 65519": "rounding comes before the question whether it is too large",
    "half 65520": "rounding comes before the question whether it is too large",
    "half 2**-24": "subnormals go on below 2**-14",
    "half 2**-25": "halfway, the last bit of the result is 0, among subnormals too",
    "add 1 twice to half 2048": "each operator rounds",
    "count to 4096 in half": "each operator rounds: where does a 1 no longer count?",
    "sum of 4096 ones in half": "a sum adds in float32 and rounds once",
    "index_add of 4099 ones in half": "into a vector, index_add rounds each of its sums",
    "sum of 70000 ones in half": "what is too large when it is written is infinite",
    "mean of 70000 ones in half": "the division comes before the rounding",
    "half 0.5 * 100000": "a Python number is not rounded to the tensor's dtype, but the result is",
    "half 60000 + brain 60000": "each operand is rounded to its dtype: what is the common one?",
}


def predicted() -> dict[str, object]:
    """Return your rows, computed without torch."""
    __tracebackhide__ = True
    with forbids(kata) as fresh:
        # Read everything while torch is hidden, so that nothing is computed later.
        return dict(fresh.predictions().items())


def test_every_expression_is_predicted() -> None:
    """There is exactly one row for each expression; your rows cannot call torch."""
    yours = set(predicted())

    assert yours == set(EXPRESSIONS), (
        f"rows and expressions must match one to one; they differ in {yours}"
    )


@pytest.mark.device("cpu", "cuda")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_prediction(device: str, name: str) -> None:
    """The value is exactly that of PyTorch's result."""
    row = predicted()[name]
    is_right = type(row) in {float, int} and row == EXPRESSIONS[name](device).item()

    assert is_right, f"your row for {name!r} is {row}, not what PyTorch gives. Rule: {RULES[name]}"
