"""Tests of k03_shapes: programs are exported with your specs, and called with many sizes."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch
from torch import nn

from katas.lecture08 import k03_shapes as kata
from katas.lecture08.k03_shapes import CONTRACTS
from katas.lecture08.k03_shapes import Sums
from katas.lecture08.k03_shapes import frozen
from katas.lecture08.k03_shapes import specs
from plugins.kit import unchanged


if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.export import ExportedProgram


WHERE = "look at Dim in torch/export/dynamic_shapes.py"
# How an exported program rejects a shape, on any torch of the matrix.
GUARD = re.compile(r"guard|expected input|constraint", re.IGNORECASE)
# The rows of x and y in the examples, and whether n rows of x and m of y keep the contract.
KEEPS: dict[str, tuple[int, int, Callable[[int, int], bool]]] = {
    "limit": (8, 5, lambda n, m: 3 <= n <= 64 and m == 5),
    "equal": (8, 8, lambda n, m: n <= 64 and m == n),
    "double": (8, 16, lambda n, m: n <= 64 and m == 2 * n),
    "next": (8, 9, lambda n, m: n <= 64 and m == n + 1),
    "free": (8, 5, lambda _n, _m: True),
}
X_ROWS = (2, 3, 4, 5, 8, 9, 32, 63, 64, 65, 200, 70_000)
Y_ROWS = (2, 3, 4, 5, 6, 8, 9, 10, 16, 32, 33, 63, 64, 65, 66, 126, 128, 130, 200, 70_000)


class Program(nn.Module):  # type: ignore[misc, unused-ignore]
    """A function of tensors, wrapped in a Module for export, with a parameter."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.function = function

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Call the function."""
        return self.function(x, y) * self.weight


class Scale(nn.Module):  # type: ignore[misc, unused-ignore]
    """Inputs with different names; one has no dims, and therefore no constants."""

    def forward(self, table: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
        """Multiply."""
        return table * factor


def rows(count: int) -> torch.Tensor:
    """Return irrational numbers of shape (count, 3)."""
    return torch.arange(3.0 * count).sqrt().reshape(count, 3)


def exported(model: nn.Module, n: int, m: int, spec: Any) -> ExportedProgram:
    """Return the exported program of a Module, for n rows of x and m of y."""
    from torch.export import export  # noqa: PLC0415 - imports sympy

    return export(model, (rows(n), rows(m)), dynamic_shapes=spec)


def check_frozen(function: Callable[..., torch.Tensor], n: int, m: int, expected: Any) -> None:
    """Export a function with all rows marked AUTO, and compare what became a constant."""
    from torch.export import Dim  # noqa: PLC0415 - imports sympy

    auto = {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}
    program = exported(Program(function), n, m, auto)
    with unchanged(program.state_dict):
        yours = frozen(program)

    assert {"x", "y"} == {*yours}, (
        f"your keys are {[*yours]}, expected x and y: leave out the weights"
    )
    kinds = {type(size) for sizes in yours.values() for size in sizes.values()}
    assert kinds <= {int}, (
        f"your sizes are {kinds}, expected int, since a SymInt keeps its whole ShapeEnv alive"
    )
    assert yours == expected, f"yours    {yours}\nexpected {expected}\n{program.graph}"


@cache
def artefact(name: str) -> Callable[..., torch.Tensor]:
    """Return the callable program of `Sums`, exported under a contract."""
    n, m, _ = KEEPS[name]
    program: Callable[..., torch.Tensor] = exported(Sums(), n, m, specs()[name]).module()
    return program


@pytest.mark.given
def test_auto_is_silent_and_dynamic_is_not() -> None:
    """With AUTO, len(x) becomes a constant; with DYNAMIC, it is an error."""
    from torch.export import Dim  # noqa: PLC0415 - imports sympy

    model = Program(lambda x, _: x.sum(0) / len(x))
    program = exported(model, 4, 4, {"x": {0: Dim.AUTO}, "y": None})
    assert not program.range_constraints, (
        f"expected no range constraints, found {program.range_constraints}"
    )
    with pytest.raises(RuntimeError, match="specialized it to be a constant"):
        exported(model, 4, 4, {"x": {0: Dim.DYNAMIC}, "y": None})


def test_one_dim_is_frozen() -> None:
    """The rows may change, but the columns may not."""
    check_frozen(lambda x, y: x.sum(0) + y.sum(0), 4, 5, {"x": {1: 3}, "y": {1: 3}})


def test_a_tensor_without_constants() -> None:
    """An input without dims has an entry too, and the names are those of the Module's inputs."""
    from torch.export import export  # noqa: PLC0415 - imports sympy

    yours = frozen(export(Scale(), (rows(4), torch.tensor(0.3))))
    rule: dict[str, dict[int, int]] = {"table": {0: 4, 1: 3}, "factor": {}}
    assert yours == rule, f"yours    {yours}\nexpected {rule}: factor has no dims"


def test_a_size_that_became_a_number() -> None:
    """len(x) is a Python int, and so is int(x.shape[0]); x.shape[0] is not."""
    rule = {"x": {0: 4, 1: 3}, "y": {1: 3}}
    check_frozen(lambda x, y: x.sum(0) / len(x) + y.sum(0) / y.shape[0], 4, 5, rule)
    check_frozen(lambda x, y: x.sum(0) / int(x.shape[0]) + y.sum(0), 4, 5, rule)


def test_a_constant_next_to_it() -> None:
    """If x is added to a tensor of four rows, x must have four."""
    check_frozen(
        lambda x, y: (x + rows(4)).sum(0) + y.sum(0), 4, 5, {"x": {0: 4, 1: 3}, "y": {1: 3}}
    )


def test_an_example_of_one_row() -> None:
    """Broadcasting one row would be a different program, so AUTO makes the size a constant."""
    check_frozen(lambda x, y: x.sum(0) + y.sum(0), 4, 1, {"x": {1: 3}, "y": {0: 1, 1: 3}})


def test_sizes_that_depend_on_each_other() -> None:
    """If y has as many rows as x, or twice as many, no size is a constant."""
    rule = {"x": {1: 3}, "y": {1: 3}}
    check_frozen(lambda x, y: (x + y).sum(0), 4, 4, rule)
    check_frozen(lambda x, y: (torch.cat([x, x]) + y).sum(0), 4, 8, rule)


def test_every_contract_has_a_spec() -> None:
    """Each contract has one spec, which covers x and y."""
    yours = specs()
    assert CONTRACTS.keys() == yours.keys(), f"your keys are {[*yours]}, expected {[*CONTRACTS]}"
    for name, spec in yours.items():
        assert {"x", "y"} == {*spec}, f"{name}: your keys are {[*spec]}, expected x and y"


@pytest.mark.parametrize("name", CONTRACTS)
def test_what_the_contract_allows(name: str) -> None:
    """Sizes that keep the contract are accepted, with the Module's answer."""
    program, keeps = artefact(name), KEEPS[name][2]
    for n, m in product(X_ROWS, Y_ROWS):
        if keeps(n, m):
            try:
                yours = program(rows(n), rows(m))
            except (AssertionError, RuntimeError) as error:
                pytest.fail(
                    f"{name}: {CONTRACTS[name]}\nyour program rejects {n} and {m} rows: {error}"
                )
            says = f"{name}: another answer than the Module's for {n} and {m} rows\n"
            torch.testing.assert_close(yours, Sums()(rows(n), rows(m)), msg=says.__add__)


@pytest.mark.parametrize("name", [name for name in CONTRACTS if name != "free"])
def test_what_the_contract_forbids(name: str) -> None:
    """The artefact rejects sizes that break the contract, though the code would accept them."""
    program, keeps = artefact(name), KEEPS[name][2]
    for n, m in product(X_ROWS, Y_ROWS):
        if not keeps(n, m):
            try:
                program(rows(n), rows(m))
            except (AssertionError, RuntimeError) as error:
                assert GUARD.search(str(error)), f"expected a guard's error, yours: {error}"  # noqa: PT017
            else:
                pytest.fail(
                    f"{name}: {CONTRACTS[name]}\nyour program accepts {n}, {m} rows; {WHERE}"
                )


def test_free_is_no_request() -> None:
    """Code that makes a size of x or y a constant is rejected; so is an example of one row."""
    spec = specs()["free"]
    for function, n, m in (
        (lambda x, y: x.sum(0) / len(x) + y.sum(0), 8, 5),
        (lambda x, y: x.sum(0) + y.sum(0) / len(y), 8, 5),
        (lambda x, y: x.sum(0) + y.sum(0), 8, 1),
    ):
        try:
            exported(Program(function), n, m, spec)
        except (RuntimeError, ValueError) as error:
            assert re.search("specialized|dynamic", str(error)), f"wrong error: {error}"  # noqa: PT017
        else:
            pytest.fail(f"your spec exports it silently, with a constant number of rows; {WHERE}")


def test_specs_are_made_anew() -> None:
    """The specs of a second call work too, and a spec can be used twice."""
    first, second = specs(), kata.specs()
    for spec in (first["double"], second["double"], first["double"]):
        program = exported(Sums(), 4, 8, spec).module()
        yours = program(rows(6), rows(12))
        torch.testing.assert_close(yours, Sums()(rows(6), rows(12)), msg="another answer\n".__add__)
