"""Tests of k19_formula: the formulas of derivatives.yaml, and what the nodes of PyTorch keep."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
import torchgen
from torch.nn import functional

from katas.lecture04.k19_formula import saved


if TYPE_CHECKING:
    from collections.abc import Callable


CALLS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "exp": lambda x, y: x.exp(),
    "sin": lambda x, y: x.sin(),
    "tan": lambda x, y: x.tan(),
    "erf": lambda x, y: x.erf(),
    "relu": lambda x, y: x.relu(),
    "sqrt": lambda x, y: x.sqrt(),
    "add.Tensor": lambda x, y: torch.add(x, y, alpha=2),
    "mul.Tensor": lambda x, y: x * y,
    "div.Tensor": lambda x, y: x / y,
    "hypot": torch.hypot,
    "prod": lambda x, y: x.prod(),
    "cumsum": lambda x, y: x.cumsum(0),
    "pow.Tensor_Scalar": lambda x, y: x.pow(3),
    "where.self": lambda x, y: torch.where(x > y, x, y),
    "clamp": lambda x, y: x.clamp(0, 1),
    "lerp.Scalar": lambda x, y: torch.lerp(x, y, 0.5),
    "leaky_relu": lambda x, y: functional.leaky_relu(x, 0.1),
    "logaddexp": torch.logaddexp,
    "_softmax": lambda x, y: x.softmax(0),
    "masked_fill.Scalar": lambda x, y: x.masked_fill(x > y, 2.0),
    "gather": lambda x, y: x.gather(0, torch.zeros(1, 1, dtype=torch.int64)),
}


@cache
def derivatives() -> str:
    """Return the file that comes with PyTorch."""
    folder = Path(torchgen.__file__).parent
    return (folder / "packaged/autograd/derivatives.yaml").read_text(encoding="utf-8")


def entry(name: str) -> tuple[list[str], dict[str, str]]:
    """Return an operator's arguments and its formulas, as the file has them."""
    found = re.search(
        rf"^- name: {re.escape(name)}\((.*?)\) -> .*\n((?:  .*\n)+)", derivatives(), re.MULTILINE
    )
    assert found, f"derivatives.yaml has no entry for {name}"
    words = [text.partition("=")[0].split()[-1] for text in found[1].split(", ")]
    arguments = [word for word in words if word != "*"]
    pairs = [line.strip().partition(": ") for line in found[2].splitlines()]
    formulas = {key: rest for keys, _, rest in pairs for key in keys.split(", ")}
    return arguments, {key: rest for key, rest in formulas.items() if key in arguments}


def compare(arguments: list[str], formulas: dict[str, str], expected: list[str], why: str) -> None:
    """Compare what you find with what is expected, in order."""
    before = dict(formulas)
    yours = saved(arguments, formulas)

    assert yours == expected, f"{formulas}\nyours      {yours}\nexpected   {expected}\n{why}"
    assert formulas == before, "yours has changed the formulas"


def test_a_product_keeps_both() -> None:
    """Each gradient needs the other factor."""
    formulas = {"self": "grad * other", "other": "grad * self"}
    compare(["self", "other"], formulas, ["self", "other"], "in the order of the arguments")


def test_the_result_comes_last() -> None:
    """It is no argument, and formulas call it result."""
    compare(["self"], {"self": "grad * result"}, ["result"], "self is not mentioned")
    compare(["x", "y"], {"x": "grad / result + y"}, ["y", "result"], "the result comes last")


def test_a_member_is_no_variable() -> None:
    """What stands after a dot, an arrow or two colons belongs to something else."""
    formulas = {"x": "grad.self * x->other > std::result(1e5)"}
    compare(["self", "other", "x", "e5"], formulas, ["x"], "self, other, result are members")


def test_a_name_within_another_is_not_mentioned() -> None:
    """Whole names count."""
    formulas = {"self": "grad * self_scale - my_other"}
    compare(["self", "self_scale", "other"], formulas, ["self_scale"], "names end where words do")


def test_what_needs_no_elements_is_not_kept() -> None:
    """A dtype is a few bytes; the tensor may be a gigabyte."""
    formulas = {"self": "grad.to(self.scalar_type())", "other": "grad.sum() * other.numel()"}
    compare(["self", "other"], formulas, [], "without_properties takes these out")
    formulas = {"self": "f(grad, self, self.scalar_type())"}
    compare(["self"], formulas, ["self"], "self itself is mentioned as well")


def test_nothing_is_kept_without_formulas() -> None:
    """Who has no gradient keeps nothing."""
    compare(["self"], {}, [], "no formulas")
    compare(["self"], {"self": "non_differentiable"}, [], "a word, which is no argument")


@pytest.mark.parametrize("name", CALLS)
def test_pytorch_keeps_the_same(name: str) -> None:
    """The node of an operator, and the formulas that its C++ was generated from."""
    x, y = (torch.rand(3, 3, requires_grad=True) for _ in range(2))
    node = CALLS[name](x, y).grad_fn
    theirs = {each.removeprefix("_saved_") for each in dir(node) if each.startswith("_saved_")}
    arguments, formulas = entry(name)
    yours = saved(arguments, formulas)

    assert {*yours} == theirs, (
        f"{name}: {formulas}\nyours      {sorted(yours)}\nPyTorch's  {sorted(theirs)}"
    )
