"""Tests of k03_state_dict: state dicts move from your Modules to PyTorch's, and back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture05.k03_state_dict import Module
from plugins.kit import unchanged


def layers(base: type) -> SimpleNamespace:
    """Return classes that inherit from `base`, which is your Module or PyTorch's."""

    class Layer(base):
        """Has a parameter or two, and buffers of each kind."""

        def __init__(self, m: int, n: int, dtype: torch.dtype, *, bias: bool = True) -> None:
            super().__init__()
            self.register_buffer("steps", torch.randint(9, ()))
            self.weight = nn.Parameter(torch.randn(n, m, dtype=dtype))
            self.bias = nn.Parameter(torch.randn(n, dtype=dtype))
            if not bias:
                self._parameters["bias"] = None
            self.register_buffer("cache", torch.randn(2), persistent=False)
            self.register_buffer("mean", torch.randn(n))
            self.register_buffer("empty", None)

    class Block(base):
        """Has a child registered before its own parameter, and a child that is None."""

        def __init__(self, dtype: torch.dtype) -> None:
            super().__init__()
            self.first = Layer(2, 3, dtype)
            self.second = Layer(3, 2, dtype, bias=False)
            self.gone = Layer(1, 1, dtype)
            self._modules["gone"] = None
            self.scale = nn.Parameter(torch.randn(2, dtype=dtype))

    class Model(base):
        """Has blocks, one of them under two names, and a tied weight."""

        def __init__(self, dtype: torch.dtype = torch.float32) -> None:
            super().__init__()
            self.block = Block(dtype)
            self.again = self.block
            self.head = Layer(2, 3, dtype)
            self.head.weight = self.block.first.weight

    return SimpleNamespace(Layer=Layer, Block=Block, Model=Model)


YOURS, PYTORCHS = layers(Module), layers(nn.Module)


def seeded(make: Any, seed: int, *args: Any) -> Any:
    """Return the result of `make`, run with this random seed."""
    torch.manual_seed(seed)
    return make(*args)


def equal(yours: dict, theirs: dict, why: str) -> None:
    """Compare two state dicts, keys first."""
    assert [*theirs] == [*yours], f"yours {[*yours]}\nexpected {[*theirs]}\n{why}"
    for key, value in theirs.items():
        says = f"{key}: yours is not what was expected: {why}\n".__add__
        torch.testing.assert_close(yours[key], value, rtol=0, atol=0, msg=says)


def test_a_layer_is_saved() -> None:
    """Parameters come before buffers, without None and non-persistent buffers."""
    args = (2, 3, torch.float32)
    mine, real = seeded(YOURS.Layer, 0, *args), seeded(PYTORCHS.Layer, 0, *args)

    equal(mine.state_dict(), dict(real.state_dict()), "first parameters, then persistent buffers")


def test_a_tree_is_saved() -> None:
    """Keys are paths; a tensor with two paths has two keys; a later call sees later values."""
    mine, real = seeded(YOURS.Model, 0), seeded(PYTORCHS.Model, 0)
    for call in ("first", "second"):
        equal(mine.state_dict(), dict(real.state_dict()), f"{call} call: a key is a path")
    equal(mine.block.state_dict("x."), dict(real.block.state_dict(prefix="x.")), "with a prefix")
    for module in (mine, real):
        module.block.register_buffer("cache", torch.ones(1))
        module.mean = nn.Parameter(torch.ones(1))
        module.block.register_buffer("bias", torch.ones(1), persistent=False)
    equal(mine.state_dict(), dict(real.state_dict()), "after three more: each module has its own")


def test_what_is_saved_is_the_modules_memory() -> None:
    """The tensors are detached, but not copied: a write to one is a write to the module."""
    mine = seeded(YOURS.Model, 0)
    with unchanged(dict(mine.block.first._parameters)):  # noqa: SLF001 - given in the kata
        state = mine.state_dict()
    assert not state["block.scale"].requires_grad, "the saved tensor requires a gradient: detach it"
    same = state["block.scale"].data_ptr() == mine.block.scale.data_ptr()
    assert same, "yours is a copy; PyTorch's state dict shares memory with the parameters"


def test_yours_goes_into_pytorchs() -> None:
    """Your state dict loads without an error."""
    mine, real = seeded(YOURS.Model, 0), seeded(PYTORCHS.Model, 1)
    result = real.load_state_dict(mine.state_dict())

    assert "<All keys matched successfully>" == str(result), f"PyTorch reports {result}"


def test_pytorchs_goes_into_yours() -> None:
    """Your module has the same values as PyTorch's, and the call returns two empty lists."""
    mine, real = seeded(YOURS.Model, 0), seeded(PYTORCHS.Model, 1)
    cache = mine.head.cache.clone()
    theirs = dict(real.state_dict())
    with unchanged(theirs):
        result = mine.load_state_dict(theirs)

    assert ([], []) == tuple(result), f"yours {result}, expected no missing and no unexpected keys"
    equal(
        {key: x.detach() for key, x in mine.state_dict().items()}, theirs, "after load_state_dict"
    )
    torch.testing.assert_close(
        cache, mine.head.cache, msg="cache is not in the state dict\n".__add__
    )


def test_tensors_stay_the_same_objects() -> None:
    """An existing optimizer continues to train them, and tied tensors stay tied."""
    mine = seeded(YOURS.Model, 0)
    before = (mine.block.first.weight, mine.head.mean, mine.block.scale)
    mine.load_state_dict(seeded(YOURS.Model, 1).state_dict())
    after = (mine.block.first.weight, mine.head.mean, mine.block.scale)

    for old, new in zip(before, after, strict=True):
        assert old is new, "loading replaced the tensor, but the optimizer holds the old one"
    assert mine.head.weight is mine.block.first.weight, "loading untied the weight"
    assert mine.block.scale.requires_grad, "scale no longer requires a gradient"
    assert mine.block.scale.is_leaf, "scale now has a grad_fn: did autograd record the copy?"


def test_a_copy_is_a_copy() -> None:
    """The state dict may be written to later; it may contain Parameters."""
    mine = seeded(YOURS.Layer, 0, 2, 2, torch.float32)
    state = {key: x.clone() for key, x in mine.state_dict().items()}
    state["bias"] = nn.Parameter(torch.tensor([2.0, 3.0]).sqrt())
    expected = state["bias"].detach().clone()
    mine.load_state_dict(state)
    with torch.no_grad():
        state["bias"].zero_()

    torch.testing.assert_close(mine.bias.detach(), expected, msg="yours is not a copy\n".__add__)
    assert mine.bias.is_leaf, "bias now has a grad_fn, which leads to the state's Parameter"


def test_the_modules_dtype_stays() -> None:
    """A checkpoint in another dtype is converted."""
    mine, real = seeded(YOURS.Model, 0, torch.float64), seeded(PYTORCHS.Model, 0, torch.float64)
    state = seeded(PYTORCHS.Model, 1, torch.float32).state_dict()
    mine.load_state_dict(state)
    real.load_state_dict(state)

    equal(mine.state_dict(), dict(real.state_dict()), "float32 into float64")


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("case", ["missing", "unexpected", "misshapen", "all"])
def test_what_does_not_fit(case: str, strict: bool) -> None:  # noqa: FBT001
    """PyTorch decides what raises; keys that fit are still loaded."""
    mine, real = seeded(YOURS.Block, 0, torch.float32), seeded(PYTORCHS.Block, 0, torch.float32)
    state = dict(seeded(PYTORCHS.Block, 1, torch.float32).state_dict())
    if case in {"missing", "all"}:
        del state["scale"], state["second.mean"]
    if case in {"unexpected", "all"}:
        state |= {"extra": torch.ones(1), "first.cache": torch.ones(2)}
    if case in {"misshapen", "all"}:
        state |= {"first.weight": torch.ones(1, 2), "second.weight": torch.ones(3, 2)}
    outcomes: list[Any] = []
    for module in (mine, real):
        try:
            outcomes.append(tuple(map(list, module.load_state_dict(state, strict=strict))))
        except RuntimeError as error:
            if isinstance(error, NotImplementedError):
                raise
            outcomes.append(error)
    yours, theirs = outcomes
    raises = isinstance(theirs, RuntimeError)

    assert raises == isinstance(yours, RuntimeError), (
        f"{case}, strict={strict}: yours {yours!r}\nPyTorch's {theirs!r}"
    )
    equal(mine.state_dict(), dict(real.state_dict()), "an error does not undo what was loaded")
    if not raises:
        assert theirs == yours, f"{case}: yours {yours}\nPyTorch's {theirs}"
        return
    told = {
        "missing": {"scale", "second.mean"},
        "unexpected": {"extra", "first.cache"},
        "misshapen": {"first.weight", "second.weight"},
    }
    named = {key for what, keys in told.items() if case in {what, "all"} for key in keys}
    lacking = sorted(key for key in named if key not in str(yours))
    assert not lacking, f"your error does not name {lacking}: {yours}"
    parts = str(yours).split("; ")
    for part, (what, keys) in zip(parts, told.items(), strict=True):
        wrong = [key for key in named - keys if key in part]
        assert not wrong, f"your error counts {wrong} as {what}: {yours}"
