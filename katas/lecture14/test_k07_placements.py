"""Tests of k07_placements: rules are tried on plain tensors and compared with DTensor."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING
from typing import Any

import pytest
import torch

from katas.lecture14 import k07_placements as kata
from katas.lecture14.k07_placements import RULES
from katas.lecture14.k07_placements import result
from plugins.kit import forbids


if TYPE_CHECKING:
    from plugins.kit import World


TENSOR, DEBUG = "torch.distributed.tensor", "torch.distributed.tensor.debug"
pytestmark = [pytest.mark.backend("gloo"), pytest.mark.ranks_import(TENSOR, DEBUG, "torch._dynamo")]
OPERATORS: dict[str, Any] = {
    "mm": torch.mm,
    "add": torch.add,
    "mul": torch.mul,
    "relu": torch.relu,
    "t": torch.t,
    "sum": torch.sum,
    "sum0": lambda x: x.sum(0),
}
OPERANDS = {name: 2 if name in ("mm", "add", "mul") else 1 for name in OPERATORS}
PLACEMENTS = ("R", "S0", "S1", "P")


def wholes(name: str) -> list[torch.Tensor]:
    """Return the operands of an operator, square matrices of irrational values."""
    dice = torch.Generator().manual_seed(7)
    return [torch.randn(4, 4, dtype=torch.float64, generator=dice) for _ in range(OPERANDS[name])]


def parts(x: torch.Tensor, placement: str) -> list[torch.Tensor]:
    """Return the parts of a tensor on two ranks."""
    if placement == "R":
        return [x, x]
    if placement == "P":
        return [x / 3 + 1, 2 * x / 3 - 1]
    return list(x.chunk(2, int(placement[1])))


def together(found: list[torch.Tensor], placement: str) -> torch.Tensor:
    """Return the tensor assembled from two ranks' parts."""
    if placement == "P":
        return found[0] + found[1]
    if placement == "R":
        return found[0] if torch.equal(*found) else found[0] * torch.nan
    return torch.cat(found, int(placement[1]))


def holds(name: str, placements: tuple[str, ...], output: str) -> bool:
    """Whether the ranks' results are parts of the result, in this placement."""
    tensors = wholes(name)
    ranks = zip(*map(parts, tensors, placements), strict=True)
    whole = OPERATORS[name](*tensors)
    try:
        made = together([OPERATORS[name](*rank) for rank in ranks], output)
    except (RuntimeError, IndexError):
        return False
    return made.shape == whole.shape and torch.allclose(made, whole)


def test_the_rows_of_a_product() -> None:
    """The lines of the brief; a replicated operand is sliced for free."""
    for operands, expected in (("S0 R", "S0"), ("S1 S0", "P"), ("R S0", "P")):
        yours = result("mm", *operands.split())
        assert expected == yours, (
            f"mm of {operands}: yours {yours}, expected {expected}; R can become S1 without sending"
        )


@pytest.mark.parametrize("name", OPERATORS)
def test_each_rule_holds(name: str) -> None:
    """On plain tensors split over two ranks, the ranks' results assemble to the whole result."""
    given = 2 if name == "mm" else 1
    assert len(RULES[name]) > given, f"your RULES has no rule for {name}"
    for operands, output in RULES[name].items():
        assert output in PLACEMENTS, f"{name}: {output!r} is not one of {PLACEMENTS}"
        assert holds(name, tuple(operands.split()), output), (
            f"your rule {name}: {operands} -> {output} does not hold: what two ranks compute from"
            f" such parts is not the result in placement {output}"
        )


def observed(name: str) -> dict[tuple[str, ...], str | None]:
    """Return DTensor's result placement for all operand placements; None if it sends."""
    tensor, debug, mesh = (
        import_module(each) for each in (TENSOR, DEBUG, "torch.distributed.device_mesh")
    )
    ranks = mesh.init_device_mesh("cpu", (2,))
    kinds = {"R": tensor.Replicate(), "P": tensor.Partial()}
    kinds |= {f"S{dim}": tensor.Shard(dim) for dim in range(2)}

    def make(x: torch.Tensor, placement: str) -> Any:
        mine = parts(x, placement)[ranks.get_local_rank()]
        return tensor.DTensor.from_local(mine, ranks, [kinds[placement]], run_check=False)

    found: dict[tuple[str, ...], str | None] = {}
    for placements in product(PLACEMENTS, repeat=OPERANDS[name]):
        operands = list(map(make, wholes(name), placements))
        with debug.CommDebugMode() as sent:
            output = OPERATORS[name](*operands).placements[0]
        kind = "R" if output.is_replicate() else "P" if output.is_partial() else f"S{output.dim}"
        found[placements] = None if sent.get_total_counts() else kind
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_dtensor_has_the_same(world: World, name: str) -> None:
    """For all placements: whether it is free, and the placement of the result."""
    yours = {each: result(name, *each) for each in product(PLACEMENTS, repeat=OPERANDS[name])}
    theirs = world(observed, 2, name)[0]
    if name in ("add", "mul"):
        # Torch 2.11 follows the first operand, so R P has a cost and P R does not.
        theirs = {each: theirs[each] or theirs[each[::-1]] for each in theirs}
    wrong = {
        f"{name} of {' '.join(each)}": (yours[each], theirs[each])
        for each in theirs
        if yours[each] != theirs[each]
    }
    assert not wrong, (
        f"(yours, PyTorch's), where None means that something is sent: {wrong}; if no rule gives"
        " a result, add a rule, or let an R become something else"
    )


def test_the_rule_that_says_it_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exact rule wins wherever it is in the table; only an operand R may change otherwise."""
    monkeypatch.setitem(RULES, "toy", {"S0 R": "S1", "S0 P": "P", "R R": "R", "R P": "S0"})
    expected = {"R R": "R", "R P": "S0", "S0 R": "S1", "S0 P": "P", "P R": None, "S1 R": None}
    lonely = {"R P": "S1", "S0 P": "S1", "R R": "S1", "S0 S0": None, "P P": None}
    monkeypatch.setitem(RULES, "lonely", {"S0 P": "S1"})
    before = {name: dict(rules) for name, rules in RULES.items()}
    for name, outputs in (("toy", expected), ("lonely", lonely)):
        for operands, output in outputs.items():
            yours = result(name, *operands.split())
            assert output == yours, (
                f"{name} of {operands}, with the rules {RULES[name]}: yours {yours}, expected"
                f" {output}"
            )
    assert before == RULES, "your result() changes RULES"


def test_it_is_worked_out() -> None:
    """Without DTensor, for every operator."""
    every = [
        (name, *each)
        for name, operands in OPERANDS.items()
        for each in product(PLACEMENTS, repeat=operands)
    ]
    with forbids(kata) as fresh:
        yours = [fresh.result(*each) for each in every]
    expected = [result(*each) for each in every]
    assert expected == yours, f"without torch your results are {yours}, with torch {expected}"
    assert result("relu", "P") is None, "relu of P: expected None, because relu is not linear"
