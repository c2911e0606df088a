"""`unchanged` catches what a call leaves behind, and `freed` what it keeps."""

from __future__ import annotations

import gc
import random
import sys
from typing import TYPE_CHECKING
from typing import Any

import pytest

from plugins.checks.aftermath import freed
from plugins.checks.aftermath import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch", reason="these tests need torch")
pytestmark = pytest.mark.torch


def set_grad(x: Any) -> None:
    """Give a tensor another gradient."""
    x.grad = torch.ones_like(x)


def swap(x: Any) -> None:
    """Give a tensor another storage with the same values."""
    x.data = x.data.clone()


def restride(x: Any) -> None:
    """Give a tensor other strides over the same storage."""
    x.data = x.data.t()


CHANGES: dict[str, tuple[Callable[[Any], object], str]] = {
    "written": (lambda x: x.detach().add_(1), "x has other values"),
    "written and back": (lambda x: x.detach().add_(1).sub_(1), "version 2, and had 0"),
    "behind autograd's back": (lambda x: x.data.add_(1), "other values"),
    "negative zero": (lambda x: x.data.mul_(-0.0), "other values"),
    "grad": (set_grad, r"another \.grad"),
    "requires_grad": (
        lambda x: x.requires_grad_(requires_grad=False),
        "requires_grad=False, and had True",
    ),
    "strides": (restride, r"strides \(1, 2\), and had \(2, 1\)"),
    "storage": (swap, "another storage"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_an_input_is_caught(change: str) -> None:
    """Values to the bit, version, grad, requires_grad, strides, storage."""
    x = torch.zeros(2, 2, requires_grad=True) if change == "negative zero" else torch.rand(2, 2)
    x = x.detach().requires_grad_()
    call, words = CHANGES[change]

    with pytest.raises(AssertionError, match=words), unchanged(x=x):
        call(x)


def test_a_write_beside_the_elements_is_caught() -> None:
    """A view shows every second element; the bytes between them are its neighbour's."""
    base = torch.zeros(6)
    x = base[::2]

    with pytest.raises(AssertionError, match="beside the elements"), unchanged(x):
        base.data[1] = 5


def test_other_values_are_said_once() -> None:
    """The bytes of the elements are no write beside them."""
    x = torch.zeros(2)

    with pytest.raises(AssertionError) as caught, unchanged(x=x):
        x.data[0] = 5
    assert "x has other values" == str(caught.value).splitlines()[1]


def test_a_history_that_is_new_is_caught() -> None:
    """A leaf that gets a grad_fn."""
    x = torch.zeros(2)

    with pytest.raises(AssertionError, match="is_leaf=False, and had True; another grad_fn"):  # noqa: SIM117
        with unchanged(x, but=("value", "version", "requires_grad")):
            x.mul_(torch.ones(2, requires_grad=True))


def test_what_may_change_is_left_out() -> None:
    """A gradient, around a call of backward; random numbers, around one that draws."""
    x = torch.ones(2, requires_grad=True)

    with unchanged(x, but=("grad", "torch.get_rng_state()")):
        (x * torch.rand(2)).sum().backward()


def test_containers_and_modules_are_looked_into() -> None:
    """The message says where."""
    layer = torch.nn.BatchNorm1d(3)
    state = {"a": [torch.zeros(2), (torch.ones(1),)], "b": "no tensor"}

    with pytest.raises(AssertionError, match=r"layer.running_mean has other values"):  # noqa: SIM117
        with unchanged(layer=layer):
            layer(torch.rand(4, 3))
    with pytest.raises(AssertionError, match=r"state\['a'\]\[1\]\[0\] has"), unchanged(state=state):
        state["a"][1][0].zero_()
    with pytest.raises(AssertionError, match=r"layer.training was left changed: before True"):  # noqa: SIM117
        with unchanged(layer=layer):
            layer.eval()
    with unchanged(state, layer):
        pass


def leave(context: Any) -> None:
    """Enter a context and never leave it."""
    context.__enter__()


STATES: dict[str, tuple[Callable[[], object], str]] = {
    "default dtype": (lambda: torch.set_default_dtype(torch.float64), r"before torch.float32"),
    "grad mode": (lambda: torch.set_grad_enabled(False), "is_grad_enabled.*before True, now False"),
    "threads": (lambda: torch.set_num_threads(torch.get_num_threads() + 1), "get_num_threads"),
    "generator": (lambda: torch.rand(1), "get_rng_state"),
    "python's generator": (random.random, "random.getstate"),
    "anomaly": (lambda: torch.autograd.set_detect_anomaly(True), "anomaly"),
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_that_is_left_is_caught(name: str) -> None:
    """State that the next caller would find changed."""
    call, words = STATES[name]
    threads, generator = torch.get_num_threads(), random.getstate()
    try:
        with pytest.raises(AssertionError, match=words), unchanged():
            call()
    finally:
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.autograd.set_detect_anomaly(False)
        torch.set_num_threads(threads)
        random.setstate(generator)


def test_modes_and_hooks_that_stay_open_are_caught() -> None:
    """A function mode, a dispatch mode, hooks for saved tensors, excluded dispatch keys."""
    from torch.overrides import BaseTorchFunctionMode  # noqa: PLC0415
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    x = torch.zeros(2)
    for context, words in [
        (BaseTorchFunctionMode(), "open function modes"),
        (FlopCounterMode(display=False), "open dispatch modes"),
        (torch.autograd.graph.save_on_cpu(), "saved-tensor hooks"),
        (torch.inference_mode(), "dispatch keys"),
    ]:
        with pytest.raises(AssertionError, match=words), unchanged(x):
            context.__enter__()
        context.__exit__(None, None, None)


def test_a_mode_that_is_the_same_is_no_change() -> None:
    """It was open before."""
    from torch.utils.flop_counter import FlopCounterMode  # noqa: PLC0415

    with FlopCounterMode(display=False), unchanged():
        torch.ones(2)


def test_numpys_generator_counts_where_numpy_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """And without numpy nothing is asked of it."""
    import numpy as np  # noqa: PLC0415

    before = np.random.get_state()  # noqa: NPY002
    with pytest.raises(AssertionError, match=r"numpy.random"), unchanged():
        np.random.rand()  # noqa: NPY002
    np.random.set_state(before)  # noqa: NPY002
    monkeypatch.delitem(sys.modules, "numpy")
    with unchanged():
        pass


def test_tensors_without_strides_or_bytes_can_be_watched() -> None:
    """Sparse, meta, conjugate."""
    for x in (
        torch.ones(2).to_sparse(),
        torch.ones(2, device="meta"),
        torch.ones(2, dtype=torch.complex64).conj(),
    ):
        with unchanged(x):
            pass


def test_a_large_tensor_is_not_read_byte_by_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call for each byte of four megabytes would take a quarter of a minute."""

    def refuse(*_: object) -> None:
        raise AssertionError("one byte was asked for")

    for name in ("__iter__", "__getitem__"):
        monkeypatch.setattr(torch.UntypedStorage, name, refuse)
    x = torch.rand(1000, 1000)
    with pytest.raises(AssertionError, match="x has other values"), unchanged(x=x[:, 1:]):
        x[3, 3] += 1


def test_an_inference_tensor_has_no_version_to_compare() -> None:
    """Its values count."""
    with torch.inference_mode():
        x = torch.ones(2)
        with pytest.raises(AssertionError, match="other values"), unchanged(x):
            x.add_(1)


def test_an_exception_is_not_hidden() -> None:
    """What the block raises is what the learner sees."""
    x = torch.ones(2)

    with pytest.raises(ZeroDivisionError), unchanged(x):
        x.add_(1 / 0)


def test_what_dies_is_freed() -> None:
    """A tensor and the graph behind it; the collector is as it was."""
    freed(lambda: torch.ones(2))
    freed(lambda: [torch.ones(2, requires_grad=True) * 2])
    assert gc.isenabled()
    gc.disable()
    try:
        freed(lambda: torch.ones(2))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_kept_is_told() -> None:
    """By something that lives on, or by a cycle that the collector has to find."""
    kept = []

    def make() -> Any:
        kept.append(torch.ones(2))
        return kept[-1]

    class Node:
        pass

    def circle() -> Node:
        node = Node()
        node.me = node  # type: ignore[attr-defined]
        return node

    with pytest.raises(AssertionError, match=r"never freed: Tensor.*The list keeps it."):
        freed(make, "The list keeps it.")
    with pytest.raises(AssertionError, match="garbage collector alone: Node"):
        freed(circle)
