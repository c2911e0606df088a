"""Tests of k01_ships: small models are exported, and what they need is counted."""

from __future__ import annotations

from functools import cache

import pytest
import torch
from torch import nn

from katas.lecture15.k01_ships import ships
from plugins.kit import unchanged


class Everything(nn.Module):
    """Has a tensor of each kind, a number, and two conditions."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.layer.half()
        self.mean = nn.Buffer(torch.ones(4))
        self.cache = nn.Buffer(torch.ones(4, dtype=torch.float64), persistent=False)
        self.table = torch.arange(3)
        self.scale = 2.5
        self.flip = False
        # None of this is called.
        self.spare = nn.Linear(2, 2)
        self.spare_buffer = nn.Buffer(torch.ones(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Use everything except the spare tensors."""
        if self.flip:
            x = -x
        if x.shape[0] > 2:
            x = x * self.scale
        hidden: torch.Tensor = self.layer((x - self.mean - self.cache).half())
        return hidden + self.table


EXPECTED = {
    "layer.weight": ("PARAMETER", 4 * 3 * 2),
    "layer.bias": ("PARAMETER", 3 * 2),
    "mean": ("BUFFER", 4 * 4),
    "cache": ("BUFFER", 4 * 8),
    "table": ("CONSTANT_TENSOR", 3 * 8),
}


@cache
def everything() -> torch.export.ExportedProgram:
    """Return the program of `Everything`, exported with five rows."""
    return torch.export.export(Everything().eval(), (torch.randn(5, 4),))


def entry(name: str) -> tuple[str, int] | None:
    """Return your answer for one tensor."""
    return ships(everything()).get(name)


@pytest.mark.given
def test_the_conditions_are_gone() -> None:
    """The number is an argument of an instruction, and no instruction is a condition."""
    text = str(everything().graph)
    names = [node.name for node in everything().graph.nodes if node.op == "call_function"]

    assert "2.5" in text, f"the number is missing from {text}"
    assert "neg" not in names, f"self.flip was False, yet there is a neg: {names}"


def test_a_linear_layer() -> None:
    """A linear layer ships its two parameters, by their names in the Module, but no input."""
    program = torch.export.export(nn.Linear(4, 3), (torch.randn(5, 4),))
    with unchanged(program.state_dict):
        yours = ships(program)
    expected = {"weight": ("PARAMETER", 48), "bias": ("PARAMETER", 12)}

    assert expected == yours, (
        f"yours {yours}, expected {expected}: a spec has kind, target (the name in the Module) and"
        " arg (the name in the graph)"
    )


@pytest.mark.parametrize("name", EXPECTED)
def test_what_the_program_reads(name: str) -> None:
    """A float16 weight, both kinds of buffer and a plain attribute ship."""
    yours = entry(name)

    assert EXPECTED[name] == yours, (
        f"{name}: yours {yours}, expected {EXPECTED[name]}: an element has"
        " element_size() bytes, and tensors that are in no state dict are in program.constants"
    )


def test_what_nothing_reads_stays_at_home() -> None:
    """A tensor that no instruction reads does not ship, though the program still lists it."""
    spare = {name: entry(name) for name in ("spare.weight", "spare.bias", "spare_buffer")}
    wrong = {name: found for name, found in spare.items() if found}

    assert not wrong, f"your answer includes {wrong}, which no instruction reads: see node.users"


def test_nothing_else_ships() -> None:
    """Neither the input nor the number 2.5 is a tensor of the program."""
    yours = {name for name in ships(everything()) if "spare" not in str(name)}

    assert {*EXPECTED} == yours, f"your answer has {yours}, expected {[*EXPECTED]}"


class Corners(nn.Module):
    """Has a tensor read in a list, a tensor only returned, and a slice of a larger one."""

    def __init__(self) -> None:
        super().__init__()
        self.listed = nn.Parameter(torch.ones(3))
        self.returned = nn.Parameter(torch.ones(2))
        self.part = nn.Buffer(torch.arange(12.0)[:5])

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Use all three."""
        return torch.cat([x, self.listed, self.part]), self.returned


def test_tensors_in_corners() -> None:
    """Tensors that are in a list, only returned, or a slice of a larger one ship as well."""
    yours = ships(torch.export.export(Corners(), (torch.randn(2),)))
    expected = {
        "listed": ("PARAMETER", 12),
        "returned": ("PARAMETER", 8),
        "part": ("BUFFER", 20),
    }

    assert expected == yours, (
        f"yours {yours}, expected {expected}: include tensors in lists and among outputs; of the"
        " slice, count only its five elements, 20 bytes"
    )


def test_a_model_without_tensors() -> None:
    """An activation has no tensors, so none ships."""
    yours = ships(torch.export.export(nn.ReLU(), (torch.randn(2),)))

    assert {} == yours, f"yours {yours}, expected {{}}: a ReLU has no weights"
