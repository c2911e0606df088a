"""Tests of k11_sources: the running PyTorch is the reference for what the files contain."""

from __future__ import annotations

import pytest
import torch

from katas.lecture01 import k11_sources as kata


# Called to see which gradient it records.
UNARY = ("exp", "silu", "square", "absolute", "relu6", "tanhshrink", "sigmoid", "neg", "negative")


def has_overloads(name: str) -> bool:
    """Return whether the operator registry has the name."""
    return hasattr(torch.ops.aten, name)


def node_of(name: str) -> str:
    """Return the name of the node that an operator records, without its Backward0."""
    function = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    node = function(torch.full((2,), 0.3, requires_grad=True)).grad_fn
    return node.name().removesuffix("Backward0").lower()


def check(name: str, place: str, *, expected: bool, why: str) -> None:
    """Compare one of the four places."""
    found = kata.homes(name)
    assert isinstance(found, set), f"homes returns a {type(found).__name__}, expected a set"
    assert expected == (place in found), (
        f"{name}: homes returns {sorted(found)}; {place!r} is "
        f"{'missing' if expected else 'wrong'}: {why}"
    )


def test_an_operator_with_all_four() -> None:
    """The operator exp has a schema, a formula, a header and a function in torch."""
    found = kata.homes("exp")

    assert found == {"schema", "formula", "header", "function"}, (
        f"homes returns {sorted(found)}, expected all four places"
    )


@pytest.mark.parametrize("name", [*UNARY, "add", "matmul", "nonzero", "no_such_operator"])
def test_schemas(name: str) -> None:
    """Every operator with a schema is in the running registry."""
    check(name, "schema", expected=has_overloads(name), why=f"torch.ops.aten.{name} says so")


@pytest.mark.parametrize("name", UNARY)
def test_formulas(name: str) -> None:
    """An operator with a formula records a node of its own name; others record another's."""
    node = node_of(name)

    check(name, "formula", expected=node == name, why=f"its node is {node}'s")


@pytest.mark.parametrize("name", [*UNARY, "add", "matmul", "no_such_operator"])
def test_functions(name: str) -> None:
    """A C++ function in torch is in the type stubs, unless Python replaces it."""
    expected = hasattr(torch._C._VariableFunctions, name)  # noqa: SLF001

    check(name, "function", expected=expected, why=f"is there torch.{name}?")


@pytest.mark.parametrize("name", [*UNARY, "add", "matmul", "no_such_operator"])
def test_headers(name: str) -> None:
    """Headers are generated from the schemas, one per name for all its overloads."""
    check(name, "header", expected=has_overloads(name), why="headers are made from the YAML file")


def test_names_within_names() -> None:
    """One operator's name may be the beginning or the end of another's."""
    for name in ("ad", "dd", "xpm", "quare", "_ops"):
        found = kata.homes(name)
        assert found == set(), f"{name} is not an operator, but homes returns {sorted(found)}"


def test_the_files_decide() -> None:
    """A file may name an operator only in a comment, or not at all, though the operator runs."""
    # It records the node of a view operator.
    check("reshape", "formula", expected=False, why="its line begins with #, not with - name:")
    # TorchScript defines operators in aten too; einsum in Python replaces the C++ one.
    check("append", "schema", expected=False, why="no line of the file begins so")
    check("einsum", "function", expected=False, why="no line of the file begins so")
    check("relu_", "schema", expected=True, why="relu_ has a line of its own")
    check("relu_", "header", expected=False, why="relu_ is in relu_ops.h; relu__ops.h is no file")


def test_overloads_count() -> None:
    """A comparison has only schemas with overload names: eq.Tensor, eq.Scalar."""
    check("eq", "schema", expected=True, why="eq.Tensor is an overload of eq")
    check("eq", "formula", expected=True, why="eq.Tensor is an overload of eq")
