"""Tests of k03_which_road: the installed PyTorch says what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture19.conftest import close
from katas.lecture19.conftest import numbers
from katas.lecture19.k03_which_road import Operators
from katas.lecture19.k03_which_road import attend
from katas.lecture19.k03_which_road import road
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


class Reference(TorchDispatchMode):
    """The mode that yours is compared with."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Record the operator, and run it."""
        self.text += f"{func} "
        return func(*args, **(kwargs or {}))


def reference(call: Callable[[], object]) -> str:
    """Return the path that a call takes in the installed PyTorch."""
    with Reference() as seen:
        call()
    if "_native_multi_head_attention" in seen.text:
        return "native"
    return "fused" if "scaled_dot_product" in seen.text else "separate"


def layer(*, training: bool = True, dropout: float = 0.0) -> nn.MultiheadAttention:
    """Return attention of width 8 with two heads, in float64."""
    torch.manual_seed(0)
    return nn.MultiheadAttention(8, 2, dropout, batch_first=True).double().train(training)


def test_operators_by_name() -> None:
    """Names come in order, as often as operators run inside the with; results are right."""
    x = torch.ones(2)
    with Operators() as seen:
        y = x + 1
        z = torch.relu(y) + 1
    x + 1
    expected = ["aten.add.Tensor", "aten.relu.default", "aten.add.Tensor"]

    assert seen.names == expected, f"your mode recorded {seen.names}, expected {expected}"
    assert isinstance(y, torch.Tensor), f"x + 1 is {y!r} in your mode, expected a tensor"
    close(z, [3.0, 3.0], "relu(1 + 1) + 1 in your mode")


def test_keywords_arrive() -> None:
    """Scales and dtypes come by name, and each mode has a list of its own."""
    with Operators() as first:
        y = torch.add(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64), alpha=5)
    with Operators() as second:
        pass

    assert y.tolist() == [6, 6], f"1 + 5 * 1 in your mode: yours {y.tolist()}, expected [6, 6]"
    assert len(first.names) == 3, (
        f"two tensors and one sum: your mode recorded {first.names}, expected 3"
    )
    assert not second.names, f"nothing ran in the second mode, but it recorded {second.names}"


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_the_table(*, training: bool, grad: bool) -> None:
    """Self-attention, equal values in different objects, a memory; with and without weights."""
    mha, x, memory = layer(training=training), numbers(2, 5, 8), numbers(2, 7, 8)
    for inputs, what in (
        ((x, x, x), "x, x, x"),
        ((x, x.clone(), x.clone()), "x and clones"),
        ((x, memory, memory), "x, memory, memory"),
    ):
        for weights in (True, False):

            def call(inputs: Any = inputs, weights: Any = weights) -> object:
                return mha(*inputs, need_weights=weights)

            with torch.set_grad_enabled(grad):
                yours, expected = road(call), reference(call)
            assert yours == expected, (
                f"mha({what}, need_weights={weights}), training={training}, gradients {grad}: "
                f"yours {yours}, expected {expected}"
            )


def test_other_settings() -> None:
    """Dropout, a mask, frozen weights, inference mode, and a call without attention."""
    x, mask = numbers(2, 5, 8), torch.zeros(2, 5, dtype=torch.bool)
    drops, evaluated = layer(dropout=0.5), layer(training=False)
    frozen = layer(training=False).requires_grad_(requires_grad=False)

    def inference() -> object:
        with torch.inference_mode():
            return evaluated(x, x[:], x, need_weights=False)

    for call, what in (
        (lambda: drops(x, x, x, need_weights=False), "dropout in training, no weights"),
        (lambda: frozen(x, x, x, key_padding_mask=mask), "frozen weights and a padding mask"),
        (lambda: frozen(x, x, x.clone()), "frozen weights and a clone"),
        (inference, "inference mode, and a view of x"),
        (lambda: x + x, "x + x"),
    ):
        yours, expected = road(call), reference(call)
        assert yours == expected, f"{what}: yours {yours}, expected {expected}"


def test_native_comes_first() -> None:
    """Whichever ran first: a call with a native and a fused attention is native."""
    mha, x, q = layer(training=False), numbers(2, 5, 8), numbers(2, 2, 5, 4)

    def fused() -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, q, q)

    with torch.no_grad():
        for call, what in (
            (lambda: (fused(), mha(x, x, x)), "a fused attention, then a native one"),
            (lambda: (mha(x, x, x), fused()), "a native attention, then a fused one"),
        ):
            yours = road(call)
            assert yours == "native", f"{what}: yours {yours!r}, expected 'native'"


def test_one_call_and_no_trace() -> None:
    """The call runs once; its error propagates, and no mode stays."""
    calls = []
    road(lambda: calls.append(1))
    assert len(calls) == 1, f"road makes {len(calls)} calls, expected 1"
    with unchanged(), pytest.raises(ZeroDivisionError):
        road(lambda: 1 // 0)


def test_attend_is_fused_in_training() -> None:
    """The output has a graph, and is mha's default output; the layer stays in training."""
    mha, x, memory = layer(), numbers(2, 5, 8), numbers(2, 7, 8)
    expected = mha(x, memory, memory)[0]
    with unchanged(mha, x=x, memory=memory):
        taken = reference(lambda: attend(mha, x, memory))
        yours = attend(mha, x, memory)

    assert isinstance(yours, torch.Tensor), f"attend returns {type(yours)}, expected the output"
    assert taken == "fused", f"attend takes the path {taken!r}, expected 'fused'"
    assert yours.requires_grad, "attend has no graph: there is nothing to train"
    close(yours.detach(), expected.detach(), "attend, and mha(x, memory, memory)[0]")
