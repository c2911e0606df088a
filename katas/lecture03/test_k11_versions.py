"""Tests of k11_versions: the same writes are done to PyTorch's operators and to yours."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from katas.lecture03 import k11_versions as kata
from katas.lecture03.k11_versions import SavedTensor
from katas.lecture03.k11_versions import same_counter
from plugins.kit import forbids
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable


# What makes one tensor from another; the test finds out live which of them share a counter.
RELATIVES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "itself": lambda x: x,
    "view": lambda x: x[1:],
    "view of a view": lambda x: x.view(2, 2).T[0],
    "other dtype": lambda x: x.view(torch.int32),
    "detach": lambda x: x.detach(),
    "parameter": torch.nn.Parameter,
    "contiguous": lambda x: x.contiguous(),
    "data": lambda x: x.data,
    "numpy": lambda x: torch.from_numpy(x.numpy()),
    "set_": lambda x: torch.empty(0).set_(x),
    "clone": lambda x: x.clone(),
    "sum": lambda x: x + 0,
}


class Operators(TorchDispatchMode):
    """Notes the name of every operator that is run."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Note the name and go on."""
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def inference() -> torch.Tensor:
    """Return a tensor without a version counter."""
    with torch.inference_mode():
        return torch.ones(2)


@pytest.mark.parametrize("name", RELATIVES)
def test_relatives_share_a_counter_or_not(name: str) -> None:
    """As a real write in place, in either direction, shows."""
    x = torch.ones(4)
    y = RELATIVES[name](x)
    before = y._version  # noqa: SLF001
    x.zero_()
    shared = y._version != before  # noqa: SLF001

    assert shared is same_counter(x, y), f"x.zero_() {'moves' if shared else 'does not move'} it"
    assert shared is same_counter(y, x)
    assert shared is same_counter(x, y), "asking once more gives the same answer"


def test_asking_runs_nothing() -> None:
    """Adding 0 in place would move the counter too, but a leaf refuses it, and it costs a write."""
    x = torch.ones(2, requires_grad=True)
    with unchanged(x=x, but=("version",)), Operators() as log:
        assert same_counter(x, x) is True

    assert [] == log.names, "no operator is needed to move a counter"
    assert same_counter(x, x.detach()) is True


def test_inference_tensors_share_nothing() -> None:
    """They have no counter: that is what makes them cheap."""
    x = inference()

    assert same_counter(x, torch.ones(2)) is False
    assert same_counter(torch.ones(2), x) is False
    assert same_counter(x, x) is False


def test_what_was_saved_comes_back(device: str) -> None:
    """The tensor itself, as often as it is asked for."""
    x = torch.ones(2, device=device)
    with unchanged(x=x):
        saved = SavedTensor(x)
        first, second = saved.unpack(), saved.unpack()

    assert first is x, "no copy: saving must cost nothing"
    assert second is x, "no copy the second time either"


def test_an_overwritten_tensor_is_refused(device: str) -> None:
    """With both versions, counted from where the tensor was when it was saved."""
    x = torch.ones(2, device=device)
    x.add_(1)
    saved = SavedTensor(x)
    assert x is saved.unpack(), "what was written before it was saved does not count"
    x.add_(1)
    x.mul_(2)

    with pytest.raises(RuntimeError, match="modified by an inplace operation") as caught:
        saved.unpack()
    assert "is at version 3; expected version 1 instead" in str(caught.value)


def test_an_output_is_kept_detached() -> None:
    """Or node and result would own each other."""
    result = torch.ones(2, requires_grad=True).exp()
    with unchanged(result=result):
        unpacked = SavedTensor(result, is_output=True).unpack()

    assert unpacked.grad_fn is None, "the node of the result must not be kept alive by it"
    assert result.data_ptr() == unpacked.data_ptr(), "an alias, not a copy"
    leaf = torch.ones(2, requires_grad=True)
    assert leaf is SavedTensor(leaf, is_output=False).unpack()


def test_a_write_to_an_output_is_seen() -> None:
    """The alias has the counter of the result, which may have moved before."""
    result = torch.ones(2).mul_(2)
    saved = SavedTensor(result, is_output=True)
    saved.unpack()
    result.zero_()

    with pytest.raises(RuntimeError, match="is at version 2; expected version 1 instead"):
        saved.unpack()


def test_what_was_released_is_gone() -> None:
    """Its memory is free, and a second backward has nothing to work with."""
    x = torch.ones(2)
    alive = weakref.ref(x)
    saved = SavedTensor(x)
    x.add_(1)
    saved.release()
    del x

    assert alive() is None, "a released tensor must not be kept alive"
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        saved.unpack()


def test_an_inference_tensor_cannot_be_saved() -> None:
    """Nobody could tell whether it was overwritten."""
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        SavedTensor(inference())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["exp", "square"])
def test_operators_have_results_and_gradients(device: str, name: str, dtype: torch.dtype) -> None:
    """As PyTorch's own, and what the caller has stays as it is."""
    x = torch.tensor([0.5, -1.0, 0.0, 3.0], dtype=dtype, device=device).sqrt().nan_to_num(-0.7)
    grad = torch.tensor([3.0, 5.0, 7.0, 0.0], dtype=dtype, device=device).sqrt()
    leaf = x.clone().requires_grad_()
    expected = getattr(torch, name)(leaf)
    with unchanged(x=x):
        result, backward = getattr(kata, name)(x)
    with unchanged(x=x, result=result, grad=grad):
        by_x = backward(grad)
    close = {"rtol": 1e-12, "atol": 1e-14} if dtype is torch.float64 else {}

    torch.testing.assert_close(result, expected.detach(), **close)
    torch.testing.assert_close(by_x, torch.autograd.grad(expected, leaf, grad)[0], **close)


@pytest.mark.parametrize("name", ["exp", "square"])
def test_backward_works_once(name: str) -> None:
    """It lets go of what was saved."""
    _, backward = getattr(kata, name)(torch.ones(2))
    backward(torch.ones(2))

    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        backward(torch.ones(2))


@pytest.mark.parametrize("name", ["exp", "square"])
def test_each_saves_one_tensor(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of exp, the input of square: nothing else is kept until backward."""
    saved: list[tuple[int, bool]] = []
    original = SavedTensor.__init__

    def spy(self: SavedTensor, tensor: torch.Tensor, is_output: bool = False) -> None:  # noqa: FBT001, FBT002
        saved.append((tensor.data_ptr(), is_output))
        original(self, tensor, is_output)

    monkeypatch.setattr(SavedTensor, "__init__", spy)
    x = torch.ones(2)
    result, _ = getattr(kata, name)(x)
    expected = (result.data_ptr(), True) if name == "exp" else (x.data_ptr(), False)

    assert [expected] == saved


@pytest.mark.parametrize("name", ["exp", "square"])
def test_backward_owns_what_it_needs_alone(name: str) -> None:
    """Not the result, which would own it in turn; and exp does without its input."""
    x = torch.ones(2)
    result, backward = getattr(kata, name)(x)
    results, inputs = weakref.ref(result), weakref.ref(x)
    del result
    assert results() is None, "backward owns the result: keep what SavedTensor keeps, no more"
    if name == "square":
        backward(torch.ones(2))
    del x

    assert inputs() is None, "backward owns the input, which it no longer needs"


# What somebody does to input and output between forward and backward.
WRITES: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "nothing": lambda x, y: None,
    "input": lambda x, y: x.add_(1),
    "output": lambda x, y: y.add_(1),
    "view of the input": lambda x, y: x[1:].zero_(),
    "view of the output": lambda x, y: y[:1].zero_(),
    "detached input": lambda x, y: x.detach().add_(1),
    "detached output": lambda x, y: y.detach().add_(1),
    "data of the input": lambda x, y: x.data.add_(1),
    "data of the output": lambda x, y: y.data.add_(1),
    "clones": lambda x, y: (x.clone().zero_(), y.clone().zero_()),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("name", ["exp", "square"])
def test_who_complains(name: str, write: str) -> None:
    """You and PyTorch, or neither; then the gradients agree, and with .data they are both wrong."""
    leaf = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    x = leaf * 1
    y = getattr(torch, name)(x)
    before = torch.autograd.graph.get_gradient_edge(y)
    WRITES[write](x, y)
    mine = leaf.detach().clone()
    result, backward = getattr(kata, name)(mine)
    WRITES[write](mine, result)
    grad = torch.tensor([1.0, 10.0, 100.0])
    try:
        expected = torch.autograd.grad(before, leaf, grad)[0]
    except RuntimeError:
        expected = None

    if expected is None:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            backward(grad)
    else:
        torch.testing.assert_close(backward(grad), expected)


def test_autograd_is_not_asked() -> None:
    """It would do all of this for you."""
    engine = ("autograd.grad", "autograd.backward", "autograd.functional", "autograd.forward_ad")
    others = ("autograd.Variable", "func", "Tensor.backward")
    with forbids(kata, *(f"torch.{name}" for name in (*engine, *others))) as fresh:
        for name in ("exp", "square"):
            getattr(fresh, name)(torch.ones(2))[1](torch.ones(2))
