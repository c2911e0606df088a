"""Tests of k11_versions: PyTorch's operators and yours see the same writes."""

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


# Ways to make one tensor from another; the test itself finds out which share a counter.
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
    """Records the name of every operator that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        """Record the name and run the operator."""
        self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def error_of(call: Callable[[], object]) -> str:
    """Return the text of the RuntimeError that a call raises, or say that there was none."""
    try:
        call()
    except NotImplementedError:
        raise
    except RuntimeError as error:
        return str(error)
    return "no error"


def inference() -> torch.Tensor:
    """Return a tensor without a version counter."""
    with torch.inference_mode():
        return torch.ones(2)


@pytest.mark.parametrize("name", RELATIVES)
def test_relatives_share_a_counter_or_not(name: str) -> None:
    """A real in-place write, in either direction, is the oracle."""
    x = torch.ones(4)
    y = RELATIVES[name](x)
    before = y._version  # noqa: SLF001
    x.zero_()
    shared = y._version != before  # noqa: SLF001

    fact = f"y = {name} of x: PyTorch's x.zero_() {'moves' if shared else 'leaves'} y._version"
    for question, pair in {"x, y": (x, y), "y, x": (y, x), "x, y once more": (x, y)}.items():
        yours = same_counter(*pair)
        assert shared is yours, f"{fact}; your code returns {yours!r} for {question}"


def test_asking_runs_nothing() -> None:
    """Adding 0 in place would move the counter too, but costs a write, and a leaf refuses it."""
    x = torch.ones(2, requires_grad=True)
    with unchanged(x=x, but=("version",)), Operators() as log:
        yours = same_counter(x, x)

    assert yours is True, (
        f"a tensor shares a version counter with itself; your code returns {yours!r}"
    )
    assert [] == log.names, f"your code runs {log.names}; increment_version(a) runs no operator"
    assert same_counter(x, x.detach()) is True, "x.detach() shares the counter of x; you answer no"


def test_inference_tensors_share_nothing() -> None:
    """Inference tensors have no counter, which is what makes them cheap."""
    x = inference()

    for pair in [(x, torch.ones(2)), (torch.ones(2), x), (x, x)]:
        kinds = " and ".join("inference" if each.is_inference() else "plain" for each in pair)
        yours = same_counter(*pair)
        assert yours is False, f"{kinds}: no counter, so none is shared; you return {yours!r}"


def test_what_was_saved_comes_back(device: str) -> None:
    """Return the tensor itself from unpack, any number of times."""
    x = torch.ones(2, device=device)
    with unchanged(x=x):
        saved = SavedTensor(x)
        first, second = saved.unpack(), saved.unpack()

    assert x is first, "unpack returns another object; PyTorch saves x itself, at no cost"
    assert x is second, "your second unpack returns a different object from the first"


def test_an_overwritten_tensor_is_refused(device: str) -> None:
    """The error names the current version, and the one expected, from the time of saving."""
    x = torch.ones(2, device=device)
    x.add_(1)
    saved = SavedTensor(x)
    assert x is saved.unpack(), "unpack did not return x: writes before it was saved do not count"
    x.add_(1)
    x.mul_(2)
    other = SavedTensor(torch.ones(2, device=device))

    yours = error_of(saved.unpack)
    assert "modified by an inplace operation" in yours, (
        f"x was written to after it was saved, so unpack must raise; yours: {yours}"
    )
    assert "is at version 3; expected version 1 instead" in yours, (
        f"one write before x was saved, two after: expected 1, now 3; yours: {yours}"
    )
    again = error_of(saved.unpack)
    assert yours == again, f"x stays overwritten, so unpack must raise again; yours: {again}"
    assert "no error" == error_of(other.unpack), (
        "your unpack also refuses a tensor that was not written to"
    )


def test_an_output_is_kept_detached() -> None:
    """If an output were not detached, node and result would own each other."""
    result = torch.ones(2, requires_grad=True).exp()
    with unchanged(result=result):
        unpacked = SavedTensor(result, is_output=True).unpack()

    assert unpacked.grad_fn is None, (
        f"yours has the grad_fn {unpacked.grad_fn}: node and result would keep each other alive"
    )
    assert result.data_ptr() == unpacked.data_ptr(), (
        "unpack returns a copy; expected an alias, which shares the memory"
    )
    leaf = torch.ones(2, requires_grad=True)
    assert leaf is SavedTensor(leaf, is_output=False).unpack(), "save an input as it is"


def test_a_write_to_an_output_is_seen() -> None:
    """The alias shares the counter of the result, which may already be above 0."""
    result = torch.ones(2).mul_(2)
    saved = SavedTensor(result, is_output=True)
    saved.unpack()
    result.zero_()

    yours = error_of(saved.unpack)
    assert "is at version 2; expected version 1 instead" in yours, (
        f"result was zeroed after it was saved; yours: {yours}. Which alias shares the counter?"
    )


def test_what_was_released_is_gone() -> None:
    """A released tensor's memory is freed, and a second backward has nothing to work with."""
    x = torch.ones(2)
    alive = weakref.ref(x)
    saved = SavedTensor(x)
    x.add_(1)
    saved.release()
    del x

    assert alive() is None, "your code still keeps the tensor alive after release()"
    yours = error_of(saved.unpack)
    assert "backward through the graph a second time" in yours, (
        f"after a write and a release, PyTorch reports the release; yours: {yours}"
    )


def test_an_inference_tensor_cannot_be_saved() -> None:
    """An inference tensor has no counter to show whether it was overwritten."""
    for is_output in (False, True):
        yours = error_of(lambda: SavedTensor(inference(), is_output))  # noqa: B023
        assert "Inference tensors cannot be saved" in yours, (
            f"PyTorch refuses to save a tensor without a counter; yours ({is_output=}): {yours}"
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", ["exp", "square"])
def test_operators_have_results_and_gradients(device: str, name: str, dtype: torch.dtype) -> None:
    """Results and gradients agree with PyTorch's, and the caller's tensors are unchanged."""
    x = torch.tensor([0.5, -1.0, 0.0, 3.0], dtype=dtype, device=device).sqrt().nan_to_num(-0.7)
    grad = torch.tensor([3.0, 5.0, 7.0, 0.0], dtype=dtype, device=device).sqrt()
    leaf = x.clone().requires_grad_()
    expected = getattr(torch, name)(leaf)
    with unchanged(x=x):
        result, backward = getattr(kata, name)(x)
    with unchanged(x=x, result=result, grad=grad):
        by_x = backward(grad)
    close = {"rtol": 1e-12, "atol": 1e-14} if dtype is torch.float64 else {}

    says = f"{name} of {x.tolist()}: yours is not PyTorch's\n".__add__
    torch.testing.assert_close(result, expected.detach(), **close, msg=says)
    says = f"backward of {name} with grad {grad.tolist()}: yours is not PyTorch's\n".__add__
    theirs = torch.autograd.grad(expected, leaf, grad)[0]
    torch.testing.assert_close(by_x, theirs, **close, msg=says)


@pytest.mark.parametrize("name", ["exp", "square"])
def test_backward_works_once(name: str) -> None:
    """Backward frees what was saved."""
    _, backward = getattr(kata, name)(torch.ones(2))
    backward(torch.ones(2))

    yours = error_of(lambda: backward(torch.ones(2)))
    assert "backward through the graph a second time" in yours, (
        f"a second backward must raise, since the first releases what was saved; yours: {yours}"
    )


@pytest.mark.parametrize("name", ["exp", "square"])
def test_each_saves_one_tensor(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of exp and the input of square are saved, and nothing else."""
    saved: list[tuple[int, bool]] = []
    original = SavedTensor.__init__

    def spy(self: SavedTensor, tensor: torch.Tensor, is_output: bool = False) -> None:  # noqa: FBT001, FBT002
        saved.append((tensor.data_ptr(), is_output))
        original(self, tensor, is_output)

    monkeypatch.setattr(SavedTensor, "__init__", spy)
    x = torch.ones(2)
    result, _ = getattr(kata, name)(x)
    expected = (result.data_ptr(), True) if name == "exp" else (x.data_ptr(), False)

    assert [expected] == saved, (
        f"{name} saves {'its output, with is_output' if name == 'exp' else 'its input'}, once;"
        f" your code saves {len(saved)}, with is_output {[each for _, each in saved]}"
    )


@pytest.mark.parametrize("name", ["exp", "square"])
def test_backward_owns_what_it_needs_alone(name: str) -> None:
    """Backward must not own the result, which would own it in turn; exp needs no input."""
    x = torch.ones(2)
    result, backward = getattr(kata, name)(x)
    results, inputs = weakref.ref(result), weakref.ref(x)
    del result
    assert results() is None, "backward owns the result: keep only the SavedTensor"
    if name == "square":
        backward(torch.ones(2))
    del x

    assert inputs() is None, "backward owns the input, which it does not need"


# Writes to input or output between forward and backward.
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
    """Yours raises if PyTorch's does; else the gradients agree, and with .data both are wrong."""
    leaf = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    x = leaf * 1
    y = getattr(torch, name)(x)
    before = torch.autograd.graph.get_gradient_edge(y)
    WRITES[write](x, y)
    mine = leaf.detach().clone()
    result, backward = getattr(kata, name)(mine)
    WRITES[write](mine, result)
    grad = torch.tensor([1.0, 10.0, 100.0])
    outcomes: dict[str, torch.Tensor] = {}
    theirs = error_of(lambda: outcomes.update(theirs=torch.autograd.grad(before, leaf, grad)[0]))
    yours = error_of(lambda: outcomes.update(yours=backward(grad)))

    for complaint in (theirs, yours):
        assert complaint == "no error" or "modified by an inplace operation" in complaint, complaint
    assert (theirs == "no error") == (yours == "no error"), (
        f"{name}, then a write to: {write}.\nyours      {yours}\nPyTorch's  {theirs}"
    )
    if outcomes:
        says = f"{name}, then a write to: {write}: yours is not PyTorch's\n".__add__
        torch.testing.assert_close(outcomes["yours"], outcomes["theirs"], msg=says)


def test_autograd_is_not_asked() -> None:
    """Autograd would do all of this for you."""
    engine = ("autograd.grad", "autograd.backward", "autograd.functional", "autograd.forward_ad")
    others = ("autograd.Variable", "autograd.graph._engine_run_backward", "func", "Tensor.backward")
    with forbids(kata, *(f"torch.{name}" for name in (*engine, *others))) as fresh:
        for name in ("exp", "square"):
            getattr(fresh, name)(torch.ones(2))[1](torch.ones(2))
