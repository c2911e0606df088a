"""Tests of k11_kinds: torchgen, which generates PyTorch's code, is the oracle."""
# ruff: noqa: SLF001 - only torch._C knows the registry

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torchgen.model import FunctionSchema

from katas.lecture04 import k11_kinds as kata
from plugins.kit import forbids


def torchgens(schema: Any) -> str:
    """Return the kind that torchgen finds, with views separated from functional operators."""
    found = FunctionSchema.parse(str(schema).removeprefix("aten::"))
    if found.kind().name != "functional":
        return str(found.kind().name)
    # For torchgen, an operator that writes to self without an underscore is functional.
    if any(each.annotation and each.annotation.is_write for each in found.arguments.flat_all):
        return "mutable"
    return "view" if any(each.annotation for each in found.returns) else "functional"


@cache
def registry() -> dict[str, tuple[Any, str]]:
    """Return each schema of ATen that torchgen can read, by its text, and its kind."""
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            try:
                found[str(schema)] = schema, torchgens(schema)
            except (AssertionError, ValueError, RuntimeError):
                continue  # a TorchScript operator, with types that torchgen does not have
    return found


def compare(schema: Any, why: str) -> None:
    """Compare your kind of an operator with torchgen's."""
    yours, expected = kata.kind(schema), torchgens(schema)

    assert yours == expected, f"{schema}\nyours      {yours}\ntorchgen's {expected}\n{why}"


def test_a_functional_operator() -> None:
    """A functional operator's results are new, and no argument is annotated."""
    compare(torch.ops.aten.add.Tensor._schema, "no (a) anywhere")
    compare(torch.ops.aten.sort.default._schema, "two results, both new")


def test_an_operator_in_place() -> None:
    """An in-place operator writes to self, or to a list of them."""
    compare(torch.ops.aten.add_.Tensor._schema, "Tensor(a!) self")
    compare(torch.ops.aten._foreach_add_.Scalar._schema, "Tensor(a!)[] self, a list")


def test_an_operator_with_out() -> None:
    """Such an operator writes to a keyword-only argument, or to several."""
    compare(torch.ops.aten.add.out._schema, "*, Tensor(a!) out")
    compare(torch.ops.aten.sort.values._schema, "*, Tensor(a!) values, Tensor(b!) indices")
    compare(torch.ops.aten.mul_.Tensor._schema, "not after a star: this one is in place")


def test_a_view() -> None:
    """A view operator shares memory with its argument, and does not write."""
    compare(torch.ops.aten.t.default._schema, "Tensor(a) self, and Tensor(a) comes back")
    compare(torch.ops.aten.split.Tensor._schema, "Tensor(a -> *) self: views of it in a list")
    compare(torch.ops.aten.reshape.default._schema, "it may be a view, so it is annotated")


def test_a_mutable_operator() -> None:
    """A mutable operator writes to an argument, without an underscore in its name."""
    schema = torch.ops.aten._native_batch_norm_legit.default._schema
    compare(schema, "Tensor(a!) running_mean: no star before it, no _ at the end of the name")


def test_every_operator_of_aten() -> None:
    """Thousands of operators are each compared with torchgen."""
    wrong = [
        (text, yours, expected)
        for text, (schema, expected) in registry().items()
        if (yours := kata.kind(schema)) != expected
    ]

    assert not wrong, (
        f"{len(wrong)} of {len(registry())} differ, the first:\n{wrong[0][0]}\n"
        f"yours      {wrong[0][1]}\ntorchgen's {wrong[0][2]}"
    )


def test_the_kinds_are_your_own() -> None:
    """Kinds come from the schema's arguments, not from torchgen, even for custom operators."""
    with forbids(kata, "torchgen") as fresh:
        found = fresh.kind(torch.ops.aten.relu_.default._schema)

    assert found == "inplace", f"relu_: yours {found}, expected inplace"
    for text, expected in {
        "my::add_(Tensor x, Tensor(a!) total) -> ()": "inplace",
        "my::half(Tensor(b) self) -> Tensor(b)": "view",
        "my::half(Tensor self) -> Tensor": "functional",
        "my::half(Tensor(a!) self) -> Tensor(a!)": "mutable",
        "my::half(Tensor self, *, Tensor(b!) result) -> Tensor(b!)": "out",
    }.items():
        yours = kata.kind(torch._C.parse_schema(text))
        assert yours == expected, f"{text}\nyours      {yours}\nexpected   {expected}"


@pytest.mark.given
def test_every_kind_is_there() -> None:
    """The installed PyTorch has all five kinds."""
    kinds = {kind for _, kind in registry().values()}

    assert kinds >= {"functional", "inplace", "out", "view", "mutable"}, kinds
    assert len(registry()) > 3000, len(registry())
