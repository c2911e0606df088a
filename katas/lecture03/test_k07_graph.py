"""Tests of k07_graph: every program is run, and its graph compared with what you predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch.overrides import TorchFunctionMode

from katas.lecture03.k07_graph import PROGRAMS
from katas.lecture03.k07_graph import predictions


if TYPE_CHECKING:
    from torch.autograd.graph import Node


def drawn(node: Node | None) -> str:
    """Return a node and what is behind it, in the notation of the kata."""
    if node is None:
        return "None"
    name = node.name().rpartition("::")[2]
    children = [drawn(child) for child, _ in node.next_functions]
    return f"{name}({', '.join(children)})" if children else name


@pytest.mark.parametrize("name", PROGRAMS)
def test_prediction(name: str) -> None:
    """Graph, leaf and requires_grad are those of the tensor that PyTorch returns."""
    prediction = predictions()[name]
    result = PROGRAMS[name](torch.ones(2, 2, requires_grad=True))

    assert drawn(result.grad_fn) == prediction.graph, f"{name}: {PROGRAMS[name].__doc__}"
    assert result.is_leaf is prediction.is_leaf, "a leaf is a tensor without a grad_fn"
    assert result.requires_grad is prediction.requires_grad


def test_every_program_is_predicted() -> None:
    """No more and no less."""
    assert set(PROGRAMS) == set(predictions())


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
