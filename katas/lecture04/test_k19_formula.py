"""Tests of k19_formula: PyTorch's own formulas, and what its graph keeps."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from torch.nn import functional

from katas.lecture04.k19_formula import saved_names


if TYPE_CHECKING:
    from collections.abc import Callable


def expect(expected: list[str], arguments: list[str], formulas: list[str], why: str) -> None:
    """Compare what these formulas keep with the expected names; the lists must not change."""
    given = list(arguments), list(formulas)
    yours = saved_names(arguments, formulas)
    assert given == (arguments, formulas), (
        f"your function changed its arguments\nnow        {arguments}; {formulas}\n"
        f"before     {given[0]}; {given[1]}"
    )
    assert expected == yours, (
        f"arguments  {', '.join(arguments)}\nformulas   {'; '.join(formulas)}\n"
        f"yours      {yours}\nexpected   {expected}\n{why}"
    )


def test_what_a_formula_mentions_is_kept() -> None:
    """The brief's two formulas keep the names that the brief lists."""
    expect(["result"], ["self"], ["grad * result.conj()"], "exp is its own derivative.")
    expect(["self"], ["self"], ["grad * -self.sin().conj()"], "sin and conj are members of self.")


def test_what_none_mentions_is_not_kept() -> None:
    """-x needs only the incoming gradient."""
    expect([], ["self"], ["-grad"], "grad is neither an argument nor the result.")
    expect(["alpha"], ["self", "other", "alpha"], ["grad", "grad * alpha"], "So does x + 2 * y.")


def test_the_order_is_that_of_the_arguments() -> None:
    """Each name comes once, in whatever order formulas name them; the result comes last."""
    why = "Walk over the arguments, and over result after them."
    expect(["self", "other"], ["self", "other"], ["grad * other", "grad * self"], why)
    expect(
        ["self", "exponent", "result"],
        ["self", "exponent"],
        ["pow_backward(grad, self, exponent)", "grad * result * self.log() + result"],
        why,
    )


def test_a_member_is_no_variable() -> None:
    """After a dot, an arrow or two colons a name belongs to something else."""
    why = "Look at what stands before the name."
    expect(["dim"], ["self", "dim"], ["grad.self(dim)"], why)
    expect(["dim"], ["self", "dim"], ["grad * pair.self * dim"], why)
    expect(["p"], ["self", "p"], ["p->self > std::result(grad)"], why)
    expect(["p", "self"], ["p", "self"], ["grad * (p > self)"], "A comparison is no arrow.")
    why = "Neither > nor one colon makes a member."
    expect(["p", "self", "q"], ["p", "self", "q"], ["grad * (p>self ? 2:q)"], why)


def test_a_name_in_another_is_not_that_name() -> None:
    """A name inside a longer name does not count, nor does a letter in a number."""
    why = "A name begins and ends where no letter, digit or underscore is next to it."
    expect(["self_scale"], ["self", "self_scale"], ["grad * self_scale"], why)
    expect([], ["self", "e5", "scale"], ["grad * 1e5 * selfish * my_scale"], why)
    expect(["A", "b_2"], ["A", "a", "b_2", "b_"], ["grad * A * b_2"], why)


def test_metadata_needs_no_tensor() -> None:
    """PyTorch keeps three sizes instead of a gigabyte."""
    why = "without_metadata, which is given, takes self.sym_sizes() out of a formula."
    expect([], ["self"], ["grad.expand_symint(self.sym_sizes())"], why)
    expect(
        ["other"],
        ["self", "other"],
        ["mul_tensor_backward(grad, other, self.scalar_type())"],
        why,
    )


X, Y = (torch.rand(3, 3, dtype=torch.float64, requires_grad=True) for _ in range(2))
INDEX = torch.tensor([0, 2])
# Entries of derivatives.yaml, with a call for each.
CALLS: dict[str, Callable[[], torch.Tensor]] = {
    "abs": X.abs,
    "add.Tensor": lambda: X + Y,
    "addcmul": lambda: torch.addcmul(X, X, Y),
    "atan2": lambda: torch.atan2(X, Y),
    "cumprod": lambda: X.cumprod(0),
    "cumsum": lambda: X.cumsum(0),
    "div.Tensor": lambda: X / Y,
    "expand": lambda: X.expand(2, 3, 3),
    "hypot": lambda: torch.hypot(X, Y),
    "index_select": lambda: X.index_select(0, INDEX),
    "lerp.Tensor": lambda: torch.lerp(X, Y, Y),
    "masked_fill.Scalar": lambda: X.masked_fill(X > 0.5, 0.0),
    "mm": lambda: X.mm(Y),
    "mul.Tensor": lambda: X * Y,
    "neg": lambda: -X,
    "pow.Scalar": lambda: torch.pow(2.0, X),
    "pow.Tensor_Scalar": lambda: X.pow(3),
    "relu": X.relu,
    "sigmoid": X.sigmoid,
    "_softmax": lambda: X.softmax(0),
    "softplus": lambda: functional.softplus(X),
    "std.correction": X.std,
    "sum": X.sum,
    "tanh": X.tanh,
    "where.self": lambda: torch.where(X > 0.5, X, Y),
}


@cache
def formulas() -> dict[str, tuple[list[str], list[str]]]:
    """Return the arguments and formulas of the entries of derivatives.yaml, as torchgen has it."""
    package = find_spec("torchgen")
    assert package is not None
    assert package.submodule_search_locations is not None
    file = Path(package.submodule_search_locations[0], "packaged", "autograd", "derivatives.yaml")
    found = {}
    for entry in re.split(r"\n(?=- name:)", file.read_text(encoding="utf-8")):
        if head := re.match(r"- name: ([\w.]+)\((.*)\) ->", entry):
            arguments = [
                part.partition("=")[0].split()[-1] for part in head[2].split(", ") if part != "*"
            ]
            lines = re.findall(r"^  (\w+(?:, \w+)*): (.*)$", entry, re.MULTILINE)
            # The formula of the result is for forward mode, which keeps nothing.
            of_inputs = [formula for inputs, formula in lines if inputs != "result"]
            found[head[1]] = arguments, of_inputs
    return found


@pytest.mark.parametrize("name", CALLS)
def test_pytorch_keeps_the_same(name: str) -> None:
    """The formulas in your PyTorch's file agree with the nodes generated from it."""
    arguments, of_inputs = formulas()[name]
    node = CALLS[name]().grad_fn
    kept = {attribute.removeprefix("_saved_") for attribute in dir(node)}
    expected = [argument for argument in [*arguments, "result"] if argument in kept]

    expect(expected, arguments, of_inputs, f"PyTorch's node is {type(node).__name__}.")
