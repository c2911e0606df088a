"""Tests of k03_lies: each operator runs, and its effects are compared with its schema."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from katas.lecture04.k03_lies import KERNELS
from katas.lecture04.k03_lies import SCHEMAS


@cache
def registered() -> torch.library.Library:
    """Register the kernels with your schemas, once."""
    library = torch.library.Library("lecture04_k03", "FRAGMENT")
    names = [schema.partition("(")[0] for schema in SCHEMAS]
    expected = [kernel.__name__ for kernel in KERNELS]
    assert expected == names, (
        f"yours      {names}\nexpected   {expected}: one schema each, in order"
    )
    for schema, kernel in zip(SCHEMAS, KERNELS, strict=True):
        library.define(schema)
        library.impl(kernel.__name__, kernel, "CPU")
    return library


def op(name: str) -> Any:
    """Return an operator with your schema, by its name."""
    return getattr(getattr(torch.ops, registered().ns), name)


def inputs(name: str) -> list[torch.Tensor]:
    """Return as many arguments as an operator takes."""
    x = torch.tensor([2.0, 3.0, 5.0, 7.0], dtype=torch.float64).sqrt()
    return [x, 1 + x.flip(0)] if name in {"add_to", "keep_max_"} else [x]


def did(operator: Any, name: str) -> tuple[set[str], set[str]]:
    """Run an operator; return the arguments it wrote to, and which share memory with the result."""
    tensors = inputs(name)
    before = [x.clone() for x in tensors]
    result = operator(*tensors)
    names = [argument.name for argument in operator._schema.arguments]  # noqa: SLF001
    written = {
        each for each, x, old in zip(names, tensors, before, strict=True) if not torch.equal(x, old)
    }
    place = None if result is None else result.untyped_storage().data_ptr()
    shared = {
        each
        for each, x in zip(names, tensors, strict=True)
        if place == x.untyped_storage().data_ptr()
    }
    return written, shared


def says(operator: Any) -> tuple[set[str], set[str]]:
    """Read the same facts from an operator's schema."""
    schema = operator._schema  # noqa: SLF001 - it has no other name
    letters: set[str] = set()
    for each in schema.returns:
        letters |= each.alias_info.before_set if each.alias_info else set()
    marked = [argument for argument in schema.arguments if argument.alias_info]
    return (
        {each.name for each in marked if each.alias_info.is_write},
        {each.name for each in marked if each.alias_info.before_set & letters},
    )


def strays(operator: Any) -> list[str]:
    """Return annotations that contradict the rest of the schema."""
    schema = operator._schema  # noqa: SLF001 - it has no other name
    arguments = [each.alias_info for each in schema.arguments if each.alias_info]
    results = [each.alias_info for each in schema.returns if each.alias_info]
    found = []
    for each in results:
        partners = [one for one in arguments if one.before_set & each.before_set]
        if not partners:
            found.append("the result has a letter that no argument has: it shares with none")
        elif {one.is_write for one in partners} != {each.is_write}:
            found.append("the result is one with an argument, and only one of them has a !")
    answered = set().union(*(each.before_set for each in results))
    if any(not one.is_write and not one.before_set & answered for one in arguments):
        found.append("an argument has a letter, is not written to, and shares with no result")
    if any("*" in each.before_set for each in [*arguments, *results]):
        found.append("* may share memory with anything: a letter says with what")
    return found


def hold(operator: Any, name: str) -> None:
    """Compare what the schema says with what the kernel does."""
    schema = operator._schema  # noqa: SLF001 - it has no other name
    named = [each.name for each in schema.returns if each.name]
    assert named == [], f"{schema}\nnames its result {named}; leave it without a name"
    for what, claim, fact in zip(
        ("written to", "in one memory with the result"),
        says(operator),
        did(operator, name),
        strict=True,
    ):
        assert claim == fact, (
            f"{schema}\n{what}: your schema says {sorted(claim) or 'none'}, but for the kernel it"
            f" is {sorted(fact) or 'none'}"
        )
    assert strays(operator) == [], "\n".join([str(schema), *strays(operator)])


@pytest.mark.given
def test_a_true_schema_stays() -> None:
    """One of the five schemas is correct as given."""
    hold(op("keep_max_").default, "keep_max_")


@pytest.mark.parametrize("name", ["negate_", "first_half", "add_to", "halved"])
def test_the_schema_says_what_the_kernel_does(name: str) -> None:
    """A schema promises no less and no more than its kernel does."""
    hold(op(name).default, name)


def test_a_write_is_no_dead_code() -> None:
    """A compiler drops a call whose result is not used, unless the schema says that it writes."""
    operator = op("add_to")

    def program(*tensors: torch.Tensor) -> torch.Tensor:
        operator(*tensors)
        return tensors[-1] * 1

    traced = make_fx(program)(*inputs("add_to"))
    traced.graph.eliminate_dead_code()
    traced.recompile()
    yours, expected = traced(*inputs("add_to")), program(*inputs("add_to"))

    assert torch.equal(yours, expected), (
        f"after dead code elimination the program returns\n{yours}\nexpected\n{expected}\nThe call "
        "to add_to was removed, "
        f"because its schema says that it only reads: {operator.default._schema}"  # noqa: SLF001
    )


@pytest.mark.given
def test_opcheck_lets_too_large_a_promise_pass() -> None:
    """Memory that may be shared need not be, so opcheck accepts the schema of `halved`."""
    with torch.library._scoped_library("lecture04_k03_test", "DEF") as library:  # noqa: SLF001
        library.define("halved(Tensor(a) self) -> Tensor(a)")
        library.impl("halved", KERNELS[3], "CPU")
        found = torch.library.opcheck(
            torch.ops.lecture04_k03_test.halved.default,
            inputs("halved"),
            test_utils="test_schema",
            raise_exception=False,
        )

    assert found == {"test_schema": "SUCCESS"}, (
        f"opcheck's test_schema: {found['test_schema']}, expected SUCCESS"
    )


@pytest.mark.parametrize("name", ["negate_", "first_half", "add_to"])
def test_opcheck_agrees(name: str) -> None:
    """PyTorch's own checker for custom operators accepts the schema."""
    found = torch.library.opcheck(
        op(name).default, inputs(name), test_utils="test_schema", raise_exception=False
    )

    assert found == {"test_schema": "SUCCESS"}, (
        f"opcheck's test_schema: {found['test_schema']}, expected SUCCESS"
    )
