"""Tests of k09_interaction: pairs one by one, then the identity."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture25.k09_interaction import interaction_sum
from katas.lecture25.k09_interaction import interactions
from plugins.kit import unchanged


SIZES = [(1, 2, 3), (3, 4, 2), (2, 1, 3), (2, 5, 1), (0, 3, 2), (2, 0, 3), (2, 3, 0)]


class Made(TorchDispatchMode):
    """Counts operators, and keeps the size of the largest result."""

    def __init__(self) -> None:
        super().__init__()
        self.operators = self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operator, and count."""
        result = func(*args, **(kwargs or {}))
        self.operators += 1
        for each in result if isinstance(result, tuple | list) else (result,):
            self.largest = max(self.largest, each.numel())
        return result


def numbers(*shape: int) -> torch.Tensor:
    """Return irrational numbers in float64."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def pairs(features: torch.Tensor) -> torch.Tensor:
    """Return the dot products, computed one by one."""
    batch, n, _ = features.shape
    found = torch.zeros(batch, n * (n - 1) // 2, dtype=features.dtype)
    place = 0
    for i in range(n):
        for j in range(i):
            found[:, place] = (features[:, i] * features[:, j]).sum(1)
            place += 1
    return found


def close(yours: torch.Tensor, expected: torch.Tensor, what: str, gap: float = 1e-12) -> None:
    """Compare shapes and dtypes, then numbers."""
    __tracebackhide__ = True
    kinds = [([*each.shape], each.dtype) for each in (yours, expected)]
    assert kinds[0] == kinds[1], f"{what}: yours has {kinds[0]}, expected {kinds[1]}"
    says = f"{what}: yours is {yours.tolist()}, expected {expected.tolist()}\n".__add__
    torch.testing.assert_close(yours, expected, rtol=0, atol=gap, msg=says)


def test_the_order_of_pairs() -> None:
    """With features 2, 3, 5 and 7 a product identifies its pair; a product of 0 is kept."""
    yours = interactions(torch.tensor([[[2.0], [3.0], [5.0], [7.0]], [[2.0], [0.0], [5.0], [7.0]]]))
    expected = torch.tensor(
        [[6.0, 10.0, 15.0, 14.0, 21.0, 35.0], [0.0, 10.0, 0.0, 14.0, 0.0, 35.0]]
    )
    close(yours, expected, "features 2 3 5 7 and 2 0 5 7, pairs row by row below the diagonal")


@pytest.mark.parametrize("size", SIZES)
def test_interactions(size: tuple[int, int, int]) -> None:
    """Any batch and any n; one feature has no pairs."""
    features = numbers(*size)
    with unchanged(features=features):
        yours = interactions(features)

    close(yours, pairs(features), f"features of shape {[*size]}")


def test_a_sum_of_three_pairs() -> None:
    """Features 1, 2 and 3 give 2 + 3 + 6."""
    yours = interaction_sum(torch.tensor([[[1.0], [2.0], [3.0]]]))
    close(yours, torch.tensor([11.0]), "features 1 2 3: each pair once, and no squares")


@pytest.mark.parametrize("size", SIZES)
def test_interaction_sum(size: tuple[int, int, int]) -> None:
    """The result is the sum of the pairs, even if there are none."""
    features = numbers(*size)
    with unchanged(features=features):
        yours = interaction_sum(features)

    close(yours, pairs(features).sum(1), f"features of shape {[*size]}")


def test_the_sum_makes_no_pairs() -> None:
    """60 features have 120 numbers, but 30 times as many dot products."""
    features = numbers(4, 60, 2)
    with Made() as made:
        interaction_sum(features)

    assert made.largest <= features.numel(), (
        f"your largest tensor has {made.largest} numbers, `features` has {features.numel()}, and"
        f" all dot products are {4 * 60 * 60}. Multiply the sum of the features by itself."
    )


def test_gradients() -> None:
    """The gradients of both functions agree with finite differences."""
    features = numbers(2, 4, 3).requires_grad_()
    for function in (interactions, interaction_sum):
        right = torch.autograd.gradcheck(function, features, raise_exception=False)
        assert right, f"`{function.__name__}`: the gradient and finite differences differ"


def test_no_loop() -> None:
    """More samples or features take no more operators."""
    for function in (interactions, interaction_sum):
        counts = []
        for size in ((2, 3, 2), (5, 3, 2), (2, 7, 2)):
            features = numbers(*size)
            with Made() as made:
                function(features)
            counts.append(made.operators)
        assert len({*counts}) == 1, (
            f"operators of `{function.__name__}` for [2, 3, 2], [5, 3, 2] and [2, 7, 2]: {counts},"
            f" expected the same"
        )


def test_dtype_and_views() -> None:
    """float32 stays float32, and features may be any view."""
    features = numbers(3, 2, 4).mT
    close(interactions(features), pairs(features), "a transposed view, the pairs")
    close(interaction_sum(features), pairs(features).sum(1), "a transposed view, the sum")
    narrow = features.float()
    close(interactions(narrow), pairs(narrow), "float32, the pairs", 1e-5)
    close(interaction_sum(narrow), pairs(narrow).sum(1), "float32, the sum", 1e-5)
