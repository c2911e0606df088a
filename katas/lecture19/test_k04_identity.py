"""Tests of k04_identity: values by hand, and products counted, including PyTorch's."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k04_identity import project
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence


WEIGHT, BIAS = numbers(12, 4, seed=7), numbers(12, seed=8)
X, M, N = numbers(2, 3, 4), numbers(2, 5, 4, seed=1), numbers(2, 5, 4, seed=2)


class Products(TorchDispatchMode):
    """Counts matrix products."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the operator, and run it."""
        name = str(func).split(".")[1]
        self.count += name in {"mm", "bmm", "addmm", "baddbmm", "linear", "matmul"}
        return func(*args, **(kwargs or {}))


def products(call: Callable[[], object]) -> int:
    """Return how many matrix products a call takes."""
    with Products() as seen:
        call()
    return seen.count


def check(inputs: Sequence[torch.Tensor], expected: int, what: str) -> None:
    """Compare the values with three products, and the count with what is expected."""
    __tracebackhide__ = True
    with unchanged(inputs=inputs, weight=WEIGHT, bias=BIAS):
        found = project(*inputs, WEIGHT, BIAS)
    assert len(found) == 3, f"{what}: your code returns {len(found)} tensors, expected 3"
    for n, name in enumerate(("query", "key", "value")):
        part = slice(4 * n, 4 * n + 4)
        right = inputs[n] @ WEIGHT[part].t() + BIAS[part]
        close(found[n], right, f"{what}: the projected {name}")
    taken = products(lambda: project(*inputs, WEIGHT, BIAS))
    assert taken == expected, f"{what}: your code takes {taken} products, expected {expected}"


def test_one_object_three_times() -> None:
    """One product with all of the weight."""
    check((X, X, X), 1, "x, x, x")


def test_three_inputs() -> None:
    """Query, key and value are three objects."""
    check((X, M, N), 3, "x, m, n")


def test_a_memory() -> None:
    """Cross-attention: key and value are one object, the query is a different one."""
    check((X, M, M), 2, "x, m, m")


def test_equal_values_in_other_objects() -> None:
    """A clone is a different object, and so is a view, although it has the same memory."""
    check((X, X.clone(), X.clone()), 3, "x and clones")
    check((X, X[:], X.view_as(X)), 3, "x and views")
    same = X.clone()
    check((X, same, same), 2, "x and one clone, twice")


def test_other_pairs() -> None:
    """A query that is only the key, or only the value: the weights' parts are not adjacent."""
    check((M, M, N), 3, "m, m, n")
    check((M, N, M), 3, "m, n, m")


def test_as_many_as_pytorch() -> None:
    """MultiheadAttention takes one more, for its output."""
    mha = nn.MultiheadAttention(4, 2, batch_first=True).double()
    copy = M.clone()
    for inputs in ((M, M, M), (M, copy, copy), (M, copy, N), (M, M, N), (M, copy, M)):
        with torch.no_grad():
            yours = products(lambda given=inputs: project(*given, WEIGHT, BIAS))
            expected = products(lambda given=inputs: mha(*given, need_weights=False)) - 1
        same = [inputs[0] is inputs[1], inputs[1] is inputs[2], inputs[0] is inputs[2]]
        assert yours == expected, (
            f"query is key, key is value, query is value: {same}; your code takes {yours}"
            f" products, PyTorch's projection {expected}"
        )


def test_gradients() -> None:
    """They agree with finite differences, for inputs, weight and bias."""
    x, m = (numbers(2, 2, seed=seed).requires_grad_() for seed in (3, 4))
    weight, bias = numbers(6, 2).requires_grad_(), numbers(6).requires_grad_()

    for call, what in (
        (lambda x, _m, w, b: project(x, x, x, w, b), "x, x, x"),
        (lambda x, m, w, b: project(x, m, m, w, b), "x, m, m"),
    ):
        assert torch.autograd.gradcheck(call, (x, m, weight, bias)), f"wrong gradients: {what}"
